"""The exact tier: every test here follows all random choices of kernels.

Run it by itself with `NUMBA_DISABLE_JIT=1 pytest tests/exact`, kernels as plain Python. Tests that replace
nothing in kernels can follow compiled ones, too, `pytest tests/exact --exact compiled`: a path then takes a
tenth of the time.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from scfg_sampler.core import jit
from scfg_sampler.core.fragments import restaurant
from tests.oracles import followed


@pytest.fixture(scope="session", autouse=True)
def kernels_that_can_be_followed() -> None:
    if jit.ENABLED and not followed.are_replaced():
        pytest.skip("needs NUMBA_DISABLE_JIT=1; test_exact_tier.py runs these in a child process")


@pytest.fixture(scope="session", autouse=True)
def small_tables() -> Iterator[None]:
    """Restaurants for a few dishes: plain Python goes through every slot after each path of a sweep."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(restaurant.new_restaurants.__kwdefaults__, "capacity", 1 << 8)
        patch.setattr(restaurant, "_ESTIMATES", 1 << 6)
        yield
