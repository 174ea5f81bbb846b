"""Lists of expressions, as `translate --nbest` writes them, and rankers as files."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from decoder.expressions.names import with_kinds
from decoder.expressions.ranker import WORD_FEATURES, Candidate, Ranker
from decoder.expressions.word_model import WordModel
from decoder.expressions.word_rates import require_rates
from decoder.translation.nbest import BAR, parsed_line
from scfg_sampler.core.arrays.vocabulary import split_words
from scfg_sampler.core.console import warn
from scfg_sampler.core.files import PathLike, atomic_output, read_lines
from scfg_sampler.core.json_text import WRONG_RECORD, parse_json
from scfg_sampler.core.numerals import real_number
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import InputError

__all__ = [
    "check_features",
    "check_words",
    "list_lines",
    "read_lists",
    "read_numbered_lists",
    "read_ranker",
    "write_ranker",
]

_FORMAT = "scfg-ranker 1"
_THESE = "Give the list of these sentences, and no other"
_FEW_WORDS = 20  # Say nothing of a ranker.


def read_lists(path: PathLike, number: int) -> list[list[Candidate]]:
    """The expressions of each of so many sentences; those without words are left out.

    Raises
    ------
    InputError
        A line is none of such a list, or of a sentence that is not there; or the last sentences have none.
    """
    found = _read(path, number)
    listed = max(found, default=-1) + 1
    if listed < number:
        raise InputError(
            path, None, f"{counted(listed, 'list')}, but there are {counted(number, 'sentence')}", _THESE
        )
    return [found.get(at, []) for at in range(number)]


def read_numbered_lists(path: PathLike) -> dict[int, list[Candidate]]:
    """The same of whatever sentences the list has, by their number; all may be without words."""
    return _read(path, None)


def _read(path: PathLike, number: int | None) -> dict[int, list[Candidate]]:
    found: dict[int, list[Candidate]] = {}
    once: dict[str, str] = {}  # Symbols and names of features, which all lines repeat.
    for line, text in enumerate(read_lines(path), start=1):
        parsed = parsed_line(text)
        if parsed is None or len(parsed.fields) != 2:
            hint = "Write it with scfg-decoder translate --expressions … --nbest K"
            raise InputError(path, line, f"not a line of a list: {text[:60]}", hint)
        at = parsed.number
        if number is not None and at >= number:
            raise InputError(
                path, line, f"sentence {at}, but there are {number}, the first of them 0", _THESE
            )
        words = [once.setdefault(word, word) for word in parsed.words]
        candidates = found.setdefault(at, [])
        if words:
            candidates.append(Candidate(words, _features(parsed.fields[0], once, path, line)))
    return found


def list_lines(number: int, candidates: Iterable[tuple[Candidate, float]]) -> Iterator[str]:
    """The lines of a sentence's candidates and their scores; one without words where there are none."""
    lines = [
        f"{_words(one)} ||| {' '.join(f'{name}={value:.6g}' for name, value in one.features.items())}"
        f" ||| {score:.6f}"
        for one, score in candidates
    ]
    for line in lines or [" |||  ||| 0"]:
        yield f"{number} ||| {line}\n"


def _words(candidate: Candidate) -> str:
    """Its words, as the field of a line."""
    return " ".join(BAR if word == "|||" else word for word in candidate.words)


def check_features(path: PathLike, lists: Collection[Collection[Candidate]], wanted: Collection[str]) -> None:
    """An InputError if lists lack most of the features that are wanted; a warning if they lack some."""
    found = {name for candidates in lists for one in candidates for name in one.features}
    lacking = sorted(set(wanted) - found)
    if not lacking or not any(lists):
        return
    some = ", ".join(lacking[:3]) + (", …" if len(lacking) > 3 else "")
    complaint = f"lacks {len(lacking)} of {len(wanted)} features that the ranker learns of: {some}"
    if 2 * len(lacking) > len(wanted):
        raise InputError(path, None, complaint, "Give lists that are all made alike")
    warn(f"{path} {complaint}")


def check_words(path: PathLike, sentences: Iterable[Sequence[str]], ranker: Ranker) -> None:
    """A warning if a quarter of the words, or more, are none that a ranker knows: it learnt of others."""
    rows = ranker.models[WORD_FEATURES[0]].values()
    known = set().union(*rows)
    words = [word for sentence in sentences for word in with_kinds(sentence, ranker.names)]
    unknown = [word for word in words if word not in known]
    if len(words) >= _FEW_WORDS and 4 * len(unknown) >= len(words):
        each = list(dict.fromkeys(unknown))
        some = ", ".join(word[:40] for word in each[:3]) + (", …" if len(each) > 3 else "")
        warn(
            f"{path}: of {counted(len(words), 'word')}, {len(unknown)} are unknown to the ranker: {some}. "
            "Give it words as those it has learnt of, whole or cut"
        )


def _features(text: str, once: dict[str, str], path: PathLike, line: int) -> dict[str, float]:
    features: dict[str, float] = {}
    for each in split_words(text):
        name, _, text_of_value = each.rpartition("=")
        name = once.setdefault(name, name)
        try:
            value = real_number(text_of_value)
        except ValueError:
            value = math.nan
        if not name or not math.isfinite(value):
            raise InputError(path, line, f"'{each[:60]}' is not Feature=number", "Make the list again")
        if name in features:
            raise InputError(path, line, f"two features are called {name}", "Make the list again")
        features[name] = value
    return features


def write_ranker(ranker: Ranker, path: PathLike) -> None:
    """Write a ranker as JSON."""
    record = {
        "format": _FORMAT,
        "weights": ranker.weights,
        "names": dict(ranker.names),
        "words": dict(ranker.models),
    }
    with atomic_output(path) as out:
        out.write(json.dumps(record, ensure_ascii=False, indent=1) + "\n")


def read_ranker(path: PathLike) -> Ranker:
    """What `write_ranker` wrote.

    Raises
    ------
    InputError
        It is something else.
    """
    hint = "Write it with scfg-decoder train-ranker"
    try:
        record = parse_json("\n".join(read_lines(path)))
    except ValueError as error:
        raise InputError(path, None, f"not JSON ({str(error)[:60]})", hint) from None
    if not isinstance(record, dict) or record.get("format") != _FORMAT:
        raise InputError(path, None, f"not a ranker ('format' is not '{_FORMAT}')", hint)
    try:
        return _ranker(record)
    except WRONG_RECORD as error:
        raise InputError(path, None, f"a damaged ranker ({error!r})", hint) from None


def _ranker(record: dict[str, Any]) -> Ranker:
    weights = {str(name): _finite(value) for name, value in record["weights"].items()}
    names = {str(name): str(kind) for name, kind in record["names"].items()}
    models = {str(name): _word_model(name, model) for name, model in record["words"].items()}
    known = [WORD_FEATURES[:number] for number in (2, 4, len(WORD_FEATURES))]
    if tuple(models) not in known or not weights.keys() >= models.keys():
        raise ValueError(f"no weights or no models of {' and '.join(WORD_FEATURES[:2])}")
    return Ranker(weights, names, models)


def _word_model(name: str, record: Any) -> WordModel:
    model = {token: {word: _finite(value) for word, value in row.items()} for token, row in record.items()}
    if name == WORD_FEATURES[-1]:  # Log odds.
        return model
    if "" not in model or any("" not in row or min(row.values()) <= 0.0 for row in model.values()):
        raise ValueError("probabilities that are missing, or not above 0")
    if name not in WORD_FEATURES[:2]:
        require_rates(model)
    return model


def _finite(value: Any) -> float:
    if isinstance(value, bool) or not math.isfinite(value):
        raise ValueError(f"a number of {value!r}")
    return float(value)
