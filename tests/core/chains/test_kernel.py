"""The kernel protocol: composition and copies."""

from __future__ import annotations

import numpy as np
import pytest

from scfg_sampler.core.chains.kernel import Kernel, copy_state, cycle
from tests.core.chains.toy_chain import TOY, ToyInfo, as_bytes, toy_state


def test_cycle_steps_each_kernel_in_turn_on_one_state():
    def adder(amount):
        def step(rng, state):
            return [*state, amount], ToyInfo(float(amount), amount)

        return Kernel(lambda rng, data: [data], step, lambda state: float(state[-1]))

    both = cycle(adder(1), adder(2))
    state, info = both.step(None, both.init(None, 0))
    assert state == [0, 1, 2]
    assert info.log_joint == 2.0 == both.log_joint(state)
    assert [part.moved for part in info.parts] == [1, 2]


def test_cycle_of_one_kernel_is_that_kernel():
    alone, _ = TOY.step(np.random.default_rng(3), toy_state())
    cycled, _ = cycle(TOY).step(np.random.default_rng(3), toy_state())
    assert as_bytes(alone) == as_bytes(cycled)


def test_cycle_of_nothing_is_refused():
    with pytest.raises(TypeError, match="at least one kernel"):
        cycle()


def test_copy_survives_later_steps(rng):
    state = toy_state()
    kept = copy_state(state)
    before = as_bytes(state)
    TOY.step(rng, state)
    assert as_bytes(kept) == before != as_bytes(state)
    assert type(kept) is type(state)
    assert type(kept.walkers) is type(state.walkers)
    assert isinstance(kept.groups, tuple)
