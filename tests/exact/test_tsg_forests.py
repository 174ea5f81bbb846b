"""πT = π for the TSG sampler on sentences with several trees, by enumeration of all random choices."""

from __future__ import annotations

import itertools

import pytest

from scfg_sampler.core.fragments import sampler as fragment_sampler
from tests.monolingual.tsg.forests import (
    FORESTS,
    codes_of,
    forest_chain,
    forest_posterior,
    start_forest,
)
from tests.monolingual.tsg.stationarity import sweep_departure

BASES = ("uniform", "pcfg")


def _cases():
    for name, base in itertools.product(FORESTS, BASES):
        many_states = name in ("a list, and a tree", "recombined", "three words")
        yield pytest.param(name, base, marks=[pytest.mark.slow] if many_states else [])


def departure(name: str, base: str, **settings) -> float:
    """The largest entry of |πT − π| for one sweep."""
    chain = forest_chain(name, base=base, **settings)
    return sweep_departure(forest_posterior(name, base), chain, start_forest, codes_of)


@pytest.mark.parametrize(("name", "base"), list(_cases()))
def test_edges_and_cuts_leave_posterior_invariant(name, base):
    assert departure(name, base, order="top-down") < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("base", BASES)
def test_edges_and_cuts_in_random_order_leave_posterior_invariant(base):
    assert departure("a list of two", base, order="random") < 1e-12


@pytest.mark.parametrize(("name", "base"), list(_cases()))
def test_type_moves_leave_posterior_invariant(name, base):
    assert departure(name, base, order="top-down", moves=("type",)) < 1e-12


@pytest.mark.parametrize(("name", "base"), list(_cases()))
def test_block_moves_leave_posterior_invariant(name, base):
    assert departure(name, base, order="top-down", moves=("block",)) < 1e-12


def test_leaving_the_density_factor_out_is_noticed(monkeypatch):
    """Trees of the same sentence differ in their numbers of nodes, so in those of cuts."""
    monkeypatch.setattr(fragment_sampler, "log_density", lambda *_: 0.0)
    assert departure("a list of two", "pcfg", order="top-down") > 1e-4
