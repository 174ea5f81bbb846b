"""How every command searches if it is not told otherwise."""

from __future__ import annotations

import math
from typing import NamedTuple

from scfg_sampler.errors import SettingsError

__all__ = [
    "LARGEST",
    "SEARCHES",
    "SearchDefaults",
    "check_kept_settings",
    "check_search",
    "check_search_settings",
]

SEARCHES = ("boundary", "guided", "cube")  # Ways to search; the first unless told otherwise.

LARGEST = 2**31 - 1
"""The largest number that systems hold."""


class SearchDefaults(NamedTuple):
    """The settings of a search; see `decoder.translation.decoder.Decoder`.

    beam : derivations a span may try; 0 for exact search
    max_targets : targets tried for a source side; 0 for all
    widen : let a span of n words try n / widen times as many derivations; 0 for all spans alike
    max_span : source words a rule may cover, gaps included
    search : one of `SEARCHES`: "cube", cube pruning; "boundary", the same derivations by the words at their
        edges; "guided", those of them that a narrow search found promising, and in a better order
    """

    beam: int = 200
    max_targets: int = 20
    widen: float = 1.5
    max_span: int = 20
    search: str = SEARCHES[0]


def check_search(how: str) -> str:
    """The way to search itself; a SettingsError unless it is one of `SEARCHES`."""
    if how not in SEARCHES:
        raise SettingsError(f"--search is {how}; it is one of {', '.join(SEARCHES)}")
    return how


def check_search_settings(settings: SearchDefaults) -> None:
    """Raise a SettingsError if a setting is out of range; how far rules reach is the grammar's to check."""
    for name in ("beam", "max_targets", "widen"):
        value = getattr(settings, name)
        if not value >= 0:
            option = f"--{name.replace('_', '-')}"
            raise SettingsError(f"{option} is {value}; it is at least 1, or 0 for no limit")
    if not math.isfinite(settings.widen):
        raise SettingsError(f"--widen is {settings.widen}; it is finite, or 0 for all spans alike")
    check_search(settings.search)


def check_kept_settings(settings: SearchDefaults) -> None:
    """`check_search_settings`, and SettingsError for numbers that systems cannot hold."""
    check_search_settings(settings)
    for name in ("beam", "max_targets", "widen", "max_span"):
        value = getattr(settings, name)
        if value > LARGEST:
            raise SettingsError(f"--{name.replace('_', '-')} is {value}; it is at most {LARGEST}")
