"""Whole tables are written as their rules are one by one."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scfg_sampler.formats import batches, bracketed
from scfg_sampler.formats.conversion import Spelling, write_line, write_table
from scfg_sampler.formats.tables import (
    LEAST_LOG,
    log,
    shortest,
    shortest_exp,
    shortest_exp_of_each,
    shortest_of_each,
)
from scfg_sampler.rules.table import read_rule_table, rule
from scfg_sampler.rules.text import Rule
from tests.formats.test_formats import LOGS, TABLES, scored
from tests.formats.test_many_features import table as table_of_many_features
from tests.rules.test_table import table_of

SPELLINGS = [
    ("cdec", Spelling()),
    ("moses", Spelling()),
    ("moses", Spelling(escaped=True, linear=True)),
    ("joshua", Spelling(linear=True)),
    ("joshua", Spelling(dense=True)),
    ("travatar", Spelling()),
    ("travatar", Spelling(linear=True)),
]
EACH = pytest.mark.parametrize(("file_format", "spelling"), SPELLINGS)
SINGLE = st.floats(-650, 80, width=32) | st.floats(-650, 80, width=16) | st.sampled_from([0.0, -0.0, 1.0])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("batches")


@pytest.fixture(scope="module", autouse=True)
def _two_rules_at_a_time():
    usual, batches._PART = batches._PART, 2
    yield
    batches._PART = usual


def assert_written_as_rules_are(table, path, file_format, spelling):
    write_table(table, path, file_format, spelling)
    lines = path.read_text(encoding="utf-8").split("\n")
    one_by_one = [write_line(rule(table, row), file_format, spelling) for row in range(table.num_rules)]
    assert sorted(lines) == sorted(["", *one_by_one])


@EACH
@given(entries=TABLES, values=LOGS)
@settings(max_examples=10)
def test_tables_have_the_lines_of_their_rules(folder, file_format, spelling, entries, values):
    table = scored(entries, values)
    assert_written_as_rules_are(table, folder / "table", file_format, spelling)
    for names in ((), ("w", "LexForward", "TargetWords", "Abstract", "b")):
        fewer = table_of(entries, names)
        fewer.features[:] = np.resize(np.array(values, np.float32), fewer.features.shape)
        assert_written_as_rules_are(fewer, folder / "table", file_format, spelling)


@EACH
def test_so_have_tables_whose_features_few_rules_have(folder, file_format, spelling):
    table = read_rule_table(table_of_many_features(folder / "many", 3000, 300))
    if not spelling.dense:
        assert_written_as_rules_are(table, folder / "table", file_format, spelling)


def test_lines_of_rules_with_the_same_sides_are_sorted_however_many_are_written_at_a_time(folder):
    """Moses' nonterminals have no numbers, so that only the links tell these apart."""
    orders = list(itertools.permutations((-1, -2, -3)))
    entries = [Rule((-1, -2, -3, "a"), (*order, "b"), {}, ()) for order in orders]
    table = table_of([Rule(("a",), ("b",), {}, ()), *reversed(entries)], ("LogForward",))
    write_table(table, folder / "table", "moses")
    lines = (folder / "table").read_text().splitlines()
    assert len(lines) == 7
    assert lines == sorted(lines)


@pytest.mark.parametrize("meaning", [*bracketed._CDEC.values(), *bracketed._JOSHUA.values()])
@given(values=st.lists(SINGLE, max_size=8))
@settings(max_examples=30)
def test_many_numbers_are_spelled_as_each_of_them_is(meaning, values):
    expected = [shortest(value, meaning.there, meaning.back) for value in values]
    assert shortest_of_each(values, meaning.there, meaning.back) == expected
    assert shortest_exp_of_each(values) == [shortest_exp(value) for value in values]


def test_numbers_that_single_precision_cannot_hold_are_refused():
    for there in (lambda value: value * 1e300, lambda value: 1e39):
        with pytest.raises(OverflowError):
            shortest_of_each([1.0, 700.0], there, float)
    assert shortest_exp_of_each([-1e9]) == [shortest_exp(LEAST_LOG)]
    assert log(0.0) == LEAST_LOG
