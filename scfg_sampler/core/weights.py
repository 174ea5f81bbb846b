"""Feature weights as files: a JSON object, feature name to number."""

from __future__ import annotations

import json
from typing import Any

from scfg_sampler.core.files import PathLike, atomic_output, read_lines
from scfg_sampler.errors import InputError

__all__ = ["LARGEST_WEIGHT", "read_weights", "write_weights"]

LARGEST_WEIGHT = 1e30
"""Neither a weight nor its negative is larger: with features of single precision, no score is infinite."""


def read_weights(path: PathLike) -> dict[str, float]:
    """The weights in a JSON file.

    Raises
    ------
    InputError
        The file is not a JSON object of numbers up to `LARGEST_WEIGHT`; names the place.
    """
    text = "\n".join(read_lines(path))
    try:
        weights = json.loads(text, object_pairs_hook=_named_once)
    except KeyError as error:
        found = f"the weight of {error.args[0]!r} is given twice"
        raise InputError(path, None, found, "Keep one of them") from None
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
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST_WEIGHT:
            shown = repr(value)[:60]
            hint = f"Weights are numbers from -{LARGEST_WEIGHT:g} to {LARGEST_WEIGHT:g}"
            raise InputError(path, None, f"the weight of {name!r} is {shown}", hint)
    return {name: float(value) for name, value in weights.items()}


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; KeyError with a name that it has twice, of which json would take the last silently."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise KeyError(name)
        found[name] = value
    return found


def write_weights(weights: dict[str, float], path: PathLike) -> None:
    """Write weights as JSON, one feature a line, atomically; values read back exactly."""
    with atomic_output(path) as out:
        out.write(json.dumps(weights, indent=2, ensure_ascii=False) + "\n")
