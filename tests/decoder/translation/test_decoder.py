"""Translation of streams: order, threads, errors, and words that look like something else."""

import itertools
import threading
import time

import numpy as np
import pytest

from decoder.grammar.trie import GrammarSource, build_grammar
from decoder.lm.model import LmVocabulary, build_lm
from decoder.translation.decoder import Decoder
from decoder.translation.derivations import derivation_record
from decoder.translation.hypergraph import hypergraph_record
from decoder.translation.nbest import nbest_lines
from decoder.translation.weights import initial_weights
from scfg_sampler.core.streams import in_order
from scfg_sampler.errors import InputError, SettingsError
from tests.decoder import small_grammars as small
from tests.decoder.lm.test_model import random_model

RULES = [("u", "a", [0, 0]), ("v", "b", [0.5, 0]), ("u X1", "X1 c", [1, 1]), ("v", "a a", [0.2, 0])]
WEIGHTS = {"First": 1.0, "Second": 0.5, "LanguageModel": 0.7, "Glue": -0.1, "PassThrough": -2.0}


def decoder(**options) -> Decoder:
    model = random_model(3, 3)
    return Decoder(small.grammar_of(RULES, 5), build_lm(model), LmVocabulary(model.words), WEIGHTS, **options)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_the_order_of_the_inputs(threads):
    def task(i):
        time.sleep(0.002 * (i % 3))
        return i * i

    assert list(in_order(task, range(50), threads)) == [i * i for i in range(50)]


@pytest.mark.parametrize("threads", [1, 3])
def test_a_result_does_not_wait_for_the_next_input(threads):
    asked = threading.Event()

    def inputs():
        yield 1
        assert asked.wait(10)
        yield 2

    results = in_order(lambda i: i, inputs(), threads)
    assert next(results) == 1
    asked.set()
    assert next(results) == 2


@pytest.mark.parametrize("threads", [1, 3])
def test_errors_of_inputs_and_tasks_are_raised_in_their_place(threads):
    def inputs():
        yield from range(5)
        raise InputError("text", 6, "not UTF-8")

    results = in_order(lambda i: i, inputs(), threads)
    assert list(itertools.islice(results, 5)) == list(range(5))
    with pytest.raises(InputError, match="text:6"):
        next(results)
    failing = in_order(lambda i: 1 // (3 - i), range(9), threads)
    assert list(itertools.islice(failing, 3)) == [0, 0, 1]
    with pytest.raises(ZeroDivisionError):
        next(failing)


def test_fewer_than_one_thread_is_refused():
    with pytest.raises(SettingsError, match="--threads is 0"):
        next(in_order(str, [1], 0))


def test_threads_do_not_change_translations():
    one = decoder(beam=5)
    rng = np.random.default_rng(2)
    texts = [list(rng.choice(["u", "v", "x"], size=rng.integers(1, 12))) for _ in range(60)]
    alone = [one.translate(words) for words in texts]
    together = list(in_order(one.translate, texts, 4))
    assert [t.text for t in together] == [t.text for t in alone]
    assert [t.score for t in together] == [t.score for t in alone]


def test_words_that_look_like_something_else_are_copied():
    words = ["[X,1]", "|||", "<s>", "</s>", "<unk>", "[X]", "\u2028", "&#91;"]
    found = decoder().translate(words)
    assert found.words == words
    assert found.features[-1] == len(words)


def test_unknown_words_are_copied_only_where_no_rule_has_them_alone():
    found = decoder().translate(["u", "x", "v"])
    assert "x" in found.words
    assert "v" not in found.words
    assert dict(zip(decoder().feature_names, found.features, strict=True))["PassThrough"] == 1


def test_no_words_translate_to_no_words():
    found = decoder().translate([])
    assert found.words == []
    assert found.score == 0


def test_translations_are_those_of_the_weights_given_later():
    other = decoder().with_weights(-decoder().weights)
    for words in (["u", "v", "u"], ["v"], ["u", "u"]):
        model = random_model(3, 3)
        weights = dict(zip(other.feature_names, other.weights.tolist(), strict=True))
        fresh = Decoder(small.grammar_of(RULES, 5), build_lm(model), LmVocabulary(model.words), weights)
        assert other.translate(words).words == fresh.translate(words).words


def test_a_feature_without_weight_is_an_error_that_names_it():
    model = random_model(3, 3)
    weights = {name: value for name, value in WEIGHTS.items() if name != "Second"}
    with pytest.raises(InputError, match=r"w\.json: no weight for 'Second'"):
        Decoder(
            small.grammar_of(RULES, 5),
            build_lm(model),
            LmVocabulary(model.words),
            weights,
            weights_path="w.json",
        )


def test_a_weight_without_feature_is_a_warning(capsys):
    model = random_model(3, 3)
    Decoder(
        small.grammar_of(RULES, 5),
        build_lm(model),
        LmVocabulary(model.words),
        {**WEIGHTS, "Forgotten": 1.0},
    )
    assert "no feature is called Forgotten" in capsys.readouterr().err
    Decoder(
        small.grammar_of(RULES, 5),
        build_lm(model),
        LmVocabulary(model.words),
        {**WEIGHTS, "Forgotten": 0.0},
    )
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("option", ["beam", "max_targets", "widen"])
def test_negative_limits_are_refused(option):
    with pytest.raises(SettingsError, match="is -1"):
        decoder(**{option: -1})


def test_nbest_lines_have_four_fields_whatever_the_words():
    one = decoder()
    found = one.translations(one.search(["u", "|||", "v"]), 5)
    lines = list(nbest_lines(7, found, one.feature_names))
    assert len(lines) == len(found) > 1
    for line, translation in zip(lines, found, strict=True):
        number, text, features, score = line.split(" ||| ")
        assert number == "7"
        assert text.replace("&#124;&#124;&#124;", "|||") == translation.text
        values = dict(field.split("=") for field in features.split())
        total = sum(WEIGHTS[name] * float(value) for name, value in values.items())
        assert float(score) == pytest.approx(total, abs=1e-4)


def test_initial_weights_know_the_features_of_the_project_under_any_prefix():
    found = initial_weights(["LogForward", "domain.LogForward", "Strange", "PassThrough"])
    assert found == {"LogForward": 0.3, "domain.LogForward": 0.3, "Strange": 0.0, "PassThrough": -10.0}
    names = ["ALogForward", "AStrange", "BLogForward", "TargetWords"]
    found = initial_weights(names, ["A", "Target", ""])
    assert found == {"ALogForward": 0.3, "AStrange": 0.0, "BLogForward": 0.0, "TargetWords": 0.3}


def test_features_of_one_name_are_one_wherever_they_are_told():
    """A table's Glue and the decoder's own have one weight; named twice, one of them would get lost."""
    names = ["Glue", "LanguageModel"]
    rules = [("u", "a", [-1.5, 2.0]), ("v", "b", [-0.25, 0.5]), ("u", "b a", [0.5, -1.0])]
    model = random_model(5, 2)
    weights = {"Glue": 0.5, "LanguageModel": 0.75, "PassThrough": -10.0}
    one = Decoder(
        build_grammar([GrammarSource(small.rule_table(rules, names))]),
        build_lm(model),
        LmVocabulary(model.words),
        weights,
    )
    result = one.search(["u", "v", "u"], keep_states=True)
    best = one.best(result)
    line = next(nbest_lines(0, [best], one.feature_names))
    (fields,) = [field.split() for field in line.split(" ||| ")[2:3]]
    assert len(fields) == len(weights)
    record, graph = derivation_record(one, result, best, 0), hypergraph_record(one, result, 0)
    told = [
        {name: float(value) for name, value in (field.split("=") for field in fields)},
        record["features"],
        {name: sum(node["features"].get(name, 0.0) for node in record["nodes"]) for name in weights},
    ]
    for values in told:
        assert sum(weights[name] * value for name, value in values.items()) == pytest.approx(
            best.score, abs=1e-4
        )
    for edge in graph["edges"]:
        values = edge["features"], graph["rules"][edge["rule"]]["features"]
        assert sum(weights[name] * each[name] for each in values for name in each) == pytest.approx(
            edge["score"]
        )
    of_table = [values[1] for *_, values in rules]
    assert {rule["features"].get("LanguageModel", 0.0) for rule in graph["rules"]} == {0.0, *of_table}
