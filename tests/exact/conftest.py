"""The exact tier: every test here follows all random choices of plain Python kernels.

Run it by itself with `NUMBA_DISABLE_JIT=1 pytest tests/exact`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from scfg_sampler.core import jit
from scfg_sampler.core.fragments import restaurant


@pytest.fixture(scope="session", autouse=True)
def plain_python() -> None:
    if jit.ENABLED:
        pytest.skip("needs NUMBA_DISABLE_JIT=1; test_exact_tier.py runs these in a child process")


@pytest.fixture(scope="session", autouse=True)
def small_tables() -> Iterator[None]:
    """Restaurants for a few dishes: plain Python goes through every slot after each path of a sweep."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(restaurant.new_restaurants.__kwdefaults__, "capacity", 1 << 8)
        patch.setattr(restaurant, "_ESTIMATES", 1 << 6)
        yield
