"""The word lexicon against another minimiser, and its bounds."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from decoder.expressions.words import (
    LEAST,
    MOST,
    SymbolLexicon,
    contexts,
    log_odds,
    numbered_symbols,
    sums_of_log_odds,
    train_lexicon,
    train_symbol_model,
)

PAIRS = [
    ("what rivers are in texas", "answer@1 river@1 loc@1 'texas'@0"),
    ("what rivers are in ohio", "answer@1 river@1 loc@1 'ohio'@0"),
    ("which states have rivers", "answer@1 state@1 river@1 all@0"),
    ("which is the largest state", "answer@1 largest@1 state@1 all@0"),
    ("the largest river in texas", "answer@1 largest@1 river@1 loc@1 'texas'@0"),
]
SOURCES, TREES = ([text.split() for text in side] for side in zip(*PAIRS, strict=True))


def letters_of(spelled: str) -> set[str]:
    return {"".join(three) for three in zip(spelled, spelled[1:], spelled[2:], strict=False)}


def oracle(symbol: str) -> dict[str, float]:
    """The weights that scipy finds for a symbol."""
    rows = []
    for words in SOURCES:
        marked = ["<s>", *("<state@1>" if word in ("texas", "ohio") else word for word in words), "</s>"]
        letters = {f" {part}" for word in marked if "<" not in word for part in letters_of(f"_{word}_")}
        rows.append({*marked, *(f"{one} {two}" for one, two in itertools.pairwise(marked)), *letters})
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


def test_names_are_one_word_and_have_no_letters():
    assert contexts(["in", "new", "york"], {"new york": "city", "york": "duke"}) == {
        "<s>", "in", "<city>", "</s>", "<s> in", "in <city>", "<city> </s>", " _in", " in_",
    }  # fmt: skip


def test_letters_of_words_never_seen_tell_symbols():
    """`rivered` is new, and `states` was never beside what it is beside here."""
    lexicon = train_lexicon(SOURCES, TREES)
    rivers, largest = (
        log_odds(lexicon, ["rivered"], [symbol])[0] - log_odds(lexicon, ["zzz"], [symbol])[0]
        for symbol in ("river@1", "largest@1")
    )
    assert rivers > 0.05 > largest


def test_expressions_earn_what_their_symbols_do():
    weights = {"a@0": {"": 0.5, "x": 1.0, " _x_": 0.25}, "b@1": {"": 7.0}}
    found = sums_of_log_odds(weights, ["x"], [["b@1", "a@0"], ["a@0", "a@0#2"], []])
    assert found.tolist() == [MOST + 1.75, 1.75, 0.0]


def test_what_is_there_twice_is_told_by_its_words():
    trees = [
        tree.split() for tree in ("a@1 s@1 b@1 s@0", "a@1 s@0", "a@1 s@1 b@1 s@0", "a@1 s@0", "a@1 b@1 'x'@0")
    ]
    sources = [
        text.split()
        for text in ("states near states", "states", "states near a state", "all states", "near x")
    ]
    weights = train_symbol_model(sources, [numbered_symbols(tree) for tree in trees])
    for words, right in (("states near states", 0), ("states", 1)):
        earned = sums_of_log_odds(weights, words.split(), [numbered_symbols(tree) for tree in trees[:2]])
        assert int(np.argmax(earned)) == right
    assert sorted(weights) == ["a@1", "b@1", "s@0", "s@1"], "symbols of other numbers of arguments are others"
    again = [numbered_symbols(("a@1", "n@1", "n@1", "n@1", "'x'@0"))]
    assert again == [["a@1", "n@1", "n@1#2", "n@1#3"]]


def test_a_model_of_symbols_is_a_lexicon_of_what_it_is_given():
    assert train_symbol_model(SOURCES, TREES) == train_lexicon(SOURCES, TREES).weights
