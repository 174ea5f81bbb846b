"""Gibbs sampling of trees and rule probabilities, given trees, sentences or both.

One sweep draws a tree of every sentence from P(t | w, θ), the same in all three approaches because Z(θ)
cancels, and then θ given all trees by the approach's algorithm (Cohen and Johnson 2013, algorithm 4; Johnson
et al. 2007 for the sink approach). Trees that are given are counted once and for all; without sentences, a
sweep is one draw of θ.

A step of the kernel is a block of sweeps in one call, because with few sentences a sweep takes a microsecond
and a call twenty. Of each block some sweeps are kept, every `thin`-th. Corpora of many sentences are cut into
shards, each with a generator of its own, which threads may take in any order: the draws do not depend on how
many there are.

The fact a newcomer would get wrong: the state is θ alone. The trees are drawn anew in every sweep and kept
only to be looked at.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from monolingual.pcfg.approaches import IMAGES, ONLY_TIGHT, PROPOSALS, RENORMALISE, approach_code
from monolingual.pcfg.chart import fill_inside
from monolingual.pcfg.chart_grammar import chart_weights, fill_weights, new_weights
from monolingual.pcfg.model import Data, Model
from monolingual.pcfg.posterior import (
    ThetaGiven,
    draw_probs,
    log_partition,
    refuse_too_many_tries,
)
from monolingual.pcfg.tight_images import elimination_order
from monolingual.pcfg.tree_draws import Parsing, Trees, draw_tree, draw_trees, new_parsing
from monolingual.priors.multinomials import log_dirichlet
from scfg_sampler.core.chains.kernel import Kernel
from scfg_sampler.core.jit import by_reference, compiled, kernel
from scfg_sampler.errors import SettingsError

__all__ = ["NO_TREE", "SHARDS", "State", "SweepBlock", "gibbs_kernel"]

SHARDS = 16

NO_TREE = "a sentence has no tree whose probability can be represented; raise --prior"
_SMALL_CORPUS = 256


class State(NamedTuple):
    """What the next sweep needs.

    Attributes
    ----------
    probs : float64, shape (R,)
    log_z : float64, shape (1,)
        log Z(probs); 0 where the approach has no use for it.
    counts : int64, shape (R,)
        The uses of rules in the trees of the last sweep, given ones included.
    """

    probs: np.ndarray
    log_z: np.ndarray
    counts: np.ndarray


class SweepBlock(NamedTuple):
    """What a block of sweeps leaves for readers. D sweeps of it are kept.

    Attributes
    ----------
    log_joint : float
        log P(trees, θ) after the last sweep; for only-tight up to a constant, the share of tight grammars.
    sweeps : int
    rejections : int64, shape (D,)
        Draws of θ that were rejected in each kept sweep.
    all_rejections, all_proposals : int
        Those in all sweeps, and how many draws there were, the rejected ones among them.
    probs : float64, shape (D, R)
    log_z : float64, shape (D,)
        log Z of each kept draw; NaN if it was not asked for.
    log_joints : float64, shape (D,)
    trees : Trees
        Of all sentences in each kept sweep, one sweep after the other.
    """

    log_joint: float
    sweeps: int
    rejections: np.ndarray
    all_rejections: int
    all_proposals: int
    probs: np.ndarray
    log_z: np.ndarray
    log_joints: np.ndarray
    trees: Trees


def gibbs_kernel(
    model: Model,
    data: Data,
    approach: str,
    *,
    block: int = 1,
    thin: int = 1,
    threads: int = 1,
    with_partition: bool = False,
    proposal: str = PROPOSALS[IMAGES],
) -> Kernel:
    """The kernel whose steps are blocks of sweeps.

    Parameters
    ----------
    model : Model
    data : Data
    approach : str
        One of `approaches.APPROACHES`.
    block : int
        Sweeps per step, a multiple of `thin`.
    thin : int
        The last of every `thin` sweeps is kept.
    threads : int
        Used with 256 sentences and more.
    with_partition : bool
        Compute Z of kept draws in every approach.
    proposal : str
        One of `approaches.PROPOSALS`, for the renormalise approach.

    Returns
    -------
    Kernel on `State`, whose data are the initial probabilities and whose info is a `SweepBlock`.

    Raises
    ------
    SettingsError
        By the step: the posterior has almost no tight grammars, in the only-tight approach; or a sentence has
        no tree.
    """
    code = approach_code(approach)
    num_sentences = len(data.start) - 1
    num_trees = data.num_trees + num_sentences
    log_norm = log_dirichlet(model.families, model.prior, np.ones(len(model.prior)))
    is_small = num_sentences < _SMALL_CORPUS
    filled = new_weights(model.chart)
    parsing = new_parsing(model.chart, filled, data.start, 0, num_sentences if is_small else 0)
    needs_order = code == RENORMALISE and PROPOSALS.index(proposal) == IMAGES
    order = elimination_order(model.system) if needs_order else np.zeros(0, np.int64)
    given = ThetaGiven(
        code, model.families.start, model.prior, model.system, num_trees, PROPOSALS.index(proposal), order
    )
    plan = _Plan(block, thin, with_partition, log_norm)

    def init(rng: np.random.Generator, probs: np.ndarray) -> State:
        log_z = np.zeros(1)
        if code == RENORMALISE:
            log_z[0] = _log_partition(model.system, probs)
        return State(np.array(probs, np.float64), log_z, data.tree_counts.copy())

    def step(rng: np.random.Generator, state: State) -> tuple[State, SweepBlock]:
        kept = _Kept(
            np.empty((block // thin, len(model.prior))),
            np.full(block // thin, np.nan),
            np.empty(block // thin),
            np.zeros(block // thin, np.int64),
            np.zeros(block // thin * num_sentences + 1, np.int64),
            np.empty(len(model.prior)),
            np.empty(len(model.prior)),
        )
        if is_small:
            rules, proposed, rejected = _sweep_block(rng, parsing, given, data, state, plan, kept)
        else:
            rules, proposed, rejected = _sweep_sharded(
                rng, model.chart, given, data, state, plan, kept, threads
            )
        if rejected == _GAVE_UP:
            refuse_too_many_tries()
        if rejected == _NO_TREE:
            raise SettingsError(NO_TREE)
        trees = Trees(kept.tree_start, rules)
        probs, log_z, log_joints, rejections = kept[:4]
        moves = int(rejected), int(proposed)
        return state, SweepBlock(
            float(log_joints[-1]), block, rejections, *moves, probs, log_z, log_joints, trees
        )

    def log_joint(state: State) -> float:
        value = log_dirichlet(model.families, model.prior, state.probs)
        value += float(np.sum(state.counts * np.log(state.probs)))
        if code == RENORMALISE:
            value -= num_trees * float(_log_partition(model.system, state.probs))
        return value

    return Kernel(init, step, log_joint)


class _Plan(NamedTuple):
    """What a block of sweeps has to do."""

    sweeps: int
    thin: int
    with_partition: bool
    log_norm: float


class _Kept(NamedTuple):
    """Room for what is kept, and for a draw: its concentrations, and a proposal.

    Kept are probabilities, log Z, log joint, rejections, and where each tree begins.
    """

    probs: np.ndarray
    log_z: np.ndarray
    log_joints: np.ndarray
    rejections: np.ndarray
    tree_start: np.ndarray
    concentrations: np.ndarray
    proposal: np.ndarray


_GAVE_UP, _NO_TREE = -1, -2


@kernel
def _log_partition(system, probs):
    return log_partition(system, probs)


@kernel
def _sweep_block(rng, parsing, given, data, state, plan, kept):
    """All sweeps of a block in one call; the rules of the kept trees, all proposals, and all rejections."""
    chart, filled = by_reference(parsing.chart), by_reference(parsing.weights)
    room = by_reference(parsing.room)
    references = by_reference(Parsing(chart, filled, room, parsing.stack))
    words, start = data.words, data.start
    num_sentences = len(start) - 1
    rules = np.empty(8 * len(words) + 16, dtype=np.int32)
    size, total_proposed, total_rejected = 0, 0, 0
    for sweep in range(plan.sweeps):
        is_kept = (sweep + 1) % plan.thin == 0
        state.counts[:] = data.tree_counts
        first = size
        if num_sentences > 0 and not fill_weights(chart, state.probs, filled):
            return rules[:0].copy(), 0, _NO_TREE
        for sentence in range(num_sentences):
            at, length = start[sentence], start[sentence + 1] - start[sentence]
            if fill_inside(chart, filled, room, words, at, at + length) == -np.inf:
                return rules[:0].copy(), 0, _NO_TREE
            begin = size
            rules, size = draw_tree(rng, references, words, at, length, rules, size)
            for i in range(begin, size):
                state.counts[rules[i]] += 1
            if is_kept:
                kept.tree_start[sweep // plan.thin * num_sentences + sentence + 1] = size
            else:
                size = first
        proposed, rejected = _draw_and_keep(rng, given, state, plan, kept, sweep)
        if rejected < 0:
            return rules[:0].copy(), 0, _GAVE_UP
        total_proposed += proposed
        total_rejected += rejected
    return rules[:size].copy(), total_proposed, total_rejected


@compiled
def _draw_and_keep(rng, given, state, plan, kept, sweep):
    """Draw θ given the counts, and note what is to be kept; what `draw_probs` returns."""
    prior, concentrations = given.prior, kept.concentrations
    for rule in range(len(prior)):
        concentrations[rule] = prior[rule] + state.counts[rule]
    proposed, rejected = draw_probs(rng, given, concentrations, state.probs, state.log_z, kept.proposal)
    if rejected >= 0 and (sweep + 1) % plan.thin == 0:
        at = sweep // plan.thin
        kept.rejections[at] = rejected
        log_joint = plan.log_norm
        for rule in range(len(prior)):
            kept.probs[at, rule] = state.probs[rule]
            log_joint += (concentrations[rule] - 1.0) * np.log(state.probs[rule])
        if given.approach == RENORMALISE:
            kept.log_z[at] = state.log_z[0]
            log_joint -= given.num_trees * state.log_z[0]
        elif given.approach == ONLY_TIGHT:
            kept.log_z[at] = 0.0
        elif plan.with_partition:
            kept.log_z[at] = log_partition(given.system, state.probs)
        kept.log_joints[at] = log_joint
    return proposed, rejected


@kernel
def _draw_once(rng, given, state, plan, kept, sweep):
    return _draw_and_keep(rng, given, state, plan, kept, sweep)


def _sweep_sharded(rng, chart, given, data, state, plan, kept, threads):
    """The same for many sentences: each sweep in shards, which threads take in turn."""
    num_sentences = len(data.start) - 1
    borders = np.linspace(0, num_sentences, SHARDS + 1).astype(np.int64)
    all_rules: list[np.ndarray] = []
    total_proposed, total_rejected, size = 0, 0, 0
    with ThreadPoolExecutor(threads) as pool:
        for sweep in range(plan.sweeps):
            weights = chart_weights(chart, state.probs)
            # One generator per shard, so that it does not matter which thread takes which.
            seeds = rng.integers(2**63, size=SHARDS)

            def draw(shard, weights=weights, seeds=seeds):
                generator = np.random.default_rng(seeds[shard])
                place = borders[shard], borders[shard + 1]
                return draw_trees(generator, chart, weights, data.words, data.start, *place)

            drawn = list(pool.map(draw, range(SHARDS)))
            if any(log_prob == -np.inf for _, log_prob in drawn):
                return np.zeros(0, np.int32), 0, _NO_TREE
            state.counts[:] = data.tree_counts
            for trees, _ in drawn:
                state.counts[:] += np.bincount(trees.rules, minlength=len(given.prior))
            if (sweep + 1) % plan.thin == 0:
                for shard, (trees, _) in enumerate(drawn):
                    begin = sweep // plan.thin * num_sentences + borders[shard] + 1
                    kept.tree_start[begin : begin + len(trees.start) - 1] = size + trees.start[1:]
                    size += len(trees.rules)
                    all_rules.append(trees.rules)
            proposed, rejected = _draw_once(rng, given, state, plan, kept, sweep)
            if rejected < 0:
                return np.zeros(0, np.int32), 0, _GAVE_UP
            total_proposed += proposed
            total_rejected += rejected
    rules = np.concatenate(all_rules) if all_rules else np.zeros(0, np.int32)
    return rules, total_proposed, total_rejected
