"""What is left out has a reason that is counted, and no sentence is on two sides of the split."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scfg_sampler.errors import SettingsError
from scfg_sampler.preparation.cleaning import Limits, clean
from scfg_sampler.preparation.readers import Pair
from scfg_sampler.preparation.splitting import groups, held_out, split


def pairs_of(*pairs):
    return [Pair(source, target, line) for line, (source, target) in enumerate(pairs, start=1)]


ORDINARY = [(f"Satz {n}, der etwas sagt.", f"Sentence {n}, which says something.") for n in range(20)]


@pytest.mark.parametrize(
    ("pair", "reason"),
    [
        (("", "x"), "empty"),
        (("x", " \u200b\r"), "empty"),
        (("a" * 601, "b"), "long"),
        (("a " * 50, "b" * 601), "long"),
        (("Same. ", "same."), "same"),
        (("kurz", "ever so long that it cannot be a translation of it" * 2), "proportion"),
        (("ever so long that it cannot be a translation of it" * 2, "kurz"), "proportion"),
        (("Satz 3,  der etwas sagt.", "Sentence 3, which says something."), "doubled"),
        (("Satz 3, der etwas sagt.", "Number 3, which says something."), None),
        (("Hi.", "Guten Tag!"), None),
    ],
)
def test_reasons(pair, reason):
    found = clean(pairs_of(*ORDINARY, pair), Limits())
    assert {name for name, number in found.counts.items() if number} == ({reason} if reason else set())
    assert len(found.pairs) == 20 + (reason is None)
    if reason:
        assert [example.line for example in found.examples[reason]] == [21]


def test_every_limit_can_be_lifted():
    limits = Limits(0, 0, 0, keep_same=True, keep_doubled=True)
    given_pairs = pairs_of(("x", "x"), ("a" * 1000, "b"), ("y", "z"), ("y", "z"))
    assert len(clean(given_pairs, limits).pairs) == 4


@pytest.mark.parametrize(("ratio", "left_out"), [(1.9, 1), (2.1, 0)])
def test_proportions_are_those_of_the_text(ratio, left_out):
    # Both languages as long, but for one pair of 30 + 10 to 10 + 10 characters.
    text = pairs_of(*[("a" * 1000, "b" * 1010), ("c" * 30, "d" * 20)], ("e" * 1010, "f" * 1010))
    assert clean([text[0], Pair("c" * 30, "d" * 10, 2), *text[2:], Pair("g" * 10, "h" * 20, 4)],
                 Limits(max_characters=0, max_ratio=ratio)).counts["proportion"] == left_out  # fmt: skip


@pytest.mark.parametrize(("length", "left_out"), [(500, 0), (50, 1), (2300, 1)])
def test_a_language_may_be_shorter_throughout(length, left_out):
    # Five characters for one: a pair of 100 characters is expected to have 500.
    text = pairs_of(*[("a" * 1000, "b" * 5000)] * 100, ("c" * 100, "d" * length))
    limits = Limits(max_characters=0, keep_doubled=True)
    assert clean(text, limits).counts["proportion"] == left_out


def test_what_is_kept_is_normalised_and_in_order():
    found = clean(pairs_of(("\ufeffe\u0301\u00a0a\r", "b\t c")), Limits())
    assert found.pairs == [Pair("é a", "b c", 1)]


@pytest.mark.parametrize(
    "limits",
    [
        Limits(max_characters=-1),
        Limits(max_words=-1),
        *(Limits(max_ratio=float(ratio)) for ratio in ("0.5", "nan", "inf")),
    ],
)
def test_impossible_limits_are_refused(limits):
    with pytest.raises(SettingsError, match=r"--max-\w+ is"):
        clean([], limits)


# ---------------------------------------------------------------- the split

SMALL = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("ABCDEFGHIJKL")), max_size=30)


def connected(pairs):
    """The classes of pairs by the transitive closure of having a sentence in common."""
    classes = [{at} for at in range(len(pairs))]
    for at in range(len(pairs)):
        touched = [
            c for c in classes if any(pairs[at][s] == pairs[o][s] for o in c for s in (0, 1)) or at in c
        ]
        classes = [c for c in classes if c not in touched] + [set().union(*touched)]
    return sorted(sorted(c) for c in classes)


@given(SMALL)
def test_groups_are_connected_components(raw):
    pairs = pairs_of(*raw)
    assert sorted(groups(pairs)) == connected(pairs)
    assert all(group == sorted(group) for group in groups(pairs))


def test_case_does_not_part_sentences():
    assert groups(pairs_of(("Stop!", "a"), ("STOP!", "b"), ("c", "A"))) == [[0, 1, 2]]


@given(SMALL, st.integers(0, 3), st.integers(0, 3), st.integers(1, 5))
def test_no_sentence_is_on_two_sides(raw, dev, test, seed):
    pairs = pairs_of(*raw)
    try:
        found = split(pairs, dev, test, seed)
    except SettingsError:
        return
    sides = [
        ({pair.source for pair in found.train}, {pair.target for pair in found.train}),
        *((set(held.sources), {line for lines in held.references for line in lines}) for held in found[1:]),
    ]
    for at, (sources, targets) in enumerate(sides):
        for more_sources, more_targets in sides[at + 1 :]:
            assert not sources & more_sources
            assert not targets & more_targets
    for held, size in ((found.dev, dev), (found.test, test)):
        assert len(held.sources) >= size
        assert len(set(held.sources)) == len(held.sources) == len(held.references)


MANY = pairs_of(*[(f"s{n // 2}", f"t{n}") for n in range(400)])


def test_the_split_depends_on_the_seed_but_not_on_the_order():
    first = split(MANY, 20, 30, 1)
    assert len(first.dev.sources) == 20
    assert len(first.test.sources) == 30
    assert len(first.train) == 400 - 100
    again = split(MANY[::-1], 20, 30, 1)
    assert set(again.test.sources) == set(first.test.sources)
    assert set(again.dev.sources) == set(first.dev.sources)
    assert set(split(MANY, 20, 30, 2).test.sources) != set(first.test.sources)
    assert first.train == sorted(first.train, key=lambda pair: pair.line)


def test_later_pairs_leave_most_of_the_split():
    more = MANY + pairs_of(*[(f"more{n}", f"MORE{n}") for n in range(20)])
    before, after = (set(split(pairs, 20, 30, 1).test.sources) for pairs in (MANY, more))
    assert len(before & after) >= 24


def test_large_groups_are_for_training():
    pairs = pairs_of(*[("always", f"t{n}") for n in range(9)], *[(f"s{n}", f"u{n}") for n in range(8)])
    found = split(pairs, 4, 4, 1)
    assert [pair.source for pair in found.train] == ["always"] * 9


def test_translations_of_one_sentence_are_its_references():
    found = held_out(
        pairs_of(("a", "1"), ("b", "2"), ("a", "3"), ("a", "1"), ("a", "4"), ("a", "5"), ("a", "6"))
    )
    assert found == (["a", "b"], [["1", "3", "4", "5"], ["2"]])


def test_sets_that_are_too_large_are_refused():
    with pytest.raises(
        SettingsError, match="--dev 150 and --test 100 are too many for 400 pairs in 200 groups"
    ):
        split(MANY, 150, 100, 1)


def test_sizes_that_are_not_given_leave_something_to_draw_from():
    """A tenth of all source sentences, unless most of them hang together by a sentence that comes again."""
    of_all, capped = split(MANY, None, None, 1), split([*MANY[:20], *pairs_of(*_SAME)], None, None, 1)
    assert (len(of_all.dev.sources), len(of_all.test.sources)) == (20, 20)
    small = len({pair.source for pair in MANY[:20]})
    assert len(_SAME) > 20 * small
    assert all(small // 4 <= len(held.sources) < small // 2 for held in (capped.dev, capped.test))
    assert len(split(MANY, 7, None, 1).test.sources) == 20
    assert split(MANY, 0, None, 1).dev.sources == []


_SAME = [(f"always {n}", "the same") for n in range(1000)]


def test_why_pairs_are_not_to_be_drawn_is_told():
    chained = [(f"c{n}", f"d{n + shift}") for n in range(5) for shift in (0, 1)] + [("c0", "d9")]
    with pytest.raises(SettingsError) as told:
        split(pairs_of(("a", "b"), *chained), 1, 1, 1)
    assert str(told.value) == (
        "--dev 1 and --test 1 are too many for 1 pair in 1 group that share no sentence; "
        "11 pairs more hang together by sentences that come again, 'c0' 3 times"
    )
