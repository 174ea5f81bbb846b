"""The learner's chain: derivations of a word-aligned corpus, resampled sentence by sentence.

State: for every sentence a tree of its phrase decomposition forest with a cut bit per node, stored in
preorder, and the restaurants that seat the rules of all sentences. A sweep visits the sentences in order;
each forest is built anew from the alignment, which costs less than keeping it would.

The fact a newcomer would get wrong: the number of nodes in a derivation is the same for all derivations of
a sentence (Lemma 3 of Chung et al. 2014), so every sentence keeps its place in one flat array.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.collector import Collector, new_collector, roomier
from scfg_sampler.core.fragment import LONGEST_STRING
from scfg_sampler.core.fragment_tree import (
    CUTS_CHANGED,
    EDGES_CHANGED,
    EVALUATIONS,
    IGNORE_DENSITY,
    Workspace,
    new_workspace,
)
from scfg_sampler.core.kernel import Kernel
from scfg_sampler.core.restaurant import LIVE, Restaurants, grown, new_restaurants
from scfg_sampler.corpus import ParallelCorpus
from scfg_sampler.errors import SettingsError
from scfg_sampler.forest import (
    CorpusArrays,
    SentenceForest,
    new_sentence_forest,
    plain_corpus_arrays,
)
from scfg_sampler.rule_counts import RuleCounts
from scfg_sampler.rule_model import log_predictive_of_counts, new_rule_model, rules_log_joint
from scfg_sampler.sweep import (
    collect_sentences,
    collector_fits,
    count_nodes,
    draw_trees,
    is_full,
    most_insertions,
    seat_trees,
    sentence_size,
    sweep_sentences,
)

__all__ = ["Learner", "LearnerSettings", "LearnerState", "SweepInfo"]

NO_LIMIT = np.iinfo(np.int32).max


class LearnerSettings(NamedTuple):
    """What determines a chain, besides corpus and seed. Defaults are the paper's, but for the schedule."""

    model: str = "pitman-yor"
    base: str = "poisson"
    tables: str = "estimated"
    discount: float = 0.5
    strength: float = 5.0
    mean_length: float = 2.0
    source_vocabulary: int = 0
    """V_f of the `dirichlet` model; 0 for the corpus's own."""
    target_vocabulary: int = 0
    schedule: str = "full"
    sweeps_per_level: int = 10
    max_cut_span: int = 7
    max_length: int = 250
    """Pairs with a longer sentence are skipped."""
    order: str = "depth-first"
    density_factor: bool = True


class LearnerState(NamedTuple):
    """What the next sweep needs."""

    trees: np.ndarray
    """uint16: per node of a derivation in preorder, edge label × 2 + cut bit."""
    restaurants: Restaurants
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
        _check_settings(settings)
        lengths = np.diff(corpus.source_start), np.diff(corpus.target_start)
        longer = np.maximum(*lengths)
        fits = longer <= settings.max_length
        longest = (int(lengths[0].max(initial=0, where=fits)), int(lengths[1].max(initial=0, where=fits)))
        self.settings = settings
        self._corpus = corpus
        self._longest = longest
        self._most_links = int(np.diff(corpus.link_start).max(initial=0))
        self._arrays = _corpus_arrays(corpus, settings)
        self._forest = new_sentence_forest(*longest, settings.max_cut_span)
        num_nodes = (max(longest) + 1) ** 2
        self._work = new_workspace(num_nodes, 3 * num_nodes + 16, num_nodes + 16)
        self._work.counters[IGNORE_DENSITY] = not settings.density_factor
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
            restaurants = self._with_room(restaurants, sentence)
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
        return LearnerState(trees, restaurants, 0)

    def step(self, rng: np.random.Generator, state: LearnerState) -> tuple[LearnerState, SweepInfo]:
        """One sweep over the corpus.

        Parameters
        ----------
        rng : numpy.random.Generator
        state : LearnerState
            Changed in place.
        """
        level = self.level(state.sweep)
        restaurants = state.restaurants
        self._work.counters[[EDGES_CHANGED, CUTS_CHANGED, EVALUATIONS]] = 0
        if self.collector is not None:
            self.collector.states[0] += 1
        sentence = 0
        while sentence < self._corpus.num_sentences:
            restaurants = self._with_room(restaurants, sentence)
            if self.collector is not None:
                self.collector = self._roomy(self.collector, sentence)
            sentence = sweep_sentences(
                rng,
                self._forest,
                self.model,
                restaurants,
                self._work,
                self._arrays,
                self.tree_start,
                state.trees,
                sentence,
                level or NO_LIMIT,
                self.settings.order == "breadth-first",
                self.collector or _NO_COLLECTOR,
                self.collector is not None,
                _NO_MARGINALS if self.marginals is None else self.marginals,
                self._node_start,
            )
        counters = self._work.counters
        info = SweepInfo(
            log_joint=rules_log_joint(self.model, restaurants),
            level=level,
            temperature=1.0,
            rules=int(restaurants.stratum_customers.sum()),
            types=int(restaurants.totals[LIVE]),
            tables=float(restaurants.stratum_tables.sum()) / 2**32,
            edges_changed=int(counters[EDGES_CHANGED]),
            cuts_changed=int(counters[CUTS_CHANGED]),
            evaluations=int(counters[EVALUATIONS]),
        )
        return LearnerState(state.trees, restaurants, state.sweep + 1), info

    def level(self, sweep: int) -> int:
        """The highest level that sweep number `sweep` (from 0) samples; 0 for all.

        Parameters
        ----------
        sweep : int
        """
        if self.settings.schedule == "full":
            return 0
        return sweep // self.settings.sweeps_per_level + 1

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
        recount = self.seat(np.random.default_rng(0), state.trees.copy()).restaurants
        assert np.array_equal(_sorted_customers(recount), _sorted_customers(state.restaurants)), (
            "the restaurants do not hold the rules of the derivations"
        )
        return rules_log_joint(self.model, state.restaurants)

    def log_posterior(self, rules: RuleCounts) -> np.ndarray:
        """ln of the model's predictive probability of each rule, given counts; float64 (R,).

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
            discount=self.settings.discount if self.settings.model == "pitman-yor" else 0.0,
            strength=self.settings.strength,
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
        if collector is None:
            collector = self.new_collector()
        collector.states[0] += 1
        sentence = 0
        while sentence < self._corpus.num_sentences:
            collector = self._roomy(collector, sentence)
            sentence = collect_sentences(
                self._forest, self._work, self._arrays, self.tree_start, state.trees, sentence, collector
            )
        return collector

    def new_collector(self) -> Collector:
        """An empty collector for this corpus."""
        return new_collector(*self._longest, self._most_links)

    def _with_room(self, restaurants: Restaurants, sentence: int) -> Restaurants:
        more = most_insertions(int(self.tree_start[sentence + 1] - self.tree_start[sentence]))
        return grown(restaurants, more + 10_000) if is_full(restaurants, more) else restaurants

    def _roomy(self, collector: Collector, sentence: int) -> Collector:
        words, links = sentence_size(self._arrays, sentence)
        return collector if collector_fits(collector, words, links) else roomier(collector, words, links)


_NO_COLLECTOR = new_collector(1, 1, 1)
_NO_MARGINALS = np.zeros((0, 2), np.int64)


def _check_settings(settings: LearnerSettings) -> None:
    choices = {
        "tables": ("estimated", "exact"),
        "schedule": ("stratified", "full"),
        "order": ("depth-first", "breadth-first"),
    }
    for name, legal in choices.items():
        value = getattr(settings, name)
        if value not in legal:
            raise SettingsError(f"--{name} is {value}; choose one of {', '.join(legal)}")
    if settings.sweeps_per_level < 1:
        raise SettingsError(f"--sweeps-per-level is {settings.sweeps_per_level}; it must be at least 1")
    if not 1 <= settings.max_length < LONGEST_STRING:
        limits = f"from 1 to {LONGEST_STRING - 1}"
        raise SettingsError(f"--max-length is {settings.max_length}; it must be {limits}")
    if settings.max_cut_span < 0:
        raise SettingsError(f"--max-cut-span is {settings.max_cut_span}; it must be 0 (no limit) or more")


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
