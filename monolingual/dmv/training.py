"""Training of dependency models: several starts and priors, legs of rounds, and when to stop.

One start with one prior is a *job*; the job with the best likelihood is kept. A job is one leg of rounds with
one objective or, if the E-step changes on the way, several. As in Cohen, Gimpel and Smith (2008), section 5,
a leg ends when the likelihood of held-out sentences under the point estimate falls, and the estimate before
is kept; without such sentences it ends when the objective rises no more.

All of that is one chain (`training_kernel`) whose step is a round, so that training leaves checkpoints and
goes on from them as samplers do.

The fact a newcomer would get wrong: likelihood is not accuracy. What has the best likelihood may parse worse
than what it started from.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from monolingual.dmv.estimation import STATES, Estimator, estimator, first_mixture, heldout_likelihood
from monolingual.dmv.layout import Corpus, Layout
from monolingual.dmv.settings import SHARPEST, Settings
from monolingual.dmv.smoothing import point as smoothed_point
from monolingual.priors.estimators import Progress
from scfg_sampler.core.chains.kernel import Kernel
from scfg_sampler.errors import SettingsError

__all__ = ["Job", "Outcome", "Task", "Training", "is_cut_short", "stored_type", "train", "training_kernel"]


class Task(NamedTuple):
    """What there is to learn from, and what is to be tried.

    Attributes
    ----------
    layout, corpus
    starts : tuple of callables
        Each makes the probabilities to start with out of a generator.
    settings : tuple of Settings
        All of them are tried from every start; they differ in the prior alone.
    heldout : callable or None
        From probabilities to the log likelihood of held-out sentences, by which training stops and jobs are
        compared; without it they are compared by that of the corpus.
    """

    layout: Layout
    corpus: Corpus
    starts: tuple[Callable[[np.random.Generator], np.ndarray], ...]
    settings: tuple[Settings, ...]
    heldout: Callable[[np.ndarray], float] | None = None


class Outcome(NamedTuple):
    """What a job came to.

    Attributes
    ----------
    probs : float64
        The point estimate.
    prior : tuple of float64
        The mean and the covariance of the logistic normal it belongs to; () for other methods.
    trace : float64
        The objective before each round.
    heldout : float64
        The log likelihood of held-out sentences, before the first round and after each.
    best : int
        After how many rounds the estimate was reached.
    """

    probs: np.ndarray
    prior: tuple[np.ndarray, ...]
    trace: np.ndarray
    heldout: np.ndarray
    best: int


class Leg(NamedTuple):
    """Rounds with one objective."""

    e_step: str
    unambiguity: float
    rounds: int
    is_judged: bool
    """Whether held-out likelihood ends it."""


class Notes(NamedTuple):
    """Where training is, but for the estimator.

    Attributes
    ----------
    job, leg : int
        Jobs done, and legs done of the one in hand.
    start : float64
        The probabilities that the job in hand began with.
    in_leg : Outcome
        Of the leg in hand; `best` counts its rounds. Its estimate is the best of the leg so far.
    before : Outcome
        Of the legs before it, as the job's outcome were it to end here; `best` counts the job's rounds.
    accepted : Outcome
        Of lateen EM: the last soft leg that has gained something; `best` counts the job's rounds, and
        `heldout` has the likelihood of its estimate alone.
    best : Outcome
        Of the best job so far.
    best_job : int
        Which one that is, −1 if there is none.
    best_score : float
    is_finished : bool
    """

    job: int
    leg: int
    start: np.ndarray
    in_leg: Outcome
    before: Outcome
    accepted: Outcome
    best: Outcome
    best_job: int
    best_score: float
    is_finished: bool


class Training(NamedTuple):
    """The state of a training."""

    notes: Notes
    learner: Any
    """The state of the leg's estimator."""


class Job(NamedTuple):
    """A job that has ended."""

    number: int
    """From 0: the start × the number of priors + the prior."""
    outcome: Outcome
    score: float


class Round(NamedTuple):
    """What a round reports."""

    log_joint: float
    """The objective."""
    progress: Progress
    heldout: float | None
    in_leg: int
    """How many rounds of the leg are done with it."""
    ended: Job | None
    """The job that ended with it."""


def stored_type(method: str) -> Any:
    """The type of a training's state with the estimator of a method, as a checkpoint needs it."""
    return NamedTuple("StoredTraining", [("notes", Notes), ("learner", STATES[method])])


_NOTHING = Outcome(np.zeros(0), (), np.zeros(0), np.zeros(0), 0)
_BEFORE_ALL = Notes(
    job=0,
    leg=0,
    start=_NOTHING.probs,
    in_leg=_NOTHING,
    before=_NOTHING,
    accepted=_NOTHING,
    best=_NOTHING,
    best_job=-1,
    best_score=-np.inf,
    is_finished=False,
)


Estimators = Callable[[int, Leg], Estimator]
"""From the number of a setting, and a leg, to its estimator."""


def training_kernel(task: Task) -> Kernel:
    """Training as a kernel; `init` ignores what it is given. It is done when `notes.is_finished`.

    Parameters
    ----------
    task : Task
    """
    # Scratch: the estimator of the leg in hand is made once.
    estimators = functools.lru_cache(maxsize=1)(functools.partial(_estimator_of, task))

    def init(rng: np.random.Generator, _: object = None) -> Training:
        return _begin_job(task, estimators, rng, _BEFORE_ALL)

    def log_joint(state: Training) -> float:
        number, leg = _in_hand(task, state.notes)
        return estimators(number, leg).kernel.log_joint(state.learner)

    return Kernel(init, functools.partial(_round, task, estimators), log_joint)


def _in_hand(task: Task, notes: Notes) -> tuple[int, Leg]:
    """The number of the settings of the job in hand, and its leg."""
    number = notes.job % len(task.settings)
    leg = _leg(task.settings[number], notes.leg, len(notes.before.trace))
    assert leg is not None
    return number, leg


def _begin_job(task: Task, estimators: Estimators, rng: np.random.Generator, notes: Notes) -> Training:
    start, which = divmod(notes.job, len(task.settings))
    probs = task.starts[start](rng) if which == 0 else notes.start
    before = _NOTHING._replace(probs=probs)
    return _begin_leg(
        task, estimators, rng, notes._replace(leg=0, start=probs, before=before, accepted=_NOTHING)
    )


def _begin_leg(task: Task, estimators: Estimators, rng: np.random.Generator, notes: Notes) -> Training:
    number, leg = _in_hand(task, notes)
    probs = notes.before.probs
    learner = estimators(number, leg).kernel.init(rng, probs)
    if task.settings[number].smooth is not None:
        probs = smoothed_point(task.layout, first_mixture(task.layout, probs, task.settings[number]))
    scores = [task.heldout(probs)] if task.heldout and leg.is_judged else []
    empty = Outcome(probs, _prior_of(learner), np.zeros(0), np.array(scores, np.float64), 0)
    return Training(notes._replace(in_leg=empty), learner)


def _round(
    task: Task, estimators: Estimators, rng: np.random.Generator, state: Training
) -> tuple[Training, Round]:
    number, leg = _in_hand(task, state.notes)
    settings, found = task.settings[number], estimators(number, leg)
    learner, progress = found.kernel.step(rng, state.learner)
    if not np.isfinite(progress.log_joint):
        raise SettingsError(f"the objective is {progress.log_joint}: a sentence has no tree at the start")
    probs = found.point(learner)
    score = task.heldout(probs) if task.heldout and leg.is_judged else None
    now, ends = _judged(state.notes.in_leg, settings, leg, progress.log_joint, score)
    if now.best == len(now.trace):
        now = now._replace(probs=probs, prior=_prior_of(learner))
    notes, job = state.notes._replace(in_leg=now), None
    if not ends:
        state = Training(notes, learner)
    else:
        notes, job = _after_leg(task, settings, leg, notes)
        if job is None:
            state = _begin_leg(task, estimators, rng, notes)
        else:
            state = _after_job(task, estimators, rng, Training(_with_job(notes, job), learner))
    return state, Round(progress.log_joint, progress, score, len(now.trace), job)


def _after_job(task: Task, estimators: Estimators, rng: np.random.Generator, state: Training) -> Training:
    notes = state.notes._replace(job=state.notes.job + 1)
    if notes.job == len(task.starts) * len(task.settings):
        return state._replace(notes=notes._replace(is_finished=True))
    return _begin_job(task, estimators, rng, notes)


def _estimator_of(task: Task, number: int, leg: Leg) -> Estimator:
    settings = task.settings[number]._replace(unambiguity=leg.unambiguity, rounds=leg.rounds)
    return estimator(task.layout, task.corpus, settings, e_step=leg.e_step)


def _prior_of(learner: Any) -> tuple[np.ndarray, ...]:
    return (learner.mean, learner.covariance) if hasattr(learner, "covariance") else ()


def _judged(
    before: Outcome, settings: Settings, leg: Leg, objective: float, score: float | None
) -> tuple[Outcome, bool]:
    """The leg with one round more, counted in `best` if it is worth keeping; and whether the leg ends."""
    trace = np.append(before.trace, objective)
    is_last = len(trace) == leg.rounds
    if score is not None:
        scores = np.append(before.heldout, score)
        falls = settings.method != "gibbs" and scores[-1] < scores[-2]
        best = before.best if falls else len(trace)
        return before._replace(trace=trace, heldout=scores, best=best), bool(falls or is_last)
    stands = settings.method != "gibbs" and _stands(settings, trace)
    return before._replace(trace=trace, best=len(trace)), bool(stands or is_last)


def _stands(settings: Settings, trace: np.ndarray) -> bool:
    """Whether the objective has risen no more in the last round."""
    return len(trace) > 1 and bool(trace[-1] - trace[-2] <= settings.tolerance * abs(trace[-2]))


def is_cut_short(outcome: Outcome, settings: Settings) -> bool:
    """Whether a job ended because its rounds were over, where something else ends it: gibbs has only rounds.

    Parameters
    ----------
    outcome : Outcome
    settings : Settings
        The prior does not matter.
    """
    if settings.method == "gibbs" or len(outcome.trace) < settings.rounds:
        return False
    if settings.e_step == "lateen":
        return True
    has_fallen = len(outcome.heldout) > 0 and outcome.best < len(outcome.trace)
    return not has_fallen and not _stands(settings, outcome.trace)


def _leg(settings: Settings, number: int, rounds_done: int) -> Leg | None:
    """A leg of a job; None if there are no more whatever has come of those before.

    Lateen EM (Spitkovsky, Alshawi and Jurafsky 2011) begins with soft EM; then each of two objectives starts
    where the other one ends, until a pair of legs gains nothing. An annealed σ has a leg for each of its
    rounds, which held-out likelihood does not end, since the objective changes with σ, and one that stays.
    """
    if settings.anneal is not None:
        first, duration = settings.anneal
        if not 0.0 <= first <= 1.0 or not 0 < duration < settings.rounds:
            raise SettingsError(
                f"--anneal is {first:g}:{duration}; σ must be in [0, 1], and --rounds more than those it "
                "falls in"
            )
        if number == duration:
            return Leg("soft", settings.unambiguity, settings.rounds - duration, True)
        if number > duration:
            return None
        sigma = first + (settings.unambiguity - first) * number / duration
        return Leg("soft" if sigma <= SHARPEST else "viterbi", min(sigma, SHARPEST), 1, False)
    if number == 0:
        return Leg(settings.e_step, settings.unambiguity, settings.rounds, True)
    if settings.e_step != "lateen":
        return None
    left = max(settings.rounds - rounds_done, 1)
    return Leg("viterbi" if number % 2 else "soft", settings.unambiguity, left, True)


def _after_leg(task: Task, settings: Settings, leg: Leg, notes: Notes) -> tuple[Notes, Job | None]:
    """The notes before the next leg of the job, and the job if it has ended."""
    before, now = notes.before, notes.in_leg
    if not leg.is_judged:
        scores = [task.heldout(now.probs)] if task.heldout else []
    else:
        # Each leg of lateen EM begins with the estimate of the one before, whose score is there already.
        scores = now.heldout[1 if settings.e_step == "lateen" and notes.leg > 0 else 0 :].tolist()
    so_far = Outcome(
        now.probs,
        now.prior,
        np.append(before.trace, now.trace),
        np.append(before.heldout, scores),
        len(before.trace) + now.best,
    )
    accepted, ends = notes.accepted, _leg(settings, notes.leg + 1, len(so_far.trace)) is None
    if settings.e_step == "lateen":
        is_pair = notes.leg % 2 == 0
        gains = notes.leg == 0 or _gains(settings, accepted.trace[-1], now.trace[-1])
        if is_pair and gains:
            accepted = now._replace(best=so_far.best, heldout=now.heldout[now.best :][:1])
        # A leg that comes last by the rounds may be half of a pair: then it was for nothing.
        ends = (is_pair and not gains) or len(so_far.trace) >= settings.rounds
    if not ends:
        return notes._replace(leg=notes.leg + 1, before=so_far, accepted=accepted), None
    outcome = so_far
    if settings.e_step == "lateen":
        outcome = so_far._replace(probs=accepted.probs, prior=accepted.prior, best=accepted.best)
    if task.heldout and settings.e_step == "lateen":
        score = float(accepted.heldout[-1])
    elif task.heldout:
        score = float(outcome.heldout[outcome.best])
    else:
        score = heldout_likelihood(task.layout, task.corpus, outcome.probs)
    return notes, Job(notes.job, outcome, score)


def _gains(settings: Settings, before: float, now: float) -> bool:
    return bool(now > before + settings.tolerance * abs(before))


def _with_job(notes: Notes, job: Job) -> Notes:
    """The notes with a job that has ended, if it is the best."""
    if notes.best_job >= 0 and not job.score > notes.best_score:
        return notes
    return notes._replace(best=job.outcome, best_job=job.number, best_score=job.score)


def train(
    rng: np.random.Generator,
    task: Task,
    *,
    watch: Callable[[Round], None] = lambda found: None,
) -> Outcome:
    """The outcome of the best job, trained at one go.

    Parameters
    ----------
    rng : numpy Generator
    task : Task
    watch : callable
        Told of every round.
    """
    kernel = training_kernel(task)
    state = kernel.init(rng, None)
    while not state.notes.is_finished:
        state, found = kernel.step(rng, state)
        watch(found)
    return state.notes.best
