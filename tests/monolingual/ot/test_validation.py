"""Cross-validation of maximum entropy, against a fit of its own."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, special

from monolingual.ot.bias import read_bias
from monolingual.ot.harmonic import maxent_weights
from monolingual.ot.validation import cross_validate, deal
from scfg_sampler.errors import InputError, SettingsError
from tests.monolingual.ot.examples import SPANISH, TABLE_2, tableaux

TWO = tableaux("A B", ("x", "a", 30, "10"), ("x", "b", 12, "01"), ("y", "c", 9, "20"), ("y", "d", 5, "01"))


def test_folds_hold_every_token_once_and_are_of_one_size(rng):
    for example in (TWO, SPANISH, TABLE_2):
        for folds in (2, 3, 7):
            parts = deal(rng, example, folds)
            assert parts.sum(axis=0).tolist() == example.frequency.tolist()
            assert np.ptp(parts.sum(axis=1)) <= 1


def test_inputs_are_left_out_as_a_whole(rng):
    parts = deal(rng, SPANISH, 3, "input")
    assert parts.sum(axis=0).tolist() == SPANISH.frequency.tolist()
    by_input = np.add.reduceat(parts, SPANISH.start[:-1], axis=1)
    assert np.count_nonzero(by_input) == 3
    assert np.all(np.count_nonzero(by_input, axis=1) == 1)


def test_held_out_likelihoods_are_those_of_logistic_regression():
    """Two candidates an input: log odds of the first are a difference of violations times weights."""
    found = cross_validate(
        np.random.default_rng(5), TWO, [4.0, 0.5, 4.0], folds=3, by="token", non_negative=False
    )
    parts = deal(np.random.default_rng(5), TWO, 3)
    assert found.variances == (0.5, 4.0)
    assert found.tokens.tolist() == parts.sum(axis=1).tolist()
    gain = np.array([[-1.0, 1.0], [-2.0, 1.0]])  # Of a over b, and of c over d.
    for fold, part in enumerate(parts):
        rest = TWO.frequency - part
        for row, variance in enumerate((0.5, 4.0)):

            def loss(weight, counts=rest, variance=variance):
                odds = gain @ weight
                fit = counts[::2] @ special.log_expit(odds) + counts[1::2] @ special.log_expit(-odds)
                return -fit + weight @ weight / (2.0 * variance)

            best = optimize.minimize(
                loss, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12}
            )
            expected = -loss(best.x, part, np.inf)
            assert_allclose(found.held_out[row, fold], expected, atol=1e-5)
    assert_allclose(found.per_token, found.held_out.sum(axis=1) / TWO.frequency.sum())
    assert found.best == found.variances[int(np.argmax(found.held_out.sum(axis=1)))]
    means = found.held_out / found.tokens
    assert_allclose(found.error, np.sqrt(((means.T - means.mean(axis=1)) ** 2).sum(axis=0) / 2 / 3))


def test_biases_are_the_priors_of_logistic_regression(tmp_path):
    (tmp_path / "b").write_text("Constraint,Mu,Sigma\nB,1.5,0.5\nA,-0.5,2\n")
    bias = read_bias(tmp_path / "b", TWO.constraints)
    assert [side.tolist() for side in bias] == [[-0.5, 1.5], [2.0, 0.5]]
    gain = np.array([[-1.0, 1.0], [-2.0, 1.0]])

    def loss(weight):
        odds = gain @ weight
        fit = TWO.frequency[::2] @ special.log_expit(odds) + TWO.frequency[1::2] @ special.log_expit(-odds)
        return -fit + (weight[0] + 0.5) ** 2 / 8.0 + (weight[1] - 1.5) ** 2 / 0.5

    best = optimize.minimize(loss, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13})
    assert_allclose(maxent_weights(TWO, non_negative=False, bias=bias), best.x, atol=1e-5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A\t0\t1\n", r"has no line for the constraint 'B'"),
        ("A\t0\n", r":1: 2 columns instead of 3"),
        ("A\t0\t1\nA\t0\t1\n", r":2: 'A' stands twice"),
        ("C\t0\t1\n", r":1: 'C' is no constraint"),
        ("A\tx\t1\n", r":1: .* has no two numbers"),
        ("A\t0\t0\n", r":1: the deviation of 'A' is 0"),
        ("A\t0\tinf\n", r":1: the deviation of 'A' is inf\. It must be above 0 and finite"),
        ("A\t-inf\t1\n", r":1: the mean of 'A' is -inf\. It must be finite"),
    ],
)
def test_damaged_biases_are_refused(tmp_path, text, message):
    (tmp_path / "b").write_text(text)
    with pytest.raises(InputError, match=message):
        read_bias(tmp_path / "b", TWO.constraints)


def test_wrong_cross_validation_is_refused(rng):
    for options in ({"folds": 1}, {"variances": [0.0]}, {"variances": []}):
        with pytest.raises(SettingsError, match=r"--(cross-validate|variances)"):
            cross_validate(rng, TWO, **options)
    with pytest.raises(InputError, match="2 inputs were observed, too few for 3 folds"):
        cross_validate(rng, TWO, by="input", folds=3)
    with pytest.raises(InputError, match="not counts"):
        deal(rng, TWO._replace(frequency=TWO.frequency / 3), 2)
    with pytest.raises(InputError, match="too many to deal"):
        deal(rng, TWO._replace(frequency=TWO.frequency * 1e9), 2)


@pytest.mark.filterwarnings("error")
def test_candidates_with_next_to_no_probability_do_not_matter():
    """A rival with 200 violations more has a probability below all numbers under weights of 4 or more."""
    example = tableaux("A B", ("x", "a", 50, (0, 1)), ("x", "b", 0, (1, 0)), ("x", "c", 0, (200, 0)))
    found = cross_validate(np.random.default_rng(1), example)
    assert np.isfinite(found.per_token).all()
    assert found.best == found.variances[-1]
