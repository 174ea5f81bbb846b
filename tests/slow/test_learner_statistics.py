"""The learner's kernels, compiled, against exact posteriors too large to follow every choice on.

Each test starts many short chains at exact draws from the enumerated posterior; after some sweeps the states
must still be distributed as it says. Tests fail by chance with a probability below `FALSE_ALARM`.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from scfg_sampler.core.chains.kernel import copy_state
from tests.learner.corpora import Chain, all_states, chain_on, log_weights, state_from, state_key
from tests.oracles.phrase_forest import sentence
from tests.oracles.rule_model import log_jacobian, log_prior, model_of
from tests.statistics import FALSE_ALARM, chi_square_tail

pytestmark = pytest.mark.slow

PAIRS = [
    sentence("a b c", "A B C", "0-0 1-1 2-2"),
    sentence("a b", "A B", "0-0 1-1"),
    sentence("c x a", "A C", "0-1 2-0"),
]
VARIANTS = {
    "top-down": {},
    "breadth first": {"order": "breadth-first"},
    "limited": {"max_cut_span": 2},
    "rejection": {"operator": "rejection"},
    "type moves": {"type_moves": 1},
    "divided by trees": {"divide_by_trees": True},
}
MODELS = {
    "exact": {"tables": "exact"},
    "lexical": {"tables": "exact", "base": "lexical"},
    "d = 0": {"discount": 0.0},
    "dirichlet": {"model": "dirichlet", "strength": 100.0},
}


def tail_after_sweeps(chain: Chain, pairs: list, *, chains: int = 4000, sweeps: int = 3) -> float:
    """How unlikely the states after some sweeps from exact draws are."""
    posterior = all_states(chain, pairs)
    states = list(posterior)
    probs = np.array(list(posterior.values()))
    rng = np.random.default_rng(11)
    number = {state: i for i, state in enumerate(states)}
    observed = np.zeros(len(states))
    starts: dict[int, object] = {}
    for drawn in rng.choice(len(states), chains, p=probs / probs.sum()).tolist():
        if drawn not in starts:
            starts[drawn] = state_from(chain, states[drawn])
        state = copy_state(starts[drawn])
        for _ in range(sweeps):
            state, _ = chain.kernel.step(rng, state)
        observed[number[state_key(state)]] += 1
    return chi_square_tail(observed, probs / probs.sum() * chains)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_exact_draws_stay_exact_draws(variant, model):
    settings = {"max_cut_span": 0, **MODELS[model], **VARIANTS[variant]}
    assert tail_after_sweeps(chain_on(PAIRS, **settings), PAIRS) > FALSE_ALARM


def test_missing_density_factor_is_noticed():
    # Blocks of two words under a limit of one: five trees, where the factor matters.
    pairs = [sentence("a b c d e f g h", "A B C D", "0-0 1-0 2-1 3-1 4-2 5-2 6-3 7-3")]
    settings = {"discount": 0.0, "max_cut_span": 1}
    assert tail_after_sweeps(chain_on(pairs, **settings), pairs, chains=20_000) > FALSE_ALARM
    biased = chain_on(pairs, **settings, density_factor=False)
    assert tail_after_sweeps(biased, pairs, chains=20_000) < FALSE_ALARM


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("strength", "exact"),
        ("strength", "dirichlet"),
        ("mean_length", "exact"),
        ("mean_length", "lexical"),
        ("discount", "exact"),
    ],
)
def test_learned_hyperparameter_has_its_posterior(name, model):
    """Against Σ over all states on a grid, by cells that are equally likely."""
    settings = {"max_cut_span": 0, **MODELS[model]}
    chain = chain_on(PAIRS[1:], **settings, learned=(name,))
    scales = {"strength": (-9.0, 7.0), "mean_length": (-1.0, 3.0), "discount": (-9.0, 9.0)}
    grid = np.linspace(*scales[name], 161)
    log_density = np.array([_log_density(settings, name, x) for x in grid])
    mass = np.exp(log_density - log_density.max())
    cumulative = (np.cumsum(mass) - 0.5 * mass) / mass.sum()
    rng = np.random.default_rng(3)
    state = chain.kernel.init(rng, None)
    cells = np.zeros(8)
    thin, draws = 20, 4000
    for step in range(thin * (draws + 20)):
        state, info = chain.kernel.step(rng, state)
        if step % thin == 0 and step >= 20 * thin:
            value = getattr(info, name)
            x = math.log(value / (1.0 - value)) if name == "discount" else math.log(value)
            cells[min(7, int(8 * np.interp(x, grid, cumulative)))] += 1
    assert chi_square_tail(cells, np.full(8, draws / 8)) > FALSE_ALARM


def _log_density(settings: dict, name: str, x: float) -> float:
    """ln of the posterior density, up to a constant, of the parameter on its scale without borders."""
    value = 1.0 / (1.0 + math.exp(-x)) if name == "discount" else math.exp(x)
    chain = chain_on(PAIRS[1:], **{**settings, name: value})
    log_probs = log_weights(chain, PAIRS[1:]).values()
    top = max(log_probs)
    total = top + math.log(math.fsum(math.exp(each - top) for each in log_probs))
    prior = log_prior((name,), model_of(chain.settings, PAIRS[1:]))
    return total + prior + log_jacobian(name, value)
