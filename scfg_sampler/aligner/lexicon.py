"""How likely words are to be translations of each other: IBM Model 1 in both directions (Brown et al. 1993).

P(e | f) is learnt by expectation–maximisation from word pairs that occur together, with a source word more in
every sentence, "no word", whose row is `target_alone`; and P(f | e) likewise.

The fact a newcomer would get wrong: there is no table by word and word. Every place of a source word and a
target word in a sentence pair has the number of its word pair, and probabilities are by that number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.hash_table import first_slot, key_slot, mix, new_slots
from scfg_sampler.core.jit import compiled, kernel

__all__ = ["Lexicon", "Text", "learn_lexicon"]


_LONGEST = 1023  # Words of a side: a pair has a place for every two of its words.


class Text(NamedTuple):
    """One side of parallel text."""

    start: np.ndarray
    """int64 (S + 1,): where the words of each sentence begin."""
    words: np.ndarray
    """int32: numbers of words."""
    num_words: int
    """How many different words there are."""


class Lexicon(NamedTuple):
    """Probabilities of word pairs."""

    start: np.ndarray
    """int64 (S + 1,): where the places of each sentence pair begin; those of too long pairs have none."""
    pair: np.ndarray
    """int32: the word pair at each place; source word i and target word j are at i × (target words) + j."""
    target_given_source: np.ndarray
    """float64 (P,), by word pair."""
    source_given_target: np.ndarray
    """float64 (P,)."""
    target_alone: np.ndarray
    """float64 (V_target,): P(target word | no word)."""
    source_alone: np.ndarray
    """float64 (V_source,): P(source word | no word)."""
    target_share: np.ndarray
    """float64 (V_target,): the share of each word in the text."""
    source_share: np.ndarray
    """float64 (V_source,)."""


def learn_lexicon(source: Text, target: Text, passes: int = 5) -> Lexicon:
    """IBM Model 1 of both directions, after some passes of expectation–maximisation from uniform.

    Nothing is learnt of pairs with more than 1023 words on a side.

    Parameters
    ----------
    source, target : Text
        With as many sentences.
    passes : int

    >>> german = Text(np.array([0, 2, 3]), np.array([0, 1, 0], np.int32), 2)
    >>> english = Text(np.array([0, 2, 3]), np.array([0, 1, 0], np.int32), 2)
    >>> lexicon = learn_lexicon(german, english, 20)
    >>> lexicon.pair.tolist()
    [0, 1, 2, 3, 0]
    >>> lexicon.target_given_source.round(2).tolist()  # das the, das house, haus the, haus house
    [0.98, 0.02, 0.0, 1.0]
    """
    lengths = np.diff(source.start), np.diff(target.start)
    sizes = np.where(np.maximum(*lengths) <= _LONGEST, lengths[0] * lengths[1], 0)
    start = np.concatenate(([0], np.cumsum(sizes)))
    pair, words = _number_pairs(source, target, start)
    target_given_source, target_alone = _model_1(source, target, start, pair, words[:, 0], False, passes)
    source_given_target, source_alone = _model_1(target, source, start, pair, words[:, 1], True, passes)
    target_share, source_share = (
        np.bincount(text.words, minlength=text.num_words) / max(1, len(text.words))
        for text in (target, source)
    )
    return Lexicon(
        start,
        pair,
        target_given_source,
        source_given_target,
        target_alone,
        source_alone,
        target_share,
        source_share,
    )


@kernel
def _number_pairs(source, target, start):
    """The number of the word pair at each place, int32; and the words of each pair, int32 (P, 2)."""
    pair = np.empty(start[-1], np.int32)
    keys, numbers = new_slots(1 << 12), np.empty(1 << 13, np.int32)
    words = np.empty((1 << 12, 2), np.int32)
    size = 0
    at = 0
    for sentence in range(len(start) - 1):
        if start[sentence + 1] == start[sentence]:
            continue
        for i in range(source.start[sentence], source.start[sentence + 1]):
            for j in range(target.start[sentence], target.start[sentence + 1]):
                slot = _slot_of(keys, source.words[i], target.words[j], target.num_words)
                if keys[slot] == 0:
                    keys[slot] = np.int64(source.words[i]) * target.num_words + target.words[j] + 1
                    numbers[slot] = size
                    words[size, 0], words[size, 1] = source.words[i], target.words[j]
                    size += 1
                pair[at] = numbers[slot]
                at += 1
                if size == len(words):
                    keys, numbers, words = _twice(words, target.num_words)
    return pair, words[:size].copy()


@compiled
def _slot_of(keys, source_word, target_word, num_target):
    """The slot of a pair of words, or the free one where it belongs."""
    key = np.int64(source_word) * num_target + target_word + 1
    return key_slot(keys, key, first_slot(keys, np.int64(mix(np.uint64(0), key) >> np.uint64(1))))


@compiled
def _twice(words, num_target):
    """The table of word pairs in twice the room."""
    size = len(words)
    keys = new_slots(2 * size)
    numbers = np.empty(len(keys), np.int32)
    more = np.empty((2 * size, 2), np.int32)
    for number in range(size):
        slot = _slot_of(keys, words[number, 0], words[number, 1], num_target)
        keys[slot] = np.int64(words[number, 0]) * num_target + words[number, 1] + 1
        numbers[slot] = number
        more[number, 0], more[number, 1] = words[number, 0], words[number, 1]
    return keys, numbers, more


@kernel
def _model_1(given, made, start, pair, given_of_pair, is_reverse, passes):
    """P(made word | given word) by word pair, and P(made word | no word) by made word."""
    probs, alone = np.ones(len(given_of_pair)), np.ones(made.num_words)
    for _ in range(passes):
        counts, counts_alone = np.zeros(len(probs)), np.zeros(len(alone))
        for sentence in range(len(start) - 1):
            made_words = made.words[made.start[sentence] : made.start[sentence + 1]]
            num_given = given.start[sentence + 1] - given.start[sentence]
            places = pair[start[sentence] : start[sentence + 1]]
            if len(places) < len(made_words) * num_given:
                continue  # It is too long.
            numbers = places.reshape(len(made_words), num_given) if is_reverse else _turned(places, num_given)
            _expect(made_words, numbers, (probs, alone), (counts, counts_alone))
        total, total_alone = np.zeros(given.num_words), 0.0
        for number in range(len(probs)):
            total[given_of_pair[number]] += counts[number]
        for word in range(len(alone)):
            total_alone += counts_alone[word]
        for number in range(len(probs)):
            probs[number] = counts[number] / total[given_of_pair[number]]
        for word in range(len(alone)):
            alone[word] = counts_alone[word] / total_alone if total_alone > 0.0 else 0.0
    return probs, alone


@compiled
def _turned(places, num_rows):
    """The numbers of word pairs by made word and given word, where they lie by given word and made word."""
    num_columns = len(places) // max(1, num_rows)
    turned = np.empty((num_columns, num_rows), np.int32)
    for row in range(num_rows):
        for column in range(num_columns):
            turned[column, row] = places[row * num_columns + column]
    return turned


@compiled
def _expect(made_words, numbers, model, expected):
    """Add what is expected of a sentence pair to the counts.

    Parameters
    ----------
    made_words : int32 (m,)
    numbers : int32 (m, n)
        Word pairs by made and given word.
    model, expected : (float64 (P,), float64 (V,))
        Probabilities and counts, of word pairs and of words that are made alone.
    """
    (probs, alone), (counts, counts_alone) = model, expected
    for j in range(len(made_words)):
        word = made_words[j]
        total = alone[word]
        for i in range(numbers.shape[1]):
            total += probs[numbers[j, i]]
        counts_alone[word] += alone[word] / total
        for i in range(numbers.shape[1]):
            counts[numbers[j, i]] += probs[numbers[j, i]] / total
