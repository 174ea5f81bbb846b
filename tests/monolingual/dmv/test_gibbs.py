"""The Gibbs sampler against the posterior of all trees, parameters integrated out."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose
from scipy.special import digamma

from monolingual.dmv.gibbs import every_sentence, gibbs_kernel
from monolingual.dmv.initial import uniform
from monolingual.dmv.layout import Layout, build_corpus, num_parameters, parameter_families
from monolingual.priors.multinomials import log_dirichlet_multinomial
from tests.monolingual.dmv.enumeration import projective_trees, tree_counts

LAYOUT = Layout(2, 1)
TAGS = [0, 0, 1]


def posterior(concentration):
    """Of each tree, by its counts of parameters."""
    prior = np.full(num_parameters(LAYOUT), concentration)
    counts = [tree_counts(LAYOUT, TAGS, heads) for heads in projective_trees(len(TAGS))]
    families = parameter_families(LAYOUT)
    logs = np.array([log_dirichlet_multinomial(families, prior, row) for row in counts])
    probs = np.exp(logs - logs.max())
    found: dict[tuple, float] = {}
    for row, prob in zip(counts, probs / probs.sum(), strict=True):
        found[tuple(row)] = found.get(tuple(row), 0.0) + prob
    return found


def test_trees_are_visited_as_often_as_they_are_probable(rng):
    """2,000 sweeps: 0.05 is five deviations of independent draws at 0.24, the largest probability.

    Three at thrice the variance, so false alarms below 1 in 50 for seven trees, at a fixed seed. At
    concentrations below 1 the chain moves too slowly for this.
    """
    prior = np.full(num_parameters(LAYOUT), 1.0)
    kernel = gibbs_kernel(LAYOUT, build_corpus(LAYOUT, [TAGS]), prior, burn_in=0)
    state = kernel.init(rng, uniform(LAYOUT))
    seen: dict[tuple, int] = {}
    for _ in range(2000):
        state, progress = kernel.step(rng, state)
        seen[tuple(state.counts)] = seen.get(tuple(state.counts), 0) + 1
    assert_allclose(progress.log_joint, kernel.log_joint(state), rtol=1e-10)

    def error(target):
        return max(abs(seen.get(row, 0) / 2000 - prob) for row, prob in target.items())

    assert error(posterior(1.0)) < 0.05
    # Planted fault: the posterior under another prior.
    assert error(posterior(10.0)) > 0.05


def test_trees_and_parameters_are_drawn_together(rng):
    """The mean of ln P(trees | θ): of each tree Σ c (ψ(α + c) − ψ(Σ α + c)), given which θ is Dirichlet.

    Of 100 blocks of 60 sweeps: six of their standard errors.
    """
    prior = np.full(num_parameters(LAYOUT), 1.0)
    families = parameter_families(LAYOUT)
    expected = 0.0
    for row, prob in posterior(1.0).items():
        counts = prior + np.array(row)
        totals = np.repeat(np.add.reduceat(counts, families.start[:-1]), np.diff(families.start))
        expected += prob * float(np.array(row) @ (digamma(counts) - digamma(totals)))
    kernel = gibbs_kernel(LAYOUT, build_corpus(LAYOUT, [TAGS]), prior, burn_in=0)
    state, found, apart, earlier = kernel.init(rng, uniform(LAYOUT)), [], [], []
    before = first = state.counts
    for _ in range(6000):
        first, before = before, state.counts
        state, _ = kernel.step(rng, state)
        log_probs = np.log(state.probs)
        found.append(state.counts @ log_probs)
        apart.append(before @ log_probs)
        earlier.append(first @ log_probs)

    def off(values):
        blocks = np.mean(np.reshape(values, (100, -1)), axis=1)
        return abs(blocks.mean() - expected) / (blocks.std() / 10)

    assert off(found) < 6
    # θ was drawn given the trees before, so with these it is right, too; with those before them it is not.
    assert off(apart) < 6
    assert off(earlier) > 6


def test_a_strong_prior_outweighs_the_counts(rng):
    """With 10,000 for each choice of two, the deviation of a probability is 0.0035."""
    families = parameter_families(LAYOUT)
    kernel = gibbs_kernel(
        LAYOUT, build_corpus(LAYOUT, [TAGS]), np.full(num_parameters(LAYOUT), 1e4), burn_in=0
    )
    state, _ = kernel.step(rng, kernel.init(rng, uniform(LAYOUT)))
    assert_allclose(state.probs, np.repeat(1.0 / np.diff(families.start), np.diff(families.start)), atol=0.03)


def test_mean_of_the_draws_leaves_out_the_burn_in(rng):
    kernel = gibbs_kernel(LAYOUT, build_corpus(LAYOUT, [TAGS]), np.ones(num_parameters(LAYOUT)), burn_in=2)
    state = kernel.init(rng, uniform(LAYOUT))
    kept = []
    for _ in range(5):
        state, _ = kernel.step(rng, state)
        kept.append(state.probs.copy())
    assert_allclose(state.sums, np.sum(kept[2:], axis=0))


def test_equal_sentences_have_trees_of_their_own():
    corpus = build_corpus(LAYOUT, [TAGS, [1], TAGS])
    assert len(corpus.multiplicity) == 2
    assert every_sentence(LAYOUT, corpus).multiplicity.tolist() == [1.0, 1.0, 1.0]
