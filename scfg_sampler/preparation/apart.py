"""Where two texts of unequal length stop belonging together, guessed.

With d more lines in the longer text, it is taken that d lines in a row are in excess: before a place pairs
are (k, k), behind it (k, k + d). Each line says how much better it fits the one than the other, and the place
with the lowest cost of all lines is the guess. Length, digits and emptiness tell at once; they say little
where neighbours are alike, as in a text that is sorted by length. So the words that go together are counted
under that guess, which is right for most lines, and the place is sought again with what the words say, until
it stays.

The fact a newcomer would get wrong: a rare word always goes together with what it was counted with, once. A
line is taken out of the counts before it is asked.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from scfg_sampler.preparation.subwords import is_unspaced

__all__ = ["place_apart"]

_CLEAR = 3.0  # By how much the worst guess of a place must cost more than the best one.
_WORDS_WEIGH = 8.0  # The cost of a line whose words go with none of the other's, against one where all do.
_MOST_LINES = 4000  # That are looked at together: a second or two.
_MOST_WORDS = 40  # Of a line.
_MOST_ROUNDS = 5
_WORDS = re.compile(r"\w+|[^\w\s]")


def place_apart(source: Sequence[str], target: Sequence[str]) -> int | None:
    """The line, from 1, near which two texts of unequal length stop belonging together; None if unclear."""
    swap = len(source) > len(target)
    short, long = (target, source) if swap else (source, target)
    more = len(long) - len(short)
    if not short or not more:
        return None
    scale = (1 + sum(map(len, short))) / (1 + sum(map(len, long)))
    by_form = [
        _form_cost(one, before, scale) - _form_cost(one, behind, scale)
        for one, before, behind in zip(short, long, long[more:], strict=False)
    ]
    guess, _ = _cheapest(by_form)
    step = math.ceil(len(short) / _MOST_LINES)
    looked_at = range(0, len(short), step)
    guess, is_clear = _refined(short, long, looked_at, by_form, guess)
    if step > 1:
        begin = max(0, min(guess - _MOST_LINES // 2, len(short) - _MOST_LINES))
        looked_at = range(begin, begin + _MOST_LINES)
        guess, is_near = _refined(short, long, looked_at, by_form, guess)
        is_clear |= is_near
    return guess + 1 if is_clear else None


def _form_cost(one: str, other: str, scale: float) -> float:
    """How badly the forms of two lines fit translations of each other."""
    a, b = len(one.strip()), scale * len(other.strip())
    cost = min(abs(math.log((a + 5) / (b + 5))), 2.0)
    if (a == 0) != (b == 0):
        cost += 2
    return cost + 2 * (re.findall(r"\d+", one) != re.findall(r"\d+", other))


def _cheapest(steps: Sequence[float]) -> tuple[int, bool]:
    """The place with the lowest sum of the steps before it, and whether another costs clearly more."""
    costs = list(itertools.accumulate(steps, initial=0.0))
    best = min(range(len(costs)), key=costs.__getitem__)
    return best, max(costs) > costs[best] + _CLEAR


def _refined(
    short: Sequence[str], long: Sequence[str], looked_at: range, by_form: Sequence[float], guess: int
) -> tuple[int, bool]:
    """A better guess by the words of the lines looked at, and whether it is clear."""
    more = len(long) - len(short)
    words = [_words(short[k]) for k in looked_at]
    others = [(_words(long[k]), _words(long[k + more])) for k in looked_at]
    is_clear = False
    for _ in range(_MOST_ROUNDS):
        is_behind = [k >= guess for k in looked_at]
        paired = [pair[side] for pair, side in zip(others, is_behind, strict=True)]
        counts = _counts(words, paired)
        steps = []
        for k, one, (before, behind), own in zip(looked_at, words, others, is_behind, strict=True):
            better = _fit(one, behind, counts, int(own)) - _fit(one, before, counts, int(not own))
            steps.append(by_form[k] + _WORDS_WEIGH * better)
        best, is_clear = _cheapest(steps)
        found = looked_at[best] if best < len(looked_at) else looked_at[-1] + 1
        if found == guess:
            break
        guess = found
    return guess, is_clear


def _words(line: str) -> list[str]:
    """The different words of a line; in scripts without spaces its characters."""
    words: dict[str, None] = {}
    for word in _WORDS.findall(line.lower()):
        words.update(dict.fromkeys(word if is_unspaced(word[0]) else [word]))
    return list(words)[:_MOST_WORDS]


class _Counts(NamedTuple):
    """In how many pairs of lines two words go together, and in how many each is."""

    together: Counter[tuple[str, str]]
    one: Counter[str]
    other: Counter[str]


def _counts(ones: Sequence[list[str]], others: Sequence[list[str]]) -> _Counts:
    """The counts of pairs of lines, given as their words."""
    together: Counter[tuple[str, str]] = Counter()
    for one, other in zip(ones, others, strict=True):
        together.update(itertools.product(one, other))
    return _Counts(together, Counter(itertools.chain(*ones)), Counter(itertools.chain(*others)))


def _fit(ones: list[str], others: list[str], counts: _Counts, own: int) -> float:
    """How well words go together: the mean, over the first line's, of the best coefficient of Dice.

    own : 1 if the counts have this pair in them, else 0
    """
    if not ones or not others:
        return 0.0
    total = 0.0
    for a in ones:
        total += max(
            (counts.together[a, b] - own) / (counts.one[a] + counts.other[b] - 2 * own + 2) for b in others
        )
    return 2 * max(total, 0.0) / len(ones)
