"""Expression models as files: JSON that a person can read, and change."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from decoder.expressions.forms import FORMS, arity_of
from decoder.expressions.model import Arguments, expression_model
from decoder.expressions.tree import is_constant
from decoder.expressions.tree_model import CONSTANT, TreeModel, outcomes_of
from decoder.expressions.words import SymbolLexicon
from scfg_sampler.core.files import PathLike, atomic_output, read_lines
from scfg_sampler.core.json_text import WRONG_RECORD, parse_json
from scfg_sampler.core.numerals import real_number
from scfg_sampler.errors import InputError

__all__ = ["Expressions", "read_expressions", "write_expressions"]

_FORMAT = "scfg-expressions 2"


class Expressions(NamedTuple):
    """All that is learnt of expressions.

    arguments : Arguments
    lexicon : SymbolLexicon
    form : one of `FORMS`, which expressions must be possible to write in; every tree is in all but "sql"
    trees : TreeModel; None in files of before there was one
    """

    arguments: Arguments
    lexicon: SymbolLexicon
    form: str = FORMS[0]
    trees: TreeModel | None = None


def write_expressions(found: Expressions, path: PathLike) -> None:
    """Write a model of expressions."""
    arguments, lexicon, form, trees = found
    record = {
        "format": _FORMAT,
        **({"form": form} if form != FORMS[0] else {}),
        "symbols": arguments.symbols,
        "arguments": [[*place, dict(counts)] for place, counts in arguments.counts.items()],
        "constants": {
            word: [list(place) for place in places] for word, places in arguments.places_of.items()
        },
        "names": dict(sorted(lexicon.names.items())),
        "words": lexicon.weights,
        **({} if trees is None else {"trees": _record_of(trees)}),
    }
    with atomic_output(path) as out:
        out.write(json.dumps(record, ensure_ascii=False, indent=1) + "\n")


def read_expressions(path: PathLike) -> Expressions:
    """What `write_expressions` wrote.

    Raises
    ------
    InputError
        It is something else.
    """
    hint = "Write it with scfg-decoder train-expressions"
    try:
        record = parse_json("\n".join(read_lines(path)))
    except ValueError as error:
        raise InputError(path, None, f"not JSON ({error})", hint) from None
    if not isinstance(record, dict) or record.get("format") != _FORMAT:
        raise InputError(path, None, f"not a model of expressions ('format' is not '{_FORMAT}')", hint)
    try:
        return _expressions(record)
    except WRONG_RECORD as error:
        raise InputError(path, None, f"a damaged model of expressions ({error!r})", hint) from None


def _expressions(record: dict[str, Any]) -> Expressions:
    symbols = [str(word) for word in record["symbols"]]
    if not symbols:
        raise ValueError("no symbols")
    if len(set(symbols)) < len(symbols) or any(arity_of(word) is None for word in symbols):
        raise ValueError("a symbol twice, or without its arity")
    places = {(word, at) for word in symbols for at in range(arity_of(word) or 0)} | {("", 0)}
    counts = {}
    for symbol, at, filled in record["arguments"]:
        counts[symbol, at] = Counter({str(word): _whole(number) for word, number in filled.items()})
    homes = {word: [(symbol, at) for symbol, at in found] for word, found in record["constants"].items()}
    named = {place for found in homes.values() for place in found} | counts.keys()
    if not named <= places or not homes.keys() <= set(symbols):
        raise ValueError("a place of a symbol that is not listed")
    fillings = {CONSTANT if is_constant(word) else word for word in symbols}
    if any(not fillings.issuperset(filled) for filled in counts.values()):
        raise ValueError("what fills a place is not listed")
    names = {str(name): str(kind) for name, kind in record["names"].items()}
    weights = {
        symbol: {str(context): _finite(weight) for context, weight in each.items()}
        for symbol, each in record["words"].items()
    }
    form = record.get("form", FORMS[0])
    if form not in FORMS:
        raise ValueError(f"a form {form!r}")
    arguments = Arguments(counts, homes, symbols)
    trees = _tree_model(record["trees"], arguments) if "trees" in record else None
    return Expressions(arguments, SymbolLexicon(names, weights), form, trees)


def _record_of(trees: TreeModel) -> dict[str, Any]:
    """Each context and each place with a text of its weights, which are of the outcomes in their order."""
    spelled = {
        field: {name: " ".join(f"{weight:.5g}" for weight in row.tolist()) for name, row in rows.items()}
        for field, rows in (("contexts", trees.contexts), ("where", trees.where))
    }
    return {"outcomes": list(trees.outcomes), **spelled}


def _tree_model(record: dict[str, Any], arguments: Arguments) -> TreeModel:
    outcomes = tuple(record["outcomes"])
    if outcomes != outcomes_of(expression_model(arguments))[0]:
        raise ValueError("outcomes that are not the symbols")
    found = []
    for rows in (record["contexts"], record["where"]):
        weights = {
            name: np.array([real_number(each) for each in text.split()]) for name, text in rows.items()
        }
        if any(len(row) != len(outcomes) or not np.isfinite(row).all() for row in weights.values()):
            raise ValueError("weights that are not numbers, one for each outcome")
        found.append(weights)
    return TreeModel(outcomes, *found)


def _finite(number: Any) -> float:
    if isinstance(number, (bool, str)) or not math.isfinite(number):
        raise ValueError(f"a weight of {number!r}")
    return float(number)


def _whole(number: Any) -> int:
    if type(number) is not int or number < 1:
        raise ValueError(f"a count of {number!r}")
    return number
