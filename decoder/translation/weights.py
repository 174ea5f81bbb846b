"""Feature weights: a JSON object, feature name to number.

A score is the sum of weight · feature value, and features are natural logarithms of probabilities or
counts; so positive weights reward probable rules, and a negative `PassThrough` discourages copying.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import numpy as np

from scfg_sampler.core.console import warn
from scfg_sampler.core.files import PathLike, atomic_output, read_lines
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
}


def initial_weights(names: Sequence[str]) -> dict[str, float]:
    """Where tuning begins: sensible values for the project's own features, 0 for any other.

    With a prefix, as in `domain.LogForward`, the value is that of the name after the last dot.
    """
    return {name: _INITIAL.get(name.rpartition(".")[2], 0.0) for name in names}


def read_weights(path: PathLike) -> dict[str, float]:
    """The weights in a JSON file.

    Raises
    ------
    InputError
        The file is not a JSON object of finite numbers; names the place.
    """
    text = "\n".join(read_lines(path))
    try:
        weights = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        line, found = getattr(error, "lineno", None), getattr(error, "msg", "nested too deeply")
        raise InputError(path, line, f"not JSON ({found})", 'Weights look like {"Glue": -0.5, …}') from None
    if not isinstance(weights, dict):
        found = f"a JSON {type(weights).__name__} instead of an object"
        raise InputError(path, None, found, 'Weights look like {"Glue": -0.5, …}')
    for name, value in weights.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise InputError(path, None, f"the weight of '{name}' is {value!r}", "Weights are finite numbers")
    return {name: float(value) for name, value in weights.items()}


def write_weights(weights: dict[str, float], path: PathLike) -> None:
    """Write weights as JSON, one feature a line, atomically; values read back exactly."""
    with atomic_output(path) as out:
        out.write(json.dumps(weights, indent=2, ensure_ascii=False) + "\n")


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
