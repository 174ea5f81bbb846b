"""The moves of concentrations and stop probabilities leave their posterior unchanged, density by density.

A Metropolis–Hastings move does if it is in detailed balance. The draw of a stop probability does if, tables
being drawn first, posterior × chance of the tables is proportional to the density it is then drawn from.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from monolingual.tsg import hyperparameters
from monolingual.tsg.hyperparameters import resample_concentrations
from monolingual.tsg.sampler import hyperparameter_kernel
from tests.monolingual.tsg.treebanks import TREEBANKS, chain_of, posterior_of, start_at, tree_of
from tests.oracles.choices import GENERATOR, distribution
from tests.oracles.elementary_trees import bases, elementary_trees, log_joint


class Scripted:
    """A generator of known normal and uniform numbers, the same for every label."""

    def __init__(self, normals, uniforms):
        self._normals, self._uniforms = iter(normals), iter(uniforms)

    def standard_normal(self, size):
        return np.full(size, next(self._normals))

    def random(self, size):
        return np.full(size, next(self._uniforms))


def naive(name, base, cuts, concentration, stop):
    """ln P of the elementary trees."""
    trees = [tree_of(text) for text in TREEBANKS[name]]
    fragments = [e for tree, bits in zip(trees, cuts, strict=True) for e in elementary_trees(tree, bits)]
    return log_joint(fragments, bases(trees, base), concentration, stop)


def acceptance(chain, cuts, label, start, noise, proposal):
    """The chance that the concentration of a label moves, by bisection of the number it is compared with."""
    # The other proposal gets a number that leads below 0, where nothing is accepted.
    normals = [-1e9, noise] if proposal == "log-normal" else [noise, -1e9]

    def moves(uniform):
        restaurants = start_at(chain, cuts, GENERATOR).restaurants
        restaurants.strength[label] = start
        resample_concentrations(Scripted(normals, [uniform, uniform]), restaurants)
        return restaurants.strength[label] != start

    if moves(0.0):
        return 1.0
    low, high = 0.0, 1.0 - 2.0**-53
    if not moves(high):
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if moves(middle) else (middle, high)
    return 1.0 - high


@pytest.mark.parametrize("base", ["uniform", "pcfg"])
@pytest.mark.parametrize("proposal", ["normal", "log-normal"])
def test_concentrations_move_in_detailed_balance(proposal, base, rng):
    name = "recursive"
    assert flows_differ(name, base, proposal, rng) < 1e-8


def test_a_forgotten_prior_of_the_concentration_is_noticed(rng, monkeypatch):
    monkeypatch.setattr(hyperparameters, "log_concentration_prior", np.zeros_like)
    assert flows_differ("recursive", "pcfg", "log-normal", rng) > 1e-3


def flows_differ(name, base, proposal, rng):
    """The largest |ln| of the ratio of the flows from one concentration to another and back."""
    chain = chain_of(name, base=base, concentration=None)
    names, states = chain.treebank.productions.labels, list(posterior_of(name, base))
    label, worst = names.index("A"), 0.0
    for _ in range(6):
        cuts = states[rng.integers(len(states))]
        pair = np.exp(rng.normal(size=2))
        logs = []
        for start, end in (pair, pair[::-1]):
            given = {"S": 1.0, "A": start}, dict.fromkeys("SA", 0.3)
            # The density of Gamma(0.001, scale 1000), up to a constant.
            log_flow = naive(name, base, cuts, *given) - 0.999 * math.log(start) - start / 1000.0
            step = math.sqrt(0.3)
            if proposal == "normal":
                noise = (end - start) / step
            else:
                noise = math.log(end / start)
                log_flow -= math.log(end)
            log_flow += stats.norm.logpdf(noise)
            logs.append(log_flow + math.log(acceptance(chain, cuts, label, start, noise, proposal)))
        worst = max(worst, abs(logs[0] - logs[1]))
    return worst


class Recorded:
    """A generator that tells which beta distributions it was asked to draw from."""

    asked = None

    def beta(self, first, second):
        self.asked = tuple(first), tuple(second)
        return np.full(len(first), 0.5)


@pytest.mark.usefixtures("plain_kernels")
@pytest.mark.parametrize("base", ["uniform", "pcfg"])
@pytest.mark.parametrize("name", ["two trees alike", "recursive"])
def test_stop_probabilities_are_drawn_from_their_posterior(name, base):
    assert spread(name, base) < 1e-8


def test_counting_every_type_once_is_noticed(monkeypatch):
    """The approximation: each elementary tree came from the base just once."""

    def once(rng, restaurants, tables):
        tables[:] = restaurants.entries[:, 1] > 0

    monkeypatch.setattr("monolingual.tsg.sampler.draw_tables", once)
    assert spread("recursive", "pcfg") > 1e-3


def spread(name, base):
    """How far ln (posterior × chance of the tables / density drawn from) varies with β."""
    chain = chain_of(name, base=base, stop=None)
    kernel = hyperparameter_kernel(chain.treebank, chain.settings)
    names, worst = chain.treebank.productions.labels, 0.0
    for cuts in itertools.islice(posterior_of(name, base), 0, None, 3):
        logs = {}
        for expand in (0.2, 0.45, 0.9):
            betas = np.full(len(names), expand)

            def step(cuts=cuts, betas=betas):
                rng = Recorded()
                kernel.step(rng, start_at(chain, cuts, GENERATOR, betas))
                return rng.asked

            given = dict.fromkeys(names, 2.0), dict.fromkeys(names, 1.0 - expand)
            log_posterior = naive(name, base, cuts, *given)
            for asked, prob in distribution(step).items():
                density = stats.beta.logpdf(betas, *map(np.array, asked)).sum()
                logs.setdefault(asked, []).append(log_posterior + math.log(prob) - density)
        worst = max(worst, *(np.ptp(values) for values in logs.values()))
    return worst
