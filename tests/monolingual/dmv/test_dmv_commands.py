"""`scfg-monolingual dmv` from the command line."""

from __future__ import annotations

import json
import re
import sys
import warnings

import numpy as np
import pytest

from monolingual.cli import main
from monolingual.dmv.model import read_model
from monolingual.dmv.treebank import read_treebank
from scfg_sampler.core import jit
from tests.test_kernel_cache import run

ROWS = (
    "DT NN VB\t2 3 0\tthe dog barks\nNN VB\t2 0\tdogs bark\n"
    "NN VB DT NN\t2 0 4 2\tdogs see a cat\nUH\t0\tyes\n"
)
METHODS = ("em", "em-map", "vb-dirichlet", "vb-em-dirichlet", "vb-em-logistic-normal", "gibbs")


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.txt").write_text(ROWS * 3)
    (tmp_path / "dev.txt").write_text(ROWS)
    return tmp_path


def call(*arguments):
    return main(["dmv", *map(str, arguments)])


def test_a_single_tag_is_learnt_without_a_warning(place):
    (place / "one").write_text("NN\n")
    with warnings.catch_warnings(action="error"):
        for method in METHODS:
            steps = "--iterations" if method == "gibbs" else "--rounds"
            assert call("train", "one", "--method", method, steps, 5, "--output", "m.txt", "--quiet") == 0
            assert "root NN 1\n" in (place / "m.txt").read_text()


def test_empty_lines_stay_where_they_were(place, capsys):
    assert call("train", "train.txt", "--output", "m.txt", "--rounds", 2, "--quiet") == 0
    first, *others = ROWS.splitlines()
    (place / "spaced.txt").write_text("\n".join(["", first, "", "", *others, "", ""]))
    assert call("parse", "m.txt", "dev.txt", "--output", "close.txt") == 0
    assert call("parse", "m.txt", "spaced.txt", "--output", "wide.txt") == 0
    close, wide = ((place / name).read_text().splitlines() for name in ("close.txt", "wide.txt"))
    assert wide == ["", close[0], "", "", *close[1:], ""]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_learns_parses_and_is_evaluated(method, place, capsys):
    options = ["--method", method, "--iterations" if method == "gibbs" else "--rounds", 5, "--quiet"]
    assert call("train", "train.txt", "--output", "m.txt", *options) == 0
    assert call("train", "train.txt", "--output", "again.txt", *options) == 0
    assert (place / "m.txt").read_text() == (place / "again.txt").read_text()
    assert call("train", "train.txt", "--heldout", "dev.txt", "--output", "held.txt", *options) == 0
    assert call("parse", "m.txt", "dev.txt", "--output", "out.txt", "--decoder", "viterbi", "--quiet") == 0
    assert [s.tags for s in read_treebank("out.txt")] == [s.tags for s in read_treebank("dev.txt")]
    capsys.readouterr()
    assert call("evaluate", "m.txt", "dev.txt", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"viterbi", "mbr", "attach_right", "attach_left"}
    assert found["mbr"]["all"]["words"] == 10
    assert call("evaluate", "out.txt", "dev.txt", "--json") == 0
    assert json.loads(capsys.readouterr().out)["predicted"] == found["viterbi"]


def test_accuracy_of_no_words_is_null_in_json(place, capsys):
    """JSON has no NaN, which other programs would stumble over."""
    (place / "long.txt").write_text(" ".join(["NN"] * 12) + "\t" + " ".join(map(str, range(12))) + "\n")
    assert call("evaluate", "long.txt", "long.txt", "--json") == 0
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)["predicted"]
    assert found["10"] == {"directed": None, "undirected": None, "root": None, "words": 0, "sentences": 0}
    assert found["all"]["directed"] == 100.0


@pytest.mark.parametrize(
    "options",
    [
        ["--e-step", "viterbi"],
        ["--e-step", "lateen"],
        ["--unambiguity", "0.5"],
        ["--valence", "2"],
        ["--valence", "2", "--smooth", "5", "--method", "vb-dirichlet"],
        ["--valence", "2", "--smooth", "5", "--method", "vb-em-logistic-normal", "--covariance", "families"],
        ["--valence", "2", "--smooth", "5", "--method", "vb-em-dirichlet"],
        ["--start", "uniform"],
        ["--start", "random", "--restarts", "3", "--heldout", "dev.txt"],
        ["--method", "vb-dirichlet", "--prior", "0.01,0.5", "--heldout", "dev.txt"],
        ["--method", "vb-em-logistic-normal", "--level", "corpus"],
        ["--method", "vb-em-logistic-normal", "--unused", "integrated"],
        ["--method", "vb-em-logistic-normal", "--covariance", "families.txt"],
        ["--method", "vb-em-logistic-normal", "--share", "all", "--valence", "2"],
        ["--method", "vb-em-logistic-normal", "--share", "noun", "--covariance", "families.txt"],
        ["--method", "vb-em-logistic-normal", "--share", "one", "--unused", "integrated"],
        ["--anneal", "1:3", "--heldout", "dev.txt"],
        ["--anneal", "0.9:2", "--unambiguity", "0.5"],
    ],
)
def test_every_option_makes_a_model_that_can_be_read(options, place):
    (place / "families.txt").write_text("DT noun\nNN noun\n")
    assert call("train", "train.txt", "--output", "m.txt", "--rounds", 4, "--quiet", *options) == 0
    model = read_model("m.txt")
    assert model.tags == ("DT", "NN", "UH", "VB")
    assert model.layout.child_valences == (2 if "--valence" in options else 1)


def test_em_goes_on_from_a_model(place, capsys):
    assert call("train", "train.txt", "--output", "a.txt", "--rounds", 3) == 0
    assert call("train", "train.txt", "--output", "b.txt", "--rounds", 3, "--start", "a.txt") == 0
    first, second = (
        float(line.split()[1].rstrip(","))
        for line in capsys.readouterr().err.splitlines()
        if line.startswith("objective")
    )
    assert second > first
    assert call("train", "train.txt", "--output", "c.txt", "--valence", 2, "--start", "a.txt") == 2
    assert "give --valence 1" in capsys.readouterr().err


@pytest.mark.parametrize("heldout", [[], ["--heldout", "dev.txt"]])
def test_restart_with_the_best_likelihood_is_kept(heldout, place, capsys):
    """Of three starts the written model is that with the best score, which is its likelihood."""
    options = ["--start", "random", "--restarts", 3, "--rounds", 5, "--seed", 4, *heldout]
    assert call("train", "train.txt", "--output", "best.txt", *options) == 0
    said = capsys.readouterr().err
    scores = [float(line.split()[-1]) for line in said.splitlines() if line.startswith("start ")]
    assert len(scores) == 3
    assert len(set(scores)) == 3
    assert f"{max(scores):.3f}" in said.splitlines()[-1]
    from monolingual.dmv.parsing import heldout_of

    model = read_model("best.txt")
    judges = [s for s in read_treebank("dev.txt" if heldout else "train.txt") if s.tags]
    found = heldout_of(list(model.tags), model.layout, judges)(model.probs)
    assert found == pytest.approx(max(scores), abs=2e-3)


def test_annealing_ends_as_em_and_begins_as_viterbi(rng):
    """The first rounds are Viterbi EM's and those of σ = 0.5, the last are EM's."""
    from monolingual.dmv.initial import harmonic
    from monolingual.dmv.layout import Layout, build_corpus
    from monolingual.dmv.settings import Settings
    from monolingual.dmv.training import Task, train

    layout = Layout(3, 1)
    corpus = build_corpus(layout, [rng.integers(3, size=5).tolist() for _ in range(20)])
    begin = harmonic(layout, corpus)

    def trained(begin, settings):
        return train(rng, Task(layout, corpus, (lambda rng: begin,), (settings,)))

    found = trained(begin, Settings("em", anneal=(1.0, 2), rounds=5, tolerance=0.0))
    by_hand = begin
    for settings in (
        Settings("em", e_step="viterbi", rounds=1),
        Settings("em", unambiguity=0.5, rounds=1),
        Settings("em", rounds=3, tolerance=0.0),
    ):
        by_hand = trained(by_hand, settings).probs
    np.testing.assert_allclose(found.probs, by_hand, atol=1e-12)
    assert len(found.trace) == 5


def test_heldout_likelihood_stops_at_its_peak(place):
    from monolingual.dmv.initial import harmonic
    from monolingual.dmv.layout import Layout, build_corpus
    from monolingual.dmv.settings import Settings
    from monolingual.dmv.training import Task, train

    layout = Layout(3, 1)
    corpus = build_corpus(layout, [[0, 1, 2], [1, 2]])
    peak = iter([-9.0, -5.0, -4.0, -6.0, -1.0])
    start = harmonic(layout, corpus)
    task = Task(layout, corpus, (lambda rng: start,), (Settings("em"),), lambda probs: next(peak))
    outcome = train(np.random.default_rng(1), task)
    assert outcome.best == 2
    assert outcome.heldout.tolist() == [-9.0, -5.0, -4.0, -6.0]
    assert len(outcome.trace) == 3


def jobs_of(settings, scores=None):
    """What two random starts came to, with each of some settings, and which job was kept."""
    from monolingual.dmv.initial import random
    from monolingual.dmv.layout import Layout, build_corpus
    from monolingual.dmv.training import Task, training_kernel

    layout = Layout(3, 1)
    corpus = build_corpus(layout, [[0, 1, 2], [1, 2], [2, 0, 1]])
    heldout = (lambda probs: next(scores)) if scores else None
    kernel = training_kernel(Task(layout, corpus, (lambda rng: random(rng, layout),) * 2, settings, heldout))
    rng, jobs = np.random.default_rng(1), []
    state = kernel.init(rng, None)
    while not state.notes.is_finished:
        state, found = kernel.step(rng, state)
        jobs += [] if found.ended is None else [found.ended]
    return jobs, state.notes


def test_all_priors_are_tried_from_every_start():
    from monolingual.dmv.settings import Settings

    jobs, _ = jobs_of((Settings("em", rounds=3), Settings("em", rounds=3)))
    scores = [job.score for job in jobs]
    assert [job.number for job in jobs] == [0, 1, 2, 3]
    assert scores[0] == scores[1] != scores[2] == scores[3]


def test_best_job_is_kept_wherever_it_comes():
    """One round each: the held-out likelihood before it and after."""
    from monolingual.dmv.settings import Settings

    jobs, notes = jobs_of((Settings("em", rounds=1),), iter([-9.0, -4.0, -8.0, -7.0]))
    assert [job.score for job in jobs] == [-4.0, -7.0]
    assert (notes.best_job, notes.best_score) == (0, -4.0)
    assert np.array_equal(notes.best.probs, jobs[0].outcome.probs)


@pytest.mark.parametrize("method", ["vb-em-dirichlet", "vb-em-logistic-normal"])
def test_smoothing_is_judged_from_the_mixture_on(method, place, rng):
    """Held-out likelihood falls from the start to its mixture, but training goes on from there."""
    from monolingual.dmv.estimation import heldout_likelihood
    from monolingual.dmv.initial import harmonic
    from monolingual.dmv.layout import Layout, build_corpus, parameter_families
    from monolingual.dmv.settings import Settings
    from monolingual.dmv.training import Task, train
    from monolingual.priors.covariances import identity_covariances

    layout = Layout(3, 2)
    corpus = build_corpus(layout, [[0, 1, 2], [1, 2], [0, 1], [2, 0, 1, 2]])
    covariance = identity_covariances(parameter_families(layout))
    settings = Settings(method, smooth=5.0, rounds=5, covariance=covariance)
    judge = lambda probs: heldout_likelihood(layout, corpus, probs)  # noqa: E731
    start = harmonic(layout, corpus)
    outcome = train(rng, Task(layout, corpus, (lambda rng: start,), (settings,), judge))
    assert outcome.heldout[0] < judge(start)
    assert outcome.best == 5
    assert outcome.heldout[5] == pytest.approx(judge(outcome.probs))


def test_covariances_are_printed_and_drawn(place, capsys):
    method = ["--method", "vb-em-logistic-normal", "--covariance", "families", "--rounds", "3"]
    assert call("train", "train.txt", "--output", "m.txt", "--covariances", "m.npz", *method, "--quiet") == 0
    assert call("covariances", "m.npz", "--head", "VB", "--top", "2", "--quiet") == 0
    printed = capsys.readouterr().out
    assert printed.startswith("VB left: variances ")
    assert printed.count("\n") == 6
    assert call("covariances", "m.npz", "--head", "VB", "--top", "2", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [line.split(":")[0] for line in printed.splitlines() if line[0] != " "] == list(found)
    told = [pair for each in found.values() for pair in each["correlations"]]
    shown = [line.split() for line in printed.splitlines() if line[0] == " "]
    assert shown == [[*pair["tags"], f"{pair['correlation']:+.3f}"] for pair in told]
    for name, each in found.items():
        extremes = (f"{bound(each['variances'].values()):.3f}" for bound in (min, max))
        low, high = re.search(rf"^{name}: variances (\S+) .* to (\S+) ", printed, re.MULTILINE).groups()
        assert (low, high) == tuple(extremes)
    pytest.importorskip("matplotlib")
    assert call("covariances", "m.npz", "--head", "VB", "--plot", "heat.svg", "--quiet") == 0
    assert "<svg" in (place / "heat.svg").read_text()
    assert call("covariances", "m.npz", "--head", "VB", "--plot", "heat.pdf", "--quiet") == 0
    assert "dc:date" not in (place / "heat.svg").read_text()  # So that equal ones are equal files.
    assert b"CreationDate" not in (place / "heat.pdf").read_bytes()


def test_without_matplotlib_covariances_say_what_drawing_needs(place, capsys, monkeypatch):
    method = ["--method", "vb-em-logistic-normal", "--rounds", "1", "--quiet"]
    assert call("train", "train.txt", "--output", "m.txt", "--covariances", "m.npz", *method) == 0
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert call("covariances", "m.npz", "--head", "VB", "--plot", "heat.svg") == 2
    assert "--plot needs matplotlib: pip install 'scfg-sampler[report]'" in capsys.readouterr().err
    assert not (place / "heat.svg").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["train", "nowhere", "--output", "m"], "nowhere: cannot be read"),
        (["train", "train.txt", "--output", "m", "--rounds", "0"], "--rounds is 0"),
        (
            ["train", "train.txt", "--output", "m", "--tolerance", "-1"],
            "--tolerance is -1; it must be at least",
        ),
        (
            ["train", "train.txt", "--output", "m", "--tolerance", "0.1", "--method", "gibbs"],
            "--tolerance is not for --method gibbs",
        ),
        (["train", "train.txt", "--output", "m", "--restarts", "2"], "--restarts needs --start random"),
        (["train", "train.txt", "--output", "m", "--covariance", "families"], "are for --method vb-em-log"),
        (["train", "train.txt", "--output", "m", "--covariances", "c"], "--covariances needs --method"),
        (["train", "train.txt", "--output", "m", "--method", "gibbs", "--e-step", "viterbi"], "are for --me"),
        (
            ["train", "train.txt", "--output", "m", "--e-step", "viterbi", "--unambiguity", ".5"],
            "for --e-step",
        ),
        (["train", "train.txt", "--output", "m", "--unambiguity", "1"], "it must be in [0, 0.95]"),
        (["train", "train.txt", "--output", "m", "--prior", "1"], "--prior is not for --method em"),
        (["train", "train.txt", "--output", "m", "--method", "em-map", "--prior", "x"], "--prior is 'x'"),
        (
            ["train", "train.txt", "--output", "m", "--method", "em-map", "--prior", "0.5"],
            "--prior is 0.5; em-map",
        ),
        (["train", "train.txt", "--output", "m", "--method", "em-map", "--prior", "2,3"], "needs --heldout"),
        (["train", "train.txt", "--output", "m", "--method", "gibbs", "--prior", "0"], "it must be above 0"),
        (
            ["train", "train.txt", "--output", "m", "--method", "gibbs", "--smooth", "1"],
            "--smooth is not for",
        ),
        *(
            (
                ["train", "train.txt", "--output", "m", "--smooth", "1", *more],
                "--smooth goes without --anneal",
            )
            for more in (["--anneal", "1:5"], ["--e-step", "lateen"])
        ),
        (
            [
                *("train", "train.txt", "--output", "m", "--method", "vb-em-logistic-normal"),
                *("--level", "corpus", "--unused", "integrated"),
            ],
            "--unused is for --level sentence",
        ),
        (["train", "train.txt", "--output", "m", "--share", "noun"], "--share needs --method vb-em-log"),
        (
            ["train", "train.txt", "--output", "m", "--method", "vb-em-logistic-normal", "--share", "frob"],
            "--share frob: no tag is of that family; there are interjection",
        ),
        (["train", "train.txt", "--output", "m", "--anneal", "x"], "--anneal is 'x'"),
        (["train", "train.txt", "--output", "m", "--anneal", "2:5"], "--anneal is 2:5; σ must be in [0, 1]"),
        (
            ["train", "train.txt", "--output", "m", "--anneal", "1:200"],
            "--rounds more than those it falls in",
        ),
        (["train", "tags.txt", "--output", "m", "--max-length", "1"], "Raise --max-length"),
        (["train", "nothing.txt", "--output", "m"], "nothing.txt: holds no word. Give sentences"),
        (["parse", "train.txt", "dev.txt"], "is no parameter of a dependency model"),
        (["evaluate", "train.txt", "dev.txt"], "has 12 sentences, dev.txt has 4"),
        (["evaluate", "other.txt", "dev.txt"], "sentence 4 has 2 words with heads"),
        (["evaluate", "dev.txt", "tags.txt"], "has sentences without heads"),
        (["covariances", "train.txt", "--head", "NN"], "holds no covariances"),
    ],
)
def test_wrong_calls_are_refused_in_one_line(arguments, complaint, place, capsys):
    (place / "other.txt").write_text(ROWS.replace("UH\t0\tyes", "UH UH\t0 1\tyes yes"))
    (place / "tags.txt").write_text("DT NN VB\nNN VB\n")
    (place / "nothing.txt").write_text("# a comment\n\n")
    assert call(*arguments) == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert error.count("\n") == 1


def test_unknown_tags_are_told(place, capsys):
    assert call("train", "train.txt", "--output", "m.txt", "--rounds", 2, "--quiet") == 0
    (place / "new.txt").write_text("DT XX VB\t2 3 0\ta b c\n")
    assert call("parse", "m.txt", "new.txt", "--quiet") == 0
    captured = capsys.readouterr()
    assert captured.out.count("\t") == 2
    assert "does not know the tags XX;" in captured.err
    assert call("report", "m.txt", "--treebank", "new.txt", "--output", "page.html") == 0
    assert "does not know the tags XX;" in capsys.readouterr().err
    (place / "new.txt").write_text(" ".join(f"X{at:02}" for at in range(15)) + "\n")
    assert call("parse", "m.txt", "new.txt", "--quiet") == 0
    assert "X10, X11 and 3 others; they" in capsys.readouterr().err


def test_tags_of_heldout_sentences_alone_are_told(place, capsys):
    (place / "new.txt").write_text("DT XX VB\nNN YY\n")
    options = ("--output", "m.txt", "--rounds", 2, "--quiet")
    assert call("train", "train.txt", "--heldout", "new.txt", *options) == 0
    assert "--heldout new.txt has the tags XX, YY, of which nothing is learnt" in capsys.readouterr().err
    assert call("train", "train.txt", "--heldout", "dev.txt", *options) == 0
    assert capsys.readouterr().err == ""


COMMANDS = """
    import pathlib
    from monolingual.cli import main
    pathlib.Path("t").write_text("DT NN VB\\t2 3 0\\tx y z\\nNN VB\\t2 0\\ty z\\n")
    small = ["t", "--output", "m", "--heldout", "t", "--quiet"]
    steps = {method: "--iterations" if method == "gibbs" else "--rounds" for method in METHODS}
    result = [
        *(main(["dmv", "train", *small, "--method", method, steps[method], "3"]) for method in METHODS),
        main(["dmv", "train", *small, "--rounds", "3", "--e-step", "lateen"]),
        main(["dmv", "parse", "m", "t", "--output", "out", "--quiet"]),
        main(["dmv", "evaluate", "m", "t", "--quiet"]),
    ]
"""


@pytest.mark.skipif(not jit.ENABLED, reason="compilation is off")
def test_second_run_of_every_command_compiles_nothing(root, tmp_path):
    for attempt in ("first", "second"):
        (tmp_path / attempt).mkdir()
        statement = COMMANDS.replace("METHODS", repr(METHODS))
        result, compiled, cached = run(statement + "\n    print()", root, cwd=tmp_path / attempt)
        assert set(result) == {0}, result
    assert compiled == []
    for kernel in ("dmv.chart._expected_counts", "dmv.decode._best_trees", "priors.e_step.improve"):
        assert f"monolingual.{kernel}" in cached


def test_sweeps_of_gibbs_are_iterations_and_no_rounds(place, capsys):
    assert call("train", "train.txt", "--method", "gibbs", "--iterations", 5, "--output", "a.txt") == 0
    assert "warning" not in capsys.readouterr().err
    assert call("train", "train.txt", "--method", "gibbs", "--rounds", 5, "--output", "b.txt") == 2
    assert "--rounds is not of --method gibbs, which takes --iterations" in capsys.readouterr().err
    assert call("train", "train.txt", "--iterations", 5, "--output", "c.txt") == 2
    assert "--iterations is of --method gibbs" in capsys.readouterr().err
    assert call("train", "train.txt", "--method", "gibbs", "--iterations", 0, "--output", "c.txt") == 2
    assert "--iterations is 0" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "idle"),
    [
        (["--heldout", "dev.txt"], "--heldout"),
        (["--heldout", "dev.txt", "--e-step", "lateen"], None),
        ([], None),
    ],
)
def test_a_tolerance_without_effect_is_warned_of(place, capsys, options, idle):
    train = ["train", "train.txt", "--output", "m.txt", "--quiet", *options]
    assert call(*train, "--tolerance", 0.1) == 0
    assert capsys.readouterr().err == (f"warning: --tolerance does nothing with {idle}\n" if idle else "")
    assert call(*train) == 0
    assert capsys.readouterr().err == ""


def test_lateen_em_tells_the_objective_of_the_model_that_it_writes(place, rng, capsys):
    """Soft legs end where their objective, the likelihood, stands: that of the model is nearly the same."""
    lines = [" ".join(rng.choice(["A", "B", "C", "D"], rng.integers(2, 8))) for _ in range(40)]
    (place / "random.txt").write_text("".join(f"{line}\n" for line in lines))
    for seed in range(1, 6):
        start = ("--start", "random", "--seed", seed, "--tolerance", 1e-3)
        assert call("train", "random.txt", "--output", "m.txt", "--e-step", "lateen", *start) == 0
        said = re.search(r"objective (-[0-9.]+), log likelihood (-[0-9.]+)", capsys.readouterr().err)
        objective, likelihood = map(float, said.groups())
        assert 0 <= likelihood - objective <= 1e-3 * abs(objective)


def test_lateen_em_is_judged_by_the_estimate_that_it_keeps(rng):
    """A start's score is the held-out likelihood of its outcome, though the last legs gained nothing."""
    from monolingual.dmv.estimation import heldout_likelihood
    from monolingual.dmv.initial import random
    from monolingual.dmv.layout import Layout, build_corpus
    from monolingual.dmv.settings import Settings
    from monolingual.dmv.training import Task, training_kernel

    layout = Layout(4, 1)
    corpus, unseen = (
        build_corpus(layout, [rng.integers(4, size=rng.integers(2, 7)).tolist() for _ in range(number)])
        for number in (40, 10)
    )
    judge = lambda probs: heldout_likelihood(layout, unseen, probs)  # noqa: E731
    settings = Settings("em", e_step="lateen", rounds=60)
    kernel = training_kernel(Task(layout, corpus, (lambda rng: random(rng, layout),) * 4, (settings,), judge))
    state, jobs = kernel.init(rng, None), []
    while not state.notes.is_finished:
        state, found = kernel.step(rng, state)
        jobs += [] if found.ended is None else [found.ended]
    assert any(job.outcome.best < len(job.outcome.trace) for job in jobs)
    for job in jobs:
        assert job.score == pytest.approx(judge(job.outcome.probs), abs=1e-9)


def test_lateen_em_makes_no_more_rounds_than_it_may(rng):
    """Whichever leg the last round falls into, none follows."""
    from monolingual.dmv.initial import random
    from monolingual.dmv.layout import Layout, build_corpus
    from monolingual.dmv.settings import Settings
    from monolingual.dmv.training import Task, train

    layout = Layout(3, 1)
    corpus = build_corpus(layout, [rng.integers(3, size=rng.integers(2, 6)).tolist() for _ in range(30)])
    first = random(rng, layout)

    def rounds_made(most):
        settings = Settings("em", e_step="lateen", rounds=most, tolerance=1e-3)
        return len(train(rng, Task(layout, corpus, (lambda rng: first,), (settings,))).trace)

    enough = rounds_made(200)
    assert 4 < enough < 100
    assert [rounds_made(most) for most in range(1, enough + 2)] == [*range(1, enough + 1), enough]
