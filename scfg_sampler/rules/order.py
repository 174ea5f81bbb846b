"""The order of the lines of a rule table, as `LC_ALL=C sort` has it.

Rules are not spelled for it: words, nonterminals and the ends of sides are ranked by their bytes, and rules
are compared rank by rank.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Protocol

import numpy as np

from scfg_sampler.core.arrays.ragged import lexicographic_order
from scfg_sampler.core.arrays.vocabulary import Vocabulary
from scfg_sampler.core.jit import kernel
from scfg_sampler.rules.text import escape

__all__ = ["HasSides", "HasWords", "TextOrder", "symbol_ranks", "text_order"]


class HasSides(Protocol):
    """The two sides of rules, as `RuleTable` and `RuleCounts` have them."""

    @property
    def source_start(self) -> np.ndarray: ...

    @property
    def source(self) -> np.ndarray: ...

    @property
    def target_start(self) -> np.ndarray: ...

    @property
    def target(self) -> np.ndarray: ...


class HasWords(HasSides, Protocol):
    """The same with the words, as `RuleTable`."""

    @property
    def source_vocabulary(self) -> Vocabulary: ...

    @property
    def target_vocabulary(self) -> Vocabulary: ...


class TextOrder:
    """The order of the text of rules over two vocabularies, as `LC_ALL=C sort` has it.

    Parameters
    ----------
    source_vocabulary, target_vocabulary : Vocabulary
    spell, label, end : how a word, nonterminal number n = 1, 2, … and the end of a side are written
    """

    def __init__(
        self,
        source_vocabulary: Vocabulary,
        target_vocabulary: Vocabulary,
        spell: Callable[[str], str] = escape,
        label: Callable[[int], str] = "[X,{}]".format,
        end: str = "|||",
    ):
        self._ranks_of = functools.partial(
            symbol_ranks, source_vocabulary, target_vocabulary, spell=spell, label=label, end=end
        )
        self._ranks = self._ranks_of(2)

    def rows(self, rules: HasSides) -> np.ndarray:
        """The rows of some rules in this order; int64, shape (R,)."""
        nonterminals = -int(min(rules.source.min(initial=0), rules.target.min(initial=0)))
        if nonterminals > len(self._ranks[2]):
            self._ranks = self._ranks_of(nonterminals)
        start, rows = _rank_rows(
            rules.source_start, rules.source, rules.target_start, rules.target, *self._ranks
        )
        return lexicographic_order(start, rows)


def text_order(
    table: HasWords,
    spell: Callable[[str], str] = escape,
    label: Callable[[int], str] = "[X,{}]".format,
    end: str = "|||",
) -> np.ndarray:
    """The rows of a table in the order of their text; int64, shape (R,). Parameters as of `TextOrder`."""
    return TextOrder(table.source_vocabulary, table.target_vocabulary, spell, label, end).rows(table)


def symbol_ranks(
    source_vocabulary: Vocabulary,
    target_vocabulary: Vocabulary,
    num_nonterminals: int,
    spell: Callable[[str], str] = escape,
    label: Callable[[int], str] = "[X,{}]".format,
    end: str = "|||",
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Ranks in text order: of source words, target words, nonterminals (int32 each), and a side's end."""
    source = [spell(word).encode("utf-8", "surrogatepass") for word in source_vocabulary]
    target = [spell(word).encode("utf-8", "surrogatepass") for word in target_vocabulary]
    labels = [label(k + 1).encode() for k in range(num_nonterminals)]
    ranks = {text: rank for rank, text in enumerate(sorted({*source, *target, *labels, end.encode()}))}
    source_ranks, target_ranks, label_ranks = (
        np.array([ranks[text] for text in texts], np.int32) for texts in (source, target, labels)
    )
    return source_ranks, target_ranks, label_ranks, ranks[end.encode()]


@kernel
def _rank_rows(source_start, source, target_start, target, source_ranks, target_ranks, label_ranks, bar):
    """Both sides of each rule as one row of ranks, each side closed by the rank of its bar."""
    num_rules = len(source_start) - 1
    start = np.zeros(num_rules + 1, np.int64)
    rows = np.empty(len(source) + len(target) + 2 * num_rules, np.int32)
    at = 0
    for row in range(num_rules):
        for k in range(source_start[row], source_start[row + 1]):
            symbol = source[k]
            rows[at] = source_ranks[symbol] if symbol >= 0 else label_ranks[-1 - symbol]
            at += 1
        rows[at] = bar
        at += 1
        for k in range(target_start[row], target_start[row + 1]):
            symbol = target[k]
            rows[at] = target_ranks[symbol] if symbol >= 0 else label_ranks[-1 - symbol]
            at += 1
        rows[at] = bar
        at += 1
        start[row + 1] = at
    return start, rows
