"""What scripts give to objects of notebooks: open files, several threads, files that change, odd names."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import decoder
import monolingual
import scfg_sampler
from scfg_sampler.core import console
from scfg_sampler.core.arguments import ArgumentError, require_lines
from scfg_sampler.errors import InputError

PAIRS = [("un chat", "a cat", "0-0 1-1"), ("un chien", "a dog", "0-0 1-1")]
GRAMMAR = ["S -> S S [0.6]", "S -> 'a' [0.4]"]


@pytest.fixture(scope="module")
def corpus():
    return scfg_sampler.make_corpus(PAIRS)


@pytest.fixture(scope="module")
def system(corpus):
    lm = decoder.train_lm([target for _, target, _ in PAIRS], order=2)
    return decoder.make_system(scfg_sampler.extract_rules(corpus), lm)


# ---- Lines


def test_lines_of_open_files_are_those_of_their_paths(system, corpus, tmp_path):
    source, target, links = (tmp_path / name for name in ("source", "target", "links"))
    for place, column in zip((source, target, links), zip(*PAIRS, strict=True), strict=True):
        place.write_text("".join(f"{line}\n" for line in column))
    with source.open() as one, target.open() as two, links.open() as three:
        assert [*scfg_sampler.make_corpus(zip(one, two, three, strict=True))] == [*corpus]
    with source.open() as lines:
        assert [found.text for found in system.translate(lines)] == ["a cat", "a dog"]
    with source.open() as lines:
        rules = scfg_sampler.extract_rules(corpus)
        assert len(rules.filter(lines)) == len(rules.filter(source)) > 0
    lm = decoder.train_lm(target, order=2)
    with target.open() as lines, target.open() as others:
        assert decoder.train_lm(lines, order=2).log_probs(others).tolist() == lm.log_probs(target).tolist()
    with target.open() as lines:
        assert decoder.evaluate(["a cat", "a dog"], lines, tokenize="none").ter == 0.0


def test_lines_that_are_several_are_refused(system):
    with pytest.raises(
        InputError, match=r"line 2 of text is more than one line. Give a list of lines, one each"
    ):
        require_lines("text", ["a", "b\nc"])
    assert system.translate_line("un\nchat").text == "a cat"


@pytest.mark.parametrize(
    ("translations", "references", "said"),
    [
        (
            ["a b"],
            ["a b", "c"],
            "^references: has 2 lines for 1 translation. Give a line for each translation$",
        ),
        (["a b", "c"], ["a b"], "^references: has 1 line for 2 translations"),
        (["a b"], [["a b"], ["c", "d"]], "^set 2 of references: has 2 lines for 1 translation"),
    ],
)
def test_translations_have_as_many_lines_as_their_references(translations, references, said):
    with pytest.raises(InputError, match=said):
        decoder.evaluate(translations, references)


def test_trees_of_lines_without_words_show_themselves(tmp_path):
    run = monolingual.train_tsg(["(S (NP dogs) (VP bark))"], tmp_path / "run", iterations=2, unknown="none")
    tree, _ = run.parse(["", "dogs bark"])
    assert tree.brackets == ""
    assert tree.words == ()
    assert tree.svg().startswith("<svg")


# ---- Threads


def test_commands_that_end_in_the_order_they_began_leave_standard_output_as_it_was(capsys, monkeypatch):
    from monolingual.pcfg.commands import parse

    grammar, before, run = monolingual.read_pcfg(GRAMMAR), sys.stdout, parse.run
    began, ended = (threading.Event(), threading.Event()), threading.Event()

    def waiting(options):
        number = int(began[0].is_set())
        began[number].set()
        assert (ended if number else began[1]).wait(60)
        print("of the command")
        run(options)

    monkeypatch.setattr(console, "_quiet", False)
    monkeypatch.setattr(parse, "run", waiting)
    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(grammar.parse, ["a"])
        assert began[0].wait(60)
        two = pool.submit(grammar.parse, ["a a"])
        one.result()
        ended.set()
        assert [tree.words for tree in two.result()] == [("a", "a")]
    assert sys.stdout is before
    console.say("heard")
    assert capsys.readouterr() == ("", "heard\n")


def test_a_thread_that_runs_a_command_does_not_silence_another(capsys, monkeypatch):
    from monolingual.pcfg.commands import parse

    within, printed = threading.Event(), threading.Event()
    run = parse.run

    def waiting(options):
        within.set()
        assert printed.wait(60)
        print("of the command")
        run(options)

    monkeypatch.setattr(console, "_quiet", False)
    monkeypatch.setattr(parse, "run", waiting)
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(monolingual.read_pcfg(GRAMMAR).parse, ["a"])
        assert within.wait(60)
        print("of the notebook")
        console.say("to its reader")
        printed.set()
        assert [tree.brackets for tree in found.result()] == ["(S a)"]
    assert capsys.readouterr() == ("of the notebook\n", "to its reader\n")


# ---- Files


def test_a_corpus_is_not_sampled_from_files_that_hold_another_now(corpus, tmp_path):
    paths = corpus.write(tmp_path / "text")
    read = scfg_sampler.read_corpus(*paths)
    paths[0].write_text("".join(f"{line}\n" for line in reversed(paths[0].read_text().splitlines())))
    with pytest.raises(InputError, match=r"source: or .*target, or their alignment, is not what it was when"):
        scfg_sampler.sample(read, tmp_path / "run", iterations=2)
    assert not (tmp_path / "run").exists()
    corpus.write(tmp_path / "text")
    assert scfg_sampler.sample(read, tmp_path / "run", iterations=2).corpus[0] == corpus[0]


def test_names_may_begin_with_a_hyphen(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-trees").write_text("(S (NP dogs) (VP bark))\n")
    run = monolingual.train_tsg("-trees", "-run", iterations=2, unknown="none")
    assert [tree.words for tree in run.parse(["dogs bark"])] == [("dogs", "bark")]


def test_what_is_read_again_is_not_written_to_standard_output(capsys):
    for train in (decoder.train_lm, monolingual.train_dmv):
        for output, said in (("-", "output is '-', which is no file; name one"), ("", "output is empty")):
            with pytest.raises(ArgumentError, match=said):
                train(["a b"], output=output)
    assert capsys.readouterr().out == ""


def test_a_directory_of_a_refused_pcfg_run_is_removed(tmp_path):
    for wrong in (
        {"sentences": ["b"]},
        {"sentences": []},
        {"sentences": ["a"], "thin": 0},
        {"trees": [1]},
        {},
    ):
        with pytest.raises((scfg_sampler.errors.ScfgError, TypeError)):
            monolingual.sample_pcfg(GRAMMAR, tmp_path / "run", iterations=4, **wrong)
        assert not (tmp_path / "run").exists()


def test_weights_of_a_bundle_are_called_what_they_were_given_as(corpus, tmp_path):
    rules, lm = scfg_sampler.extract_rules(corpus), decoder.train_lm(["a cat"], order=2)
    with pytest.raises(InputError, match=r"^weights: no weight for 'LogForward'"):
        decoder.bundle(rules, lm, {}, tmp_path / "system")
    (tmp_path / "w.json").write_text('{"Glue": 1.0}')
    with pytest.raises(InputError, match=r"^\S*/w\.json: no weight for 'LogForward'"):
        decoder.bundle(rules, lm, tmp_path / "w.json", tmp_path / "system")
    with pytest.raises(TypeError, match="output is a int; give a path"):
        decoder.bundle(rules, lm, {}, 5)


# ---- Settings


@pytest.mark.parametrize("given", [{"strength"}, np.array(["strength"]), ["strength"], iter(("strength",))])
def test_settings_of_several_strings_are_any_strings_but_one(corpus, given, tmp_path):
    run = scfg_sampler.sample(corpus, tmp_path / "run", iterations=2, learned=given)
    assert run.record["settings"]["learned"] == ["strength"]


def test_tables_that_are_added_may_be_given_by_an_iterator(corpus, tmp_path):
    run = scfg_sampler.sample(corpus, tmp_path / "run", iterations=2)
    run.grammar(tmp_path / "table")
    added = [run.grammar(more=more([str(tmp_path / "table")])).table.count.sum() for more in (list, iter)]
    assert added[0] == added[1] > run.grammar().table.count.sum()


@pytest.mark.parametrize("given", ["strength", [1], None, 1])
def test_a_setting_of_several_strings_that_is_none_is_a_type_error(corpus, given, tmp_path):
    with pytest.raises(TypeError, match=r"learned is .*; give a list|one of learned is a int; give a string"):
        scfg_sampler.sample(corpus, tmp_path / "run", iterations=2, learned=given)
    assert not (tmp_path / "run").exists()


def test_threads_are_refused_as_an_argument_at_once(system):
    with pytest.raises(ArgumentError, match=r"^threads is 0; it must be from 1 to"):
        system.stream(["un chat"], threads=0)
    with pytest.raises(ArgumentError, match=r"^tokenize is 'x'"):
        decoder.evaluate(["a"], ["a"], tokenize="x")
