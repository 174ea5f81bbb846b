"""A small kernel with a nested state, changed in place: the subject of the driver's tests."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.core import draws
from scfg_sampler.core.chains.kernel import Kernel


class Walkers(NamedTuple):
    position: np.ndarray
    moves: np.ndarray


class ToyState(NamedTuple):
    walkers: Walkers
    groups: tuple[Walkers, ...]
    sweep: int
    scale: float


class ToyInfo(NamedTuple):
    log_joint: float
    moved: int


def toy_init(rng: np.random.Generator, data: np.ndarray) -> ToyState:
    group = Walkers(np.zeros(2), np.zeros(2, dtype=np.int32))
    return ToyState(
        Walkers(data.astype(np.float64), np.zeros(len(data), dtype=np.int64)), (group, group), 0, 0.5
    )


def toy_log_joint(state: ToyState) -> float:
    return -0.5 * float(np.sum(state.walkers.position**2))


def toy_step(rng: np.random.Generator, state: ToyState) -> tuple[ToyState, ToyInfo]:
    """Metropolis moves of walkers towards a standard normal, in place."""
    position, moves = state.walkers
    moved = 0
    for i in range(len(position)):
        proposal = position[i] + state.scale * (2.0 * rng.random() - 1.0)
        accept = min(1.0, np.exp(0.5 * (position[i] ** 2 - proposal**2)))
        if draws.bernoulli(rng, accept):
            position[i] = proposal
            moves[i] += 1
            moved += 1
    state = state._replace(sweep=state.sweep + 1)
    return state, ToyInfo(toy_log_joint(state), moved)


TOY = Kernel(toy_init, toy_step, toy_log_joint)


def toy_state() -> ToyState:
    return toy_init(np.random.default_rng(0), np.arange(5) - 2.0)


def as_bytes(state: ToyState) -> list[bytes]:
    return [
        state.walkers.position.tobytes(),
        state.walkers.moves.tobytes(),
        *(part.tobytes() for group in state.groups for part in group),
        repr((state.sweep, state.scale)).encode(),
    ]
