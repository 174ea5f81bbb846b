"""Weights of other decoders as ours, so that a grammar tuned there translates alike here.

A score is a sum of weight times value everywhere. Where their value of a feature is a multiple of ours, their
weight times that multiple is our weight:

cdec
    −log10 of probabilities and log10 of the language model, so divided by ln 10; `WordPenalty` is −1/ln 10
    for a word
Joshua
    dense features are negated on loading, named ones are not; −ln of probabilities; the language model in
    log10; `WordPenalty` as cdec's; `OOVPenalty` −100 for a copied word
Moses
    natural logarithms; `WordPenalty0` −1 for a word, `UnknownWordPenalty0` −100 for a copied one; the glue
    rule's ln 2.718; sparse features of a table have its name before theirs; language models, of
    any name, are counted as their lines are
Travatar
    natural logarithms, the language model in log10

The features of further tables of Joshua's and Moses' begin with what these call the table, and a dot.

The fact a newcomer would get wrong: our `TargetWords` counts the words of rules. A word that is copied is a
word too for the others' penalties, so that `PassThrough` takes a share of theirs.
"""

from __future__ import annotations

import io
import math
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from decoder.lm.model import feature_of, unknown_feature_of
from scfg_sampler.core.files import PathLike, read_lines
from scfg_sampler.core.numerals import real_number
from scfg_sampler.core.weights import LARGEST_WEIGHT
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import InputError
from scfg_sampler.formats import COPY_OWNER

__all__ = ["Imported", "import_weights"]

_RANGE = f"Weights are numbers from -{LARGEST_WEIGHT:g} to {LARGEST_WEIGHT:g}"
_LN10 = math.log(10.0)
_WORD = -1.0 / _LN10  # The word penalty of cdec and Joshua.
_UNKNOWN = -100.0  # The penalty of Joshua and Moses for a copied word.
# A table of Joshua's, and what it is called; before version 6, it was `tm = TYPE OWNER MAXSPAN PATH`.
_TABLE = re.compile(r"\s*tm\s*=(?:.*?\s-owner\s+(\S+)|\s*\S+\s+([^-\s]\S*)\s)")
_NO_TABLES = ("glue", COPY_OWNER)  # Of rules that our decoder does without.
_MODEL = re.compile(r"\s*(?:feature[-_]function\s*=\s*\S*LanguageModel\b|lm\s*=)", re.IGNORECASE)
_MOSES_MODELS = ("KENLM", "SRILM", "IRSTLM", "RANDLM", "DALM")  # FF/Factory.cpp, those of n-grams.
_MOSES_SCORES = ("LogBackward", "LexBackward", "LogForward", "LexForward")
_ALWAYS = ("LanguageModel", "TargetWords", "Abstract", "Glue", "PassThrough")

_CDEC = {
    "EgivenFCoherent": ("LogForward", -1.0 / _LN10),
    "FgivenECoherent": ("LogBackward", -1.0 / _LN10),
    "LexEgivenF": ("LexForward", -1.0 / _LN10),
    "LexFgivenE": ("LexBackward", -1.0 / _LN10),
    "MaxLexEgivenF": ("LexForward", -1.0 / _LN10),
    "MaxLexFgivenE": ("LexBackward", -1.0 / _LN10),
    "LanguageModel": ("LanguageModel", 1.0 / _LN10),
}
_JOSHUA = {
    "e_given_f_phrase": ("LogForward", -1.0),
    "f_given_e_phrase": ("LogBackward", -1.0),
    "e_given_f_lex": ("LexForward", -1.0),
    "f_given_e_lex": ("LexBackward", -1.0),
    "target_word_count": ("TargetWords", 1.0),
    "abstract": ("Abstract", 1.0),
    "lm_0": ("LanguageModel", 1.0 / _LN10),
    "lm_0_oov": ("LanguageModel_OOV", 1.0),
    "OOVPenalty": ("PassThrough", _UNKNOWN),
    "tm_glue_0": ("Glue", 1.0),
}
_TRAVATAR = {
    "egfp": ("LogForward", 1.0),
    "fgep": ("LogBackward", 1.0),
    "egfl": ("LexForward", 1.0),
    "fgel": ("LexBackward", 1.0),
    "lfreq": ("LogCount", 1.0),
    "w": ("TargetWords", 1.0),
    "glue": ("Glue", 1.0),
    "unk": ("PassThrough", 1.0),
}


class Imported(NamedTuple):
    """Weights, and what is to be known about them.

    warnings : what could not be taken over, a sentence each
    constant : their score of a translation is ours and this
    """

    weights: dict[str, float]
    warnings: list[str]
    constant: float


class _Named(NamedTuple):
    """A weight as a file has it: where, the name, and its value or values."""

    line: int
    name: str
    values: list[float]


def import_weights(path: PathLike, decoder: str) -> Imported:
    """The weights in a file of a decoder, one of `formats.DECODERS`, by our names of features.

    Raises
    ------
    InputError
        A line is no weight, or there is none; names the line. Or what a weight would be is none.
    """
    read: dict[str, Callable[[PathLike], Imported]] = {
        "cdec": _cdec,
        "moses": _moses,
        "joshua": _joshua,
        "travatar": _travatar,
    }
    found = read[decoder](path)
    for name, weight in found.weights.items():
        if not abs(weight) <= LARGEST_WEIGHT:
            raise InputError(path, None, f"the weight of {name} would be {weight:g}", _RANGE)
    return found


def _cdec(path: PathLike) -> Imported:
    weights = dict.fromkeys((*_ALWAYS, "LogCount"), 0.0)
    warnings: list[str] = []
    for line, name, values in _pairs(path, enumerate(read_lines(path), start=1)):
        value = _one(path, line, name, values)
        if name == "WordPenalty":
            _add(weights, "TargetWords", _WORD * value)
            _add(weights, "PassThrough", _WORD * value)
        elif name == "CountEF":
            _add(weights, "LogCount", value / _LN10)
            warnings.append(
                "CountEF is log10(1 + count), LogCount ln count: alike for counts far above 1 only"
            )
        else:
            ours, factor = _CDEC.get(name, (name, 1.0))
            if re.fullmatch(r"LanguageModel_[0-9]+", name):
                factor = 1.0 / _LN10
            _add(weights, ours, factor * value)
    return Imported(weights, warnings, 0.0)


def _joshua(path: PathLike) -> Imported:
    weights = dict.fromkeys((*_ALWAYS, "LogCount"), 0.0)
    warnings: list[str] = []
    word = glue = 0.0
    texts = list(read_lines(path))
    lines = (
        (line, text)
        for line, text in enumerate(texts, start=1)
        if "=" not in text and not text.lstrip().startswith("#")
    )
    owners = (match[1] or match[2] for match in map(_TABLE.match, texts) if match)
    prefixes = _prefixes(owner for owner in owners if owner not in _NO_TABLES)
    models = sum(bool(_MODEL.match(text)) for text in texts)
    for line, name, values in _pairs(path, lines):
        value = _one(path, line, name, values)
        dense = re.fullmatch(r"tm_(\S+)_([0-9]{1,9})", name)
        model = re.fullmatch(r"lm_([0-9]{1,9})\S*", name)
        if name == "WordPenalty":
            word = _WORD * value
            _add(weights, "TargetWords", word)
            _add(weights, "PassThrough", word)
        elif model and int(model[1]) > 0:
            number = int(model[1])
            if number < models and name == f"lm_{number}":
                _add(weights, feature_of(number), value / _LN10)
            elif number < models and name == f"lm_{number}_oov":
                _add(weights, unknown_feature_of(number), value)
            elif value:
                warnings.append(f"{name} is left out: no language model in the file has it")
        elif dense and dense[1] != "glue":
            prefix = prefixes.setdefault(dense[1], f"{dense[1]}." if prefixes else "")
            _add(weights, f"{prefix}PhraseModel_{dense[2]}", -value)
        elif name == "count":
            warnings.append("count is left out: it is the count itself, which LogCount has the logarithm of")
        else:
            ours, factor = _JOSHUA.get(name, (name, 1.0))
            glue = value if name == "tm_glue_0" else glue
            _add(weights, ours, factor * value)
    warnings += _of_further_tables(weights, prefixes, "LogCount")
    return Imported(weights, warnings, glue + 2.0 * word)


def _moses(path: PathLike) -> Imported:
    sections = _sections(path)
    is_glue, models = _moses_features(text for _, text in sections["feature"])
    prefixes = _prefixes(name for name, glue in is_glue.items() if not glue)
    weights = dict.fromkeys((*_ALWAYS, "LogCount"), 0.0)
    warnings: list[str] = []
    word = glue = 0.0
    lines = ((line, text.replace("=", " ", 1)) for line, text in sections["weight"])
    for line, name, values in _pairs(path, lines):
        if name == "WordPenalty0":
            word = -_one(path, line, name, values)
            _add(weights, "TargetWords", word)
            _add(weights, "PassThrough", word)
        elif name == "UnknownWordPenalty0":
            _add(weights, "PassThrough", _UNKNOWN * _one(path, line, name, values))
        elif is_glue.get(name):
            glue = math.log(2.718) * _one(path, line, name, values)
            _add(weights, "Glue", glue)
        elif name in is_glue:
            for k, value in enumerate(values):
                score = _MOSES_SCORES[k] if k < len(_MOSES_SCORES) else f"Score_{k}"
                _add(weights, prefixes.get(name, "") + score, value)
        elif (number := _moses_model(name, models)) is not None:
            if len(values) > 2:
                found = f"{name} has {counted(len(values), 'value')}"
                raise InputError(path, line, found, "A language model has one, and one of unknown words")
            for feature, value in zip((feature_of(number), unknown_feature_of(number)), values, strict=False):
                _add(weights, feature, value)
        elif (sparse := _sparse_name(name, prefixes)) is not None:
            _add(weights, sparse, _one(path, line, name, values))
        else:
            warnings.append(f"{name} is left out: there is no such feature here")
    if models != [f"LM{number}" for number in range(len(models))] and len(models) > 1:
        warnings.append(f"its language models are {', '.join(models)}: give them in this order")
    warnings += _of_further_tables(weights, prefixes, "LogCount")
    return Imported(weights, warnings, glue + 2.0 * word)


def _moses_features(lines: Iterable[str]) -> tuple[dict[str, bool], list[str]]:
    """Whether each table is of glue, by its name, and the names of the language models, in their order.

    A feature without a name has that of its class and how many such lines there were before.
    """
    is_glue: dict[str, bool] = {}
    models: list[str] = []
    nameless: Counter[str] = Counter()
    for kind, *settings in map(str.split, lines):
        given = dict(setting.partition("=")[::2] for setting in settings)
        name = given.get("name", "")
        if not name:
            name = f"{kind}{nameless[kind]}"
            nameless[kind] += 1
        if kind.startswith("PhraseDictionary"):
            is_glue[name] = given.get("num-features") == "1"
        elif kind in _MOSES_MODELS:
            models.append(name)
    return is_glue, models


def _moses_model(name: str, models: list[str]) -> int | None:
    """The number of the language model of this name; in weights without features, that behind `LM`."""
    if models:
        return models.index(name) if name in models else None
    match = re.fullmatch(r"LM([0-9]{0,9})", name)
    return int(match[1] or 0) if match else None


def _sparse_name(name: str, prefixes: dict[str, str]) -> str | None:
    """The feature of a rule table that a weight is for, as in `TranslationModel0_LogCount`."""
    for table, prefix in prefixes.items():
        if name.startswith(f"{table}_"):
            return prefix + name.removeprefix(f"{table}_")
    return None


def _prefixes(tables: Iterable[str]) -> dict[str, str]:
    """What the features of each table begin with: nothing, or for further tables their names and a dot."""
    return {name: f"{name}." * (at > 0) for at, name in enumerate(dict.fromkeys(tables))}


def _of_further_tables(weights: dict[str, float], prefixes: dict[str, str], *more: str) -> list[str]:
    """Give further tables' features what those of the first have alike, and say how such tables are given."""
    warnings = []
    for name, prefix in prefixes.items():
        if prefix:
            for feature in ("TargetWords", "Abstract", *more):
                weights.setdefault(prefix + feature, weights[feature])
            warnings.append(f"the features of {name} begin with {prefix}: give it as TABLE,prefix={prefix}")
    return warnings


def _travatar(path: PathLike) -> Imported:
    weights = dict.fromkeys((*_ALWAYS, "LogCount"), 0.0)
    warnings: list[str] = []
    sections = _sections(path)
    models = _travatar_models(" ".join(text for _, text in sections["lm_file"]))
    lines = ((line, " ".join(text.rpartition("=")[::2])) for line, text in sections["weight_vals"])
    for line, name, values in _pairs(path, lines):
        value = _one(path, line, name, values)
        if name == "p":
            if value:
                warnings.append("p is left out: no feature here counts the rules used")
            continue
        for ours, factor in models.get(name, [_TRAVATAR.get(name, (name, 1.0))]):
            _add(weights, ours, factor * value)
    return Imported(weights, warnings, 0.0)


def _travatar_models(files: str) -> dict[str, list[tuple[str, float]]]:
    """What the features of Travatar's language models are here, from `lm.arpa other.arpa|lm_feat=NAME,…`.

    Models without names share one feature, and so its weight.
    """
    names: dict[str, list[tuple[str, float]]] = {}
    for model, file in enumerate(files.split() or [""]):
        settings = dict(part.partition("=")[::2] for part in file.partition("|")[2].split(","))
        names.setdefault(settings.get("lm_feat", "lm"), []).append((feature_of(model), 1.0 / _LN10))
        names.setdefault(settings.get("lm_unk_feat", "lmunk"), []).append((unknown_feature_of(model), 1.0))
    return names


def _add(weights: dict[str, float], name: str, value: float) -> None:
    weights[name] = weights.get(name, 0.0) + value


class _Lines:
    """Lines with their numbers, in little more than the room of their text."""

    def __init__(self) -> None:
        self._numbers, self._text = array("q"), bytearray()

    def append(self, number: int, text: str) -> None:
        self._numbers.append(number)
        self._text += text.encode() + b"\n"

    def __iter__(self) -> Iterator[tuple[int, str]]:
        for number, text in zip(self._numbers, io.BytesIO(self._text), strict=True):
            yield number, text.decode().removesuffix("\n")


def _sections(path: PathLike) -> defaultdict[str, _Lines]:
    """The lines below each `[name]`, with their numbers, without comments and empty ones."""
    sections: defaultdict[str, _Lines] = defaultdict(_Lines)
    section = ""
    for line, text in enumerate(read_lines(path), start=1):
        text = text.strip()
        if match := re.fullmatch(r"\[([^\s\]]+)\]", text):
            section = match[1]
        elif text and not text.startswith("#"):
            sections[section].append(line, text)
    return sections


def _pairs(path: PathLike, lines: Iterator[tuple[int, str]] | enumerate[str]) -> Iterator[_Named]:
    """The weights of lines that hold a name and numbers; an InputError if there are none."""
    # Names are remembered by 64 bits each, as there may be millions; no two ever share them, in practice.
    hashes, numbers = array("q"), array("q")
    for line, text in lines:
        tokens = text.split()
        if not tokens or tokens[0].startswith("#"):
            continue
        try:
            values = [real_number(token) for token in tokens[1:]]
        except ValueError:
            values = []
        if not values or not all(map(math.isfinite, values)):
            raise InputError(path, line, f"{text.strip()!r} is no weight", "Expected a name and a number")
        if max(map(abs, values)) > LARGEST_WEIGHT:
            raise InputError(path, line, f"{text.strip()!r} is no weight", _RANGE)
        hashes.append(hash(tokens[0]))
        numbers.append(line)
        yield _Named(line, tokens[0], values)
    if not numbers:
        raise InputError(path, None, "has no weights", "Is --from the decoder that the file is for?")
    order = np.argsort(hashes, kind="stable")
    again = np.flatnonzero(np.diff(np.asarray(hashes)[order]) == 0)
    if len(again):
        # The first of the file, not of the hashes, which are others in each process.
        second, first = min((numbers[order[at + 1]], numbers[order[at]]) for at in again.tolist())
        raise InputError(path, second, f"gives the weight of line {first} again", "Keep one of them")


def _one(path: PathLike, line: int, name: str, values: list[float]) -> float:
    if len(values) != 1:
        raise InputError(path, line, f"{name} has {counted(len(values), 'value')}", "It has one weight")
    return values[0]
