"""Counts of the rules in derivations, spelled out and kept exactly.

Where nodes have labels or types a record begins with them, that of the left-hand side and those of the gaps,
as symbols behind those of the source words: rules that differ in a label are two rules to all that counts.

The sampler knows a rule by a fingerprint; what leaves it is spelled, as a record of a `RuleStore`: source
side, target side, inner word alignment. So expected counts over hundreds of sweeps need memory for the rules
seen, not for the states, and of a rule's alignments the most frequent can be kept in the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.core.fragments.tree import BELOW, CUT, NUM_TAILS, OPTIONS, ORDER, PENDING, TAIL_START
from scfg_sampler.core.jit import borrowing, by_type, compiled
from scfg_sampler.forest.choice_trees import NUM_ALIGNMENTS, NUM_PAIRS, ChoiceForest, chosen_alignment
from scfg_sampler.forest.implicit import SentenceForest
from scfg_sampler.forest.labelled import LabelledForest
from scfg_sampler.forest.typed import TypedForest
from scfg_sampler.rules.counts import RuleCounts
from scfg_sampler.rules.store import (
    END,
    LINK_BASE,
    RuleStore,
    count_record,
    new_store,
    packed_store,
    stored_rules,
    with_room,
)

__all__ = [
    "Collector",
    "collect_tree",
    "collected_rules",
    "new_collector",
    "packed",
    "spell",
    "with_room_for",
]


class Collector(NamedTuple):
    """Rules with their alignments, and how often each was seen."""

    store: RuleStore
    record: np.ndarray
    """int32 (M,): scratch for one rule."""
    positions: np.ndarray
    """int32 (2, L): scratch, where each word of the sentence stands in the rule, −1 where it does not."""
    states: np.ndarray
    """int64 (1,): how many states have been added."""


def new_collector(longest_source: int, longest_target: int, most_links: int) -> Collector:
    """An empty collector for sentence pairs up to these sizes.

    Parameters
    ----------
    longest_source, longest_target, most_links : int
        In words, words and links.
    """
    return Collector(
        new_store(),
        np.zeros(2 * longest_source + longest_target + most_links + 3, np.int32),
        np.zeros((2, max(longest_source, longest_target)), np.int32),
        np.zeros(1, np.int64),
    )


@compiled
def with_room_for(collector, forest, corpus, sentence):
    """The same collector with room for all rules of a derivation of a sentence."""
    words = corpus.source_start[sentence + 1] - corpus.source_start[sentence]
    words += corpus.target_start[sentence + 1] - corpus.target_start[sentence]
    links = num_links(forest, corpus, sentence)
    # A rule spells words of its own, two ENDs, and each rule below it twice, may be its label and theirs.
    store = with_room(collector.store, words, 7 * words + links)
    return Collector(store, collector.record, collector.positions, collector.states)


@borrowing
def collect_tree(collector, forest, work, corpus, sentence, size):
    """Count the rules of the current tree, whose `size` nodes are listed in lists[BELOW]."""
    for k in range(size):
        node = work.lists[BELOW, k]
        if work.nodes[node, CUT] == 1:
            length = spell(collector, forest, work, corpus, sentence, node)
            count_record(collector.store, collector.record, length, 1.0)


@borrowing
def spell(collector, forest, work, corpus, sentence, node):
    """Write the rule headed at a node to `record`: its length."""
    symbols, spans = collector.record, forest.boxes
    source, target = collector.positions[0], collector.positions[1]
    slots, order = work.lists[OPTIONS], work.lists[ORDER]
    num_slots = _frontier(work, node)
    begin, at = corpus.source_start[sentence], spans[node, 0]
    # The source side: words between the spans of the nonterminals, which are numbered in this order.
    length = 0
    for slot in range(num_slots + 1):
        stop = spans[slots[slot], 0] if slot < num_slots else spans[node, 1]
        while at < stop:
            symbols[length] = corpus.source[begin + at]
            source[at] = length
            length += 1
            at += 1
        if slot < num_slots:
            symbols[length] = -1 - slot
            length += 1
            while at < spans[slots[slot], 1]:
                source[at] = -1
                at += 1
    symbols[length] = END
    length += 1
    # The target side: the same nonterminals in the order of their target spans, by insertion.
    for slot in range(num_slots):
        place = slot
        while place > 0 and spans[slots[order[place - 1]], 2] > spans[slots[slot], 2]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = slot
    begin, at = corpus.target_start[sentence], spans[node, 2]
    offset = length
    for rank in range(num_slots + 1):
        stop = spans[slots[order[rank]], 2] if rank < num_slots else spans[node, 3]
        while at < stop:
            symbols[length] = corpus.target[begin + at]
            target[at] = length - offset
            length += 1
            at += 1
        if rank < num_slots:
            symbols[length] = -1 - order[rank]
            length += 1
            at = spans[slots[order[rank]], 3]
    symbols[length] = END
    length += 1
    length = list_links(forest, work, corpus, sentence, node, collector, length)
    return put_labels(forest, work, node, num_slots, symbols, length)


@by_type
def put_labels(forest, work, node, num_slots, record, length):
    """Put the labels of a rule before it, its own and those of its gaps in lists[OPTIONS]; the new length."""


@put_labels.register(SentenceForest, ChoiceForest)
def _put_no_labels(forest, work, node, num_slots, record, length):
    return length


@put_labels.register(LabelledForest, TypedForest)
def _put_labels(forest, work, node, num_slots, record, length):
    more = num_slots + 1
    for at in range(length - 1, -1, -1):
        record[at + more] = record[at]
    first = forest.first_symbol[0]
    record[0] = first + forest.label[node]
    for slot in range(num_slots):
        record[slot + 1] = first + forest.label[work.lists[OPTIONS, slot]]
    return length + more


@by_type
def num_links(forest, corpus, sentence):
    """A bound on the links of all rules of a derivation."""


@num_links.register(SentenceForest, LabelledForest, TypedForest)
def _num_links(forest, corpus, sentence):
    return corpus.link_start[sentence + 1] - corpus.link_start[sentence]


@num_links.register(ChoiceForest)
def _num_links_of_all(forest, corpus, sentence):
    total = np.int64(0)
    for alignment in range(forest.shape[NUM_ALIGNMENTS]):
        under = alignment * forest.shape[NUM_PAIRS] + sentence
        total += corpus.link_start[under + 1] - corpus.link_start[under]
    return total


@by_type
def list_links(forest, work, corpus, sentence, node, collector, length):
    """Write the links of a rule's own words to `record` from `length` on, in order; where they end."""


@list_links.register(SentenceForest, LabelledForest, TypedForest)
def _list_links(forest, work, corpus, sentence, node, collector, length):
    symbols, spans = collector.record, forest.boxes
    source, target = collector.positions[0], collector.positions[1]
    # Both ends are in one rule, for a phrase holds both or neither.
    for link in range(corpus.link_start[sentence], corpus.link_start[sentence + 1]):
        s, t = corpus.links[link, 0], corpus.links[link, 1]
        if spans[node, 0] <= s < spans[node, 1] and source[s] >= 0:
            symbols[length] = source[s] * LINK_BASE + target[t]
            length += 1
    return length


@list_links.register(ChoiceForest)
def _list_chosen_links(forest, work, corpus, sentence, node, collector, length):
    nodes, pending = work.nodes, work.lists[PENDING]
    begin = length
    pending[0] = node
    num_pending = 1
    while num_pending > 0:
        num_pending -= 1
        at = pending[num_pending]
        length = _list_links_of_edge(forest, work, corpus, sentence, at, collector, length)
        first = nodes[at, TAIL_START]
        for t in range(first, first + nodes[at, NUM_TAILS]):
            if nodes[work.tails[t], CUT] == 0:
                pending[num_pending] = work.tails[t]
                num_pending += 1
    # Every edge has its links in order, but edges are met from the top down.
    symbols = collector.record
    for end in range(begin + 1, length):
        link, place = symbols[end], end
        while place > begin and symbols[place - 1] > link:
            symbols[place] = symbols[place - 1]
            place -= 1
        symbols[place] = link
    return length


@borrowing
def _list_links_of_edge(forest, work, corpus, sentence, node, collector, length):
    """`list_links` of the words that a node's edge has itself, under the alignment that it is of."""
    symbols, boxes, nodes = collector.record, forest.boxes, work.nodes
    source, target = collector.positions[0], collector.positions[1]
    under = chosen_alignment(forest, work, node) * forest.shape[NUM_PAIRS] + sentence
    first, last = nodes[node, TAIL_START], nodes[node, TAIL_START] + nodes[node, NUM_TAILS]
    for link in range(corpus.link_start[under], corpus.link_start[under + 1]):
        s, t = corpus.links[link, 0], corpus.links[link, 1]
        is_own = boxes[node, 0] <= s < boxes[node, 1]
        for tail in range(first, last):
            is_own &= s < boxes[work.tails[tail], 0] or s >= boxes[work.tails[tail], 1]
        if is_own:
            symbols[length] = source[s] * LINK_BASE + target[t]
            length += 1
    return length


@borrowing
def _frontier(work, node):
    """List the cut nodes below a fragment in lists[OPTIONS], in source order; how many."""
    nodes = work.nodes
    pending, found = work.lists[PENDING], work.lists[OPTIONS]
    pending[0] = node
    num_pending = 1
    size = 0
    while num_pending > 0:
        num_pending -= 1
        at = pending[num_pending]
        if at != node and nodes[at, CUT] == 1:
            found[size] = at
            size += 1
            continue
        first = nodes[at, TAIL_START]
        for t in range(first + nodes[at, NUM_TAILS] - 1, first - 1, -1):
            pending[num_pending] = work.tails[t]
            num_pending += 1
    return size


def packed(collector: Collector) -> Collector:
    """The same collector without what it can do without, to be stored or sent; it shares arrays."""
    scratch = {"record": np.zeros_like(collector.record), "positions": np.zeros_like(collector.positions)}
    return collector._replace(store=packed_store(collector.store), **scratch)


def collected_rules(collector: Collector) -> RuleCounts:
    """The rules collected, each once, with its mean count over the states added.

    Parameters
    ----------
    collector : Collector
        With at least one state.

    Returns
    -------
    RuleCounts, sorted; of a rule's alignments the most frequent.
    """
    return stored_rules(collector.store, divisor=float(max(1, collector.states[0])))
