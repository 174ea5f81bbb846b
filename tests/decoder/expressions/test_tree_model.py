"""The model of trees against another minimiser, and against all trees of a small language spelled out."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize

from decoder.expressions.model import count_arguments, expression_model
from decoder.expressions.tree_model import PlaceModel, TreeModel, outcomes_of, places_of, train_tree_model

# No symbol is below itself, so that there are no more trees than can be listed.
PAIRS = [
    ("rivers in texas", "answer@1 river@1 loc@1 'texas'@0"),
    ("what rivers are in ohio", "answer@1 river@1 loc@1 'ohio'@0"),
    ("all states", "answer@1 state@1 all@0"),
    ("all the rivers", "answer@1 river@1 all@0"),
    ("what is in ohio", "answer@1 loc@1 'ohio'@0"),
    ("rivers or states in ohio", "answer@1 or@2 river@1 all@0 state@1 loc@1 'ohio'@0"),
]
SOURCES, TREES = ([text.split() for text in side] for side in zip(*PAIRS, strict=True))
NAMES = {"texas": "loc@1", "ohio": "loc@1"}
ARITY = {"answer@1": 1, "river@1": 1, "state@1": 1, "loc@1": 1, "or@2": 2, "all@0": 0, "''@0": 0}
# One type: what fills a place may be in any other of them, but for constants and the top.
SETS = ["river@1", "state@1", "loc@1", "or@2", "all@0"]


def taken(symbol: str) -> list[str]:
    """What the place of a symbol's argument takes, said anew."""
    return {"": ["answer@1"], "loc@1": ["''@0"]}.get(symbol, SETS)


def nodes(tree: list[str]) -> list[tuple[list[str], str, str]]:
    """The symbol, that above it, and what is said of its place, of each node; by a recursion."""
    found = []

    def visit(at: int, above: str, argument: int, beyond: str, ancestors: list[str]) -> int:
        symbol = "''@0" if tree[at].startswith("'") else tree[at]
        slot = f"{above} {argument}"
        found.append(([slot, f"{beyond} {slot}", *(f"/{each}" for each in set(ancestors))], above, symbol))
        at += 1
        for child in range(ARITY[symbol]):
            at = visit(at, symbol, child, slot, [*ancestors, symbol])
        return at

    assert visit(0, "", 0, " 0", []) == len(tree)
    return found


def said_of_question(words: list[str]) -> set[str]:
    marked = ["<s>", *("<loc@1>" if word in NAMES else word for word in words), "</s>"]
    letters = set()
    for word in marked:
        if not word.startswith("<"):
            spelled = f"_{word}_"
            letters |= {f" {spelled[i : i + 3]}" for i in range(len(spelled) - 2)}
    return {*marked, *(f"{one} {two}" for one, two in itertools.pairwise(marked)), *letters}


def oracle() -> dict[str, dict[str, float]]:
    """The weights that scipy finds, by what is said and the outcome."""
    known = [said_of_question(words) for words in SOURCES]
    kept = sorted({each for some in known for each in some if sum(each in other for other in known) > 1})
    rows, allowed, right = [], [], []
    outcomes = list(ARITY)
    for said, tree in zip(known, TREES, strict=True):
        for where, above, symbol in nodes(tree):
            rows.append(sorted(said & set(kept)) + where)
            allowed.append([outcome in taken(above) for outcome in outcomes])
            right.append(outcomes.index(symbol))
    columns = [*kept, *dict.fromkeys(each for row in rows for each in row if each not in kept)]
    matrix = np.array([[each in row for each in columns] for row in rows], float)
    l2 = np.where(np.isin(columns, kept), 0.5, 0.1)[:, None]

    def loss(flat):
        weights = flat.reshape(len(columns), len(outcomes))
        scores = np.where(allowed, matrix @ weights, -np.inf)
        probs = np.exp(scores - np.logaddexp.reduce(scores, axis=1)[:, None])
        at_right = np.arange(len(right)), right
        surplus = probs.copy()
        surplus[at_right] -= 1
        value = -np.log(probs[at_right]).sum() + 0.5 * (l2 * weights**2).sum()
        return value, (matrix.T @ surplus + l2 * weights).ravel()

    best = minimize(loss, np.zeros(len(columns) * len(outcomes)), jac=True, tol=1e-13, method="L-BFGS-B").x
    best = best.reshape(len(columns), -1)
    return {each: dict(zip(outcomes, row, strict=True)) for each, row in zip(columns, best, strict=True)}


@pytest.fixture(scope="module")
def trained():
    arguments = count_arguments(TREES)
    return train_tree_model(SOURCES, TREES, arguments, NAMES), expression_model(arguments)


def test_weights_are_those_of_another_minimiser(trained):
    model, _ = trained
    found = {**model.contexts, **model.where}
    expected = oracle()
    assert found.keys() == expected.keys()
    for said, row in expected.items():
        for outcome, weight in row.items():
            column = model.outcomes.index(outcome)
            assert found[said][column] == pytest.approx(weight, abs=2e-3), (said, outcome)


def place_model(model: TreeModel, expressions, question: str) -> PlaceModel:
    return PlaceModel(model, outcomes_of(expressions)[1], question.split(), NAMES)


def probability(model: TreeModel, question: str, tree: list[str]) -> float:
    """P of a tree, by its definition."""
    weights = {**model.contexts, **model.where}
    total = 1.0
    for where, above, symbol in nodes(tree):
        said = [weights[each] for each in [*said_of_question(question.split()), *where] if each in weights]
        scores = {
            outcome: math.exp(sum(float(row[model.outcomes.index(outcome)]) for row in said))
            for outcome in taken(above)
        }
        total *= scores[symbol] / sum(scores.values())
    return total


def all_trees(depth: int, above: str = "") -> list[list[str]]:
    """All trees that fit below a symbol, so many symbols deep."""
    found = []
    for symbol in taken(above) if depth else []:
        for arguments in itertools.product(all_trees(depth - 1, symbol), repeat=ARITY[symbol]):
            found.append([symbol, *itertools.chain.from_iterable(arguments)])
    return found


@pytest.mark.parametrize("question", ["rivers in texas", "all states", "nothing known"])
def test_a_tree_is_as_likely_as_its_definition_says(trained, question):
    model, expressions = trained
    places = place_model(model, expressions, question)
    trees = all_trees(5)
    assert len(trees) > 500
    for tree in trees[::7]:
        assert math.exp(places.log_prob(tree)) == pytest.approx(probability(model, question, tree), rel=1e-9)
    # What is deeper has the rest.
    assert 0.5 < sum(math.exp(places.log_prob(tree)) for tree in trees) < 1.0


def test_outcomes_of_a_place_are_in_order_and_add_up_to_one(trained):
    model, expressions = trained
    places = place_model(model, expressions, "rivers in texas")
    for tree in TREES:
        for place, symbol in places_of(tree):
            likely = places.likely(place)
            values = [log_prob for _, log_prob in likely]
            assert values == sorted(values, reverse=True)
            assert sum(map(math.exp, values)) == pytest.approx(1.0)
            assert symbol in dict(likely)


@pytest.mark.parametrize(
    "tree", ["river@1 all@0", "answer@1 'texas'@0", "answer@1 loc@1 all@0", "answer@1 lake@1 all@0"]
)
def test_what_is_not_well_formed_is_impossible(trained, tree):
    model, expressions = trained
    assert place_model(model, expressions, "rivers").log_prob(tree.split()) == -math.inf


def test_words_decide(trained):
    model, expressions = trained
    rivers, states = (["answer@1", each, "all@0"] for each in ("river@1", "state@1"))
    for question, likelier in (("all rivers", rivers), ("all states", states)):
        places = place_model(model, expressions, question)
        assert places.log_prob(likelier) == max(places.log_prob(rivers), places.log_prob(states))
