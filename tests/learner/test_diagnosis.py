"""What R-hat cannot compare is told of, in the terminal and on pages."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from scfg_sampler import Run
from scfg_sampler.cli import main
from scfg_sampler.errors import InputError
from scfg_sampler.learner.diagnosis import diagnose_runs, incomparable
from tests.learner.test_chain import some_pairs
from tests.learner.test_commands import sample, write_corpus

RUNS = {
    "one": (),
    "other": ("--seed", "2"),
    "again": (),
    "longer": ("--iterations", "30", "--seed", "3"),
    "operator": ("--operator", "rejection", "--seed", "4"),
    "discount": ("--discount", "0.3", "--seed", "5"),
    "learned": ("--learn-hyperparameters", "--seed", "6"),
    "from-elsewhere": ("--learn-hyperparameters", "--seed", "7"),
    "two": ("--chains", "2"),
    "early": ("--burn-in", "4", "--seed", "9"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    directory = tmp_path_factory.mktemp("diagnosis")
    options = write_corpus(directory, some_pairs())
    for name, more in RUNS.items():
        assert sample(options, str(directory / name), "--iterations", "20", *more) == 0
    (directory / "less").mkdir()
    options = write_corpus(directory / "less", some_pairs()[:20])
    assert sample(options, str(directory / "text"), "--iterations", "20", "--seed", "8") == 0
    return directory


@pytest.mark.parametrize(
    ("runs", "reasons"),
    [
        (["one"], []),
        (["one", "other", "longer", "operator"], []),
        (["learned", "from-elsewhere"], []),
        (["two"], []),
        (["one", "other", "discount"], ["one and {}/discount differ in discount: R-hat compares"]),
        (["one", "learned"], ["differ in discount, strength, mean-length, learned: R-hat"]),
        (["one", "text"], ["one and {}/text differ in text: R-hat compares chains of one model and text"]),
        (
            ["other", "one", "again"],
            ["one and {}/again are one chain twice, of one seed: that they agree says"],
        ),
        (["one", "one"], ["one and {}/one are one chain twice"]),
        (["one", "two"], ["one and {}/two/chain-1 are one chain twice"]),
    ],
)
def test_chains_that_say_nothing_together_are_told_of(folder, capsys, tmp_path, runs, reasons):
    found = incomparable([folder / name for name in runs])
    assert len(found) == len(reasons)
    for each, reason in zip(found, reasons, strict=True):
        assert reason.format(folder) in each
    assert main(["diagnose", *(str(folder / name) for name in runs), "--burn-in", "5", "--quiet"]) == 0
    said = capsys.readouterr()
    assert said.err == "".join(f"warning: {each}\n" for each in found)
    assert said.out.startswith("scalar")
    if len(set(runs)) == len(runs):  # A page of one run twice is refused.
        page = tmp_path / "page.html"
        assert main(["report", *(str(folder / name) for name in runs), "--output", str(page), "--quiet"]) == 0
        section = re.search('<section id="traces".*?</section>', page.read_text(), re.DOTALL)[0]
        notes = re.findall('<p class="note">(.*?)</p>', section)
        assert [each for each in notes if "R-hat compares" in each or "twice" in each] == [
            f"{each}." for each in found
        ]


@pytest.mark.parametrize(
    ("runs", "burn_in", "sweeps", "chains"),
    [
        (["early"], None, 16, 1),
        (["early", "one"], None, 14, 2),
        (["one", "early"], None, 14, 2),
        (["two", "early", "longer"], 9, 11, 4),
    ],
)
def test_the_burn_in_is_that_of_the_run_that_leaves_out_most(folder, runs, burn_in, sweeps, chains):
    found = diagnose_runs([folder / name for name in runs], burn_in)
    assert "log_joint" in found
    assert {(each.sweeps, each.chains) for each in found.values()} == {(sweeps, chains)}


def keep_rows(chain: Path, rows: int) -> None:
    lines = (chain / "trace.tsv").read_text().splitlines(keepends=True)
    (chain / "trace.tsv").write_text("".join(lines[: 1 + rows]))


@pytest.mark.parametrize("rows", [0, 1, 19])
@pytest.mark.parametrize(("run", "inside"), [("one", ""), ("two", "chain-2")])
def test_a_cut_trace_is_said_to_be_cut_not_too_short(folder, tmp_path, capsys, run, inside, rows):
    shutil.copytree(folder / run, tmp_path / run)
    keep_rows(tmp_path / run / inside, rows)
    told = "1 row" if rows == 1 else f"{rows} rows"
    assert main(["diagnose", str(folder / "other"), str(tmp_path / run)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    trace = tmp_path / run / inside / "trace.tsv"
    assert f"{trace}: has {told}, but 20 sweeps were done. Restore the file, or start" in said.err
    assert f"'scfg-sampler verify {tmp_path / run}' tells more" in said.err
    assert main(["verify", str(tmp_path / run)]) == 2

    page = tmp_path / "page.html"
    capsys.readouterr()
    assert main(["report", str(folder / "other"), str(tmp_path / run), "--output", str(page), "--quiet"]) == 2
    assert f"{trace}: has {told}, but 20 sweeps were done. Restore" in capsys.readouterr().err
    assert not page.exists()
    with pytest.raises(InputError, match=f"has {told}, but 20 sweeps were done"):
        Run(tmp_path / run).traces  # noqa: B018


@pytest.mark.parametrize(("rows", "status"), [(20, 0), (19, 0), (18, 2)])
def test_of_a_run_at_work_the_last_row_may_be_on_its_way(folder, tmp_path, rows, status):
    shutil.copytree(folder / "one", tmp_path / "one")
    record = json.loads((tmp_path / "one" / "run.json").read_text())
    (tmp_path / "one" / "run.json").write_text(json.dumps(record | {"finished": False}))
    keep_rows(tmp_path / "one", rows)
    assert main(["diagnose", str(tmp_path / "one"), "--burn-in", "5"]) == status
