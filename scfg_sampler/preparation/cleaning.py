"""Which pairs are left out, and why.

Pairs are normalised first. Reasons are tried in the order of `REASONS`, and a pair counts under the first.
Lengths are compared in characters, so that languages without spaces are measured like others: with a source
side of a characters, a target side of b, and corpora of A and B characters, a pair is ill-proportioned if

    (a + 10) / (b' + 10)  with  b' = b · A / B

is above the limit, or below one divided by it. The 10 lets short sentences differ.

The fact a newcomer would get wrong: A and B are sums over the pairs that are neither empty nor too long, so
they are known only after all of the text has been read.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from scfg_sampler.errors import SettingsError
from scfg_sampler.preparation.case import lowered
from scfg_sampler.preparation.normalise import normalise
from scfg_sampler.preparation.readers import Pair

__all__ = ["REASONS", "Cleaned", "Limits", "clean", "leave_out", "same_sentence"]

_ONE_LETTER = str.maketrans("ςıİ", "σii")

REASONS = {
    "empty": "a side is empty",
    "long": "a side is too long",
    "same": "both sides are the same",
    "proportion": "the sides differ too much in length",
    "doubled": "the pair was there before",
    "words": "a side has too many words",
    "held out": "a side is in the development or test set",
}
_SMOOTHING = 10
_MOST_EXAMPLES = 5


class Limits(NamedTuple):
    """What a pair may be; 0 is no limit.

    max_characters : of a side
    max_words : of a side, after segmentation; for training pairs only
    max_ratio : of the two lengths, see above
    keep_same, keep_doubled : bool
    """

    max_characters: int = 600
    max_words: int = 100
    max_ratio: float = 4.0
    keep_same: bool = False
    keep_doubled: bool = False


class Cleaned(NamedTuple):
    """What was kept, normalised, and what was left out.

    pairs : list of Pair
    counts : reason → number of pairs, for all of `REASONS`
    examples : reason → up to five of the pairs
    """

    pairs: list[Pair]
    counts: dict[str, int]
    examples: dict[str, list[Pair]]


def clean(pairs: Iterable[Pair], limits: Limits) -> Cleaned:
    """The pairs that can be used, in their order.

    Raises
    ------
    SettingsError
        A limit is negative, or a ratio between 0 and 1.
    """
    _check(limits)
    left_out = Cleaned([], dict.fromkeys(REASONS, 0), {reason: [] for reason in REASONS})
    kept = []
    for raw in pairs:
        pair = Pair(normalise(raw.source), normalise(raw.target), raw.line)
        reason = _reason(pair, limits)
        if reason:
            leave_out(left_out, reason, pair)
        else:
            kept.append(pair)
    scale = sum(len(pair.source) for pair in kept) / max(1, sum(len(pair.target) for pair in kept))
    seen: set[tuple[str, str]] = set()
    for pair in kept:
        ratio = (len(pair.source) + _SMOOTHING) / (len(pair.target) * scale + _SMOOTHING)
        if limits.max_ratio and not 1 / limits.max_ratio <= ratio <= limits.max_ratio:
            leave_out(left_out, "proportion", pair)
        elif not limits.keep_doubled and pair[:2] in seen:
            leave_out(left_out, "doubled", pair)
        else:
            seen.add(pair[:2])
            left_out.pairs.append(pair)
    return left_out


def leave_out(cleaned: Cleaned, reason: str, pair: Pair) -> None:
    """Count a pair that is left out."""
    cleaned.counts[reason] += 1
    if len(cleaned.examples[reason]) < _MOST_EXAMPLES:
        cleaned.examples[reason].append(pair)


def same_sentence(text: str) -> str:
    """What sentences have in common that must not be both in training and test: all but case.

    >>> same_sentence("Stop!") == same_sentence("STOP!")
    True
    >>> same_sentence("ışık, Της") == same_sentence("IŞIK, ΤΗΣ")
    True
    """
    return lowered(text).translate(_ONE_LETTER)


def _reason(pair: Pair, limits: Limits) -> str | None:
    """Why a normalised pair cannot be used, whatever the others are."""
    if not pair.source or not pair.target:
        return "empty"
    if limits.max_characters and max(len(pair.source), len(pair.target)) > limits.max_characters:
        return "long"
    if not limits.keep_same and lowered(pair.source) == lowered(pair.target):
        return "same"
    return None


def _check(limits: Limits) -> None:
    for option, value in (("--max-characters", limits.max_characters), ("--max-words", limits.max_words)):
        if value < 0:
            raise SettingsError(f"{option} is {value}; it is at least 1, or 0 for no limit")
    if limits.max_ratio and not 1 <= limits.max_ratio < math.inf:
        raise SettingsError(f"--max-ratio is {limits.max_ratio}; it is at least 1, or 0 for no limit")
