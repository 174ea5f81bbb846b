"""What `import monolingual` offers does what the commands do, byte for byte where they write files."""

from __future__ import annotations

import json
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import monolingual
from monolingual.cli import main
from monolingual.notebook import calls
from monolingual.notebook.calls import call, options_of
from monolingual.notebook.dependencies import DmvOptions
from monolingual.notebook.probabilistic import PcfgOptions
from monolingual.notebook.rankings import OtOptions
from monolingual.notebook.substitution import TsgOptions
from scfg_sampler.core.arguments import ArgumentError
from scfg_sampler.errors import InputError, ScfgError, TreeError
from tests.monolingual.report.made import GRAMMAR, SCRIPT, TABLEAUX, TAGGED, TREES
from tests.monolingual.report.made import call as command

SVG = "{http://www.w3.org/2000/svg}"


def test_importing_loads_nothing_and_all_names_are_there():
    script = (
        "import sys, monolingual\nassert 'train_tsg' in dir(monolingual)\n"
        "heavy = {'numba', 'numpy', 'scipy', 'rich'} & set(sys.modules)\nassert not heavy, heavy\n"
        "monolingual.train_tsg\nassert 'numba' in sys.modules"
    )
    child = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert child.returncode == 0, child.stderr
    for name in monolingual.__all__:
        assert getattr(monolingual, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'train_tgs'"):
        monolingual.train_tgs  # noqa: B018


@pytest.mark.parametrize(
    ("model", "name", "options", "own"),
    [
        ("tsg", "train", TsgOptions, {"iterations", "burn_in", "seed", "overwrite", "output"}),
        ("pcfg", "sample", PcfgOptions, {"trees", "sentences", "iterations", "seed", "output", "encoding"}),
        ("ot", "sample", OtOptions, {"iterations", "chains", "seed", "output"}),
        ("dmv", "train", DmvOptions, {"method", "heldout", "seed", "output"}),
    ],
)
def test_editors_know_every_option_that_is_taken_by_name(model, name, options, own):
    assert set(options.__annotations__) == options_of(model, name) - own - {"quiet"}


def test_tree_substitution_grammars_are_those_of_the_command(tmp_path):
    (tmp_path / "trees.mrg").write_text(TREES)
    told = ("--iterations", 30, "--unknown", "none", "--moves", "single,block", "--concentration", 2)
    assert command("tsg", "train", tmp_path / "trees.mrg", "--output", tmp_path / "theirs", *told) == 0
    settings = {"unknown": "none", "moves": ["single", "block"], "concentration": 2}
    lines = [line for line in TREES.splitlines() if line]
    run = monolingual.train_tsg(lines, tmp_path / "ours", iterations=30, **settings)
    for name in ("grammar.tsg.gz", "trace.tsv", "parameters.tsv"):
        assert (tmp_path / "ours" / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes()
    assert run.trees(1)[0].value == max(tree.value for tree in run.trees())
    assert {tree.brackets[1] for tree in run.trees(label="S")} == {"S"}
    with pytest.raises(ArgumentError, match="number is -1; it is at least 1"):
        run.trees(-1)
    (tmp_path / "text").write_text("the dog barks\n")
    out = tmp_path / "parsed"
    told = ("--method", "mpd", "--input", tmp_path / "text", "--output", out)
    assert command("tsg", "parse", tmp_path / "theirs", *told) == 0
    (tree,) = run.parse(["the dog barks"], method="mpd")
    assert tree.brackets == out.read_text().strip()
    assert tree.words == ("the", "dog", "barks")
    other = monolingual.train_tsg(tmp_path / "trees.mrg", tmp_path / "b", iterations=30, seed=2, **settings)
    assert run.diagnosis(other)["log_joint"].chains == 2
    with pytest.raises(InputError, match="holds a run already"):
        monolingual.train_tsg(lines, tmp_path / "ours", iterations=3)


def test_probabilistic_grammars_are_those_of_the_commands(tmp_path, capsys):
    grammar = monolingual.read_pcfg(GRAMMAR.splitlines())
    (tmp_path / "grammar").write_text(GRAMMAR)
    assert monolingual.read_pcfg(tmp_path / "grammar").rules == grammar.rules
    capsys.readouterr()
    assert main(["pcfg", "check", str(tmp_path / "grammar"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == grammar.check()
    sentences = [" ".join([SCRIPT] * 3), SCRIPT]
    (tmp_path / "text").write_text("".join(f"{line}\n" for line in sentences))
    told = ("--sentences", tmp_path / "text", "--iterations", 60, "--chains", 2, "--reweight")
    assert command("pcfg", "sample", tmp_path / "grammar", *told, "--output", tmp_path / "theirs") == 0
    run = monolingual.sample_pcfg(
        grammar, tmp_path / "ours", sentences=sentences, iterations=60, chains=2, reweight=True
    )
    theirs = np.load(tmp_path / "theirs" / "samples.npz")
    assert np.array_equal(run.probabilities, theirs["probabilities"])
    assert run.rules == tuple(theirs["rules"].tolist())
    before = (tmp_path / "ours" / "grammar.txt").read_text()
    with pytest.raises(InputError, match="holds a run already"):
        monolingual.sample_pcfg(["S -> 'a'"], tmp_path / "ours", sentences=["a"])
    assert (tmp_path / "ours" / "grammar.txt").read_text() == before
    best, none = grammar.parse([sentences[0], "b"])
    assert none is None
    spaced = grammar.parse(["", sentences[0], "", "b", ""])
    assert [each and each.brackets for each in spaced] == [None, best.brackets, None, None, None]
    # Two binary trees of three words, each with the probability 1/2 to the power of 5.
    assert best.value == pytest.approx(5 * np.log(0.5))
    assert len(grammar.simulate(5, seed=3)) == 5
    assert [len(trace["sweep"]) > 0 for trace in run.traces] == [True, True]
    np.savez(tmp_path / "ours" / "samples.npz", **{**theirs, "rules": np.array("S → a")})
    with pytest.raises(InputError, match="holds no draws: rules is something else"):
        monolingual.open_pcfg(tmp_path / "ours")


def test_pseudo_counts_are_the_prior_of_a_grammar_that_was_read(tmp_path):
    (tmp_path / "grammar").write_text("0.5 100 S --> S S\n0.5 1 S --> a\n")
    told = {"trees": ["(S a)"] * 3, "iterations": 200}
    theirs = monolingual.sample_pcfg(tmp_path / "grammar", tmp_path / "theirs", **told)
    grammar = monolingual.read_pcfg(tmp_path / "grammar")
    ours = monolingual.sample_pcfg(grammar, tmp_path / "ours", **told)
    assert np.array_equal(ours.probabilities, theirs.probabilities)
    # Dirichlet(100, 1) and three trees of the second rule.
    assert ours.probabilities[:, 0].mean() == pytest.approx(100 / 104, abs=0.01)
    asked = monolingual.sample_pcfg(grammar, tmp_path / "asked", prior="pseudo-counts", **told)
    assert np.array_equal(asked.probabilities, theirs.probabilities)
    assert grammar.rules == {"S -> S S": 0.5, "S -> 'a'": 0.5}
    assert grammar.parse(["a"])[0].value == pytest.approx(np.log(0.5))


def test_grammars_with_names_that_nltk_cannot_hold_are_used_as_others(tmp_path):
    lines = ["1 S --> '' # X", "0.25 '' --> b", "0.75 '' --> c'\"", "1 # --> d", "1 X --> x"]
    grammar = monolingual.read_pcfg(lines)
    assert grammar.rules == {
        "S -> '' # X": 1.0,
        "'' -> 'b'": 0.25,
        "'' -> \"c'\"\"": 0.75,
        "# -> 'd'": 1.0,
        "X -> 'x'": 1.0,
    }
    (best,) = grammar.parse(["b d x"])
    assert (best.brackets, best.value) == ("(S ('' b) (# d) (X x))", pytest.approx(np.log(0.25)))
    found = {tree.brackets for tree in grammar.simulate(20)}
    assert found == {best.brackets, best.brackets.replace("b", "c'\"")}
    told = {"sentences": ["b d x"], "iterations": 20}
    (tmp_path / "grammar").write_text("".join(f"{line}\n" for line in lines))
    runs = [
        monolingual.sample_pcfg(given, tmp_path / name, **told)
        for given, name in ((grammar, "ours"), (tmp_path / "grammar", "theirs"))
    ]
    assert np.array_equal(runs[0].probabilities, runs[1].probabilities)
    assert runs[0].rules == tuple(grammar.rules)


def test_a_pcfg_run_that_is_refused_leaves_the_older_one_as_it_was(tmp_path):
    place = tmp_path / "run"
    monolingual.sample_pcfg(["S -> S S", "S -> 'a'"], place, sentences=["a a"], iterations=20)
    names = ("grammar.txt", "sentences")
    before = [(place / name).read_bytes() for name in names]
    for wrong in ({"iterations": 0}, {"approach": "none"}, {"trees": ["(S a)"]}, {"thins": 3}):
        told = {"sentences": ["b b b"], "overwrite": True, **wrong}
        with pytest.raises((ScfgError, ValueError)):
            monolingual.sample_pcfg(["S -> S S S", "S -> 'b'"], place, **told)
        assert [(place / name).read_bytes() for name in names] == before
        assert not (place / "trees").exists()
    assert command("pcfg", "resume", place, "--iterations", 40) == 0
    monolingual.sample_pcfg(["S -> 'b'"], place, sentences=["b"], iterations=20, overwrite=True)
    assert (place / "sentences").read_text() == "b\n"


def test_rankings_are_those_of_the_commands(tmp_path):
    tableaux = monolingual.read_tableaux(TABLEAUX.splitlines())
    (tmp_path / "tableaux.tsv").write_text(TABLEAUX)
    told = ("--iterations", 60, "--chains", 2, "--pilot", 8, "--prior", "Max=1:2")
    assert command("ot", "sample", tmp_path / "tableaux.tsv", "--output", tmp_path / "theirs", *told) == 0
    run = monolingual.sample_ot(
        tableaux, tmp_path / "ours", iterations=60, chains=2, pilot=8, prior=["Max=1:2"]
    )
    assert (tmp_path / "ours" / "summary.json").read_text() == (
        tmp_path / "theirs" / "summary.json"
    ).read_text()
    assert run.intervals == {
        name: tuple(each)
        for name, each in json.loads((tmp_path / "ours" / "summary.json").read_text())["interval"].items()
    }
    assert list(run.values.values()) == sorted(run.values.values(), reverse=True)
    predicted = json.loads((tmp_path / "theirs" / "predictions.json").read_text())["inputs"]
    assert [row["predicted"] for row in run.predictions()] == [
        each["predicted"] for entry in predicted for each in entry["candidates"]
    ]
    for same in (tableaux, TABLEAUX.splitlines(), tmp_path / "tableaux.tsv"):
        assert run.predictions(same) == run.predictions()
    assert command("ot", "maxent", tmp_path / "tableaux.tsv", "--output", tmp_path / "maxent") == 0
    grammar = monolingual.learn_ot(tmp_path / "tableaux.tsv", tmp_path / "ours-maxent", "maxent")
    assert grammar.values == monolingual.open_ot(tmp_path / "maxent").values
    assert grammar.model == "maxent"
    assert isinstance(monolingual.open_ot(tmp_path / "theirs"), monolingual.OtRun)
    with pytest.raises(ScfgError, match="which ranks nothing"):
        grammar.svg()
    with pytest.raises(ArgumentError, match=r"min_probability is 0\.2; it must be above 0\.5"):
        run.svg(0.2)
    run.report(tmp_path / "page.html", grammar)
    assert "ours-maxent" in (tmp_path / "page.html").read_text()


def test_arviz_takes_the_draws_of_all_chains(tmp_path):
    pytest.importorskip("arviz_base", reason="arviz-base is not installed; pip install '.[arviz]'")
    lines = [line for line in TREES.splitlines() if line]
    runs = [
        monolingual.train_tsg(lines, tmp_path / str(seed), iterations=20, seed=seed, unknown="none")
        for seed in (1, 2)
    ]
    found = runs[0].to_arviz(runs[1])
    assert found["posterior"]["log_joint"].values.tolist() == [
        run.trace["log_joint"][10:].tolist() for run in runs
    ]
    told = {"sentences": [SCRIPT], "iterations": 60, "chains": 2}
    sampled = monolingual.sample_pcfg(GRAMMAR.splitlines(), tmp_path / "pcfg", **told)
    found = sampled.to_arviz()["posterior"]["probability"]
    assert found.shape == (2, 60, 2)
    assert found.coords["probability_of"].values.tolist() == list(sampled.rules)
    assert np.array_equal(np.concatenate(found.values), sampled.probabilities)
    ranked = monolingual.sample_ot(TABLEAUX.splitlines(), tmp_path / "ot", iterations=60, chains=2, pilot=8)
    found = ranked.to_arviz()["posterior"]["mean"]
    assert found.shape == (2, 45, 3)
    assert found.coords["mean_of"].values.tolist() == list(ranked.tableaux.constraints)
    assert np.array_equal(found.values, np.array(ranked.draws.mean))


def test_dependency_models_are_those_of_the_commands(tmp_path):
    (tmp_path / "tagged").write_text(TAGGED)
    options = ("--method", "vb-dirichlet", "--prior", "0.1,0.5", "--heldout", tmp_path / "tagged")
    told = ("--output", tmp_path / "theirs.txt", "--rounds", 5)
    assert command("dmv", "train", tmp_path / "tagged", *options, *told) == 0
    model = monolingual.train_dmv(
        TAGGED.splitlines(), method="vb-dirichlet", prior=[0.1, 0.5], heldout=TAGGED.splitlines(), rounds=5
    )
    theirs = monolingual.load_dmv(tmp_path / "theirs.txt")
    assert np.array_equal(model.model.probs, theirs.model.probs)
    trees = model.parse(TAGGED.splitlines())
    out = tmp_path / "parsed"
    assert command("dmv", "parse", tmp_path / "theirs.txt", tmp_path / "tagged", "--output", out) == 0
    heads = [line.split("\t")[1] for line in out.read_text().splitlines()]
    assert [" ".join(map(str, tree.heads)) for tree in trees] == heads
    for tree in trees:
        assert tree.posteriors.sum(axis=1) == pytest.approx(1.0)
    assert model.evaluate(tmp_path / "tagged")["all"]["words"] == sum(len(tree.heads) for tree in trees)
    for wrong in (model.parse, model.evaluate):
        with pytest.raises(ArgumentError, match="decoder is 'foo'; choose mbr or viterbi"):
            wrong(TAGGED.splitlines(), decoder="foo")
    first, *others = TAGGED.splitlines()
    empty = model.parse(["", first, "", "", *others, ""])
    assert [tree.heads for tree in empty] == [(), trees[0].heads, (), (), *(t.heads for t in trees[1:]), ()]
    assert empty[0].svg().startswith("<")
    bare = [tree.posteriors for tree in (*empty, *model.parse(["", ""])) if not tree.heads]
    assert len({id(array) for array in bare}) == len(bare) == 6
    model.report(tmp_path / "page.html", TAGGED.splitlines())
    assert "heads right" in (tmp_path / "page.html").read_text()


CONLLU = (
    "1\tthe\t_\tDET\tDT\t_\t2\tdet\t_\t_\n2\tdog\t_\tNOUN\tNN\t_\t3\tnsubj\t_\t_\n"
    "3\tbarks\t_\tVERB\tVBZ\t_\t0\troot\t_\t_\n4\t.\t_\tPUNCT\t.\t_\t3\tpunct\t_\t_\n\n"
) * 9


def test_dependency_models_read_treebanks_as_they_were_trained(tmp_path, capsys):
    (tmp_path / "t").write_text(CONLLU)
    for column, tags in (("upos", {"DET", "NOUN", "VERB"}), ("xpos", {"DT", "NN", "VBZ"})):
        trained = monolingual.train_dmv(tmp_path / "t", rounds=5, tags=column)
        assert set(trained.tags) == tags
        trained.write(tmp_path / column)
        capsys.readouterr()
        asked = ("dmv", "evaluate", str(tmp_path / column), str(tmp_path / "t"), "--tags", column, "--json")
        assert main([*asked]) == 0
        theirs = json.loads(capsys.readouterr().out)["mbr"]
        loaded = monolingual.load_dmv(tmp_path / column)
        for model, told in ((trained, {}), (loaded, {"tags": column})):
            assert model.evaluate(tmp_path / "t", **told) == theirs
            assert [tree.words for tree in model.parse(CONLLU.splitlines(), **told)] == [
                tuple(
                    f"{word}/{tag}" for word, tag in zip(("the", "dog", "barks"), sorted(tags), strict=True)
                )
            ] * 9
            model.report(tmp_path / "page.html", tmp_path / "t", **told)
            assert all(tag in (tmp_path / "page.html").read_text() for tag in tags)
        assert capsys.readouterr().err == ""
    assert monolingual.load_dmv(tmp_path / "xpos").evaluate(tmp_path / "t") == theirs


def test_tags_that_a_dependency_model_does_not_know_are_warned_of(tmp_path, capsys):
    model = monolingual.train_dmv(CONLLU.splitlines(), rounds=2, tags="upos", punctuation="")
    assert model.evaluate(CONLLU.splitlines())["all"]["words"] == 36
    assert model.evaluate(CONLLU.splitlines(), punctuation="auto")["all"]["words"] == 27
    asked = (
        model.parse,
        model.evaluate,
        lambda *given, **told: model.report(tmp_path / "page", *given, **told),
    )
    for ask in asked:
        capsys.readouterr()
        ask(CONLLU.splitlines(), tags="xpos", punctuation="auto")
        said = "warning: the model does not know the tags DT, NN, VBZ; they are parsed as average ones\n"
        assert capsys.readouterr().err == said
        with pytest.raises(ArgumentError, match="tags is 'pos'; choose xpos or upos"):
            ask(CONLLU.splitlines(), tags="pos")
        with pytest.raises(ArgumentError, match=r"^punctuation is ',,\.'; put spaces between"):
            ask(CONLLU.splitlines(), punctuation=",,.")
        with pytest.raises(TypeError, match="tags is a int; give a text"):
            ask(CONLLU.splitlines(), tags=3)
        with pytest.raises(TreeError, match=r"^line 1 of the sentences: the tag is '_'\. Try tags upos"):
            ask(CONLLU.replace("DT", "_").splitlines(), tags="xpos")


@pytest.mark.parametrize(
    ("tags", "words"),
    [
        (["PUNCT", "DET"], 18),
        ((",", "DT"), 18),
        (np.array([",", "."]), 27),
        ([","], 27),
        (["$,"], 27),
        ([], 36),
    ],
)
def test_punctuation_may_be_a_list_of_tags(tags, words, tmp_path):
    text = CONLLU.replace("\tPUNCT\t.\t", f"\tPUNCT\t{'$,' if '$,' in list(tags) else ','}\t")
    assert text != CONLLU
    lines = text.splitlines()
    several = monolingual.train_dmv(lines, rounds=2, punctuation=tags)
    assert several.evaluate(lines)["all"]["words"] == words
    every = monolingual.train_dmv(lines, rounds=2, punctuation="")
    assert every.evaluate(lines, punctuation=tags)["all"]["words"] == words
    assert sum(len(tree.words) for tree in every.parse(lines, punctuation=tags)) == words
    every.report(tmp_path / "page", lines, punctuation=tags)
    told = monolingual.DependencyModel(every.model, punctuation=tags)
    assert told.evaluate(lines)["all"]["words"] == words


def test_tags_of_punctuation_are_texts():
    model = monolingual.train_dmv(["NN VB"], rounds=2)
    for ask in (model.parse, monolingual.train_dmv):
        with pytest.raises(TypeError, match="a tag of punctuation is a int; give a text"):
            ask(["NN VB"], punctuation=[",", 3])


def test_reading_a_grammar_is_refused_in_words_of_arguments(tmp_path):
    with pytest.raises(InputError, match=r"Probabilities sum to 1; normalise divides by the sum"):
        monolingual.read_pcfg(["S -> 'a' S [0.5]", "S -> 'a' [0.75]"])
    (tmp_path / "grammar").write_text("S -> 'a'\n")
    with pytest.raises(ArgumentError, match=r"^encoding is 'none'"):
        monolingual.read_pcfg(tmp_path / "grammar", encoding="none")


@pytest.mark.parametrize("brackets", [f"(S (NP {SCRIPT}) (VP ))", "(A (B (C d)))"], ids=["escaped", "deep"])
def test_objects_show_themselves(brackets):
    picture = ElementTree.fromstring(monolingual.ShownTree(brackets, 1.0)._repr_svg_())
    drawn = {each.text for each in picture.iter(f"{SVG}text")}
    assert drawn == set(brackets.replace("(", " ").replace(")", " ").split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"iteration": 3}, "there is no setting 'iteration'; choose from .*iterations"),
        ({"base": "uniformm"}, "base: 'uniformm' is none of its values; did you mean 'uniform'"),
        ({"iterations": 0}, "iterations is 0; it must be at least 1"),
        ({"concentration": "much"}, "concentration is 'much'; give a number, or 'learn'"),
    ],
)
def test_settings_are_refused_in_words_of_arguments(tmp_path, options, message):
    with pytest.raises(ArgumentError, match=message):
        monolingual.train_tsg(["(S (A a))"], tmp_path / "run", unknown="none", **options)
    assert not (tmp_path / "run" / "run.json").exists()
    with pytest.raises(TypeError, match="anneal is a dict; give a number, a text or a path"):
        monolingual.train_tsg(["(S (A a))"], tmp_path / "run", anneal={})


def test_switches_take_true_and_false_alone(tmp_path):
    trees = ["(S (A a))"]
    monolingual.train_tsg(trees, tmp_path / "run", iterations=2, unknown="none")
    for off in (False, np.False_, None):
        with pytest.raises(InputError, match="holds a run already"):
            monolingual.train_tsg(trees, tmp_path / "run", iterations=3, unknown="none", overwrite=off)
    for wrong in (0, "no", 1.0):
        with pytest.raises(TypeError, match=f"overwrite is {wrong!r}; give True or False"):
            monolingual.train_tsg(trees, tmp_path / "run", iterations=3, unknown="none", overwrite=wrong)
        with pytest.raises(TypeError, match=f"overwrite is {wrong!r}; give True or False"):
            monolingual.sample_pcfg(["S -> 'a'"], tmp_path / "run", trees=["(S a)"], overwrite=wrong)
    assert monolingual.open_tsg(tmp_path / "run").record["sweeps"] == 2
    monolingual.train_tsg(trees, tmp_path / "run", iterations=3, unknown="none", overwrite=np.True_)
    assert monolingual.open_tsg(tmp_path / "run").record["sweeps"] == 3
    with pytest.raises(TypeError, match="non_negative is 0; give True or False"):
        monolingual.learn_ot(TABLEAUX.splitlines(), tmp_path / "maxent", "maxent", non_negative=0)


def test_the_directory_is_given_once(tmp_path):
    for learn in (
        lambda **given: monolingual.sample_ot(TABLEAUX.splitlines(), tmp_path / "a", **given),
        lambda **given: monolingual.learn_ot(TABLEAUX.splitlines(), tmp_path / "a", **given),
        lambda **given: monolingual.train_tsg(["(S (A a))"], tmp_path / "a", **given),
        lambda **given: monolingual.sample_pcfg(["S -> 'a'"], tmp_path / "a", trees=["(S a)"], **given),
    ):
        with pytest.raises(ArgumentError, match="there is no setting 'output'; choose from ") as refused:
            learn(output=tmp_path / "b")
        assert "output" not in str(refused.value).partition("choose from")[2].split(", ")
    assert not (tmp_path / "b").exists()


def test_commands_that_are_called_print_nothing(tmp_path, capsys):
    call("pcfg", "check", [_written(tmp_path)], {})
    monolingual.learn_ot(TABLEAUX.splitlines(), tmp_path / "fit")
    assert capsys.readouterr().out == ""


def _written(folder):
    (folder / "grammar").write_text(GRAMMAR)
    return folder / "grammar"


def test_grammars_are_read_in_their_encoding(tmp_path):
    file = tmp_path / "grammar"
    file.write_bytes("S -> 'é' [0.25] | 'a' [0.75]\n".encode("latin-1"))
    assert monolingual.read_pcfg(file, encoding="latin-1").rules == {"S -> 'é'": 0.25, "S -> 'a'": 0.75}
    lines = file.read_text(encoding="latin-1").splitlines()
    assert monolingual.read_pcfg(lines, encoding="latin-1").rules == {"S -> 'é'": 0.25, "S -> 'a'": 0.75}


def test_former_names_are_taken_from_python_too_with_a_warning(tmp_path, capsys, monkeypatch):
    parser_now = calls._parser

    def parser_with_former_name(model, command):
        parser = parser_now(model, command)
        parser.renamed("--init", "--start")
        return parser

    monkeypatch.setattr(calls, "_parser", parser_with_former_name)
    for name in ("start", "init"):
        settings = {name: "uniform", "rounds": 2}
        monolingual.train_dmv(["A B", "B A"], output=tmp_path / name, **settings)
    assert capsys.readouterr().err == "warning: init is now start; the old name will go in the next version\n"
    assert (tmp_path / "init").read_text() == (tmp_path / "start").read_text()


HEAD = "input\toutput\tfrequency\tMax"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (lambda place: monolingual.read_pcfg(["S -> 'a'", "S => 'b'"]), "line 2 of the grammar: not a rule"),
        (lambda place: monolingual.read_pcfg(["S -> 'a' [0.9]"]), "the grammar: the weights of the rules"),
        (lambda place: monolingual.sample_pcfg(["S = a"], place, trees=["(S a)"]), "line 1 of the grammar: "),
        (
            lambda place: monolingual.sample_pcfg(["S -> 'a'"], place, sentences=["a", "b"]),
            "line 2 of the sentences: 'b' is not a terminal",
        ),
        (lambda place: monolingual.sample_pcfg(["S -> 'a'"], place, trees=["(S a"]), "line 1 of the trees: "),
        (lambda place: monolingual.train_tsg(["(S (A a))", "(S"], place), "line 2 of the trees: "),
        (lambda place: monolingual.train_dmv(["A B", "A\t3 2"]), "line 2 of the sentences: "),
        (lambda place: monolingual.train_dmv(["A"], heldout=["A\t2 1"]), "line 1 of the sentences of held"),
        (lambda place: monolingual.train_dmv(["A B"]).parse(["A\t7"]), "line 1 of the sentences: head 7"),
        (lambda place: monolingual.read_tableaux([HEAD, "a\tb\tx\t1"]), "line 2 of the tableaux: "),
        (lambda place: monolingual.learn_ot([HEAD, "a\tb\tx\t1"], place), "line 2 of the tableaux: "),
        (lambda place: monolingual.sample_ot([HEAD, "a\tb\tx\t1"], place), "line 2 of the tableaux: "),
    ],
)  # fmt: skip
def test_what_is_wrong_with_lines_is_said_of_these_and_not_of_a_file(tmp_path, asked, said):
    with pytest.raises(InputError) as refused:
        asked(tmp_path / "run")
    assert str(refused.value).startswith(said)
    assert refused.value.path is None


def test_what_is_wrong_with_a_file_is_said_of_the_file(tmp_path):
    (tmp_path / "sentences").write_text("a\nb\n")
    with pytest.raises(InputError, match=f"^{tmp_path}/sentences:2: 'b' is not a terminal"):
        monolingual.sample_pcfg(["S -> 'a'"], tmp_path / "run", sentences=tmp_path / "sentences")
