"""The hash table of a compiled language model: layout, building, searching, saving.

One open-addressing table holds all n-grams: an entry of 16 bytes each (62 bits of a hash, a flag, the log
probability and the back-off), two thirds full, so 24 bytes an n-gram. N-grams are hashed from the last word
to the first, so that extending one to the left continues its hash.

The fact a newcomer would get wrong: n-grams are not stored, only their hashes. Two n-grams of one model
share 62 bits with a probability of about one in a million for three million n-grams, and building notices it;
an n-gram that is not in the model is taken for one that is with a probability of 1e-12 at that size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from decoder.lm.arpa import MAX_ORDER, RESERVED, ArpaModel
from decoder.lm.rest_costs import rest_costs
from decoder.lm.vocabulary import LmVocabulary
from scfg_sampler.core.arrays.array_file import (
    Layout,
    first_problem,
    has_magic,
    is_within,
    read_array_file,
    write_array_file,
)
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.jit import borrowing, compiled, inlined, kernel
from scfg_sampler.errors import ArpaError

__all__ = [
    "EXTENDS_LEFT",
    "NO_CONTEXT",
    "LanguageModel",
    "build_lm",
    "extended",
    "find",
    "is_lm_file",
    "read_lm_file",
    "write_lm_file",
]

_HALF = 0x7FFFFFFF  # 2³¹−1, a prime; a key is two residues of 31 bits.
_KEY = (1 << 62) - 1
EXTENDS_LEFT = 1 << 62  # Set in an entry's key when some n-gram of the model ends with this one.
_EMPTY = -1
_MAGIC, _OLD_MAGIC = b"scfg-lm 4\n", b"scfg-lm 3\n"  # Old files have no rest costs.
_OLD_LAYOUT = Layout({"order": int, "num_words": int, "num_slots": int}, ["words"], {"keys": ("i8", 1)})
_LAYOUT = _OLD_LAYOUT._replace(arrays={**_OLD_LAYOUT.arrays, "rest": ("f4", 1)})
_CLASS_MAGIC = b"scfg-lm 5\n"  # Of models whose words are classes: the words of texts, and the id of each.
_CLASS_LAYOUT = _LAYOUT._replace(
    words=["words", "of_texts"], arrays={**_LAYOUT.arrays, "class_of": ("i4", 1)}
)
_LAYOUTS = {_MAGIC: _LAYOUT, _CLASS_MAGIC: _CLASS_LAYOUT, _OLD_MAGIC: _OLD_LAYOUT}
NO_CONTEXT = np.float32(np.inf)  # The back-off of an n-gram that no query needs as a context.


class LanguageModel(NamedTuple):
    """A back-off model compiled for queries.

    order : int, the length of the longest n-grams.
    num_words : int; the first `num_words` entries are the unigrams in order of their ids.
    num_slots : int; the entries after them are a hash table with linear probing.
    keys : int64 (2E,). `keys[2i]` is the key of entry i, `_EMPTY` if free, with the flag `EXTENDS_LEFT`.
    values : float32 (4E,), the same memory. `values[4i+2]` is the natural log probability of entry i,
        `values[4i+3]` its log back-off, or +inf if the n-gram matters as a context to no longer one.
    rest : float32 (num_words,), what each word is expected to be worth more once it is known what precedes it
        (`decoder.lm.rest_costs`); searches order by it, no score contains it
    """

    order: int
    num_words: int
    num_slots: int
    keys: np.ndarray
    values: np.ndarray
    rest: np.ndarray


@borrowing
def extended(key: int, word: int) -> int:
    """Key of an n-gram with one more word on its left; the empty n-gram has key 0.

    Two independent residues modulo 2³¹−1. Spelled so that no product overflows 63 bits: the value is
    the same compiled, interpreted and vectorised.
    """
    word = int(word)  # Interpreted, an int32 would overflow.
    high = ((key >> 31) + word + 1) * 0x2545F491
    low = ((key & _HALF) + word + 1) * 0x369DEA0F
    high = (high & _HALF) + (high >> 31)
    low = (low & _HALF) + (low >> 31)
    high = (high & _HALF) + (high >> 31)
    low = (low & _HALF) + (low >> 31)
    return (high ^ high >> 15) << 31 | (low ^ low >> 13)


@borrowing
def find(lm: LanguageModel, key: int) -> int:
    """The entry of an n-gram of two words or more, −1 if the model does not have it."""
    entry = _entry_or_free(lm, key)
    return entry if lm.keys[2 * entry] >= 0 else -1


@inlined
def _entry_or_free(lm, key):
    """The entry of an n-gram of two words or more, or the free one where it belongs.

    A table of its own, apart from `core.arrays.hash_table`: a slot is the whole entry, so that a query reads
    one place of memory, and the table, which is what the file holds, is two thirds full and no power of two,
    where a power of two at most half full would take up to three times the memory.
    """
    slot = (key >> 31) * lm.num_slots >> 31
    while True:
        entry = lm.num_words + slot
        stored = lm.keys[2 * entry]
        if stored < 0 or stored & _KEY == key:
            return entry
        slot += 1
        if slot == lm.num_slots:
            slot = 0


def build_lm(model: ArpaModel, path: PathLike | None = None) -> LanguageModel:
    """The compiled form of a model; `path` is for error messages.

    N-grams that the definition of the probabilities implies but the file omits (pruned tools leave
    `b c` out beside `a b c`) are put in with the probability they have by backing off, because the
    search for the longest match goes from short to long. Values are rounded to single precision first,
    as in a file, so that a model makes the same table before and after it is written.

    Raises
    ------
    ArpaError
        An n-gram is listed twice.
    """
    model = model._replace(ngrams=tuple(np.ascontiguousarray(table) for table in model.ngrams))
    lm = _filled(model, path)
    if any(_lacks_parts(lm, table) for table in model.ngrams[2:]):
        model = _completed(model)
        lm = _filled(model, path)
    is_context = np.zeros(lm.num_words + lm.num_slots, dtype=np.bool_)
    for table in reversed(model.ngrams):
        _mark(lm, table, is_context)
    return lm


def _filled(model: ArpaModel, path: PathLike | None) -> LanguageModel:
    """A table of the n-grams and their values, without marks."""
    higher = sum(len(table) for table in model.ngrams[1:])
    num_words, num_slots = len(model.words), higher + higher // 2 + 1
    keys = np.full(2 * (num_words + num_slots), _EMPTY, dtype=np.int64)
    lm = LanguageModel(model.order, num_words, num_slots, keys, keys.view(np.float32), rest_costs(model))
    for ngrams, *columns in zip(model.ngrams, model.log_probs, model.backoffs, strict=True):
        scaled = [column.astype(np.float32) * np.float32(math.log(10)) for column in columns]
        duplicate = _insert(lm, ngrams, *scaled)
        if duplicate >= 0:
            words = " ".join(model.words[word] for word in ngrams[duplicate])
            found = f"the {ngrams.shape[1]}-gram '{words}' is listed twice"
            raise ArpaError(path, None, found, "Remove one of them")
    return lm


def is_lm_file(path: PathLike) -> bool:
    """Whether a file begins like one written by `write_lm_file`; False if it cannot be read."""
    return any(has_magic(path, magic) for magic in _LAYOUTS)


def write_lm_file(lm: LanguageModel, vocabulary: LmVocabulary, path: PathLike) -> None:
    """Write a compiled model and its words to a file that `read_lm_file` maps into memory."""
    values = {"order": lm.order, "num_words": lm.num_words, "num_slots": lm.num_slots}
    words, arrays = {"words": vocabulary.words}, {"keys": lm.keys, "rest": lm.rest}
    if vocabulary.class_of is None:
        write_array_file(path, _MAGIC, values, words, arrays)
        return
    words["of_texts"] = list(vocabulary.class_of)
    arrays["class_of"] = np.array(list(vocabulary.class_of.values()), np.int32)
    write_array_file(path, _CLASS_MAGIC, values, words, arrays)


def read_lm_file(path: PathLike) -> tuple[LanguageModel, LmVocabulary]:
    """The model and the words in a file of `write_lm_file`; its pages are shared between processes.

    Raises
    ------
    ArpaError
        The file is cut, damaged, from a machine with the other byte order, or holds what no model can be.
    """
    magic = next((each for each in _LAYOUTS if has_magic(path, each)), _MAGIC)
    file = read_array_file(path, magic, _LAYOUTS[magic], ArpaError, "Compile the model again")
    sizes = (file.values["order"], file.values["num_words"], file.values["num_slots"])
    keys, words = file.arrays["keys"], file.words["words"]
    rest = file.arrays["rest"] if "rest" in file.arrays else np.zeros(len(words), np.float32)
    lm = LanguageModel(*sizes, keys, keys.view(np.float32), rest)
    class_of = file.arrays.get("class_of")
    if problem := first_problem(_requirements(lm, words, class_of)):
        raise ArpaError(path, None, f"is no language model: {problem}", "Compile the model again")
    if class_of is None:
        return lm, LmVocabulary(words)
    if len(class_of) != len(file.words["of_texts"]):
        found = "is no language model: there is not a class for each word"
        raise ArpaError(path, None, found, "Compile the model again")
    return lm, LmVocabulary(words, dict(zip(file.words["of_texts"], class_of.tolist(), strict=True)))


def _requirements(
    lm: LanguageModel, words: list[str], class_of: np.ndarray | None
) -> Iterator[tuple[object, str]]:
    """What keeps queries within their arrays and lets them end, and what is said where it does not hold."""
    yield 1 <= lm.order <= MAX_ORDER, f"its order is {lm.order}"
    yield lm.num_words == len(words) and tuple(words[: len(RESERVED)]) == RESERVED, "its words are others"
    yield len(lm.rest) == lm.num_words and bool(np.isfinite(lm.rest).all()), "a rest cost is none"
    entries = lm.num_words + lm.num_slots
    yield lm.num_slots >= 1 and len(lm.keys) == 2 * entries, "its table has another size"
    is_free, is_possible, extends = _surveyed(lm)
    yield is_free, "its table has no free entry"
    yield is_possible, "an entry has no word, or no probability"
    yield lm.order > 1 or not extends, "words extend each other in a model of order 1"
    yield class_of is None or is_within(class_of, 0, lm.num_words - 1), "a word has a class that is none"


@kernel
def _surveyed(lm: LanguageModel) -> tuple[bool, bool, bool]:
    """Whether an entry is free, all others are possible, and some n-gram extends another to the left."""
    is_free, is_possible, extends = False, True, False
    for entry in range(lm.num_words + lm.num_slots):
        if lm.keys[2 * entry] < 0:
            is_free = True
            is_possible &= entry >= lm.num_words
            continue
        log_prob, backoff = lm.values[4 * entry + 2], lm.values[4 * entry + 3]
        is_possible &= abs(log_prob) < np.inf and backoff > -np.inf  # Both are false of NaN.
        extends |= lm.keys[2 * entry] >= EXTENDS_LEFT
    return is_free, is_possible, extends


@kernel
def _insert(lm: LanguageModel, ngrams: np.ndarray, log_probs: np.ndarray, backoffs: np.ndarray) -> int:
    """Put n-grams in the table; the row of one that is there already, or −1."""
    for row in range(len(ngrams)):
        key = _key(ngrams[row])
        entry = row
        if ngrams.shape[1] > 1:
            entry = _entry_or_free(lm, key)
            if lm.keys[2 * entry] != _EMPTY:
                return row
        lm.keys[2 * entry] = key
        lm.values[4 * entry + 2] = log_probs[row]
        lm.values[4 * entry + 3] = backoffs[row]
    return -1


@kernel
def _lacks_parts(lm: LanguageModel, ngrams: np.ndarray) -> bool:
    """Whether the prefix or the suffix of an n-gram, of three words or more, is not in the table."""
    for row in range(len(ngrams)):
        if find(lm, _key(ngrams[row, :-1])) < 0 or find(lm, _key(ngrams[row, 1:])) < 0:
            return True
    return False


@kernel
def _mark(lm: LanguageModel, ngrams: np.ndarray, is_context: np.ndarray) -> None:
    """Mark what each n-gram makes of its prefix and suffix. Longest n-grams first.

    The suffix extends to the left, the prefix is a context. An n-gram matters as a context if it is one,
    has a back-off, or is the suffix of one that matters: then the context cannot be cut shorter.
    """
    num_ngrams, n = ngrams.shape
    for row in range(num_ngrams):
        entry = _entry(lm, ngrams[row])
        backoff = lm.values[4 * entry + 3]
        matters = n < lm.order and (is_context[entry] or backoff != 0.0)
        if not matters:
            lm.values[4 * entry + 3] = NO_CONTEXT
        if n > 1:
            is_context[_entry(lm, ngrams[row, :-1])] = True
            suffix = _entry(lm, ngrams[row, 1:])
            lm.keys[2 * suffix] |= EXTENDS_LEFT
            if matters:
                is_context[suffix] = True


@compiled
def _key(ngram: np.ndarray) -> int:
    """The key of an n-gram, int32 (n,)."""
    key = 0
    for j in range(len(ngram) - 1, -1, -1):
        key = extended(key, ngram[j])
    return key


@compiled
def _entry(lm: LanguageModel, ngram: np.ndarray) -> int:
    """The entry of an n-gram of the model, which may be a single word."""
    return ngram[0] if len(ngram) == 1 else find(lm, _key(ngram))


def _completed(model: ArpaModel) -> ArpaModel:
    """The model with every prefix and suffix of an n-gram, as probable as backing off makes them."""
    ngrams, log_probs, backoffs = list(model.ngrams), list(model.log_probs), list(model.backoffs)
    for n in range(model.order - 1, 1, -1):
        parts = np.concatenate([ngrams[n][:, :-1], ngrams[n][:, 1:]])
        keys = _ngram_keys(parts)
        missing = np.flatnonzero(~np.isin(keys, _ngram_keys(ngrams[n - 1])))
        _, first = np.unique(keys[missing], return_index=True)
        ngrams[n - 1] = np.concatenate([ngrams[n - 1], parts[missing[first]]])
    for n in range(2, model.order):
        keys = _ngram_keys(ngrams[n - 2])
        added = ngrams[n - 1][len(log_probs[n - 1]) :]
        implied = (
            backoffs[n - 2][_rows_of(keys, added[:, :-1])] + log_probs[n - 2][_rows_of(keys, added[:, 1:])]
        )
        log_probs[n - 1] = np.concatenate([log_probs[n - 1], implied])
        backoffs[n - 1] = np.concatenate([backoffs[n - 1], np.zeros(len(added))])
    return ArpaModel(model.words, tuple(ngrams), tuple(log_probs), tuple(backoffs))


@kernel
def _ngram_keys(ngrams: np.ndarray) -> np.ndarray:
    """int64 (N,), the keys of n-grams, int32 (N, n)."""
    keys = np.zeros(len(ngrams), dtype=np.int64)
    for row in range(len(ngrams)):
        keys[row] = _key(ngrams[row])
    return keys


def _rows_of(keys: np.ndarray, ngrams: np.ndarray) -> np.ndarray:
    """The row of each n-gram among keys, which hold them all."""
    order = np.argsort(keys)
    return order[np.searchsorted(keys, _ngram_keys(np.ascontiguousarray(ngrams)), sorter=order)]
