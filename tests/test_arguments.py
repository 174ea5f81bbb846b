"""Arguments of the functions for notebooks that cannot be: a TypeError or ValueError that names them."""

import math
import os
import re

import numpy as np
import pytest

import decoder
import monolingual
import scfg_sampler
from decoder.lm.model import load_lm as load_compiled
from scfg_sampler.errors import InputError, SettingsError

PAIRS = [("a b", "c d", "0-0 1-1"), ("a", "c", "0-0")]


@pytest.mark.parametrize(
    ("pairs", "kind", "complaint"),
    [
        ([("a", "b")], ValueError, "pair 1 has 2 parts; give three strings"),
        ([PAIRS[0], "ab"], TypeError, "pair 2 is a str; give three strings"),
        ([(["a"], "b", "0-0")], TypeError, "the source of pair 1 is a list; give a string"),
        ([("a", None, "0-0")], TypeError, "the target of pair 1 is a NoneType"),
        (
            [("a", "b", [(0, 0)])],
            TypeError,
            "the alignment of pair 1 is a list; give a string such as",
        ),
    ],
)
def test_pairs_that_are_not_three_strings_are_refused(pairs, kind, complaint):
    with pytest.raises(kind, match=complaint):
        scfg_sampler.make_corpus(pairs)


@pytest.mark.parametrize(
    ("arguments", "kind", "complaint"),
    [
        ({"discount": 1.5}, ValueError, "^discount is 1.5; "),
        ({"discount": math.nan}, ValueError, "^discount is nan; "),
        ({"strength": math.inf}, ValueError, "^strength is inf; "),
        ({"strength": 10**400}, ValueError, "^strength is a int; it is too large"),
        ({"iterations": 2**63}, ValueError, "^iterations is 9223372036854775808; it is too large"),
        ({"max_length": 0}, ValueError, "^max_length is 0; "),
        ({"chains": 0}, ValueError, "^chains is 0; "),
        ({"iterations": "ten"}, TypeError, "iterations is 'ten'; give a whole number"),
        ({"iterations": True}, TypeError, "iterations is True; give a whole number"),
        ({"burn_in": 1.5}, TypeError, "burn_in is 1.5; give a whole number"),
        ({"threads": "2"}, TypeError, "threads is '2'; give a whole number"),
        ({"strength": None}, TypeError, "strength is None; give a number"),
        ({"model": 3}, TypeError, "model is a int; give a string"),
        ({"marginals": "no"}, TypeError, "marginals is 'no'; give True or False"),
        ({"iteratoins": 10}, ValueError, "there is no setting 'iteratoins'"),
        ({"corpus": PAIRS}, TypeError, "corpus is a list; give a Corpus"),
    ],
)
def test_a_refused_sample_names_the_argument_and_leaves_nothing(tmp_path, arguments, kind, complaint):
    given = {"corpus": scfg_sampler.make_corpus(PAIRS), **arguments}
    with pytest.raises(kind, match=complaint) as refusal:
        scfg_sampler.sample(directory=tmp_path / "run", **given)
    assert "--" not in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert not (tmp_path / "run").exists()
    if kind is ValueError:
        assert isinstance(refusal.value, SettingsError)


def test_a_directory_that_was_there_stays(tmp_path):
    (tmp_path / "note").write_text("mine")
    with pytest.raises(ValueError, match="strength is -1"):
        scfg_sampler.sample(scfg_sampler.make_corpus(PAIRS), tmp_path, strength=-1.0)
    assert (tmp_path / "note").read_text() == "mine"


def test_settings_of_the_baseline_are_arguments_too():
    corpus = scfg_sampler.make_corpus(PAIRS)
    with pytest.raises(ValueError, match=r"^max_symbols is 0, but must be between"):
        scfg_sampler.extract_rules(corpus, max_symbols=0)
    with pytest.raises(TypeError, match="corpus is a str"):
        scfg_sampler.extract_rules("corpus")
    rules = scfg_sampler.extract_rules(corpus)
    with pytest.raises(TypeError, match="source is a list; give a string"):
        rules.find(["a"])
    with pytest.raises(ValueError, match="by is 'Nothing'"):
        rules.best(by="Nothing")


def test_a_negative_burn_in_is_refused_as_an_argument(tmp_path):
    run = scfg_sampler.sample(scfg_sampler.make_corpus(PAIRS), tmp_path / "run", iterations=12)
    with pytest.raises(ValueError, match=r"^burn_in is -1; it must be at least 0"):
        run.diagnosis(burn_in=-1)


def test_a_string_is_no_list_of_words():
    from tests.decoder.tuning.test_tune import decoder

    with pytest.raises(TypeError, match="words is a string; give a list of words"):
        decoder().translate("u v")


def test_types_go_with_tables_that_are_exact(tmp_path):
    """As with the command, where nothing is said of tables."""
    run = scfg_sampler.sample(scfg_sampler.make_corpus(PAIRS), tmp_path / "run", types=2, iterations=1)
    assert run.record["settings"]["tables"] == "exact"


def test_a_run_that_was_written_over_is_not_shown_as_the_one_that_was_read(tmp_path):
    corpora = [scfg_sampler.make_corpus([pair] * 5) for pair in (PAIRS[0], ("a b c", "A B C", "0-0 1-1 2-2"))]
    given = {"iterations": 5, "marginals": True}
    run = scfg_sampler.sample(corpora[0], tmp_path / "run", **given)
    before = run.derivation(0), run.forest(0), run.corpus
    assert None not in before
    again = scfg_sampler.sample(corpora[1], tmp_path / "run", overwrite=True, **given)
    shown = (
        lambda run: run.derivation(0),
        lambda run: run.forest(0),
        lambda run: run.corpus,
        lambda run: run.grammar(),
    )
    for show in shown:
        assert show(again) is not None
        with pytest.raises(InputError, match="has been resumed, finished, written over or removed since"):
            show(run)


def test_references_that_lack_lines_are_named_by_their_set():
    lm = decoder.train_lm(["a"])
    rules = scfg_sampler.extract_rules(scfg_sampler.make_corpus(PAIRS))
    for references, name in ((["b", "c"], "references"), ([["b"], ["c", "d"]], "set 2 of references")):
        with pytest.raises(InputError, match=rf"^{name}: has 2 lines, but the source has 1"):
            decoder.tune(rules, lm, ["a"], references, rounds=1)


def test_numbers_of_numpy_are_numbers(tmp_path):
    """What is written down of a run is Python's, or it could not be."""
    numbers = {"iterations": np.int64(3), "burn_in": np.int32(1), "seed": np.uint8(4), "threads": np.int64(1)}
    given = {**numbers, "discount": np.float32(0.5), "max_length": np.int64(9), "chains": np.int64(1)}
    run = scfg_sampler.sample(scfg_sampler.make_corpus(PAIRS), tmp_path / "run", **given)
    assert run.record["sweeps"] == 3
    assert len(run.grammar(max_targets=np.int64(1))) >= 1


def test_a_grammar_is_made_by_settings_that_there_are(tmp_path):
    run = scfg_sampler.sample(scfg_sampler.make_corpus(PAIRS), tmp_path / "run", iterations=3)
    table = tmp_path / "table"
    run.grammar(table)
    with pytest.raises(ValueError, match=r"^rule_filter is hero; choose one of scope, hiero, none"):
        run.grammar(rule_filter="hero")
    with pytest.raises(ValueError, match=r"^origin is first; choose one of last, average, marginal"):
        run.grammar(origin="first")
    for more in (str(table), table, [("table", 2)]):
        with pytest.raises(TypeError, match=r"^more is .*; give a list of strings, each TABLE or TABLE:W"):
            run.grammar(more=more)
    assert len(run.grammar(more=[f"{table}:2"])) == len(run.grammar())
    for wrong in (1.5, True, [1]):
        with pytest.raises(TypeError, match=r"^keep is .*; give a string or a whole number"):
            run.grammar(keep=wrong)
    with pytest.raises(ValueError, match=r"^keep is 0; it must be a number of rules"):
        run.grammar(keep=0)


def test_a_grammar_takes_paths_of_tables_and_numbers_of_rules(tmp_path):
    run = scfg_sampler.sample(scfg_sampler.make_corpus(PAIRS), tmp_path / "run", iterations=3)
    run.grammar(tmp_path / "table")
    named, given = tmp_path / "named", tmp_path / "given"
    run.grammar(named, more=[str(tmp_path / "table")], keep="2")
    for number in (2, np.int64(2)):
        assert len(run.grammar(given, more=[tmp_path / "table"], keep=number)) == 2
        assert given.read_bytes() == named.read_bytes()
    with pytest.raises(ValueError, match="table, which more needs, and would be lost"):
        run.grammar(tmp_path / "table", more=[tmp_path / "table"])


@pytest.fixture(scope="module")
def parts():
    corpus = scfg_sampler.make_corpus(PAIRS)
    rules = scfg_sampler.extract_rules(corpus)
    lm = decoder.train_lm(["c d", "c"], order=2)
    return {"corpus": corpus, "rules": rules, "lm": lm, "system": decoder.make_system(rules, lm)}


DECODER = [
    (lambda p: p["rules"].best("3"), "number is '3'; give a whole number"),
    (lambda p: p["rules"].filter([None]), "line 1 of text is None; give strings"),
    (lambda p: p["rules"].prune(how=3), "how is a int; give a string such as 'count:2'"),
    (lambda p: p["system"].translate(None), "lines is a NoneType; give a list of lines"),
    (lambda p: p["system"].translate(["a"], threads=1.5), "threads is 1.5; give a whole number"),
    (lambda p: p["system"].prepare(None), "line is a NoneType; give a string"),
    (lambda p: p["system"].n_best("a", True), "k is True; give a whole number"),
    (lambda p: decoder.make_system(p["rules"], None), "lm is a NoneType; give a language model"),
    (lambda p: decoder.make_system(p["rules"], p["lm"], beam="9"), "beam is '9'; give a whole number"),
    (lambda p: decoder.make_system(p["rules"], p["lm"], [("Glue", 1)]), "weights is a list; give a mapping"),
    (lambda p: decoder.train_lm(None), "a text is None; give a path, or a list of lines"),
    (lambda p: decoder.train_lm(["a", 3]), "line 2 of a text is 3; give strings"),
    (lambda p: decoder.train_lm(["a"], order=2.5), "order is 2.5; give a whole number"),
    (lambda p: decoder.train_lm(["a"], prune=1), "prune is a int; give a list of whole numbers"),
    (lambda p: decoder.train_lm(["a"], interpolate_unigrams="no"), "interpolate_unigrams is 'no'; give True"),
    (lambda p: decoder.evaluate(["a", None], ["a", "b"]), "line 2 of a text is None; give strings"),
    (lambda p: decoder.evaluate(["a"], None), "references is a NoneType; give a path"),
    (
        lambda p: decoder.tune(p["rules"], p["lm"], ["a"], ["c"], rounds="2"),
        "rounds is '2'; give a whole number",
    ),
    (
        lambda p: decoder.tune(p["rules"], p["lm"], ["a"], ["c"], interpolation="1"),
        "interpolation is '1'; give a",
    ),
    (lambda p: scfg_sampler.make_corpus(None), "pairs is a NoneType; give a list of"),
    (lambda p: scfg_sampler.open_run(3), "directory is a int; give a path"),
    (
        lambda p: scfg_sampler.extract_rules(scfg_sampler.make_corpus(PAIRS), max_symbols="5"),
        "max_symbols is '5'",
    ),
    (lambda p: monolingual.read_pcfg([None]), "line 1 of a text is None; give strings"),
    (lambda p: monolingual.train_dmv(b"DT NN"), "a text is b'DT NN'; give a path, or a list of lines"),
    (lambda p: monolingual.train_dmv(["DT NN"], rounds=False), "rounds is False; give a number"),
]


@pytest.mark.parametrize(("call", "complaint"), DECODER, ids=[complaint[:28] for _, complaint in DECODER])
def test_arguments_of_another_type_are_named(parts, call, complaint):
    with pytest.raises(TypeError, match=f"^{re.escape(complaint)}"):
        call(parts)


def test_settings_that_are_none_are_named(parts):
    with pytest.raises(ValueError, match="there is no setting 'copy'; there are beam, max_span"):
        decoder.make_system(parts["rules"], parts["lm"], copy="any")
    with pytest.raises(ValueError, match="there is no setting 'round'; there are "):
        decoder.tune(parts["rules"], parts["lm"], ["a"], ["c"], round=1)
    with pytest.raises(ValueError, match="number is -1; it is at least 0"):
        parts["rules"].best(-1)


def test_nothing_to_compare_with_is_said():
    with pytest.raises(InputError, match="references: has no lines"):
        decoder.evaluate(["a"], [])
    with pytest.raises(InputError, match="against: has 2 lines, but there are 1 translations"):
        decoder.evaluate(["a"], ["a"], against=["a", "b"])


@pytest.mark.parametrize(
    "read", [scfg_sampler.read_rules, load_compiled, decoder.load_lm, monolingual.load_dmv]
)
def test_a_number_is_no_path_and_closes_no_open_file(tmp_path, read):
    """To `open`, 1 is the standard output, which is closed along with what it gave."""
    (tmp_path / "file").write_text("mine")
    with open(tmp_path / "file") as stream:
        with pytest.raises(TypeError, match="path"):
            read(stream.fileno())
        assert os.fstat(stream.fileno()).st_size == 4
        assert stream.read() == "mine"


def test_no_line_end_makes_another_sentence():
    """Lines as a file gives them end with it; within one, it would count as two."""
    grammar = monolingual.read_pcfg(["S -> S S [0.6]\n", "S -> 'a' [0.4]\n"])
    assert len(grammar.parse(["a a\n", "a\n"])) == 2
    with pytest.raises(InputError, match=r"^line 2 of a text is more than one line\. Give a list of lines"):
        grammar.parse(["a", "a\na"])


def test_runs_are_compared_with_runs(tmp_path):
    trees = ["(S (NP (D the) (N dog)) (VP (V barks)))"]
    options = {"iterations": 3, "unknown": "none", "binarise": "none"}
    run = monolingual.train_tsg(trees, tmp_path / "run", **options)
    for call in (run.diagnosis, run.to_arviz, lambda other: run.report(tmp_path / "page", other)):
        with pytest.raises(TypeError, match="another run is a str; give a TsgRun, as open_tsg returns it"):
            call("run.2")
