"""A sentence pair by itself, to be visited against the restaurants of a run: from the run, or of one's own.

The fact a newcomer would get wrong: a pair that the run has not seen comes to its corpus as any pair does at
first, with a rule at every phrase and uniform edges, and is seated there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from scfg_sampler.core.arrays.vocabulary import Vocabulary
from scfg_sampler.core.chains.kernel import copy_state
from scfg_sampler.core.fragments.restaurant import Restaurants
from scfg_sampler.core.fragments.room import with_room_for_visits
from scfg_sampler.core.fragments.tree import DIVIDE_BY_TREES, IGNORE_DENSITY
from scfg_sampler.corpus.parallel_text import ParallelCorpus, select_pairs
from scfg_sampler.learner.chain import empty_state, rule_model
from scfg_sampler.learner.derivations import Derivation, Words, derivation, spelled_words
from scfg_sampler.learner.forest_bank import ForestBank, collector_for, forest_bank, new_walk
from scfg_sampler.learner.model import AnyModel
from scfg_sampler.learner.pair_posteriors import LastState
from scfg_sampler.learner.passes import Walk, draw_trees, seat_trees
from scfg_sampler.learner.settings import LearnerSettings, attached
from scfg_sampler.learner.words import word_weights

__all__ = ["VisitedPair", "pair_alone", "pair_of_run", "pair_of_words"]


class VisitedPair(NamedTuple):
    """A sentence pair by itself, against the restaurants of a run; visits change it."""

    bank: ForestBank
    """Of this pair alone."""
    settings: LearnerSettings
    walk: Walk
    model: AnyModel
    restaurants: Restaurants
    trees: np.ndarray
    """As in `LearnerState`."""
    words: Words

    def derivation(self) -> Derivation | None:
        """Its derivation; None if it has no links."""
        return derivation(self.bank, self.trees, 0, None, self.words)

    def why_not(self) -> str:
        """Why `visit` cannot take up this pair; empty if it can."""
        skipped = self.bank.skipped.get(0)
        if skipped is not None:
            return f"the pair has {skipped}"
        if self.settings.types > 1:
            return "types of nonterminals are sampled along"
        return ""


def pair_of_run(last: LastState, sentence: int) -> VisitedPair:
    """A pair of a run as its chain left it.

    Parameters
    ----------
    last : LastState
        Not changed: restaurants are copied.
    sentence : int
        From 0.
    """
    bank = last.bank
    rows = np.arange(sentence, bank.corpus.num_sentences, bank.num_sentences)
    trees = last.learner.trees[slice(*bank.tree_start[sentence : sentence + 2].tolist())].copy()
    return _on_its_own(last, select_pairs(bank.corpus, rows), trees, None)


def pair_of_words(rng: np.random.Generator, last: LastState, pair: ParallelCorpus) -> VisitedPair:
    """A pair that a run has not seen, as if it came to its corpus: with every node cut and uniform edges.

    Parameters
    ----------
    rng : numpy.random.Generator
    last : LastState
        Not changed.
    pair : ParallelCorpus
        Of a single pair, of any vocabularies.
    """
    return _on_its_own(last, _renumbered(pair, last.bank.corpus), None, rng)


def pair_alone(
    rng: np.random.Generator,
    pair: ParallelCorpus,
    settings: LearnerSettings = LearnerSettings(),  # noqa: B008
) -> VisitedPair:
    """A pair without any corpus: rules have been seen nowhere else.

    Parameters
    ----------
    rng : numpy.random.Generator
    pair : ParallelCorpus
        Of a single pair.
    settings : LearnerSettings
    """
    bank = forest_bank(pair, settings.max_length, attached(settings))
    empty = empty_state(bank, settings)
    return _on_its_own(
        LastState(bank, settings, empty, collector_for(bank), spelled_words(pair)), pair, None, rng
    )


def _on_its_own(
    last: LastState, pair: ParallelCorpus, trees: np.ndarray | None, rng: np.random.Generator | None
) -> VisitedPair:
    """A pair with its derivation, or with a first one, drawn and seated, if it has none."""
    settings = last.settings
    choice = last.bank.choice if pair.num_sentences > 1 else None
    bank = forest_bank(pair, settings.max_length, attached(settings), choice)
    longest = max(bank.longest[0], last.bank.longest[0]), max(bank.longest[1], last.bank.longest[1])
    room = last.bank._replace(extent=last.bank.extent._replace(longest=longest))
    model = rule_model(room, settings, float(last.learner.mean_length[0]))
    walk = new_walk(bank, settings.max_cut_span, _weights(last, pair))
    walk.work.counters[IGNORE_DENSITY] = not settings.density_factor
    walk.work.counters[DIVIDE_BY_TREES] = settings.divide_by_trees
    restaurants = copy_state(last.learner.restaurants)
    if settings.model != "dirichlet":
        restaurants = _with_strata(restaurants, len(model.log_length))
    if trees is None:
        trees = np.zeros(bank.tree_start[-1], last.learner.trees.dtype)
        draw_trees(rng, walk, trees)
        restaurants = with_room_for_visits(restaurants, len(trees))
        seat_trees(rng, walk, model, restaurants, trees, 0)
    same = pair.source_vocabulary is last.bank.corpus.source_vocabulary
    words = last.words if same else spelled_words(pair)
    return VisitedPair(bank, settings, walk, model, restaurants, trees, words)


def _renumbered(pair: ParallelCorpus, corpus: ParallelCorpus) -> ParallelCorpus:
    """A pair in the words of a corpus, those that it has not behind its own."""
    sides = []
    for own, words, common in (
        (pair.source_vocabulary, pair.source, corpus.source_vocabulary),
        (pair.target_vocabulary, pair.target, corpus.target_vocabulary),
    ):
        more = Vocabulary(common.words)
        ids = np.array(more.add_all(own.words), np.int32)
        sides.append((more, ids[words]))
    return pair._replace(
        source_vocabulary=sides[0][0], source=sides[0][1], target_vocabulary=sides[1][0], target=sides[1][1]
    )


def _weights(last: LastState, pair: ParallelCorpus) -> tuple[np.ndarray, np.ndarray] | None:
    """As `word_weights` of the run, with the words that it has not seen."""
    corpus = last.bank.corpus
    source = len(pair.source_vocabulary) - len(corpus.source_vocabulary)
    target = len(pair.target_vocabulary) - len(corpus.target_vocabulary)
    return word_weights(corpus, last.settings, (source, target))


def _with_strata(restaurants: Restaurants, number: int) -> Restaurants:
    """The same restaurants, and empty ones for longer rules."""
    more = number - len(restaurants.strength)
    if more <= 0:
        return restaurants
    padded = {
        name: np.concatenate([getattr(restaurants, name), np.zeros(more, np.int64)])
        for name in ("stratum_customers", "stratum_tables")
    }
    alike: dict[str, Any] = {
        name: np.append(getattr(restaurants, name), np.full(more, getattr(restaurants, name)[0]))
        for name in ("discount", "strength")
    }
    pending = np.zeros((number, 2), np.int64)
    return restaurants._replace(**padded, **alike, pending=pending)
