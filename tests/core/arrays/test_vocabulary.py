"""A vocabulary numbers words in their order, and lines split at spaces and tabs only."""

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from scfg_sampler.core.arrays.vocabulary import Vocabulary, split_words

WORDS = st.text(st.characters(codec="utf-8", exclude_characters=" \t\n\r"), min_size=1)


@given(st.lists(WORDS))
def test_words_joined_by_a_space_come_back(words):
    assert split_words(" ".join(words)) == words
    assert split_words("\t " + " \t".join(words) + " \r") == words


def test_an_empty_line_has_no_words():
    assert split_words("") == split_words(" \t ") == split_words("\r") == []


@given(st.lists(WORDS))
def test_ids_are_dense_in_the_order_of_first_sight(words):
    vocabulary = Vocabulary()
    ids = vocabulary.add_all(words)
    assert vocabulary.words == list(dict.fromkeys(words))
    assert [vocabulary.words[i] for i in ids] == words
    assert [vocabulary.id(word) for word in words] == ids == [vocabulary.add(word) for word in words]


def test_asking_for_a_word_does_not_add_it():
    vocabulary = Vocabulary(["a"])
    assert vocabulary.id("b") == -1
    assert "b" not in vocabulary
    assert len(vocabulary) == 1


def test_vocabularies_are_equal_if_their_words_are_in_their_order():
    assert Vocabulary(["a", "b"]) == Vocabulary(["a", "b"])
    for other in (Vocabulary(["b", "a"]), Vocabulary(["a"]), ["a", "b"]):
        assert Vocabulary(["a", "b"]) != other


def test_pickling_keeps_words_and_ids():
    vocabulary = Vocabulary(["b", "a", ""])
    copy = pickle.loads(pickle.dumps(vocabulary))
    assert copy == vocabulary
    assert copy.id("a") == 1
    assert copy.add("new") == 3
    assert len(vocabulary) == 3
