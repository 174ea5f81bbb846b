"""The word lexicon against another minimiser, and its bounds."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from decoder.expressions.words import LEAST, MOST, SymbolLexicon, contexts, log_odds, train_lexicon

PAIRS = [
    ("what rivers are in texas", "answer@1 river@1 loc@1 'texas'@0"),
    ("what rivers are in ohio", "answer@1 river@1 loc@1 'ohio'@0"),
    ("which states have rivers", "answer@1 state@1 river@1 all@0"),
    ("which is the largest state", "answer@1 largest@1 state@1 all@0"),
    ("the largest river in texas", "answer@1 largest@1 river@1 loc@1 'texas'@0"),
]
SOURCES, TREES = ([text.split() for text in side] for side in zip(*PAIRS, strict=True))


def oracle(symbol: str) -> dict[str, float]:
    """The weights that scipy finds for a symbol."""
    rows = []
    for words in SOURCES:
        marked = ["<s>", *("<state@1>" if word in ("texas", "ohio") else word for word in words), "</s>"]
        rows.append({*marked, *(f"{one} {two}" for one, two in itertools.pairwise(marked))})
    columns = sorted({context for row in rows for context in row if sum(context in r for r in rows) > 1})
    matrix = np.array([[context in row for context in columns] + [True] for row in rows], float)
    sign = np.array([1 if symbol in tree else -1 for tree in TREES])

    def loss(weights):
        return np.logaddexp(0, -sign * (matrix @ weights)).sum() + 0.15 * weights @ weights

    best = minimize(loss, np.zeros(len(columns) + 1), tol=1e-12).x
    return dict(zip([*columns, ""], best, strict=True))


@pytest.mark.parametrize("symbol", ["river@1", "largest@1", "all@0"])
def test_weights_are_those_of_another_minimiser(symbol):
    lexicon = train_lexicon(SOURCES, TREES, {"texas": "state@1", "ohio": "state@1"})
    expected = oracle(symbol)
    for context, weight in expected.items():
        assert lexicon.weights[symbol].get(context, 0.0) == pytest.approx(weight, abs=2e-4), context
    assert lexicon.weights[symbol].keys() <= expected.keys()


def test_constants_have_none():
    assert "'texas'@0" not in train_lexicon(SOURCES, TREES).weights


def test_log_odds_are_sums_within_bounds():
    weights = {"a@0": {"": 0.5, "x": 1.0, "x y": 0.25, "z": 9.0}, "b@0": {"": 7.0}, "c@0": {"y </s>": -8.0}}
    found = log_odds(SymbolLexicon({"n": "k"}, weights), ["x", "y"], ["a@0", "b@0", "c@0", "'q'@0"])
    assert found.tolist() == [1.75, MOST, LEAST, 0.0]


def test_names_are_one_word():
    assert contexts(["in", "new", "york"], {"new york": "city", "york": "duke"}) == {
        "<s>", "in", "<city>", "</s>", "<s> in", "in <city>", "<city> </s>",
    }  # fmt: skip
