"""Which sentences of a text the source side of a rule can match.

It can if its words occur there in their order, those between two nonterminals next to each other, with at
least one word for every nonterminal.

A run of words is looked up in a sorted list of the text's suffixes; of a rule with several runs the rarest
is, and each sentence it leads to is searched for the whole rule from left to right. The fact a newcomer would
get wrong: always taking the leftmost place for a run is enough, since it leaves the most room for the rest.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.hash_table import find
from scfg_sampler.core.arrays.ragged import lexicographic_order
from scfg_sampler.core.arrays.vocabulary import Vocabulary, split_words
from scfg_sampler.core.arrays.word_pool import WordPool, pool_of
from scfg_sampler.core.jit import borrowing

__all__ = ["NONTERMINAL", "UNKNOWN", "TextIndex", "index_text", "match", "word_of"]

NONTERMINAL, UNKNOWN = -1, -2
"""What stands for a gap in a source side, and for a word that the text does not have."""

_AND, _NUMBER_SIGN, _SEMICOLON, _ZERO, _NINE = 38, 35, 59, 48, 57
_LONGEST = 8  # Words of a suffix that are sorted; longer runs are verified in the text.


class TextIndex(NamedTuple):
    """A text and its suffixes in order.

    words : WordPool, the text's words; `word_of` finds them as a rule table spells them
    start : int64, shape (S + 1,), offsets of the sentences
    text : int32, word ids
    suffixes : int32, positions in `text` in the order of the words that follow up to the sentence's end
    sentence : int32, the sentence of each position
    """

    words: WordPool
    start: np.ndarray
    text: np.ndarray
    suffixes: np.ndarray
    sentence: np.ndarray


def index_text(lines: Iterable[str]) -> TextIndex:
    """The index of a text, given as strings with one sentence each."""
    vocabulary = Vocabulary()
    sentences = [vocabulary.add_all(split_words(line)) for line in lines]
    start = np.zeros(len(sentences) + 1, np.int64)
    np.cumsum([len(sentence) for sentence in sentences], out=start[1:])
    text = np.array(list(itertools.chain.from_iterable(sentences)), np.int32)
    sentence = np.repeat(np.arange(len(sentences), dtype=np.int32), np.diff(start))
    ends = start[1:][sentence] if len(text) else np.zeros(0, np.int64)
    lengths = np.minimum(_LONGEST, ends - np.arange(len(text)))
    row_start = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    rows = text[np.repeat(np.arange(len(text)) - row_start[:-1], lengths) + np.arange(row_start[-1])]
    words = pool_of(word.encode("utf-8", "surrogatepass") for word in vocabulary)
    return TextIndex(words, start, text, lexicographic_order(row_start, rows).astype(np.int32), sentence)


@borrowing
def word_of(words, block, begin, end, room):
    """The id of the word that a table spells as block[begin:end], or UNKNOWN: the twin of `text.unescape`.

    Tables of others have words as they are where ours have codes, and codes where none is needed.

    room : uint8, at least as long
    """
    at = begin
    while at < end and block[at] != _AND:
        at += 1
    if at == end:
        found = find(words, block, begin, end)
    else:
        found = find(words, room, 0, _unescaped(block, begin, end, room))
    return found if found >= 0 else UNKNOWN


@borrowing
def _unescaped(block, begin, end, room):
    """Write a word to `room` with its codes as what they stand for; how many bytes that takes."""
    length, at = 0, begin
    while at < end:
        code, stop = _code(block, at, end)
        if stop == at:
            room[length] = block[at]
            length, at = length + 1, at + 1
        else:
            length, at = _put_character(room, length, code), stop
    return length


@borrowing
def _code(block, at, end):
    """The code point of the `&#N;` at `at`, −1 for `&#;`, and where that ends: `at` if there is none."""
    if at + 2 >= end or block[at] != _AND or block[at + 1] != _NUMBER_SIGN:
        return -1, at
    code, stop = np.int64(0), at + 2
    while stop < end and stop < at + 9 and _ZERO <= block[stop] <= _NINE:
        code = 10 * code + np.int64(block[stop]) - _ZERO
        stop += 1
    if stop == end or block[stop] != _SEMICOLON or 0xD800 <= code <= 0xDFFF or code > 0x10FFFF:
        return -1, at
    return (-1 if stop == at + 2 else code), stop + 1


@borrowing
def _put_character(room, length, code):
    """Append a character as UTF-8, nothing for −1; the length then."""
    if code < 0:
        return length
    if code <= 0x7F:
        room[length] = code
        return length + 1
    more = 1 if code <= 0x7FF else 2 if code <= 0xFFFF else 3
    room[length] = (0xF00 >> more + 1 & 0xFF) | code >> 6 * more
    for k in range(1, more + 1):
        room[length + k] = 0x80 | code >> 6 * (more - k) & 0x3F
    return length + more + 1


@borrowing
def match(symbols, num_symbols, index, every, matched, seen, stamp):
    """How many sentences match (with `every`; else 1 if any does); they are put into `matched`."""
    rarest_low, rarest_high = 0, -1
    k = 0
    while k < num_symbols:
        if symbols[k] == UNKNOWN:
            return 0
        if symbols[k] == NONTERMINAL:
            k += 1
            continue
        end = k
        while end < num_symbols and symbols[end] >= 0:
            end += 1
        length = min(end - k, _LONGEST)
        low = _bound(symbols, k, length, index, False)
        high = _bound(symbols, k, length, index, True)
        if low == high:
            return 0
        if rarest_high < 0 or high - low < rarest_high - rarest_low:
            rarest_low, rarest_high = low, high
        k = end
    number = 0
    if rarest_high < 0:  # Nonterminals only.
        for sentence in range(len(index.start) - 1):
            if index.start[sentence + 1] - index.start[sentence] >= num_symbols:
                matched[number] = sentence
                number += 1
                if not every:
                    break
        return number
    for k in range(rarest_low, rarest_high):
        sentence = index.sentence[index.suffixes[k]]
        if seen[sentence] != stamp:
            seen[sentence] = stamp
            begin, end = index.start[sentence], index.start[sentence + 1]
            if _matches_sentence(symbols, num_symbols, index.text, begin, end):
                matched[number] = sentence
                number += 1
                if not every:
                    break
    return number


@borrowing
def _bound(symbols, begin, length, index, above):
    """The first of the suffixes that is not below those beginning with the run, or the first above them."""
    low, high = 0, len(index.suffixes)
    while low < high:
        middle = (low + high) // 2
        at = index.suffixes[middle]
        end = index.start[index.sentence[at] + 1]
        order = 0  # of the suffix to the run
        for k in range(length):
            if at + k == end:
                order = -1
                break
            if index.text[at + k] != symbols[begin + k]:
                order = -1 if index.text[at + k] < symbols[begin + k] else 1
                break
        if order < 0 or (above and order == 0):
            low = middle + 1
        else:
            high = middle
    return low


@borrowing
def _matches_sentence(symbols, num_symbols, text, at, end):
    """Whether the source side can match somewhere in text[at:end]."""
    k = 0
    while k < num_symbols:
        if symbols[k] == NONTERMINAL:
            at += 1
            k += 1
            continue
        length = 1
        while k + length < num_symbols and symbols[k + length] >= 0:
            length += 1
        while at + length <= end:
            same = 0
            while same < length and text[at + same] == symbols[k + same]:
                same += 1
            if same == length:
                break
            at += 1
        if at + length > end:
            return False
        at += length
        k += length
    return at <= end
