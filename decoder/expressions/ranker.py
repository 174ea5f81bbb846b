"""A ranker: which expression of a list is the right one, once the lists are there.

Nine features come to those that the decoder has given each expression. Eight are the log probability of the
question given the symbols of the expression, or these and its pairs of parent and child:
`WordsGivenSymbols` and `WordsGivenPairs` by model 1 (`word_model.py`); `WordsInContext…` by rates
(`word_rates.py`), as are `BeginningsInContext…` and `LettersInContext…`, of pieces of words (`pieces.py`).
`SymbolsGivenWords` is the log odds of the symbols, and of how often they are there, given the words
(`words.py`). All depend on the whole expression, so that a search has no use for them. The weights of all
features are learnt from lists of questions whose right expression e* is known,

    f(w) = −Σ over questions: ln p(e*) + l2/2 · Σ_i (w_i s_i)²

where p(e) is exp(w·h(e)), divided by the same of all expressions of the list, and s_i the root of the mean
square of feature i's differences h(e*) − h(e), e ≠ e*, so that no feature's unit matters.

The fact a newcomer would get wrong: a grammar knows the questions it was learnt of by heart, and a ranker
learnt from their lists would trust it too much. So the training text is divided: list k of K is that of
sentences k, k + K, k + 2K, …, from a grammar (and all else) learnt of the others. The word models that
measure list k know only the others, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from decoder.expressions.names import with_kinds
from decoder.expressions.pieces import beginnings, letter_pairs
from decoder.expressions.word_model import (
    WordModel,
    pairs_of,
    symbols_of,
    train_word_model,
    word_log_probs,
)
from decoder.expressions.word_rates import rate_log_probs, train_rate_model
from decoder.expressions.words import numbered_symbols, sums_of_log_odds, train_symbol_model
from decoder.tuning.ranking_loss import minimum
from scfg_sampler.core.arrays.sparse import sparse_rows
from scfg_sampler.core.elementary import exp_each, products

__all__ = [
    "WORD_FEATURES",
    "Candidate",
    "Ranker",
    "best_candidate",
    "candidate_scores",
    "probabilities",
    "train_ranker",
]


_Pieces = Callable[[Sequence[str]], list[str]]


class _Kind(NamedTuple):
    """How a model of questions is made: of which pieces of words, given which tokens of expressions."""

    pieces: _Pieces
    tokens: _Pieces
    train: Callable[[Sequence[Sequence[str]], Sequence[Sequence[str]]], WordModel]
    log_probs: Callable[[WordModel, Sequence[str], Sequence[Sequence[str]]], np.ndarray]


_MODELS = {
    "WordsGivenSymbols": _Kind(list, symbols_of, train_word_model, word_log_probs),
    "WordsGivenPairs": _Kind(list, pairs_of, train_word_model, word_log_probs),
    "WordsInContextGivenSymbols": _Kind(list, symbols_of, train_rate_model, rate_log_probs),
    "WordsInContextGivenPairs": _Kind(list, pairs_of, train_rate_model, rate_log_probs),
    "BeginningsInContextGivenSymbols": _Kind(beginnings, symbols_of, train_rate_model, rate_log_probs),
    "BeginningsInContextGivenPairs": _Kind(beginnings, pairs_of, train_rate_model, rate_log_probs),
    "LettersInContextGivenSymbols": _Kind(letter_pairs, symbols_of, train_rate_model, rate_log_probs),
    "LettersInContextGivenPairs": _Kind(letter_pairs, pairs_of, train_rate_model, rate_log_probs),
    "SymbolsGivenWords": _Kind(list, numbered_symbols, train_symbol_model, sums_of_log_odds),
}
WORD_FEATURES = tuple(_MODELS)
_L2 = 2.0


class Candidate(NamedTuple):
    """An expression of a list: its linear form, and its features."""

    words: list[str]
    features: dict[str, float]


class Ranker(NamedTuple):
    """What is learnt.

    weights : by feature, `WORD_FEATURES` among them
    names : kinds of names, as of `kinds_of_names`
    models : by feature; older rankers have the first few of `WORD_FEATURES` alone
    """

    weights: dict[str, float]
    names: Mapping[str, str]
    models: Mapping[str, WordModel]


def train_ranker(
    sources: Sequence[Sequence[str]],
    trees: Sequence[Sequence[str]],
    lists: Sequence[Sequence[Sequence[Candidate]]],
    names: Mapping[str, str],
) -> Ranker:
    """The ranker of K sets of lists; lists[k][i] is that of sentence k + iK."""
    marked = [with_kinds(words, names) for words in sources]
    differences = []
    features = sorted({name for each in lists for found in each for one in found for name in one.features})
    columns = [*features, *WORD_FEATURES]
    for fold, found in enumerate(lists):
        others = [number for number in range(len(trees)) if number % len(lists) != fold]
        models = _models([marked[i] for i in others], [trees[i] for i in others])
        for at, candidates in enumerate(found):
            number = fold + at * len(lists)
            right = [list(one.words) == list(trees[number]) for one in candidates]
            if any(right) and not all(right):
                values = _values(columns, models, marked[number], candidates)
                gold = right.index(True)
                differences.append((values[gold] - values)[[not each for each in right]])
    weights = np.zeros(len(columns))
    if differences:
        weights = _weights(differences)
    return Ranker(dict(zip(columns, weights.tolist(), strict=True)), names, _models(marked, trees))


def _weights(of_lists: Sequence[np.ndarray]) -> np.ndarray:
    """The weights that minimise f, given the differences of each list; 0 for features that never differ."""
    differences = np.concatenate(of_lists)
    lists = np.cumsum([0, *(len(each) for each in of_lists)]).astype(np.int64)
    squares = np.array([sum(column.tolist()) for column in (differences * differences).T])
    spread = np.sqrt(squares / len(differences))
    spread[spread == 0.0] = 1.0
    return minimum(sparse_rows(differences / spread), lists, _L2, np.zeros(len(spread))) / spread


def candidate_scores(ranker: Ranker, words: Sequence[str], candidates: Sequence[Candidate]) -> np.ndarray:
    """What the ranker gives each of at least one candidate; float64 (N,)."""
    columns = list(ranker.weights)
    values = _values(columns, ranker.models, with_kinds(words, ranker.names), candidates)
    return products(values, np.array(list(ranker.weights.values())))


def probabilities(scores: np.ndarray) -> np.ndarray:
    """p(e) of each of at least one expression of a list, given what `candidate_scores` gives them.

    That the right one is in the list is taken for granted.

    >>> probabilities(np.array([700.0, 700.0, -700.0])).tolist()
    [0.5, 0.5, 0.0]
    """
    shares = exp_each(scores - np.max(scores))
    return shares / sum(shares.tolist())


def best_candidate(ranker: Ranker, words: Sequence[str], candidates: Sequence[Candidate]) -> int:
    """The number of the best of at least one candidate; the first of several equally good ones."""
    return int(np.argmax(candidate_scores(ranker, words, candidates)))


def _models(marked: Sequence[Sequence[str]], trees: Sequence[Sequence[str]]) -> dict[str, WordModel]:
    return {
        name: kind.train([kind.pieces(words) for words in marked], [kind.tokens(tree) for tree in trees])
        for name, kind in _MODELS.items()
    }


def _values(
    columns: Sequence[str],
    models: Mapping[str, WordModel],
    marked: Sequence[str],
    candidates: Sequence[Candidate],
) -> np.ndarray:
    """The features of candidates, float64 (N, F); the columns of the models are measured here."""
    values = np.array([[one.features.get(name, 0.0) for name in columns] for one in candidates])
    kinds = {_MODELS[name].tokens for name in models}
    tokens = {tokens_of: [tokens_of(one.words) for one in candidates] for tokens_of in kinds}
    for name, model in models.items():
        kind = _MODELS[name]
        values[:, columns.index(name)] = kind.log_probs(model, kind.pieces(marked), tokens[kind.tokens])
    return values
