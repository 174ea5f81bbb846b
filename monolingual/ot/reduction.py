"""What data say of a ranking, in the fewest words: Fusional Reduction (Brasoveanu and Prince 2011).

A winner–loser pair is an elementary ranking condition: one of its W constraints is above all of its L
constraints. The fusion of several has L wherever one of them has, W where one has and none has L; it
follows from them, but loses something in each constraint in which it has W and some of them have nothing:
what these say without that constraint. Reduction keeps the fusion, and goes on with those conditions,
constraint by constraint.

The *most informative basis* leaves out fusions that follow from that of all it goes on with; the *skeletal
basis* also takes out each L that does. Both allow exactly the rankings that the data allow, with as few
conditions as is possible.

The fact a newcomer would get wrong: the basis is not a selection of the pairs of the data. A condition in
it may be of no pair at all, yet each follows from several.
"""

from __future__ import annotations

from collections.abc import Sequence

from monolingual.ot.demotion import Pair

__all__ = ["BASES", "fusion", "reduced"]

BASES = ("skeletal", "informative")


def fusion(pairs: Sequence[Pair]) -> Pair:
    """The fusion of conditions, one pair (W, L)."""
    losers = frozenset[int]().union(*(loser for _, loser in pairs))
    return frozenset[int]().union(*(winner for winner, _ in pairs)) - losers, losers


def reduced(pairs: Sequence[Pair], basis: str = "skeletal") -> list[Pair]:
    """The conditions of a basis, those that hold of all the data first.

    Parameters
    ----------
    pairs : sequence of (frozenset, frozenset)
        Consistent; what has no L says nothing and is left out.
    basis : str
        One of `BASES`.

    >>> pairs = [(frozenset({a}), frozenset({b})) for a, b in [(0, 1), (1, 2), (0, 2)]]
    >>> [(sorted(winner), sorted(loser)) for winner, loser in reduced(pairs)]
    [([0], [1]), ([1], [2])]
    >>> [(sorted(winner), sorted(loser)) for winner, loser in reduced(pairs, "informative")]
    [([0], [1, 2]), ([1], [2])]
    """
    found: dict[Pair, None] = {}
    done: set[frozenset[Pair]] = set()
    _reduce(frozenset(pair for pair in pairs if pair[1]), basis, found, done)
    return list(found)


def _reduce(pairs: frozenset[Pair], basis: str, found: dict[Pair, None], done: set[frozenset[Pair]]) -> None:
    if not pairs or pairs in done:
        return
    done.add(pairs)
    winner, loser = fusion(list(pairs))
    residues = [
        frozenset(pair for pair in pairs if constraint not in pair[0]) for constraint in sorted(winner)
    ]
    _, rest_loser = fusion(list(frozenset[Pair]().union(*residues)))
    if basis == "skeletal":
        loser = loser - rest_loser
    elif loser <= rest_loser:  # Then each W of the rest is one of the whole, and the whole follows.
        loser = frozenset()
    if loser:
        found.setdefault((winner, loser))
    for residue in residues:
        _reduce(residue, basis, found, done)
