"""The posterior of a grammar of which only overt forms are heard: parses are summed out.

A learner hears a word with its stress, not its feet; candidates that sound alike are parses of one overt
form, and which of them wins cannot be observed. A token of form o says

    P(o | μ) = Σ_{c is a parse of o} P(c wins | μ),

the parses being different events. Given the means, the parse of each token would be drawn from
P(c | o, μ) = P(c | μ) / P(o | μ), and the means given parses; here P(o | μ) is at hand, by quadrature, so the
parses are summed out, and the means moved under p(μ) Π_o P(o | μ)^{n_o} by Metropolis steps, those of
`collapsed.py`. What is learnt of the parses is P(c | o, μ), averaged over draws.

The fact a newcomer would get wrong: the posterior may have several modes, one for each way to analyse the
whole language. Chains that begin in different places and do not agree say so (R̂); that is a finding, and
no failure of the sampler alone.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from monolingual.ot.collapsed import (
    draw_step,
    is_allowed,
    moved,
    new_tables,
    set_means,
    tabulate_back,
    tabulate_moved,
)
from monolingual.ot.exact import OrderingModel
from monolingual.ot.gibbs import OtInfo, OtState, dispersed_means, make_posterior, with_directions
from monolingual.ot.moves import Posterior, draw_idle
from monolingual.ot.orderings import bounded_candidates, derive_orderings, telling_conjuncts
from monolingual.ot.quadrature import Grid, Plan, make_grid, make_plan, ordering_prob, tabulate_row
from monolingual.ot.settings import OtSettings
from monolingual.ot.tableaux import Tableaux, identical_candidates, overt_forms, token_counts
from scfg_sampler.core import draws
from scfg_sampler.core.chains.kernel import Kernel
from scfg_sampler.core.jit import by_reference, compiled, kernel
from scfg_sampler.errors import InputError, SettingsError

__all__ = ["Forms", "form_counts", "hidden_kernel", "hidden_problems", "overt_moves"]

_PER_CONSTRAINT = 6


class Forms(NamedTuple):
    """The overt forms that were heard, in flat arrays.

    Attributes
    ----------
    count : int64, shape (F,)
        Tokens of each form.
    start : int64, shape (F + 1,)
        Its parses are the orderings start[f], …, start[f + 1] − 1 of the plan.
    share : float64, shape (D,)
        Of each ordering the share that this parse has: 1, unless other candidates have the same violations.
    """

    count: np.ndarray  # type: ignore[assignment]
    start: np.ndarray
    share: np.ndarray


def form_counts(tableaux: Tableaux, tokens: int | None = None) -> np.ndarray:
    """How often each overt form counts as heard, as `token_counts` has it, int64 of shape (F,)."""
    return token_counts(overt_forms(tableaux)[0], tokens)


def hidden_problems(tableaux: Tableaux) -> list[str]:
    """What a learner from overt forms should know: heard forms that no ranking gives, a sentence each."""
    heard, form_of = overt_forms(tableaux)
    impossible = bounded_candidates(tableaux)
    possible = set(np.delete(form_of, impossible).tolist())
    owner = heard.input_of()
    return [
        f"{tableaux.inputs[owner[form]]} → {heard.outputs[form]} (frequency {heard.frequency[form]:g}) has "
        "no parse that wins under any ranking, and is left out"
        for form in np.flatnonzero(heard.frequency).tolist()
        if form not in possible
    ]


def hidden_kernel(tableaux: Tableaux, counts: np.ndarray, settings: OtSettings) -> Kernel:
    """The sampler of the posterior of the means given overt forms; its states have no values.

    Parameters
    ----------
    tableaux : Tableaux
        With overt forms.
    counts : int64, shape (F,)
        See `form_counts`.
    settings : OtSettings

    Raises
    ------
    InputError
        Nothing heard says anything.
    SettingsError
        A setting is out of range, or asks for moves of values, which are summed out.
    """
    if settings.learn_variances or not settings.truncate or settings.collapsed == 0:
        raise SettingsError(
            "overt forms are learnt from by collapsed moves, with a truncation and known variances: leave "
            "out --learn-variances, --paper, --truncate 0, --collapsed 0"
        )
    chosen, forms = _heard_forms(tableaux, counts)
    parses = np.isin(np.arange(len(tableaux.outputs)), chosen).astype(np.int64)
    posterior = make_posterior(derive_orderings(tableaux, parses), settings)
    # Constraints of conjuncts that follow from others occur nowhere else, and no kernel tabulates them.
    pairs = [telling_conjuncts(tableaux, c) for c in chosen]
    plan = make_plan(pairs, len(tableaux.constraints))
    reach = 2.0 * settings.truncate  # Differences of means are below it.
    spread = np.full(len(tableaux.constraints), float(settings.noise))
    grid = make_grid(-reach, reach, spread)
    occurring = posterior.occurs > 0
    moves = _PER_CONSTRAINT * int(occurring.sum()) if settings.collapsed < 0 else settings.collapsed
    model = OrderingModel(tableaux, chosen)

    def step(rng: np.random.Generator, state: OtState) -> tuple[OtState, OtInfo]:
        log_likelihood, _ = overt_moves(rng, posterior, plan, grid, forms, state, moves)
        log_joint = log_likelihood + _log_prior(posterior, state.mean)
        return state, OtInfo(log_joint, state.mean, state.deviation)

    def log_joint(state: OtState) -> float:
        probs = np.add.reduceat(model.probs(state.mean, spread), forms.start[:-1])
        return float(forms.count @ np.log(np.maximum(probs, 1e-300))) + _log_prior(posterior, state.mean)

    def init(rng: np.random.Generator, data: object = None) -> OtState:
        mean = dispersed_means(rng, np.flatnonzero(occurring), len(spread), settings)
        start = OtState(mean, spread.copy(), np.zeros(0), np.zeros((len(spread),) * 2))
        return with_directions(rng, start, step, settings.pilot, occurring)

    return Kernel(init, step, log_joint)


def _heard_forms(tableaux: Tableaux, counts: np.ndarray) -> tuple[list[int], Forms]:
    """The parses of the forms heard, form by form, and the forms; impossible ones are left out."""
    _, form_of = overt_forms(tableaux)
    impossible = set(bounded_candidates(tableaux))
    share = np.ones(len(tableaux.outputs))
    for group in identical_candidates(tableaux):
        share[list(group)] = 1.0 / len(group)
    chosen: list[int] = []
    start, kept = [0], []
    for form in np.flatnonzero(counts):
        parses = [int(c) for c in np.flatnonzero(form_of == form) if int(c) not in impossible]
        if parses:
            chosen += parses
            start.append(len(chosen))
            kept.append(int(counts[form]))
    if not kept:
        raise InputError(
            None,
            None,
            "no ranking gives any of the overt forms that were heard",
            "Mend the violations, or add parses",
        )
    return chosen, Forms(np.array(kept, dtype=np.int64), np.array(start, dtype=np.int64), share[chosen])


def _log_prior(posterior: Posterior, mean: np.ndarray) -> float:
    """ln p(μ) up to a constant."""
    return -0.5 * float(np.sum(posterior.prior_precision * (mean - posterior.prior_mean) ** 2))


@kernel
def overt_moves(
    rng: np.random.Generator,
    posterior: Posterior,
    plan: Plan,
    grid: Grid,
    forms: Forms,
    state: tuple[np.ndarray, ...],
    moves: int,
) -> tuple[float, int]:
    """Try `moves` steps of the means, in place.

    Parameters
    ----------
    rng : numpy.random.Generator
    posterior : Posterior
        Its priors and bound, which is finite, and which constraints occur.
    plan : Plan
        Of the parses in the order of the forms.
    grid : Grid
        As for `collapsed_moves`.
    forms : Forms
    state : mean, deviation, values, factor
        As for `collapsed_moves`; values are not looked at.
    moves : int

    Returns
    -------
    float, int
        The log likelihood of what was heard, and the accepted steps.
    """
    mean, deviation, _, factor = state
    model, plan, grid = by_reference(posterior), by_reference(plan), by_reference(grid)
    forms = by_reference(forms)
    number, parses = len(mean), len(forms.share)
    tables = new_tables(number, len(grid.nodes), max(plan.most_states, 1))
    occurring = np.flatnonzero(model.occurs > 0)
    reference = occurring[0]
    place = mean.copy()  # As in `collapsed_moves`.
    if model.is_flat:
        place -= mean[reference]
    for i in occurring:
        tabulate_row(grid, place[i], deviation[i], tables.density[i], tables.below[i])
    probs = np.empty(parses)
    current = _log_likelihood(plan, grid, forms, tables, probs)
    step, before, accepted = np.zeros(number), np.empty(number), 0
    for _ in range(moves):
        draw_step(rng, occurring, factor, deviation[reference], step)
        if model.is_flat and step[reference] != 0.0:
            shared = step[reference]
            for i in occurring:
                step[i] -= shared
        before[:] = place
        log_prior_ratio = moved(model, occurring, step, place)
        if not is_allowed(model, place):
            place[:] = before
            continue
        tabulate_moved(grid, occurring, step, place, deviation, tables)
        likelihood = _log_likelihood(plan, grid, forms, tables, probs)
        log_ratio = log_prior_ratio + likelihood - current
        if log_ratio >= 0.0 or draws.bernoulli(rng, math.exp(log_ratio)):
            current = likelihood
            accepted += 1
        else:
            place[:] = before
            tabulate_back(occurring, step, tables)
    set_means(model, occurring, place, mean)
    for idle in range(number):
        if model.occurs[idle] == 0:
            draw_idle(rng, model, mean, idle)
    return current, accepted


@compiled
def _log_likelihood(plan, grid, forms, tables, probs):
    """ln of the probability of all that was heard; leaves those of the parses in `probs`."""
    room = tables.partial, tables.product, tables.integrand
    for d in range(len(probs)):
        probs[d] = ordering_prob(plan, grid, d, tables.density, tables.below, *room)
    log_likelihood = 0.0
    for form in range(len(forms.count)):
        total = 0.0
        for d in range(forms.start[form], forms.start[form + 1]):
            total += forms.share[d] * probs[d]
        log_likelihood += forms.count[form] * math.log(max(total, 1e-300))
    return log_likelihood
