"""A run that is killed before it has a record is in nobody's way: the same call begins it again."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import monolingual
import scfg_sampler
from scfg_sampler.core.arguments import ArgumentError
from scfg_sampler.core.chains.occupied import beginning
from scfg_sampler.core.chains.owner import owned
from scfg_sampler.core.chains.run_directory import BEGUN, write_record
from scfg_sampler.errors import InputError
from tests.test_other_files_in_runs import COMMANDS, call, content, files


def sample(place: Path, run: Path) -> None:
    made = scfg_sampler.make_corpus([("a b", "A B", "0-0 1-1")] * 2)
    scfg_sampler.sample(made, run, iterations=3)


def sample_pcfg(place: Path, run: Path) -> None:
    monolingual.sample_pcfg(["S -> S S | 'a'"], run, trees=["(S a)"], sentences=["a a"], iterations=20)


def command(name: str, *more: str):
    def start(place: Path, run: Path) -> None:
        assert call(name, place, f"--output={run}", *more) == 0

    return start


# How each begins, and how many files it writes before its record, but for those that say that it is at work.
STARTS = {
    "sample": (command("sample"), 0),
    "chains": (command("sample", "--chains=2"), 0),
    "pcfg sample": (command("pcfg sample"), 0),
    "tsg train": (command("tsg train"), 4),  # The chain's first checkpoint among them.
    "2dop": (command("tsg train", "--method=2dop"), 5),
    "ot sample": (command("ot sample"), 1),
    "python sample": (sample, 3),
    "python sample_pcfg": (sample_pcfg, 3),
}


def killed_at_each_file(monkeypatch, run: Path, start, place: Path) -> list[Path]:
    """Copies of a run directory as a kill leaves it just before each file has its name, up to the record."""
    copies: list[Path] = []
    replace = os.replace

    def stop_and_replace(old, new):
        if run in Path(new).parents and not (run / "run.json").exists():
            copies.append(run.with_name(f"killed-{len(copies)}"))
            shutil.copytree(run, copies[-1])
        replace(old, new)

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", stop_and_replace)
        start(place, run)
    return copies


@pytest.mark.parametrize("name", STARTS)
def test_a_run_killed_before_its_record_begins_again(name, tmp_path, monkeypatch):
    start, number = STARTS[name]
    files(tmp_path, COMMANDS.get(name, COMMANDS["tsg train"] if name == "2dop" else COMMANDS["sample"])[1])
    copies = killed_at_each_file(monkeypatch, tmp_path / "run", start, tmp_path)
    whole = content(tmp_path / "run").keys()
    assert BEGUN not in whole
    assert len({each for copy in copies for each in content(copy) if not is_at_work(each)}) == number
    for copy in copies:
        start(tmp_path, copy)
        assert content(copy).keys() == whole


def is_at_work(name: str) -> bool:
    return name.endswith((".lock", ".partial"))


@pytest.mark.parametrize("name", ["trace.1.tsv", "trees"])
def test_files_of_nobody_s_are_not_taken_for_those_of_a_run_that_begins(name, tmp_path):
    """The mark comes only once these are refused."""
    files(tmp_path, {name: "mine\n"})
    for _ in range(2):
        with pytest.raises(InputError, match="belongs to no"):
            sample_pcfg(tmp_path, tmp_path)
        assert content(tmp_path) == {name: b"mine\n"}


def test_a_run_taken_up_and_refused_leaves_nothing_of_the_killed_one(tmp_path):
    made = scfg_sampler.make_corpus([("a b", "A B", "0-0 1-1")] * 2)
    files(tmp_path, {BEGUN: "{}", "corpus/source": "a\n", "notes": "mine\n"})
    with pytest.raises(ArgumentError, match="discount"):
        scfg_sampler.sample(made, tmp_path, iterations=3, discount=7.0)
    assert content(tmp_path) == {"notes": b"mine\n"}


def later(path: Path, seconds: float) -> None:
    """Make a file so much later than the mark beside it."""
    time = path.with_name(BEGUN).stat().st_mtime + seconds
    os.utime(path, (time, time))


@pytest.mark.parametrize(("seconds", "is_left"), [(200, True), (400, False)])
def test_what_is_much_later_than_a_killed_run_is_not_its_own(seconds, is_left, tmp_path):
    """The mark of a run that nobody took up says nothing of what is put there weeks later."""
    files(tmp_path, {BEGUN: "{}", "trace.1.tsv": "mine\n", "sentences": "mine\n"})
    for name in ("trace.1.tsv", "sentences"):
        later(tmp_path / name, seconds)
        if is_left:
            continue
        with pytest.raises(InputError, match=f"{name}: .* and belongs to no"):
            sample_pcfg(tmp_path, tmp_path)
        (tmp_path / name).unlink()
    sample_pcfg(tmp_path, tmp_path)


def test_what_is_much_later_than_a_killed_run_comes_back_if_the_next_is_refused(tmp_path):
    files(tmp_path, {BEGUN: "{}", "grammar.txt": "S -> 'a'\n", "sentences": "a\n"})
    later(tmp_path / "grammar.txt", 400)
    with pytest.raises(ArgumentError, match="prior"):
        monolingual.sample_pcfg(
            ["S -> 'b'"], tmp_path, trees=["(S b)"], sentences=["b"], prior=-1.0, overwrite=True
        )
    assert content(tmp_path) == {"grammar.txt": b"S -> 'a'\n"}


def test_what_is_much_later_than_a_killed_run_stays_if_the_next_does_not_begin(tmp_path):
    files(tmp_path, {BEGUN: "{}", "trees": "left\n", "fragments": "mine\n"})
    later(tmp_path / "fragments", 400)
    with pytest.raises(KeyError), beginning(tmp_path, "trees", "fragments"):
        raise KeyError
    assert content(tmp_path) == {"fragments": b"mine\n"}


def test_what_another_process_is_just_writing_is_let_alone(tmp_path):
    files(tmp_path, {"corpus/source": "a\n"})
    with owned(tmp_path, BEGUN):
        before = content(tmp_path)
        with pytest.raises(InputError, match=f"is in use by process {os.getpid()} on "):
            sample(tmp_path, tmp_path)
        assert content(tmp_path) == before


def test_a_record_says_more_than_the_mark_and_ends_it(tmp_path):
    older = {"run.json": "{}", "trace.1.tsv": "older\n", "grammar.txt": "S -> 'a'\n"}
    files(tmp_path, {BEGUN: "{}", **older})
    with pytest.raises(InputError, match="holds a run already"):
        sample_pcfg(tmp_path, tmp_path)
    with pytest.raises(ArgumentError, match="prior"):
        monolingual.sample_pcfg(["S -> 'b'"], tmp_path, trees=["(S b)"], prior=-1.0, overwrite=True)
    assert content(tmp_path) == {name: text.encode() for name, text in older.items()}
    files(tmp_path, {BEGUN: "{}"})
    write_record({"sweeps": 0}, tmp_path)
    assert content(tmp_path).keys() == older.keys()
