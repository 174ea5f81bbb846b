"""Language models of classes of words: text scored by them is scored as its classes are."""

import json
import math

import numpy as np
import pytest

import decoder
import scfg_sampler.cli
from decoder.cli import main
from decoder.lm.arpa import write_arpa
from decoder.lm.counts import encode_text
from decoder.lm.estimation import estimate_lm
from decoder.lm.model import load_lm, score_text
from decoder.lm.table import read_lm_file, write_lm_file
from decoder.lm.text_blocks import score_file
from decoder.lm.vocabulary import LmVocabulary
from scfg_sampler.core.arguments import ArgumentError
from scfg_sampler.errors import ArpaError, InputError
from scfg_sampler.rules.table import write_rule_table
from tests.decoder import small_grammars as small
from tests.decoder.lm.test_model import random_model
from tests.decoder.tuning.test_tune import INITIAL, RULES

CLASS_OF = {"the": "D", "a": "D", "cat": "N", "dog": "N", "sleeps": "V", "D": "N", "<s>": "V"}
TEXT = ["the cat sleeps", "a dog sleeps", "the dog", "D sleeps"]


def in_classes(line):
    return " ".join("<unk>" if word == "<s>" else CLASS_OF.get(word, "?") for word in line.split())


@pytest.fixture
def files(tmp_path):
    """A model of classes, with their words."""
    model, _ = estimate_lm(encode_text([in_classes(line) for line in TEXT]), 3)
    write_arpa(model, tmp_path / "c.arpa")
    (tmp_path / "words").write_text("".join(f"{word}\t{label}\n" for word, label in CLASS_OF.items()) + "\n")
    return tmp_path


def test_text_is_scored_as_its_classes_are(files):
    lm, vocabulary = load_lm(files / "c.arpa", files / "words")
    plain, of_classes = load_lm(files / "c.arpa")
    lines = [*TEXT, "", "a cat <s> D", "the zebra N V"]
    expected = score_text(plain, of_classes, [in_classes(line) for line in lines])
    found = score_text(lm, vocabulary, lines)
    assert found.log_probs.tolist() == expected.log_probs.tolist()
    assert (found.num_tokens, found.num_unknown, found.num_reserved) == (expected.num_tokens, 4, 1)
    (files / "text").write_text("".join(line + "\n" for line in lines))
    assert [part.log_probs.tolist() for part in score_file(lm, vocabulary, files / "text")] == [
        expected.log_probs.tolist()
    ]
    assert "the" in vocabulary
    assert not {"N", "V", "<s>", "zebra"} & {
        word for word in ("N", "V", "<s>", "zebra") if word in vocabulary
    }


def test_a_compiled_model_has_its_classes(files, monkeypatch, capsys):
    monkeypatch.chdir(files)
    assert main(["compile-lm", "c.arpa", "--classes", "words", "--output", "c.bin"]) == 0
    assert "order 3, 6 words in 3 classes" in capsys.readouterr().err
    (lm, vocabulary), (expected, known) = load_lm("c.bin"), load_lm("c.arpa", "words")
    assert np.array_equal(lm.keys, expected.keys)
    assert vocabulary.knows_as(known)
    assert (vocabulary.words, vocabulary.class_of) == (known.words, known.class_of)
    assert repr(decoder.load_lm("c.bin")) == "Language model of order 3, 6 words in 3 classes"
    assert (
        decoder.load_lm("c.arpa", "words").perplexity(TEXT)
        == decoder.load_lm("c.bin").perplexity(TEXT)
        == pytest.approx(decoder.load_lm("c.arpa").perplexity([in_classes(line) for line in TEXT]))
    )
    assert main(["compile-lm", "c.bin", "--classes", "words", "--output", "d.bin"]) == 2
    assert "words: are classes of words for a model that has them already" in capsys.readouterr().err


def test_a_decoder_scores_translations_by_the_classes_of_their_words(files, monkeypatch):
    monkeypatch.chdir(files)
    write_rule_table(small.rule_table(RULES), "g.gz")
    class_of = {"a": "D", "b": "N", "c": "D", "d": "V"}
    (files / "own").write_text("".join(f"{word} {label}\n" for word, label in class_of.items()))
    write_arpa(random_model(5, 2), "one.arpa")
    assert main(["compile-lm", "c.arpa", "--classes", "own", "--output", "c.bin", "--quiet"]) == 0
    (files / "w.json").write_text(json.dumps(INITIAL | {"LanguageModel_1": 0.7, "LanguageModel_1_OOV": -0.5}))
    (files / "in").write_text("u v w\nw x\n")
    models = ["--grammar", "g.gz", "--lm", "one.arpa", "--lm", "c.bin", "--weights", "w.json"]
    lists = ["--input", "in", "--nbest", "20", "--quiet", "--output"]
    assert main(["translate", *models, *lists, "out"]) == 0
    plain, of_classes = load_lm("c.arpa")
    seen = set()
    for line in (files / "out").read_text().splitlines():
        _, translation, features, _ = line.split(" ||| ")
        values = dict(each.split("=") for each in features.split())
        labels = " ".join(class_of.get(word, "?") for word in translation.split())
        expected = score_text(plain, of_classes, [labels]).log_probs[0]
        assert float(values["LanguageModel_1"]) == pytest.approx(expected, abs=1e-4)
        assert float(values["LanguageModel_1_OOV"]) == labels.split().count("?")
        seen.add(labels)
    assert len(seen) > 3
    assert any("?" in labels for labels in seen)
    assert main(["bundle", *models, "--output", "system", "--quiet"]) == 0
    assert json.loads((files / "system" / "system.json").read_text())["lm"][1] == {
        "order": 3,
        "words": 4,
        "classes": 3,
    }
    assert main(["translate", "--system", "system", *lists, "again"]) == 0
    assert (files / "again").read_text() == (files / "out").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("cat N\ndog\n", "words:2: 'dog' is no word with its class"),
        ("cat N 3\n", "words:1: 'cat N 3' is no word with its class"),
        ("cat Q\n", "words:1: the language model does not have Q, the class of cat"),
        ("cat <s>\n", "words:1: the language model does not have <s>, the class of cat"),
        ("cat N\ncat N\na D\ncat V\n", "words:4: cat has another class before"),
        ("\n<s> N\n", "words: has no words"),
    ],
)
def test_what_is_no_word_with_its_class_is_refused(files, words, message, monkeypatch, capsys):
    monkeypatch.chdir(files)
    (files / "words").write_text(words)
    assert main(["compile-lm", "c.arpa", "--classes", "words", "--output", "c.bin"]) == 2
    assert message in capsys.readouterr().err
    assert not (files / "c.bin").exists()
    with pytest.raises(InputError):
        decoder.load_lm("c.arpa", "words")


def test_a_compiled_file_with_classes_that_cannot_be_is_refused(files):
    lm, vocabulary = load_lm(files / "c.arpa", files / "words")
    for number in (-1, len(vocabulary)):
        write_lm_file(lm, LmVocabulary(vocabulary.words, {"cat": number}), files / "c.bin")
        with pytest.raises(ArpaError, match="a word has a class that is none"):
            read_lm_file(files / "c.bin")


def test_a_compiled_file_with_fewer_classes_than_words_is_refused(files):
    class OneLess(dict):
        def values(self):
            return list(super().values())[1:]

    lm, vocabulary = load_lm(files / "c.arpa", files / "words")
    vocabulary.class_of = OneLess(vocabulary.class_of)
    write_lm_file(lm, vocabulary, files / "c.bin")
    with pytest.raises(ArpaError, match="there is not a class for each word"):
        read_lm_file(files / "c.bin")


def test_words_that_are_escaped_have_the_classes_of_what_they_stand_for():
    read, write = {"&#91;": "["}, {"[": "&#91;"}
    escaping = [lambda word: read.get(word, word), lambda word: write.get(word, word)]
    vocabulary = LmVocabulary(["<unk>", "<s>", "</s>", "A", "B"], {"a": 3, "&#91;": 4})
    spelled = vocabulary.spelled(*escaping)
    assert [spelled.id(word) for word in ("a", "[", "&#91;")] == [3, 4, 0]
    assert not spelled.knows_as(vocabulary)
    assert spelled.words == vocabulary.words
    mixed = LmVocabulary(vocabulary.words, {"[": 3, "&#91;": 4}).spelled(*escaping)
    assert [mixed.id(word) for word in ("[", "&#91;")] == [3, 4]


def test_reserved_words_of_a_text_have_no_class():
    vocabulary = LmVocabulary(["<unk>", "<s>", "</s>", "A"], {"a": 3, "<s>": 3})
    assert [vocabulary.id(word) for word in ("a", "<s>", "</s>")] == [3, 0, 0]


def test_a_model_of_classes_is_learnt_as_by_the_commands(files, monkeypatch):
    monkeypatch.chdir(files)
    lines = ["a cat sees the dog", "the dog sees a cat", "", "a dog sleeps <s>"]
    (files / "text").write_text("".join(line + "\n" for line in lines))
    options = ["--number", "3", "--output", "classes", "--words", "w", "--quiet"]
    assert scfg_sampler.cli.main(["classes", "text", *options]) == 0
    assert main(["train-lm", "classes", "--order", "2", "--output", "a.arpa", "--quiet"]) == 0
    expected = decoder.load_lm("a.arpa", "w")
    for text in (lines, "text"):
        found = decoder.train_class_lm(text, 3, order=2)
        assert found.vocabulary.knows_as(expected.vocabulary)
        assert found.log_probs([*lines, "dog zebra"]) == pytest.approx(
            expected.log_probs([*lines, "dog zebra"])
        )


def test_there_are_no_more_classes_than_words():
    with pytest.raises(ArgumentError, match=r"^number is 200, but the text has 2 different words"):
        decoder.train_class_lm(["a b"])


def test_perplexity_is_that_of_classes_not_of_words(files):
    lm = decoder.load_lm(files / "c.arpa", files / "words")
    assert lm.perplexity(["the cat"]) == lm.perplexity(["a dog"])
    assert math.isclose(lm.log_probs(["the cat"])[0], lm.log_probs(["a D"])[0])
