"""The learner's chain: derivations of a word-aligned corpus, resampled sentence by sentence.

State: for every sentence a tree of its phrase decomposition forest with a cut bit per node, stored in
preorder, and the restaurants that seat the rules of all sentences. A sweep visits the sentences in order;
each forest is built anew from the alignment, which costs less than keeping it would.

The fact a newcomer would get wrong: the number of nodes in a derivation is the same for all derivations of
a sentence (Lemma 3 of Chung et al. 2014), so every sentence keeps its place in one flat array.
"""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.chains.kernel import Kernel, copy_state
from scfg_sampler.core.fragments.restaurant import LIVE, Restaurants, grown, is_full, new_restaurants
from scfg_sampler.core.fragments.shards import merged
from scfg_sampler.core.fragments.tree import (
    ACCEPTED,
    CUTS_CHANGED,
    DIVIDE_BY_TREES,
    EDGES_CHANGED,
    EVALUATIONS,
    IGNORE_DENSITY,
    PROPOSED,
    Workspace,
    new_workspace,
)
from scfg_sampler.corpus.parallel_text import ParallelCorpus
from scfg_sampler.forest.implicit import (
    CorpusArrays,
    SentenceForest,
    new_sentence_forest,
    plain_corpus_arrays,
)
from scfg_sampler.learner.collecting import Collector, new_collector, roomier
from scfg_sampler.learner.hyperparameters import log_prior, resample_hyperparameters
from scfg_sampler.learner.model import (
    log_predictive_of_counts,
    new_rule_model,
    rules_log_joint,
    set_mean_length,
)
from scfg_sampler.learner.passes import (
    collect_sentences,
    collector_fits,
    count_nodes,
    draw_trees,
    most_insertions,
    propose_sentences,
    seat_trees,
    sentence_size,
    sum_internal_trees,
    sweep_sentences,
)
from scfg_sampler.learner.settings import LearnerSettings, check_settings, level, temperature
from scfg_sampler.learner.type_passes import resample_types
from scfg_sampler.rules.counts import RuleCounts

__all__ = ["Learner", "LearnerSettings", "LearnerState", "SweepInfo"]

NO_LIMIT = np.iinfo(np.int32).max


class LearnerState(NamedTuple):
    """What the next sweep needs."""

    trees: np.ndarray
    """uint16: per node of a derivation in preorder, edge label × 2 + cut bit."""
    restaurants: Restaurants
    mean_length: np.ndarray
    """float64 (1,): λ."""
    sweep: int
    """Sweeps done."""


class SweepInfo(NamedTuple):
    """What a reader of the trace wants to know about a sweep."""

    log_joint: float
    level: int
    """The highest level sampled, 0 for all."""
    temperature: float
    rules: int
    """Rules used by all derivations together (tokens)."""
    types: int
    """Different rules."""
    tables: float
    """Tables of all restaurants together."""
    edges_changed: int
    cuts_changed: int
    acceptance: float
    """Share of the proposed moves that were accepted; 1 where none can be turned down."""
    discount: float
    strength: float
    mean_length: float
    evaluations: int
    """Rule probabilities computed."""


class Learner:
    """A corpus, a model and the scratch memory of one chain; `kernel` makes the chain.

    Parameters
    ----------
    corpus : ParallelCorpus
    settings : LearnerSettings

    Attributes
    ----------
    settings : LearnerSettings
    tree_start : int64 (S + 1,)
        Where each sentence's derivation begins in `LearnerState.trees`; empty for skipped sentences.
    skipped : dict from int to str
        Sentences that are left out, and why.

    Raises
    ------
    SettingsError
        A setting is out of range.
    """

    def __init__(self, corpus: ParallelCorpus, settings: LearnerSettings):
        check_settings(settings)
        lengths = np.diff(corpus.source_start), np.diff(corpus.target_start)
        longer = np.maximum(*lengths)
        fits = longer <= settings.max_length
        longest = (int(lengths[0].max(initial=0, where=fits)), int(lengths[1].max(initial=0, where=fits)))
        self.settings = settings
        self._corpus = corpus
        self._longest = longest
        self._most_links = int(np.diff(corpus.link_start).max(initial=0))
        self._arrays = _corpus_arrays(corpus, settings)
        self._scratch = [self._new_scratch() for _ in range(settings.threads)]
        self._forest, self._work = self._scratch[0]
        self.tree_start = np.zeros(corpus.num_sentences + 1, np.int64)
        count_nodes(self._forest, self._work, self._arrays, self.tree_start)
        self.skipped = {
            int(s): "no links" if fits[s] else f"{longer[s]} words, more than {settings.max_length}"
            for s in np.flatnonzero(np.diff(self.tree_start) == 0)
        }
        self.model = new_rule_model(
            model=settings.model,
            base=settings.base,
            mean_length=settings.mean_length,
            longest=sum(longest) + 2 + longest[0],
            source_vocabulary=settings.source_vocabulary or len(corpus.source_vocabulary),
            target_vocabulary=settings.target_vocabulary or len(corpus.target_vocabulary),
        )
        self._mean_length = settings.mean_length
        self._parameters = settings.discount if settings.model == "pitman-yor" else 0.0, settings.strength
        self.collector: Collector | None = None
        """Where rule counts of every sweep are added while it is not None."""
        self.marginals: np.ndarray | None = None
        """int64 (M, 2) where every sweep counts nodes in the tree, and cut ones, while it is not None."""

        self._node_start = np.zeros(corpus.num_sentences + 1, np.int64)
        np.cumsum((lengths[0] + 1) ** 2, out=self._node_start[1:])

    @property
    def scratch(self) -> tuple[SentenceForest, Workspace, CorpusArrays]:
        """What kernels that walk single derivations take first."""
        return self._forest, self._work, self._arrays

    def new_marginals(self) -> np.ndarray:
        """Zeros for `marginals`: sentence s has (source length + 1)² rows, by node id."""
        return np.zeros((int(self._node_start[-1]), 2), np.int64)

    def sentence_marginals(self, sentence: int) -> np.ndarray:
        """The rows of `marginals` of a sentence, by node id; a view.

        Parameters
        ----------
        sentence : int
        """
        assert self.marginals is not None
        return self.marginals[self._node_start[sentence] : self._node_start[sentence + 1]]

    def kernel(self) -> Kernel:
        """The chain as a `core.kernel.Kernel`; its `init` ignores the data it is given."""

        def init(rng: np.random.Generator, _: object = None) -> LearnerState:
            return self.initialise(rng)

        return Kernel(init, self.step, self.log_joint)

    def initialise(self, rng: np.random.Generator) -> LearnerState:
        """Every node cut, edges uniform; all rules seated in the order of the sentences.

        Parameters
        ----------
        rng : numpy.random.Generator
        """
        trees = np.zeros(self.tree_start[-1], np.uint16)
        draw_trees(rng, self._forest, self._work, self._arrays, self.tree_start, trees)
        return self.seat(rng, trees)

    def seat(self, rng: np.random.Generator, trees: np.ndarray) -> LearnerState:
        """The state whose derivations are `trees`, their rules seated one after the other.

        Parameters
        ----------
        rng : numpy.random.Generator
        trees : uint16 array
            As in `LearnerState`.
        """
        settings = self.settings
        num_strata = 1 if settings.model == "dirichlet" else len(self.model.log_length)
        restaurants = new_restaurants(
            num_strata,
            discount=settings.discount if settings.model == "pitman-yor" else 0.0,
            strength=settings.strength,
            exact=settings.tables == "exact",
        )
        sentence = 0
        while sentence < self._corpus.num_sentences:
            restaurants = self._with_room_for(restaurants, sentence)
            sentence = seat_trees(
                rng,
                self._forest,
                self.model,
                restaurants,
                self._work,
                self._arrays,
                self.tree_start,
                trees,
                sentence,
            )
        return LearnerState(trees, restaurants, np.array([settings.mean_length]), 0)

    def step(self, rng: np.random.Generator, state: LearnerState) -> tuple[LearnerState, SweepInfo]:
        """One sweep over the corpus.

        Parameters
        ----------
        rng : numpy.random.Generator
        state : LearnerState
            Changed in place.
        """
        settings = self.settings
        self._set_mean_length(float(state.mean_length[0]))
        heat = temperature(settings, state.sweep)
        highest = level(settings, state.sweep)
        for _, work in self._scratch:
            work.counters[list(_REPORTED)] = 0
            work.inverse_temperature[0] = 1.0 / heat
        restaurants = self._sweep(rng, state, highest)
        if settings.type_moves > 0 and (state.sweep + 1) % settings.type_moves == 0:
            restaurants = self.resample_types(rng, restaurants, state.trees)
        if settings.learned:
            resample_hyperparameters(rng, settings.learned, self.model, restaurants, state.mean_length)
        state = LearnerState(state.trees, restaurants, state.mean_length, state.sweep + 1)
        if self.collector is not None or self.marginals is not None:
            self.collector = self._collect(state, self.collector, self.marginals)
        return state, self._info(state, highest, heat)

    def resample_types(
        self, rng: np.random.Generator, restaurants: Restaurants, trees: np.ndarray
    ) -> Restaurants:
        """The restaurants after the cuts of all sites of a type, type by type, have been resampled together.

        Parameters
        ----------
        rng : numpy.random.Generator
        restaurants : Restaurants
            Changed in place, or replaced by larger ones.
        trees : uint16 array
            As in `LearnerState`; changed in place.
        """
        scratch = self._forest, self.model, restaurants, self._work, self._arrays, self.tree_start, trees
        return resample_types(rng, *scratch, _with_room)

    def _sweep(self, rng: np.random.Generator, state: LearnerState, highest: int) -> Restaurants:
        """The restaurants after every sentence has been visited."""
        num_shards = len(self._scratch)
        num_sentences = self._corpus.num_sentences
        if num_shards == 1:
            return self._sweep_shard(rng, 0, (0, num_sentences), state.restaurants, state.trees, highest)
        ends = np.linspace(0, self.tree_start[-1], num_shards + 1)
        borders = np.searchsorted(self.tree_start, ends[1:-1]).tolist()
        ranges = list(itertools.pairwise([0, *borders, num_sentences]))
        streams = [np.random.default_rng(seed) for seed in rng.integers(2**63, size=num_shards)]

        def sweep_shard(shard: int) -> Restaurants:
            copy = copy_state(state.restaurants)
            return self._sweep_shard(streams[shard], shard, ranges[shard], copy, state.trees, highest)

        with ThreadPoolExecutor(num_shards) as pool:
            shards = list(pool.map(sweep_shard, range(num_shards)))
        return merged(rng, state.restaurants, shards)

    def _sweep_shard(
        self,
        rng: np.random.Generator,
        shard: int,
        sentences: tuple[int, int],
        restaurants: Restaurants,
        trees: np.ndarray,
        highest: int,
    ) -> Restaurants:
        settings = self.settings
        forest, work = self._scratch[shard]
        first, stop = sentences
        while first < stop:
            restaurants = self._with_room_for(restaurants, first)
            chain = (rng, forest, self.model, restaurants, work, self._arrays, self.tree_start, trees)
            if settings.operator == "rejection":
                first = propose_sentences(*chain, first, stop)
            else:
                breadth_first = settings.order == "breadth-first"
                first = sweep_sentences(*chain, first, stop, highest or NO_LIMIT, breadth_first)
        return restaurants

    def _info(self, state: LearnerState, highest: int, heat: float) -> SweepInfo:
        restaurants = state.restaurants
        counters = np.sum([work.counters for _, work in self._scratch], axis=0)
        self._parameters = float(restaurants.discount[0]), float(restaurants.strength[0])
        return SweepInfo(
            log_joint=self._log_joint(state),
            level=highest,
            temperature=heat,
            rules=int(restaurants.stratum_customers.sum()),
            types=int(restaurants.totals[LIVE]),
            tables=float(restaurants.stratum_tables.sum()) / 2**32,
            edges_changed=int(counters[EDGES_CHANGED]),
            cuts_changed=int(counters[CUTS_CHANGED]),
            acceptance=float(counters[ACCEPTED] / counters[PROPOSED]) if counters[PROPOSED] else 1.0,
            discount=self._parameters[0],
            strength=self._parameters[1],
            mean_length=float(state.mean_length[0]),
            evaluations=int(counters[EVALUATIONS]),
        )

    def _log_joint(self, state: LearnerState) -> float:
        restaurants = state.restaurants
        parameters = restaurants.discount[0], restaurants.strength[0], state.mean_length[0]
        prior = log_prior(self.settings.learned, *map(float, parameters))
        trees = self.log_internal_trees(state) if self.settings.divide_by_trees else 0.0
        return rules_log_joint(self.model, restaurants) + prior - trees

    def log_internal_trees(self, state: LearnerState) -> float:
        """Σ ln of the numbers of trees inside the rules of all derivations.

        Parameters
        ----------
        state : LearnerState
        """
        return sum_internal_trees(self._forest, self._work, self._arrays, self.tree_start, state.trees)

    def _set_mean_length(self, mean_length: float) -> None:
        if mean_length != self._mean_length:
            set_mean_length(self.model, mean_length)
            self._mean_length = mean_length

    def log_joint(self, state: LearnerState) -> float:
        """ln P of derivations (and seating, where it is tracked), from scratch.

        Recounts the rules of all derivations and compares them with the restaurants.

        Parameters
        ----------
        state : LearnerState

        Raises
        ------
        AssertionError
            The restaurants do not seat just the rules of the derivations.
        """
        self._set_mean_length(float(state.mean_length[0]))
        recount = self.seat(np.random.default_rng(0), state.trees.copy()).restaurants
        assert np.array_equal(_sorted_customers(recount), _sorted_customers(state.restaurants)), (
            "the restaurants do not hold the rules of the derivations"
        )
        return self._log_joint(state)

    def log_posterior(self, rules: RuleCounts) -> np.ndarray:
        """ln of the model's predictive probability of each rule, given counts; float64 (R,).

        Hyperparameters that are learned are as the last sweep left them.

        Parameters
        ----------
        rules : RuleCounts
            Each rule once, with its count, which may be fractional.
        """
        return log_predictive_of_counts(
            self.model,
            rules,
            self._arrays.source_weights,
            self._arrays.target_weights,
            discount=self._parameters[0],
            strength=self._parameters[1],
        )

    def collect(self, state: LearnerState, collector: Collector | None = None) -> Collector:
        """A collector with the rules of a state added.

        Parameters
        ----------
        state : LearnerState
            Not changed.
        collector : Collector, optional
            Added to; a new one by default.
        """
        added = self._collect(state, self.new_collector() if collector is None else collector, None)
        assert added is not None
        return added

    def _collect(
        self, state: LearnerState, collector: Collector | None, marginals: np.ndarray | None
    ) -> Collector | None:
        """Add a state to rule counts, to marginals, or to both."""
        if collector is not None:
            collector.states[0] += 1
        sentence = 0
        while sentence < self._corpus.num_sentences:
            if collector is not None:
                collector = self._roomy(collector, sentence)
            sentence = collect_sentences(
                self._forest,
                self._work,
                self._arrays,
                self.tree_start,
                state.trees,
                sentence,
                collector or _NO_COLLECTOR,
                collector is not None,
                _NO_MARGINALS if marginals is None else marginals,
                self._node_start,
            )
        return collector

    def new_collector(self) -> Collector:
        """An empty collector for this corpus."""
        return new_collector(*self._longest, self._most_links)

    def _new_scratch(self) -> tuple[SentenceForest, Workspace]:
        """The memory in which one thread lays out one sentence at a time."""
        settings = self.settings
        num_nodes = (max(self._longest) + 1) ** 2
        work = new_workspace(num_nodes, 3 * num_nodes + 16, num_nodes + 16)
        work.counters[IGNORE_DENSITY] = not settings.density_factor
        work.counters[DIVIDE_BY_TREES] = settings.divide_by_trees
        return new_sentence_forest(*self._longest, settings.max_cut_span), work

    def _with_room_for(self, restaurants: Restaurants, sentence: int) -> Restaurants:
        """Restaurants that have room for whatever visits of a sentence bring."""
        size = int(self.tree_start[sentence + 1] - self.tree_start[sentence])
        return _with_room(restaurants, most_insertions(size))

    def _roomy(self, collector: Collector, sentence: int) -> Collector:
        words, links = sentence_size(self._arrays, sentence)
        return collector if collector_fits(collector, words, links) else roomier(collector, words, links)


_REPORTED = (EDGES_CHANGED, CUTS_CHANGED, EVALUATIONS, PROPOSED, ACCEPTED)
_NO_COLLECTOR = new_collector(1, 1, 1)
_NO_MARGINALS = np.zeros((0, 2), np.int64)


def _with_room(restaurants: Restaurants, more: int) -> Restaurants:
    return grown(restaurants, more + 10_000) if is_full(restaurants, more) else restaurants


def _corpus_arrays(corpus: ParallelCorpus, settings: LearnerSettings) -> CorpusArrays:
    arrays = plain_corpus_arrays(corpus)
    if settings.model != "pitman-yor" or settings.base != "lexical":
        return arrays
    weights = []
    for words, vocabulary in (
        (corpus.source, corpus.source_vocabulary),
        (corpus.target, corpus.target_vocabulary),
    ):
        counts = np.bincount(words, minlength=len(vocabulary))
        weights.append(np.log(np.maximum(counts, 1) / max(1, counts.sum())))
    return arrays._replace(source_weights=weights[0], target_weights=weights[1])


def _sorted_customers(restaurants: Restaurants) -> np.ndarray:
    """Fingerprint and customers of every dish that has any, in the order of fingerprints."""
    live = restaurants.entries[restaurants.entries[:, 1] > 0].copy()
    live[:, 1] &= 2**32 - 1
    return live[np.argsort(live[:, 0])]
