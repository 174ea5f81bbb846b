"""How likely the words of a question are, given an expression, if each token brings so many words.

Token e_j of an expression brings λ(e_j) words on average, of which each is w with probability t(w | e_j); the
number is Poisson distributed. Every word brings the word behind it in the same way, so that expressions need
not explain what goes without saying. With θ = λ·t, the empty token e_0, and w_0 the beginning,

    ln P(w_1 … w_n | e) = Σ_i ln(Σ_j θ(w_i | e_j) + θ(w_i | w_{i−1} –)) − Σ_j λ(e_j) + what e does not change

θ is estimated by EM, as for model 1 (`word_model.py`), from counts C of words that tokens N times there are
expected to have brought: λ = (C + p·m) / (N + p), so that a rare token brings about as many as others, m, and
t as there, 0.005 added to each word's count.

The fact a newcomer would get wrong: in model 1, tokens share a word among them, however many they are. A word
that is there once then explains a symbol that an expression has twice, and a symbol that brings no words
costs as much as any other. Here a symbol costs the words that it should have brought.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from decoder.expressions.word_model import ADDED, Cooccurrences, WordModel, cooccurrences, expected_counts
from scfg_sampler.core.elementary import log_each

__all__ = ["rate_log_probs", "require_rates", "train_rate_model"]

_ROUNDS = 20
_PRIOR, _PRIOR_OF_WORDS = 0.3, 1.0  # p, of tokens, and of words that bring others;
_BROUGHT_BY_WORDS = 0.3  # and m of these.
_NOTHING = 1e-6  # θ of a token that was never seen.
_RATE = " "  # Where a row has λ; no word is a blank.
_UNSEEN = "  "  # The token whose row is that of tokens never seen.


def train_rate_model(sources: Sequence[Sequence[str]], tokens: Sequence[Sequence[str]]) -> WordModel:
    """θ(w | token) by token and word, of questions and the tokens of their expressions.

    A word that brings the next is a token with a blank behind it, and the beginning the blank alone. The
    empty word in a row stands for unknown words, the blank for λ; two blanks are the token never seen.
    """
    seen = cooccurrences(sources, tokens, words_bring=True)
    usual = max(sum(map(len, sources)), 1) / max(sum(map(len, tokens)) + len(tokens), 1)
    thetas, unknown, rates = _estimated(seen, usual)
    model = {
        token: {word: thetas[cell] for word, cell in row.items()}
        | {"": unknown[number], _RATE: rates[number]}
        for number, (token, row) in enumerate(seen.rows.items())
    }
    never = {"": _NOTHING, _RATE: usual}
    return {"": never} | model | {_UNSEEN: never}


def _estimated(seen: Cooccurrences, usual: float) -> tuple[list[float], list[float], list[float]]:
    """θ of each cell, that of an unknown word with each token, and λ of each token."""
    by_words = np.array([token.endswith(" ") for token in seen.rows], bool)
    prior = np.where(by_words, _PRIOR_OF_WORDS, _PRIOR)
    brought = prior * np.where(by_words, _BROUGHT_BY_WORDS, usual)
    thetas = np.ones(len(seen.token_of))
    for _ in range(_ROUNDS):
        counts = expected_counts(seen, thetas)
        totals = np.bincount(seen.token_of, counts, minlength=len(seen.rows))
        rates = (totals + brought) / (seen.occurrences + prior)
        scale = rates / (totals + ADDED * seen.vocabulary)
        thetas = scale[seen.token_of] * (counts + ADDED)
    return thetas.tolist(), (scale * ADDED).tolist(), rates.tolist()


def require_rates(model: WordModel) -> None:
    """Raise a ValueError if a model of `train_rate_model` lacks rates, or unseen tokens."""
    if _UNSEEN not in model or any(_RATE not in row for row in model.values()):
        raise ValueError("rates that are missing")


def rate_log_probs(model: WordModel, words: Sequence[str], tokens: Sequence[Sequence[str]]) -> np.ndarray:
    """ln P(words | tokens) for the tokens of each of several expressions, up to the same for all; float64."""
    known: dict[str, tuple[np.ndarray, float]] = {}

    def brought(token: str) -> tuple[np.ndarray, float]:
        found = known.get(token)
        if found is None:
            row = model.get(token, model[_UNSEEN])
            thetas = np.array([row.get(word, row[""]) for word in words], np.float64)
            found = known[token] = thetas, row[_RATE]
        return found

    common, common_rate = brought("")
    behind = [model.get(f"{before} ") for before in ("", *words)]
    common = common + [
        0.0 if row is None else row.get(word, row[""]) for word, row in zip(words, behind, strict=False)
    ]
    result = np.zeros(len(tokens))
    for number, each in enumerate(tokens):
        total, rate = common.copy(), common_rate
        for token in each:
            thetas, more = brought(token)
            total += thetas
            rate += more
        result[number] = sum(log_each(total).tolist()) - rate
    return result
