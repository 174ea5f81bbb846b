"""N-gram queries and the language-model states of chart items.

A back-off model gives p(w | c₁…c_k) = p of the longest n-gram of the model that ends c₁…c_k w, times the
back-off weights of the contexts that are longer. A chart item covers a stretch of target words whose left
neighbours are not known yet, so its first words are scored with what is known, and corrected when
`add_state` supplies the words before them (Li and Khudanpur 2008; Heafield 2011, "faster and smaller
language model queries").

The fact a newcomer would get wrong: a state is not "the first and last order−1 words". It keeps

- on the left, the longest prefix w₁…w_i each of whose prefixes is an n-gram that some longer n-gram of
  the model extends to the left. Beyond it, nothing to the left can change a score any more;
- on the right, the longest suffix that is the context of an n-gram, or has a back-off weight.

A state depends on the words alone, not on the order in which they were put together. Stretches of words with
equal states are scored alike by whatever words surround them. Different states are told apart by some words,
with rare exceptions: a stretch may count as open on its left though all it could become is no context, and
a context is kept if a longer one, which need not be there, has a back-off weight.

Everything here is in natural logarithms.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from decoder.lm.arpa import BEGIN, END, RESERVED, UNKNOWN, model_words, read_arpa
from decoder.lm.table import (
    EXTENDS_LEFT,
    NO_CONTEXT,
    LanguageModel,
    build_lm,
    extended,
    find,
    is_lm_file,
    read_lm_file,
)
from decoder.lm.vocabulary import LmVocabulary, read_classes
from scfg_sampler.core.arrays.array_file import has_magic
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.jit import borrowing, by_reference, kernel
from scfg_sampler.errors import ArpaError
from scfg_sampler.formats import DECODERS
from scfg_sampler.formats.conversion import escaped, unescaped

__all__ = [
    "LanguageModel",
    "LanguageModels",
    "LmVocabulary",
    "TextScores",
    "add_state",
    "add_word",
    "begin",
    "begin_sentence",
    "build_lm",
    "feature_of",
    "finish_sentence",
    "forget_left",
    "forget_right",
    "is_closed",
    "load_lm",
    "load_lms",
    "num_open_words",
    "perplexity_of",
    "score_sentences",
    "score_text",
    "state_width",
    "state_words",
    "unknown_feature_of",
]

_KENLM = b"mmap lm http://kheafield.com/code"  # How all binary files of KenLM begin.
_LMPLZ = "lmplz -o 3 < TEXT > LM.arpa, or scfg-decoder train-lm TEXT --order 3 --output LM.arpa"


def load_lm(path: PathLike, classes: PathLike | None = None) -> tuple[LanguageModel, LmVocabulary]:
    """The compiled model in an ARPA file or in one that `compile-lm` wrote, and its words.

    classes : of words, as `read_classes` reads them, if the words of the model are classes

    Raises
    ------
    ArpaError
        The file is not a usable model, or KenLM's binary one; names the line.
    InputError
        A line of `classes` is no word with its class, or the model does not have the class.
    """
    if is_lm_file(path):
        lm, vocabulary = read_lm_file(path)
    elif has_magic(path, _KENLM):
        found = "is a binary model of KenLM, which only KenLM reads"
        raise ArpaError(path, None, found, "Give the ARPA file it was made of, or make one: " + _LMPLZ)
    else:
        model = read_arpa(path)
        lm, vocabulary = build_lm(model, path), LmVocabulary(model.words)
    return lm, vocabulary if classes is None else read_classes(classes, vocabulary)


class LanguageModels(NamedTuple):
    """Several models and the words of each; scores have a weight for every one."""

    models: tuple[LanguageModel, ...]
    vocabularies: tuple[LmVocabulary, ...]

    def spelled(self, file_format: str) -> LanguageModels:
        """The models for words as a table has them once it is read, if they are of text spelled like it.

        file_format : of the table; any but those of other decoders leaves the models as they are
        """
        if file_format not in DECODERS:
            return self
        read, write = (functools.partial(each, file_format=file_format) for each in (unescaped, escaped))
        return self._replace(vocabularies=tuple(each.spelled(read, write) for each in self.vocabularies))


def load_lms(paths: Sequence[PathLike]) -> LanguageModels:
    """The models in several files, each as for `load_lm`."""
    loaded = [load_lm(path) for path in paths]
    return LanguageModels(tuple(lm for lm, _ in loaded), tuple(vocabulary for _, vocabulary in loaded))


def feature_of(model: int) -> str:
    """The name of the feature that is a model's log probability.

    >>> feature_of(0), feature_of(1)
    ('LanguageModel', 'LanguageModel_1')
    """
    return f"LanguageModel_{model}" if model else "LanguageModel"


def unknown_feature_of(model: int) -> str:
    """The name of the feature that counts the words a model does not know."""
    return f"{feature_of(model)}_OOV"


# ---- States ---------------------------------------------------------------------------------------


def state_width(order: int) -> int:
    """Length of the int32 array that holds a state of a model of that order.

    With n = order − 1: a header (number of left words, number of right words, is the left side closed),
    n left words and their log probabilities (the bits of a float32), n right words from the last to the
    first and the back-offs of the contexts that end with them. Unused places are zero, so two states
    are equal if and only if the arrays are.
    """
    return 1 + 4 * (order - 1)


@borrowing
def begin(lm: LanguageModel, state: np.ndarray) -> None:
    """Make the state that of no words at all. state : int32 (state_width(order),), overwritten."""
    for i in range(len(state)):
        state[i] = 0


@borrowing
def begin_sentence(lm: LanguageModel, state: np.ndarray) -> None:
    """Make the state that of a sentence's beginning, after `<s>`, which is not scored."""
    for i in range(len(state)):
        state[i] = 0
    num_right = 0
    if lm.order > 1 and lm.values[4 * BEGIN + 3] != NO_CONTEXT:
        state[1 + 2 * (lm.order - 1)] = BEGIN
        state[1 + 3 * (lm.order - 1)] = _bits(lm.values[4 * BEGIN + 3])
        num_right = 1
    state[0] = _header(0, num_right, 1)


@borrowing
def add_word(lm: LanguageModel, state: np.ndarray, word: int) -> float:
    """Log probability of a word after the words of the state, which it joins."""
    room = lm.order - 1
    right_words, right_backoffs = 1 + 2 * room, 1 + 3 * room
    num_left, num_right, is_closed = _unpacked(state[0])

    # Lengthen the match to the left while the model has longer n-grams. Back-offs of contexts that
    # match are overwritten by those of the new contexts; the others are charged.
    matched = 1
    entry = word
    key = extended(0, word)
    log_prob, backoff = lm.values[4 * entry + 2], lm.values[4 * entry + 3]
    extends = lm.keys[2 * entry] >= EXTENDS_LEFT
    while extends and matched <= num_right:
        key = extended(key, state[right_words + matched - 1])
        entry = find(lm, key)
        if entry < 0:
            break
        state[right_backoffs + matched - 1] = _bits(backoff)
        log_prob, backoff = lm.values[4 * entry + 2], lm.values[4 * entry + 3]
        extends = lm.keys[2 * entry] >= EXTENDS_LEFT
        matched += 1
    score = np.float64(log_prob)  # In compiled code float() would stay single.
    for j in range(matched - 1, num_right):
        score += np.float64(_number(state[right_backoffs + j]))

    new_right = min(matched, room)
    if matched <= room:
        state[right_backoffs + matched - 1] = _bits(backoff)
    while new_right > 0 and _number(state[right_backoffs + new_right - 1]) == NO_CONTEXT:
        new_right -= 1
    for j in range(new_right - 1, 0, -1):
        state[right_words + j] = state[right_words + j - 1]
    if new_right > 0:
        state[right_words] = word
    _clear(state, room, new_right, max(num_right, min(matched, room)))

    if not is_closed:
        if matched == num_left + 1 and extends:
            state[1 + num_left] = word
            state[1 + room + num_left] = _bits(log_prob)
            num_left += 1
            is_closed = num_left == room or new_right < num_left
        else:
            is_closed = 1
    state[0] = _header(num_left, new_right, is_closed)
    return score


@borrowing
def add_state(lm: LanguageModel, state: np.ndarray, other: np.ndarray) -> float:
    """What the log probability of the words of `other` changes by when those of `state` precede them.

    `state` becomes that of all the words; `other` is only read, and must be another array.
    """
    room = lm.order - 1
    right_words, right_backoffs = 1 + 2 * room, 1 + 3 * room
    num_left, num_right, is_closed = _unpacked(state[0])
    other_left, other_right, other_closed = _unpacked(other[0])
    if num_left == 0 and not is_closed:
        for i in range(len(state)):
            state[i] = other[i]
        return 0.0

    # `usable` words on the right of the state may still be part of an n-gram with the next word; their
    # back-offs are those of the contexts that begin with them and end before that word.
    start_left = num_left
    usable = num_right
    score = 0.0
    for i in range(other_left):
        if usable == 0:
            break
        key = 0
        for j in range(i, -1, -1):
            key = extended(key, other[1 + j])
        known = _number(other[1 + room + i])
        log_prob = known
        extends = True
        matched = 0
        while extends and matched < usable:
            key = extended(key, state[right_words + matched])
            entry = find(lm, key)
            if entry < 0:
                break
            log_prob = lm.values[4 * entry + 2]
            extends = lm.keys[2 * entry] >= EXTENDS_LEFT
            # Read before it is overwritten only by longer matches, which do not charge it.
            if matched + i + 2 <= room:
                state[right_backoffs + matched] = _bits(lm.values[4 * entry + 3])
            matched += 1
        score += np.float64(log_prob) - np.float64(known)
        for j in range(matched, usable):
            score += np.float64(_number(state[right_backoffs + j]))
        if not is_closed:
            if matched == start_left and extends:
                state[1 + num_left] = other[1 + i]
                state[1 + room + num_left] = _bits(log_prob)
                num_left += 1
                is_closed = num_left == room
            else:
                is_closed = 1
        usable = min(matched, room - i - 1)
        while usable > 0 and _number(state[right_backoffs + usable - 1]) == NO_CONTEXT:
            usable -= 1
        if usable < start_left:
            is_closed = 1

    if other_closed:
        for j in range(usable):
            score += np.float64(_number(state[right_backoffs + j]))
        is_closed = 1
        usable = 0
    _append_right(state, other, room, other_right, usable)
    state[0] = _header(num_left, other_right + usable, is_closed)
    return score


@borrowing
def _append_right(state, other, room, other_right, usable):
    """Make the right side that of `other`, with the words of `state` behind it that matter if it is open."""
    right_words, right_backoffs = 1 + 2 * room, 1 + 3 * room
    for j in range(usable - 1, -1, -1):
        state[right_words + other_right + j] = state[right_words + j]
        state[right_backoffs + other_right + j] = _bits(_number(state[right_backoffs + j]))
    for j in range(other_right):
        state[right_words + j] = other[right_words + j]
        state[right_backoffs + j] = other[right_backoffs + j]
    _clear(state, room, other_right + usable, room)


@borrowing
def num_open_words(state: np.ndarray) -> int:
    """How many first words of a stretch await what comes before them: `add_state` scores so many again."""
    return state[0] & 15


@borrowing
def is_closed(state: np.ndarray) -> bool:
    """Whether no word before a stretch can extend an n-gram into it beyond its left words.

    Then its left and its right side have nothing to do with each other.
    """
    return state[0] >> 8 != 0


@borrowing
def forget_right(lm: LanguageModel, state: np.ndarray) -> None:
    """Leave of a closed state what words before it have to know, its left side."""
    for i in range(1 + 2 * (lm.order - 1), len(state)):
        state[i] = 0
    state[0] = _header(state[0] & 15, 0, 1)


@borrowing
def forget_left(lm: LanguageModel, state: np.ndarray) -> None:
    """Leave of a closed state what words after it have to know, its right side."""
    for i in range(1, 1 + 2 * (lm.order - 1)):
        state[i] = 0
    state[0] = _header(0, state[0] >> 4 & 15, 1)


def state_words(state: np.ndarray, order: int) -> tuple[list[int], list[int], bool]:
    """The left and the right words of a state, in the order of the text, and whether its left is closed."""
    header, room = int(state[0]), order - 1
    num_left, num_right, is_closed = header & 15, header >> 4 & 15, header >> 8
    right = state[1 + 2 * room : 1 + 2 * room + num_right]
    return state[1 : 1 + num_left].tolist(), right[::-1].tolist(), bool(is_closed)


@borrowing
def finish_sentence(lm: LanguageModel, state: np.ndarray) -> float:
    """Log probability of `</s>` after the words of the state."""
    return add_word(lm, state, END)


@borrowing
def _number(bits: int) -> np.float32:
    """The number in a place of a state."""
    return np.int32(bits).view(np.float32)


@borrowing
def _bits(number: float) -> np.int32:
    """What a place of a state holds for a number."""
    return np.float32(number).view(np.int32)


@borrowing
def _header(num_left: int, num_right: int, is_closed: int) -> int:
    return num_left | num_right << 4 | is_closed << 8


@borrowing
def _unpacked(header: int) -> tuple[int, int, int]:
    return header & 15, header >> 4 & 15, header >> 8


@borrowing
def _clear(state: np.ndarray, room: int, start: int, stop: int) -> None:
    """Zero the right words and back-offs from `start` to `stop`."""
    for j in range(start, stop):
        state[1 + 2 * room + j] = 0
        state[1 + 3 * room + j] = 0


# ---- Whole sentences ------------------------------------------------------------------------------


class TextScores(NamedTuple):
    """What a model makes of some lines.

    log_probs, unknown_log_probs : float64 (S,), natural logarithms: of each line with its `</s>`, and the
        part of it due to unknown words.
    num_tokens : words and `</s>`s. num_unknown : words the model does not know. num_reserved : those of
        them that are `<s>`, `</s>` or `<unk>`.
    """

    log_probs: np.ndarray
    unknown_log_probs: np.ndarray
    num_tokens: int
    num_unknown: int
    num_reserved: int


def perplexity_of(log_prob: float, tokens: int) -> float:
    """exp(−log_prob / tokens) of at least one token; ∞ where that is beyond all numbers."""
    try:
        return math.exp(-log_prob / tokens)
    except OverflowError:
        return math.inf


def score_text(lm: LanguageModel, vocabulary: LmVocabulary, lines: Sequence[str]) -> TextScores:
    """Score lines of words separated by spaces; an empty line is a sentence of no words."""
    sentences = [model_words(line) for line in lines]
    ids = [vocabulary.id(word) for sentence in sentences for word in sentence]
    words = np.array(ids, dtype=np.int32)
    sentence_start = np.cumsum([0, *map(len, sentences)], dtype=np.int64)
    log_probs, unknown = score_sentences(lm, sentence_start, words)
    num_reserved = sum(word in RESERVED for sentence in sentences for word in sentence)
    num_unknown = int(np.count_nonzero(words == UNKNOWN))
    return TextScores(log_probs, unknown, len(ids) + len(lines), num_unknown, num_reserved)


@kernel
def score_sentences(
    lm: LanguageModel, sentence_start: np.ndarray, words: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Log probability of each sentence with its `</s>`, and the part of it due to unknown words.

    sentence_start : int64 (S+1,), words : int32 (sentence_start[-1],). Returns two float64 (S,).
    """
    num_sentences = len(sentence_start) - 1
    lm = by_reference(lm)
    totals, unknown = np.zeros(num_sentences), np.zeros(num_sentences)
    state = np.zeros(1 + 4 * (lm.order - 1), dtype=np.int32)
    for s in range(num_sentences):
        begin_sentence(lm, state)
        for t in range(sentence_start[s], sentence_start[s + 1]):
            log_prob = add_word(lm, state, words[t])
            totals[s] += log_prob
            if words[t] == UNKNOWN:
                unknown[s] += log_prob
        totals[s] += finish_sentence(lm, state)
    return totals, unknown
