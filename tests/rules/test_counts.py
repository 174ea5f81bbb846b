"""Merging adds counts of equal rules and keeps the heaviest alignment."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from scfg_sampler.errors import InputError
from scfg_sampler.rules.counts import RuleCounts, empty_rule_counts, require_counts, select_rules
from scfg_sampler.rules.store import merge_rules

SIDES = st.lists(st.sampled_from([-2, -1, 0, 1, 5]), min_size=1, max_size=3)
LINKS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=3, unique=True).map(sorted)
COUNTS = st.sampled_from([0.25, 0.5, 1.0, 2.0])  # Sums are exact.
ENTRIES = st.lists(st.tuples(SIDES, SIDES, LINKS, COUNTS), max_size=40)


def rule_counts(entries) -> RuleCounts:
    starts = [np.cumsum([0] + [len(entry[k]) for entry in entries]) for k in range(3)]
    values = [np.array([x for entry in entries for x in entry[k]], np.int32) for k in range(3)]
    return RuleCounts(
        starts[0],
        values[0],
        starts[1],
        values[1],
        starts[2],
        values[2].reshape(-1, 2),
        np.array([entry[3] for entry in entries], np.float64),
    )


def entries_of(counts: RuleCounts) -> list[tuple]:
    def row(start, values, r):
        return values[start[r] : start[r + 1]].tolist()

    return [
        (
            row(counts.source_start, counts.source, r),
            row(counts.target_start, counts.target, r),
            [tuple(link) for link in row(counts.alignment_start, counts.alignment, r)],
            counts.count[r],
        )
        for r in range(counts.num_rules)
    ]


def merged_naively(entries) -> list[tuple]:
    rules: dict[tuple, dict[tuple, float]] = {}
    for source, target, links, count in entries:
        alignments = rules.setdefault((tuple(source), tuple(target)), {})
        alignments[tuple(links)] = alignments.get(tuple(links), 0.0) + count
    return [
        (
            list(source),
            list(target),
            list(min(alignments, key=lambda links: (-alignments[links], links))),
            sum(alignments.values()),
        )
        for (source, target), alignments in sorted(rules.items())
    ]


@given(ENTRIES)
def test_merging_equals_merging_with_dictionaries(entries):
    assert entries_of(merge_rules(rule_counts(entries))) == merged_naively(entries)


@given(ENTRIES)
def test_merging_twice_changes_nothing(entries):
    once = merge_rules(rule_counts(entries))
    assert all(np.array_equal(a, b) for a, b in zip(once, merge_rules(once), strict=True))


def test_merging_grows_past_its_first_room(rng):
    # More rules than the pool begins with room for, each twice.
    entries = [([i % 97, i // 97], [i], [(0, 0)], 1.0) for i in range(5000)] * 2
    merged = merge_rules(rule_counts(entries))
    assert merged.num_rules == 5000
    assert_allclose(merged.count, 2.0)
    assert [entry[:2] for entry in entries_of(merged)] == sorted(entry[:2] for entry in entries[:5000])


def test_no_rules_merge_to_no_rules():
    assert merge_rules(empty_rule_counts()).num_rules == 0


@given(ENTRIES, st.data())
def test_selection_by_mask_and_by_index_agree(entries, data):
    counts = rule_counts(entries)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(entries), max_size=len(entries))), bool)
    chosen = [entry for entry, keep in zip(entries, mask, strict=True) if keep]
    assert entries_of(select_rules(counts, mask)) == chosen
    assert entries_of(select_rules(counts, np.flatnonzero(mask))) == chosen


@pytest.mark.parametrize("count", [0.0, 1e-201, 1e201, np.inf, np.nan])
def test_counts_that_cannot_be_added_up_are_refused(count):
    require_counts(np.array([1.0, 1e-200, 1e200]), "table")
    require_counts(np.zeros(0), "table")
    told = re.escape(
        f"table: the LogCount of rule 2 is of a count of {count:g}. Counts are from 1e-200 to 1e+200"
    )
    with pytest.raises(InputError, match=told):
        require_counts(np.array([1.0, count]), "table")
