"""A visit of one sentence pair by the sampler, choice by choice, with the weights that decided each.

The choices are those of `core.fragments.sampler.sweep_tree`, made by the same kernels in the same order with
the same draws: a visit leaves exactly the tree that a sweep would have left. At a node with several edges the
weights are read where `resample_edge` leaves them. At a node that may be inside a rule they are found before
`resample_cut` chooses,

    share of leaving it uncut = P(whole rule) / (P(whole rule) + P(upper rule) P(lower rule)),

with the draws taken back, so that it makes them again.

The fact a newcomer would get wrong: the options of an edge are whole derivations below the node. Those that
are not in the tree get edges and cuts at random first, so that the share of an edge is that of one such
derivation; equation 6 of Chung et al. (2014) makes up for it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.core import elementary
from scfg_sampler.core.chains.kernel import copy_state
from scfg_sampler.core.fragments.cuts import list_cuts, resample_cut
from scfg_sampler.core.fragments.paths import restore_path
from scfg_sampler.core.fragments.restaurant import TRACKED, dish_customers
from scfg_sampler.core.fragments.room import with_room_for_visits
from scfg_sampler.core.fragments.rules import (
    option_weight,
    seat_option,
    slot_of,
    unseat_option,
)
from scfg_sampler.core.fragments.sampler import find_rules, resample_edge
from scfg_sampler.core.fragments.tree import (
    CUT,
    EDGE,
    FREE,
    NUM_TAILS,
    OPTIONS,
    PARENT,
    TAIL_START,
    decode,
    encode_over,
    open_options,
    open_sentence,
    root,
    set_tails,
)
from scfg_sampler.core.jit import by_reference, kernel
from scfg_sampler.errors import SettingsError

# What kernels dispatch to must be below them: see `core.jit`.
from scfg_sampler.forest.choice_trees import ChoiceForest  # noqa: F401
from scfg_sampler.forest.trees import SentenceForest, choose_within  # noqa: F401
from scfg_sampler.learner.attached_visits import (
    DraftedCuts,
    attached_edge,
    chosen_cut,
    drafted_cuts,
    lay_cut,
)
from scfg_sampler.learner.collecting import Collector, spell
from scfg_sampler.learner.derivations import Derivation, record_text
from scfg_sampler.learner.forest_bank import collector_for
from scfg_sampler.learner.pair_posteriors import Place
from scfg_sampler.learner.passes import forget_stamps
from scfg_sampler.learner.proposals import propose_derivation
from scfg_sampler.learner.visited_pairs import VisitedPair

__all__ = ["Choice", "Option", "visit"]


class Option(NamedTuple):
    """What could be chosen at a node."""

    share: float
    """Its weight, of the sum of those of all options."""
    place: Place | None = None
    """Of a cut, where unaligned words are free: what the lower rule covers."""
    parts: tuple[Place, ...] = ()
    """Of an edge: the phrases it builds the node of."""
    rules: tuple[str, ...] = ()
    """Of a cut: the rules it would make, the upper one first."""
    seen: tuple[int, ...] = ()
    """How often all other derivations, and the rest of this one, use each of these."""
    log_prob: float | None = None
    """Of a whole derivation: ln of its probability, given the derivations of all other pairs."""
    log_proposal: float | None = None
    """Of a whole derivation: ln of the probability of its being proposed."""
    derivation: Derivation | None = None
    """The whole derivation."""


class Choice(NamedTuple):
    """A choice among several options."""

    kind: str
    """`edge`, `cut`, or `derivation`. The options of a cut are to leave the node uncut, and to cut it, with
    free unaligned words once for each place its rule may have; those of a derivation are to keep the old one,
    and to take the one that is proposed."""
    place: Place
    options: tuple[Option, ...]
    before: int
    chosen: int
    derivation: Derivation | None
    """That of the pair afterwards; None if the choice changes nothing."""


# ---- The visit -------------------------------------------------------------------------------------


def visit(
    rng: np.random.Generator, pair: VisitedPair, most: int = 1_000_000
) -> tuple[VisitedPair, list[Choice]]:
    """The pair after one visit, and the choices that were made, in their order.

    Nodes with one option are walked, as there is nothing to choose. Temperature is 1, and nodes of all levels
    are visited. With `operator` rejection a whole derivation is proposed instead (Algorithm 3), and with
    `choose` sentence before, as in the learner's own sweeps.

    Parameters
    ----------
    rng : numpy.random.Generator
    pair : VisitedPair
        Its arrays are changed.
    most : int
        After so many choices the visit ends, wherever it is.

    Raises
    ------
    SettingsError
        It cannot be visited so; see `VisitedPair.why_not`.
    """
    if reason := pair.why_not():
        raise SettingsError(f"there are no steps to show: {reason}")
    restaurants = with_room_for_visits(pair.restaurants, len(pair.trees))
    walker = _Visit(rng, pair._replace(restaurants=restaurants), collector_for(pair.bank))
    breadth_first = pair.settings.order == "breadth-first"
    choices: list[Choice] = []
    only_proposes = pair.settings.operator == "rejection"
    if only_proposes or pair.settings.choose == "sentence":
        choices.append(walker.propose())
    if only_proposes:
        return walker.pair, choices
    walker.make_room()
    pending = [walker.open()]
    nodes, tails = pair.walk.work.nodes, pair.walk.work.tails
    while pending and len(choices) < most:
        node = pending.pop(0 if breadth_first else -1)
        choices += walker.edge(node)
        if nodes[node, PARENT] >= 0:
            choices += walker.cut(node)
        first = int(nodes[node, TAIL_START])
        below = tails[first : first + int(nodes[node, NUM_TAILS])].tolist()
        pending += below if breadth_first else reversed(below)
    return walker.pair, choices


class _Visit:
    """A visit under way."""

    def __init__(self, rng: np.random.Generator, pair: VisitedPair, scratch: Collector):
        self.rng, self.pair, self.scratch = rng, pair, scratch
        self.given = pair.walk, pair.model, pair.restaurants
        self.is_free = pair.settings.unaligned == "free"
        self.size = 0

    def open(self) -> int:
        """Lay the tree out; the goal."""
        self.size = int(_open(*self.given, self.pair.trees))
        return int(_goal(self.pair.walk))

    def make_room(self) -> None:
        """For another move of the pair."""
        pair = self.pair
        self.pair = pair._replace(restaurants=with_room_for_visits(pair.restaurants, len(pair.trees)))
        self.given = self.pair.walk, self.pair.model, self.pair.restaurants

    def propose(self) -> Choice:
        """Choose between the derivation and one that is proposed as a whole."""
        pair = self.pair
        old = pair.derivation()
        proposal = propose_derivation(self.rng, *self.given, pair.trees)
        new = pair._replace(trees=proposal.trees).derivation()
        taken = proposal.acceptance
        options = tuple(
            Option(share, log_prob=prob, log_proposal=other, derivation=tree)
            for share, prob, other, tree in zip(
                (1.0 - taken, taken), proposal.log_probs, proposal.log_proposals, (old, new), strict=True
            )
        )
        assert new is not None
        place = new.source, new.target
        changed = proposal.taken and new != old
        return Choice("derivation", place, options, 0, int(proposal.taken), new if changed else None)

    def edge(self, node: int) -> list[Choice]:
        """Choose the edge of a node: the choice, if there is one."""
        work = self.pair.walk.work
        before = int(work.nodes[node, EDGE])
        resample = attached_edge if self.is_free else _resample_edge
        number = int(resample(self.rng, *self.given, node))
        if number < 2:
            return []
        labels = work.lists[OPTIONS, :number].tolist()
        weights = work.log_weights[:number].copy()  # Relative to the largest: `draws.log_categorical`.
        chosen = int(work.nodes[node, EDGE])
        options = [
            Option(share, parts=self._parts(node, label))
            for share, label in zip((weights / weights.sum()).tolist(), labels, strict=True)
        ]
        self._parts(node, chosen)  # The tails are those of the edge again.
        at = labels.index(before), labels.index(chosen)
        return [Choice("edge", self._place(node), tuple(options), *at, self._derivation(before != chosen))]

    def _parts(self, node: int, label: int) -> tuple[Place, ...]:
        """The phrases that an edge builds a node of; the tails of the node are that edge's afterwards."""
        walk = self.pair.walk
        _set_edge(walk, node, label)
        first = int(walk.work.nodes[node, TAIL_START])
        tails = walk.work.tails[first : first + int(walk.work.nodes[node, NUM_TAILS])].tolist()
        return tuple(self._place(tail) for tail in tails)

    def cut(self, node: int) -> list[Choice]:
        """Choose whether a node is cut, and what its rule takes in: the choice, if there is one."""
        if self.is_free:
            drafted = drafted_cuts(self.rng, *self.given, node)
            if drafted is not None:
                return [self._attached_cut(node, drafted)]
        return [self._plain_cut(node)] if self.pair.walk.work.nodes[node, FREE] == 1 else []

    def _attached_cut(self, node: int, drafted: DraftedCuts) -> Choice:
        walk, top = self.pair.walk, self._top(node)
        rules, places = [], []
        first = 1 - int(walk.work.nodes[node, FREE])
        for option in range(first, drafted.size + 1):
            lay_cut(walk, node, drafted, option)
            rules.append(tuple(map(self._spelled, (top, node) if option else (top,))))
            box = walk.forest.boxes[node].tolist()
            places.append(((box[0], box[1]), (box[2], box[3])) if option else None)
        seen = drafted.seen.tolist()
        chosen, shares = chosen_cut(self.rng, *self.given, node, drafted)
        options = [
            Option(
                float(shares[k]), places[at], rules=rules[at], seen=tuple(seen[max(0, 2 * k - 1) : 2 * k + 1])
            )
            for at, k in enumerate(range(first, drafted.size + 1))
        ]
        at = drafted.current - first, chosen - first
        return Choice("cut", self._place(node), tuple(options), *at, self._derivation(at[0] != at[1]))

    def _top(self, node: int) -> int:
        """The head of the rule that a node would be inside of."""
        nodes = self.pair.walk.work.nodes
        top = int(nodes[node, PARENT])
        while nodes[top, CUT] == 0:
            top = int(nodes[top, PARENT])
        return top

    def _plain_cut(self, node: int) -> Choice:
        work = self.pair.walk.work
        before = int(work.nodes[node, CUT])
        top = self._top(node)
        rules = []
        for cut, head in ((0, top), (1, top), (1, node)):
            work.nodes[node, CUT] = cut
            rules.append(self._spelled(head))
        work.nodes[node, CUT] = before
        share, seen = self._weigh_cut(node)
        _resample_cut(self.rng, *self.given, node)
        options = (
            Option(share, rules=(rules[0],), seen=(seen[0],)),
            Option(1.0 - share, rules=tuple(rules[1:]), seen=tuple(seen[1:])),
        )
        chosen = int(work.nodes[node, CUT])
        return Choice("cut", self._place(node), options, before, chosen, self._derivation(before != chosen))

    def _weigh_cut(self, node: int) -> tuple[float, list[int]]:
        """The share of leaving a node uncut, and how often each of the three rules is used elsewhere."""
        walk, model, restaurants = self.given
        seen = np.zeros(3, np.int64)
        generator = self.rng.bit_generator
        drawn = generator.state
        if restaurants.totals[TRACKED] == 1:
            # Who leaves and comes back may sit at another table then.
            restaurants = copy_state(restaurants)
        share = float(_weigh_cut(self.rng, walk, model, restaurants, node, seen))
        generator.state = drawn
        return share, seen.tolist()

    def _spelled(self, node: int) -> str:
        length = _spell(self.pair.walk, self.scratch, node)
        return record_text(self.pair.words, self.scratch.record[:length])

    def _place(self, node: int) -> Place:
        a, b, c, d = self.pair.walk.forest.spans[node].tolist()
        return (a, b), (c, d)

    def _derivation(self, is_new: bool) -> Derivation | None:
        if not is_new:
            return None
        self.size = int(_encode(self.pair.walk, self.pair.trees, self.size))
        return self.pair.derivation()


@kernel
def _open(walk, model, restaurants, trees):
    forest, work, corpus = by_reference(walk.forest), by_reference(walk.work), by_reference(walk.corpus)
    model, restaurants = by_reference(model), by_reference(restaurants)
    forget_stamps(work)
    open_sentence(forest, work, corpus, 0)
    size = decode(forest, work, trees, 0, 0)
    find_rules(forest, model, restaurants, work, size)
    choose_within(forest, work)
    return size


@kernel
def _goal(walk):
    return root(walk.forest)


@kernel
def _resample_edge(rng, walk, model, restaurants, node):
    """How many options the node had."""
    forest, work = by_reference(walk.forest), by_reference(walk.work)
    resample_edge(rng, forest, by_reference(model), by_reference(restaurants), work, node)
    return open_options(forest, work, node)


@kernel
def _set_edge(walk, node, label):
    forest, work = by_reference(walk.forest), by_reference(walk.work)
    work.nodes[node, EDGE] = label
    set_tails(forest, work, node)


@kernel
def _resample_cut(rng, walk, model, restaurants, node):
    forest, work = by_reference(walk.forest), by_reference(walk.work)
    resample_cut(rng, forest, by_reference(model), by_reference(restaurants), work, node)


@kernel
def _weigh_cut(rng, walk, model, restaurants, node, seen):
    """The share of leaving a node uncut, as `resample_cut` has it; all is then as it was."""
    forest, work = by_reference(walk.forest), by_reference(walk.work)
    model, restaurants = by_reference(model), by_reference(restaurants)
    was_cut, parent, top = list_cuts(forest, model, restaurants, work, node)
    unseat_option(rng, model, restaurants, work, was_cut, 1 + was_cut)
    for place in range(3):
        seen[place] = dish_customers(restaurants, slot_of(restaurants, work, work.option_rows[place]))
    whole, log_whole = option_weight(rng, model, restaurants, work, 0, 1)
    parts, log_parts = option_weight(rng, model, restaurants, work, 1, 2)
    odds = whole / parts * elementary.exp(min(log_whole - log_parts, 700.0))
    seat_option(rng, model, restaurants, work, was_cut, 1 + was_cut)
    work.nodes[node, CUT] = was_cut
    restore_path(work, parent, top)
    return 1.0 / (1.0 + 1.0 / odds) if odds > 0.0 else 0.0


@kernel
def _spell(walk, collector, node):
    return spell(collector, walk.forest, walk.work, walk.corpus, 0, node)


@kernel
def _encode(walk, trees, size):
    return encode_over(by_reference(walk.forest), by_reference(walk.work), trees, 0, size)
