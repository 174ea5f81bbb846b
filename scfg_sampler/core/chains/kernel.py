"""The kernel: one way to move a chain, and the composition of such ways.

A kernel K leaves a distribution π invariant: if the state is distributed as π, so is the state after `step`,
πK = π. If K₁ and K₂ both do, so does K₁K₂, their composition (`cycle`). Learners that optimise instead of
sampling fit as well: they ignore the generator and report their bound as the log joint.

The fact a newcomer would get wrong: `step` **owns** the state it is given. It may change arrays in place and
returns the state to use next, so always rebind (`state, info = kernel.step(rng, state)`), and keep a sample
with `copy_state`. This is what lets a state of a hundred megabytes move fast while the calling code still
reads as state → state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

__all__ = ["CycleInfo", "Kernel", "copy_state", "cycle"]

State = TypeVar("State")


class Kernel(NamedTuple):
    """Three functions that make a chain.

    Attributes
    ----------
    init : callable (rng, data) -> state
        The first state.
    step : callable (rng, state) -> (state, info)
        One sweep. Owns the state it is given. `info` has the attribute `log_joint`, kept incrementally,
        and whatever else a reader of the trace may want.
    log_joint : callable (state) -> float
        The natural logarithm of the joint probability of data and state, up to a constant, from scratch:
        the reference for the incremental value, which must agree to a relative 1e-10.
    """

    init: Callable[[np.random.Generator, Any], Any]
    step: Callable[[np.random.Generator, Any], tuple[Any, Any]]
    log_joint: Callable[[Any], float]


class CycleInfo(NamedTuple):
    """What a cycle of kernels reports.

    Attributes
    ----------
    log_joint : float
        That of the last kernel, hence of the state the cycle returns.
    parts : tuple
        What each kernel reported, in turn.
    """

    log_joint: float
    parts: tuple


def cycle(*kernels: Kernel) -> Kernel:
    """The kernel that takes one step with each of the given ones, in turn.

    All work on the same state and have the same log joint; the first one makes the first state.

    Parameters
    ----------
    *kernels : Kernel
        At least one.

    Returns
    -------
    Kernel whose info is a `CycleInfo`.
    """
    if not kernels:
        raise TypeError("a cycle needs at least one kernel")

    def step(rng: np.random.Generator, state: Any) -> tuple[Any, CycleInfo]:
        parts = []
        for kernel in kernels:
            state, info = kernel.step(rng, state)
            parts.append(info)
        return state, CycleInfo(parts[-1].log_joint, tuple(parts))

    return Kernel(kernels[0].init, step, kernels[-1].log_joint)


def copy_state(state: State) -> State:
    """The state with arrays of its own, which later steps do not change.

    Copies arrays inside NamedTuples and tuples, however nested; everything else is immutable and shared.

    >>> class Counts(NamedTuple):
    ...     customers: np.ndarray
    >>> state = Counts(np.zeros(2))
    >>> kept = copy_state(state)
    >>> state.customers[0] = 7
    >>> kept.customers
    array([0., 0.])
    """
    if isinstance(state, np.ndarray):
        return state.copy()
    if isinstance(state, tuple):
        fields = [copy_state(field) for field in state]
        return type(state)(*fields) if hasattr(state, "_fields") else type(state)(fields)
    return state
