"""A table in shares that was stopped goes on with the shares that were done."""

from __future__ import annotations

import json

import numpy as np
import pytest

from scfg_sampler.baseline import table
from scfg_sampler.baseline.settings import HieroSettings
from scfg_sampler.baseline.shares import KeptShares, shares_of
from scfg_sampler.baseline.table import Resources, write_baseline
from scfg_sampler.core.arrays.array_file import write_array_file
from scfg_sampler.core.chains.owner import owned
from scfg_sampler.errors import InputError
from scfg_sampler.rules import lexical
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


def extractions(monkeypatch) -> list:
    """The shares that are extracted from now on."""
    found, real = [], table.extract

    def noted(*arguments, share, **more):
        found.append(share)
        return real(*arguments, share=share, **more)

    monkeypatch.setattr(table, "extract", noted)
    return found


@pytest.fixture
def stopped(corpus, tmp_path, monkeypatch):
    """A table of which two shares were done when the process was stopped."""
    real = KeptShares.write

    def until(self, number, *rest):
        if number == 2:
            raise KeyboardInterrupt
        real(self, number, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(KeptShares, "write", until)
        with pytest.raises(KeyboardInterrupt):
            write(corpus, tmp_path / "t.gz")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.gz.shares"]
    return tmp_path / "t.gz"


def test_what_was_done_is_not_done_again(corpus, tmp_path, stopped, monkeypatch):
    whole = write(corpus, tmp_path / "whole.gz")
    number = len(table.choose_shares(corpus, HieroSettings(), NARROW))
    found = extractions(monkeypatch)
    assert write(corpus, stopped) == whole
    assert len(found) == number - 2 > 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.gz", "whole.gz"]


@pytest.mark.parametrize("settings", [HieroSettings(max_symbols=4), HieroSettings(counting="fractional")])
def test_shares_of_other_settings_are_not_taken(corpus, tmp_path, stopped, settings):
    assert write(corpus, stopped, settings) == write(corpus, tmp_path / "whole.gz", settings)


def test_shares_of_another_corpus_are_not_taken(corpus, tmp_path, stopped):
    other = corpus._replace(source=corpus.source[::-1].copy())
    assert write(other, stopped) == write(other, tmp_path / "whole.gz")


def test_a_damaged_share_is_extracted_anew(corpus, tmp_path, stopped, monkeypatch):
    whole = write(corpus, tmp_path / "whole.gz")
    share = shares_of(stopped) / "share-2"
    content = bytearray(share.read_bytes())
    content[len(content) // 2] ^= 1
    share.write_bytes(content)
    number, found = len(table.choose_shares(corpus, HieroSettings(), NARROW)), extractions(monkeypatch)
    assert write(corpus, stopped) == whole
    assert len(found) == number - 1


def rewritten(share, change) -> None:
    """Change the arrays of a share, and its checksum."""
    magic, _, header, _ = share.read_bytes().split(b"\n", 3)
    values = json.loads(header)["values"]
    from scfg_sampler.baseline import shares
    from scfg_sampler.core.arrays.array_file import read_array_file

    arrays = dict(read_array_file(share, magic + b"\n", shares._LAYOUT, InputError, "").arrays)
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
def test_wrong_numbers_under_a_right_checksum_do_no_harm(corpus, tmp_path, stopped, change, monkeypatch):
    whole = write(corpus, tmp_path / "whole.gz")
    rewritten(shares_of(stopped) / "share-1", change)
    number, found = len(table.choose_shares(corpus, HieroSettings(), NARROW)), extractions(monkeypatch)
    assert write(corpus, stopped) == whole
    assert len(found) == number - 1


def test_one_process_at_a_time_makes_a_table(corpus, tmp_path):
    with owned(shares_of(tmp_path / "t.gz")), pytest.raises(InputError, match=r"t.gz: is in use by process"):
        write(corpus, tmp_path / "t.gz")


def test_standard_output_leaves_nothing(corpus, tmp_path, monkeypatch, capfdbinary):
    monkeypatch.chdir(tmp_path)
    whole = write(corpus, tmp_path / "whole")
    write_baseline(corpus, lexical.estimate(corpus), "-", None, NARROW, signature="s")
    assert capfdbinary.readouterr().out == whole
    assert [path.name for path in tmp_path.iterdir()] == ["whole"]
