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

import numpy as np

from decoder.expressions.forms import arity_of
from decoder.expressions.tree import is_constant
from scfg_sampler.core.elementary import log_each

__all__ = ["WordModel", "pairs_of", "symbols_of", "train_word_model", "word_log_probs"]

WordModel = dict[str, dict[str, float]]
"""t(w | token) by token and word. The empty word stands for unknown ones, the empty token for e_0."""

_ROUNDS = 40
_ADDED = 0.005
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


def train_word_model(sources: Sequence[Sequence[str]], tokens: Sequence[Sequence[str]]) -> WordModel:
    """The model of questions and the tokens of their expressions."""
    rows: dict[str, dict[str, int]] = {}  # A number for each token and word that were seen together.
    cells: list[int] = []  # One for each word of the text and each token of its sentence.
    words_of: list[int] = []  # Which word of the text that was.
    token_of: list[int] = []  # The token of each number, as a number.
    numbers: dict[str, int] = {}
    places = itertools.count()
    for words, each in zip(sources, tokens, strict=True):
        extended = ["", *each]
        for token in extended:
            numbers.setdefault(token, len(numbers))
            rows.setdefault(token, {})
        for word, place in zip(words, places, strict=False):
            for token in extended:
                row = rows[token]
                if word not in row:
                    row[word] = len(token_of)
                    token_of.append(numbers[token])
                cells.append(row[word])
                words_of.append(place)
    vocabulary = len({word for words in sources for word in words}) + 1
    probs, unknown = _estimated(
        *(np.array(each, np.int64) for each in (cells, words_of, token_of)), len(numbers), vocabulary
    )
    return {
        token: {word: probs[cell] for word, cell in row.items()} | {"": unknown[numbers[token]]}
        for token, row in rows.items()
    }


def _estimated(
    cells: np.ndarray, words_of: np.ndarray, token_of: np.ndarray, tokens: int, vocabulary: int
) -> tuple[list[float], list[float]]:
    """t of each cell, and that of a word that was not seen with each token, by EM.

    Sums go from left to right, as `np.bincount` adds, so that nothing depends on the processor.
    """
    probs = 1.0 / np.bincount(token_of, minlength=tokens)[token_of]
    totals = np.full(tokens, _ADDED * vocabulary)
    for _ in range(_ROUNDS):
        shares = probs[cells]
        shares /= np.bincount(words_of, shares)[words_of]
        counts = np.bincount(cells, shares, minlength=len(token_of))
        totals = np.bincount(token_of, counts, minlength=tokens) + _ADDED * vocabulary
        probs = (counts + _ADDED) / totals[token_of]
    return probs.tolist(), (_ADDED / totals).tolist()


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
