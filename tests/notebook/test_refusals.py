"""Objects of notebooks refuse what would lose or belie something, in a line that says what to do."""

from __future__ import annotations

import gzip
import math
import re

import numpy as np
import pytest

import decoder
import monolingual
import scfg_sampler
from scfg_sampler.core.arguments import ArgumentError, of_arguments
from scfg_sampler.errors import AlignmentError, CheckpointMismatch, InputError

PAIRS = [("ne dort pas", "not sleep", "0-0 1-1 2-0"), ("ne mange pas", "not eat", "0-0 1-1 2-0")]


@pytest.fixture(scope="module")
def corpus():
    return scfg_sampler.make_corpus(PAIRS)


@pytest.fixture(scope="module")
def rules(corpus):
    return scfg_sampler.extract_rules(corpus)


@pytest.fixture(scope="module")
def lm():
    return decoder.train_lm([target for _, target, _ in PAIRS], order=2)


@pytest.fixture
def run(corpus, tmp_path):
    return scfg_sampler.sample(corpus, tmp_path / "run", iterations=2)


def test_counts_that_are_not_there_are_refused_with_those_that_are(run):
    (run.directory / "counts" / "marginal.gz").unlink()
    with pytest.raises(InputError, match=r"has no counts 'marginal'\. It has last and average$"):
        run.grammar(origin="marginal")
    for path in (run.directory / "counts").iterdir():
        path.unlink()
    with pytest.raises(InputError, match=r"has no counts 'marginal'\. Sample again: it has none$"):
        run.grammar()


# ---- What would be lost


@pytest.mark.parametrize(
    "name", ["counts/last.gz", "run.json", "trace.tsv", "checkpoint.npz", "corpus/source"]
)
def test_a_grammar_is_not_written_over_the_run_it_is_made_of(run, name):
    before = (run.directory / name).read_bytes()
    with pytest.raises(
        ArgumentError, match=rf"output is .*{re.escape(name)}, which the run needs, and would be lost"
    ):
        run.grammar(run.directory / name)
    assert (run.directory / name).read_bytes() == before


@pytest.mark.parametrize("weight", ["", ":2"])
def test_a_grammar_is_not_written_over_a_table_that_it_adds(run, tmp_path, weight):
    run.grammar(tmp_path / "table")
    before = (tmp_path / "table").read_bytes()
    with pytest.raises(ArgumentError, match="table, which more needs, and would be lost"):
        run.grammar(tmp_path / "table", more=[f"{tmp_path}/table{weight}"])
    assert (tmp_path / "table").read_bytes() == before


def test_forms_of_labels_that_are_not_there_are_warned_of(corpus, tmp_path, capsys):
    scfg_sampler.sample(corpus, tmp_path / "run", iterations=2, labels_form="classes")
    assert "labels_form and labels_side do nothing without labels" in capsys.readouterr().err


def test_a_grammar_may_be_written_into_the_run_and_again(run):
    for _ in range(2):
        assert len(run.grammar(run.directory / "grammar.gz")) > 0


def test_a_language_model_is_not_written_over_its_text(tmp_path):
    text = tmp_path / "text"
    text.write_text("a b\n")
    with pytest.raises(
        ArgumentError, match="text, which the model needs, and would be lost; name another file"
    ):
        decoder.train_lm(text, text, order=2)
    assert text.read_text() == "a b\n"


def _tsg(place):
    return monolingual.train_tsg(["(S (NP dogs) (VP bark))"], place, iterations=2, unknown="none")


def _pcfg(place):
    return monolingual.sample_pcfg(["S -> S S", "S -> 'a'"], place, sentences=["a a"], iterations=4)


def _ot(place):
    lines = ["input\toutput\tfrequency\tMax\t*Coda", "pat\tpa\t60\t1\t0", "pat\tpat\t40\t0\t1"]
    return monolingual.sample_ot(lines, place, iterations=8, chains=1)


@pytest.mark.parametrize(
    ("begin", "name"),
    [
        (_tsg, "run.json"),
        (_tsg, "grammar.tsg.gz"),
        (_pcfg, "samples.npz"),
        (_pcfg, "summary.json"),
        (_pcfg, "grammar.txt"),
        (_pcfg, "trace.1.tsv"),
        (_ot, "run.json"),
        (_ot, "tableaux.tsv"),
    ],
)
def test_a_page_is_not_written_over_the_run_it_is_about(begin, name, tmp_path):
    run = begin(tmp_path / "run")
    before = (tmp_path / "run" / name).read_bytes()
    with pytest.raises(ArgumentError, match="needs, and would be lost; name another file"):
        run.report(tmp_path / "run" / name)
    assert (tmp_path / "run" / name).read_bytes() == before
    run.report(tmp_path / "run" / "report.html")
    run.report(tmp_path / "run" / "report.html")


def test_a_page_is_not_written_over_another_run_or_treebank_that_it_is_about(tmp_path):
    run, other = _tsg(tmp_path / "run"), _tsg(tmp_path / "other")
    with pytest.raises(ArgumentError, match="needs, and would be lost"):
        run.report(other.directory / "trace.tsv", other)
    grammar, beside = _ot(tmp_path / "ot"), _ot(tmp_path / "beside")
    with pytest.raises(ArgumentError, match="needs, and would be lost"):
        grammar.report(beside.directory / "summary.json", beside)
    treebank = tmp_path / "treebank"
    treebank.write_text("NN VB\n")
    with pytest.raises(ArgumentError, match="treebank, which the page needs"):
        monolingual.train_dmv(["NN VB"], rounds=1).report(treebank, treebank)
    assert treebank.read_text() == "NN VB\n"


# ---- What has changed since


@pytest.mark.parametrize("number", [0, 1])
def test_a_derivation_is_not_shown_over_other_words_than_it_was_drawn_for(corpus, number, tmp_path):
    paths = corpus.write(tmp_path / "text")
    run = scfg_sampler.sample(scfg_sampler.read_corpus(*paths), tmp_path / "run", iterations=2)
    assert run.derivation(number).pair.source == corpus[number].source
    lines = paths[0].read_text().splitlines()
    paths[0].write_text("".join(f"{line}\n" for line in reversed(lines)))
    again = scfg_sampler.open_run(tmp_path / "run")
    for asked in (lambda: again.corpus, lambda: again.derivation(number)):
        with pytest.raises(CheckpointMismatch, match=r"source .source. is not the same as when .*run began"):
            asked()


# ---- What is not there


@pytest.mark.parametrize("number", [2, -3, np.int64(2), 10**30])
def test_a_pair_or_a_rule_beyond_the_end_is_said_to_be_none(corpus, number):
    with pytest.raises(
        IndexError, match=f"^there are sentence pairs 0 to 1, and none of the number {number}$"
    ):
        corpus[number]
    some = scfg_sampler.extract_rules(corpus)[:2]
    with pytest.raises(IndexError, match=f"^there are rules 0 to 1, and none of the number {number}$"):
        some[number]


def test_places_count_from_the_end_too_and_are_numbers(corpus):
    assert corpus[np.int8(-1)] == corpus[1] == corpus[-1]
    assert [pair.number for pair in reversed(corpus)] == [1, 0]
    with pytest.raises(TypeError, match="'1' is none of the sentence pairs; give a whole number or a slice"):
        corpus["1"]
    with pytest.raises(IndexError, match=r"^there are no rules, none of the number 0$"):
        scfg_sampler.extract_rules(corpus)[:0][0]


@pytest.mark.parametrize("number", [2, -1, np.int64(2), 10**30])
def test_a_run_says_which_sentence_pairs_it_has(corpus, tmp_path, number):
    run = scfg_sampler.sample(corpus, tmp_path / "run", iterations=2, marginals=True)
    for asked in (run.derivation, run.forest):
        with pytest.raises(ArgumentError, match=f"^number is {number}; the run has sentence pairs 0 to 1$"):
            asked(number)
        with pytest.raises(TypeError, match=r"^number is '1'; give a whole number$"):
            asked("1")
        assert asked(np.int64(1)).pair == corpus[1]


def test_hints_speak_of_arguments_and_leave_commands_as_they_are(corpus, run):
    hint = r"Continue it with 'scfg-sampler resume', name another directory, or give overwrite$"
    with pytest.raises(InputError, match=rf"run: holds a run already\. {hint}"):
        scfg_sampler.sample(corpus, run.directory, iterations=2)
    with pytest.raises(InputError, match=r"has not counted phrases\. Sample with marginals, beyond the"):
        run.forest(0)
    command, said = "Begin again with 'x --max-length 3'", "the line is --all"
    with pytest.raises(AlignmentError, match=f"^f:3: {said}. {command} or max_length$"), of_arguments():
        raise AlignmentError("f", 3, said, f"{command} or --max-length")


def test_derivations_that_are_lost_are_said_to_be(run):
    path = run.directory / "derivations.jsonl.gz"
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()).splitlines(keepends=True)[0]))
    with pytest.raises(InputError, match=r"derivations.jsonl.gz: is damaged: it ends before pair 1"):
        run.derivation(1)


# ---- What no file has


@pytest.mark.parametrize(
    "give",
    [
        lambda text: scfg_sampler.make_corpus([(text, "b", "0-0")]),
        lambda text: decoder.train_lm([text]),
        lambda text: scfg_sampler.extract_rules(scfg_sampler.make_corpus(PAIRS)).filter([text]),
        lambda text: monolingual.train_dmv([text]),
        lambda text: monolingual.read_pcfg([text]),
        lambda text: monolingual.read_pcfg(["S -> 'a'"]).parse([text]),
    ],
)
def test_half_a_character_is_refused_in_one_line(give):
    with pytest.raises(ArgumentError, match=r"has half a character, '\\ud800'; leave it out"):
        give("a \ud800")


# ---- Weights and settings


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400, -1e31])
def test_weights_of_a_mapping_are_finite_as_those_of_a_file_are(rules, lm, value):
    known = dict.fromkeys(decoder.make_system(rules, lm).decoder.feature_names, 1.0)
    with pytest.raises(
        ArgumentError, match=r"the weight of Glue is .*; weights are numbers from -1e\+30 to 1e\+30"
    ):
        decoder.make_system(rules, lm, {**known, "Glue": value})


@pytest.mark.parametrize("value", ["1", None, True, 1j, np.zeros(1)])
def test_a_weight_that_is_no_number_is_a_type_error(rules, lm, value):
    known = dict.fromkeys(decoder.make_system(rules, lm).decoder.feature_names, 1.0)
    with pytest.raises(TypeError, match=r"the weight of Glue is .*; give a number"):
        decoder.make_system(rules, lm, {**known, "Glue": value})
    with pytest.raises(TypeError, match="what a weight is of is a int; give the name of a feature"):
        decoder.make_system(rules, lm, {**known, 3: 1.0})


def test_weights_may_be_numbers_of_numpy(rules, lm):
    known = dict.fromkeys(decoder.make_system(rules, lm).decoder.feature_names, 1.0)
    plain = decoder.make_system(rules, lm, known).translate_line("ne dort pas")
    for kind in (np.float32, np.int8, int):
        other = decoder.make_system(rules, lm, {name: kind(1) for name in known})
        assert other.translate_line("ne dort pas") == plain


@pytest.mark.parametrize(
    ("give", "said"),
    [
        (lambda rules, lm: decoder.train_lm(["a"], order=9), "order is 9; it must be from 1 to 6"),
        (lambda rules, lm: decoder.make_system(rules, lm, beam=-1), "beam is -1; it is at least 1"),
        (lambda rules, lm: decoder.make_system(rules, lm, max_span=0), "max_span is 0; a rule covers"),
        (
            lambda rules, lm: decoder.bundle(rules, lm, {}, "s", widen=1e10),
            "widen is 10000000000.0; it is at most",
        ),
        # Before anything is written, or found to be no weights.
        (
            lambda rules, lm: decoder.bundle(rules, lm, {}, "s", beam=2**40),
            "beam is 1099511627776; it is at most",
        ),
        (
            lambda rules, lm: decoder.bundle(rules, lm, {}, "s", max_span=2**31),
            "max_span is 2147483648; it is at most",
        ),
        (lambda rules, lm: decoder.make_system(rules, []), "lm: no language model is given"),
        (
            lambda rules, lm: decoder.tune(rules, lm, ["a"], ["a"], rounds=-1),
            "rounds is -1; it is at least 0",
        ),
    ],
)
def test_settings_out_of_range_are_refused_as_arguments(give, said, rules, lm):
    with pytest.raises(ArgumentError, match=f"^{re.escape(said)}"):
        give(rules, lm)


@pytest.mark.parametrize(
    "opened",
    [
        decoder.load_system,
        decoder.load_parser,
        monolingual.open_tsg,
        monolingual.open_pcfg,
        _ot,
        _tsg,
        _pcfg,
    ],
)
@pytest.mark.parametrize("place", [3, None, ""])
def test_a_directory_that_is_no_path_is_refused_and_makes_nothing(opened, place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong = r"directory is (empty, and names no place|a (int|NoneType); give a path: a str or a Path)"
    with pytest.raises((TypeError, ArgumentError), match=wrong):
        opened(place)
    assert not list(tmp_path.iterdir())


def test_a_run_has_a_directory_of_its_own(corpus, tmp_path, monkeypatch):
    """An empty name would be that of the working directory."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ArgumentError, match="directory is empty, and names no place"):
        scfg_sampler.sample(corpus, "", iterations=1)
    assert not list(tmp_path.iterdir())


def test_settings_of_a_system_are_settings(tmp_path, rules, lm):
    weights = dict.fromkeys(decoder.make_system(rules, lm).decoder.feature_names, 1.0)
    decoder.bundle(rules, lm, weights, tmp_path / "system")
    with pytest.raises(TypeError, match="settings is a dict; give SearchDefaults"):
        decoder.load_system(tmp_path / "system", {"beam": 3})


# ---- Nothing to parse


@pytest.mark.parametrize("lines", [[], [""], ["", " "]])
def test_texts_without_words_have_a_tree_without_words_for_each_line(lines):
    model = monolingual.train_dmv(["NN VB"], rounds=1)
    assert [tree.words for tree in model.parse(iter(lines))] == [()] * len(lines)
    assert monolingual.read_pcfg(["S -> 'a'"]).parse(iter(lines)) == [None] * len(lines)


def test_what_refuses_an_output_of_training_is_not_hidden(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(scfg_sampler.errors.InputError, match=r"cannot be written|is a file"):
        monolingual.train_dmv(["NN VB"], rounds=1, output=tmp_path / "file" / "model")
    tags = tmp_path / "tags"
    tags.write_text("NN VB\n")
    with pytest.raises(ArgumentError, match=r"^output is .*tags, which TAGS reads, and would be lost"):
        monolingual.train_dmv(tags, rounds=1, output=tags)
