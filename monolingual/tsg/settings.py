"""What a TSG learner is told, and the temperature of each sweep."""

from __future__ import annotations

import math
from typing import NamedTuple

from scfg_sampler.errors import SettingsError

__all__ = ["MOVES", "TsgSettings", "check_settings", "temperature"]

MOVES = ("single", "type", "block")
"""`single`: the cut and the edge of a node. `type`: all cuts of a type. `block`: a sentence's derivation."""


class TsgSettings(NamedTuple):
    """Settings of a chain.

    Attributes
    ----------
    base : str
        `uniform` (P_M) or `pcfg` (P_C).
    concentration : float or None
        α of every label; None: learnt, label by label.
    stop : float or None
        1 − β of every label, the probability that a nonterminal below the root of an elementary tree of the
        base is a frontier; None: learnt, label by label.
    discount : float
        d of Pitman and Yor, of every label; 0 is the Dirichlet process of the paper.
    moves : tuple of str
        Some of `MOVES`, made in this order: single, block, type.
    type_every : int
        Sweeps from one round of type moves to the next.
    order : str
        `random` or `top-down`: in which order sentences and nodes are visited.
    start : str
        `maximal`: no cuts; `minimal`: all.
    anneal : (float, float, int)
        The temperature falls from the first to the second in so many sweeps, and stays there.
    """

    base: str = "pcfg"
    concentration: float | None = None
    stop: float | None = None
    discount: float = 0.0
    moves: tuple[str, ...] = ("single", "type")
    type_every: int = 5
    order: str = "random"
    start: str = "maximal"
    anneal: tuple[float, float, int] = (1.0, 1.0, 0)


def check_settings(settings: TsgSettings) -> None:
    """Raise a SettingsError if a setting is out of range."""
    concentration, stop, discount = settings.concentration, settings.stop, settings.discount
    if concentration is not None and not 0.0 < concentration < math.inf:
        raise SettingsError(f"--concentration is {concentration:g}; it must be above 0, or 'learn'")
    if stop is not None and not 0.0 < stop < 1.0:
        raise SettingsError(f"--stop is {stop:g}; it must be above 0 and below 1, or 'learn'")
    if not 0.0 <= discount < 1.0:
        raise SettingsError(f"--discount is {discount:g}; it must be at least 0 and below 1")
    unknown = [move for move in settings.moves if move not in MOVES]
    if unknown or not settings.moves:
        shown = ",".join(settings.moves)
        raise SettingsError(f"--moves is {shown!r}; give some of {', '.join(MOVES)}, joined by commas")
    if "type" in settings.moves and len(settings.moves) == 1 and discount > 0.0:
        raise SettingsError("--moves type does nothing with a --discount; add single")
    if settings.type_every < 1:
        raise SettingsError(f"--type-every is {settings.type_every}; it must be at least 1")
    if settings.order not in ("random", "top-down"):
        raise SettingsError(f"--order is {settings.order}; choose random or top-down")
    if settings.start not in ("maximal", "minimal"):
        raise SettingsError(f"--start is {settings.start}; choose maximal or minimal")
    first, last, sweeps = settings.anneal
    if not (0.0 < first < math.inf and 0.0 < last < math.inf and sweeps >= 0):
        shown = f"{first:g}:{last:g}:{sweeps}"
        raise SettingsError(f"--anneal is {shown}; give FROM:TO:SWEEPS, temperatures above 0, e.g. 5:1:4000")


def temperature(settings: TsgSettings, sweep: int) -> float:
    """T of a sweep, from 0."""
    first, last, sweeps = settings.anneal
    if sweep >= sweeps:
        return last
    return first + (last - first) * sweep / sweeps
