"""The exact tier: every test here follows all random choices of kernels.

Run it by itself with `NUMBA_DISABLE_JIT=1 pytest tests/exact`, kernels as plain Python. Tests that replace
nothing in kernels can follow compiled ones, too, `pytest tests/exact --exact compiled`: a path then takes a
tenth of the time.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Iterator

import numpy as np
import pytest

from monolingual.tsg import blocks
from monolingual.tsg.cache import fill_trie
from scfg_sampler.core import elementary, jit
from scfg_sampler.core.fragments import (
    cuts,
    rejection,
    restaurant,
    sampler,
    tree,
    type_moves,
    type_numbers,
)
from scfg_sampler.forest import attachments, typed_moves
from tests.oracles import followed, resumed

LONG_CALLS = (
    tree.open_sentence,
    tree.decode,
    tree.encode,
    tree.encode_over,
    sampler.find_rules,
    sampler.resample_edge,
    cuts.resample_cut,
    attachments.resample_attached_edge,
    attachments.resample_attached_cut,
    typed_moves.resample_typed_cut,
    rejection.resample_tree,
    rejection._propose,
    rejection._propose_edge,
    rejection._propose_cut,
    rejection.settle_tree,
    type_moves.scan_sites,
    type_moves._load_class,
    type_moves._resample_class,
    type_numbers.resample_number,
    blocks.resample_block,
    blocks._sum_up,
    blocks._draw_down,
    fill_trie,
)
"""What a path need not do again that another one has done: they change nothing but arrays they are given."""


@pytest.fixture(scope="session", autouse=True)
def kernels_that_can_be_followed() -> None:
    if jit.ENABLED and not followed.are_replaced():
        pytest.skip("needs NUMBA_DISABLE_JIT=1; test_exact_tier.py runs these in a child process")


@pytest.fixture
def plain_kernels() -> None:
    """Of tests that give kernels what no compiled one takes, as generators of their own are."""


@pytest.fixture(scope="session", autouse=True)
def small_tables() -> Iterator[None]:
    """Restaurants for a few dishes: plain Python goes through every slot after each path of a sweep."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(restaurant.new_restaurants.__kwdefaults__, "capacity", 1 << 8)
        patch.setattr(restaurant, "_ESTIMATES", 1 << 6)
        patch.setattr(blocks.new_block_scratch, "__defaults__", (1 << 8,))
        yield


@pytest.fixture(scope="session", autouse=True)
def nothing_computed_twice() -> Iterator[None]:
    """Plain Python goes on where paths part, and remembers logarithms and their like."""
    if jit.ENABLED:
        yield
        return
    # Nothing that is there now will go: it need not be looked through for garbage.
    gc.collect()
    gc.freeze()
    with pytest.MonkeyPatch.context() as patch, np.errstate(over="ignore"):
        for place in resumed.places(LONG_CALLS, ("scfg_sampler", "monolingual")):
            patch.setattr(*place)
        for name in ("exp", "log", "log1p", "log_gamma", "power"):
            remembered = functools.lru_cache(1 << 16, typed=True)(getattr(elementary, name))
            patch.setattr(elementary, name, remembered)
        yield
