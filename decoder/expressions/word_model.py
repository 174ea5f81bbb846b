"""How likely the words of a question are, given an expression: model 1 of Brown et al. (1993).

    P(w_1 … w_n | e) = Π_i 1/(m + 1) · Σ_j t(w_i | e_j),   e_0 the empty token

The tokens e_1 … e_m of an expression are its symbols, all constants one; or these and all pairs of parent and
child, with the place the child fills. t is estimated by EM from questions, with names as their kinds, and
added to by 0.005 for each word, one of them unknown, so that the sum over all words is 1.

The fact a newcomer would get wrong: grammars score the expression, given the words; this scores the words. A
superlative that a translation has left out costs it nothing there, and here leaves *largest* unexplained.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from decoder.expressions.forms import arity_of
from decoder.expressions.tree import is_constant
from scfg_sampler.core.elementary import log_each

__all__ = [
    "ADDED",
    "Cooccurrences",
    "WordModel",
    "cooccurrences",
    "expected_counts",
    "pairs_of",
    "symbols_of",
    "train_word_model",
    "word_log_probs",
]

WordModel = dict[str, dict[str, float]]
"""t(w | token) by token and word. The empty word stands for unknown ones, the empty token for e_0."""

_ROUNDS = 40
ADDED = 0.005
_NOTHING = 1e-6  # t(w | token) of a token that was never seen.


def symbols_of(tree: Sequence[str]) -> list[str]:
    """The symbols of a linear form; constants as `''`."""
    return ["''" if is_constant(word) else word for word in tree]


def pairs_of(tree: Sequence[str]) -> list[str]:
    """The symbols of a linear form, then `parent.place>child` for each of them."""
    symbols = symbols_of(tree)
    pairs = []
    waiting = ["^.0"]
    for word, symbol in zip(tree, symbols, strict=True):
        # Behind a whole tree nothing is expected; callers give whole trees.
        pairs.append(f"{waiting.pop() if waiting else '^.0'}>{symbol}")
        waiting.extend(f"{symbol}.{at}" for at in range((arity_of(word) or 0) - 1, -1, -1))
    return [*symbols, *pairs]


class Cooccurrences(NamedTuple):
    """Which words stand beside which tokens.

    Attributes
    ----------
    rows : the number of the cell of each token and word that were seen together, of R tokens, C cells
    cells : int64, of each word of the text and each token of its sentence, in this order
    words_of : int64, of the same: which word of the text it is
    token_of : int64 (C,), the number of each cell's token, in the order of `rows`
    occurrences : int64 (R,), how often each token is there
    vocabulary : how many words there are, and one unknown
    """

    rows: dict[str, dict[str, int]]
    cells: np.ndarray
    words_of: np.ndarray
    token_of: np.ndarray
    occurrences: np.ndarray
    vocabulary: int


def cooccurrences(
    sources: Sequence[Sequence[str]], tokens: Sequence[Sequence[str]], words_bring: bool = False
) -> Cooccurrences:
    """Those of questions and the tokens of their expressions, the empty token among these.

    words_bring : whether the word before each, with a blank, is a token beside it; of the first, the blank
    """
    rows: dict[str, dict[str, int]] = {}
    cells: list[int] = []
    words_of: list[int] = []
    token_of: list[int] = []
    numbers: dict[str, int] = {}
    occurrences: list[int] = []
    places = itertools.count()

    def occurs(token: str) -> None:
        if numbers.setdefault(token, len(numbers)) == len(occurrences):
            occurrences.append(0)
            rows[token] = {}
        occurrences[numbers[token]] += 1

    for words, each in zip(sources, tokens, strict=True):
        extended = ["", *each]
        for token in extended:
            occurs(token)
        for word, before, place in zip(words, ("", *words), places, strict=False):
            beside = [*extended, f"{before} "] if words_bring else extended
            if words_bring:
                occurs(beside[-1])
            for token in beside:
                row = rows[token]
                if word not in row:
                    row[word] = len(token_of)
                    token_of.append(numbers[token])
                cells.append(row[word])
                words_of.append(place)
    vocabulary = len({word for words in sources for word in words}) + 1
    arrays = [np.array(each, np.int64) for each in (cells, words_of, token_of, occurrences)]
    return Cooccurrences(rows, arrays[0], arrays[1], arrays[2], arrays[3], vocabulary)


def expected_counts(seen: Cooccurrences, weights: np.ndarray) -> np.ndarray:
    """How many words of each cell its token is expected to have brought, given cells' weights; float64 (C,).

    Sums go from left to right, as `np.bincount` adds, so that nothing depends on the processor.
    """
    shares = weights[seen.cells]
    shares /= np.bincount(seen.words_of, shares)[seen.words_of]
    return np.bincount(seen.cells, shares, minlength=len(seen.token_of))


def train_word_model(sources: Sequence[Sequence[str]], tokens: Sequence[Sequence[str]]) -> WordModel:
    """The model of questions and the tokens of their expressions."""
    seen = cooccurrences(sources, tokens)
    probs, unknown = _estimated(seen)
    return {
        token: {word: probs[cell] for word, cell in row.items()} | {"": unknown[number]}
        for number, (token, row) in enumerate(seen.rows.items())
    }


def _estimated(seen: Cooccurrences) -> tuple[list[float], list[float]]:
    """t of each cell, and that of an unknown word with each token, by EM."""
    added = ADDED * seen.vocabulary
    probs = 1.0 / np.bincount(seen.token_of, minlength=len(seen.rows))[seen.token_of]
    totals = np.full(len(seen.rows), added)
    for _ in range(_ROUNDS):
        counts = expected_counts(seen, probs)
        totals = np.bincount(seen.token_of, counts, minlength=len(seen.rows)) + added
        probs = (counts + ADDED) / totals[seen.token_of]
    return probs.tolist(), (ADDED / totals).tolist()


def word_log_probs(model: WordModel, words: Sequence[str], tokens: Sequence[Sequence[str]]) -> np.ndarray:
    """ln P(words | tokens) for the tokens of each of several expressions, float64."""
    known: dict[str, np.ndarray] = {}

    def probabilities(token: str) -> np.ndarray:
        found = known.get(token)
        if found is None:
            row = model.get(token, {"": _NOTHING})
            found = known[token] = np.array([row.get(word, row[""]) for word in words], np.float64)
        return found

    result = np.zeros(len(tokens))
    for number, each in enumerate(tokens):
        total = probabilities("").copy()
        for token in each:
            total += probabilities(token)
        result[number] = sum(log_each(total / (len(each) + 1)).tolist())
    return result
