"""What run directories share: records that are read back, and checks."""

from __future__ import annotations

import json
import os
import re
from typing import NamedTuple

import pytest

from scfg_sampler.core.chains import occupied, run_directory
from scfg_sampler.errors import InputError, SettingsError


class Run(NamedTuple):
    iterations: int = 10
    burn_in: int = 2


def restored(record):
    record["run"] = Run(**record["run"])
    return record


def test_records_are_read_back(tmp_path):
    record = {**run_directory.origin("1.2"), "seconds": 0.5, "run": Run()._asdict()}
    run_directory.write_json(record, tmp_path / run_directory.RECORD)
    again = run_directory.read_record(tmp_path, "x sample", restored)
    assert again["run"] == Run()
    assert again["versions"]["scfg-sampler"] == "1.2"


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"run": {}, "sweeps"', '{"run": {"iterations": 1, "no": 2}}', "{}"]
)
def test_damaged_records_are_refused(tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(InputError, match=r"run\.json: is damaged, or not that of 'x sample'"):
        run_directory.read_record(tmp_path, "x sample", restored)


@pytest.mark.parametrize(
    "change", [{"command": "x"}, {"versions": {}}, {"seconds": None}, {"seconds": float("inf")}]
)
def test_records_that_do_not_tell_of_their_run_are_refused(tmp_path, change):
    record = {**run_directory.origin("1.2"), "seconds": 0.5, "run": Run()._asdict(), **change}
    (tmp_path / "run.json").write_text(json.dumps(record))
    with pytest.raises(InputError, match=r"run\.json: is damaged, or not that of 'x sample'"):
        run_directory.read_record(tmp_path, "x sample", restored)


def test_other_directories_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"is not a run directory .*: run\.json"):
        run_directory.read_record(tmp_path, "x sample", restored)


def test_runs_are_not_overwritten_unasked(tmp_path):
    occupied.refuse_occupied(tmp_path, False, "x resume")
    (tmp_path / "run.json").write_text(json.dumps({}))
    occupied.refuse_occupied(tmp_path, True, "x resume")
    with pytest.raises(InputError, match=r"holds a run already.*'x resume'.*--overwrite"):
        occupied.refuse_occupied(tmp_path, False, "x resume")


def test_links_among_the_files_of_a_run_go_and_what_they_lead_to_stays(tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "text").write_text("mine")
    run = tmp_path / "run"
    run.mkdir()
    (run / "counts").symlink_to("../own")
    (run / "lex").symlink_to("nowhere")
    for name in ("counts", "lex"):
        with pytest.raises(InputError, match=f"{name}: is in the way of a run, and belongs to none"):
            occupied.refuse_occupied(run, False, "x resume", name)
    occupied.clear(run, "counts", "lex")
    assert list(run.iterdir()) == []
    assert (tmp_path / "own" / "text").read_text() == "mine"


def test_what_links_lead_to_comes_back_unless_a_run_begins(tmp_path):
    """Files are written through links, as everywhere; other links beside them are nobody's concern."""
    run = tmp_path / "run"
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "text").write_text("older")
    (tmp_path / "own" / "nowhere").symlink_to("no/where")
    run.mkdir()
    (run / "corpus").symlink_to("../own")
    (run / "grammar").symlink_to("later")
    names = ("corpus/text", "grammar", "new/text")

    def begin():
        with occupied.restored_if_refused(run, *names):
            (run / "new").mkdir()
            for name in names:
                (run / name).write_text("newer")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        begin()
    assert sorted(path.name for path in run.iterdir()) == ["corpus", "grammar"]
    assert (run / "corpus" / "text").read_text() == "older"
    assert (run / "corpus").is_symlink()
    assert os.readlink(run / "grammar") == "later"
    assert os.readlink(tmp_path / "own" / "nowhere") == "no/where"


def test_why_a_run_does_not_begin_is_said_although_nothing_can_be_brought_back(tmp_path):
    (tmp_path / "corpus").write_text("mine")

    def begin():
        with occupied.restored_if_refused(tmp_path, "corpus/text", "grammar"):
            (tmp_path / "grammar").write_text("newer")
            raise InputError(tmp_path, None, "why", "Do otherwise")

    with pytest.raises(InputError, match="why"):
        begin()
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]


def test_what_a_run_reads_comes_back_unless_another_one_begins(tmp_path):
    (tmp_path / "run.json").write_text("older")
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "text").write_text("older")

    def begin(record):
        with occupied.restored_if_refused(tmp_path, "corpus/text", "corpus/more", "grammar"):
            (tmp_path / "corpus" / "text").write_text("newer")
            (tmp_path / "corpus" / "more").write_text("newer")
            (tmp_path / "grammar").write_text("newer")
            (tmp_path / "run.json").write_text(record)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        begin("older")
    assert [path.name for path in sorted(tmp_path.rglob("*"))] == ["corpus", "text", "run.json"]
    assert (tmp_path / "corpus" / "text").read_text() == "older"
    with pytest.raises(KeyboardInterrupt):
        begin("newer")
    assert (tmp_path / "corpus" / "text").read_text() == "newer"


def test_a_run_that_goes_on_is_the_one_that_was_read_and_one_that_has_ended_is_not(tmp_path):
    record = {"sweeps": 3, "seconds": 1.5, "finished": False, "run": {"iterations": 9}}
    run_directory.write_json(record | {"sweeps": 4, "seconds": 2.5}, tmp_path / "run.json")
    run_directory.require_unchanged(tmp_path, record)
    for changed in ({"finished": True}, {"run": {"iterations": 10}}):
        run_directory.write_json(record | changed, tmp_path / "run.json")
        with pytest.raises(InputError, match="has been resumed, finished, written over or removed"):
            run_directory.require_unchanged(tmp_path, record)
    (tmp_path / "run.json").unlink()
    with pytest.raises(InputError, match="or removed since"):
        run_directory.require_unchanged(tmp_path, record)


def test_what_is_wrong_with_a_run_that_has_not_changed_is_said(tmp_path):
    run_directory.write_json({"finished": True}, tmp_path / "run.json")
    for record, told in (({"finished": True}, "is wrong"), ({"finished": False}, "has been resumed")):
        with pytest.raises(InputError, match=told), run_directory.blaming_changes(tmp_path, record):
            raise InputError(tmp_path, None, "is wrong")


def test_numbers_that_are_none_are_not_written(tmp_path):
    with pytest.raises(ValueError, match="not JSON compliant"):
        run_directory.write_json({"value": float("nan")}, tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []


def test_settings_below_their_least_values_are_refused():
    run_directory.require_at_least(Run(), iterations=1, burn_in=0)
    with pytest.raises(SettingsError, match="--burn-in is -1; it must be at least 0"):
        run_directory.require_at_least(Run(burn_in=-1), burn_in=0)
    run_directory.require_burn_in(0, 1)
    for burn_in in (-1, 1):
        with pytest.raises(SettingsError, match="below --iterations"):
            run_directory.require_burn_in(burn_in, 1)
    for sweeps, is_finished in ((3, False), (3, True), (4, False)):
        run_directory.require_sweeps_left("run", sweeps, 4, is_finished=is_finished)
    for sweeps, is_finished in ((4, True), (5, True), (5, False)):
        with pytest.raises(SettingsError, match=f"run has {sweeps} sweeps already"):
            run_directory.require_sweeps_left("run", sweeps, 4, is_finished=is_finished)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            ["/bin/scfg-monolingual", "tsg", "train", "t"],
            "is a run of 'scfg-monolingual tsg'. Name a directory that 'x sample'",
        ),
        (
            ["/bin/scfg-monolingual", "x", "train"],
            "is damaged, or not that of 'x sample'. Run 'x sample' again",
        ),
        (["/bin/scfg-sampler", "ot", "train"], "is damaged, or not that of 'x sample'"),
        (["monolingual"], "is damaged, or not that of 'x sample'"),
        (None, "is damaged, or not that of 'x sample'"),
    ],
)
def test_a_run_of_another_model_is_told_from_a_damaged_one(tmp_path, command, said):
    run_directory.write_json({"command": command}, tmp_path / run_directory.RECORD)
    with pytest.raises(InputError, match=re.escape(said)):
        run_directory.read_record(tmp_path, "x sample", restored)
    with pytest.raises(InputError, match="is damaged"):
        run_directory.read_record(tmp_path, "tsg train", restored)
