"""The chain over derivations of a treebank: which nodes are cut, and the parameters of the model.

State: for every sentence a tree of its forest with a cut bit per node, stored in preorder, and the
restaurants that seat all elementary trees, one to a root label. A sweep visits the sentences in random order,
and in each the nodes in random order (Cohn et al. 2009, section 3), on the same sweep as the learner of
translation rules; it may propose whole derivations and resample all sites of a type at once as well.

The fact a newcomer would get wrong: annealing raises the probabilities that cuts and edges are drawn from to
the power 1/T. Concentrations and stop probabilities are always drawn at T = 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monolingual.tsg.blocks import BlockScratch, larger_scratch, new_block_scratch
from monolingual.tsg.cache import FragmentTrie, fill_trie, new_trie
from monolingual.tsg.forest import TsgModel, new_tree_forest, new_tree_workspace
from monolingual.tsg.hyperparameters import (
    draw_tables,
    log_concentration_prior,
    resample_concentrations,
)
from monolingual.tsg.model import log_production_probs
from monolingual.tsg.settings import TsgSettings, check_settings, temperature
from monolingual.tsg.sweep import (
    add_marginals,
    count_decisions,
    propose_sentences,
    renew_bases,
    resample_types,
    seat_sentences,
    shuffle,
    sweep_sentences,
)
from monolingual.tsg.treebank import Treebank, has_choices
from scfg_sampler.core.chains.kernel import Kernel
from scfg_sampler.core.fragments.density import log_joint
from scfg_sampler.core.fragments.restaurant import LIVE, Restaurants, grown, is_full, new_restaurants
from scfg_sampler.core.fragments.tree import ACCEPTED, CUTS_CHANGED, EDGES_CHANGED, PROPOSED

__all__ = ["SweepInfo", "TsgLearner", "TsgState"]

_REPORTED = (CUTS_CHANGED, EDGES_CHANGED, PROPOSED, ACCEPTED)


class TsgState(NamedTuple):
    """What the next sweep needs."""

    trees: np.ndarray
    """uint16 (N,): per node of a derivation in preorder, edge × 2 + cut bit; each from its node_start."""
    restaurants: Restaurants
    expand: np.ndarray
    """float64 (C,): β_c."""
    sweep: int
    """Sweeps done."""


class SweepInfo(NamedTuple):
    """What a reader of the trace wants to know about a sweep."""

    log_joint: float
    temperature: float
    fragments: int
    """Elementary trees of all derivations together."""
    types: int
    """Different ones."""
    cuts_changed: int
    edges_changed: int
    acceptance: float
    """Share of the proposed derivations that were accepted; 1 where none was proposed."""
    strength: float
    """Mean of α over the labels."""
    stop: float
    """Mean of 1 − β over the labels."""


class TsgLearner:
    """A treebank, a model and the scratch memory of one chain; `kernel` makes the chain.

    Parameters
    ----------
    treebank : Treebank
    settings : TsgSettings

    Attributes
    ----------
    marginals : int64 (N, 2) or None
        Where every sweep counts the nodes in the trees, and the cut ones, while it is not None.

    Raises
    ------
    SettingsError
        A setting is out of range.
    """

    def __init__(self, treebank: Treebank, settings: TsgSettings):
        check_settings(settings)
        self.treebank, self.settings = treebank, settings
        self.forest = new_tree_forest(treebank, log_production_probs(treebank, settings.base))
        self.work = new_tree_workspace(treebank)
        num_labels = len(treebank.productions.labels)
        self.model = TsgModel(np.array([num_labels], np.int64))
        self.marginals: np.ndarray | None = None
        self._blocks: tuple[FragmentTrie, BlockScratch] | None = None
        self._start_expand = np.full(num_labels, 0.5 if settings.stop is None else 1.0 - settings.stop)
        self._set_expand(self._start_expand)

    def kernel(self) -> Kernel:
        """The chain as a `core.kernel.Kernel`; its `init` ignores the data it is given."""

        def init(rng: np.random.Generator, _: object = None) -> TsgState:
            return self.initialise(rng)

        return Kernel(init, self.step, self.log_joint)

    def initialise(self, rng: np.random.Generator) -> TsgState:
        """No node cut but the roots, or every node, as the settings say; edges at random.

        Parameters
        ----------
        rng : numpy.random.Generator
        """
        trees = np.full(self.treebank.node_start[-1], self.settings.start == "minimal", np.uint16)
        trees[self.treebank.node_start[:-1]] = 1
        for sentence in np.flatnonzero(has_choices(self.treebank)).tolist():
            self._draw_edges(rng, sentence, trees)
        return self.seat(rng, trees, self._start_expand)

    def _draw_edges(self, rng: np.random.Generator, sentence: int, trees: np.ndarray) -> None:
        """Add to the codes of a sentence the edges of a tree drawn from the root down."""
        bank = self.treebank
        first = at = int(bank.node_start[sentence])
        pending = [0]
        while pending:
            edges, end = bank.edge_start[first + pending.pop() :][:2].tolist()
            rank = int(rng.integers(end - edges))
            trees[at] |= 2 * rank
            at += 1
            start, stop = bank.tail_start[edges + rank :][:2].tolist()
            pending.extend(bank.tails[start:stop][::-1].tolist())

    def seat(self, rng: np.random.Generator, trees: np.ndarray, expand: np.ndarray) -> TsgState:
        """The state whose derivations are `trees`, their fragments seated one after the other.

        Parameters
        ----------
        rng : numpy.random.Generator
        trees : uint16 (N,)
        expand : float64 (C,)
            β.
        """
        self._set_expand(expand)
        settings = self.settings
        restaurants = new_restaurants(
            len(expand),
            discount=settings.discount,
            strength=1.0 if settings.concentration is None else settings.concentration,
            exact=True,
        )
        sentence = 0
        while sentence < self.treebank.num_sentences:
            restaurants = self._with_room_for(restaurants, sentence)
            sentence = seat_sentences(
                rng,
                self.forest,
                self.model,
                restaurants,
                self.work,
                self.treebank.node_start,
                trees,
                sentence,
            )
        return TsgState(trees, restaurants, expand.copy(), 0)

    def step(self, rng: np.random.Generator, state: TsgState) -> tuple[TsgState, SweepInfo]:
        """One sweep over the treebank.

        Parameters
        ----------
        rng : numpy.random.Generator
        state : TsgState
            Changed in place.
        """
        settings = self.settings
        self._set_expand(state.expand)
        heat = temperature(settings, state.sweep)
        self.work.counters[list(_REPORTED)] = 0
        self.work.inverse_temperature[0] = 1.0 / heat
        restaurants = state.restaurants
        if "single" in settings.moves:
            restaurants = self._sweep(rng, restaurants, state.trees)
        if "block" in settings.moves:
            restaurants = self._propose(rng, restaurants, state.trees)
        if "type" in settings.moves and (state.sweep + 1) % settings.type_every == 0:
            restaurants = resample_types(
                rng, self.forest, self.model, restaurants, self.work, state.trees, _with_room
            )
        restaurants = self.resample_hyperparameters(rng, restaurants, state.trees, state.expand)
        state = TsgState(state.trees, restaurants, state.expand, state.sweep + 1)
        if self.marginals is not None:
            add_marginals(self.forest, self.work, self.treebank.node_start, state.trees, self.marginals)
        return state, self._info(state, heat)

    def resample_hyperparameters(
        self, rng: np.random.Generator, restaurants: Restaurants, trees: np.ndarray, expand: np.ndarray
    ) -> Restaurants:
        """The restaurants after the parameters that are learnt have been moved once.

        Parameters
        ----------
        rng : numpy.random.Generator
        restaurants : Restaurants
            Changed in place, or replaced.
        trees : uint16 (N,)
        expand : float64 (C,)
            Changed in place.
        """
        if self.settings.concentration is None:
            resample_concentrations(rng, restaurants)
        if self.settings.stop is None:
            # Dishes without customers would keep the base of now when they come back.
            restaurants = grown(restaurants, 0)
            passes = self.forest, restaurants, self.work, self.treebank.node_start, trees
            tables = np.zeros(len(restaurants.stratum), np.int64)
            draw_tables(rng, restaurants, tables)
            decisions = np.zeros((len(expand), 2), np.int64)
            count_decisions(*passes, tables, decisions)
            expand[:] = np.clip(rng.beta(1.0 + decisions[:, 0], 1.0 + decisions[:, 1]), 1e-12, 1.0 - 1e-12)
            self._set_expand(expand)
            renew_bases(*passes)
        return restaurants

    def log_joint(self, state: TsgState) -> float:
        """ln P of derivations and parameters (and seating, where it is tracked), from scratch.

        Recounts the fragments of all derivations and compares them with the restaurants.

        Parameters
        ----------
        state : TsgState

        Raises
        ------
        AssertionError
            The restaurants do not seat just the fragments of the derivations.
        """
        recount = self.seat(np.random.default_rng(0), state.trees.copy(), state.expand).restaurants
        assert np.array_equal(_customers(recount), _customers(state.restaurants)), (
            "the restaurants do not hold the fragments of the derivations"
        )
        recount.strength[:] = state.restaurants.strength
        if self.settings.discount > 0.0:
            # Seats are a part of the state that cannot be made again; bases can.
            renew_bases(self.forest, state.restaurants, self.work, self.treebank.node_start, state.trees)
            recount = state.restaurants
        return float(log_joint(recount)) + self._log_prior(recount)

    def _sweep(self, rng: np.random.Generator, restaurants: Restaurants, trees: np.ndarray) -> Restaurants:
        """The restaurants after the nodes of every sentence have been visited."""
        order, at = self._visits(rng), 0
        at_random = self.settings.order == "random"
        while at < len(order):
            restaurants = self._with_room_for(restaurants, int(order[at]))
            chain = rng, self.forest, self.model, restaurants, self.work, self.treebank.node_start, trees
            at = sweep_sentences(*chain, order, at, at_random)
        return restaurants

    def _propose(self, rng: np.random.Generator, restaurants: Restaurants, trees: np.ndarray) -> Restaurants:
        """The restaurants after a new derivation has been proposed for every sentence."""
        if self._blocks is None:
            self._blocks = new_trie(self.treebank, self.forest.largest), new_block_scratch(self.treebank)
        trie, scratch = self._blocks
        fill_trie(trie, self.forest, self.work, trees)
        order, at = self._visits(rng), 0
        while at < len(order):
            enlarged = self._with_room_for(restaurants, int(order[at]))
            was_stuck, restaurants, first = enlarged is restaurants, enlarged, at
            chain = rng, self.forest, self.model, restaurants, self.work, self.treebank.node_start, trees
            at = propose_sentences(*chain, order, at, trie, scratch)
            if at == first and was_stuck:
                scratch = larger_scratch(self.treebank, scratch)
                self._blocks = trie, scratch
        return restaurants

    def _visits(self, rng: np.random.Generator) -> np.ndarray:
        """The sentences in the order of this sweep."""
        order = np.arange(self.treebank.num_sentences)
        if self.settings.order == "random":
            shuffle(rng, order)
        return order

    def _with_room_for(self, restaurants: Restaurants, sentence: int) -> Restaurants:
        start, stop = self.treebank.node_start[sentence : sentence + 2]
        size = int(stop - start)
        edges = int(self.treebank.edge_start[stop] - self.treebank.edge_start[start])
        visits = 2 if edges == size else int(self.forest.largest[sentence]) + 2
        return _with_room(restaurants, size * visits + 8)

    def _set_expand(self, expand: np.ndarray) -> None:
        np.log(expand, out=self.forest.log_expand)
        np.log1p(-expand, out=self.forest.log_stop)

    def _log_prior(self, restaurants: Restaurants) -> float:
        if self.settings.concentration is not None:
            return 0.0
        return float(log_concentration_prior(restaurants.strength).sum())

    def _info(self, state: TsgState, heat: float) -> SweepInfo:
        restaurants, counters = state.restaurants, self.work.counters
        return SweepInfo(
            log_joint=float(log_joint(restaurants)) + self._log_prior(restaurants),
            temperature=heat,
            fragments=int(restaurants.stratum_customers.sum()),
            types=int(restaurants.totals[LIVE]),
            cuts_changed=int(counters[CUTS_CHANGED]),
            edges_changed=int(counters[EDGES_CHANGED]),
            acceptance=float(counters[ACCEPTED] / counters[PROPOSED]) if counters[PROPOSED] else 1.0,
            strength=float(restaurants.strength.mean()),
            stop=float(1.0 - state.expand.mean()),
        )


def _with_room(restaurants: Restaurants, more: int) -> Restaurants:
    return grown(restaurants, more + 10_000) if is_full(restaurants, more) else restaurants


def _customers(restaurants: Restaurants) -> np.ndarray:
    """Fingerprint and customers of every dish that has any, in the order of fingerprints."""
    live = restaurants.entries[restaurants.entries[:, 1] > 0].copy()
    live[:, 1] &= 2**32 - 1
    return live[np.argsort(live[:, 0])]
