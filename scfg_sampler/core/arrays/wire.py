"""Arrays as compiled code wants them, whatever way they came.

The fact a newcomer would get wrong: what is wrong with an array that came over a wire is not in its values.
A read-only array has another type for numba, and everything that takes it is compiled anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["own"]


def own(value: Any) -> Any:
    """The same, its arrays copied that are not as numpy makes them, as those that come over a wire.

    They may be read-only, or lie at odd addresses; for such arrays kernels would be compiled anew.

    Parameters
    ----------
    value
        An array, or anything; tuples and lists of these.
    """
    if isinstance(value, np.ndarray):
        return value if value.flags.carray else value.copy()
    if isinstance(value, list):
        return [own(part) for part in value]
    if isinstance(value, tuple):
        parts = [own(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value
