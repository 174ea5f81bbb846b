"""Samplers of PCFGs leave their posteriors unchanged: transition matrices by enumeration.

Rule probabilities are continuous. Here the Dirichlet distribution is replaced by one on a grid, with weights
Π θ^(α − 1) at its points; the algorithms do not know of it, and everything can be enumerated.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from monolingual.pcfg import collapsed, posterior, renormalised
from monolingual.pcfg.approaches import APPROACHES, SINK
from monolingual.pcfg.chart_grammar import new_weights
from monolingual.pcfg.collapsed import CollapsedState, sweep_trees
from monolingual.pcfg.gibbs import State, gibbs_kernel
from monolingual.pcfg.model import Data, build_model
from monolingual.pcfg.partition import newton_partition
from monolingual.pcfg.tree_draws import Trees, new_parsing
from monolingual.priors.multinomials import log_dirichlet_multinomial
from scfg_sampler.core import draws
from scfg_sampler.errors import SettingsError
from tests.monolingual.pcfg.grammars import TERNARY, all_trees, grammar_of
from tests.oracles.choices import GENERATOR, distribution, transition_matrix

PRIOR = np.array([0.7, 1.3, 2.0])
GRID = np.array([(i / 6, j / 6, (6 - i - j) / 6) for i in range(1, 5) for j in range(1, 6 - i)])


@pytest.fixture
def model(tmp_path):
    grammar, _ = grammar_of(TERNARY, tmp_path)
    return build_model(grammar, PRIOR)


def data_of(*lengths, tree_counts=(0, 0, 0), num_trees=0):
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Data(np.zeros(sum(lengths), np.int32), start, np.array(tree_counts, np.int64), num_trees)


# ---------------------------------------------------------------- θ and trees


def grid_dirichlet(rng, concentrations, first, end, probs):
    weights = np.prod(GRID ** (concentrations[first:end] - 1.0), axis=1)
    probs[first:end] = GRID[draws.categorical(rng, weights, len(GRID))]


def grid_posterior(model, data, approach):
    """The posterior of each point of the grid."""
    system = model.system
    log_z = np.array([np.log(newton_partition(system, theta)[0][0]) for theta in GRID])
    weights = np.prod(GRID ** (PRIOR - 1.0 + data.tree_counts), axis=1)
    for at in range(len(data.start) - 1):
        words = data.words[data.start[at] : data.start[at + 1]]
        trees = [np.bincount(tree, minlength=3) for tree in all_trees(model.grammar, words)]
        weights = weights * sum(np.prod(GRID**counts, axis=1) for counts in trees)
    n = data.num_trees + len(data.start) - 1
    if approach == "only-tight":
        weights = weights * (log_z == 0.0)
    elif approach == "renormalise":
        weights = weights * np.exp(-n * log_z)
    return weights / weights.sum()


def grid_weights(concentrations, rates, first, end):
    """What a tilted proposal gives each point of the grid, without its norm."""
    own = concentrations[first:end], rates[first:end], 0, end - first
    tilts = [LOG_TILT(*own, theta) for theta in GRID]
    return np.prod(GRID ** (concentrations[first:end] - 1.0), axis=1) * np.exp(tilts)


LOG_TILT = renormalised.log_tilt


def grid_propose(rng, concentrations, rates, first, end, proposal):
    weights = grid_weights(concentrations, rates, first, end)
    proposal[first:end] = GRID[draws.categorical(rng, weights, len(GRID))]


def grid_log_tilt(concentrations, rates, first, end, probs):
    norm = np.log(grid_weights(concentrations, rates, first, end).sum())
    return LOG_TILT(concentrations, rates, first, end, probs) - norm


def gibbs_transitions(model, data, approach, proposal="dirichlet"):
    """The transition matrix of a sweep over the points of the grid, given that it does not give up."""
    kernel = gibbs_kernel(model, data, approach, proposal=proposal)
    index = {tuple(theta): at for at, theta in enumerate(GRID)}
    matrix = np.zeros((len(GRID), len(GRID)))
    for row, theta in enumerate(GRID):

        def step(theta=theta):
            state: State = kernel.init(GENERATOR, theta)
            try:
                return index[tuple(kernel.step(GENERATOR, state)[0].probs)]
            except SettingsError:
                return -1

        for column, prob in distribution(step).items():
            if column >= 0:
                matrix[row, column] += prob
    return matrix / matrix.sum(axis=1, keepdims=True)


ONE, TREES, TWO = data_of(3), data_of(tree_counts=(1, 2, 6), num_trees=2), data_of(4, 3)
# Two sentences and the loop of the only-tight approach have too many paths.
CASES = [
    *itertools.product(APPROACHES, (ONE, TREES)),
    ("sink", TWO),
    pytest.param("renormalise", TWO, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("approach", "data"), CASES)
def test_gibbs_sweeps_leave_the_posterior_invariant(model, data, approach, monkeypatch):
    monkeypatch.setattr(draws, "dirichlet", grid_dirichlet)
    # What the loop of the only-tight approach does at its third try it does at any other.
    monkeypatch.setattr(posterior, "MAX_TRIES", 2)
    target = grid_posterior(model, data, approach)
    assert_allclose(target @ gibbs_transitions(model, data, approach), target, atol=1e-12)


@pytest.mark.parametrize("data", [ONE, TREES])
def test_tilted_proposals_leave_the_renormalised_posterior_invariant(model, data, monkeypatch):
    monkeypatch.setattr(renormalised, "propose_family", grid_propose)
    monkeypatch.setattr(renormalised, "log_tilt", grid_log_tilt)
    monkeypatch.setattr(renormalised, "DEPTH", 3)  # Uncompiled loops are slow.
    target = grid_posterior(model, data, "renormalise")
    matrix = gibbs_transitions(model, data, "renormalise", "tilted")
    assert_allclose(target @ matrix, target, atol=1e-12)
    # The planted fault: the way back is weighed as if it were tilted as the way there.
    right = renormalised.tilt_rates

    def same_rates(system, family, concentrations, values, uses, rates, kept={}):  # noqa: B006
        if len(kept) != 1:
            right(system, family, concentrations, values, uses, rates)
            kept[0] = rates.copy()
        else:
            rates[:] = kept.pop(0)

    monkeypatch.setattr(renormalised, "tilt_rates", same_rates)
    matrix = gibbs_transitions(model, data, "renormalise", "tilted")
    assert np.abs(target @ matrix - target).max() > 1e-4


PAIRS = np.array([(q, 1.0 - q) for q in (0.3, 0.6, 0.9)])


def test_tilted_proposals_to_one_nonterminal_after_the_other_leave_the_posterior_invariant(
    tmp_path, monkeypatch
):
    prior, counts, n = np.array([2.0, 1.0, 3.0, 0.5]), np.array([2, 3, 1, 2]), 2
    model = build_model(grammar_of("S -> A S | 'a'\nA -> S A A | 'b'", tmp_path)[0], prior)
    monkeypatch.setattr(renormalised, "propose_family", grid_propose)
    monkeypatch.setattr(renormalised, "log_tilt", grid_log_tilt)
    monkeypatch.setattr(f"{__name__}.GRID", PAIRS)
    monkeypatch.setattr(renormalised, "DEPTH", 3)
    states = [np.concatenate(pair) for pair in itertools.product(PAIRS, PAIRS)]
    log_z = np.array([np.log(newton_partition(model.system, theta)[0][0]) for theta in states])
    target = np.prod(np.array(states) ** (prior + counts - 1.0), axis=1) * np.exp(-n * log_z)
    kernel = gibbs_kernel(model, data_of(tree_counts=counts, num_trees=n), "renormalise", proposal="tilted")
    index = {tuple(theta): at for at, theta in enumerate(states)}
    matrix = np.zeros((len(states), len(states)))
    for row, theta in enumerate(states):
        step = lambda: index[tuple(kernel.step(GENERATOR, kernel.init(GENERATOR, theta))[0].probs)]  # noqa: B023, E731
        for column, prob in distribution(step).items():
            matrix[row, column] += prob
    assert np.exp(log_z).min() < 0.5
    assert_allclose(target @ matrix / target.sum(), target / target.sum(), atol=1e-12)


def test_enumeration_notices_the_ratio_turned_over(model, monkeypatch):
    monkeypatch.setattr(draws, "dirichlet", grid_dirichlet)
    right = posterior.log_partition
    monkeypatch.setattr(posterior, "log_partition", lambda system, probs: -right(system, probs))
    data = data_of(3)
    target = grid_posterior(model, data, "renormalise")
    matrix = gibbs_transitions(model, data, "renormalise")
    assert np.abs(target @ matrix - target).max() > 1e-3


# ---------------------------------------------------------------- trees alone


def collapsed_transitions(model, data):
    """All states of the collapsed sampler, its transition matrix and what it should leave invariant."""
    num_sentences = len(data.start) - 1
    choices = [
        all_trees(model.grammar, data.words[data.start[at] : data.start[at + 1]])
        for at in range(num_sentences)
    ]
    states = list(itertools.product(*choices))
    parsing = new_parsing(model.chart, new_weights(model.chart), data.start, 0, num_sentences)
    given = posterior.ThetaGiven(SINK, model.families.start, model.prior, model.system, 0)

    def step_from(state):
        def step():
            rules = np.array([rule for tree in state for rule in tree], dtype=np.int32)
            start = np.concatenate([[0], np.cumsum([len(tree) for tree in state])]).astype(np.int64)
            counts = np.bincount(rules, minlength=3) + data.tree_counts
            trees, rejected = sweep_trees(
                GENERATOR,
                parsing,
                given,
                data,
                CollapsedState(Trees(start, rules), counts),
            )
            assert rejected >= 0
            return tuple(
                tuple(trees.rules[trees.start[at] : trees.start[at + 1]].tolist())
                for at in range(num_sentences)
            )

        return step

    target = np.array(
        [
            np.exp(
                log_dirichlet_multinomial(
                    model.families,
                    model.prior,
                    np.bincount([rule for tree in state for rule in tree], minlength=3) + data.tree_counts,
                )
            )
            for state in states
        ]
    )
    return transition_matrix(states, step_from), target / target.sum()


@pytest.mark.parametrize("data", [data_of(3, 3), data_of(4, tree_counts=(0, 1, 2), num_trees=1)])
def test_collapsed_sweeps_leave_the_posterior_invariant(model, data):
    matrix, target = collapsed_transitions(model, data)
    assert_allclose(target @ matrix, target, atol=1e-12)


def test_enumeration_notices_a_missing_acceptance_step(model, monkeypatch):
    right = collapsed._add_tree

    def always_accept(*arguments):
        right(*arguments)
        return 0.0

    monkeypatch.setattr(collapsed, "_add_tree", always_accept)
    matrix, target = collapsed_transitions(model, data_of(3, 3))
    assert np.abs(target @ matrix - target).max() > 1e-3
