"""The exact tier: every test here follows all random choices of plain Python kernels.

Run it by itself with `NUMBA_DISABLE_JIT=1 pytest tests/exact`.
"""

from __future__ import annotations

import pytest

from scfg_sampler.core import jit


@pytest.fixture(scope="session", autouse=True)
def plain_python() -> None:
    if jit.ENABLED:
        pytest.skip("needs NUMBA_DISABLE_JIT=1; test_exact_tier.py runs these in a child process")
