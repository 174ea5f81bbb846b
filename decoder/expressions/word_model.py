"""How likely the words of a question are, given an expression: model 1 of Brown et al. (1993).

    P(w_1 … w_n | e) = Π_i 1/(m + 1) · Σ_j t(w_i | e_j),   e_0 the empty token

The tokens e_1 … e_m of an expression are its symbols, all constants one; or these and all pairs of parent and
child, with the place the child fills. t is estimated by EM from questions, with names as their kinds, and
added to by 0.02 for each word, one of them unknown, so that the sum over all words is 1.

The fact a newcomer would get wrong: grammars score the expression, given the words; this scores the words. A
superlative that a translation has left out costs it nothing there, and here leaves *largest* unexplained.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from decoder.expressions.forms import arity_of
from decoder.expressions.tree import is_constant
from scfg_sampler.core.elementary import log_each

__all__ = ["WordModel", "pairs_of", "symbols_of", "train_word_model", "word_log_probs"]

WordModel = dict[str, dict[str, float]]
"""t(w | token) by token and word. The empty word stands for unknown ones, the empty token for e_0."""

_ROUNDS = 8
_ADDED = 0.02
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
    extended = [["", *each] for each in tokens]
    table: WordModel = {}
    for words, each in zip(sources, extended, strict=True):
        for token in each:
            table.setdefault(token, {}).update(dict.fromkeys(words, 1.0))
    for row in table.values():
        for word in row:
            row[word] = 1.0 / len(row)
    vocabulary = len({word for words in sources for word in words}) + 1
    for _ in range(_ROUNDS):
        table = _smoothed(_expected_counts(table, sources, extended), vocabulary)
    return table


def _expected_counts(
    table: WordModel, sources: Iterable[Sequence[str]], tokens: Iterable[Sequence[str]]
) -> WordModel:
    counts: WordModel = {token: {} for token in table}
    for words, each in zip(sources, tokens, strict=True):
        for word in words:
            shares = [table[token][word] for token in each]
            total = sum(shares)
            for token, share in zip(each, shares, strict=True):
                row = counts[token]
                row[word] = row.get(word, 0.0) + share / total
    return counts


def _smoothed(counts: WordModel, vocabulary: int) -> WordModel:
    table: WordModel = {}
    for token, row in counts.items():
        total = sum(row.values()) + _ADDED * vocabulary
        table[token] = {word: (count + _ADDED) / total for word, count in row.items()}
        table[token][""] = _ADDED / total
    return table


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
