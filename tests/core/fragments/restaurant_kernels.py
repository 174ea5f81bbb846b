"""Kernels that work restaurants hard, for their tests."""

from __future__ import annotations

import math

import numpy as np

from scfg_sampler.core import draws
from scfg_sampler.core.fragments.density import log_joint
from scfg_sampler.core.fragments.restaurant import (
    dish_customers,
    find,
    find_or_insert,
    grown,
    is_nearly_full,
    new_restaurants,
    seat,
    unseat,
)
from scfg_sampler.core.jit import kernel

NUM_DISHES = 30
KEYS = 1 + 4096 * np.arange(NUM_DISHES, dtype=np.int64) // 3


@kernel
def come_and_go(rng, restaurants, keys, log_base, steps):
    """Customers come, more often than they go; returns the steps done, fewer if there is no room left."""
    for step in range(steps):
        if is_nearly_full(restaurants, 1):
            return step
        dish = draws.uniform_index(rng, len(keys))
        slot = find(restaurants, keys[dish])
        if dish_customers(restaurants, slot) > 0 and draws.bernoulli(rng, 0.45):
            unseat(rng, restaurants, slot)
        else:
            slot = find_or_insert(restaurants, keys[dish], dish % 3, log_base[dish])
            opens = dish_customers(restaurants, slot) == 0 or draws.bernoulli(rng, 0.3)
            seat(rng, restaurants, slot, opens)
    return steps


@kernel
def count_customers(restaurants, keys):
    """How many customers each dish has."""
    counts = np.empty(len(keys), np.int64)
    for dish in range(len(keys)):
        counts[dish] = dish_customers(restaurants, find(restaurants, keys[dish]))
    return counts


def worked(seed, exact, steps=3000):
    """Restaurants after many arrivals and departures; their log joint; the generator's state."""
    rng = np.random.default_rng(seed)
    restaurants = new_restaurants(3, discount=0.6, strength=2.0, exact=exact, capacity=1 << 5)
    log_base = np.full(NUM_DISHES, -math.log(NUM_DISHES))
    done = 0
    while done < steps:
        done += come_and_go(rng, restaurants, KEYS, log_base, steps - done)
        if done < steps:
            restaurants = grown(restaurants, 1)
    return restaurants, log_joint(restaurants), rng.bit_generator.state
