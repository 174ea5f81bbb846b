"""Which symbols an expression has, told by the words of the question: a discriminative word lexicon.

For every symbol that is no constant, a logistic regression on the words of the source, pairs of neighbours
among them, and all that is three letters long in a word, says how likely the symbol is in the expression
(Mauser, Hasan and Ney 2009; a symbol is there or is not). Its log odds are what a derivation earns for each
time it writes the symbol, not below −5 and not above 3, so that no single word decides. A ranker has another,
of whole words where those of grammars are cut, in which a symbol's second place is a symbol of its own.

    f(w) = Σ over sentences: ln(1 + exp(−y w·x)) + l2/2 · |w|²,   y = ±1: whether the symbol is there

The fact a newcomer would get wrong: names count as their kinds (`names.py`), or the regression would learn
that rivers are in texas.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from decoder.expressions.names import is_kind, with_kinds
from decoder.expressions.pieces import letter_groups
from decoder.expressions.tree import is_constant
from decoder.tuning.ranking_loss import minimum, pairs
from scfg_sampler.core.arrays.sparse import Rows

__all__ = [
    "LEAST",
    "MOST",
    "SymbolLexicon",
    "contexts",
    "log_odds",
    "numbered_symbols",
    "sums_of_log_odds",
    "train_lexicon",
    "train_symbol_model",
]

LEAST, MOST = -5.0, 3.0
_BEGIN, _END = "<s>", "</s>"
_LETTERS = 3
_L2 = 0.3
_FEWEST = 2  # Contexts of fewer sentences are left out.


class SymbolLexicon(NamedTuple):
    """Log odds of symbols, given the words of a source sentence.

    names : the kinds of names, as of `kinds_of_names`
    weights : of each symbol, by context; that of the empty context is always counted
    """

    names: Mapping[str, str]
    weights: dict[str, dict[str, float]]


def contexts(words: Sequence[str], names: Mapping[str, str]) -> set[str]:
    """The words of a sentence, the pairs of neighbours, its beginning and end included, and letters of words.

    Letters have a blank before them; those of words that are not kinds count, a mark before and behind each.
    """
    marked = [_BEGIN, *with_kinds(words, names), _END]
    letters = {f" {piece}" for word in marked if not is_kind(word) for piece in letter_groups(word, _LETTERS)}
    return {*marked, *(" ".join(pair) for pair in itertools.pairwise(marked)), *letters}


def train_lexicon(
    sources: Sequence[Sequence[str]], trees: Sequence[Sequence[str]], names: Mapping[str, str] | None = None
) -> SymbolLexicon:
    """The lexicon of questions and their expressions in linear form."""
    known = dict(names or {})
    found = [contexts(words, known) for words in sources]
    often = Counter(context for each in found for context in each)
    columns = {context: i for i, context in enumerate(sorted(c for c, n in often.items() if n >= _FEWEST))}
    rows = [sorted(columns[context] for context in each if context in columns) for each in found]
    start = np.cumsum([0, *(len(row) + 1 for row in rows)]).astype(np.int64)
    column = np.array([i for row in rows for i in (*row, len(columns))], np.int32)
    weights = {}
    for symbol in dict.fromkeys(word for tree in trees for word in tree):
        if is_constant(symbol):
            continue
        sign = np.array([1.0 if symbol in tree else -1.0 for tree in trees])
        values = np.repeat(sign, np.diff(start))
        rows_of_symbol = Rows(start, column, values, len(columns) + 1)
        best = minimum(rows_of_symbol, pairs(rows_of_symbol), _L2, np.zeros(len(columns) + 1))
        spelled = zip([*columns, ""], best.tolist(), strict=True)
        weights[symbol] = {context: round(weight, 6) for context, weight in spelled if abs(weight) >= 1e-6}
    return SymbolLexicon(known, weights)


def log_odds(lexicon: SymbolLexicon, words: Sequence[str], symbols: Sequence[str]) -> np.ndarray:
    """The log odds of each symbol in the expression of a sentence, float64 (V,), within bounds.

    Symbols that the lexicon does not know, as constants, have 0.
    """
    present = ["", *sorted(contexts(words, lexicon.names))]
    values = np.zeros(len(symbols))
    for i, symbol in enumerate(symbols):
        known = lexicon.weights.get(symbol)
        if known is not None:
            total = sum(known.get(context, 0.0) for context in present)
            values[i] = min(MOST, max(LEAST, total))
    return values


def train_symbol_model(
    sources: Sequence[Sequence[str]], symbols: Sequence[Sequence[str]]
) -> dict[str, dict[str, float]]:
    """The weights of a lexicon, of questions with kinds in place of names and the symbols of expressions."""
    return train_lexicon(sources, symbols).weights


def sums_of_log_odds(
    weights: dict[str, dict[str, float]], words: Sequence[str], symbols: Sequence[Sequence[str]]
) -> np.ndarray:
    """What the symbols of each of several expressions earn, float64."""
    present = list(dict.fromkeys(symbol for each in symbols for symbol in each))
    odds = dict(zip(present, log_odds(SymbolLexicon({}, weights), words, present).tolist(), strict=True))
    return np.array([sum(odds[symbol] for symbol in each) for each in symbols], np.float64)


def numbered_symbols(tree: Sequence[str]) -> list[str]:
    """The symbols of a linear form that are no constants, `symbol#2` the second time, and so on.

    >>> numbered_symbols(["answer@1", "next_to@1", "next_to@1", "'texas'@0"])
    ['answer@1', 'next_to@1', 'next_to@1#2']
    """
    counts: Counter[str] = Counter()
    numbered = []
    for symbol in tree:
        if not is_constant(symbol):
            counts[symbol] += 1
            numbered.append(symbol if counts[symbol] == 1 else f"{symbol}#{counts[symbol]}")
    return numbered
