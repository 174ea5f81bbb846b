"""Parts whose translation is given, against the enumeration of all derivations, and hostile markup."""

import json

import numpy as np
import pytest

from decoder.cli import main
from decoder.lm.arpa import write_arpa
from decoder.lm.model import LmVocabulary, build_lm
from decoder.system.phrases import phrases_of
from decoder.translation.decoder import Decoder
from decoder.translation.hypergraph import hypergraph_record
from decoder.translation.markup import read_marked
from scfg_sampler.errors import InputError
from scfg_sampler.rules.table import write_rule_table
from tests.decoder import small_grammars as small
from tests.decoder.lm.test_model import random_model
from tests.decoder.search.several_models import case
from tests.decoder.translation.test_hypergraph import derivations
from tests.decoder.tuning.test_tune import INITIAL, RULES


def marked_case(seed: int):
    """A case of two models, a part of its sentence marked, and the derivations that keep to that."""
    known = case(seed, 2, unknown=seed % 2 == 0, length=5)
    rng = np.random.default_rng(seed)
    begin = int(rng.integers(len(known.words)))
    end = int(rng.integers(begin + 1, len(known.words) + 1))
    given = [str(word) for word in rng.choice(["a", "b", "c", "foreign", "x"], size=int(rng.integers(0, 4)))]
    inside = " ".join(known.words[begin:end])
    part = [f'<n translation="{" ".join(given)}">{inside}</n>']
    marked = read_marked(" ".join(known.words[:begin] + part + known.words[end:]), "in", 1)
    short = [*known.words[:begin], "#", *known.words[end:]]
    max_span = known.grammar.sources[0].max_span
    table = known.grammar.sources[0].table
    rules = rules_of(table)
    rows = []
    oracle = small.Oracle(rules, short, max_span)
    names = ["LanguageModel", "LanguageModel_1"]
    for derivation in oracle.s(len(short)):
        at = derivation.words.index("#")
        words = (*derivation.words[:at], *given, *derivation.words[at + 1 :])
        values = dict(zip((*small.FEATURES, "Glue", "PassThrough"), oracle.features(derivation), strict=True))
        for name, lm, vocabulary in zip(names, known.lms, known.vocabularies, strict=True):
            values[name] = small.sentence_log_prob(lm, vocabulary, words)
        if "LanguageModel_1_OOV" in known.weights:
            values["LanguageModel_1_OOV"] = sum(word not in known.vocabularies[1] for word in words)
        rows.append((sum(known.weights[name] * value for name, value in values.items()), words))
    rows.sort(key=lambda row: -row[0])
    return known.decoder(), marked, rows


def rules_of(table) -> list:
    """The rules of a table as `small` spells them."""
    rules = []
    for row in range(len(table.features)):
        sides = []
        for start, symbols, words in (
            (table.source_start, table.source, table.source_vocabulary.words),
            (table.target_start, table.target, table.target_vocabulary.words),
        ):
            side = symbols[start[row] : start[row + 1]].tolist()
            sides.append(" ".join(words[s] if s >= 0 else f"X{-s}" for s in side))
        rules.append((*sides, table.features[row]))
    return rules


@pytest.mark.parametrize("seed", range(40))
def test_derivations_are_those_of_the_enumeration_that_keep_to_the_translation(seed):
    decoder, marked, rows = marked_case(seed)
    result = decoder.search(marked.words, marked.copies, fixed=marked.fixed, keep_states=True)
    found = decoder.translations(result, len(rows) + 5, unique=False)
    np.testing.assert_allclose([t.score for t in found], [score for score, _ in rows], atol=1e-4)
    assert sorted(tuple(t.words) for t in found) == sorted(words for _, words in rows)
    for t in found:
        assert t.score == pytest.approx(float(t.features @ decoder.weights), abs=1e-9)
    assert decoder.best(result).words == found[0].words
    listed = derivations(json.loads(json.dumps(hypergraph_record(decoder, result, 0))))[-1]
    assert sorted(tuple(row[1]) for row in listed) == sorted(words for _, words in rows)


def test_words_of_a_part_that_the_grammar_knows_are_not_translated_by_it():
    model = random_model(1, 2)

    weights = {"First": 1.0, "Second": 0.0, "LanguageModel": 0.0, "Glue": 0.0, "PassThrough": -9.0}
    grammar = small.grammar_of([("u", "a", (5.0, 0.0)), ("u X1", "X1 b", (5.0, 0.0))], 5)
    for copy_any in (False, True):
        decoder = Decoder(grammar, build_lm(model), LmVocabulary(model.words), weights)
        decoder = decoder.copying_any() if copy_any else decoder
        marked = read_marked('u <n translation="c c">u</n> u', "in", 1)
        found = decoder.best(decoder.search(marked.words, marked.copies, fixed=marked.fixed))
        assert "c c" in found.text
        assert found.features[-1] == 1
        assert sorted(found.words) == ["a", "b", "c", "c"]


def test_phrases_of_a_marked_part_have_all_its_words():
    decoder, *_ = marked_case(0)
    marked = read_marked('y <n translation="p q r">u u</n> z', "in", 1)
    result = decoder.search(marked.words, marked.copies, fixed=marked.fixed)
    best = decoder.best(result)
    phrases = {phrase.source[0]: phrase.target for phrase in phrases_of(decoder, result, best)}
    assert [best.words[at] for at in phrases[1]] == ["p", "q", "r"]
    assert sorted(at for target in phrases.values() for at in target) == list(range(len(best.words)))


def test_marked_sentences_are_read_with_entities_and_spaces():
    found = read_marked("a<b translation='&lt;s&gt; &amp;amp;'>c  d</b>e &quot; &x;\tf\r", "in", 1)
    assert found.words == ["a", "c d", "e", '"', "&x;", "f"]
    assert found.copies == ["a", ("<s>", "&amp;"), "e", '"', "&x;", "f"]
    assert found.fixed == [1]
    assert read_marked(" \t", "in", 1).words == []
    assert read_marked("a\rb c\r", "in", 1).words == ["a\rb", "c"]  # As without markup.
    assert read_marked('<x translation="">u</x>', "in", 1).copies == [()]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('<a translation="x">u', "<a> does not end"),
        ("u </a>", "</a> ends what did not begin"),
        ('<a translation="x">u</b>', "</b> ends what began as <a>"),
        ('<a translation="x">u <b translation="y">v</b></a>', "<b> begins within <a>"),
        ('<a translation="x"> </a>', "<a> has no words"),
        ('<a translation="x||y">u</a>', "<a> has several translations"),
        ("<a>u</a>", "'<a>' is no tag"),
        ("<a translation=x>u</a>", "'<a translation=x>' is no tag"),
        ('<a translation="x" prob="1">u</a>', "is no tag"),
        ("3 < 4", "'< 4' is no tag"),
        ('<a translation="x', "is no tag"),
        ("<" * 100000, "'<' is no tag"),
        ("<" + "a" * 100000, "…' is no tag"),
        ("<!-- x -->", "is no tag"),
    ],
)
def test_hostile_markup_is_refused_with_its_line(line, complaint):
    with pytest.raises(InputError) as refused:
        read_marked(line, "in", 7)
    assert str(refused.value).startswith("in:7: ")
    assert complaint in str(refused.value)
    assert len(str(refused.value)) < 200


def test_the_command_reads_markup_only_if_it_is_told_to(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_rule_table(small.rule_table(RULES), "grammar.gz")
    write_arpa(random_model(5, 2), "lm.arpa")
    (tmp_path / "w.json").write_text(json.dumps(INITIAL))
    (tmp_path / "in").write_text('<n translation="p q">w u</n>\n\nu\n')
    models = ["--grammar", "grammar.gz", "--lm", "lm.arpa", "--weights", "w.json"]
    given = ["--input", "in", "--output", "out", "--quiet"]
    command = ["translate", *models, *given]
    assert main([*command, "--markup", "xml"]) == 0
    assert (tmp_path / "out").read_text().splitlines() == ["p q", "", "b"]
    assert main(["bundle", *models, "--output", "system", "--quiet"]) == 0
    assert main(["translate", "--system", "system", *given, "--markup", "xml", "--derivations", "d"]) == 0
    assert (tmp_path / "out").read_text().splitlines() == ["p q", "", "b"]
    record = json.loads((tmp_path / "d").read_text().splitlines()[0])
    assert record["source"] == ["w u"]
    assert record["nodes"][-1]["target"] == ["p", "q"]
    assert main(command) == 0
    assert (tmp_path / "out").read_text().splitlines()[0].startswith("<n")
    (tmp_path / "in").write_text("u\nu </n>\n")
    assert main([*command, "--markup", "xml"]) == 2
    assert "in:2: </n> ends what did not begin" in capsys.readouterr().err
    assert main([*command, "--markup", "xml", "--reference", "in"]) == 2
    assert "--markup cannot be given beside it" in capsys.readouterr().err
