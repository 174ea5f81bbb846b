"""The collapsed sampler: trees given each other, with the rule probabilities integrated out.

For one sentence after the other (Johnson et al. 2007, section 4), its tree t is taken out of the counts f, a
tree is proposed under θ' = (α + f) / Σ(α + f), the mean of the posterior given the other trees, and accepted
with probability

    min{1, P(t* | f) q(t) / (P(t | f) q(t*))},     P(t | f) = P(f + f(t) | α) / P(f | α),     q(t) = Π
    θ'_r^{f_r(t)}.

P differs from q because a rule that a tree uses twice is likelier the second time. At the end of a sweep θ is
drawn from Dirichlet(α + f), so that draws of trees and θ together follow the sink approach, to which the
model belongs; they answer for the other approaches by reweighting (`posterior.reweight`).

The fact a newcomer would get wrong: the sampler is not a Gibbs sampler. Without the acceptance step it would
follow another distribution.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from monolingual.pcfg.chart import fill_inside
from monolingual.pcfg.chart_grammar import chart_weights, fill_weights, new_weights
from monolingual.pcfg.gibbs import NO_TREE, SweepBlock
from monolingual.pcfg.model import Data, Model
from monolingual.pcfg.posterior import SINK, ThetaGiven, draw_probs, log_partition
from monolingual.pcfg.tree_draws import Parsing, Trees, draw_tree, draw_trees, new_parsing
from monolingual.priors.multinomials import log_dirichlet_multinomial
from scfg_sampler.core import draws
from scfg_sampler.core.arrays.growth import grown
from scfg_sampler.core.chains.kernel import Kernel
from scfg_sampler.core.jit import by_reference, compiled, kernel
from scfg_sampler.errors import SettingsError

__all__ = ["CollapsedState", "collapsed_kernel", "sweep_trees"]


class CollapsedState(NamedTuple):
    """What the next sweep needs.

    Attributes
    ----------
    trees : Trees
        The present tree of every sentence.
    counts : int64, shape (R,)
        Their rules and those of given trees.
    """

    trees: Trees
    counts: np.ndarray


def collapsed_kernel(
    model: Model, data: Data, *, block: int = 1, thin: int = 1, with_partition: bool = False
) -> Kernel:
    """The kernel whose steps are blocks of sweeps; states are `CollapsedState`, infos `gibbs.SweepBlock`.

    Parameters
    ----------
    model : Model
    data : Data
        With at least one sentence.
    block : int
        Sweeps per step, a multiple of `thin`.
    thin : int
        The last of every `thin` sweeps is kept.
    with_partition : bool
        Compute Z of kept draws.

    Returns
    -------
    Kernel whose data are the probabilities under which the first trees are drawn, and whose log joint is that
    of all trees. Proposals and rejections of its info are of trees.
    """
    num_sentences = len(data.start) - 1
    if num_sentences == 0:
        raise SettingsError("--sampler collapsed samples trees of sentences; give --sentences")
    parsing = new_parsing(model.chart, new_weights(model.chart), data.start, 0, num_sentences)
    given = ThetaGiven(SINK, model.families.start, model.prior, model.system, 0)

    def init(rng: np.random.Generator, probs: np.ndarray) -> CollapsedState:
        weights = chart_weights(model.chart, np.asarray(probs, np.float64))
        trees, log_prob = draw_trees(rng, model.chart, weights, data.words, data.start, 0, num_sentences)
        if log_prob == -np.inf:
            raise SettingsError(NO_TREE)
        counts = data.tree_counts + np.bincount(trees.rules, minlength=len(model.prior))
        return CollapsedState(trees, counts)

    def step(rng: np.random.Generator, state: CollapsedState) -> tuple[CollapsedState, SweepBlock]:
        probs = np.empty((block // thin, len(model.prior)))
        log_z = np.full(block // thin, np.nan)
        log_joints = np.empty(block // thin)
        rejections = np.zeros(block // thin, np.int64)
        kept: list[Trees] = []
        total = 0
        for sweep in range(block):
            trees, rejected = sweep_trees(rng, parsing, given, data, state)
            if rejected < 0:
                raise SettingsError(NO_TREE)
            state = CollapsedState(trees, state.counts)
            total += rejected
            if (sweep + 1) % thin == 0:
                at = sweep // thin
                rejections[at] = rejected
                log_joints[at] = log_joint(state)
                after = model.prior + state.counts
                log_z[at] = _draw_theta(rng, given, after, with_partition, probs[at])
                kept.append(trees)
        offsets = np.cumsum([0, *(len(trees.rules) for trees in kept)])
        start = [trees.start[1:] + offset for trees, offset in zip(kept, offsets, strict=False)]
        trees = Trees(np.concatenate([[0], *start]), np.concatenate([trees.rules for trees in kept]))
        moves = total, block * num_sentences
        info = SweepBlock(float(log_joints[-1]), block, rejections, *moves, probs, log_z, log_joints, trees)
        return state, info

    def log_joint(state: CollapsedState) -> float:
        return log_dirichlet_multinomial(model.families, model.prior, state.counts)

    return Kernel(init, step, log_joint)


@kernel
def _draw_theta(rng, given, concentrations, with_partition, probs):
    draw_probs(rng, given, concentrations, probs, np.zeros(1), probs)
    return log_partition(given.system, probs) if with_partition else np.nan


@kernel
def sweep_trees(rng, parsing, given, data, state):
    """Resample the tree of every sentence given all others; updates the counts of the state.

    Parameters
    ----------
    rng : numpy.random.Generator
    parsing : Parsing
    given : ThetaGiven
        Read for the families and the prior.
    data : Data
    state : CollapsedState

    Returns
    -------
    Trees, the new ones; and the number of rejected proposals, −1 if a sentence has no tree.
    """
    chart, filled = by_reference(parsing.chart), by_reference(parsing.weights)
    room = by_reference(parsing.room)
    references = by_reference(Parsing(chart, filled, room, parsing.stack))
    family_start, prior = given.family_start, given.prior
    old_start, old_rules = state.trees.start, state.trees.rules
    counts = state.counts
    num_sentences = len(data.start) - 1
    rules = np.empty(2 * len(old_rules) + 16, dtype=np.int32)
    start = np.zeros(num_sentences + 1, dtype=np.int64)
    totals = np.zeros(len(family_start) - 1)
    family_of = np.empty(len(prior), dtype=np.int64)
    for family in range(len(totals)):
        for rule in range(family_start[family], family_start[family + 1]):
            family_of[rule] = family
            totals[family] += prior[rule] + counts[rule]
    mean = np.empty(len(prior))
    size, rejected = 0, 0
    for sentence in range(num_sentences):
        old_first, old_end = old_start[sentence], old_start[sentence + 1]
        for i in range(old_first, old_end):
            counts[old_rules[i]] -= 1
            totals[family_of[old_rules[i]]] -= 1.0
        for rule in range(len(prior)):
            mean[rule] = (prior[rule] + counts[rule]) / totals[family_of[rule]]
        at, length = data.start[sentence], data.start[sentence + 1] - data.start[sentence]
        if not fill_weights(chart, mean, filled):
            return Trees(start, rules), -1
        if fill_inside(chart, filled, room, data.words, at, at + length) == -np.inf:
            return Trees(start, rules), -1
        first = size
        rules, size = draw_tree(rng, references, data.words, at, length, rules, size)
        # What is left of both trees are their log P − log q; the new one stays in the counts.
        log_old = _add_tree(old_rules, old_first, old_end, prior, counts, totals, family_of, mean)
        _remove_tree(old_rules, old_first, old_end, counts, totals, family_of)
        log_new = _add_tree(rules, first, size, prior, counts, totals, family_of, mean)
        if log_new < log_old and not draws.bernoulli(rng, math.exp(log_new - log_old)):
            rejected += 1
            _remove_tree(rules, first, size, counts, totals, family_of)
            _add_tree(old_rules, old_first, old_end, prior, counts, totals, family_of, mean)
            size = first
            rules = grown(rules, size + old_end - old_first)
            rules[size : size + old_end - old_first] = old_rules[old_first:old_end]
            size += old_end - old_first
        start[sentence + 1] = size
    return Trees(start, rules[:size].copy()), rejected


@compiled
def _add_tree(rules, first, end, prior, counts, totals, family_of, mean):
    """Count a tree's rules one after the other; log P(t | f) − log q(t)."""
    log_ratio = 0.0
    for i in range(first, end):
        rule = rules[i]
        family = family_of[rule]
        log_ratio += math.log((prior[rule] + counts[rule]) / totals[family] / mean[rule])
        counts[rule] += 1
        totals[family] += 1.0
    return log_ratio


@compiled
def _remove_tree(rules, first, end, counts, totals, family_of):
    for i in range(first, end):
        counts[rules[i]] -= 1
        totals[family_of[rules[i]]] -= 1.0
