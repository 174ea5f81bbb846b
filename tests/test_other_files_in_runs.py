"""A new run leaves alone what is not of a run: files of its directory, its own inputs above all."""

from __future__ import annotations

from pathlib import Path

import pytest

import monolingual
import monolingual.cli
import scfg_sampler
import scfg_sampler.cli
from scfg_sampler.core.arguments import ArgumentError
from scfg_sampler.core.chains.occupied import clear
from scfg_sampler.core.chains.run_directory import chains_begun
from scfg_sampler.errors import InputError, SettingsError
from tests.test_help_examples import parser_of

CORPUS = {"source": "a b\nb a\n", "target": "A B\nB A\n", "alignment": "0-0 1-1\n0-0 1-1\n"}
SAMPLE = "sample --source {0}/source --target {0}/target --alignment {0}/alignment -n 3 --burn-in 1 --seed 1"
BELONGS = "is in the way of a run, and belongs to none. Name another directory, or give --overwrite"
TREES = "(S (NP dogs) (VP bark))\n(S (NP-SBJ dogs) (VP sleep))\n"
TABLEAUX = "input\toutput\tfrequency\tA\tB\nx\ty\t3\t0\t1\nx\tz\t1\t1\t0\n"
COMMANDS = {
    "sample": (SAMPLE, CORPUS),
    "pcfg sample": ("pcfg sample {0}/g --trees {0}/t --iterations 20", {"g": "S -> S S | 'a'", "t": "(S a)"}),
    "tsg train": ("tsg train {0}/trees --iterations 3 --burn-in 1", {"trees": TREES}),
    "ot sample": ("ot sample {0}/in.tsv --iterations 20 --burn-in 5", {"in.tsv": TABLEAUX}),
}
TAKEN = {
    "sample": ["counts/own", "trace.tsv", "chain-2/text", "collected/own", "lex.f2e"],
    "pcfg sample": ["trees.txt.gz", "trace.1.tsv"],
    "tsg train": ["trees.mrg.gz", "known.txt.gz", "samples/1.tsg.gz"],
    "ot sample": ["tableaux.tsv", "chain-1/checkpoint.npz"],
}
VARIANTS = {
    "sample": [["--chains=2"], ["--marginals"]],
    "tsg train": [["--marginals", "--states=2"], ["--method=2dop"]],
}
LEFT_ALONE = ["chain-align/source", "chain-alignments.txt", "chain-1-old/run.json", "notes"]
LEFT_ALONE += ["chain-1-old/checkpoint.npz", "chain-1-old/trace.tsv"]


def files(place: Path, content: dict[str, str]) -> None:
    for name, text in content.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)


def content(place: Path) -> dict[str, bytes]:
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def call(command: str, place: Path, *more: str) -> int:
    words = [*COMMANDS[command][0].format(place).split(), "--quiet", *more]
    return (scfg_sampler if command == "sample" else monolingual).cli.main(words)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_run_takes_no_file_that_belongs_to_none(command, tmp_path, capsys):
    files(tmp_path / "in", COMMANDS[command][1])
    for number, name in enumerate(TAKEN[command]):
        run = tmp_path / str(number)
        files(run, {name: "mine\n"})
        assert call(command, tmp_path / "in", f"--output={run}") == 2
        told = capsys.readouterr().err
        assert BELONGS in told
        assert content(run) == {name: b"mine\n"}
    assert call(command, tmp_path / "in", f"--output={run}", "--overwrite") == 0
    assert content(run).get(name) != b"mine\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_file_that_a_run_writes_is_refused_where_it_is_none_s(command, tmp_path, capsys):
    files(tmp_path / "in", COMMANDS[command][1])
    written: set[str] = set()
    for number, more in enumerate([[], *VARIANTS.get(command, [])]):
        assert call(command, tmp_path / "in", f"--output={tmp_path / f'run-{number}'}", *more) == 0
        written |= content(tmp_path / f"run-{number}").keys()
    capsys.readouterr()
    for number, name in enumerate(sorted(written - {"run.json"})):
        run = tmp_path / str(number)
        files(run, {name: "mine\n"})
        assert call(command, tmp_path / "in", f"--output={run}") == 2, name
        told = "holds a grammar already" if (command, name) == ("ot sample", "summary.json") else BELONGS
        assert told in capsys.readouterr().err, name
        assert content(run) == {name: b"mine\n"}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_run_leaves_other_files_alone(command, tmp_path):
    """With --overwrite, too, and what begins as directories of chains do."""
    files(tmp_path, COMMANDS[command][1])
    files(tmp_path, dict.fromkeys(LEFT_ALONE, "mine\n"))
    before = content(tmp_path)
    assert call(command, tmp_path, f"--output={tmp_path}") == 0
    assert call(command, tmp_path, f"--output={tmp_path}", "--overwrite") == 0
    assert before.items() <= content(tmp_path).items()
    assert [path.name for path in chains_begun(tmp_path) if "old" in path.name] == []


@pytest.mark.parametrize(
    ("command", "inputs"),
    [
        ("sample", "--source {0}/chain-1/text --target {0}/t --alignment {0}/a"),
        ("sample", "--source {0}/s --target {0}/t --alignment {0}/../link"),
        ("pcfg sample", "{0}/g --trees {0}/trees.txt.gz"),
        ("tsg train", "{0}/trees.mrg.gz"),
        ("ot sample", "{0}/tableaux.tsv"),
    ],
)
def test_what_is_learnt_from_is_not_written_over_even_if_told_to(command, inputs, tmp_path, capsys):
    run = tmp_path / "run"
    there = dict.fromkeys(
        ("chain-1/text", "counts/x", "trees.txt.gz", "trees.mrg.gz", "tableaux.tsv"), "mine\n"
    )
    files(run, there)
    (tmp_path / "link").symlink_to("run/counts/x")
    before = content(run)
    program = scfg_sampler if command == "sample" else monolingual
    with pytest.raises(SystemExit, match="2"):
        program.cli.main([*command.split(), *inputs.format(run).split(), f"--output={run}", "--overwrite"])
    assert "which --output writes, and would be lost; name another directory" in capsys.readouterr().err
    assert content(run) == before


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_know_all_files_that_they_write(command, tmp_path):
    files(tmp_path, COMMANDS[command][1])
    program = "scfg-sampler" if command == "sample" else "scfg-monolingual"
    pattern = parser_of(program, command).written_within["--output"]
    for number, more in enumerate(VARIANTS.get(command, [[]])):
        run = tmp_path / str(number)
        assert call(command, tmp_path, f"--output={run}", *more) == 0
        assert [name for name in content(run) if not pattern.fullmatch(name) and name != ".lock"] == []
        clear(run, "*")
        assert [name for name in content(run) if name != ".lock"] == []


def test_a_corpus_is_kept_in_no_place_of_other_files(tmp_path):
    files(tmp_path / "run" / "corpus", CORPUS)
    corpus = scfg_sampler.read_corpus(*(tmp_path / "run" / "corpus" / name for name in CORPUS))
    refused = r"corpus/source: would be written over, and belongs to no run. Name another directory, or give"
    with pytest.raises(InputError, match=refused):
        scfg_sampler.sample(corpus[:1], tmp_path / "run", iterations=3)
    assert content(tmp_path / "run" / "corpus") == {name: text.encode() for name, text in CORPUS.items()}
    assert len(scfg_sampler.sample(corpus, tmp_path / "run", iterations=3).corpus) == 2
    assert len(scfg_sampler.sample(corpus[:1], tmp_path / "run", iterations=3, overwrite=True).corpus) == 1
    files(tmp_path / "other" / "corpus", CORPUS)
    made = scfg_sampler.make_corpus([("a b", "A B", "0-0 1-1")])
    assert len(scfg_sampler.sample(made, tmp_path / "other", iterations=3, overwrite=True).corpus) == 1


def test_links_in_a_run_directory_are_refused_or_go_and_what_they_lead_to_stays(tmp_path, capsys):
    files(tmp_path, {**CORPUS, "own/text": "mine\n", "run/run.json": "{}"})
    (tmp_path / "run" / "counts").symlink_to("../own")
    assert call("sample", tmp_path, f"--output={tmp_path / 'run'}", "--overwrite") == 0
    assert not (tmp_path / "run" / "counts").is_symlink()
    assert content(tmp_path / "own") == {"text": b"mine\n"}
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "counts").symlink_to("nowhere")
    assert call("sample", tmp_path, f"--output={tmp_path / 'other'}") == 2
    assert BELONGS in capsys.readouterr().err


def test_a_corpus_of_files_that_are_linked_to_is_left_alone_where_settings_are_refused(tmp_path):
    files(tmp_path, {f"data/{name}": text for name, text in CORPUS.items()})
    (tmp_path / "data" / "more").symlink_to("nowhere")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "corpus").symlink_to("../data")
    corpus = scfg_sampler.read_corpus(*(tmp_path / "run" / "corpus" / name for name in CORPUS))
    with pytest.raises(ArgumentError, match="discount is 7; it must be"):
        scfg_sampler.sample(corpus, tmp_path / "run", iterations=3, discount=7.0)
    made = scfg_sampler.make_corpus([("a b", "A B", "0-0 1-1")])
    with pytest.raises(ArgumentError, match="discount is 7; it must be"):
        scfg_sampler.sample(made, tmp_path / "run", iterations=3, discount=7.0, overwrite=True)
    assert content(tmp_path / "data") == {name: text.encode() for name, text in CORPUS.items()}
    assert (tmp_path / "data" / "more").is_symlink()
    assert (tmp_path / "run" / "corpus").is_symlink()


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SettingsError])
def test_what_a_run_that_did_not_begin_has_kept_goes_again(tmp_path, monkeypatch, stop):
    """A directory that was there, and holds other files, is as it was; the same call can be made again."""

    def stopped(*arguments, **more):
        raise stop

    corpus = scfg_sampler.make_corpus([("a b", "A B", "0-0 1-1")] * 2)
    files(tmp_path, {"corpus/notes": "mine\n"})
    with monkeypatch.context() as patch:
        patch.setattr("scfg_sampler.notebook.runs.start_chains", stopped)
        with pytest.raises((KeyboardInterrupt, SettingsError, ArgumentError)):
            scfg_sampler.sample(corpus, tmp_path, iterations=3)
    assert content(tmp_path) == {"corpus/notes": b"mine\n"}
    assert len(scfg_sampler.sample(corpus, tmp_path, iterations=3).corpus) == 2
    grammar, place = ["S -> S S | 'a'"], tmp_path / "pcfg"
    place.mkdir()
    with pytest.raises(ArgumentError):
        monolingual.sample_pcfg(grammar, place, trees=["(S a)"], iterations=20, prior=-1.0)
    assert content(place) == {}
    monolingual.sample_pcfg(grammar, place, trees=["(S a)"], iterations=20)


def test_lines_are_kept_in_no_place_of_other_files(tmp_path):
    trees = {"trees": ["(S a)"], "iterations": 20}
    files(tmp_path, {"grammar.txt": "S -> S S | 'a'\n", "m.sentences": "A B\n"})
    with pytest.raises(InputError, match=r"grammar.txt: would be written over, and belongs to no run"):
        monolingual.sample_pcfg(["S -> S S | 'a'"], tmp_path, **trees)
    monolingual.sample_pcfg(tmp_path / "grammar.txt", tmp_path, **trees)
    with pytest.raises(InputError, match=r"m.sentences: would be written over, as the sentences are"):
        monolingual.train_dmv(["DT NN"], output=tmp_path / "m", rounds=2)
    assert (tmp_path / "grammar.txt").read_text() == "S -> S S | 'a'\n"
    assert (tmp_path / "m.sentences").read_text() == "A B\n"
    monolingual.train_dmv(tmp_path / "m.sentences", output=tmp_path / "m", rounds=2)
    assert (tmp_path / "m.sentences").exists()
    for overwrite in (False, True):  # They lose nothing by the same lines, and stay.
        monolingual.train_dmv(["A B"], output=tmp_path / "m", rounds=2, overwrite=overwrite)
        assert (tmp_path / "m.sentences").read_text() == "A B\n"
    files(tmp_path, {"m.checkpoint.npz": "of training that was stopped, whose lines these are"})
    monolingual.train_dmv(["A B"], output=tmp_path / "m", rounds=2, overwrite=True)
    assert not (tmp_path / "m.sentences").exists()
    (tmp_path / "m.sentences").write_bytes(b"\xef\xbb\xbfA B")
    with pytest.raises(InputError, match=r"m.sentences: would be written over, as the sentences are"):
        monolingual.train_dmv(["A B"], output=tmp_path / "m", rounds=2)
    assert (tmp_path / "m.sentences").read_bytes() == b"\xef\xbb\xbfA B"
    monolingual.train_dmv(["DT NN"], output=tmp_path / "m", rounds=2, overwrite=True)
    assert not (tmp_path / "m.sentences").exists()


@pytest.mark.parametrize("chains", [1, 2])
def test_what_is_learnt_from_is_not_lost_from_python_either(tmp_path, chains):
    files(tmp_path / "run" / "counts", CORPUS)
    corpus = scfg_sampler.read_corpus(*(tmp_path / "run" / "counts" / name for name in CORPUS))
    with pytest.raises(InputError, match=r"counts/source: is learnt from, and would be lost by a run"):
        scfg_sampler.sample(corpus, tmp_path / "run", iterations=3, overwrite=True, chains=chains)
    assert content(tmp_path / "run" / "counts") == {name: text.encode() for name, text in CORPUS.items()}


def test_trees_of_a_run_that_did_not_begin_are_not_in_the_way(tmp_path, monkeypatch):
    files(tmp_path, {"trees": TREES, "run/notes": "mine\n"})

    def stopped(*arguments, **more):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("monolingual.tsg.run.recurring_fragments", stopped)
        assert call("tsg train", tmp_path, f"--output={tmp_path / 'run'}", "--method=2dop") == 130
    assert content(tmp_path / "run") == {"notes": b"mine\n"}
    assert call("tsg train", tmp_path, f"--output={tmp_path / 'run'}", "--method=2dop") == 0


def test_a_treebank_is_no_beginning_of_names(tmp_path, capsys):
    files(tmp_path, {"t.sentences": "DT NN\t2 0\tthe dog\n"})
    with pytest.raises(SystemExit, match="2"):
        monolingual.cli.main(["pcfg", "dependencies", f"{tmp_path}/t.sentences", f"--output={tmp_path}/t"])
    assert "--output writes" in capsys.readouterr().err
    assert (tmp_path / "t.sentences").read_text() == "DT NN\t2 0\tthe dog\n"
    files(tmp_path, {"u": "DT NN\t2 0\tthe dog\n"})  # A name that others begin with is none of them.
    assert monolingual.cli.main(["pcfg", "dependencies", f"{tmp_path}/u", f"--output={tmp_path}/u"]) == 0
