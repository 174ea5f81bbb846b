"""Choices that compiled kernels follow: what `choices` replaces draws by where kernels are compiled.

A `Script` takes the place of the generator. It is arrays alone, so that kernels can be given it, and the
functions of `core.draws` are replaced, before any kernel is compiled, by ones that ask it for what to take
and note what could have been. They never fail: what is wrong with a choice is a number, for whoever called
the kernel to complain about.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from scfg_sampler.core import draws, jit

__all__ = [
    "LONGEST",
    "PROBLEMS",
    "WIDEST",
    "Script",
    "advance",
    "are_replaced",
    "new_script",
    "replace_draws",
]

LONGEST, WIDEST = 256, 64
"""How many choices a path may have, and one of them outcomes."""

PROBLEMS = (
    "",
    "the step is not repeatable: a choice has changed",
    "a choice among weights that are negative, infinite or not numbers, or none of which is positive",
    f"a path of more than {LONGEST} choices, or one among more than {WIDEST} outcomes",
)
_EXACT = Path(__file__).parents[1] / "exact" / "conftest.py"  # Sets constants of kernels.
_CHANGED, _IMPOSSIBLE, _TOO_MANY = 1, 2, 3


class Script(NamedTuple):
    """The choices of a path."""

    taken: np.ndarray
    """int64, shape (LONGEST,): the outcome of each choice."""
    num_outcomes: np.ndarray
    """int64, shape (LONGEST,)."""
    probs: np.ndarray
    """float64, shape (LONGEST, WIDEST): those of the outcomes of each choice."""
    scratch: np.ndarray
    """float64, shape (WIDEST,): the weights of a choice."""
    counters: np.ndarray
    """int64, shape (3,): choices that are known, choices made on this path, and one of `PROBLEMS`."""


def new_script() -> Script:
    """A script without choices."""
    return Script(
        np.zeros(LONGEST, np.int64),
        np.zeros(LONGEST, np.int64),
        np.zeros((LONGEST, WIDEST)),
        np.zeros(WIDEST),
        np.zeros(3, np.int64),
    )


def replace_draws() -> None:
    """Let kernels of this process, none of which may have been used, follow scripts that they are given.

    What is compiled is cached in a directory of its own: that of other kernels goes by their sources, which
    do not say that draws are replaced, nor how.
    """
    says = hashlib.sha256(Path(__file__).read_bytes() + _EXACT.read_bytes()).hexdigest()[:12]
    os.environ["SCFG_SAMPLER_CACHE"] = str(jit.cache_directory(draws.__name__).parent / f"followed-{says}")
    for name, follow in _FOLLOWING.items():
        original: Any = getattr(draws, name)
        dispatch = jit.by_type(follow)
        dispatch.register(Script)(follow)
        dispatch.otherwise(original.py_func)
        setattr(draws, name, dispatch)


def are_replaced() -> bool:
    """Whether kernels follow scripts."""
    return hasattr(draws.bernoulli, "register")


def advance(script: Script) -> bool:
    """Have the next path taken: the last choice with outcomes left takes the next. False if there is none."""
    for at in range(int(script.counters[1]) - 1, -1, -1):
        taken = int(script.taken[at])
        more = np.flatnonzero(script.probs[at, taken + 1 : script.num_outcomes[at]] > 0.0)
        if len(more):
            script.taken[at] = taken + 1 + more[0]
            script.counters[0] = at + 1
            return True
    return False


@jit.borrowing
def _take(script, weights, size, total):
    """The next outcome of a choice with these weights."""
    counters = script.counters
    at = counters[1]
    if size > WIDEST or at >= LONGEST:
        counters[2] = _TOO_MANY
        return 0
    if not 0.0 < total < np.inf:
        counters[2] = _IMPOSSIBLE
        return 0
    counters[1] += 1
    is_new = at == counters[0]
    if is_new:
        counters[0] += 1
        script.num_outcomes[at] = size
        script.taken[at] = -1
    elif script.num_outcomes[at] != size:
        counters[2] = _CHANGED
        return 0
    for outcome in range(size):
        prob = weights[outcome] / total
        if is_new:
            script.probs[at, outcome] = prob
            if prob > 0.0 and script.taken[at] < 0:
                script.taken[at] = outcome
        elif script.probs[at, outcome] != prob:
            counters[2] = _CHANGED
        if not weights[outcome] >= 0.0:
            counters[2] = _IMPOSSIBLE
    return script.taken[at]


def _uniform_index(rng, size):
    for i in range(min(size, WIDEST)):
        rng.scratch[i] = 1.0
    return _take(rng, rng.scratch, size, float(size))


def _bernoulli(rng, prob):
    if not -1e-12 <= prob <= 1.0 + 1e-12:
        rng.counters[2] = _IMPOSSIBLE
    rng.scratch[1] = min(max(prob, 0.0), 1.0)
    rng.scratch[0] = 1.0 - rng.scratch[1]
    return _take(rng, rng.scratch, 2, 1.0) == 1


def _categorical(rng, weights, size):
    total = 0.0
    for i in range(size):
        total += weights[i]
    return _take(rng, weights, size, total)


def _log_categorical(rng, log_weights, size):
    # The argument is overwritten as the original does, so that a step that relies on it shows.
    top = log_weights[0]
    for i in range(1, size):
        top = max(top, log_weights[i])
    total = 0.0
    for i in range(size):
        log_weights[i] = np.exp(log_weights[i] - top)
        total += log_weights[i]
    return _take(rng, log_weights, size, total)


_FOLLOWING = {
    "uniform_index": _uniform_index,
    "bernoulli": _bernoulli,
    "categorical": _categorical,
    "log_categorical": _log_categorical,
}
