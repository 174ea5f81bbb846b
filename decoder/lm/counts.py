"""Text as word ids, and its n-grams in lexicographic order.

`ids[p]` is the id of the n-gram that begins at position p of the text. One word longer, it is the pair of
that id and the word after it, so one sort of integers per order numbers all n-grams; and what follows the
first word is the n-gram at p + 1.

Everything longer than the vocabulary is a table on disk, read and sorted in blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from decoder.lm.arpa import BEGIN, END, RESERVED, UNKNOWN, model_words
from scfg_sampler.core.arrays.external import Scratch, Sorter, Table, scatter
from scfg_sampler.errors import InputError

__all__ = ["NGRAM", "TrainingText", "count_ngrams", "encode_text", "parts"]

# The n-grams of one length, in lexicographic order of word ids; a row's number is the n-gram's id.
# prefix, suffix : ids of the n-grams one word shorter (0 for words). begins : whether the first word is <s>.
NGRAM = np.dtype([("prefix", "i8"), ("suffix", "i8"), ("word", "i4"), ("begins", "?"), ("occurrences", "i8")])
_OCCURRENCE = np.dtype([("key", "i8"), ("suffix", "i8"), ("place", "i8"), ("begins", "?")])
_PAIR = np.dtype([("key", "i8"), ("value", "i8")])


class TrainingText(NamedTuple):
    """A text as word ids.

    words : list of str; ids 0, 1, 2 are `<unk>`, `<s>`, `</s>`, the rest in order of appearance.
    tokens : int32 (T,), in memory or on disk; every sentence is `<s>` words `</s>`, one after the other.
    num_reserved : how many words of the text looked like `<unk>`, `<s>` or `</s>` and became `<unk>`.
    """

    words: list[str]
    tokens: np.ndarray | Table
    num_reserved: int


def encode_text(lines: Iterable[str], path: object = None, scratch: Scratch | None = None) -> TrainingText:
    """Lines of words separated by spaces, as ids. An empty line is a sentence of no words.

    Parameters
    ----------
    lines : without their ends
    path : for the message
    scratch : where to put the ids; they stay in memory without one

    Raises
    ------
    InputError
        There is no line at all.
    """
    ids = {word: i for i, word in enumerate(RESERVED)}
    blocks: list[np.ndarray] = []
    table = None if scratch is None else scratch.table(np.int32)
    limit = 1_000_000 if scratch is None else scratch.block_rows(np.int64)
    block: list[int] = []
    num_reserved = 0
    for line in lines:
        sentence = [ids.setdefault(word, len(ids)) for word in model_words(line)]
        if sentence and min(sentence) <= END:
            num_reserved += sum(word <= END for word in sentence)
            sentence = [word if word > END else UNKNOWN for word in sentence]
        block.append(BEGIN)
        block += sentence
        block.append(END)
        if len(block) > limit:
            part = np.array(block, dtype=np.int32)
            if table is None:
                blocks.append(part)
            else:
                table.append(part)
            block = []
    last = np.array(block, dtype=np.int32)
    tokens: np.ndarray | Table
    if table is None:
        tokens = np.concatenate([*blocks, last])
    else:
        table.append(last)
        tokens = table
    if len(tokens) == 0:
        raise InputError(path, None, "there is no text", "Give one sentence per line")
    return TrainingText(list(ids), tokens, num_reserved)


def count_ngrams(text: TrainingText, order: int, scratch: Scratch) -> list[Table]:
    """The n-grams of every length up to `order`, a table of `NGRAM` rows each; the last may be empty."""
    tokens, num_words, rows = text.tokens, len(text.words), scratch.block_rows(_OCCURRENCE)
    level = np.zeros(num_words, NGRAM)
    level["word"] = np.arange(num_words)
    level["begins"] = level["word"] == BEGIN
    for start in range(0, len(tokens), rows):
        level["occurrences"] += np.bincount(tokens[start : start + rows], minlength=num_words)
    levels = [scratch.table(NGRAM)]
    levels[0].append(level)
    ids: np.ndarray | Table = tokens
    for n in range(2, order + 1):
        sorter = Sorter(scratch, _OCCURRENCE)
        for start in range(0, len(tokens) - n + 1, rows):
            count = min(rows, len(tokens) - n + 1 - start)
            ahead, own = tokens[start : start + count + n - 1], ids[start : start + count + 1]
            places = np.flatnonzero((own[:count] >= 0) & (ahead[n - 2 : n - 2 + count] != END))
            found = np.empty(len(places), _OCCURRENCE)
            found["key"] = own[places].astype(np.int64) * num_words + ahead[places + n - 1]
            found["suffix"] = own[places + 1]
            found["place"] = places + start
            found["begins"] = ahead[places] == BEGIN
            sorter.add(found)
        level_table, pairs = _number(sorter, num_words, scratch)
        levels.append(level_table)
        if n < order:
            ids = scatter(scratch, len(tokens), -1, pairs)
        pairs.discard()
    return levels


def _number(sorter: Sorter, num_words: int, scratch: Scratch) -> tuple[Table, Table]:
    """The n-grams among sorted occurrences, and pairs of each occurrence's place and n-gram."""
    level, pairs = scratch.table(NGRAM), scratch.table(_PAIR)
    pending = np.empty(0, NGRAM)  # The last n-gram, which the next block may go on with.
    last_key, number = -1, -1
    for block in sorter.blocks():
        key = block["key"]
        is_new = np.append(key[0] != last_key, key[1:] != key[:-1])
        pair = np.empty(len(block), _PAIR)
        pair["key"], pair["value"] = block["place"], number + np.cumsum(is_new)
        pairs.append(pair)
        starts = np.flatnonzero(is_new)
        fresh = np.empty(len(starts), NGRAM)
        first = block[starts]
        fresh["prefix"], fresh["word"] = first["key"] // num_words, first["key"] % num_words
        fresh["suffix"], fresh["begins"] = first["suffix"], first["begins"]
        fresh["occurrences"] = np.diff(np.append(starts, len(block)))
        if len(pending):
            pending["occurrences"] += starts[0] if len(starts) else len(block)
        pending = np.concatenate([pending, fresh])
        level.append(pending[:-1])
        pending = pending[-1:]
        last_key, number = int(key[-1]), number + len(starts)
    level.append(pending)
    return level, pairs


def parts(table: Table) -> Iterator[slice]:
    """Slices that cover a table, of no more rows than a block of n-grams has."""
    rows = table.scratch.block_rows(NGRAM)
    for start in range(0, len(table), rows):
        yield slice(start, start + rows)
