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
    "ExpressionModel": 0.3,
    "SymbolLexicon": 0.3,
}


def initial_weights(names: Sequence[str]) -> dict[str, float]:
    """Where tuning begins: sensible values for the project's own features, 0 for any other.

    With a prefix, as in `domain.LogForward`, the value is that of the name after the last dot. Several
    language models have the weight of one together.
    """
    weights = {name: _INITIAL.get(name.rpartition(".")[2], 0.0) for name in names}
    models = [name for name in names if re.fullmatch(r"LanguageModel(_[0-9]+)?", name)]
    return weights | dict.fromkeys(models, _INITIAL["LanguageModel"] / max(1, len(models)))


def weight_vector(
    weights: dict[str, float], names: Sequence[str], path: PathLike | None = None
) -> np.ndarray:
    """The weights in the order of the names, float64. Warns about weights that no feature uses.

    Raises
    ------
    InputError
        A feature has no weight.
    """
    missing = [name for name in names if name not in weights]
    if missing:
        found = "no weight for " + ", ".join(f"'{name}'" for name in missing)
        raise InputError(path, None, found, "Add it to the weights, as 0 to ignore the feature")
    unused = [name for name in weights if name not in set(names)]
    if unused:
        warn(f"{'' if path is None else f'{path}: '}no feature is called {', '.join(unused)}; not used")
    return np.array([weights[name] for name in names], np.float64)
