"""Feature weights as files: a JSON object, feature name to number."""

from __future__ import annotations

import json
import sys

from scfg_sampler.core.files import PathLike, atomic_output, read_lines
from scfg_sampler.errors import InputError

__all__ = ["read_weights", "write_weights"]

_LARGEST = sys.float_info.max


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
    except (ValueError, RecursionError) as error:
        line, found = (
            getattr(error, "lineno", None),
            getattr(error, "msg", "nested too deeply, or a number too long"),
        )
        raise InputError(path, line, f"not JSON ({found})", 'Weights look like {"Glue": -0.5, …}') from None
    if not isinstance(weights, dict):
        found = f"a JSON {type(weights).__name__} instead of an object"
        raise InputError(path, None, found, 'Weights look like {"Glue": -0.5, …}')
    for name, value in weights.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST:
            shown = repr(value)[:60]
            raise InputError(path, None, f"the weight of {name!r} is {shown}", "Weights are finite numbers")
    return {name: float(value) for name, value in weights.items()}


def write_weights(weights: dict[str, float], path: PathLike) -> None:
    """Write weights as JSON, one feature a line, atomically; values read back exactly."""
    with atomic_output(path) as out:
        out.write(json.dumps(weights, indent=2, ensure_ascii=False) + "\n")
