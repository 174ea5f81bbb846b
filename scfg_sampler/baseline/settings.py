"""Which rules the Hiero baseline has: all defaults.

The fact a newcomer would get wrong: limits on words are of initial phrase pairs, the limit on symbols is of
rules.
"""

from __future__ import annotations

from typing import NamedTuple

from scfg_sampler.errors import SettingsError

__all__ = ["COUNTING", "LOOSE", "HieroSettings"]

COUNTING = ("occurrences", "fractional")
LOOSE = ("no", "source", "target", "both")


class HieroSettings(NamedTuple):
    """Which rules are extracted, and how they are counted.

    max_initial : source words of an initial phrase pair, at least 1
    max_initial_target : its target words, at least 1
    max_symbols : symbols of a rule's source side, at least 1
    max_nonterminals : 0, 1 or 2
    counting : `occurrences` or `fractional`
    no_singletons : leave out rules that occur once in the corpus and have more than one word on the source
        side (Chung et al. 2014, section 5.4.1), before anything is normalised
    loose : where phrase pairs may begin and end with unaligned words: `no`, `source`, `target`, `both`
    """

    max_initial: int = 10
    max_symbols: int = 5
    max_nonterminals: int = 2
    counting: str = "occurrences"
    no_singletons: bool = False
    max_initial_target: int = 10
    loose: str = "no"

    def longest(self, side: str) -> int:
        """How many words of a side, `source` or `target`, an initial phrase pair has at the most."""
        return self.max_initial_target if side == "target" else self.max_initial

    def fields(self) -> list[tuple[str, object]]:
        """What is the baseline's in the line that reproduces a table: see `rules.text.signature`."""
        return [
            ("model", "hiero"),
            *((name.replace("_", "-"), value) for name, value in self._asdict().items()),
        ]

    def check(self) -> None:
        """Raise SettingsError if a limit is outside its range."""
        for name in ("max_initial", "max_initial_target", "max_symbols"):
            value = getattr(self, name)
            if not 1 <= value <= 1000:
                option = name.replace("_", "-")
                raise SettingsError(f"--{option} is {value}, but must be between 1 and 1000")
        if not 0 <= self.max_nonterminals <= 2:
            raise SettingsError(f"--max-nonterminals is {self.max_nonterminals}, but must be 0, 1 or 2")
        if self.counting not in COUNTING:
            raise SettingsError(f"--counting is {self.counting!r}, but must be one of {', '.join(COUNTING)}")
        if self.loose not in LOOSE:
            raise SettingsError(f"--loose is {self.loose!r}, but must be one of {', '.join(LOOSE)}")
