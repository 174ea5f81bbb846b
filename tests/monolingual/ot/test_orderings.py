"""Orderings, harmonic bounding, demotion and categorical domination."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from monolingual.ot.demotion import demote, is_consistent
from monolingual.ot.domination import MOST_CONSTRAINTS, dominated_sets, smallest_sets
from monolingual.ot.exact import winning_probs
from monolingual.ot.orderings import (
    bounded_candidates,
    conjunct_texts,
    conjuncts,
    consistent_ranks,
    derive_orderings,
    idle_constraints,
    pack_orderings,
    problems,
    simplified,
    telling_conjuncts,
)
from tests.monolingual.ot.examples import ILOKANO, SPANISH, TABLE_2, orderings_of, tableaux, two_constraints


def test_table_3_of_lin_2005():
    shares = TABLE_2.frequency / TABLE_2.frequency.sum()
    found = {
        TABLE_2.outputs[c]: (shares[c], conjunct_texts(TABLE_2, int(c)))
        for c in np.flatnonzero(TABLE_2.frequency)
    }
    assert found == {
        "y11": (0.4, ["C1 > max{C2, C4}", "max{C3, C5} > C4", "C3 > max{C2, C4}"]),
        "y12": (0.3, ["max{C2, C4} > C1", "max{C2, C3, C5} > C1", "C3 > C1"]),
        "y21": (0.3, ["max{C3, C4, C5} > max{C1, C2}"]),
    }


def test_conjuncts_that_follow_from_others_are_dropped():
    packed = orderings_of(TABLE_2)
    assert packed.count.tolist() == [4, 3, 3]
    # max{C3, C5} > C4 follows from C3 > max{C2, C4}; max{C2, C3, C5} > C1 from C3 > C1.
    assert packed.pairs(0) == [(frozenset({0}), frozenset({1, 3})), (frozenset({2}), frozenset({1, 3}))]
    assert packed.pairs(1) == [(frozenset({1, 3}), frozenset({0})), (frozenset({2}), frozenset({0}))]


def test_telling_conjuncts_are_what_simplifying_all_leaves(rng):
    for size in (1, 3, 6):
        marks = rng.integers(0, 3, (20, size))
        rows = [(f"x{n % 2}", f"y{n}", 0, "".join(map(str, row))) for n, row in enumerate(marks)]
        example = tableaux(" ".join(f"C{n}" for n in range(size)), *rows)
        for winner in range(len(marks)):
            pairs = [pair for _, pair in conjuncts(example, winner)]
            assert telling_conjuncts(example, winner) == simplified(pairs)


def test_equal_orderings_are_counted_together():
    example = tableaux(
        "A B", ("x", "a", 3, "01"), ("x", "b", 1, "10"), ("y", "c", 2, "13"), ("y", "d", 0, "20")
    )
    packed = orderings_of(example)
    assert packed.count.tolist() == [5, 1]


def test_ranks_satisfy_their_orderings():
    packed = orderings_of(TABLE_2)
    height = -consistent_ranks(packed)
    for d in range(len(packed.count)):
        begin = packed.active_start[d]
        value = {
            int(c): height[begin + k] for k, c in enumerate(packed.active[begin : packed.active_start[d + 1]])
        }
        for winner, loser in packed.pairs(d):
            assert max(value[c] for c in winner) > max(value[c] for c in loser)


def test_bounded_winners_are_named_and_left_out():
    example = tableaux(
        "A B",
        ("x", "a", 5, "00"),
        ("x", "bad", 2, "11"),
        ("y", "p", 1, "20"),
        ("y", "q", 1, "02"),
        ("y", "mid", 3, "11"),
    )
    # "mid" is bounded by p and q together, though by neither alone.
    assert [example.outputs[c] for c in bounded_candidates(example)] == ["bad", "mid"]
    messages = problems(example)
    assert messages[0].startswith("x → bad (frequency 2) is harmonically bounded")
    assert messages[1].startswith("y → mid (frequency 3) is harmonically bounded")
    assert orderings_of(example).count.sum() == 2
    assert winning_probs(example, np.array([0.3, 0.0]))[[1, 4]].tolist() == [0.0, 0.0]


def test_bounded_candidates_are_those_that_lose_under_every_ranking(rng):
    for size in (1, 2, 3, 4):
        for _ in range(30):
            marks = rng.integers(0, 3, (int(rng.integers(1, 7)), size))
            rows = [("x", f"y{at}", 0, "".join(map(str, row))) for at, row in enumerate(marks)]
            rows.append(("z", "other", 0, "0" * size))
            example = tableaux(" ".join("ABCD"[:size]), *rows)
            winners = set()
            for ranking in itertools.permutations(range(size)):
                ordered = [tuple(row[list(ranking)]) for row in marks]
                winners |= {at for at, row in enumerate(ordered) if row == min(ordered)}
            assert set(bounded_candidates(example)) == set(range(len(marks))) - winners
            idle = [c for c in range(size) if len(set(marks[:, c])) == 1]
            assert idle_constraints(example) == idle


def test_ties_and_idle_constraints_are_named():
    example = tableaux("A B C", ("x", "a", 5, "011"), ("x", "a2", 0, "011"), ("x", "b", 1, "101"))
    tie, idle = problems(example)
    assert "x → a, x → a2" in tie
    assert idle.startswith("no candidates differ in C,")
    assert problems(SPANISH) == []


def brute_force_consistent(pairs, size):
    """Whether one of all rankings satisfies all pairs; `height` is the rank of each constraint."""
    return any(
        all(max(height[c] for c in winner) > max(height[c] for c in loser) for winner, loser in pairs)
        for height in itertools.permutations(range(size))
    )


def test_demotion_decides_as_trying_all_rankings_does(rng):
    for _ in range(200):
        pairs = []
        for _ in range(int(rng.integers(1, 6))):
            side = rng.integers(-1, 2, 4)
            winner, loser = (frozenset(np.flatnonzero(side == s).tolist()) for s in (1, -1))
            if winner and loser:
                pairs.append((winner, loser))
        assert is_consistent(pairs, 4) == brute_force_consistent(pairs, 4)


def test_demotion_of_the_most_frequent_spanish_forms():
    pairs = [pair for winner in (0, 2, 4) for _, pair in conjuncts(SPANISH, winner)]
    assert demote(pairs, 4).strata == ((0,), (1, 3), (2,))
    everything = [pair for winner in (0, 2, 3, 4, 5) for _, pair in conjuncts(SPANISH, winner)]
    assert demote(everything, 4).unresolved


def test_spanish_data_dominate_two_constraints_together():
    assert smallest_sets(dominated_sets(orderings_of(SPANISH))) == [frozenset({2, 3})]
    assert dominated_sets(orderings_of(ILOKANO)) == []
    assert dominated_sets(orderings_of(two_constraints(9, 1))) == []
    assert dominated_sets(orderings_of(two_constraints(9, 0))) == [frozenset({1})]


def test_promoting_one_side_of_a_variable_pair_is_domination():
    # a or b above c; c varies with b. Demoting b and c together makes the first certain.
    pairs = [(frozenset({0, 1}), frozenset({2})), (frozenset({2}), frozenset({1}))]
    packed = pack_orderings([([pair], 3, 0) for pair in pairs], 3)
    assert frozenset({1, 2}) in dominated_sets(packed)


def test_domination_raises_the_likelihood_all_the_way(rng):
    for example in (SPANISH, TABLE_2):
        seen = example.frequency > 0
        for members in dominated_sets(orderings_of(example)):
            mean = rng.normal(0, 1, len(example.constraints))
            direction = np.isin(np.arange(len(mean)), sorted(members)).astype(float)
            likelihood = [
                example.frequency[seen] @ np.log(winning_probs(example, mean - t * direction)[seen])
                for t in (0.0, 0.5, 1.0, 2.0, 4.0)
            ]
            assert np.all(np.diff(likelihood) > 0)


def test_many_constraints_are_searched_by_exclusion():
    size = MOST_CONSTRAINTS + 2
    chain = [([(frozenset({i}), frozenset({i + 1}))], 3, 0) for i in range(size - 1)]
    chain.append(([(frozenset({1}), frozenset({0}))], 1, 0))
    found = dominated_sets(pack_orderings(chain, size))
    assert frozenset(range(2, size)) in found
    assert all(not {0, 1} & members for members in found)


@pytest.mark.parametrize("counts", [[0, 0], [3, 0]])
def test_winner_without_competitors_says_nothing(counts):
    example = tableaux("A", ("x", "only", 1, "3"), ("y", "alone", 1, "0"))
    assert len(derive_orderings(example, counts).count) == 0
