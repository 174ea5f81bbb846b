"""The three readings of grammars that are not tight, by name and by the number that kernels know."""

from __future__ import annotations

from scfg_sampler.errors import SettingsError

__all__ = [
    "ALGORITHM_2",
    "APPROACHES",
    "IMAGES",
    "ONLY_TIGHT",
    "PROPOSALS",
    "RENORMALISE",
    "SINK",
    "TILTED",
    "approach_code",
]

APPROACHES = ("only-tight", "renormalise", "sink")
ONLY_TIGHT, RENORMALISE, SINK = range(3)
PROPOSALS = ("tight", "tilted", "dirichlet")
IMAGES, TILTED, ALGORITHM_2 = range(3)
"""How the renormalise approach proposes: as in `tight_images.py` and then in `renormalised.py`; as in the
second alone; or by algorithm 2."""


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
