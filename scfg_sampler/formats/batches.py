"""Rules as text, many at a time: sides, links and numbers spelled column by column.

The `format` of each decoder's module says what the line of one rule is; its `lines` puts the same lines of
a whole table together from what is spelled here, every different number of a column once. The fact a
newcomer would get wrong: −0 and 0 are equal and spelled differently, so numbers are told apart by their bits.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from scfg_sampler.core.arrays.ragged import take_rows
from scfg_sampler.core.arrays.sparse import take
from scfg_sampler.core.arrays.vocabulary import Vocabulary
from scfg_sampler.rules.table import RuleTable

__all__ = [
    "SideTexts",
    "column_texts",
    "in_parts",
    "joined",
    "link_texts",
    "more_texts",
    "texts_of_each",
]

_PART = 1 << 16  # Rules whose texts are in memory at a time.


def in_parts(rows: np.ndarray, advance: Callable[..., object]) -> Iterator[np.ndarray]:
    """Rows, some at a time; `advance` is told of each number when those have been written."""
    for begin in range(0, len(rows), _PART):
        part = rows[begin : begin + _PART]
        yield part
        advance(len(part))


class SideTexts:
    """The two sides of a table's rules as text.

    Parameters
    ----------
    table : RuleTable
    spell, label : how a word and nonterminal number n = 1, 2, … are written
    """

    def __init__(self, table: RuleTable, spell: Callable[[str], str], label: Callable[[int], str]):
        lowest = min(table.source.min(initial=0), table.target.min(initial=0))
        # Nonterminal n is symbol −n, which numpy counts from the end.
        labels = [label(n) for n in range(-int(lowest), 0, -1)]

        def spelled(words: Vocabulary) -> np.ndarray:
            return _objects([*map(spell, words), *labels])

        self._sides = (
            (table.source_start, table.source, spelled(table.source_vocabulary)),
            (table.target_start, table.target, spelled(table.target_vocabulary)),
        )

    def of(self, rows: np.ndarray) -> tuple[list[str], list[str]]:
        """The source sides and the target sides of some rules."""
        source, target = (self._of_side(*side, rows) for side in self._sides)
        return source, target

    @staticmethod
    def _of_side(start: np.ndarray, symbols: np.ndarray, texts: np.ndarray, rows: np.ndarray) -> list[str]:
        start, taken = take_rows(start, symbols, rows)
        return joined(start, texts[taken].tolist())


def joined(start: np.ndarray, texts: Sequence[str], separator: str = " ") -> list[str]:
    """Each row of some texts as one; `start` are the rows' offsets."""
    return [separator.join(texts[begin:end]) for begin, end in itertools.pairwise(start.tolist())]


def link_texts(start: np.ndarray, links: np.ndarray) -> list[str]:
    """Rows of links, int (L, 2), as `i-j i-j …`."""
    numbers, inverse = np.unique(links[:, 0].astype(np.int64) << 32 | links[:, 1], return_inverse=True)
    pairs = [f"{number >> 32}-{number & 0xFFFFFFFF}" for number in numbers.tolist()]
    return joined(start, _objects(pairs)[inverse].tolist())


def column_texts(table: RuleTable, column: int, rows: np.ndarray, spell: Callable) -> list[str]:
    """A feature of some rules as text; `spell` makes texts of a list of different numbers."""
    return texts_of_each(table.features[rows, column], spell)


def texts_of_each(values: np.ndarray, spell: Callable[[list[float]], Sequence[str]]) -> list[str]:
    """Values, float32, as text; `spell` makes texts of a list of different numbers."""
    bits, inverse = np.unique(np.ascontiguousarray(values).view(np.int32), return_inverse=True)
    return _objects(spell(bits.view(np.float32).tolist()))[inverse].tolist()


def more_texts(
    table: RuleTable, rows: np.ndarray, spell: Callable[[str, float], str], separator: str = " "
) -> list[str]:
    """The features that few rules have, of some rules, as text; empty for a table without such."""
    if table.sparse is None:
        return [""] * len(rows)
    start, column, values, _ = take(table.sparse.rows, rows)
    keys = column.astype(np.int64) << 32 | np.ascontiguousarray(values).view(np.uint32)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    names = (table.sparse.names[k] for k in column[first].tolist())
    texts = _objects([spell(*each) for each in zip(names, values[first].tolist(), strict=True)])
    return joined(start, texts[inverse].tolist(), separator)


def _objects(texts: Sequence[str]) -> np.ndarray:
    """An array of texts, which rows of numbers can pick from."""
    array = np.empty(len(texts), object)
    array[:] = texts
    return array
