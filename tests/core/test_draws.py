"""Random decisions: their distributions, and that compiling does not change them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from scfg_sampler.core import draws
from tests.core.compiled_examples import drawn
from tests.oracles.twins import interpreted
from tests.statistics import FALSE_ALARM, chi_square_tail


class Fixed:
    """A generator that returns given numbers."""

    def __init__(self, *numbers):
        self._numbers = list(numbers)

    def random(self):
        return self._numbers.pop(0)


def plain(function):
    return getattr(function, "py_func", function)


def test_compiled_and_interpreted_draws_are_the_same():
    found, state = drawn(7, 500)
    expected, expected_state = interpreted(drawn, 7, 500)
    assert_array_equal(found, expected)
    assert state == expected_state


@pytest.mark.parametrize("size", [2, 3, 7])
def test_uniform_index_is_uniform(rng, size):
    observed = np.bincount([draws.uniform_index(rng, size) for _ in range(7000)], minlength=size)
    assert len(observed) == size
    assert chi_square_tail(observed, np.full(size, 7000 / size)) > FALSE_ALARM


def test_no_draw_is_made_without_a_choice():
    assert plain(draws.uniform_index)(Fixed(), 1) == 0


def test_uniform_index_stays_in_range():
    largest = np.nextafter(1.0, 0.0)
    assert [plain(draws.uniform_index)(Fixed(u), 3) for u in (0.0, 0.33, 0.34, largest)] == [0, 0, 1, 2]
    for size in (2**31, 10**9 + 7, 3**33):
        assert plain(draws.uniform_index)(Fixed(largest), size) == size - 1


def test_bernoulli_has_its_probability(rng):
    hits = sum(draws.bernoulli(rng, 0.3) for _ in range(5000))
    assert chi_square_tail([hits, 5000 - hits], [1500, 3500]) > FALSE_ALARM
    assert not any(draws.bernoulli(rng, 0.0) for _ in range(100))
    assert all(draws.bernoulli(rng, 1.0) for _ in range(100))


def test_categorical_has_its_weights(rng):
    weights = np.array([0.0, 2.0, 0.5, 0.0, 1.5, 9.0])
    observed = np.bincount([draws.categorical(rng, weights, 5) for _ in range(8000)], minlength=5)
    assert chi_square_tail(observed, [0, 4000, 1000, 0, 3000]) > FALSE_ALARM
    # Planted fault: the weight beyond the size counts.
    wrong = np.bincount([draws.categorical(rng, weights, 6) for _ in range(8000)], minlength=6)[:5]
    assert chi_square_tail(wrong, np.array([0, 4000, 1000, 0, 3000]) * wrong.sum() / 8000) > FALSE_ALARM
    assert wrong.sum() < 4000


def test_categorical_never_takes_weight_zero():
    """Not even when rounding leaves a crumb of the threshold behind the last positive weight."""
    weights = np.array([0.1, 0.2, 0.3, 0.0])
    for u in (0.0, np.nextafter(1.0, 0.0), 1.0):
        assert plain(draws.categorical)(Fixed(u), weights, 4) in (0, 1, 2)
    assert plain(draws.categorical)(Fixed(0.0), np.array([0.0, 1.0]), 2) == 1


def test_log_categorical_is_categorical_of_the_exponentials(rng):
    log_weights = np.log([1.0, 3.0, 4.0]) - 1e5
    drawn_indices = [draws.log_categorical(rng, log_weights.copy(), 3) for _ in range(8000)]
    observed = np.bincount(drawn_indices, minlength=3)
    assert chi_square_tail(observed, [1000, 3000, 4000]) > FALSE_ALARM


def test_log_categorical_does_not_overflow(rng):
    for _ in range(100):
        assert draws.log_categorical(rng, np.array([-2000.0, 0.0, -1500.0]), 3) == 1


def test_log_categorical_never_takes_minus_infinity(rng):
    for _ in range(100):
        assert draws.log_categorical(rng, np.array([-np.inf, -3.0, -np.inf]), 3) == 1


def test_dirichlet_draws_have_their_moments(rng):
    for shape in ([0.3, 2.0, 0.7], [5.0, 1.0]):
        concentrations, probs = np.array(shape), np.empty(len(shape))
        sample = []
        for _ in range(4000):
            draws.dirichlet(rng, concentrations, 0, len(shape), probs)
            sample.append(probs.copy())
        mean = concentrations / concentrations.sum()
        error = np.sqrt(mean * (1 - mean) / (concentrations.sum() + 1) / 4000)
        assert np.all(np.abs(np.mean(sample, axis=0) - mean) < 6 * error)


def test_dirichlet_draws_are_never_zero_and_leave_the_rest_alone(rng):
    concentrations, probs = np.full(5, 1e-4), np.full(5, 7.0)
    for _ in range(200):
        draws.dirichlet(rng, concentrations, 1, 4, probs)
        assert abs(probs[1:4].sum() - 1.0) < 1e-12
        assert np.all(probs[1:4] >= draws.SMALLEST_PROB)
        assert probs[0] == probs[4] == 7.0
    before = rng.bit_generator.state
    draws.dirichlet(rng, concentrations, 2, 3, probs)  # Nothing to choose.
    assert probs[2] == 1.0
    assert rng.bit_generator.state == before
