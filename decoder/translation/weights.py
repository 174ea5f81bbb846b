"""Feature weights: a JSON object, feature name to number.

A score is the sum of weight · feature value, and features are natural logarithms of probabilities or
counts; so positive weights reward probable rules, and a negative `PassThrough` discourages copying.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from scfg_sampler.core.console import warn
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.weights import read_weights, write_weights
from scfg_sampler.errors import InputError

__all__ = ["initial_weights", "read_weights", "weight_vector", "write_weights"]

_INITIAL = {
    "LanguageModel": 1.0,
    "LogForward": 0.3,
    "LogBackward": 0.3,
    "LexForward": 0.3,
    "LexBackward": 0.3,
    "LogCount": 0.0,
    "TargetWords": 0.3,
    "Abstract": 0.0,
    "LogPosterior": 0.0,
    "Glue": 0.0,
    "PassThrough": -10.0,
    "LabelMismatch": -0.5,
    "ExpressionModel": 0.3,
    "SymbolLexicon": 0.3,
}
_MOST_NAMED = 10  # In a warning.


def initial_weights(names: Sequence[str], prefixes: Sequence[str] = ()) -> dict[str, float]:
    """Where tuning begins: sensible values for the project's own features, 0 for any other.

    With one of the prefixes, or one that ends in a dot, as in `domain.LogForward`, the value is that of the
    name without. Several language models have the weight of one together.
    """
    weights = {name: _initial(name, prefixes) for name in names}
    models = [name for name in names if re.fullmatch(r"LanguageModel(_[0-9]+)?", name)]
    return weights | dict.fromkeys(models, _INITIAL["LanguageModel"] / max(1, len(models)))


def _initial(name: str, prefixes: Sequence[str]) -> float:
    """The weight of a name, or of what is behind one of the prefixes, or behind the last dot."""
    rests = [name[len(prefix) :] for prefix in prefixes if name.startswith(prefix)]
    known = (rest for rest in (name, *rests, name.rpartition(".")[2]) if rest in _INITIAL)
    return _INITIAL.get(next(known, name), 0.0)


def weight_vector(
    weights: dict[str, float],
    names: Sequence[str],
    path: PathLike | None = None,
    sparse_names: Sequence[str] = (),
) -> np.ndarray:
    """The weights in the order of the names, float64. Warns about weights but 0 that no feature uses.

    sparse_names : of features that few rules have, whose weights follow, 0 where there is none. There is a
        warning if none of them has one.

    Raises
    ------
    InputError
        A feature has no weight.
    """
    missing = [name for name in names if name not in weights]
    if missing:
        found = "no weight for " + ", ".join(f"'{name}'" for name in missing)
        raise InputError(path, None, found, "Add it to the weights, as 0 to ignore the feature")
    place = "" if path is None else f"{path}: "
    known = {*names, *sparse_names}
    unused = [name for name, value in weights.items() if name not in known and value]
    if unused:
        named = unused if len(unused) <= _MOST_NAMED else [*unused[:3], f"nor {len(unused) - 3} others"]
        warn(f"{place}no feature is called {', '.join(named)}; not used")
    if sparse_names and not any(name in weights for name in sparse_names):
        warn(f"{place}no weight for any of {len(sparse_names)} sparse features, which count 0")
    return np.array([*(weights[name] for name in names), *(weights.get(name, 0.0) for name in sparse_names)])
