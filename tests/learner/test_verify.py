"""`verify` on runs and tables: silent about what is right, one line about what is not."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import textwrap

import pytest

from scfg_sampler.cli import main
from tests.core.chains.checkpoint_faults import read, write
from tests.learner.test_commands import sample


@pytest.fixture
def run(corpus_options, tmp_path):
    assert sample(corpus_options, tmp_path / "run", "--iterations", "6", "--burn-in", "2") == 0
    return tmp_path / "run"


def test_nothing_that_translates_is_loaded_for_a_run_or_a_table(run):
    statement = """
        import sys
        from scfg_sampler.cli import main
        status = [main(["verify", path, "--quiet"]) for path in sys.argv[1:]]
        loaded = ["decoder.expressions", "decoder.search", "decoder.translation.decoder"]
        print(status, [name for name in loaded if name in sys.modules])
    """
    command = [sys.executable, "-c", textwrap.dedent(statement), str(run), str(run / "counts" / "last.gz")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[0, 0] []\n"


def changed_counts(run):
    path = run / "counts" / "last.gz"
    lines = gzip.decompress(path.read_bytes()).decode().splitlines(keepends=True)
    lines[1] = lines[1].replace("LogCount=", "LogCount=1", 1)
    path.write_bytes(gzip.compress("".join(lines).encode()))


def changed_alignment(run):
    path = run / "counts" / "marginal.gz"
    lines = gzip.decompress(path.read_bytes()).decode().splitlines(keepends=True)
    lines[2] = lines[2].replace("\n", " 0-0\n")
    path.write_bytes(gzip.compress("".join(lines).encode()))


def missing_rule(run):
    path = run / "counts" / "average.gz"
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    path.write_bytes(gzip.compress(b"".join(lines[:-1])))


def other_lexical(run):
    text = (run / "lex.f2e").read_text()
    (run / "lex.f2e").write_text(text.replace("0.", "0.0", 1))


def other_derivation(run):
    path = run / "derivations.jsonl.gz"
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()).replace(b"[X,1]", b"[X,2]", 1)))


def no_derivations(run):
    (run / "derivations.jsonl.gz").unlink()


def other_log_joint(run):
    lines = (run / "trace.tsv").read_text().splitlines(keepends=True)
    column = lines[0].split("\t").index("log_joint")
    cells = lines[-1].split("\t")
    cells[column] = f"{float(cells[column]) * 1.001}"
    (run / "trace.tsv").write_text("".join([*lines[:-1], "\t".join(cells)]))


def other_sweeps(run):
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**record, "sweeps": 5}))


def half_a_record(run):
    text = (run / "run.json").read_text()
    (run / "run.json").write_text(text[: len(text) // 2])


def changed_trees(run):
    header, arrays = read(run / "checkpoint.npz")
    arrays["state.learner.trees"][0] ^= 2
    write(run / "checkpoint.npz", header, arrays)


def changed_byte(run):
    whole = (run / "checkpoint.npz").read_bytes()
    at = len(whole) // 2
    (run / "checkpoint.npz").write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])


def short_trace(run):
    lines = (run / "trace.tsv").read_text().splitlines(keepends=True)
    (run / "trace.tsv").write_text("".join(lines[:-2]))


def other_corpus(run):
    path = run.parent / "train.f"
    path.write_text(path.read_text().replace("f0", "f9", 1))


def other_settings(run):
    record = json.loads((run / "run.json").read_text())
    record["settings"]["cleverness"] = 1
    (run / "run.json").write_text(json.dumps(record))


def test_verify_says_nothing_is_wrong(run, capsys):
    capsys.readouterr()
    assert main(["verify", str(run)]) == 0
    said = capsys.readouterr().err
    assert "sweep 6, its derivations recounted" in said
    for name in (
        "counts/last.gz",
        "counts/average.gz",
        "counts/marginal.gz",
        "derivations.jsonl.gz",
        "lex.e2f",
    ):
        assert f"{name}: as its derivations give it" in said
    assert "trace.tsv: 6 rows, and the log joint of the checkpoint" in said
    assert main(["verify", str(run), "--quiet"]) == 0
    assert main(["verify", str(run / "counts" / "marginal.gz"), "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_a_run_with_the_largest_settings_is_right_and_goes_on(corpus_options, tmp_path):
    largest = ("--strength", "1e15", "--mean-length", "1e15")
    assert sample(corpus_options, tmp_path / "run", "--iterations", "2", *largest) == 0
    for command in (["verify"], ["resume", "--iterations", "3"]):
        assert main([*command, str(tmp_path / "run"), "--quiet"]) == 0
    assert main(["verify", str(tmp_path / "run" / "counts" / "last.gz"), "--quiet"]) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (changed_counts, "counts/last.gz:2: is not what the checkpoint gives"),
        (changed_alignment, "counts/marginal.gz:3: is not what the checkpoint gives"),
        (missing_rule, "is not what the checkpoint gives"),
        (other_lexical, "lex.f2e:"),
        (other_derivation, "derivations.jsonl.gz:"),
        (no_derivations, "derivations.jsonl.gz: cannot be read"),
        (other_log_joint, "trace.tsv:7: has the log joint"),
        (other_sweeps, "checkpoint.npz: is of sweep 6, but run.json tells of 5"),
        (half_a_record, "run.json: is damaged"),
        (changed_trees, "checkpoint.npz: does not fit what it was made from: "),
        (changed_byte, "checkpoint.npz: "),
        (short_trace, "trace.tsv: has no row of sweep 4, but 6 were done"),
        (other_corpus, "(source) is not the same as when"),
        (other_settings, "whose settings are others (cleverness is not known)"),
    ],
)
def test_verify_finds_what_was_changed(run, capsys, change, message):
    change(run)
    capsys.readouterr()
    assert main(["verify", str(run)]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_verify_looks_at_all_chains(corpus_options, tmp_path, capsys):
    run = tmp_path / "run"
    assert sample(corpus_options, run, "--iterations", "6", "--burn-in", "2", "--chains", "2") == 0
    assert main(["verify", str(run), "--quiet"]) == 0
    changed_byte(run / "chain-2")
    assert main(["verify", str(run)]) == 2
    assert "chain-2/checkpoint.npz" in capsys.readouterr().err


def test_verify_compares_pooled_counts_and_marginals(corpus_options, tmp_path, capsys):
    run, options = tmp_path / "run", ["--iterations", "6", "--burn-in", "2", "--chains", "2", "--marginals"]
    assert sample(corpus_options, run, *options) == 0
    assert main(["verify", str(run), "--quiet"]) == 0
    whole = (run / "marginals.json").read_text()
    (run / "marginals.json").write_text(whole.replace('"in_tree": 0.', '"in_tree": 0.1', 1))
    assert main(["verify", str(run)]) == 2
    assert f"{run}/marginals.json:1: is not what the checkpoint gives" in capsys.readouterr().err
    (run / "marginals.json").write_text(whole)
    changed_counts(run)
    assert main(["verify", str(run)]) == 2
    assert f"{run}/counts/last.gz:2: is not what the checkpoint gives" in capsys.readouterr().err


def test_a_run_that_is_not_finished_is_verified_as_far_as_it_is(
    corpus_options, tmp_path, monkeypatch, capsys
):
    from scfg_sampler.learner import run as learner_run

    def interrupted(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(learner_run._Chain, "write_results", interrupted)
        assert sample(corpus_options, tmp_path / "run", "--iterations", "6", "--burn-in", "2") == 130
    capsys.readouterr()
    assert main(["verify", str(tmp_path / "run")]) == 0
    assert "sweep 6, its derivations recounted" in capsys.readouterr().err
    changed_trees(tmp_path / "run")
    assert main(["verify", str(tmp_path / "run")]) == 2


def test_verify_leaves_everything_as_it_is(run):
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert main(["verify", str(run), "--quiet"]) == 0
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_verify_of_nothing_is_one_line(tmp_path, capsys):
    assert main(["verify", str(tmp_path / "none")]) == 2
    assert main(["verify", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 2
