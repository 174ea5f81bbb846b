"""The objects for notebooks say what the commands say, and show themselves."""

from __future__ import annotations

import inspect
import subprocess
import sys
import warnings
from typing import get_type_hints
from xml.etree import ElementTree

import numpy as np
import pytest

import scfg_sampler
from scfg_sampler.baseline.settings import HieroSettings
from scfg_sampler.cli import main
from scfg_sampler.core.arguments import ArgumentError
from scfg_sampler.core.files import read_lines
from scfg_sampler.errors import AlignmentError, InputError, ScfgError, SettingsError
from scfg_sampler.learner.settings import GrammarSettings, LearnerSettings, RunSettings
from scfg_sampler.notebook.settings import BaselineSettings, GrammarOptions, SampleSettings
from scfg_sampler.rules.table import read_rule_table

PAIRS = [
    ("ne mange pas", "not eat", "0-0 1-1 2-0"),
    ("ne dort pas", "not sleep", "0-0 1-1 2-0"),
    ('<b> & "x"', "[X,1] \u2028", "0-0 1-1"),
    ("sans liens", "without links", ""),
]


@pytest.fixture(scope="module")
def corpus():
    return scfg_sampler.make_corpus(PAIRS)


@pytest.fixture(scope="module")
def run(corpus, tmp_path_factory):
    return scfg_sampler.sample(corpus, tmp_path_factory.mktemp("notebook") / "run", iterations=5)


def test_importing_the_package_loads_nothing():
    script = (
        "import sys, scfg_sampler\nassert 'sample' in dir(scfg_sampler)\n"
        "heavy = {'numba', 'numpy', 'scipy', 'rich'} & set(sys.modules)\nassert not heavy, heavy\n"
        "scfg_sampler.Corpus\nassert 'numba' in sys.modules"
    )
    child = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert child.returncode == 0, child.stderr


def test_all_names_are_offered_and_no_others():
    for name in scfg_sampler.__all__:
        assert getattr(scfg_sampler, name).__name__ == name
    assert set(scfg_sampler.__all__) <= set(dir(scfg_sampler))
    with pytest.raises(AttributeError, match="no attribute 'smaple'"):
        scfg_sampler.smaple  # noqa: B018


def test_a_corpus_is_a_sequence_of_pairs(corpus):
    assert len(corpus) == len(list(corpus)) == 4
    assert corpus[0].source == ("ne", "mange", "pas")
    assert corpus[0].links == ((0, 0), (1, 1), (2, 0))
    assert corpus[-1].number == 3
    assert [pair.target for pair in corpus[1:3]] == [corpus[1].target, corpus[2].target]
    with pytest.raises(IndexError):
        corpus[4]


def test_a_corpus_comes_back_from_its_files(corpus, tmp_path):
    again = scfg_sampler.read_corpus(*corpus[::-1].write(tmp_path))
    assert [pair[:3] for pair in again] == [pair[:3] for pair in corpus[::-1]]


def test_pairs_that_cannot_be_are_named():
    with pytest.raises(AlignmentError, match="alignment:1: link 1-0 points past"):
        scfg_sampler.make_corpus([("a", "b", "1-0")])
    with pytest.raises(InputError, match=r"pair:2: .* is more than one line"):
        scfg_sampler.make_corpus([("a", "b", "0-0"), ("a\nb", "b", "0-0")])


def test_forests_know_their_trees(corpus):
    forest = corpus[0].forest()
    assert (forest.num_trees, len(forest.phrases)) == (1, 2)
    assert forest.rules == ["mange ||| eat", "ne [X,1] pas ||| not [X,1]"]
    head, tails, rule = list(forest.edges())[1]
    assert head.source == (0, 3)
    assert tails == [forest.phrases[0]]
    assert rule == forest.rules[1]
    assert corpus[3].forest() is None


def test_everything_is_shown_as_well_formed_html(corpus, run):
    shown = [corpus, *corpus, *(pair.forest() for pair in corpus[:3])]
    shown += [run.derivation(k) for k in range(3)] + [run.grammar(), run.grammar()[:0]]
    for each in shown:
        ElementTree.fromstring(each._repr_html_())


def test_large_forests_are_drawn_only_when_asked():
    words = 24
    text = " ".join("a" * words)
    forest = scfg_sampler.make_corpus([(text, text, " ".join(f"{i}-{i}" for i in range(words)))])[0].forest()
    assert "too large to be shown unasked" in forest._repr_html_()
    ElementTree.fromstring(forest.svg())


def test_runs_are_those_of_the_command_line(corpus, run, tmp_path):
    files = [
        f"--{name}={path}"
        for name, path in zip(("source", "target", "alignment"), corpus.write(tmp_path), strict=True)
    ]
    assert main(["sample", *files, "--iterations", "5", "--output", f"{tmp_path}/run", "--quiet"]) == 0
    assert main(["grammar", f"{tmp_path}/run", "--output", f"{tmp_path}/table", "--quiet"]) == 0
    other = scfg_sampler.open_run(tmp_path / "run")
    assert np.array_equal(other.trace["log_joint"], run.trace["log_joint"])
    assert list(scfg_sampler.read_rules(tmp_path / "table")) == list(run.grammar(tmp_path / "mine"))
    assert read_rule_table(tmp_path / "mine").num_rules == len(run.grammar())
    assert "Run of 5 sweeps" in repr(run)


def test_pairs_are_numbered_on_under_a_second_alignment(corpus, tmp_path):
    source, target, alignment = corpus.write(tmp_path / "one")
    second = tmp_path / "second"
    second.write_text("".join("0-0\n" if pair.links else "\n" for pair in corpus))
    both = scfg_sampler.read_corpus(source, target, alignment, second)
    assert len(both) == 2 * len(corpus)
    assert both[4].links == ((0, 0),)
    run = scfg_sampler.sample(both, tmp_path / "run", iterations=2)
    assert len(run.corpus) == len(both)
    assert run.derivation(4).pair.links == ((0, 0),)
    with pytest.raises(TypeError):
        scfg_sampler.read_corpus(source, target)


def test_derivations_use_rules_of_the_last_state(run):
    tree = run.derivation(2)
    last = list(run.grammar(origin="last", rule_filter="none"))
    spelled = {rule.source for rule in last}
    assert len(tree.rules) == len(tree._repr_html_().split("<rect")) - 1
    assert str(tree).count("\n") == len(tree.rules) - 1
    assert spelled
    assert run.derivation(3) is None


def test_overwrite_is_true_or_false(corpus, tmp_path):
    with pytest.raises(TypeError, match="overwrite is 'no'; give True or False"):
        scfg_sampler.sample(corpus, tmp_path / "run", iterations=3, overwrite="no")


def test_several_chains_and_other_models_can_be_asked_for(corpus, tmp_path):
    run = scfg_sampler.sample(corpus, tmp_path / "run", iterations=3, chains=2, model="dirichlet")
    assert run.record["chains"] == 2
    assert run.record["settings"]["strength"] == 100.0
    assert run.derivation(0).rules
    with pytest.raises(InputError, match="holds a run already"):
        scfg_sampler.sample(corpus, tmp_path / "run")
    with pytest.raises(SettingsError, match="no setting 'iteration'; there are anneal_end, "):
        scfg_sampler.sample(corpus, tmp_path / "other", iteration=3)


def test_rules_are_found_ranked_and_written(corpus, tmp_path):
    rules = scfg_sampler.extract_rules(corpus)
    negations = rules.find(source="pas ne", target="not")
    assert {rule.source for rule in negations} == {
        ("ne", -1, "pas"),
        ("ne", "mange", "pas"),
        ("ne", "dort", "pas"),
    }
    assert negations.best(1)[0].source == ("ne", -1, "pas")
    assert len(rules.find(source="unknown")) == 0
    with pytest.raises(SettingsError, match="by is 'Count', but the rules have the features LogForward"):
        rules.best(by="Count")
    with pytest.raises(SettingsError, match="no setting 'max_span'"):
        scfg_sampler.extract_rules(corpus, max_span=3)
    for file_format in ("native", "cdec", "moses", "joshua", "travatar"):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            rules.write(tmp_path / file_format, file_format)
        told = ["target words are spelled otherwise than in texts" in str(each.message) for each in said]
        assert told == ([] if file_format in ("native", "travatar") else [True]), "of the word [X,1]"
        again = scfg_sampler.read_rules(tmp_path / file_format, file_format)
        assert sorted(rule[:2] for rule in map(_strings, again)) == sorted(
            rule[:2] for rule in map(_strings, rules)
        )


def _strings(rule):
    return [" ".join(map(repr, side)) for side in rule[:2]]


def test_what_a_format_cannot_hold_is_warned_of(corpus, tmp_path):
    (tmp_path / "table").write_text("[X] ||| a ||| b ||| F=1\n[S] ||| [X,1] ||| [1] ||| F=1\n")
    with pytest.warns(UserWarning, match="left out 1 glue rule"):
        rules = scfg_sampler.read_rules(tmp_path / "table", "cdec")
    with pytest.warns(UserWarning, match="1 rule without LogBackward"):
        rules.write(tmp_path / "moses", "moses")


def test_editors_know_every_setting_that_is_taken_by_name():
    hints = get_type_hints(LearnerSettings) | get_type_hints(RunSettings)
    named = inspect.signature(scfg_sampler.sample).parameters.keys()
    assert get_type_hints(SampleSettings) == {name: hints[name] for name in hints if name not in named}
    assert get_type_hints(BaselineSettings) == get_type_hints(HieroSettings)
    assert get_type_hints(GrammarOptions) == get_type_hints(GrammarSettings)


def test_nothing_for_notebooks_takes_settings_of_any_kind():
    for name in scfg_sampler.__all__:
        offered = getattr(scfg_sampler, name)
        methods = vars(offered).values() if inspect.isclass(offered) else [offered]
        for function in filter(inspect.isfunction, methods):
            if function.__module__.startswith("scfg_sampler"):
                for parameter in inspect.signature(function).parameters.values():
                    is_open = parameter.kind is inspect.Parameter.VAR_KEYWORD
                    assert not is_open or str(parameter.annotation).startswith("Unpack["), function


def test_rules_are_filtered_and_pruned_as_by_the_commands(corpus, tmp_path):
    rules = scfg_sampler.extract_rules(corpus)
    rules.write(tmp_path / "table")
    (tmp_path / "text").write_text("il ne dort pas\n")
    options = [str(tmp_path / "table"), "--quiet", "--output", str(tmp_path / "kept")]
    assert main(["filter", *options, "--source", str(tmp_path / "text")]) == 0
    kept = list(scfg_sampler.read_rules(tmp_path / "kept"))
    filtered = rules.filter(["il ne dort pas"])
    assert list(filtered) == list(rules.filter(tmp_path / "text"))
    assert all(rule in list(rules) for rule in filtered), "features are not rounded"
    assert sorted(map(str, map(_strings, filtered))) == sorted(map(str, map(_strings, kept)))
    assert 0 < len(kept) < len(rules)
    assert main(["prune", *options, "--prune", "count:2"]) == 0
    kept = list(scfg_sampler.read_rules(tmp_path / "kept"))
    assert list(scfg_sampler.read_rules(tmp_path / "table").prune("count:2")) == kept
    assert 0 < len(kept) < len(rules)
    assert len(rules.prune(keep=2)) == 2
    with pytest.raises(ArgumentError):
        rules.prune("luck")


@pytest.mark.parametrize(
    ("name", "how"),
    [
        *(("LogCount", how) for how in ({"how": "entropy"}, {"how": "count:2"}, {"keep": 1})),
        *(("LogForward", how) for how in ({"how": "entropy"}, {"how": "count:2"})),
    ],
)
def test_rules_without_what_pruning_asks_for_are_refused_as_by_the_command(name, how, tmp_path, capsys):
    other = "LogForward" if name == "LogCount" else "LogCount"
    (tmp_path / "table").write_text(f"[X] ||| a ||| b ||| {other}=0\n[X] ||| c ||| d ||| {other}=0\n")
    said = f"has no feature {name}. Give a table that 'extract' or 'grammar' wrote"
    ((option, value),) = how.items()
    options = [f"--{option.replace('how', 'prune')}", str(value), "--output", str(tmp_path / "kept")]
    assert main(["prune", str(tmp_path / "table"), *options]) == 2
    assert capsys.readouterr().err.endswith(f"table: {said}\n")
    with pytest.raises(InputError) as refused:
        scfg_sampler.read_rules(tmp_path / "table").prune(**how)
    assert str(refused.value) == f"table: {said}"


@pytest.mark.parametrize("how", [{"how": "redundancy"}, {"how": "count:1"}, {"keep": 1}])
def test_rules_with_labels_are_not_pruned_as_if_all_were_x(how, tmp_path):
    """The first rule asks for a VP, so that it and the second make no `a c`."""
    lines = ["[NP] ||| a [VP,1] ||| b [VP,1]", "[NP] ||| c ||| d", "[NP] ||| a c ||| b d"]
    (tmp_path / "table").write_text("".join(f"{line} ||| LogForward=-1 LogCount=0\n" for line in lines))
    with pytest.raises(InputError, match=r"^table: has nonterminals other than X, .*\. Take the best"):
        scfg_sampler.read_rules(tmp_path / "table").prune(**how)
    options = ["--prune", "redundancy", "--output", str(tmp_path / "kept")]
    assert main(["prune", str(tmp_path / "table"), *options]) == 2


def test_rules_with_labels_are_filtered_as_by_the_command(tmp_path):
    lines = ["[NP] ||| das [N,1] ||| the [N,1]", "[VP] ||| das [V,1] ||| the [V,1]", "[N] ||| haus ||| house"]
    lines += ["[X] ||| katze ||| cat", "[VP] ||| haus ||| house"]
    (tmp_path / "table").write_text("".join(f"{line} ||| LogForward=-1\n" for line in sorted(lines)))
    (tmp_path / "text").write_text("das haus\n")
    options = ["--source", str(tmp_path / "text"), "--output", str(tmp_path / "kept"), "--quiet"]
    assert main(["filter", str(tmp_path / "table"), *options]) == 0
    rules = scfg_sampler.read_rules(tmp_path / "table")
    kept = list(scfg_sampler.read_rules(tmp_path / "kept"))
    assert list(rules.filter(tmp_path / "text")) == list(rules.filter(["das haus"])) == kept
    assert [rule.labels for rule in kept] == [("NP", "N"), ("N",), ("VP", "V"), ("VP",)]


def test_rules_are_columns_of_equal_length(corpus):
    rules = scfg_sampler.extract_rules(corpus)
    columns = rules.to_columns()
    assert list(columns) == ["source", "target", "alignment", "count", *rules.table.feature_names]
    assert {len(column) for column in columns.values()} == {len(rules)}
    at = columns["source"].tolist().index("ne [X,1] pas")
    assert (columns["target"][at], columns["alignment"][at], columns["count"][at]) == (
        "not [X,1]",
        "0-0 2-0",
        2.0,
    )
    for row, rule in enumerate(rules):
        assert {name: columns[name][row] for name in rules.table.feature_names} == rule.features
    assert {len(column) for column in rules[:0].to_columns().values()} == {0}


def test_features_that_few_rules_have_are_columns_too(tmp_path):
    lines = [f"[X] ||| c{k} ||| C ||| LogForward=-1 Word{k}={k + 1} ||| 0-0\n" for k in range(300)]
    (tmp_path / "table").write_text("# made by hand\n" + "".join(lines))
    rules = scfg_sampler.read_rules(tmp_path / "table")
    assert "Word7" in rules.table.sparse_names
    columns = rules.to_columns()
    at = columns["source"].tolist().index("c7")
    assert columns["Word7"][at] == 8 == columns["Word7"].sum()
    assert rules.best(1, by="Word7")[0].source == ("c7",)


def test_corpus_of_a_run_has_the_labels_it_was_sampled_with(tmp_path):
    texts = {"f": "a b\n", "e": "A B\n", "a": "0-0 1-1\n", "l": "0-1:NP\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    given = scfg_sampler.read_corpus(*(tmp_path / name for name in "fea"), labels=tmp_path / "l")
    run = scfg_sampler.sample(given, tmp_path / "run", iterations=2)
    assert run.corpus.files == given.files


@pytest.mark.parametrize("learned", [{"labels_form": "classes"}, {"types": 2}])
def test_grammars_with_labels_are_those_of_the_command_line(learned, tmp_path):
    texts = {"f": "a b\n" * 9, "e": "A B\n" * 9, "a": "0-0 1-1\n" * 9, "l": "N V\n" * 9}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    labels = None if "types" in learned else tmp_path / "l"
    given = scfg_sampler.read_corpus(*(tmp_path / name for name in "fea"), labels=labels)
    run = scfg_sampler.sample(given, tmp_path / "run", iterations=9, **learned)
    assert main(["grammar", f"{tmp_path}/run", "--output", f"{tmp_path}/table", "--quiet"]) == 0
    rules = run.grammar(tmp_path / "mine")
    assert (tmp_path / "mine").read_bytes() == (tmp_path / "table").read_bytes()
    assert list(rules) == list(run.grammar()) == list(scfg_sampler.read_rules(tmp_path / "table"))
    assert any(rule.labels for rule in rules)
    rules.write(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "table").read_bytes()
    ElementTree.fromstring(rules._repr_html_())
    for name, value in (("prune", "entropy"), ("keep", 0)):
        with pytest.raises(ArgumentError, match=rf"^rules with labels have no {name}; leave it out$"):
            run.grammar(**{name: value})


def test_a_slice_has_the_labels_of_its_pairs(tmp_path):
    texts = {"f": "a b\nc d\n", "e": "A B\nC D\n", "a": "0-0 1-1\n" * 2, "l": "0-1:NP\n0-1:VP\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    given = scfg_sampler.read_corpus(*(tmp_path / name for name in "feaa"), labels=tmp_path / "l")
    for part, lines in (
        (given[::-1], ["0-1:VP", "0-1:NP"] * 2),
        (given[1:3], ["0-1:VP", "0-1:NP"]),
        (given[1:][2:], ["0-1:VP"]),
    ):
        run = scfg_sampler.sample(part, tmp_path / "run", iterations=2, overwrite=True)
        assert list(read_lines(run.corpus.files.labels)) == lines
    without = scfg_sampler.read_corpus(*(tmp_path / name for name in "fea"))
    assert without[1:].write_all(tmp_path / "none").labels is None
    (tmp_path / "l").write_text("0-1:NP\n" * 3)
    with pytest.raises(InputError, match="has 3 lines for 4 pairs"):
        scfg_sampler.sample(given[:1], tmp_path / "other", iterations=2)


LABELS = {
    "spans": ["0-1:N 0-2:NP", "0-2:NP", "1-2:V", ""],
    "classes": ["A B", "A C", "A B", "B A"],
    "trees": ["(S (A a) (B b))", "(S (A a) (C c))", "(NP (A a) (B b))", "(S (B b) (A a))"],
}


def _labelled(folder, form, alignments=1):
    """A corpus of four pairs with labels, under some alignments, and the options that name it."""
    texts = {"f": ["a b", "a c", "a b", "b a"], "e": ["A B", "C A", "A B", "B A"], "l": LABELS[form]}
    texts |= {"a1": ["0-0 1-1", "0-1 1-0", "0-0 1-1", "0-0 0-1"], "a2": ["0-0", "0-1", "1-1", "1-1"]}
    for name, lines in texts.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    names = [str(folder / name) for name in ("f", "e", *("a1", "a2")[:alignments])]
    options = ["--source", names[0], "--target", names[1], "--alignment", *names[2:]]
    corpus = scfg_sampler.read_corpus(*names, labels=folder / "l")
    return corpus, [*options, "--labels", str(folder / "l"), "--labels-form", form]


def _lines(path):
    return [line for line in read_lines(path) if not line.startswith("#")]


@pytest.mark.parametrize("alignments", [1, 2])
@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize("form", LABELS)
def test_rules_with_labels_are_extracted_as_by_the_command(form, side, alignments, tmp_path):
    corpus, options = _labelled(tmp_path, form, alignments)
    asked = [*options, "--labels-side", side, "--output", str(tmp_path / "table"), "--quiet"]
    assert main(["extract", *asked, "--max-initial", "1", "--max-initial-target", "2"]) == 0
    limits = {"max_initial": 1, "max_initial_target": 2}
    rules = scfg_sampler.extract_rules(corpus, labels_form=form, labels_side=side, **limits)
    rules.write(tmp_path / "mine")
    assert _lines(tmp_path / "mine") == _lines(tmp_path / "table")
    assert any(rule.labels for rule in rules)


def test_rules_of_a_slice_have_the_labels_of_its_pairs(tmp_path):
    corpus, _ = _labelled(tmp_path, "spans")
    assert not len(scfg_sampler.extract_rules(corpus[:0]))
    by_sides = {rule[:2]: rule.labels for rule in scfg_sampler.extract_rules(corpus[2:3])}
    assert by_sides[("b",), ("B",)] == ("V",)
    (tmp_path / "l").write_text("0-1:N\n0-2:NP\n0-9:V\n\n")
    with pytest.raises(InputError, match=r"/l:3: .*0-9"):
        scfg_sampler.extract_rules(corpus[::2])


def test_forms_of_labels_are_asked_for_by_name(corpus, capsys):
    with pytest.raises(ArgumentError, match=r"^labels_form is tree; choose one of spans, classes, trees$"):
        scfg_sampler.extract_rules(corpus, labels_form="tree")
    with pytest.raises(TypeError, match="labels_side is a int; give a string"):
        scfg_sampler.extract_rules(corpus, labels_side=1)
    scfg_sampler.extract_rules(corpus, labels_side="source")
    assert "labels_form and labels_side do nothing without labels" in capsys.readouterr().err


def test_a_run_that_is_refused_leaves_the_older_one_as_it_was(corpus, tmp_path):
    scfg_sampler.sample(corpus, tmp_path / "run", iterations=3)
    before = [path.read_bytes() for path in sorted((tmp_path / "run" / "corpus").iterdir())]
    for wrong, error in (
        ({}, InputError),
        ({"overwrite": True, "discount": 7.0}, ArgumentError),
        ({"overwrite": True, "memory": "much"}, TypeError),
    ):
        with pytest.raises(error):
            scfg_sampler.sample(corpus[:2], tmp_path / "run", iterations=3, **wrong)
        assert [path.read_bytes() for path in sorted((tmp_path / "run" / "corpus").iterdir())] == before
    assert main(["resume", str(tmp_path / "run"), "--iterations", "5"]) == 0
    again = scfg_sampler.sample(corpus[:2], tmp_path / "run", iterations=3, overwrite=True)
    assert len(again.corpus) == 2


def test_traces_are_those_of_all_chains(corpus, tmp_path):
    run = scfg_sampler.sample(corpus, tmp_path / "run", iterations=14, burn_in=2, chains=2)
    first, second = run.traces
    assert np.array_equal(first["log_joint"], run.trace["log_joint"])
    assert not np.array_equal(first["log_joint"], second["log_joint"])
    found = run.diagnosis()["log_joint"]
    assert (found.chains, found.sweeps) == (2, 12)
    assert run.diagnosis(burn_in=4)["log_joint"].sweeps == 10


def test_arviz_takes_the_traces_after_burn_in(corpus, tmp_path):
    pytest.importorskip("arviz_base", reason="arviz-base is not installed; pip install '.[arviz]'")
    run = scfg_sampler.sample(corpus, tmp_path / "run", iterations=9, burn_in=2, chains=2)
    tree = run.to_arviz()
    joint = tree["posterior"]["log_joint"]
    assert joint.dims == ("chain", "draw")
    assert np.array_equal(joint.values, [trace["log_joint"][2:] for trace in run.traces])
    assert "edges_changed" in tree["sample_stats"]
    assert "edges_changed" not in tree["posterior"]
    assert tree.attrs["seed"] == run.record["run"]["seed"]


def test_without_arviz_base_one_line_says_what_to_install(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz_base", None)
    with pytest.raises(ScfgError, match=r"pip install 'scfg-sampler\[arviz\]'"):
        run.to_arviz()


@pytest.mark.parametrize("words", [250, 2000])
def test_derivations_deeper_than_python_counts_are_there(tmp_path, words):
    """Words go to the end and to the beginning in turn: each phrase holds all words of another but one."""
    order: list[int] = []
    for at in range(words):
        order = [*order, at] if at % 2 == 0 else [at, *order]
    source, target = (
        [f"{side}{at}" for at in places] for side, places in (("s", range(words)), ("t", order))
    )
    links = " ".join(f"{at}-{place}" for place, at in enumerate(order))
    corpus = scfg_sampler.make_corpus([(" ".join(source), " ".join(target), links)] * 2)
    run = scfg_sampler.sample(corpus, tmp_path / "run", iterations=1, max_length=words, max_cut_span=0)
    tree = run.derivation(0)
    assert sum(len(rule.split(" ||| ")[0].split(" ")) for rule in tree.rules) >= words
    if words < 300:
        assert main(["report", f"{tmp_path}/run", "--output", f"{tmp_path}/page.html", "--pairs", "1"]) == 0
        assert "rules within each other are too many" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_words_that_end_in_a_carriage_return_stay(tmp_path):
    corpus = scfg_sampler.make_corpus([("a \r\r", "b c", "1-1")])
    assert corpus[0].source == ("a", "\r")
    assert corpus[0].forest() is not None
    source, *_ = corpus.write(tmp_path)
    assert source.read_bytes() == b"a \r\r\n"


def test_rules_of_labels_and_types_are_read_side_by_side(tmp_path):
    pairs = [("la maison", "the house", "0-0 1-1"), ("la fleur", "the flower", "0-0 1-1")] * 3
    corpus = scfg_sampler.make_corpus(pairs)
    run = scfg_sampler.sample(corpus, tmp_path / "run", iterations=4, types=2, tables="exact")
    assert "→ the" in repr(run.derivation(0))
    assert "|||" not in repr(run.derivation(0))
