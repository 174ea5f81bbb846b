"""The three readings of grammars that are not tight, by name and by the number that kernels know."""

from __future__ import annotations

from scfg_sampler.errors import SettingsError

__all__ = ["APPROACHES", "ONLY_TIGHT", "PROPOSALS", "RENORMALISE", "SINK", "approach_code"]

APPROACHES = ("only-tight", "renormalise", "sink")
ONLY_TIGHT, RENORMALISE, SINK = range(3)
PROPOSALS = ("tilted", "dirichlet")
"""How the renormalise approach proposes: as in `renormalised.py`, or by algorithm 2."""


def approach_code(name: str) -> int:
    """The number by which kernels know an approach.

    Raises
    ------
    SettingsError
        There is no such approach.
    """
    if name not in APPROACHES:
        raise SettingsError(f"--approach is {name!r}; choose one of {', '.join(APPROACHES)}")
    return APPROACHES.index(name)
