"""Lexical translation probabilities both ways, and the lexical weights of rules.

Every link counts its word pair once, and a word without links counts once as a translation of NULL (Koehn,
Och and Marcu 2003, section 4.3)::

    w(f | e) = count(f, e) / Σ_f' count(f', e)          w(e | f) = count(f, e) / Σ_e' count(f, e')

A rule with word alignment a has the lexical weight

    lex(source | target, a) = Π_i  mean of w(f_i | e_j) over the links (i, j) in a, or w(f_i | NULL) if none

over its source words, and likewise the other way. The fact a newcomer would get wrong: Moses' `lex.f2e`
holds w(e | f), and its lines begin with the *target* word; `lex.e2f` holds w(f | e), source word first.

Words are written as they are but for what would break a line or be taken for no word: white space, control
characters, byte order marks and the N of the word NULL as `&#N;`, N the code point. So words that Moses'
tokeniser has escaped stay what Moses expects.
"""

from __future__ import annotations

from array import array
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from scfg_sampler.core import elementary
from scfg_sampler.core.arrays.hash_table import (
    first_candidate,
    free_slot,
    mix,
    new_slots,
    next_candidate,
    number_in,
    put,
)
from scfg_sampler.core.arrays.vocabulary import Vocabulary, split_words
from scfg_sampler.core.files import PathLike, atomic_output, read_lines
from scfg_sampler.core.jit import compiled, kernel
from scfg_sampler.core.numerals import real_number
from scfg_sampler.corpus.parallel_text import ParallelCorpus
from scfg_sampler.errors import InputError
from scfg_sampler.rules.counts import RuleCounts
from scfg_sampler.rules.text import guards

__all__ = [
    "NULL",
    "LexicalTables",
    "estimate",
    "lexical_probabilities",
    "lexical_weights",
    "read_lexical",
    "write_lexical",
]

NULL = -1
_NULL_WORD = "NULL"
_escape, _unescape = guards(_NULL_WORD)
_SEED = np.uint64(0)
_FLOOR = 1e-7  # Of a pair never seen linked: what Moses gives it.


class LexicalTables(NamedTuple):
    """Word pairs seen linked, and their probabilities both ways.

    pair_keys : int64, shape (P,), ascending: (source id + 1) · 2³² + target id + 1, ids −1 being NULL
    target_given_source, source_given_target : float64, shape (P,)
    slots : int64, numbers of rows by the hashes of their keys, see `core.arrays.hash_table`
    """

    pair_keys: np.ndarray
    target_given_source: np.ndarray
    source_given_target: np.ndarray
    slots: np.ndarray

    @property
    def num_pairs(self) -> int:
        return len(self.pair_keys)


def estimate(corpus: ParallelCorpus) -> LexicalTables:
    """The tables of a word-aligned corpus."""
    linked_source = corpus.links[:, 0] + np.repeat(corpus.source_start[:-1], np.diff(corpus.link_start))
    linked_target = corpus.links[:, 1] + np.repeat(corpus.target_start[:-1], np.diff(corpus.link_start))
    alone_source = np.ones(len(corpus.source), bool)
    alone_source[linked_source] = False
    alone_target = np.ones(len(corpus.target), bool)
    alone_target[linked_target] = False
    keys = np.concatenate(
        [
            _pair_keys(corpus.source[linked_source], corpus.target[linked_target]),
            _pair_keys(corpus.source[alone_source], NULL),
            _pair_keys(NULL, corpus.target[alone_target]),
        ]
    )
    pair_keys, counts = np.unique(keys, return_counts=True)
    source, target = _pair_ids(pair_keys)
    of_source = np.bincount(source + 1, weights=counts)
    of_target = np.bincount(target + 1, weights=counts)
    return _with_slots(pair_keys, counts / of_source[source + 1], counts / of_target[target + 1])


def lexical_probabilities(tables: LexicalTables, source: int, target: int) -> tuple[float, float]:
    """(w(target | source), w(source | target)) of two word ids, either of which may be NULL; 0 if unseen."""
    key = int(_pair_keys(source, target))
    row = int(np.searchsorted(tables.pair_keys, key))
    if row == len(tables.pair_keys) or tables.pair_keys[row] != key:
        return 0.0, 0.0
    return float(tables.target_given_source[row]), float(tables.source_given_target[row])


def lexical_weights(counts: RuleCounts, tables: LexicalTables) -> tuple[np.ndarray, np.ndarray]:
    """ln lex(target | source) and ln lex(source | target) of every rule; float64, shape (R,).

    A pair that is not in the tables has probability 1e-7.
    """
    source, target = (counts.source_start, counts.source), (counts.target_start, counts.target)
    return _lexical_weights(*source, *target, counts.alignment_start, counts.alignment, tables)


def write_lexical(
    tables: LexicalTables, source_vocabulary: Vocabulary, target_vocabulary: Vocabulary, prefix: PathLike
) -> None:
    """Write `PREFIX.f2e` and `PREFIX.e2f` in Moses' format: two words and a probability a line."""
    source, target = _pair_ids(tables.pair_keys)
    source_words = [*map(_escape, source_vocabulary.words), _NULL_WORD]
    target_words = [*map(_escape, target_vocabulary.words), _NULL_WORD]
    for suffix, probs in (("f2e", tables.target_given_source), ("e2f", tables.source_given_target)):
        with atomic_output(f"{prefix}.{suffix}") as stream:
            for f, e, prob in zip(source.tolist(), target.tolist(), probs.tolist(), strict=True):
                first, second = source_words[f], target_words[e]
                if suffix == "f2e":
                    first, second = second, first
                stream.write(f"{first} {second} {prob:.7f}\n")


def read_lexical(
    prefix: PathLike, source_vocabulary: Vocabulary, target_vocabulary: Vocabulary
) -> LexicalTables:
    """The tables of `PREFIX.f2e` and `PREFIX.e2f`; words not in the vocabularies are added to them.

    Raises
    ------
    InputError
        A line is not two words and a probability; file and line are named.
    """
    columns = []
    for suffix in ("f2e", "e2f"):
        path = f"{prefix}.{suffix}"
        pairs, probs = array("q"), array("d")
        for line, text in enumerate(read_lines(path), start=1):
            first, second, prob = _lexical_line(text, path, line)
            f, e = (second, first) if suffix == "f2e" else (first, second)
            source = NULL if f == _NULL_WORD else source_vocabulary.add(_unescape(f))
            target = NULL if e == _NULL_WORD else target_vocabulary.add(_unescape(e))
            pairs.append(((source + 1) << 32) + target + 1)
            probs.append(prob)
        columns.append(_last_of_each(np.frombuffer(pairs, np.int64), np.frombuffer(probs, np.float64)))
        del pairs, probs
    (pair_keys, forward), (others, backward) = columns
    if np.array_equal(pair_keys, others):  # As in what `write_lexical` wrote: nothing has to be made anew.
        return _with_slots(pair_keys, forward, backward)
    pair_keys = np.union1d(pair_keys, others)
    tables = []
    for keys, values in columns:
        tables.append(np.zeros(len(pair_keys)))
        tables[-1][np.searchsorted(pair_keys, keys)] = values
    return _with_slots(pair_keys, *tables)


def _last_of_each(keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Different keys, ascending, each with the value that it came with last."""
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    is_last = np.append(keys[1:] != keys[:-1], True)[: len(keys)]
    if is_last.all():
        return keys, values[order]
    return keys[is_last], values[order[is_last]]


def _lexical_line(text: str, path: str, line: int) -> tuple[str, str, float]:
    fields = split_words(text)
    try:
        first, second, prob = fields[0], fields[1], real_number(fields[2])
        if len(fields) == 3 and 0.0 <= prob <= 1.0:
            return first, second, prob
    except (ValueError, IndexError):
        pass
    raise InputError(path, line, f"{text!r} is not a lexical entry", "Expected two words and a probability")


def _pair_keys(source: ArrayLike, target: ArrayLike) -> np.ndarray:
    return ((np.asarray(source, np.int64) + 1) << 32) + (np.asarray(target, np.int64) + 1)


def _pair_ids(pair_keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return (pair_keys >> 32) - 1, (pair_keys & 0xFFFFFFFF) - 1


def _with_slots(pair_keys: np.ndarray, forward: np.ndarray, backward: np.ndarray) -> LexicalTables:
    return LexicalTables(pair_keys, forward, backward, _make_slots(pair_keys))


@kernel
def _make_slots(pair_keys):
    slots = new_slots(len(pair_keys))
    for row in range(len(pair_keys)):
        code = mix(_SEED, pair_keys[row])
        put(slots, free_slot(slots, code), code, row)
    return slots


@compiled
def _row(tables, source, target):
    """The pair's row, or −1."""
    key = ((np.int64(source) + 1) << 32) + np.int64(target) + 1
    code = mix(_SEED, key)
    slot = first_candidate(tables.slots, code, 0)
    row = number_in(tables.slots, slot)
    while row >= 0 and tables.pair_keys[row] != key:
        slot = next_candidate(tables.slots, code, 0, slot)
        row = number_in(tables.slots, slot)
    return row


@kernel
def _lexical_weights(source_start, source, target_start, target, alignment_start, alignment, tables):
    num_rules = len(source_start) - 1
    forward = np.zeros(num_rules)
    backward = np.zeros(num_rules)
    for rule in range(num_rules):
        words = source[source_start[rule] : source_start[rule + 1]]
        translation = target[target_start[rule] : target_start[rule + 1]]
        links = alignment[alignment_start[rule] : alignment_start[rule + 1]]
        for j in range(len(translation)):
            if translation[j] >= 0:
                total, number = 0.0, 0
                for k in range(len(links)):
                    if links[k, 1] == j:
                        row = _row(tables, words[links[k, 0]], translation[j])
                        total += tables.target_given_source[row] if row >= 0 else 0.0
                        number += 1
                if number == 0:
                    row = _row(tables, NULL, translation[j])
                    total, number = tables.target_given_source[row] if row >= 0 else 0.0, 1
                forward[rule] += elementary.log(max(total / number, _FLOOR))
        for i in range(len(words)):
            if words[i] >= 0:
                total, number = 0.0, 0
                for k in range(len(links)):
                    if links[k, 0] == i:
                        row = _row(tables, words[i], translation[links[k, 1]])
                        total += tables.source_given_target[row] if row >= 0 else 0.0
                        number += 1
                if number == 0:
                    row = _row(tables, words[i], NULL)
                    total, number = tables.source_given_target[row] if row >= 0 else 0.0, 1
                backward[rule] += elementary.log(max(total / number, _FLOOR))
    return forward, backward
