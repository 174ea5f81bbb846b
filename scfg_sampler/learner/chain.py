"""The chain over derivations of a word-aligned corpus, resampled sentence by sentence.

State: for every sentence a tree of its phrase decomposition forest with a cut bit per node, stored in
preorder, and the restaurants that seat the rules of all sentences. A sweep visits the sentences in order;
each forest is built anew from the alignment, which costs less than keeping it would.

The fact a newcomer would get wrong: whatever a step reads is in its state or in the settings. A kernel holds
scratch memory besides, so that one kernel makes one step at a time.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.pages import on_disk
from scfg_sampler.core.arrays.wire import own
from scfg_sampler.core.chains.kernel import Kernel
from scfg_sampler.core.fragments.audit import AuditError, audited
from scfg_sampler.core.fragments.restaurant import LIVE, Restaurants, grown, is_full, new_restaurants
from scfg_sampler.core.fragments.room import with_room_for_visits
from scfg_sampler.core.fragments.shards import merged, shared_counts
from scfg_sampler.core.fragments.tree import (
    ACCEPTED,
    ATTACHED_SHIFT,
    CUTS_CHANGED,
    EDGES_CHANGED,
    EVALUATIONS,
    PROPOSED,
)
from scfg_sampler.forest.choice import chosen
from scfg_sampler.learner.division import Division, divided
from scfg_sampler.learner.forest_bank import ForestBank, walk_in_turn
from scfg_sampler.learner.hyperparameters import log_prior, resample_hyperparameters
from scfg_sampler.learner.model import (
    AnyModel,
    TypedModel,
    labelled_model,
    new_rule_model,
    num_strata,
    rules_log_joint,
    typed_model,
)
from scfg_sampler.learner.passes import (
    Walk,
    draw_trees,
    seat_trees,
    sum_internal_trees,
)
from scfg_sampler.learner.settings import (
    LearnerSettings,
    attached,
    check_settings,
    dishes,
    level,
    temperature,
)
from scfg_sampler.learner.shards import (
    ShardResult,
    Visit,
    WholeResult,
    set_switches,
    sweep_sentence_range,
    sweep_shard,
    sweep_whole,
)
from scfg_sampler.learner.type_passes import resample_types
from scfg_sampler.learner.typed_passes import recount_typed_trees
from scfg_sampler.learner.words import word_weights

__all__ = [
    "LearnerState",
    "SweepInfo",
    "empty_state",
    "learner_kernel",
    "pair_kernel",
    "rule_model",
    "type_kernel",
]

NO_LIMIT = np.iinfo(np.int32).max


class LearnerState(NamedTuple):
    """What the next sweep needs."""

    trees: np.ndarray
    """uint16: per node of a derivation in preorder, edge label × 2 + cut bit, and zeros up to the sentence's
    most nodes; uint32 where unaligned words
    are free, and above 16 bits, four for each side, how many of them a cut node takes in; or where nodes have
    types, and the type of a cut node there."""
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


class _Chain(NamedTuple):
    """What the moves of a chain share: nothing of it changes but the scratch memory of the walk."""

    bank: ForestBank
    settings: LearnerSettings
    walk: Walk
    """Over the whole corpus."""
    division: Division
    """Into shards, and who sweeps them."""


Move = Callable[[_Chain, np.random.Generator, LearnerState, AnyModel], Restaurants]


def learner_kernel(bank: ForestBank, settings: LearnerSettings, division: Division | None = None) -> Kernel:
    """The chain of a corpus: sweeps, type moves and hyperparameters, as the settings say.

    `init(rng, trees)` makes the state whose derivations are `trees` (as in `LearnerState`), their
    rules seated one after the other; with None, of derivations with every node cut and uniform edges.

    Parameters
    ----------
    bank : ForestBank
    settings : LearnerSettings
    division : Division, optional
        Of this bank, with these settings; by default this thread sweeps all shards. Whoever does, the steps
        are the same.

    Raises
    ------
    SettingsError
        A setting is out of range.
    """
    return _kernel(bank, settings, _all_moves, division)


def type_kernel(bank: ForestBank, settings: LearnerSettings) -> Kernel:
    """`learner_kernel` whose steps are type moves alone.

    Parameters
    ----------
    bank : ForestBank
    settings : LearnerSettings
    """
    return _kernel(bank, settings, _resample_types)


def pair_kernel(bank: ForestBank, settings: LearnerSettings, sentences: Sequence[int]) -> Kernel:
    """`learner_kernel` whose steps visit a few sentence pairs alone, given the derivations of all others.

    Parameters
    ----------
    bank : ForestBank
    settings : LearnerSettings
    sentences : sequence of int
        Pairs with a derivation, from 0.
    """
    return _kernel(bank, settings, functools.partial(_sweep_pairs, tuple(sentences)))


def _kernel(
    bank: ForestBank, settings: LearnerSettings, move: Move, division: Division | None = None
) -> Kernel:
    check_settings(settings)
    assert settings.max_length == bank.max_length, "the forests were made for another --max-length"
    assert bank.max_attached == attached(settings), "the forests were made for another --unaligned"
    alignments = bank.choice.alignments if bank.choice else 0
    assert bank.choice == chosen(settings.choose, alignments), "the forests were made for another --choose"
    walk = walk_in_turn(bank, settings.max_cut_span, word_weights(bank.corpus, settings))
    chain = _Chain(bank, settings, walk, division or divided(bank, settings))
    rule_model(bank, settings, settings.mean_length)  # Complains of what is out of range.
    return Kernel(
        functools.partial(_first_state, chain),
        functools.partial(_step, chain, move),
        functools.partial(_log_joint_from_scratch, chain),
    )


def rule_model(bank: ForestBank, settings: LearnerSettings, mean_length: float) -> AnyModel:
    """The model of the settings, with λ as given.

    Parameters
    ----------
    bank : ForestBank
    settings : LearnerSettings
    mean_length : float
        λ.
    """
    corpus = bank.corpus
    plain = new_rule_model(
        model=settings.model,
        base=settings.base,
        mean_length=mean_length,
        longest=sum(bank.longest) + 2 + bank.longest[0],
        source_vocabulary=settings.source_vocabulary or len(corpus.source_vocabulary),
        target_vocabulary=settings.target_vocabulary or len(corpus.target_vocabulary),
    )
    if settings.types > 1:
        return typed_model(plain, settings.types)
    return plain if bank.labels is None else labelled_model(plain, *bank.labels[1:])


def _first_state(chain: _Chain, rng: np.random.Generator, trees: np.ndarray | None = None) -> LearnerState:
    if trees is None:
        trees = _no_trees(chain.bank)
        draw_trees(rng, chain.walk, trees)
        if chain.settings.types > 1:
            _draw_types(chain, rng, trees)
    settings = chain.settings
    restaurants = _seat(chain, rng, trees, _discount(settings), settings.strength, settings.mean_length)
    return LearnerState(trees, restaurants, np.array([settings.mean_length]), 0)


def _draw_types(chain: _Chain, rng: np.random.Generator, trees: np.ndarray) -> None:
    """Give all nodes but the roots types of derivations in which every node is cut."""
    number = chain.settings.types if chain.settings.types_start == "random" else 1
    types = rng.integers(1, number + 1, size=len(trees)).astype(trees.dtype)
    tree_start = chain.bank.tree_start
    types[tree_start[:-1][np.diff(tree_start) > 0]] = 0
    trees += types << ATTACHED_SHIFT


def empty_state(bank: ForestBank, settings: LearnerSettings) -> LearnerState:
    """A state whose arrays have the types and, but for the number of dishes, the sizes of a chain's.

    Parameters
    ----------
    bank : ForestBank
    settings : LearnerSettings
    """
    mean_length = np.array([settings.mean_length])
    restaurants = _no_guests(bank, settings, _discount(settings), settings.strength, settings.mean_length)
    return LearnerState(_no_trees(bank), restaurants, mean_length, 0)


def _no_trees(bank: ForestBank) -> np.ndarray:
    return np.zeros(bank.tree_start[-1], bank.code_type)


def _no_guests(
    bank: ForestBank, settings: LearnerSettings, discount: float, strength: float, mean_length: float
) -> Restaurants:
    model = rule_model(bank, settings, mean_length)
    exact = settings.tables == "exact"
    return new_restaurants(num_strata(model), discount=discount, strength=strength, exact=exact)


def _discount(settings: LearnerSettings) -> float:
    """d, which the Dirichlet process of `dirichlet` does not have."""
    return settings.discount if settings.model == "pitman-yor" else 0.0


def _seat(
    chain: _Chain,
    rng: np.random.Generator,
    trees: np.ndarray,
    discount: float,
    strength: float,
    mean_length: float,
) -> Restaurants:
    """Restaurants in which the rules of derivations were seated one after the other."""
    model = rule_model(chain.bank, chain.settings, mean_length)
    restaurants = _no_guests(chain.bank, chain.settings, discount, strength, mean_length)
    walk, sentence = chain.walk, 0
    set_switches(walk, chain.settings, 1.0)
    while sentence < chain.bank.num_sentences:
        restaurants = _with_room_for(chain, restaurants, sentence)
        sentence = seat_trees(rng, walk, model, restaurants, trees, sentence)
    return restaurants


def _recount(chain: _Chain, given: Restaurants, trees: np.ndarray, parameters: tuple) -> Restaurants:
    """Restaurants with the customers of derivations, as `audited` takes them."""
    if chain.settings.types == 1:
        return _seat(chain, np.random.default_rng(0), trees, *parameters)
    model = rule_model(chain.bank, chain.settings, parameters[2])
    recount, sentence = _no_guests(chain.bank, chain.settings, *parameters), 0
    while sentence < chain.bank.num_sentences:
        recount = _with_room_for(chain, recount, sentence)
        sentence = recount_typed_trees(chain.walk, model, given, recount, trees, sentence)
    return recount


def _step(
    chain: _Chain, move: Move, rng: np.random.Generator, state: LearnerState
) -> tuple[LearnerState, SweepInfo]:
    """One sweep over the corpus; `state` is changed in place."""
    settings = chain.settings
    heat = temperature(settings, state.sweep)
    chain.walk.work.counters[list(_REPORTED)] = 0
    set_switches(chain.walk, settings, heat)
    model = rule_model(chain.bank, settings, float(state.mean_length[0]))
    if settings.shards > 1:
        # Shards are given theirs a sweep at a time; here nobody needs them all.
        state = state._replace(trees=on_disk(state.trees))
    restaurants = move(chain, rng, state, model)
    done = LearnerState(state.trees, restaurants, state.mean_length, state.sweep + 1)
    return done, _info(chain, done, model, level(settings, state.sweep), heat)


def _all_moves(chain: _Chain, rng: np.random.Generator, state: LearnerState, model: AnyModel) -> Restaurants:
    settings = chain.settings
    restaurants = _sweep(chain, rng, state, model)
    if settings.type_moves > 0 and (state.sweep + 1) % settings.type_moves == 0:
        restaurants = _resample_types(chain, rng, state._replace(restaurants=restaurants), model)
    if settings.learned:
        resample_hyperparameters(rng, settings.learned, model, restaurants, state.mean_length)
    return restaurants


def _resample_types(
    chain: _Chain, rng: np.random.Generator, state: LearnerState, model: AnyModel
) -> Restaurants:
    """The restaurants after the cuts of all sites of a type, type by type, have been resampled together."""
    return resample_types(rng, chain.walk, model, state.restaurants, state.trees, _with_room)


def _sweep(chain: _Chain, rng: np.random.Generator, state: LearnerState, model: AnyModel) -> Restaurants:
    """The restaurants after every sentence has been visited."""
    settings, num_sentences = chain.settings, chain.bank.num_sentences
    executor, ranges, shards = chain.division
    if settings.shards == 1 and executor.is_elsewhere:
        return _sweep_elsewhere(chain, rng, state, model)
    if settings.shards == 1:
        return _sweep_range(chain, rng, state, model, (0, num_sentences))
    tree_start = chain.bank.tree_start
    seeds = rng.integers(2**63, size=settings.shards).tolist()
    visit = executor.share(_visit(settings, state, model))
    before = shared_counts(executor, state.restaurants)
    places = [slice(*tree_start[list(sentences)]) for sentences in ranges]
    tasks = [
        executor.submit(sweep_shard, shard, settings, visit, before, state.trees[place], seed)
        for shard, place, seed in zip(shards, places, seeds, strict=True)
    ]
    results: list[ShardResult] = [task.result() for task in tasks]
    for place, result in zip(places, results, strict=True):
        state.trees[place] = result.trees
        chain.walk.work.counters[list(_REPORTED)] += result.counters[list(_REPORTED)]
    return merged(rng, state.restaurants, [result.changes for result in results])


def _sweep_elsewhere(
    chain: _Chain, rng: np.random.Generator, state: LearnerState, model: AnyModel
) -> Restaurants:
    """The restaurants after every sentence has been visited by the executor, in one shard."""
    arguments = _visit(chain.settings, state, model), state.restaurants, state.trees, rng
    task = chain.division.executor.submit(sweep_whole, chain.division.shards[0], chain.settings, *arguments)
    result: WholeResult = task.result()
    state.trees[:] = result.trees
    rng.bit_generator.state = result.rng
    chain.walk.work.counters[list(_REPORTED)] += result.counters[list(_REPORTED)]
    return own(result.restaurants)


def _visit(settings: LearnerSettings, state: LearnerState, model: AnyModel) -> Visit:
    highest = level(settings, state.sweep) or NO_LIMIT
    return Visit(model, highest, temperature(settings, state.sweep))


def _sweep_pairs(
    sentences: tuple[int, ...],
    chain: _Chain,
    rng: np.random.Generator,
    state: LearnerState,
    model: AnyModel,
) -> Restaurants:
    """The restaurants after a few sentences have been visited."""
    for sentence in sentences:
        visited = (sentence, sentence + 1)
        state = state._replace(restaurants=_sweep_range(chain, rng, state, model, visited))
    return state.restaurants


def _sweep_range(
    chain: _Chain,
    rng: np.random.Generator,
    state: LearnerState,
    model: AnyModel,
    sentences: tuple[int, int],
) -> Restaurants:
    """The restaurants after some sentences have been visited."""
    visit = _visit(chain.settings, state, model)
    return sweep_sentence_range(
        rng, chain.walk, chain.settings, visit, state.restaurants, state.trees, sentences
    )


def _info(chain: _Chain, state: LearnerState, model: AnyModel, highest: int, heat: float) -> SweepInfo:
    restaurants = state.restaurants
    counters = chain.walk.work.counters
    # With types the first restaurants are those of skeletons, whose customers are tables.
    skip = int(model.first[0]) if isinstance(model, TypedModel) else 0
    live = int(restaurants.totals[LIVE])
    if skip > 0:
        live -= int(np.count_nonzero(restaurants.entries[:, 1].astype(bool) & (restaurants.stratum < skip)))
    return SweepInfo(
        log_joint=_log_joint(chain, state, model, restaurants),
        level=highest,
        temperature=heat,
        rules=int(restaurants.stratum_customers[skip:].sum()),
        types=live,
        tables=float(restaurants.stratum_tables[skip:].sum()) / 2**32,
        edges_changed=int(counters[EDGES_CHANGED]),
        cuts_changed=int(counters[CUTS_CHANGED]),
        acceptance=float(counters[ACCEPTED] / counters[PROPOSED]) if counters[PROPOSED] else 1.0,
        discount=float(restaurants.discount[0]),
        strength=float(restaurants.strength[0]),
        mean_length=float(state.mean_length[0]),
        evaluations=int(counters[EVALUATIONS]),
    )


def _log_joint(chain: _Chain, state: LearnerState, model: AnyModel, restaurants: Restaurants) -> float:
    parameters = restaurants.discount[0], restaurants.strength[0], state.mean_length[0]
    prior = log_prior(chain.settings.learned, *map(float, parameters))
    trees = 0.0
    if chain.settings.divide_by_trees:
        trees = sum_internal_trees(chain.walk, state.trees)
    return rules_log_joint(model, restaurants) + prior - trees


def _log_joint_from_scratch(chain: _Chain, state: LearnerState) -> float:
    """ln P of derivations (and seating, where it is tracked), from the derivations alone.

    Their rules are seated anew, in restaurants made for the purpose, which says which dishes there are, with
    how many customers and which base probabilities. Where seats are tracked they are part of the state, and
    are taken from there once they are found to fit.

    Raises
    ------
    AuditError
        The restaurants of the state are not those of its derivations; names the array that differs.
    """
    settings, given = chain.settings, state.restaurants
    learned = settings.learned
    discount = float(given.discount[0]) if "discount" in learned else _discount(settings)
    strength = float(given.strength[0]) if "strength" in learned else settings.strength
    mean_length = float(state.mean_length[0])
    if "mean_length" not in learned and mean_length != settings.mean_length:
        raise AuditError(f"mean_length is {mean_length}, not {settings.mean_length} as set")
    recount = _recount(chain, given, state.trees.copy(), (discount, strength, mean_length))
    model = rule_model(chain.bank, settings, mean_length)
    return _log_joint(chain, state, model, audited(given, recount))


_REPORTED = (EDGES_CHANGED, CUTS_CHANGED, EVALUATIONS, PROPOSED, ACCEPTED)


def _with_room(restaurants: Restaurants, more: int) -> Restaurants:
    return grown(restaurants, more + 10_000) if is_full(restaurants, more) else restaurants


def _with_room_for(chain: _Chain, restaurants: Restaurants, sentence: int) -> Restaurants:
    """Restaurants that have room for whatever visits of a sentence bring."""
    size = int(np.diff(chain.bank.tree_start[sentence : sentence + 2])[0])
    return with_room_for_visits(restaurants, dishes(size, chain.settings))
