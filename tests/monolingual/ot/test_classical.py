"""Classical learning: demotion with faithfulness low, Fusional Reduction, factorial typology.

The oracle is the list of all rankings: `height[c]` is the rank of constraint c, the larger the higher.
"""

from __future__ import annotations

import itertools
import json
import math
import time
from fractions import Fraction

import numpy as np
import pytest

from monolingual.cli import main
from monolingual.ot.biased_demotion import (
    METHODS,
    demote_by,
    more_specific,
    r_measure,
    recognised_faithfulness,
)
from monolingual.ot.demotion import demote
from monolingual.ot.formats import write_tableaux
from monolingual.ot.reduction import BASES, reduced
from monolingual.ot.typology import factorial_typology, ranking_share
from scfg_sampler.errors import InputError
from tests.monolingual.ot.examples import TABLE_2, tableaux

HEIGHTS = list(itertools.permutations(range(4)))
EVERY = [
    tuple(frozenset(i for i in range(4) if sides[i] == s) for s in (1, -1))
    for sides in itertools.product((-1, 0, 1), repeat=4)
    if 1 in sides and -1 in sides
]


def rankings(pairs) -> int:
    """The rankings of four constraints that satisfy all pairs, as bits."""
    return sum(
        1 << number
        for number, height in enumerate(HEIGHTS)
        if all(max(height[c] for c in w) > max(height[c] for c in l) for w, l in pairs)
    )


def some_pairs(rng, most):
    return [EVERY[i] for i in rng.integers(0, len(EVERY), int(rng.integers(1, most)))]


def sets(text: str) -> frozenset[int]:
    return frozenset(int(digit) for digit in text)


def pairs_of(*texts: str):
    """Pairs such as "0>12"."""
    return [tuple(sets(side) for side in text.split(">")) for text in texts]


def fewest(target: int, single: list[int]) -> int:
    """How many conditions it takes to allow just these rankings."""
    useful = [mask for mask in single if mask & target == target]
    for size in range(5):
        for chosen in itertools.combinations(useful, size):
            allowed = (1 << len(HEIGHTS)) - 1
            for mask in chosen:
                allowed &= mask
            if allowed == target:
                return size
    raise AssertionError("four conditions rank four constraints")


def test_reduction_allows_the_same_rankings_with_the_fewest_conditions(rng):
    single = sorted({rankings([pair]) for pair in EVERY})
    seen = 0
    for _ in range(120):
        pairs = some_pairs(rng, 8)
        target = rankings(pairs)
        if target:
            seen += 1
            for basis in BASES:
                conditions = reduced(pairs, basis)
                assert rankings(conditions) == target
                assert len(conditions) == fewest(target, single)
    assert seen > 40


def test_informative_bases_say_all_that_follows_and_skeletal_ones_nothing_twice():
    pairs = pairs_of("0>1", "1>2", "0>2")
    assert set(reduced(pairs, "skeletal")) == set(pairs_of("0>1", "1>2"))
    assert set(reduced(pairs, "informative")) == set(pairs_of("0>12", "1>2"))
    assert reduced(pairs_of("1>")) == []


def test_every_learner_finds_a_hierarchy_that_satisfies_what_can_be_satisfied(rng):
    for _ in range(150):
        pairs, faithful = some_pairs(rng, 6), set(rng.permutation(4)[:2].tolist())
        specific = {(0, 1)} if rng.random() < 0.5 else set()
        for method in METHODS:
            found = demote_by(method, pairs, 4, faithful, specific)
            assert bool(found.unresolved) == (rankings(pairs) == 0)
            if not found.unresolved:
                assert sorted(sum(found.strata, ())) == [0, 1, 2, 3]
                level = {c: depth for depth, stratum in enumerate(found.strata) for c in stratum}
                for winner, loser in pairs:
                    assert min(level[c] for c in winner) < min(level[c] for c in loser)


def test_biased_demotion_keeps_faithfulness_below_markedness_it_need_not_dominate():
    """0, 1 are markedness constraints, 2, 3 faithfulness."""
    pairs = pairs_of("2>1")
    assert demote(pairs, 4).strata == ((0, 2, 3), (1,))
    found = demote_by("bcd", pairs, 4, {2, 3})
    assert found.strata == ((0,), (2,), (1,), (3,))
    assert r_measure(found.strata, {2, 3}) == 3
    assert r_measure(demote(pairs, 4).strata, {2, 3}) == 0 + 0


def test_biased_demotion_places_the_smallest_set_that_frees_markedness():
    """Constraint 0 is freed by 3, or by 2 and 4 together; each prefers some winner."""
    pairs = pairs_of("23>0", "34>0", "2>1", "4>1")
    assert demote_by("bcd", pairs, 5, {2, 3, 4}).strata == ((3,), (0,), (2, 4), (1,))


def test_biased_demotion_takes_the_set_with_the_richest_cascade():
    """2 frees 0 alone; 3 frees 1, which then frees 4."""
    pairs = pairs_of("2>0", "3>1", "1>4")
    assert demote_by("bcd", pairs, 5, {2, 3}).strata == ((3,), (1,), (4,), (2,), (0,))


def test_biased_demotion_places_all_active_constraints_where_none_frees_markedness():
    assert demote_by("bcd", pairs_of("2>3"), 5, {2, 3, 4}).strata == ((0, 1), (2,), (3, 4))


def test_low_faithfulness_prefers_specific_active_and_autonomous_constraints():
    """0 and 1 are markedness constraints; 2 is specific, 3 general, 4 inactive, 5 helped everywhere."""
    pairs = pairs_of("23>0", "235>1")
    specific = {(2, 3)}
    assert demote_by("lfcd", pairs, 6, {2, 3, 4, 5}, specific).strata == ((2,), (0, 1), (3, 4, 5))
    # Without the relation 2 and 3 help each other, and are as autonomous as each other.
    assert demote_by("lfcd", pairs, 6, {2, 3, 4, 5}).strata == ((2, 3), (0, 1), (4, 5))


def test_helpers_that_are_more_general_do_not_count():
    """2 excludes a rival with 3 alone, its general version; 5 another one with 6 to help."""
    pairs = pairs_of("23>0", "56>1")
    strata = demote_by("lfcd", pairs, 7, {2, 3, 4, 5, 6}, {(2, 3)}).strata
    assert strata[:2] == ((2,), (0,))


def test_general_versions_do_not_count_where_they_cannot_be_placed_yet():
    """2 excludes a rival with its general versions 3 and 4, which prefer the winner to no other; 5 alone."""
    pairs = pairs_of("234>0", "5>0", "0>34")
    strata = demote_by("lfcd", pairs, 6, {2, 3, 4, 5}, {(2, 3), (2, 4)}).strata
    assert strata == ((1,), (2, 5), (0,), (3, 4))


def test_general_versions_wait_for_specific_ones_however_autonomous():
    """3, the general version of 2, excludes one rival alone."""
    pairs = pairs_of("23>0", "3>1")
    assert demote_by("lfcd", pairs, 4, {2, 3}, {(2, 3)}).strata == ((2,), (0,), (3,), (1,))


def test_rivals_that_always_lose_make_nothing_active_and_nothing_autonomous():
    """Of 2 and 3 only 2 excludes a rival that could win; 4 does with the help of 2, or one that could not."""
    pairs = pairs_of("2>0", "3>", "24>0", "4>")
    assert demote_by("lfcd", pairs, 5, {2, 3, 4}).strata == ((1,), (2,), (0,), (3, 4))


def test_rankings_that_are_given_make_nothing_active():
    """2 is above 3, but excludes no rival; the same ranking said by the data does."""
    given = pairs_of("2>3")
    found = demote_by("lfcd", pairs_of("4>0"), 5, {2, 3, 4}, (), given)
    assert found.strata == ((1,), (4,), (0,), (2,), (3,))
    found = demote_by("lfcd", pairs_of("4>0", "2>3"), 5, {2, 3, 4}, (), given)
    assert found.strata == ((1,), (2, 4), (0,), (3,))


def test_specific_constraints_are_found_in_the_violations():
    violations = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [2, 2, 0, 0]])
    assert more_specific(violations) == {(0, 1), (2, 1)}


def test_names_of_faithfulness_constraints_are_recognised():
    names = ["Max", "*Max", "DepIO", "NoCoda", "IDENT(voi)", "Id-nas", "Idle", "F:x", "Final", "Faith", "Io"]
    assert recognised_faithfulness(names) == {0, 2, 4, 5, 7, 9, 10}


def all_languages(example, above=()):
    """Languages with how many rankings give each, by trying all that have some constraints above others."""
    size, found = len(example.constraints), {}
    orders = list(itertools.permutations(range(size)))
    orders = [order for order in orders if all(order.index(a) < order.index(b) for a, b in above)]
    for order in orders:
        winners = tuple(
            min(example.candidates(i), key=lambda c: tuple(example.violations[c, list(order)]))
            for i in range(len(example.inputs))
        )
        found[winners] = found.get(winners, 0) + 1
    return {winners: Fraction(count, len(orders)) for winners, count in found.items()}


def random_tableaux(rng, constraints, inputs, candidates):
    rows = [
        (f"x{i}", f"y{i}{c}", 0, "".join(str(n) for n in rng.integers(0, 3, constraints)))
        for i in range(inputs)
        for c in range(candidates)
    ]
    return tableaux(" ".join(f"C{n}" for n in range(constraints)), *rows)


def test_typology_is_what_trying_all_rankings_gives(rng):
    examples = [TABLE_2, *(random_tableaux(rng, 4, 3, 3) for _ in range(30))]
    for example in examples:
        expected = all_languages(example)
        found = factorial_typology(example)
        assert {language.winners: language.share for language in found.languages} == expected
        won = {winner for winners in expected for winner in winners}
        same = {c for c in range(len(example.outputs)) if c not in won} - set(found.never)
        for candidate in same:  # The twin of a winner.
            first = int(example.start[example.input_of()[candidate]])
            assert any(
                (example.violations[candidate] == example.violations[w]).all() for w in won if w >= first
            )
        place = {c: int(i) for c, i in enumerate(example.input_of())}
        for a, b in itertools.permutations(sorted(won), 2):
            given = [winners for winners in expected if a in winners]
            holds = place[a] != place[b] and all(b in winners for winners in given)
            assert ((a, b) in found.implications) == (holds and any(b not in w for w in expected))


@pytest.mark.parametrize(
    ("tokens", "marks"),
    [
        ((0, 10, 0), (True, False)),  # Of x, y and z, the first two of which have the same violations.
        ((4, 4, 7), (True, False)),
        ((0.1, 0.2, 0.3), (True, True)),
        ((0, 3, 7), (False, True)),
        ((0, 0, 0), (False, False)),
    ],
)
def test_tokens_of_twins_are_those_of_one_output(tmp_path, capsys, tokens, marks):
    rows = [("pa", "x", tokens[0], "10"), ("pa", "y", tokens[1], "10"), ("pa", "z", tokens[2], "01")]
    write_tableaux(tableaux("A B", *rows), tmp_path / "t")
    assert main(["ot", "typology", str(tmp_path / "t"), "--json"]) == 0
    languages = json.loads(capsys.readouterr().out)["languages"]
    assert [(entry["outputs"], entry["observed"]) for entry in languages] == [
        (["x"], marks[0]),
        (["z"], marks[1]),
    ]
    assert main(["ot", "typology", str(tmp_path / "t")]) == 0
    assert ("1*" in capsys.readouterr().out) == marks[0]


@pytest.mark.parametrize("more", [[], ["--all"]])
def test_the_observed_language_has_its_number_in_the_whole_list(tmp_path, capsys, more):
    rows = [("pa", f"x{at}", int(at == 23), f"{1 << 24 - at:025b}") for at in range(25)]
    write_tableaux(tableaux(" ".join(f"C{at}" for at in range(25)), *rows), tmp_path / "t")
    assert main(["ot", "typology", str(tmp_path / "t"), *more]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    found = {line[0]: line[2] for line in lines if line[0][0].isdigit()}
    expected = {f"{at + 1}{'*' * (at == 23)}": f"x{at}" for at in range(25) if more or at < 20 or at == 23}
    assert found == expected


def test_typology_under_given_rankings_is_what_trying_those_gives(rng):
    for above in ([(2, 0)], [(0, 1), (1, 3)], [(3, 0), (3, 1), (2, 1)]):
        for _ in range(10):
            example = random_tableaux(rng, 4, 3, 3)
            found = factorial_typology(example, above=above)
            expected = all_languages(example, above)
            assert {language.winners: language.share for language in found.languages} == expected


def test_shares_of_rankings_are_counted_exactly(rng):
    for _ in range(60):
        pairs = some_pairs(rng, 5)
        assert ranking_share(pairs) == Fraction(rankings(pairs).bit_count(), len(HEIGHTS))


def test_rankings_of_sixteen_constraints_are_counted_in_no_time():
    pairs = [(frozenset({a}), frozenset({b})) for a, b in itertools.combinations(range(16), 2)]
    began = time.process_time()
    shares = {ranking_share(pairs[number:]) for number in range(10)}
    assert time.process_time() - began < 2.0  # A typology may have thousands of languages.
    # Without its pairs with the next ones the first may stand anywhere among these.
    assert shares == {Fraction(number + 1, math.factorial(16)) for number in range(10)}
    assert ranking_share([(frozenset({0}), frozenset(range(1, 16)))]) == Fraction(1, 16)


def test_too_many_languages_are_refused():
    with pytest.raises(InputError, match="rankings give more than 1 languages"):
        factorial_typology(TABLE_2, most=1)
