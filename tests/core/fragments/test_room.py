"""Room in the restaurants: little for long trees, and dishes without customers forgotten in place."""

from __future__ import annotations

import numpy as np
import pytest

from scfg_sampler.core.fragments import room, rules
from scfg_sampler.core.fragments.restaurant import find_or_insert, new_restaurants, seat, unseat
from scfg_sampler.core.fragments.room import forget_unused, lacks_room, with_room_for_visits
from scfg_sampler.core.jit import kernel
from tests.learner.corpora import chain_on
from tests.oracles.phrase_forest import sentence
from tests.oracles.twins import interpreted


@kernel
def come_and_go(rng, restaurants, keys, moves):
    """Seat or unseat a customer of the dish of each move, as its sign says; whether dishes were forgotten."""
    forgotten = False
    for move in moves:
        dish = abs(move) - 1
        if move > 0:
            if forget_unused(restaurants):
                forgotten = True
            slot = find_or_insert(restaurants, keys[dish], dish % 3, -1.0 * dish)
            seat(rng, restaurants, slot, rng.random() < 0.5)
        else:
            unseat(rng, restaurants, find_or_insert(restaurants, keys[dish], dish % 3, -1.0 * dish))
    return forgotten


@pytest.mark.parametrize("crowded", [False, True])
@pytest.mark.parametrize("exact", [True, False])
def test_dishes_with_customers_survive_forgetting(rng, exact, crowded):
    """Keys that begin at few slots, some of them at the end of the table, make long runs."""
    capacity = 64
    keys = rng.permutation(np.arange(1, 4000)).astype(np.int64)
    if crowded:
        keys = (keys << 6) | rng.choice([60, 62, 63, 3], size=len(keys))
    counts: dict[int, int] = {}
    moves = []
    for _ in range(3000):
        present = [dish for dish, count in counts.items() if count]
        if len(present) > 20 or (present and rng.random() < 0.45):
            dish = int(rng.choice(present))
            counts[dish] -= 1
            moves.append(-dish - 1)
        else:
            dish = int(rng.choice(present)) if present and rng.random() < 0.3 else len(counts)
            counts[dish] = counts.get(dish, 0) + 1
            moves.append(dish + 1)
    restaurants = new_restaurants(3, discount=0.5, strength=1.0, exact=exact, capacity=capacity)
    assert come_and_go(np.random.default_rng(1), restaurants, keys, np.array(moves))
    found = {}
    for (key, packed), stratum, log_base in zip(
        restaurants.entries.tolist(), restaurants.stratum.tolist(), restaurants.log_base.tolist(), strict=True
    ):
        if key and packed:
            dish = int(np.flatnonzero(keys == key)[0])
            assert (stratum, log_base) == (dish % 3, -dish)
            assert dish not in found
            found[dish] = packed & (2**32 - 1)
    assert found == {dish: count for dish, count in counts.items() if count}
    # Each is where a search for it comes by: no free slot stands before it.
    for slot in np.flatnonzero(restaurants.entries[:, 0]).tolist():
        first = int(restaurants.entries[slot, 0]) % capacity
        between = [(first + k) % capacity for k in range((slot - first) % capacity)]
        assert (restaurants.entries[between, 0] != 0).all()
    assert restaurants.totals[0] == np.count_nonzero(restaurants.entries[:, 0])


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("nodes", [10, 2000, 20_000])
def test_long_trees_take_little_room(exact, nodes):
    """2n² + 8 slots of 32 bytes, twice, would be 512 MB for 2,000 nodes."""
    before = new_restaurants(5, discount=0.5, strength=1.0, exact=exact)
    after = with_room_for_visits(before, nodes)
    assert sum(array.nbytes for array in after) < 50e6
    if lacks_room(before, nodes):
        assert not lacks_room(after, nodes)
        assert with_room_for_visits(after, nodes) is after
    else:
        assert after is before
    assert len(after.entries) >= 2 * nodes
    if exact:
        assert len(after.parties) >= min(4 * nodes**2, nodes)


def sampled(exact: bool, forgetting: bool) -> tuple[list[int], float, int]:
    """Derivations after some sweeps, their log joint, and how often dishes were forgotten in mid-tree.

    The table is full but for some slots when the chain begins. It is made longer before the next sweep, or
    with `forgetting` never, as if the tree had more fragments than there is room for.
    """
    words = "a b c d e f g h i j k l"
    pairs = [sentence(words, words.upper(), " ".join(f"{i}-{11 - i}" for i in range(12)))]
    chain = chain_on(pairs, tables="exact" if exact else "estimated")
    state = chain.kernel.init(np.random.default_rng(1))
    for number in range(len(state.restaurants.entries) // 2 - 4 - int(state.restaurants.totals[0])):
        find_or_insert(state.restaurants, (1 << 40) + 7919 * number, 0, 0.0)
    times = []
    if forgetting:
        room._at_once = lambda num_nodes: 0
    forget, random = rules.forget_unused, np.random.default_rng(2)
    rules.forget_unused = lambda restaurants: forget(restaurants) and (times.append(1) or True)
    for _ in range(12):
        state, info = chain.kernel.step(random, state)
    assert chain.kernel.log_joint(state) == pytest.approx(info.log_joint, rel=1e-9)
    return state.trees.tolist(), info.log_joint, len(times)


@pytest.mark.parametrize("exact", [True, False])
def test_a_chain_that_forgets_chooses_as_one_that_does_not(exact):
    trees, log_joint, times = interpreted(sampled, exact, True)
    expected_trees, expected_log_joint, never = interpreted(sampled, exact, False)
    assert times > 0
    assert never == 0
    assert trees == expected_trees
    assert log_joint == pytest.approx(expected_log_joint, rel=1e-12)
