"""The enumerator of random choices, on steps whose distribution is known by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from scfg_sampler.core import draws, jit
from tests.oracles.choices import GENERATOR, distribution, outcomes, transition_matrix
from tests.oracles.resumed import resumed

in_plain_python = pytest.mark.skipif(
    jit.ENABLED, reason="compiled kernels take every path from its beginning"
)


def test_two_coins_have_four_paths():
    def step():
        return draws.bernoulli(GENERATOR, 0.25), draws.bernoulli(GENERATOR, 0.5)

    assert {result: prob for prob, result in outcomes(step)} == {
        (False, False): 0.375,
        (False, True): 0.375,
        (True, False): 0.125,
        (True, True): 0.125,
    }


def test_step_without_choices_has_one_path():
    assert list(outcomes(lambda: "done")) == [(1.0, "done")]


def test_truncated_geometric():
    def step():
        for failures in range(10):
            if draws.bernoulli(GENERATOR, 0.3):
                return failures
        return 10

    expected = {k: 0.3 * 0.7**k for k in range(10)} | {10: 0.7**10}
    found = distribution(step)
    assert found.keys() == expected.keys()
    for k, prob in expected.items():
        assert math.isclose(found[k], prob, rel_tol=1e-14)


def test_choices_may_depend_on_earlier_ones():
    def step():
        size = 1 + draws.uniform_index(GENERATOR, 3)
        return size, draws.uniform_index(GENERATOR, size)

    found = distribution(step)
    assert len(found) == 6
    for (size, _), prob in found.items():
        assert math.isclose(prob, 1.0 / (3 * size))


def test_impossible_outcomes_are_not_followed():
    def step():
        return draws.categorical(GENERATOR, np.array([0.0, 3.0, 0.0, 1.0, 5.0]), 4)

    assert distribution(step) == {1: 0.75, 3: 0.25}
    assert distribution(lambda: draws.bernoulli(GENERATOR, 1.0)) == {True: 1.0}


def test_log_categorical_is_one_choice_and_overwrites_its_argument():
    seen = []

    def step():
        log_weights = np.log([1.0, 4.0, 3.0])
        choice = draws.log_categorical(GENERATOR, log_weights, 3)
        seen.append(log_weights)
        return choice

    found = list(outcomes(step))
    assert [result for _, result in found] == [0, 1, 2]
    assert_allclose([prob for prob, _ in found], [0.125, 0.5, 0.375], rtol=1e-14)
    assert_allclose(seen, [[0.25, 1.0, 0.75]] * 3)


def test_enumerated_probabilities_are_those_of_the_draws(rng):
    weights = np.array([0.2, 0.0, 1.3, 0.5])
    counts = np.bincount([draws.categorical(rng, weights, 4) for _ in range(20_000)], minlength=4)
    exact = distribution(lambda: draws.categorical(GENERATOR, weights, 4))
    # Five standard deviations are at most 5·√(20000/4) = 354; the seed is fixed.
    for outcome in range(4):
        assert abs(counts[outcome] - 20_000 * exact.get(outcome, 0.0)) < 354


def test_transition_matrix_of_a_walk_on_a_ring():
    def step_from(state):
        return lambda: (state + (1 if draws.bernoulli(GENERATOR, 0.75) else -1)) % 4

    matrix = transition_matrix(range(4), step_from)
    assert_allclose(matrix[0], [0.0, 0.75, 0.0, 0.25])
    assert_allclose(np.full(4, 0.25) @ matrix, np.full(4, 0.25), atol=1e-15)


def test_leaving_the_states_is_noticed():
    with pytest.raises(AssertionError, match="ends in 2, which is not a state"):
        transition_matrix(range(2), lambda state: lambda: state + 1)


def test_drawing_behind_the_enumerator_is_noticed():
    # What compiled kernels are given has nothing else to draw by.
    with pytest.raises(
        (AssertionError, AttributeError), match=r"drew from its generator \(\.random\)|'random'"
    ):
        list(outcomes(lambda: GENERATOR.random()))


def test_unrepeatable_step_is_noticed():
    sizes, probs = iter((2, 3)), iter((0.5, 0.25))
    with pytest.raises(AssertionError, match="not repeatable"):
        list(outcomes(lambda: draws.uniform_index(GENERATOR, next(sizes))))
    with pytest.raises(AssertionError, match="not repeatable"):
        list(outcomes(lambda: draws.bernoulli(GENERATOR, next(probs))))


def test_too_many_paths_are_refused():
    with pytest.raises(RuntimeError, match="more than 7 paths"):
        list(outcomes(lambda: [draws.bernoulli(GENERATOR, 0.5) for _ in range(3)], max_paths=7))


def test_draws_are_restored_between_paths_and_after_an_error(rng):
    original = draws.bernoulli
    for _, _ in outcomes(lambda: draws.bernoulli(GENERATOR, 0.5)):
        assert draws.bernoulli is original
    with pytest.raises(ZeroDivisionError):
        list(outcomes(lambda: 1 / 0))
    assert draws.bernoulli is original


@in_plain_python
def test_paths_that_go_on_from_others_are_those_from_the_beginning():
    memory, num_calls = np.full(2, 99), 0

    def move(rng, place, sizes, memory):
        nonlocal num_calls
        num_calls += 1
        if draws.bernoulli(rng, 0.25):
            place[0] += sizes[0]
        # When a path begins, here is what the path before has left, which may be the same.
        memory[1] = place[0]
        return draws.uniform_index(rng, 2)

    def twice(rng, place, sizes, memory):
        first = move_resumed(rng, place, sizes[0], memory)
        return first, move_resumed(rng, place, sizes[0], memory)

    def step_of(twice, move):
        def step():
            place, sizes = np.zeros(1), (np.ones(1, int),)
            found = twice(GENERATOR, place, sizes, memory)
            sizes[0][0] += found[0]
            return found, move(GENERATOR, place, sizes[0], memory), place[0], memory[1]

        return step

    move_resumed = move
    expected = list(outcomes(step_of(twice, move)))
    assert (len(expected), num_calls) == (64, 3 * 64)
    move_resumed, num_calls = resumed(move), 0
    # Every call once for all it can choose after all that can be chosen before; and the last path once more.
    assert list(outcomes(step_of(resumed(twice), move_resumed))) == expected
    assert num_calls == 4 + 16 + 64 + 3


@in_plain_python
def test_what_a_call_leaves_elsewhere_than_in_arrays_is_noticed():
    seen = []

    @resumed
    def choose(rng):
        seen.append(draws.bernoulli(rng, 0.5))
        return seen[-1]

    def step():
        seen.clear()
        choose(GENERATOR), choose(GENERATOR)
        return tuple(seen)

    with pytest.raises(AssertionError, match="not repeatable: it ends otherwise"):
        list(outcomes(step))
