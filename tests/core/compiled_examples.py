"""Kernels for the tests of compilation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.core import draws
from scfg_sampler.core.jit import by_type, compiled, inlined, kernel


class Square(NamedTuple):
    side: np.ndarray


class Circle(NamedTuple):
    radius: np.ndarray


class Point(NamedTuple):
    place: np.ndarray


@by_type
def area(shape, factor):
    """The area of a shape, times a factor."""


@area.register(Square)
def _area_of_square(shape, factor):
    return factor * shape.side[0] ** 2


@area.register(Circle)
def _area_of_circle(shape, factor):
    return factor * 3.0 * shape.radius[0] ** 2


@by_type(of="shape")
def corners(factor, shape):
    """How many corners so many of a shape have."""


@corners.register(Square)
def _corners_of_square(factor, shape):
    return 4 * factor


@corners.otherwise
def _no_corners(factor, shape):
    return 0 * factor


@kernel
def seven_corners(shape):
    return corners(7, shape)


@compiled
def twice(x):
    return 2 * x


@inlined
def thrice(x):
    return 3 * x


@kernel
def six_areas(shape):
    return twice(thrice(area(shape, 1.0)))


@kernel
def many_draws(rng, size):
    """One column per kind of draw."""
    found = np.empty((size, 4))
    weights = np.empty(5)
    for row in range(size):
        found[row, 0] = draws.uniform_index(rng, 1 + row % 7)
        found[row, 1] = draws.bernoulli(rng, (row % 11) / 10.0)
        for i in range(5):
            weights[i] = (row * (i + 1)) % 3
        weights[4] += 0.25
        found[row, 2] = draws.categorical(rng, weights, 5)
        for i in range(5):
            weights[i] = -700.0 * i + row % 5 - 1e4
        found[row, 3] = draws.log_categorical(rng, weights, 5)
    return found


def drawn(seed, size):
    rng = np.random.default_rng(seed)
    found = many_draws(rng, size)
    return found, rng.bit_generator.state
