"""The commands of `scfg-monolingual pcfg`, as a user types them."""

from __future__ import annotations

import gzip
import json
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from monolingual.cli import main
from monolingual.pcfg.grammar_text import read_grammar
from scfg_sampler.core import jit
from tests.core.chains.checkpoint_faults import read, write
from tests.test_kernel_cache import run as run_child

TERNARY = "S -> S S S | S S | 'a'\n"
FLAT = "(S (S a) (S a) (S a))"


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ternary").write_text(TERNARY)
    (tmp_path / "catalan").write_text("S -> S S [.6] | 'a' [.4]\n")
    (tmp_path / "text").write_text("a a a\na a\n")
    (tmp_path / "one").write_text("a a a\n")
    (tmp_path / "gold").write_text("(S (S a) (S (S a) (S a)))\n(S (S a) (S a))\n")
    return tmp_path


def pcfg(*arguments) -> int:
    return main(["pcfg", *map(str, arguments)])


def summary(run):
    return json.loads((run / "summary.json").read_text())


def test_check_prints_json(place, capsys):
    assert pcfg("check", "catalan", "--json", "--compare") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["tight"], found["linear"]) == (False, False)
    assert_allclose([found["spectral_radius"], found["partition"]["S"]], [1.2, 2 / 3], rtol=1e-12)
    assert_allclose([found["expected_length"], found["plain_iteration"]["start"]], [3.0, 2 / 3], rtol=1e-9)
    (place / "critical").write_text("S -> S S [.5] | 'a' [.5]\n")
    pcfg("check", "critical", "--json")
    found = json.loads(capsys.readouterr().out)
    assert (found["tight"], found["partition"]["S"], found["expected_length"]) == (True, 1.0, None)


@pytest.mark.parametrize("options", [[], ["--counts"], ["--probabilities"]])
def test_parse_writes_empty_lines_for_empty_lines(place, capsys, options):
    (place / "close").write_text("a a\na\n")
    (place / "wide").write_text("\na a\n \n\na\n\n")
    for name in ("close", "wide"):
        assert pcfg("parse", "catalan", "--sentences", name, "--output", f"{name}.out", *options) == 0
    first, second = (place / "close.out").read_text().splitlines()
    assert (place / "wide.out").read_text().splitlines() == ["", first, "", "", second, ""]


def test_check_names_what_is_useless(place, capsys):
    (place / "g").write_text("S -> 'a' [.5] | U S [.5]\nU -> U U [1]\nV -> 'b' [1]\n")
    pcfg("check", "g")
    shown = capsys.readouterr().out
    assert "no finite tree   U" in shown
    assert "unreachable      V" in shown
    assert "useless          S -> U S; U -> U U; V -> 'b'" in shown
    assert "no: the finite trees of S have probability 0.5" in shown


def test_tightened_grammar_is_tight(place, capsys):
    assert pcfg("check", "catalan", "--tighten", "tight", "--format", "johnson") == 0
    assert_allclose(read_grammar("tight").weights, [0.4, 0.6])
    capsys.readouterr()
    pcfg("check", "tight", "--json")
    assert json.loads(capsys.readouterr().out)["tight"]
    assert pcfg("check", "catalan", "--tighten", "-", "--json") == 2
    both = capsys.readouterr()
    assert (both.out, "--json and --tighten - would both go" in both.err) == ("", True)
    assert pcfg("check", "catalan", "--tighten", "-") == 0
    assert capsys.readouterr().out.startswith("S -> S S [0.4")


@pytest.mark.parametrize("approach", ["only-tight", "renormalise", "sink"])
def test_sample_writes_a_run_directory(approach, place):
    options = (
        "--sentences",
        "text",
        "--gold",
        "gold",
        "--approach",
        approach,
        "--prior",
        1,
        "--iterations",
        400,
    )
    assert (
        pcfg("sample", "ternary", *options, "--burn-in", 100, "--chains", 2, "--output", "run", "--check")
        == 0
    )
    samples = np.load(place / "run" / "samples.npz")
    assert samples["probabilities"].shape == (600, 3)
    assert_allclose(samples["probabilities"].sum(axis=1), 1.0)
    assert samples["rules"].tolist() == ["S -> S S S", "S -> S S", "S -> 'a'"]
    assert np.bincount(samples["chain"]).tolist() == [0, 300, 300]
    found = summary(place / "run")
    assert_allclose(sum(found["tree_frequencies"][t] for t in found["tree_frequencies"]), 2.0)
    assert found["tree_frequencies"]["(S (S a) (S a))"] == 1.0
    assert_allclose(found["mean"]["S -> 'a'"], samples["probabilities"][:, 2].mean())
    assert 0.0 < found["acceptance"] <= 1.0
    assert (found["rejections"] == 0) == (approach == "sink")
    assert 0.5 < found["f1"] <= 1.0
    assert len(found["f1_of_chains"]) == 2
    assert set(found["convergence"]) == {"log_joint", *samples["rules"].tolist()}
    assert len((place / "run" / "trace.2.tsv").read_text().splitlines()) > 10
    record = json.loads((place / "run" / "run.json").read_text())
    assert record["finished"]
    assert record["settings"]["digests"].keys() == {"grammar", "sentences", "gold"}


def test_supervised_draws_are_dirichlet(place):
    (place / "trees").write_text(f"{FLAT}\n(S a)\n")
    pcfg(
        "sample",
        "ternary",
        "--trees",
        "trees",
        "--prior",
        "0.5,S=2",
        "--iterations",
        20_000,
        "--output",
        "run",
        "--quiet",
    )
    found = summary(place / "run")
    # Counts 1, 0 and 4, concentrations 2.
    expected = np.array([3.0, 2.0, 6.0]) / 11.0
    error = np.sqrt(expected * (1 - expected) / 12 / 20_000)
    assert np.all(np.abs(np.array(list(found["mean"].values())) - expected) < 6 * error)
    assert "tree_frequencies" not in found


def test_pseudo_counts_of_johnson_s_format_are_the_prior(place):
    (place / "g").write_text("1 1000000 S --> S S\n1 3000000 S --> a\n")
    pcfg("sample", "g", "--normalise", "--sentences", "one", "--iterations", 20, "--output", "run", "--quiet")
    assert_allclose(summary(place / "run")["mean"]["S -> 'a'"], 0.75, atol=0.002)


@pytest.mark.parametrize("sampler", ["gibbs", "collapsed"])
def test_resuming_equals_running_through(sampler, place):
    options = (
        "--sentences",
        "text",
        "--sampler",
        sampler,
        "--reweight",
        "--burn-in",
        20,
        "--gold",
        "gold",
        "--quiet",
    )
    pcfg("sample", "ternary", *options, "--iterations", 100, "--chains", 2, "--output", "short")
    pcfg("resume", "short", "--iterations", 200, "--quiet")
    pcfg("sample", "ternary", *options, "--iterations", 100, "--chains", 2, "--output", "long")
    # Blocks depend on the number of iterations, so the long run takes the short one's.
    record = json.loads((place / "long" / "run.json").read_text())
    for checkpoint in (place / "long").glob("checkpoint.*"):
        checkpoint.unlink()
    record["settings"]["iterations"], record["finished"] = 200, False
    (place / "long" / "run.json").write_text(json.dumps(record))
    pcfg("resume", "long", "--quiet")
    first, second = (dict(np.load(place / name / "samples.npz")) for name in ("short", "long"))
    for name in first:
        assert_array_equal(first[name], second[name])
    one, other = summary(place / "short"), summary(place / "long")
    one.pop("cpu_seconds"), other.pop("cpu_seconds")
    assert one == other
    assert (place / "short" / "trace.1.tsv").read_text() == (place / "long" / "trace.1.tsv").read_text()


def test_runs_can_be_resumed_from_anywhere(place, tmp_path_factory, monkeypatch):
    pcfg("sample", "ternary", "--sentences", "text", "--iterations", 20, "--output", "run", "--quiet")
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert pcfg("resume", place / "run", "--iterations", 40, "--quiet") == 0


def test_a_checkpoint_that_kept_less_is_that_of_an_older_version(place, capsys):
    pcfg("sample", "ternary", "--sentences", "text", "--iterations", 20, "--output", "run", "--quiet")
    header, arrays = read(place / "run" / "checkpoint.1.npz")
    assert arrays.pop("state.kept.seconds") is not None
    write(place / "run" / "checkpoint.1.npz", header, arrays)
    before = (place / "run" / "run.json").read_text()
    capsys.readouterr()
    assert pcfg("resume", "run", "--iterations", 40, "--quiet") == 2
    said = capsys.readouterr().err
    assert "checkpoint.1.npz: was written by an older program" in said
    assert said.endswith("Go on with what wrote it, or start the run again\n")
    assert (place / "run" / "run.json").read_text() == before


def test_simulate_parse_and_train_fit_together(place, capsys):
    assert pcfg("simulate", "catalan", "--samples", 300, "--output", "trees.gz") == 0
    assert "not tight: trees are drawn from the 0.666667 that are finite" in capsys.readouterr().err
    assert pcfg("simulate", "catalan", "--samples", 300, "--yield", "--output", "words", "--quiet") == 0
    assert pcfg("train", "ternary", "--trees", "trees.gz", "--output", "em", "--quiet") == 0
    weights = read_grammar("em").weights
    assert weights[0] == 0.0
    assert abs(weights[1] - 0.4) < 0.05
    assert pcfg("train", "ternary", "--sentences", "words", "--restarts", 3, "--output", "em2") == 0
    assert ", tight" in capsys.readouterr().err
    assert (
        pcfg(
            "train",
            "catalan",
            "--sentences",
            "words",
            "--method",
            "vb",
            "--prior",
            0.1,
            "--output",
            "vb",
            "--quiet",
        )
        == 0
    )
    assert abs(read_grammar("vb").weights[0] - 0.4) < 0.1
    assert (
        pcfg("parse", "em", "--sentences", "words", "--output", "best", "--gold", "best") == 2
    )  # There is none yet.
    assert pcfg("parse", "em", "--sentences", "words", "--output", "best", "--probabilities", "--quiet") == 0
    for line in (place / "best").read_text().splitlines():
        tree, sentence, _ = line.split("\t")
        assert float(tree) <= float(sentence) + 1e-6
    assert pcfg("parse", "em", "--sentences", "text", "--gold", "gold") == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[1] == "(S (S a) (S a))"
    assert "F1" in captured.err


def test_dependencies_can_be_sampled_and_compared(place, capsys):
    rows = [
        "DT NN VBZ\t2 3 0\tthe dog barks",
        "NN VBZ\t2 0\tdogs bark",
        "DT NN\t2 0\tthe dog",
        "NN " * 11 + "\t" + "0 " * 11,
    ]
    (place / "tagged").write_text("\n".join(rows[:3]) + "\n")
    assert pcfg("dependencies", "tagged", "--output", "dep", "--quiet") == 0
    for approach in ("sink", "only-tight"):
        data = ("--sentences", "dep.sentences", "--gold", "dep.gold", "--bracket-labels", "N_.*")
        chain = ("--iterations", 40, "--score-every", 1, "--chains", 4, "--prior", 0.5)
        pcfg("sample", "dep.grammar", *data, *chain, "--approach", approach, "--output", approach, "--quiet")
    capsys.readouterr()
    assert pcfg("compare", "sink", "only-tight", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [len(run["f1"]) for run in found["runs"]] == [4, 4]
    assert 0.0 <= found["tests"][0]["p"] <= 1.0
    pytest.importorskip("matplotlib")
    assert pcfg("compare", "sink", "only-tight", "--plot", "f1.svg") == 0
    assert "<svg" in (place / "f1.svg").read_text()
    assert "Kolmogorov-Smirnov sink / only-tight" in capsys.readouterr().out


def test_dependencies_over_tags_with_brackets_can_be_scored(place, capsys):
    (place / "stts").write_text("ART NN $( VVFIN $)\t2 4 4 0 4\tder Hund - bellt )\n")
    assert pcfg("dependencies", "stts", "--output", "dep", "--quiet") == 0
    assert (place / "dep.gold").read_text() == "(X (X ART NN) $-LRB- VVFIN $-RRB-)\n"
    assert pcfg("parse", "dep.grammar", "--sentences", "dep.sentences", "--gold", "dep.gold") == 0
    assert "F1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("check nothing", "nothing: cannot be read"),
        ("sample ternary --output r", "give --trees, --sentences or both"),
        ("sample ternary --sentences text --output r --prior x", "--prior x: 'x' is no positive number"),
        ("sample ternary --sentences text --output r --prior 0", "'0' is no positive number"),
        (
            "sample ternary --sentences text --output r --prior T=1",
            "--prior names T, which is not a nonterminal",
        ),
        ("sample ternary --sentences text --output r --prior pseudo-counts", "the grammar has none"),
        ("sample ternary --sentences text --output r --prior=", "--prior : '' is no positive number"),
        ("train ternary --sentences text --output r --prior 1,2", "--prior 1,2: two numbers for all rules"),
        ("train ternary --sentences text --output r --prior S=1,2,S=1", "two numbers for S; give one"),
        (
            "sample ternary --sentences text --output r --bracket-labels S",
            "what is scored by --gold; give that",
        ),
        ("parse ternary --sentences text --bracket-labels S", "what is scored by --gold; give that"),
        (
            "sample ternary --sentences text --output r --iterations 0",
            "--iterations is 0; it must be at least 1",
        ),
        (
            "sample ternary --sentences text --output r --burn-in 1000",
            "--burn-in 1000 leaves none of 1000 iterations",
        ),
        (
            "sample ternary --sentences text --output r --thin 3",
            "--iterations 1000 is not a multiple of --thin 3",
        ),
        (
            "sample ternary --sentences text --output r --iterations 100000000",
            "are too many to keep; raise --thin",
        ),
        ("sample ternary --sentences text --output r --threads 0", "--threads is 0"),
        ("sample - --sentences - --output r", "only one file can be standard input"),
        ("sample ternary --trees gold --gold gold --output r", "--gold scores trees of --sentences"),
        ("sample ternary --sentences one --gold gold --output r", "--gold has 2 trees for 1 sentence"),
        (
            "sample ternary --sentences text --output r --sampler collapsed --approach renormalise",
            "--sampler collapsed works for --approach sink, not renormalise",
        ),
        (
            "sample ternary --sentences text --output r --reweight --approach only-tight",
            "--reweight starts from",
        ),
        ("sample ab --sentences text --output r", "text:1: the grammar does not derive this sentence"),
        ("sample endless --sentences text --output r", "no finite tree grows from the start symbol S"),
        ("resume nothing", "nothing: is not a run directory"),
        ("compare .", "summary.json: cannot be read"),
        ("simulate ternary --samples 0", "--samples is 0"),
        ("train ternary --sentences text --output r --prior 0.5", "--prior is below 1"),
        ("train ternary --sentences text --output r --restarts 0", "--restarts is 0"),
        ("train ternary --sentences text --output r --tolerance -1", "--tolerance is -1; it must be at"),
        ("train pound --sentences nothing --output r", "NLTK's format cannot hold the nonterminal #"),
        ("dependencies text --output r", "text:1: one column"),
        ("simulate spaced", "spaced: trees with the symbol 'New York' could not be read again"),
    ],
)
def test_mistakes_get_one_line(arguments, message, place, capsys):
    (place / "ab").write_text("S -> 'a' S 'b' | 'a' 'b'\n")
    (place / "endless").write_text("S -> 'a' S\n")
    (place / "spaced").write_text("S -> 'New York'\n")
    (place / "pound").write_text("1 S --> #\n1 # --> £\n")
    assert pcfg(*arguments.split()) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("scfg-monolingual: ")
    assert message in error
    assert not (place / "r" / "summary.json").exists()


@pytest.mark.parametrize(
    "wrong",
    [
        {"chains": True},
        {"cpu_seconds": "1"},
        {"f1_of_chains": [True, True]},
        {"rejections_per_thousand_of_chains": [None]},
    ],
    ids=str,
)
def test_runs_are_compared_by_numbers_alone(wrong, place, capsys):
    known = {"approach": "sink", "chains": 1, "cpu_seconds": 1.5, "rejections_per_thousand_of_chains": [0]}
    (place / "r").mkdir()
    (place / "r" / "summary.json").write_text(json.dumps(known))
    assert pcfg("compare", "r") == 0
    (place / "r" / "summary.json").write_text(json.dumps(known | wrong))
    assert pcfg("compare", "r") == 2
    error = capsys.readouterr().err
    assert error.endswith("summary.json: is not the summary of a run of pcfg sample. Name its directory\n")


@pytest.mark.parametrize(("approach", "idle"), [("sink", True), ("only-tight", True), ("renormalise", False)])
def test_proposals_that_do_nothing_are_told(approach, idle, place, capsys):
    chain = ("--sentences", "text", "--iterations", 4, "--output", "run", "--quiet")
    assert pcfg("sample", "ternary", *chain, "--approach", approach, "--proposal", "tilted") == 0
    assert (f"with --approach {approach} it does nothing" in capsys.readouterr().err) == idle
    assert pcfg("sample", "ternary", *chain, "--approach", approach, "--overwrite") == 0
    assert "it does nothing" not in capsys.readouterr().err


def test_older_runs_are_not_overwritten(place, capsys):
    options = ("sample", "ternary", "--sentences", "text", "--iterations", 10, "--output", "run", "--quiet")
    assert pcfg(*options) == 0
    assert pcfg(*options) == 2
    assert "holds a run already" in capsys.readouterr().err
    assert pcfg(*options, "--overwrite") == 0
    assert pcfg("resume", "run") == 2
    assert "has 10 sweeps already; give --iterations more than that" in capsys.readouterr().err
    (place / "ternary").write_text("S -> S S S | S S | 'a' | 'b'\n")
    assert pcfg("resume", "run", "--iterations", 20) == 2
    assert "belongs to another run" in capsys.readouterr().err


def test_unparsable_sentences_and_useless_rules_are_left_out_with_a_warning(place, capsys):
    (place / "g").write_text("S -> 'a' S 'a' | 'a' | S U\n")
    assert (
        pcfg(
            "sample",
            "g",
            "--sentences",
            "text",
            "--skip-unparsable",
            "--iterations",
            10,
            "--output",
            "run",
            "--quiet",
        )
        == 0
    )
    error = capsys.readouterr().err
    assert "1 useless rule is left out: S -> S U" in error
    assert "1 sentence is left out: no derivation in the grammar" in error
    assert summary(place / "run")["sentences"] == 1


@pytest.mark.slow
@pytest.mark.skipif(not jit.ENABLED, reason="compilation is off")
def test_second_run_of_a_command_compiles_nothing(place, root):
    for arguments in (
        [
            "sample",
            "ternary",
            "--sentences",
            "text",
            "--iterations",
            "10",
            "--approach",
            "renormalise",
            "--overwrite",
        ],
        [
            "sample",
            "ternary",
            "--sentences",
            "text",
            "--iterations",
            "10",
            "--sampler",
            "collapsed",
            "--overwrite",
        ],
        ["train", "ternary", "--sentences", "text"],
        ["check", "ternary"],
    ):
        output = [] if arguments[0] == "check" else ["--output", "out-" + arguments[0]]
        statement = f"from monolingual.cli import main\nmain(['pcfg', *{[*arguments, *output, '--quiet']}])"
        run_child(statement, root, cwd=place)
        _, compiled, cached = run_child(statement, root, cwd=place)
        assert compiled == [], arguments
        assert cached


def test_files_in_other_encodings_are_read(place, capsys):
    text = "S -> A S [.4] | A [.6]\nA -> 'füß' [.5] | 'été' [.5]\n"
    sentences, trees = "füß été\nété\n", "(S (A füß) (S (A été)))\n"
    for name, content in (("g", text), ("s", sentences), ("t", trees)):
        (place / name).write_text(content, encoding="utf-8")
        (place / f"{name}.latin").write_bytes(content.encode("latin-1"))
        (place / f"{name}.wide").write_bytes(gzip.compress(content.encode("utf-16")))
    found = {}
    for ending, name in (("", "utf-8"), (".latin", "latin-1"), (".wide", "utf-16")):
        grammar, words, gold = f"g{ending}", f"s{ending}", f"t{ending}"
        options = ["--encoding", name]
        assert pcfg("check", grammar, *options) == 0
        assert pcfg("parse", grammar, "--sentences", words, "--probabilities", *options) == 0
        assert pcfg("prefix", grammar, "--sentences", words, *options) == 0
        assert pcfg("remove-empty", grammar, *options) == 0
        assert pcfg("simulate", grammar, "--samples", 3, *options) == 0
        train = "train", grammar, "--sentences", words, "--trees", gold, "--output", "em"
        assert pcfg(*train, *options) == 0
        sample = "sample", grammar, "--sentences", words, "--trees", gold, "--iterations", 4
        assert pcfg(*sample, "--output", "run", "--overwrite", *options) == 0
        assert pcfg("resume", "run", "--iterations", 8) == 0
        found[name] = capsys.readouterr().out + (place / "em").read_text(encoding="utf-8")
    assert found["latin-1"] == found["utf-8"] == found["utf-16"]
    assert "füß" in found["utf-8"]


def test_wrong_encodings_are_refused(place, capsys):
    (place / "g").write_bytes("S -> 'a'\nS -> 'füß'\n".encode("latin-1"))
    for options, message in (
        ([], r"g:2: byte 0xfc at column 8 is not UTF-8"),
        (["--encoding", "ascii"], r"g:\d: is not ascii, here or soon after. Give another --encoding"),
        (["--encoding", "klingon"], "--encoding is 'klingon'; give one that Python knows"),
        (["--encoding", "hex"], "--encoding is 'hex'"),
    ):
        assert pcfg("check", "g", *options) == 2
        assert re.search(message, capsys.readouterr().err)
    (place / "z").write_bytes(gzip.compress(b"S -> 'a'\n" * 4000)[:-20])
    assert pcfg("check", "z", "--encoding", "latin-1") == 2
    assert "damaged or ends too early" in capsys.readouterr().err
