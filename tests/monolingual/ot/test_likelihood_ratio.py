"""Likelihood-ratio tests of constraints, against tests of contingency tables."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from monolingual.cli import main
from monolingual.ot.likelihood_ratio import constraint_tests
from tests.monolingual.ot.examples import SPANISH, tableaux

# The second candidate violates A; of y also B. Without B, x and y have the same shares.
TABLE = [[60, 40], [20, 45]]
PAIR = tableaux("A B", ("x", "a", 60, "00"), ("x", "b", 40, "10"), ("y", "c", 20, "00"), ("y", "d", 45, "11"))


def test_a_constraint_of_one_input_is_a_test_of_independence():
    found = constraint_tests(PAIR, non_negative=False)
    expected = stats.chi2_contingency(TABLE, correction=False, lambda_="log-likelihood")
    assert_allclose(found[1].statistic, expected.statistic, rtol=1e-6)
    assert_allclose(found[1].p_value, expected.pvalue, rtol=1e-5)
    assert_allclose(found[1].bic, expected.statistic - np.log(165), rtol=1e-5)
    # Without A, the shares of x are even, those of y as observed.
    even = stats.power_divergence(TABLE[0], lambda_="log-likelihood")
    assert_allclose(found[0].statistic, even.statistic, rtol=1e-6)
    assert [test.constraint for test in found] == ["A", "B"]


def test_without_any_constraint_candidates_share_evenly():
    alone = tableaux("A", ("x", "a", 30, "0"), ("x", "b", 12, "1"), ("x", "c", 9, "1"))
    (found,) = constraint_tests(alone, non_negative=False)
    assert_allclose(found.log_likelihood, -51 * np.log(3), rtol=1e-12)


def test_at_the_border_probabilities_are_halved():
    rewarded = PAIR._replace(violations=PAIR.violations[::-1].copy())
    for example in (PAIR, rewarded, SPANISH):
        free, bounded = (constraint_tests(example, non_negative=flag) for flag in (False, True))
        for one, two in zip(free, bounded, strict=True):
            assert two.statistic >= 0.0
            if two.statistic > 1e-6:
                assert_allclose(two.p_value, stats.chi2.sf(two.statistic, 1) / 2, rtol=1e-9)
            else:
                assert two.p_value == 1.0
            assert one.p_value == 1.0 or np.isclose(one.p_value, stats.chi2.sf(one.statistic, 1))


@pytest.mark.slow
def test_probabilities_are_uniform_where_the_constraint_does_nothing(rng):
    p_values = []
    for _ in range(300):
        first, second = rng.binomial(400, 0.7, size=2)
        rows = [("x", "a", first, "00"), ("x", "b", 400 - first, "10")]
        rows += [("y", "c", second, "00"), ("y", "d", 400 - second, "11")]
        p_values.append(constraint_tests(tableaux("A B", *rows))[1].p_value)
    # Half of the time nothing is lost; else the probabilities are uniform below 1/2.
    below = np.array([p for p in p_values if p < 1.0])
    assert stats.binomtest(len(below), 300).pvalue > 1e-8
    assert stats.kstest(2 * below, "uniform").pvalue > 1e-8


def test_command_prints_the_tests(tmp_path, capsys):
    text = "input\toutput\tfrequency\tA\tB\nx\ta\t60\t0\t0\nx\tb\t40\t1\t0\ny\tc\t20\t0\t0\ny\td\t45\t1\t1\n"
    (tmp_path / "t").write_text(text)
    command = ["ot", "maxent", str(tmp_path / "t"), "--no-non-negative", "--test"]
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["tests"]
    assert [test["constraint"] for test in found] == ["A", "B"]
    assert_allclose(found[1]["p_value"], constraint_tests(PAIR, non_negative=False)[1].p_value, rtol=1e-9)
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "without" in printed
    assert f"{found[1]['statistic']:.4f}" in printed
    assert main([*command, "--prior-variance", "1"]) == 2
    assert "--test compares likelihoods at their maxima; it goes with no prior" in capsys.readouterr().err


RANKED = "input\toutput\tfrequency\tOnset\tMax\tDep\nv\tv\t0\t1\t0\t0\nv\tcv\t9\t0\t0\t1\nv\t-\t0\t0\t1\t0\n"


def test_given_rankings_hold_in_the_strata(tmp_path, capsys):
    (tmp_path / "t").write_text(RANKED)
    command = ["ot", "rank", str(tmp_path / "t"), "--json"]
    strata = []
    expected = [[["Onset", "Max"], ["Dep"]], [["Max"], ["Onset"], ["Dep"]], [["Onset"], ["Max"], ["Dep"]]]
    for given in ([], ["--above", "Max>Onset"], ["--above", "Onset > Max", "--above", "Max>Dep"]):
        assert main([*command, *given]) == 0
        strata.append(json.loads(capsys.readouterr().out)["strata"])
    assert strata == expected
    assert main([*command, "--above", "Dep>Max"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert not found["consistent"]
    assert found["unresolved"] == ["v → cv rather than -", "Dep above Max, as given"]
    assert main([*command, "--above", "Dep<Max"]) == 2
    assert "--above 'Dep<Max' is not of the form NAME>NAME with two of" in capsys.readouterr().err
