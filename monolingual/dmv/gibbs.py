"""A blocked Gibbs sampler for dependency models: trees given θ, θ given trees.

Under independent Dirichlet priors, trees of all sentences are drawn from P(y | x, θ) by the chart, and θ
from Dirichlet(α + uses in the trees): the sampler of Johnson, Griffiths and Goldwater (2007) for PCFGs, of
which the dependency model is one (Smith 2006; `scfg-monolingual pcfg dependencies` writes it down), in the
cubic time of split heads.

The fact a newcomer would get wrong: equal sentences have trees of their own, so the sampler cannot count
them once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monolingual.dmv.decode import count_trees, draw_trees
from monolingual.dmv.layout import Corpus, Layout, build_corpus, parameter_families
from monolingual.priors.estimators import Progress
from monolingual.priors.multinomials import Families, log_dirichlet
from scfg_sampler.core import draws
from scfg_sampler.core.chains.kernel import Kernel
from scfg_sampler.core.jit import kernel

__all__ = ["GibbsState", "every_sentence", "gibbs_kernel"]


class GibbsState(NamedTuple):
    """Where the chain is.

    Attributes
    ----------
    probs : float64, shape (R,)
        θ.
    counts : float64, shape (R,)
        Uses in the trees.
    sums : float64, shape (R,)
        θ summed over the sweeps after the burn-in.
    done : int
        Sweeps.
    """

    probs: np.ndarray
    counts: np.ndarray
    sums: np.ndarray
    done: int


def every_sentence(layout: Layout, corpus: Corpus) -> Corpus:
    """The corpus with equal sequences as often as they occur."""
    rows = [
        corpus.words[corpus.start[s] : corpus.start[s + 1]].tolist()
        for s, times in enumerate(corpus.multiplicity)
        for _ in range(int(times))
    ]
    return build_corpus(layout, rows, distinct=False)


def gibbs_kernel(layout: Layout, corpus: Corpus, prior: np.ndarray, *, burn_in: int) -> Kernel:
    """The sampler as a kernel; `init` takes probabilities.

    Its `log_joint` is log P(trees | θ) + log P(θ), without constants of the prior.
    """
    sentences = every_sentence(layout, corpus)
    families = parameter_families(layout)

    def log_joint(state: GibbsState) -> float:
        return float(state.counts @ np.log(state.probs)) + log_dirichlet(families, prior, state.probs)

    def init(rng: np.random.Generator, probs: np.ndarray) -> GibbsState:
        first = np.maximum(probs, draws.SMALLEST_PROB)
        heads = draw_trees(rng, layout, sentences, first)
        counts = count_trees(layout, sentences, heads, len(first))
        return GibbsState(first, counts, np.zeros(len(first)), 0)

    def step(rng: np.random.Generator, state: GibbsState) -> tuple[GibbsState, Progress]:
        probs = draw_probs(rng, families, prior + state.counts)
        heads = draw_trees(rng, layout, sentences, probs)
        counts = count_trees(layout, sentences, heads, len(probs))
        done = state.done + 1
        sums = state.sums + probs if done > burn_in else state.sums
        new = GibbsState(probs, counts, sums, done)
        change = float(np.abs(probs - state.probs).max())
        return new, Progress(log_joint(new), float(counts @ np.log(probs)), change)

    return Kernel(init, step, log_joint)


def draw_probs(rng: np.random.Generator, families: Families, concentrations: np.ndarray) -> np.ndarray:
    """A draw from the Dirichlet of every multinomial: float64, shape (R,)."""
    probs = np.zeros(len(concentrations))
    _draw_probs(rng, families.start, concentrations, probs)
    return probs


@kernel
def _draw_probs(rng, start, concentrations, probs):
    for k in range(len(start) - 1):
        draws.dirichlet(rng, concentrations, start[k], start[k + 1], probs)
