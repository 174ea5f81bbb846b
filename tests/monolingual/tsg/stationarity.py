"""How far one sweep of a chain is from leaving a distribution unchanged, by enumeration."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

from monolingual.tsg.sampler import TsgState
from scfg_sampler.core.chains.kernel import copy_state
from tests.monolingual.tsg.treebanks import Chain
from tests.oracles.choices import GENERATOR, transition_matrix

__all__ = ["sweep_departure"]


def sweep_departure(
    target: Mapping[Any, float],
    chain: Chain,
    start_at: Callable[[Chain, Any, Any], TsgState],
    read: Callable[[Chain, TsgState], Hashable],
) -> float:
    """The largest entry of |πT − π| for one sweep, π being `target`, which need not sum to 1.

    `start_at(chain, key, rng)` is the state that a key of `target` names, `read(chain, state)` its key.
    """

    def move_from(key):
        start = start_at(chain, key, GENERATOR)

        def step():
            state, _ = chain.kernel.step(GENERATOR, copy_state(start))
            return read(chain, state)

        return step

    probs = np.array(list(target.values()))
    probs /= probs.sum()
    return float(np.abs(probs @ transition_matrix(list(target), move_from) - probs).max())
