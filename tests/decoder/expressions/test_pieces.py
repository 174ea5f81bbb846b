"""Pieces of words: beginnings and pairs of letters, and that what was never seen whole is known by them."""

from hypothesis import given
from hypothesis import strategies as st

from decoder.expressions.pieces import beginnings, letter_pairs
from decoder.expressions.ranker import Candidate, best_candidate, train_ranker

WORDS = st.lists(st.text(st.characters(exclude_characters="<>_ ", exclude_categories=["C", "Z"]), min_size=1))


@given(WORDS)
def test_words_are_read_off_their_pairs(words):
    pairs = letter_pairs(words)
    assert all(len(pair) == 2 for pair in pairs)
    assert "".join(pair[0] for pair in pairs) == "".join(f"_{word}" for word in words)
    assert "".join(pair[1] for pair in pairs) == "".join(f"{word}_" for word in words)


@given(WORDS)
def test_beginnings_are_as_many_as_words(words):
    found = beginnings(words)
    assert len(found) == len(words)
    assert all(
        word.startswith(each) and len(each) == min(2, len(word))
        for each, word in zip(found, words, strict=True)
    )


def test_kinds_of_names_stay_whole_and_other_signs_do_not():
    words = ["<stateid@1|cityid@1>", "<", ">", "<a"]
    assert beginnings(words) == [words[0], "<", ">", "<a"]
    assert letter_pairs(words) == [words[0], "_<", "<_", "_>", ">_", "_<", "<a", "a_"]


def test_a_word_never_seen_is_known_by_its_pieces():
    """`densities` and `bigger` are neither, but begin and sound like what training has."""
    pairs = [("density of states", "a@1 d@1 s@0"), ("size of states", "a@1 z@1 s@0"), ("density", "a@1 d@0")]
    pairs += [("big states", "a@1 b@1 s@0"), ("size", "a@1 z@0"), ("small states", "a@1 m@1 s@0")] * 2
    sources, trees = ([text.split() for text in side] for side in zip(*pairs, strict=True))
    candidates = [Candidate(tree, {}) for tree in dict.fromkeys(map(tuple, trees))]
    lists = [[candidates for _ in trees[part::2]] for part in range(2)]
    ranker = train_ranker(sources, trees, lists, {})
    level = dict.fromkeys(ranker.weights, 0.0)
    choices = ["a@1 d@1 s@0", "a@1 z@1 s@0", "a@1 b@1 s@0", "a@1 m@1 s@0"]
    given_ones = [Candidate(text.split(), {}) for text in choices]
    for words, right in ((["densities", "of", "states"], 0), (["bigger", "states"], 2)):
        for name in ("BeginningsInContextGivenSymbols", "LettersInContextGivenPairs"):
            chosen = best_candidate(ranker._replace(weights=level | {name: 1.0}), words, given_ones)
            assert chosen == right, (name, words)
