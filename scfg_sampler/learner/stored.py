"""What a checkpoint of a run holds, and whether a chain can go on from it.

A digest tells of damage. Whoever changes arrays and their digest too is met here: all that kernels index with
is compared with the corpus, the derivations are walked along their forests, and the restaurants are compared
with a recount of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.array_file import is_within
from scfg_sampler.core.chains.checkpoint import layout_problem
from scfg_sampler.core.chains.kernel import Kernel
from scfg_sampler.core.fragments.audit import AuditError, require_comparable
from scfg_sampler.core.fragments.stored_trees import stored_size
from scfg_sampler.core.fragments.tree import BELOW, CUT, NUM_TAILS, TAIL_START, open_sentence
from scfg_sampler.core.jit import borrowing, by_reference, by_type, kernel
from scfg_sampler.errors import ScfgError
from scfg_sampler.forest.choice_trees import ChoiceForest
from scfg_sampler.forest.implicit import MAX_ATTACHED, write_hull
from scfg_sampler.forest.labelled import LabelledForest
from scfg_sampler.forest.trees import SentenceForest
from scfg_sampler.forest.typed import TypedForest
from scfg_sampler.learner.chain import LearnerState
from scfg_sampler.learner.collecting import Collector
from scfg_sampler.learner.forest_bank import ForestBank
from scfg_sampler.learner.gathering import Gathered
from scfg_sampler.learner.labels import are_labelled
from scfg_sampler.rules.runs import are_rules
from scfg_sampler.rules.store import END

__all__ = ["RunState", "stored_problem"]


class RunState(NamedTuple):
    """What a checkpoint of a run holds."""

    learner: LearnerState
    marginal: Gathered
    average: Gathered
    marginals: np.ndarray
    seconds: float
    cpu_seconds: float


_RESTAURANTS = [
    f"learner.restaurants.{name}" for name in ("entries", "stratum", "log_base", "party", "parties")
]
_STORES = [
    f"{which}.collector.store.{name}"
    for which in ("marginal", "average")
    for name in ("records.start", "records.symbols", "count", "seen")
]


def stored_problem(bank: ForestBank, chain: Kernel, stored: RunState, like: RunState) -> str | None:
    """What keeps a chain from going on from something stored; None if nothing does.

    Parameters
    ----------
    bank : ForestBank
    chain : Kernel
        Of the bank's corpus.
    stored : RunState
    like : RunState
        As another chain of the same run may store it.
    """
    if problem := layout_problem(stored, like, free=[*_RESTAURANTS, *_STORES]):
        return problem
    learner = stored.learner
    if learner.sweep < 0 or not (np.isfinite(learner.mean_length) & (learner.mean_length > 0)).all():
        return "learner.sweep or learner.mean_length is out of range"
    bad = _first_bad_tree(bank.walk, learner.trees)
    if bad >= 0:
        return f"learner.trees has no derivation of sentence {bad + 1}"
    try:
        require_comparable(learner.restaurants, like.learner.restaurants)
        chain.log_joint(learner)
    except (AuditError, ScfgError) as error:
        return str(error)
    for name in ("marginal", "average"):
        if not _has_rules(bank, getattr(stored, name).collector):
            return f"{name} has rules that are none of this corpus"
    return None


def _has_rules(bank: ForestBank, collector: Collector) -> bool:
    """Whether what is collected are rules over the words of a corpus."""
    (_, start, symbols, size), count, seen = collector.store
    number = int(size[0])
    if collector.states[0] < 0 or not len(start) == number + 1 == len(count) + 1 == len(seen) + 1:
        return False
    is_ascending = start[0] == 0 and start[-1] == len(symbols) and bool((start[1:] > start[:-1]).all())
    if not is_ascending or not is_within(seen, 1, 2**31 - 1) or not (count == seen).all():
        return False
    source_words, target_words = map(len, bank.record_vocabularies)
    if not are_rules(start, symbols, source_words, target_words):
        return False
    return bank.labels is None or are_labelled(*_source_sides(start, symbols), bank.extent.first_label)


def _source_sides(start: np.ndarray, symbols: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The source sides of records, as rows."""
    ends = np.cumsum(symbols == END)
    is_source = ends == np.repeat(np.append(0, ends)[start[:-1]], np.diff(start))
    return np.append(0, np.cumsum(is_source))[start], symbols[is_source]


@kernel
def _first_bad_tree(walk, trees):
    """The first sentence whose codes are no derivation of its forest, or −1."""
    forest, work, corpus = by_reference(walk.forest), by_reference(walk.work), by_reference(walk.corpus)
    tree_start = walk.tree_start
    for sentence in range(tree_start.shape[0] - 1):
        size = tree_start[sentence + 1] - tree_start[sentence]
        if size == 0:
            continue
        open_sentence(forest, work, corpus, sentence)
        stored = stored_size(forest, work, trees, tree_start[sentence], size)
        if stored < 0 or not _are_zeros(trees, tree_start[sentence] + stored, tree_start[sentence] + size):
            return sentence
        if forest.shape[MAX_ATTACHED] > 0 and not _boxes_fit(forest, work, size):
            return sentence
        if not types_fit(forest, work, size):
            return sentence
    return -1


@by_type
def types_fit(forest, work, size):
    """Whether the cut nodes in lists[BELOW], the root first, have types that there are."""


@types_fit.register(SentenceForest, LabelledForest, ChoiceForest)
def _no_types_fit(forest, work, size):
    return True


@types_fit.register(TypedForest)
def _types_fit(forest, work, size):
    for k in range(1, size):
        node = work.lists[BELOW, k]
        if work.nodes[node, CUT] == 1 and not 1 <= forest.label[node] < forest.root_values.shape[0]:
            return False
    return True


@borrowing
def _are_zeros(codes, start, stop):
    """Whether codes[start:stop] are all 0, as those after a derivation are."""
    largest = np.int64(0)
    for at in range(start, stop):
        largest = max(largest, np.int64(codes[at]))
    return largest == 0


@borrowing
def _boxes_fit(forest, work, size):
    """Whether boxes are nested as the nodes in lists[BELOW] are, and those side by side are disjoint."""
    boxes, nodes = forest.boxes, work.nodes
    for k in range(size - 1, -1, -1):
        node = work.lists[BELOW, k]
        first, number = nodes[node, TAIL_START], nodes[node, NUM_TAILS]
        if nodes[node, CUT] == 0:
            write_hull(forest, work, node, boxes[node])
        for t in range(first, first + number):
            for side in (0, 2):
                begin, end = boxes[work.tails[t], side], boxes[work.tails[t], side + 1]
                if begin < boxes[node, side] or end > boxes[node, side + 1]:
                    return False
                for other in range(first, t):
                    tail = work.tails[other]
                    if begin < boxes[tail, side + 1] and boxes[tail, side] < end:
                        return False
    return True
