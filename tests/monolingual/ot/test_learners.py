"""Maximum likelihood, maximum entropy, noisy Harmonic Grammar, the Gradual Learning Algorithm, comparison.

Figures named after tables are those of Lin (2005).
"""

from __future__ import annotations

import math
import tracemalloc
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, special

from monolingual.ot import gla
from monolingual.ot.comparison import criteria
from monolingual.ot.exact import maximise, winning_probs
from monolingual.ot.gla import RULES, GlaSettings, learn
from monolingual.ot.grammar import Grammar, aligned, correlation, log_likelihood, predict
from monolingual.ot.harmonic import fit_maxent, maxent_probs, noisy_probs, separation
from monolingual.ot.tableaux import Tableaux
from scfg_sampler.errors import InputError, SettingsError
from tests.monolingual.ot.examples import ILOKANO, SPANISH, TABLE_2, tableaux, two_constraints

UNSEEN = tableaux("A", ("x", "a", 0, "0"), ("x", "b", 0, "1"))


def test_maximum_likelihood_fits_ilokano_exactly(rng):
    found = maximise(rng, ILOKANO)
    assert_allclose(winning_probs(ILOKANO, found.mean), 1 / 3, atol=1e-7)
    assert_allclose(found.mean.sum(), 0.0, atol=1e-12)
    assert found.dominated == []
    assert found.at_bound == ()


def test_maximum_likelihood_of_two_constraints_is_a_quantile(rng):
    found = maximise(rng, two_constraints(7, 3), noise=2.0)
    assert_allclose(found.mean[0] - found.mean[1], 2.0 * math.sqrt(2) * special.ndtri(0.7), atol=1e-6)


def test_spanish_has_no_finite_maximum_and_95_50_95_within_the_bound(rng):
    """Table 7, column Gibbs, which is that of the best grammar: nineteen of twenty against M."""
    found = maximise(rng, SPANISH)
    assert found.dominated == [frozenset({2, 3})]
    assert_allclose(winning_probs(SPANISH, found.mean)[::2], [0.95, 0.5, 0.95], atol=1e-3)


def test_wrong_maximisation_is_refused(rng):
    for options in ({"noise": 0.0}, {"bound": 0.0}, {"bound": 401.0}, {"starts": 0}):
        with pytest.raises(SettingsError, match=r"is (0|401); it must be (from 1e-05|at least 1)"):
            maximise(rng, SPANISH, **options)
    with pytest.raises(InputError, match="the data say nothing"):
        maximise(rng, UNSEEN)


def test_maxent_rows_of_table_8():
    assert_allclose(
        maxent_probs(SPANISH, fit_maxent(SPANISH, non_negative=False).weight)[::2], [1.0, 0.5, 0.9], atol=1e-4
    )
    smoothed = maxent_probs(SPANISH, fit_maxent(SPANISH, prior_variance=10.0, non_negative=False).weight)
    assert_allclose(100 * smoothed[::2], [97.5, 48.8, 91.4], atol=0.051)


def test_maxent_optimum_has_no_gradient(rng):
    found = fit_maxent(TABLE_2, prior_variance=3.0, non_negative=False)

    def objective(weight):
        return TABLE_2.frequency @ np.log(maxent_probs(TABLE_2, weight)) - weight @ weight / 6.0

    for step in 1e-4 * rng.standard_normal((20, 5)):
        assert objective(found.weight + step) < objective(found.weight) + 1e-9


def test_separation_is_found_and_says_which_candidate_vanishes():
    found = separation(SPANISH)
    assert found.direction.tolist() == [0, 0, -1, -1]
    assert [SPANISH.outputs[c] for c in found.candidates] == ["ubasita"]
    assert fit_maxent(ILOKANO, non_negative=False).separation.candidates == ()
    assert not separation(two_constraints(9, 1)).direction.any()
    assert separation(two_constraints(9, 0)).candidates == (1,)


@pytest.mark.parametrize("non_negative", [False, True])
def test_no_direction_of_separation_sets_winners_apart(rng, non_negative):
    """Against a linear program over all pairs of an observed winner and a rival."""
    separated = 0
    for _ in range(60):
        violations = rng.poisson(0.7, (6, 3))
        frequency = rng.permuted([3.0, 1.0, 1.0, 0.0, 0.0, 0.0])
        table = Tableaux(tuple("ABC"), ("x",), np.array([0, 6]), tuple("abcdef"), frequency, violations)
        found = separation(table, non_negative=non_negative)
        winners = np.flatnonzero(frequency)
        gains = (violations[None] - violations[winners, None]).reshape(-1, 3).astype(float)
        least = 0.0 if non_negative else -1.0
        best = optimize.linprog(-gains.sum(axis=0), -gains, np.zeros(len(gains)), bounds=[(least, 1.0)] * 3)
        assert (gains @ found.direction).min() > -1e-7
        assert_allclose(gains.sum(axis=0) @ found.direction, -best.fun, atol=1e-6)
        assert bool(found.candidates) == (best.fun < -1e-6)
        separated += bool(found.candidates)
    assert 10 < separated < 50


def test_separation_takes_memory_for_candidates_and_not_for_pairs(rng):
    violations = rng.integers(0, 9, (1000, 5))
    outputs = tuple(map(str, range(1000)))
    table = Tableaux(tuple("ABCDE"), ("x",), np.array([0, 1000]), outputs, np.arange(1000.0), violations)
    tracemalloc.start()
    found = separation(table)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert not found.candidates
    assert peak < 3_000_000  # Of numbers for all pairs: 40 MB, several times.


def test_weights_may_be_kept_from_falling_below_zero():
    found = fit_maxent(SPANISH, non_negative=True)
    assert found.weight.min() >= 0.0
    assert not found.separation.direction.any()


def test_wrong_maxent_is_refused():
    with pytest.raises(SettingsError, match="--prior-variance is 0"):
        fit_maxent(SPANISH, prior_variance=0.0)
    with pytest.raises(InputError, match="nothing to learn from"):
        fit_maxent(UNSEEN)


def test_noisy_harmonic_grammar_of_two_candidates_is_a_normal_distribution_function():
    probs = noisy_probs(two_constraints(1, 1), np.array([1.0, 0.5]), np.array([2.0, 1.0]))
    assert_allclose(probs, special.ndtr(np.array([0.5, -0.5]) / math.sqrt(5)), rtol=1e-12)


def test_noisy_harmonic_grammar_of_more_agrees_with_that_of_two():
    """A third candidate that never wins changes nothing; 0.005 is over four deviations of 200,000 draws."""
    example = tableaux("A B C", ("x", "a", 1, "010"), ("x", "b", 1, "100"), ("x", "c", 0, "019"))
    weight, noise = np.array([1.0, 0.5, 50.0]), np.ones(3)
    probs = noisy_probs(example, weight, noise)
    assert_allclose(probs[:2], special.ndtr(np.array([0.5, -0.5]) / math.sqrt(2)), atol=0.005)
    assert probs[2] == 0.0


def test_gla_underrates_marEsito_in_most_seeds():
    """The bias of table 7: 38 % and 45 %, where a grammar with 50 % exists."""
    values = learn(SPANISH, GlaSettings(trials=40_000), seeds=40)
    share = np.array([winning_probs(SPANISH, row, 2.0)[2] for row in values])
    assert np.mean(share < 0.5) > 0.8
    assert 0.44 < share.mean() < 0.49


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("is_harmonic", [False, True])
def test_every_rule_learns_a_categorical_language(rule, is_harmonic):
    example = tableaux(
        "A B C", ("x", "a", 1, "010"), ("x", "b", 0, "100"), ("y", "c", 1, "001"), ("y", "d", 0, "010")
    )
    settings = GlaSettings(rule, is_harmonic, trials=20_000, start=10.0)
    values = learn(example, settings, seeds=2)
    model = "noisy-hg" if is_harmonic else "stochastic-ot"
    for row in values:
        probs = predict(Grammar(model, example.constraints, row, np.full(3, 2.0)), example)
        assert np.all(probs[[0, 2]] > 0.99)


def test_rules_promote_and_demote_as_they_say():
    """One error of one learner, whose values tell it apart."""
    example = tableaux("A B C D", ("x", "a", 1, "0011"), ("x", "b", 0, "1100"))
    expected = {
        "symmetric": [1, 1, -1, -1],
        "weighted": [0.5, 0.5, -0.5, -0.5],
        "demotion": [0, 0, -1, -1],
    }
    for rule, change in expected.items():
        for seed in range(20):  # Until the learner errs.
            moved = (
                learn(example, GlaSettings(rule, trials=1, stages=1, plasticity=(1.0, 1.0)), seed=seed) - 100
            )
            if moved.any():
                assert moved[0].tolist() == change
                break
        else:
            pytest.fail("no error in twenty seeds")


def test_weighted_rule_shares_each_step_among_its_side():
    example = tableaux("A B C", ("x", "a", 1, "001"), ("x", "b", 0, "110"))
    settings = GlaSettings("weighted", trials=1, stages=1, plasticity=(1.0, 1.0))
    moved = [(learn(example, settings, seed=seed) - 100)[0].tolist() for seed in range(20)]
    assert [0.5, 0.5, -1.0] in moved
    assert all(move in ([0.5, 0.5, -1.0], [0.0, 0.0, 0.0]) for move in moved)


def test_error_driven_demotion_is_of_those_above_the_best_promotable_and_calibration_of_as_many():
    """Promotion is p · demoted / (1 + promotable) (Magri 2012): here k / 3 of p for k = 1 or 2 demoted."""
    example = tableaux("A B C D", ("x", "a", 1, "0011"), ("x", "b", 0, "1100"))
    for rule, share in (("edcd", 0.0), ("calibrated", 1 / 3)):
        seen = set()
        for seed in range(60):
            settings = GlaSettings(rule, trials=1, stages=1, plasticity=(1.0, 1.0))
            moved = (learn(example, settings, seed=seed) - 100)[0]
            if moved.any():
                demoted = int(np.sum(moved == -1.0))
                assert_allclose(moved[:2], share * demoted, atol=1e-12)
                assert sorted(moved[2:].tolist()) in ([-1.0, -1.0], [-1.0, 0.0])
                seen.add(demoted)
        assert seen == {1, 2}


def test_the_lower_constraint_of_a_given_ranking_falls_with_the_higher():
    """A above B above C by 5 each; errors promote B and C and demote A, by 1: then B and C follow A down."""
    example = tableaux("A B C", ("x", "a", 1, "100"), ("x", "b", 0, "011"))
    given = {"above": ((1, 2), (0, 1)), "distance": 5.0}
    settings = GlaSettings(trials=1, stages=1, plasticity=(1.0, 1.0), noise=(9.0, 9.0), **given)
    ends = {tuple(learn(example, settings, seed=seed)[0].tolist()) for seed in range(30)}
    assert ends == {(100.0, 95.0, 90.0), (99.0, 94.0, 89.0)}
    values = learn(example, GlaSettings(trials=5000, **given), seeds=3)
    assert (values[:, :-1] - values[:, 1:] >= 5.0 - 1e-9).all()
    assert (learn(example, GlaSettings(trials=5000), seeds=3)[:, 0] < 100.0).all()


def test_symmetric_rule_keeps_the_sum_of_balanced_constraints():
    values = learn(two_constraints(3, 1), GlaSettings(trials=1000))
    assert_allclose(values.sum(), 200.0, atol=1e-9)


def test_same_seed_learns_the_same_and_others_differ():
    first, second, third = (learn(SPANISH, GlaSettings(trials=500), seed=s) for s in (1, 1, 2))
    assert first.tolist() == second.tolist() != third.tolist()


def test_how_many_trials_are_made_at_a_time_changes_nothing(monkeypatch):
    whole = learn(SPANISH, GlaSettings(trials=500), seeds=2)
    monkeypatch.setattr(gla, "_AT_A_TIME", 7)
    assert learn(SPANISH, GlaSettings(trials=500), seeds=2).tolist() == whole.tolist()


@pytest.mark.parametrize(
    ("settings", "seeds", "complaint"),
    [
        (GlaSettings(rule="frob"), 1, "--rule is 'frob'; choose from symmetric"),
        (GlaSettings(trials=0), 1, "--trials is 0"),
        (GlaSettings(), 0, "--seeds is 0"),
        (GlaSettings(trials=3), 1, "--stages is 4, more than the 3 --trials"),
        (GlaSettings(plasticity=(1.0, 0.0)), 1, "--plasticity is 1:0; both must be above 0, and 1e"),
        (GlaSettings(distance=-1.0), 1, "--distance is -1; it must be from 0"),
        (GlaSettings(noise=(0.0, 1.0)), 1, "--noise is 0:1; it must be from 1e-05 to 1000"),
        (GlaSettings(noise=(1.0, 1e-30)), 1, "--noise is 1:1e-30; it must be from 1e-05 to 1000"),
        (GlaSettings(start=1e17), 1, r"--start is 1e\+17; it must be from -1e\+06 to 1e\+06"),
    ],
)
def test_wrong_learners_are_refused(settings, seeds, complaint):
    with pytest.raises(SettingsError, match=complaint):
        learn(SPANISH, settings, seeds=seeds)


def test_grammars_are_matched_by_name():
    grammar = Grammar("stochastic-ot", ("B", "A"), np.array([2.0, 1.0]), np.array([0.2, 0.1]))
    found = aligned(grammar, two_constraints(1, 1))
    assert found.value.tolist() == [1.0, 2.0]
    assert found.deviation.tolist() == [0.1, 0.2]
    with pytest.raises(InputError, match="the tableaux have the constraint 'COMPLEX'"):
        aligned(grammar, ILOKANO)


def test_likelihood_and_correlation():
    probs = np.array([0.95, 0.05, 0.5, 0.5, 0.95, 0.05])
    assert_allclose(log_likelihood(SPANISH, probs), 19 * np.log(0.95) + 10 * np.log(0.5) + np.log(0.05))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert log_likelihood(SPANISH, np.array([1.0, 0, 1, 0, 1, 0])) == -math.inf
        assert math.isnan(correlation(SPANISH, np.full(6, 0.5)))
    assert_allclose(correlation(SPANISH, np.array([1, 0, 0.5, 0.5, 0.9, 0.1])), 1.0)
    assert math.isnan(correlation(ILOKANO, np.full(3, 1 / 3)))
    rows = (("x", "a", 3, "01"), ("x", "b", 1, "10"), ("y", "c", 0, "01"), ("y", "d", 0, "10"))
    assert_allclose(correlation(tableaux("A B", *rows), np.array([0.6, 0.4, 0.9, 0.1])), 1.0)


def test_criteria_of_one_draw_are_minus_twice_its_likelihood(rng):
    probs = np.array([[0.95, 0.05, 0.5, 0.5, 0.95, 0.05]])
    assert_allclose(criteria(SPANISH, probs), -2 * log_likelihood(SPANISH, probs[0]))
    assert criteria(SPANISH, np.array([[1.0, 0, 1, 0, 1, 0]])) == (math.inf, math.inf)


def test_watanabe_akaike_criterion_by_hand():
    """Two draws: ln of their mean less the variance of their logarithms, ½ (ln 2)² for 1/4 and 1/2."""
    probs = np.array([[0.25, 0.75], [0.5, 0.5]])
    waic, _ = criteria(two_constraints(3, 1), probs)
    first = math.log(0.375) - 0.5 * math.log(2.0) ** 2
    second = math.log(0.625) - 0.5 * math.log(1.5) ** 2
    assert_allclose(waic, -2.0 * (3 * first + second))


def test_leave_one_out_is_that_of_refitted_posteriors():
    """Two constraints with a uniform grid of probabilities: leaving a token out has a closed form."""
    points = (np.arange(4000) + 0.5) / 4000
    weight = points**6 * (1 - points) ** 2
    draws = np.repeat(points, np.round(weight / weight.sum() * 400_000).astype(int))
    _, loo = criteria(two_constraints(6, 2), np.stack([draws, 1 - draws], 1))
    # A beta(1, 1) prior: predicting one of 6 from the other 5 and 2, and one of 2 from 6 and 1.
    assert_allclose(loo, -2 * (6 * np.log(6 / 9) + 2 * np.log(2 / 9)), rtol=2e-3)
