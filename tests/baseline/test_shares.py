"""A table in shares that was stopped goes on with the shares that were done."""

from __future__ import annotations

import json

import numpy as np
import pytest

from scfg_sampler.baseline import shares, table
from scfg_sampler.baseline.settings import HieroSettings
from scfg_sampler.baseline.shares import KeptShares, shares_of
from scfg_sampler.baseline.table import Resources, write_baseline
from scfg_sampler.core.arrays.array_file import read_array_file, write_array_file
from scfg_sampler.core.chains.owner import owned
from scfg_sampler.errors import InputError
from scfg_sampler.rules import lexical, runs
from scfg_sampler.rules.runs import LAST_KEY
from tests.baseline.test_extraction import random_sentence
from tests.learner.corpora import corpus_of

NARROW = Resources(1 << 14)


@pytest.fixture
def corpus():
    rng = np.random.default_rng(5)
    return corpus_of([random_sentence(rng) for _ in range(300)])


def write(corpus, path, settings=None) -> bytes:
    write_baseline(corpus, lexical.estimate(corpus), path, settings, NARROW, signature="s")
    return path.read_bytes()


def notes(monkeypatch, name: str) -> list:
    """The arguments of calls of a function of the module, from now on."""
    found, real = [], getattr(table, name)

    def noted(*arguments, **more):
        found.append(arguments)
        return real(*arguments, **more)

    monkeypatch.setattr(table, name, noted)
    return found


def stop_in(monkeypatch, corpus, path, method: str) -> None:
    """Make a table until two files of a kind are done."""
    real = getattr(KeptShares, method)

    def until(self, number, *rest):
        if number == 2:
            raise KeyboardInterrupt
        real(self, number, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(KeptShares, method, until)
        with pytest.raises(KeyboardInterrupt):
            write(corpus, path)
    assert sorted(each.name for each in path.parent.iterdir()) == [f"{path.name}.shares"]


def test_nothing_is_left_where_nothing_was_done(corpus, tmp_path, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(table, "extract_run", stop)
    with pytest.raises(KeyboardInterrupt):
        write(corpus, tmp_path / "t.gz")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def stopped(corpus, tmp_path, monkeypatch):
    """A table of which two shares were done when the process was stopped."""
    stop_in(monkeypatch, corpus, tmp_path / "t.gz", "write")
    return tmp_path / "t.gz"


@pytest.fixture
def division(corpus):
    return table.divide(corpus, HieroSettings(), NARROW)


def test_what_was_done_is_not_done_again(corpus, tmp_path, stopped, division, monkeypatch):
    whole = write(corpus, tmp_path / "whole.gz")
    walked, merged = notes(monkeypatch, "extract_run"), notes(monkeypatch, "stored_rules")
    assert write(corpus, stopped) == whole
    assert len(merged) == len(division.shares) - 2 > 0
    assert not walked
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.gz", "whole.gz"]


def test_runs_that_were_done_are_not_done_again(corpus, tmp_path, division, monkeypatch):
    stop_in(monkeypatch, corpus, tmp_path / "t.gz", "write_run")
    whole = write(corpus, tmp_path / "whole.gz")
    walked = notes(monkeypatch, "extract_run")
    assert write(corpus, tmp_path / "t.gz") == whole
    assert [sentences for _, _, sentences, _ in walked] == division.parts[2:]
    assert len(division.parts) > 3


def test_runs_go_when_all_shares_are_there(corpus, tmp_path, division, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(table.TargetTotals, "totals", stop)
        with pytest.raises(KeyboardInterrupt):
            write(corpus, tmp_path / "t.gz")
    names = {path.name for path in shares_of(tmp_path / "t.gz").iterdir()}
    assert names == {f"share-{k + 1}" for k in range(len(division.shares))}
    walked = notes(monkeypatch, "extract_run")
    assert write(corpus, tmp_path / "t.gz") == write(corpus, tmp_path / "whole.gz")
    assert len(walked) == len(division.parts), "of the second table alone"


@pytest.mark.parametrize("settings", [HieroSettings(max_symbols=4), HieroSettings(counting="fractional")])
def test_shares_of_other_settings_are_not_taken(corpus, tmp_path, stopped, settings):
    assert write(corpus, stopped, settings) == write(corpus, tmp_path / "whole.gz", settings)


def test_shares_of_another_corpus_are_not_taken(corpus, tmp_path, stopped):
    other = corpus._replace(source=corpus.source[::-1].copy())
    assert write(other, stopped) == write(other, tmp_path / "whole.gz")


@pytest.mark.parametrize("name", ["share-2", "run-3"])
def test_what_is_damaged_is_made_anew(corpus, tmp_path, stopped, division, monkeypatch, name):
    whole = write(corpus, tmp_path / "whole.gz")
    damaged = shares_of(stopped) / name
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    walked, merged = notes(monkeypatch, "extract_run"), notes(monkeypatch, "stored_rules")
    assert write(corpus, stopped) == whole
    assert len(merged) == len(division.shares) - (1 if name == "share-2" else 2)
    assert len(walked) == (0 if name == "share-2" else 1)


def rewritten(share, layout, change) -> None:
    """Change the arrays of a file, and its checksum."""
    magic, _, header, _ = share.read_bytes().split(b"\n", 3)
    values = json.loads(header)["values"]
    arrays = dict(read_array_file(share, magic + b"\n", layout, InputError, "").arrays)
    change(arrays)
    write_array_file(
        share, magic + b"\n", values, {}, {name: np.array(each) for name, each in arrays.items()}
    )


def put(name, place, value):
    def change(arrays):
        arrays[name] = arrays[name].copy()
        arrays[name][place] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        put("source", 0, 10**6),
        put("source", 0, 4),  # One more than there are words.
        put("alignment_start", 0, 1),
        put("target", 3, -9),
        put("source_start", -1, 10**7),
        put("target_start", 4, 10**7),
        put("target_start", 0, 1),
        put("alignment_start", 2, -5),
        put("alignment", 0, 99),
        put("alignment", (1, 1), -1),
        put("count", 5, np.nan),
        put("count", 5, -1.0),
        lambda arrays: arrays.update(count=arrays["count"][:-1]),
        lambda arrays: arrays.update(alignment=arrays["alignment"][:, :1]),
    ],
)
def test_wrong_numbers_under_a_right_checksum_do_no_harm(
    corpus, tmp_path, stopped, division, change, monkeypatch
):
    whole = write(corpus, tmp_path / "whole.gz")
    rewritten(shares_of(stopped) / "share-1", shares._LAYOUT, change)
    merged = notes(monkeypatch, "stored_rules")
    assert write(corpus, stopped) == whole
    assert len(merged) == len(division.shares) - 1


@pytest.mark.parametrize(
    "change",
    [
        put("key", 3, 0),
        put("key", -1, LAST_KEY),
        put("start", 0, 1),
        put("start", 4, 10**7),
        put("start", 4, 0),
        put("start", -1, 10**7),
        put("symbols", 0, 4),  # One more than there are words.
        put("symbols", -1, 1 << 20),
        put("seen", 1, 0),
        lambda arrays: arrays.update(seen=arrays["seen"][:-1]),
        lambda arrays: arrays.update(divisor=np.ones(3, np.int32)),
        lambda arrays: arrays.update(divisor_start=np.arange(len(arrays["start"]))),
    ],
)
def test_wrong_numbers_of_a_run_do_no_harm(corpus, tmp_path, stopped, division, change, monkeypatch):
    whole = write(corpus, tmp_path / "whole.gz")
    rewritten(shares_of(stopped) / "run-2", runs._LAYOUT, change)
    walked = notes(monkeypatch, "extract_run")
    assert write(corpus, stopped) == whole
    assert [sentences for _, _, sentences, _ in walked] == division.parts[1:2]


def test_one_process_at_a_time_makes_a_table(corpus, tmp_path):
    with owned(shares_of(tmp_path / "t.gz")), pytest.raises(InputError, match=r"t.gz: is in use by process"):
        write(corpus, tmp_path / "t.gz")


def test_standard_output_leaves_nothing(corpus, tmp_path, monkeypatch, capfdbinary):
    monkeypatch.chdir(tmp_path)
    whole = write(corpus, tmp_path / "whole")
    write_baseline(corpus, lexical.estimate(corpus), "-", None, NARROW, signature="s")
    assert capfdbinary.readouterr().out == whole
    assert [path.name for path in tmp_path.iterdir()] == ["whole"]


def test_other_numbers_of_divisors_than_occurrences_are_refused(corpus, tmp_path, division, monkeypatch):
    settings, path = HieroSettings(counting="fractional"), tmp_path / "t.gz"
    with monkeypatch.context() as patch:
        patch.setattr(table, "merged_store", lambda *_: 1 / 0)  # When the runs are there.
        with pytest.raises(ZeroDivisionError):
            write(corpus, path, settings)

    def shifted(arrays):
        start = arrays["divisor_start"].copy()
        first = int(np.flatnonzero(np.diff(start) > 1)[0])
        start[first + 1] -= 1
        arrays["divisor_start"] = start

    rewritten(shares_of(path) / "run-2", runs._LAYOUT, shifted)
    walked = notes(monkeypatch, "extract_run")
    assert write(corpus, path, settings) == write(corpus, tmp_path / "whole.gz", settings)
    assert [sentences for _, _, sentences, _ in walked[: -len(division.parts)]] == division.parts[1:2]
