"""Development and test sets that share no sentence with the training set.

Pairs that have a source or a target sentence in common, but for its case, are one group (a connected
component), and a group lies on one side of the split. Groups are drawn in the order of a digest of the seed
and of their first source sentence in the order of code points. So the split does not depend on the order of
the pairs, and pairs that are added later leave most of it as it was.

The fact a newcomer would get wrong: a set is counted in distinct source sentences. Several translations of
one are its references, not lines of their own.
"""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from scfg_sampler.core.wording import counted
from scfg_sampler.errors import SettingsError
from scfg_sampler.preparation.cleaning import same_sentence
from scfg_sampler.preparation.readers import Pair

__all__ = ["HeldOut", "Split", "groups", "held_out", "split"]

_MOST_REFERENCES = 4
_LARGEST_GROUP = 8
_MOST, _SHARE, _SHARE_OF_SMALL = 500, 10, 4  # Of the sentences of a set whose size is not given.


class HeldOut(NamedTuple):
    """A set to tune on or to test with.

    sources : distinct sentences
    references : for each, its translations in the order of the text, at least one, at most four
    """

    sources: list[str]
    references: list[list[str]]


class Split(NamedTuple):
    """Training pairs, in their order, and two sets."""

    train: list[Pair]
    dev: HeldOut
    test: HeldOut


def split(pairs: Sequence[Pair], dev: int | None, test: int | None, seed: int) -> Split:
    """Pairs divided into training pairs and sets of `dev` and `test` source sentences.

    A set may have a few sentences more, because groups are not divided. Groups of more than eight pairs are
    for training. None is a tenth of all source sentences, at most 500, and at most a quarter of those that
    may be drawn.

    Raises
    ------
    SettingsError
        There is too little text for sets of these sizes.
    """
    small = [group for group in groups(pairs) if len(group) <= _LARGEST_GROUP]
    small.sort(key=lambda group: _priority(min(pairs[at].source for at in group), seed))
    of_all, of_small = (len({pairs[at].source for at in rows}) for rows in (range(len(pairs)), _all(small)))
    default = min(_MOST, of_all // _SHARE, of_small // _SHARE_OF_SMALL)
    dev, test = (default if size is None else size for size in (dev, test))
    sets: list[HeldOut] = []
    drawn: set[int] = set()
    waiting = iter(small)
    for size in (test, dev):
        chosen: list[int] = []
        sources: set[str] = set()
        while len(sources) < size:
            group = next(waiting, None)
            if group is None:
                raise SettingsError(f"--dev {dev} and --test {test} are too many for {_extent(pairs, small)}")
            chosen += group
            sources.update(pairs[at].source for at in group)
        drawn.update(chosen)
        sets.append(held_out([pairs[at] for at in sorted(chosen)]))
    train = [pair for at, pair in enumerate(pairs) if at not in drawn]
    return Split(train, sets[1], sets[0])


def groups(pairs: Sequence[Pair]) -> list[list[int]]:
    """Pairs, as indices, connected by equal sentences on either side; in the order of their first."""
    parent = list(range(len(pairs)))

    def root(at: int) -> int:
        while parent[at] != at:
            parent[at] = parent[parent[at]]
            at = parent[at]
        return at

    for sentences in ([pair.source for pair in pairs], [pair.target for pair in pairs]):
        first: dict[str, int] = {}
        for at, sentence in enumerate(sentences):
            one, other = root(at), root(first.setdefault(same_sentence(sentence), at))
            parent[max(one, other)] = min(one, other)
    found: dict[int, list[int]] = {}
    for at in range(len(pairs)):
        found.setdefault(root(at), []).append(at)
    return list(found.values())


def held_out(pairs: Sequence[Pair]) -> HeldOut:
    """The distinct source sentences of pairs and their translations."""
    references: dict[str, list[str]] = {}
    for pair in pairs:
        known = references.setdefault(pair.source, [])
        if pair.target not in known and len(known) < _MOST_REFERENCES:
            known.append(pair.target)
    return HeldOut(list(references), list(references.values()))


def _all(found: Sequence[Sequence[int]]) -> Iterator[int]:
    return itertools.chain.from_iterable(found)


def _extent(pairs: Sequence[Pair], small: Sequence[Sequence[int]]) -> str:
    """How many pairs there are to draw from, and why others, if there are any, are not."""
    drawable = set(_all(small))
    said = f"{counted(len(drawable), 'pair')} in {counted(len(small), 'group')} that share no sentence"
    others = [pair for at, pair in enumerate(pairs) if at not in drawable]
    if not others:
        return said
    sentences = itertools.chain.from_iterable((pair.source, pair.target) for pair in others)
    sentence, times = Counter(sentences).most_common(1)[0]
    return (
        f"{said}; {counted(len(others), 'pair')} more hang together by sentences that come again, "
        f"{sentence[:40]!r} {times} times"
    )


def _priority(sentence: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}\t{sentence}".encode()).digest()
