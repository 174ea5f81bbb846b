"""Traces as ArviZ takes them; the only import of arviz-base.

The fact a newcomer would get wrong: a draw is a sweep after burn-in, and chains are cut to the shortest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scfg_sampler.errors import ScfgError

__all__ = ["inference_data"]


def inference_data(
    groups: Mapping[str, Mapping[str, np.ndarray]],
    about: Mapping[str, Any],
    names: Mapping[str, Sequence[str]] | None = None,
) -> Any:
    """A DataTree with groups of variables whose first dimensions are chain and draw.

    Parameters
    ----------
    groups : mapping from group to mapping from variable to array
        Of shape (chains, draws), or (chains, draws, entries).
    about : mapping
        What stands at the root as attributes.
    names : mapping from variable to sequence of str, optional
        What the entries of a variable are called; the dimension has the name of the variable and `_of`.

    Raises
    ------
    ScfgError
        arviz-base is not installed.
    """
    try:
        from arviz_base import from_dict
    except ModuleNotFoundError:
        needed = "to_arviz needs arviz-base: pip install 'scfg-sampler[arviz]'"
        raise ScfgError(needed) from None
    given = {group: dict(variables) for group, variables in groups.items() if variables}
    dims = {variable: [f"{variable}_of"] for variable in names or {}}
    coords = {f"{variable}_of": list(entries) for variable, entries in (names or {}).items()}
    return from_dict(given, attrs={"/": dict(about)}, dims=dims, coords=coords)
