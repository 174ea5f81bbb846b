"""The chain over derivations of a treebank: which nodes are cut, and the parameters of the model.

State: for every sentence a tree of its forest with a cut bit per node, stored in preorder, and the
restaurants that seat all elementary trees, one to a root label. A sweep visits the sentences in random order,
and in each the nodes in random order (Cohn et al. 2009, section 3), by the same sweep as the learner
of translation rules (`visits`); it may propose whole derivations and resample all sites of a
type at once as well.

The fact a newcomer would get wrong: annealing raises the probabilities that cuts and edges are drawn from to
the power 1/T. Concentrations and stop probabilities are always drawn at T = 1.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from monolingual.tsg.hyperparameters import (
    draw_tables,
    log_concentration_prior,
    resample_concentrations,
)
from monolingual.tsg.recurring import recurring_cuts
from monolingual.tsg.settings import TsgSettings, check_settings, temperature
from monolingual.tsg.sweep import (
    count_decisions,
    first_bad_tree,
    renew_bases,
    resample_types,
    seat_sentences,
)
from monolingual.tsg.treebank import Treebank, has_choices
from monolingual.tsg.visits import (
    REPORTED,
    Shards,
    Visitor,
    in_shards,
    new_visitor,
    visit,
    visit_shards,
    with_room,
    with_room_for,
)
from scfg_sampler.core.chains.checkpoint import layout_problem
from scfg_sampler.core.chains.kernel import Kernel
from scfg_sampler.core.executors import Executor, InProcess
from scfg_sampler.core.fragments.audit import AuditError, audited, require_comparable
from scfg_sampler.core.fragments.density import log_joint
from scfg_sampler.core.fragments.restaurant import LIVE, Restaurants, grown, new_restaurants
from scfg_sampler.core.fragments.tree import (
    ACCEPTED,
    CUTS_CHANGED,
    EDGES_CHANGED,
    PROPOSED,
)
from scfg_sampler.errors import ScfgError

__all__ = ["SweepInfo", "TsgStart", "TsgState", "hyperparameter_kernel", "state_problem", "tsg_kernel"]


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


class TsgStart(NamedTuple):
    """Where a chain begins."""

    trees: np.ndarray
    """uint16 (N,): as in `TsgState`."""
    expand: np.ndarray
    """float64 (C,): β_c."""


class _Chain(NamedTuple):
    """What the moves of a chain share: nothing of it changes but scratch memory."""

    treebank: Treebank
    settings: TsgSettings
    visitor: Visitor
    """Of all sentences."""
    shards: Shards | None
    """None where there is one, which the visitor visits."""


Move = Callable[[_Chain, np.random.Generator, TsgState], Restaurants]


def tsg_kernel(treebank: Treebank, settings: TsgSettings, executor: Executor | None = None) -> Kernel:
    """The chain of a treebank: the moves that the settings name, then the parameters that are learnt.

    `init(rng, start)` seats the fragments of a `TsgStart` one after the other; with None, of derivations in
    which no node is cut but the roots, or every node, as the settings say, with edges at random.

    Parameters
    ----------
    treebank : Treebank
    settings : TsgSettings
    executor : Executor, optional
        Visits the shards, in this process; by default this thread. Whoever does, the steps are the same.

    Raises
    ------
    SettingsError
        A setting is out of range.
    """
    return _kernel(treebank, settings, _all_moves, executor)


def hyperparameter_kernel(treebank: Treebank, settings: TsgSettings) -> Kernel:
    """`tsg_kernel` whose steps move the parameters that are learnt, and nothing else.

    Parameters
    ----------
    treebank : Treebank
    settings : TsgSettings
    """
    return _kernel(treebank, settings, _resample_hyperparameters)


def _kernel(
    treebank: Treebank, settings: TsgSettings, move: Move, executor: Executor | None = None
) -> Kernel:
    check_settings(settings)
    chain = _new_chain(treebank, settings, executor)
    return Kernel(
        functools.partial(_first_state, chain),
        functools.partial(_step, chain, move),
        functools.partial(_log_joint_from_scratch, chain),
    )


def _new_chain(treebank: Treebank, settings: TsgSettings, executor: Executor | None = None) -> _Chain:
    visitor = new_visitor(treebank, settings)
    shards = in_shards(visitor, executor or InProcess()) if settings.shards > 1 else None
    return _Chain(treebank, settings, visitor, shards)


def _first_state(chain: _Chain, rng: np.random.Generator, start: TsgStart | None = None) -> TsgState:
    if start is None:
        start = TsgStart(_first_trees(chain, rng), _first_expand(chain))
    return TsgState(start.trees, _seat(chain, rng, *start), start.expand.copy(), 0)


def _first_expand(chain: _Chain) -> np.ndarray:
    stop = chain.settings.stop
    return np.full(len(chain.treebank.productions.labels), 0.5 if stop is None else 1.0 - stop)


def _first_trees(chain: _Chain, rng: np.random.Generator) -> np.ndarray:
    bank = chain.treebank
    if chain.settings.start == "2dop":
        return recurring_cuts(bank)
    trees = np.full(bank.node_start[-1], chain.settings.start == "minimal", np.uint16)
    trees[bank.node_start[:-1]] = 1
    for sentence in np.flatnonzero(has_choices(bank)).tolist():
        _draw_edges(rng, bank, sentence, trees)
    return trees


def _draw_edges(rng: np.random.Generator, bank: Treebank, sentence: int, trees: np.ndarray) -> None:
    """Add to the codes of a sentence the edges of a tree drawn from the root down."""
    first = at = int(bank.node_start[sentence])
    pending = [0]
    while pending:
        edges, end = bank.edge_start[first + pending.pop() :][:2].tolist()
        rank = int(rng.integers(end - edges))
        trees[at] |= 2 * rank
        at += 1
        start, stop = bank.tail_start[edges + rank :][:2].tolist()
        pending.extend(bank.tails[start:stop][::-1].tolist())


def _no_guests(chain: _Chain, num_labels: int) -> Restaurants:
    settings = chain.settings
    strength = 1.0 if settings.concentration is None else settings.concentration
    return new_restaurants(num_labels, discount=settings.discount, strength=strength, exact=True)


def _seat(chain: _Chain, rng: np.random.Generator, trees: np.ndarray, expand: np.ndarray) -> Restaurants:
    """Restaurants in which the fragments of derivations were seated one after the other."""
    _set_expand(chain, expand)
    restaurants = _no_guests(chain, len(expand))
    visitor, node_start, sentence = chain.visitor, chain.treebank.node_start, 0
    while sentence < chain.treebank.num_sentences:
        restaurants = with_room_for(visitor, restaurants, sentence)
        sentence = seat_sentences(
            rng, visitor.forest, visitor.model, restaurants, visitor.work, node_start, trees, sentence
        )
    return restaurants


def _step(chain: _Chain, move: Move, rng: np.random.Generator, state: TsgState) -> tuple[TsgState, SweepInfo]:
    """One sweep over the treebank; `state` is changed in place."""
    _set_expand(chain, state.expand)
    heat = temperature(chain.settings, state.sweep)
    chain.visitor.work.counters[list(REPORTED)] = 0
    chain.visitor.work.inverse_temperature[0] = 1.0 / heat
    restaurants = move(chain, rng, state)
    state = TsgState(state.trees, restaurants, state.expand, state.sweep + 1)
    return state, _info(chain, state, heat)


def _all_moves(chain: _Chain, rng: np.random.Generator, state: TsgState) -> Restaurants:
    settings, visitor, restaurants = chain.settings, chain.visitor, state.restaurants
    if chain.shards is None:
        restaurants = visit(visitor, rng, restaurants, state.trees, (0, chain.treebank.num_sentences))
    else:
        restaurants = visit_shards(visitor, chain.shards, rng, restaurants, state.trees)
    if "type" in settings.moves and (state.sweep + 1) % settings.type_every == 0:
        restaurants = resample_types(
            rng, visitor.forest, visitor.model, restaurants, visitor.work, state.trees, with_room
        )
    return _resample_hyperparameters(chain, rng, state._replace(restaurants=restaurants))


def _resample_hyperparameters(chain: _Chain, rng: np.random.Generator, state: TsgState) -> Restaurants:
    """The restaurants after the parameters that are learnt have been moved once."""
    restaurants, expand = state.restaurants, state.expand
    if chain.settings.concentration is None:
        resample_concentrations(rng, restaurants)
    if chain.settings.stop is None:
        # Dishes without customers would keep the base of now when they come back.
        restaurants = grown(restaurants, 0)
        visitor = chain.visitor
        passes = visitor.forest, restaurants, visitor.work, chain.treebank.node_start, state.trees
        tables = np.zeros(len(restaurants.stratum), np.int64)
        draw_tables(rng, restaurants, tables)
        decisions = np.zeros((len(expand), 2), np.int64)
        count_decisions(*passes, tables, decisions)
        expand[:] = np.clip(rng.beta(1.0 + decisions[:, 0], 1.0 + decisions[:, 1]), 1e-12, 1.0 - 1e-12)
        _set_expand(chain, expand)
        renew_bases(*passes)
    return restaurants


def _log_joint_from_scratch(chain: _Chain, state: TsgState) -> float:
    """ln P of derivations and parameters (and seating, where it is tracked), from the derivations alone.

    Their fragments are seated anew; where seats are tracked they are taken from the state once they are found
    to fit.

    Raises
    ------
    AuditError
        The restaurants of the state are not those of its derivations; names the array that differs.
    """
    if chain.settings.stop is not None and not np.array_equal(state.expand, _first_expand(chain)):
        raise AuditError(f"expand is not 1 - {chain.settings.stop} as set")
    recount = _seat(chain, np.random.default_rng(0), state.trees.copy(), state.expand)
    if chain.settings.concentration is None:
        recount.strength[:] = state.restaurants.strength
    checked = audited(state.restaurants, recount)
    return float(log_joint(checked)) + _log_prior(chain.settings, checked)


def state_problem(treebank: Treebank, settings: TsgSettings, state: TsgState) -> str | None:
    """What keeps a chain of a treebank from going on from a state that was read; None if nothing does.

    Parameters
    ----------
    treebank : Treebank
    settings : TsgSettings
    state : TsgState
    """
    chain = _new_chain(treebank, settings)
    expand = _first_expand(chain)
    like = TsgState(np.zeros(treebank.node_start[-1], np.uint16), _no_guests(chain, len(expand)), expand, 0)
    sized = [f"restaurants.{name}" for name in ("entries", "stratum", "log_base", "party", "parties")]
    if problem := layout_problem(state, like, free=sized):
        return problem
    if state.sweep < 0 or not ((state.expand > 0) & (state.expand < 1)).all():
        return "sweep or expand is out of range"
    bad = first_bad_tree(chain.visitor.forest, chain.visitor.work, state.trees)
    if bad >= 0:
        return f"trees has no tree of sentence {bad + 1}"
    try:
        require_comparable(state.restaurants, like.restaurants)
        _log_joint_from_scratch(chain, state)
    except (AuditError, ScfgError) as error:
        return str(error)
    return None


def _set_expand(chain: _Chain, expand: np.ndarray) -> None:
    np.log(expand, out=chain.visitor.forest.log_expand)
    np.log1p(-expand, out=chain.visitor.forest.log_stop)


def _log_prior(settings: TsgSettings, restaurants: Restaurants) -> float:
    if settings.concentration is not None:
        return 0.0
    return float(log_concentration_prior(restaurants.strength).sum())


def _info(chain: _Chain, state: TsgState, heat: float) -> SweepInfo:
    restaurants, counters = state.restaurants, chain.visitor.work.counters
    return SweepInfo(
        log_joint=float(log_joint(restaurants)) + _log_prior(chain.settings, restaurants),
        temperature=heat,
        fragments=int(restaurants.stratum_customers.sum()),
        types=int(restaurants.totals[LIVE]),
        cuts_changed=int(counters[CUTS_CHANGED]),
        edges_changed=int(counters[EDGES_CHANGED]),
        acceptance=float(counters[ACCEPTED] / counters[PROPOSED]) if counters[PROPOSED] else 1.0,
        strength=float(restaurants.strength.mean()),
        stop=float(1.0 - state.expand.mean()),
    )
