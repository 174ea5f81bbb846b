"""The distribution of a random step, exactly: every choice it could make, followed in turn.

A step makes its random choices through the functions of `scfg_sampler.core.draws`. Here those functions are
replaced by ones that do not draw but follow a script: the first run takes the first possible outcome of
every choice; the next run repeats all choices but the last, which takes its next outcome; and so on, depth
first, until every path has been walked. The probability of a path is the product of those of its choices.

Two things to know. The step is run from its beginning for every path, so it must build its own state and
must not depend on earlier runs; of what it calls, functions that are `resumed` go on from what they made of
the same choices on the path before, and the last path is walked once more without. And compiled kernels do
not see the replacement: kernels have to be plain Python (`NUMBA_DISABLE_JIT=1`, the tests under
`tests/exact`), or compiled after `followed.replace_draws`, by which they follow a script of another form,
many times as fast (`pytest tests/exact --exact compiled`).

For example, with

    def step():
        return draws.bernoulli(GENERATOR, 0.25) and draws.bernoulli(GENERATOR, 0.5)

`distribution(step)` is {False: 0.875, True: 0.125}: three paths, of which two end alike.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from scfg_sampler.core import draws, jit
from tests.oracles import followed
from tests.oracles.resumed import Calls, resume

__all__ = ["GENERATOR", "distribution", "outcomes", "transition_matrix"]

State = TypeVar("State", bound=Hashable)


class _NoGenerator:
    """Stands where a generator is expected; using it directly is an error."""

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        raise AssertionError(f"a step drew from its generator (.{name}) instead of through core.draws")


GENERATOR: Any = followed.new_script() if jit.ENABLED else _NoGenerator()
"""What to pass as `rng` to a step that is enumerated: it proves that every choice goes through `draws`."""


def outcomes(step: Callable[[], Any], *, max_paths: int = 1_000_000) -> Iterator[tuple[float, Any]]:
    """Every path of a step: its probability and what the step returned on it.

    Parameters
    ----------
    step : callable without arguments
        Called once for each path; must start from the same state every time.
    max_paths : int
        A guard against steps with too many paths.

    Raises
    ------
    AssertionError
        The step is not repeatable, draws behind the back of `draws`, or asks for an impossible choice.
    RuntimeError
        There are more than `max_paths` paths, or kernels are compiled that follow no script.
    """
    if jit.ENABLED:
        yield from _compiled_outcomes(step, max_paths)
        return
    script, calls = _Script(), Calls()
    for _ in range(max_paths):
        script.rewind()
        calls.rewind()
        with _replaced_draws(script.choose), resume(script, calls):
            result = step()
        yield script.prob(), result
        if script.is_last():
            if calls.are_used:
                _walk_again(script, step, result)
            return
        calls.forget(script.advance())
    raise RuntimeError(f"the step has more than {max_paths} paths")


def _compiled_outcomes(step: Callable[[], Any], max_paths: int) -> Iterator[tuple[float, Any]]:
    if not followed.are_replaced():
        raise RuntimeError("compiled kernels do not follow: NUMBA_DISABLE_JIT=1, or pytest --exact compiled")
    script: followed.Script = GENERATOR
    script.counters[:] = 0
    for _ in range(max_paths):
        script.counters[1:] = 0
        result = step()
        known, made, problem = script.counters.tolist()
        assert problem == 0, followed.PROBLEMS[problem]
        assert known == made, "the step is not repeatable: a choice has vanished"
        yield float(np.prod(script.probs[np.arange(made), script.taken[:made]])), result
        if not followed.advance(script):
            return
    raise RuntimeError(f"the step has more than {max_paths} paths")


def _walk_again(script: _Script, step: Callable[[], Any], result: Any) -> None:
    """Walk the last path from its beginning: it must come out as when it went on from others."""
    script.rewind()
    with _replaced_draws(script.choose):
        again = step()
    script.prob()
    try:
        hash(result)
    except TypeError:
        return  # Arrays, which are neither equal nor different.
    assert again == result, "the step is not repeatable: it ends otherwise"


def distribution(step: Callable[[], State], *, max_paths: int = 1_000_000) -> dict[State, float]:
    """The probability of each result of a step; results have to be hashable."""
    total: dict[State, float] = {}
    for prob, result in outcomes(step, max_paths=max_paths):
        total[result] = total.get(result, 0.0) + prob
    return total


def transition_matrix(
    states: Sequence[State], step_from: Callable[[State], Callable[[], State]]
) -> np.ndarray:
    """The matrix T with T[i, j] = probability that a step from states[i] ends in states[j].

    Parameters
    ----------
    states : sequence of hashable values, all different
    step_from : callable
        `step_from(state)` is the step to enumerate: it takes no arguments and returns the next state.

    Returns
    -------
    float64, shape (len(states), len(states)); every row sums to 1.

    Raises
    ------
    AssertionError
        A step leaves `states`.
    """
    row_of = {state: row for row, state in enumerate(states)}
    assert len(row_of) == len(states), "the states are not all different"
    matrix = np.zeros((len(states), len(states)))
    for row, state in enumerate(states):
        for result, prob in distribution(step_from(state)).items():
            assert result in row_of, f"the step from {state!r} ends in {result!r}, which is not a state"
            matrix[row, row_of[result]] += prob
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0, atol=1e-12)
    return matrix


class _Script:
    """The choices of the current path, each with its possible outcomes and which of them is taken."""

    def __init__(self) -> None:
        self._choices: list[list[tuple[int, float]]] = []
        self._taken: list[int] = []
        self.made = 0

    def rewind(self) -> None:
        self.made = 0

    def choose(self, probs: Sequence[float]) -> int:
        options = [(outcome, prob) for outcome, prob in enumerate(probs) if prob > 0.0]
        if self.made == len(self._choices):
            self._choices.append(options)
            self._taken.append(0)
        assert self._choices[self.made] == options, "the step is not repeatable: a choice has changed"
        outcome = options[self._taken[self.made]][0]
        self.made += 1
        return outcome

    def prob(self) -> float:
        assert self.made == len(self._choices), "the step is not repeatable: a choice has vanished"
        return math.prod(options[taken][1] for options, taken in zip(self._choices, self._taken, strict=True))

    def is_last(self) -> bool:
        """Whether there is no path after this one."""
        return all(
            taken + 1 == len(options) for options, taken in zip(self._choices, self._taken, strict=True)
        )

    def advance(self) -> int:
        """Move on to the next path; the number of the choice by which it is another."""
        while self._taken[-1] + 1 == len(self._choices[-1]):
            self._choices.pop()
            self._taken.pop()
        self._taken[-1] += 1
        return len(self._taken) - 1


@contextlib.contextmanager
def _replaced_draws(choose: Callable[[Sequence[float]], int]) -> Iterator[None]:
    """Within the block, `draws` asks `choose(probabilities)` for the index of an outcome."""

    def uniform_index(rng, size: int) -> int:
        assert size >= 1, f"uniform_index of {size} values"
        return choose([1.0 / size] * size)

    def bernoulli(rng, prob: float) -> bool:
        assert -1e-12 <= prob <= 1.0 + 1e-12, f"bernoulli({prob})"
        prob = min(max(float(prob), 0.0), 1.0)
        return choose([1.0 - prob, prob]) == 1

    def categorical(rng, weights: np.ndarray, size: int) -> int:
        plain = [float(weights[i]) for i in range(size)]
        total = sum(plain)
        assert all(weight >= 0.0 for weight in plain), f"categorical with weights {plain}"
        assert 0.0 < total < math.inf, f"categorical with weights {plain}"
        return choose([weight / total for weight in plain])

    def log_categorical(rng, log_weights: np.ndarray, size: int) -> int:
        # The argument is overwritten as the original does, so that a step that relies on it shows.
        top = max(float(log_weights[i]) for i in range(size))
        assert math.isfinite(top), f"log_categorical with log weights {list(log_weights[:size])}"
        for i in range(size):
            log_weights[i] = math.exp(log_weights[i] - top)
        return categorical(rng, log_weights, size)

    replacements = {
        "uniform_index": uniform_index,
        "bernoulli": bernoulli,
        "categorical": categorical,
        "log_categorical": log_categorical,
    }
    originals = {name: getattr(draws, name) for name in replacements}
    for name, replacement in replacements.items():
        setattr(draws, name, replacement)
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(draws, name, original)
