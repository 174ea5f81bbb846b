"""Hasse diagrams: which constraints are joined by a line."""

from __future__ import annotations

import numpy as np
import pytest

from monolingual.ot.plots import cover_edges


def outranking(size: int, **pairs: float) -> np.ndarray:
    """Probabilities of being above, ½ where nothing is said; `ab` is that of constraint 0 above 1."""
    found = np.full((size, size), 0.5)
    for (upper, lower), probability in pairs.items():
        i, k = ord(upper) - ord("a"), ord(lower) - ord("a")
        found[i, k], found[k, i] = probability, 1.0 - probability
    return found


def test_hasse_diagram_leaves_out_what_follows():
    above = outranking(3, ab=0.99, ac=0.999, bc=0.97)
    assert cover_edges(above, 0.95) == [(0, 1), (1, 2)]
    assert cover_edges(above, 0.98) == [(0, 1), (0, 2)]
    assert cover_edges(np.full((3, 3), 0.5), 0.6) == []


def test_what_follows_in_three_steps_is_left_out_where_two_are_too_improbable():
    above = outranking(4, ab=0.96, bc=0.96, cd=0.96, ad=0.97, ac=0.9, bd=0.9)
    assert cover_edges(above, 0.95) == [(0, 1), (1, 2), (2, 3)]


def test_just_the_least_probability_is_enough():
    assert cover_edges(outranking(2, ab=0.75), 0.75) == [(0, 1)]
    assert cover_edges(outranking(2, ab=0.25), 0.75) == [(1, 0)]


@pytest.mark.parametrize("place", range(3))
def test_lines_are_those_of_the_constraints_whatever_their_order(place):
    order = np.roll(np.arange(3), place)
    above = outranking(3, ab=0.99, ac=0.999, bc=0.97)[np.ix_(order, order)]
    found = {(order[i], order[k]) for i, k in cover_edges(above, 0.95)}
    assert found == {(0, 1), (1, 2)}
