"""A table that is read in parts is the table, and grammars made in parts are those made at once."""

from __future__ import annotations

import functools
import gzip

import numpy as np
import pytest

from scfg_sampler.cli import main
from scfg_sampler.core.arrays.blocks import read_blocks
from scfg_sampler.core.arrays.external import Scratch
from scfg_sampler.core.files import read_lines
from scfg_sampler.errors import RuleTableError
from scfg_sampler.rules import table as tables
from scfg_sampler.rules.parts import TargetTotals, read_parts
from scfg_sampler.rules.table import read_rule_table, rule
from tests.kills import CORPUS, prepare


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of some lines, so that a table has many parts."""
    monkeypatch.setattr(tables, "read_blocks", functools.partial(read_blocks, size=150))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run, and a directory with its corpus."""
    place = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        prepare(place)
        sample = f"sample {CORPUS} --output run --iterations 15 --burn-in 5"
        assert main(sample.split()) == 0
    return place / "run"


def sides(part, row: int) -> tuple:
    return rule(part, row)[:2]


def test_parts_are_the_table_and_share_no_source_side(run, small_blocks):
    path = run / "counts" / "marginal.gz"
    whole, parts = read_rule_table(path), list(read_parts(path))
    assert len(parts) > 8
    found = [rule(part, row) for part in parts for row in range(part.num_rules)]
    assert found == [rule(whole, row) for row in range(whole.num_rules)]
    sources = [{sides(part, row)[0] for row in range(part.num_rules)} for part in parts]
    assert sum(map(len, sources)) == len(set().union(*sources))
    assert parts[0].signature == whole.signature


def test_totals_of_target_sides_are_those_of_the_whole_table(run, small_blocks, tmp_path):
    path = run / "counts" / "marginal.gz"
    whole = read_rule_table(path)
    expected: dict = {}
    for row in range(whole.num_rules):
        target = sides(whole, row)[1]
        expected[target] = expected.get(target, 0.0) + whole.count[row]
    with Scratch(1 << 12, str(tmp_path)) as scratch:
        totals = TargetTotals(scratch)
        for part in read_parts(path):
            totals.add(part.rules)
        found = totals.totals()[:]
    assert found.tolist() == [expected[sides(whole, row)[1]] for row in range(whole.num_rules)]


@pytest.mark.parametrize(
    "options", ["", "--filter none", "--filter hiero --max-targets 2", "--from last --max-scope 1"]
)
def test_grammars_in_parts_are_those_at_once(run, tmp_path, monkeypatch, options):
    command = ["grammar", str(run), "--quiet", *options.split(), "--output"]
    assert main([*command, str(tmp_path / "whole.gz")]) == 0
    monkeypatch.setattr(tables, "read_blocks", functools.partial(read_blocks, size=150))
    read = []
    monkeypatch.setattr("scfg_sampler.learner.grammar.read_rule_table", read.append)
    assert main([*command, str(tmp_path / "parts.gz")]) == 0
    whole, parts = (list(read_lines(tmp_path / name)) for name in ("whole.gz", "parts.gz"))
    assert len(whole) > 20
    assert parts == whole
    assert not read


def test_a_table_that_is_not_sorted_is_refused_in_parts(run, small_blocks, tmp_path):
    lines = list(read_lines(run / "counts" / "marginal.gz"))
    path = tmp_path / "table.gz"
    for first, second in ((5, 6), (1, len(lines) - 1)):
        changed = lines.copy()
        changed[first], changed[second] = changed[second], changed[first]
        with gzip.open(path, "wt", encoding="utf-8") as stream:
            stream.writelines(line + "\n" for line in changed)
        with pytest.raises(RuleTableError, match="rules are not sorted"):
            list(read_parts(path, like=read_rule_table(path)))


def test_a_table_that_has_got_other_words_meanwhile_is_refused(run, small_blocks, tmp_path):
    path = tmp_path / "table"
    lines = list(read_lines(run / "counts" / "marginal.gz"))
    path.write_text("".join(line + "\n" for line in lines))
    like = read_rule_table(path)
    path.write_text("".join(line + "\n" for line in [*lines, "[X] ||| ~ ||| ~ ||| LogCount=0 ||| "]))
    with pytest.raises(RuleTableError, match="has changed while it was read"):
        list(read_parts(path, like=like))


def test_a_table_without_rules_is_one_part(tmp_path, small_blocks):
    (tmp_path / "table").write_text("# nothing\n")
    parts = list(read_parts(tmp_path / "table"))
    assert [part.num_rules for part in parts] == [0]
    assert parts[0].signature == "nothing"


def test_words_that_two_spellings_stand_for_are_one_in_all_parts(tmp_path, small_blocks):
    spelled = [f"w{k:03d} {word}" for k in range(60) for word in ("&#97;", "a")]
    lines = [f"[X] ||| {source} ||| x ||| LogCount=0 ||| " for source in spelled]
    (tmp_path / "table").write_text("".join(line + "\n" for line in lines))
    whole, parts = read_rule_table(tmp_path / "table"), list(read_parts(tmp_path / "table"))
    assert len(parts) > 3
    assert [rule(part, row) for part in parts for row in range(part.num_rules)] == [
        rule(whole, row) for row in range(whole.num_rules)
    ]
    np.testing.assert_array_equal(np.concatenate([part.source for part in parts]), whole.source)
