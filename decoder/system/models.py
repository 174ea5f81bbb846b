"""What every directory that translates holds: a grammar and language models, compiled, and weights.

grammar.bin     the rule table with its trie (decoder.grammar.file)
lm.bin          the language model (decoder.lm.table); lm-1.bin and so on, if there are several
weights.json    the weights
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from decoder.grammar.file import (
    CompiledGrammar,
    is_grammar_file,
    read_grammar_file,
    with_settings,
    write_grammar_file,
)
from decoder.grammar.trie import Grammar
from decoder.grammar.weighted import as_weighted
from decoder.lm.model import LanguageModel, LanguageModels, load_lms
from decoder.lm.table import is_lm_file, write_lm_file
from decoder.lm.vocabulary import LmVocabulary
from decoder.system.inventory import GRAMMAR, Kind, Record
from decoder.translation.settings import SearchDefaults
from decoder.translation.weights import read_weights, write_weights
from scfg_sampler import __version__
from scfg_sampler.core.files import PathLike
from scfg_sampler.errors import InputError
from scfg_sampler.formats import DECODERS
from scfg_sampler.rules.table import RuleTable

__all__ = [
    "MODEL_NAMES",
    "Models",
    "model_files",
    "read_models",
    "require_compiled",
    "write_models",
    "write_used_weights",
]

_LM, _WEIGHTS = "lm.bin", "weights.json"

MODEL_NAMES = r"grammar\.bin|lm(-[0-9]+)?\.bin|weights\.json"
"""What the files are called, as a regular expression."""


class Models(NamedTuple):
    """What a decoder is made of.

    grammar : with the span limit of the settings, and what the weights turn on in it
    """

    grammar: Grammar
    lms: LanguageModels
    weights: dict[str, float]


def write_models(
    grammar: RuleTable | PathLike,
    lm: PathLike | Sequence[PathLike],
    weights: PathLike,
    folder: Path,
    settings: SearchDefaults,
    spelling: str,
    name: PathLike | None = None,
) -> tuple[Models, Record]:
    """Write the models; what a decoder needs, and what a record says of them.

    Parameters
    ----------
    grammar : a table, or the path of a compiled one
    lm : an ARPA file or a compiled model, or several
    weights : a JSON file
    spelling : the format of the table. If it is another decoder's, so may be the words of a language model,
        which are written as they are; where that matters, the record has the `spelling`.
    name : what errors call the table

    Raises
    ------
    InputError
        A file cannot be read.
    """
    if isinstance(grammar, RuleTable):
        write_grammar_file(grammar, folder / GRAMMAR, name)
        compiled = read_grammar_file(folder / GRAMMAR)
    else:
        compiled = read_grammar_file(grammar)  # Not the copy, whose name nobody knows.
        shutil.copyfile(grammar, folder / GRAMMAR)
    lms = load_lms([lm] if isinstance(lm, str | os.PathLike) else list(lm))
    for model, (each, vocabulary) in enumerate(zip(*lms, strict=True)):
        write_lm_file(each, vocabulary, folder / _lm_file(model))
    spelled = lms.spelled(spelling)
    is_as_it_is = all(a.knows_as(b) for a, b in zip(lms.vocabularies, spelled.vocabularies, strict=True))
    known = read_weights(weights)
    write_weights(known, folder / _WEIGHTS)
    described = [_described(*each) for each in zip(*lms, strict=True)]
    return _models(compiled, spelled, known, settings), {
        "grammar": {"signature": compiled.table.signature, "rules": len(compiled.grammar.rules)},
        "lm": described[0] if len(described) == 1 else described,
        **({} if is_as_it_is else {"spelling": spelling}),
    }


def _described(lm: LanguageModel, vocabulary: LmVocabulary) -> Record:
    words = vocabulary.class_of
    if words is None:
        return {"order": lm.order, "words": lm.num_words}
    return {"order": lm.order, "words": len(words), "classes": len(set(words.values()))}


def write_used_weights(models: Models, names: Collection[str], folder: Path) -> None:
    """Write the weights of these features alone, so that nobody is warned of others again."""
    write_weights(
        {name: weight for name, weight in models.weights.items() if name in names}, folder / _WEIGHTS
    )


def _models(
    compiled: CompiledGrammar, lms: LanguageModels, weights: dict[str, float], settings: SearchDefaults
) -> Models:
    grammar = with_settings(compiled, "", settings.max_span)
    return Models(as_weighted(grammar, lms.vocabularies, weights), lms, weights)


def _lm_file(model: int) -> str:
    """The name of the file of a language model, by its number."""
    return f"lm-{model}.bin" if model else _LM


def _lm_files(record: Record) -> list[str]:
    return [_lm_file(model) for model in range(len(record["lm"]) if isinstance(record["lm"], list) else 1)]


def model_files(record: Record) -> list[str]:
    """The files of the models, by what a record says; ValueError if that cannot be."""
    lms = _lm_files(record)
    if not lms:
        raise ValueError("no language model")
    if record.get("spelling", DECODERS[0]) not in DECODERS:
        raise ValueError(f"spelling {record['spelling']!r}"[:80])
    return [GRAMMAR, *lms, _WEIGHTS]


def require_compiled(folder: Path, record: Record, kind: Kind) -> None:
    """An InputError unless the models are compiled as this version reads them."""
    if not is_grammar_file(folder / GRAMMAR):
        found = f"is not a compiled grammar as version {__version__} writes it"
        hint = f"Bundle the {kind.name} again, or use version {record['version']}"
        raise InputError(folder / GRAMMAR, None, found, hint)
    for name in _lm_files(record):
        if not is_lm_file(folder / name):
            found = "is not a compiled language model of this version"
            raise InputError(folder / name, None, found, f"Bundle the {kind.name} again")


def read_models(folder: Path, record: Record, settings: SearchDefaults) -> Models:
    """What `write_models` wrote, mapped into memory.

    Raises
    ------
    InputError
        A file is damaged.
    """
    with ThreadPoolExecutor(1) as pool:  # Most of the time goes into checksums.
        reading = pool.submit(read_grammar_file, folder / GRAMMAR)
        lms = load_lms([folder / name for name in _lm_files(record)])
        lms = lms.spelled(record.get("spelling", "native"))
        return _models(reading.result(), lms, read_weights(folder / _WEIGHTS), settings)
