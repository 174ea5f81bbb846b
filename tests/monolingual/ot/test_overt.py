"""Learning from overt forms, of which candidates are parses: reading, likelihood, posterior, interpretation.

In THREE each candidate violates one constraint, so it wins if that constraint is the lowest. Probabilities of
that are integrated here by Gauss–Hermite quadrature, which the code does not use.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special, stats

from monolingual.cli import main
from monolingual.ot import gibbs
from monolingual.ot.exact import maximise, winning_probs
from monolingual.ot.formats import read_tableaux, write_tableaux
from monolingual.ot.gla import GlaSettings, learn
from monolingual.ot.grammar import heard, log_likelihood, prediction_record
from monolingual.ot.hidden import hidden_kernel, hidden_problems
from monolingual.ot.run import resume_run, start_run
from monolingual.ot.settings import OtSettings, RunSettings
from monolingual.ot.tableaux import overt_forms, token_counts
from scfg_sampler.errors import InputError, SettingsError
from tests.monolingual.ot.examples import TABLE_2, tableaux
from tests.monolingual.ot.test_gibbs import fit_to_grid
from tests.statistics import FALSE_ALARM

THREE = tableaux("A B C", ("x", "a", 2, "100"), ("x", "b", 1, "010"), ("x", "c", 6, "001"))._replace(
    overt=("one", "one", "other")
)
FEET = tableaux(
    "Trochee Iamb Parse FootL",
    ("LLL", "(S L) L", 20, "0110"),
    ("LLL", "(S) L L", 0, "0020"),
    ("LLL", "(L S) L", 10, "1010"),
    ("LLL", "L (L S)", 5, "1011"),
    ("LL", "(S L)", 12, "0100"),
    ("LL", "(L S)", 6, "1000"),
)._replace(overt=("SLL", "SLL", "LSL", "LLS", "SL", "LS"))


def lowest_prob(means, which):
    """The probability that one of independent N(μ, 1) is the lowest; means of shape (…, N)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    value = means[..., which, None] + nodes
    others = np.delete(means, which, axis=-1)
    above = special.ndtr(others[..., None] - value[..., None, :]).prod(axis=-2)
    return above @ weights / np.sqrt(2 * np.pi)


def test_overt_forms_are_read_written_and_summed(tmp_path):
    write_tableaux(FEET, tmp_path / "t")
    found = read_tableaux(tmp_path / "t")
    assert found.overt == FEET.overt
    assert found.outputs == FEET.outputs
    assert found.frequency.tolist() == FEET.frequency.tolist()
    assert (tmp_path / "t").read_text().startswith("input\toutput\tovert\tfrequency\tTrochee\t")
    (tmp_path / "c").write_text("Input,Output,Overt,Frequency,A\nx,a,o,1,0\nx,b,o,2,1\nx,c,p,1,\n")
    comma = read_tableaux(tmp_path / "c")
    forms, form_of = overt_forms(comma)
    assert (forms.outputs, forms.frequency.tolist(), form_of.tolist()) == (("o", "p"), [3.0, 1.0], [0, 0, 1])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("x\ta\t\t1\t0\n", r":2: no overt form"),
        ("x\ta\to\t1\n", r":2: 3 columns instead of 4"),
        (
            "x\ta\to\t1\t0\nx\ta\tp\t1\t0\n",
            r":3: 'a' of input 'x' has the overt form 'o' in line 2, and 'p' here. Spell it alike",
        ),
    ],
)
def test_damaged_overt_forms_are_refused(tmp_path, rows, message):
    (tmp_path / "t").write_text("input\toutput\tovert\tfrequency\tA\n" + rows)
    with pytest.raises(InputError, match=message):
        read_tableaux(tmp_path / "t")


@pytest.mark.parametrize("command", ["orderings", "rank", "typology", "maxent", "compare", "convert"])
def test_commands_that_need_winners_refuse_overt_forms(tmp_path, capsys, command):
    write_tableaux(THREE, tmp_path / "t")
    more = {"compare": [str(tmp_path / "t")], "convert": ["--to", "tsv"]}.get(command, [])
    arguments = [*more, str(tmp_path / "t")] if command == "compare" else [str(tmp_path / "t"), *more]
    assert main(["ot", command, *arguments]) == 2
    assert f"ot {command} needs to know the winners" in capsys.readouterr().err


def test_likelihood_is_that_of_all_parses_together():
    mean = np.array([0.3, -0.2, -1.0])
    probs = winning_probs(THREE, mean)
    other = lowest_prob(mean, 2)
    assert_allclose(heard(THREE, probs)[1], [1 - other, other], atol=1e-10)
    assert_allclose(log_likelihood(THREE, probs), 3 * np.log(1 - other) + 6 * np.log(other))
    record = prediction_record(THREE, probs)["inputs"][0]["candidates"]
    assert [entry["output"] for entry in record] == ["one", "other"]
    assert_allclose([parse["share"] for parse in record[0]["parses"]], probs[:2] / (1 - other))


def test_maximum_likelihood_matches_overt_shares(rng):
    found = maximise(rng, THREE)
    assert_allclose(heard(THREE, winning_probs(THREE, found.mean))[1], [1 / 3, 2 / 3], atol=1e-6)
    assert found.dominated == []


@pytest.mark.parametrize("pilot", [0, 20])
def test_overt_forms_have_the_posterior_of_the_grid(rng, pilot):
    settings = OtSettings(truncate=2.0, pilot=pilot, collapsed=6)
    kernel = hidden_kernel(THREE, token_counts(overt_forms(THREE)[0]), settings)
    state = kernel.init(rng, None)
    found = []
    for number in range(-20, 1500):
        for _ in range(3):
            state, info = kernel.step(rng, state)
        if number >= 0:
            found.append(state.mean.copy())
    assert_allclose(info.log_joint, kernel.log_joint(state), atol=1e-9)
    points = 80
    axis = (np.arange(points) + 0.5) / points * 4.0 - 2.0
    free = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    means = np.hstack([free, -free.sum(axis=1, keepdims=True)])
    other = lowest_prob(means, 2)
    weight = np.where(np.abs(means).max(axis=1) < 2.0, (1 - other) ** 3 * other**6, 0.0)
    assert fit_to_grid(np.array(found), free, weight / weight.sum(), 2.0, points, 8) > FALSE_ALARM


def test_equal_candidates_of_several_forms_share(rng):
    """a and b have the same violations, so that one form cannot have more than half."""
    example = tableaux("A B", ("x", "a", 5, "10"), ("x", "b", 0, "10"), ("x", "c", 5, "01"))
    example = example._replace(overt=("p", "q", "p"))
    kernel = hidden_kernel(example, token_counts(overt_forms(example)[0]), OtSettings(pilot=0))
    state = kernel.init(rng, None)
    state, info = kernel.step(rng, state)
    wins = special.ndtr((state.mean[1] - state.mean[0]) / np.sqrt(2))
    assert_allclose(info.log_joint, 10 * np.log(0.5 * wins + (1 - wins)), atol=1e-9)


def test_forms_without_a_possible_parse_are_named_and_left_out(rng):
    assert hidden_problems(FEET) == [
        "LLL → LLS (frequency 5) has no parse that wins under any ranking, and is left out"
    ]
    found = maximise(rng, FEET, starts=2)
    shares = heard(FEET, winning_probs(FEET, found.mean))[1]
    assert_allclose(shares, [2 / 3, 1 / 3, 0, 2 / 3, 1 / 3], atol=1e-5)


def test_runs_from_overt_forms_are_resumed(tmp_path):
    settings, run = OtSettings(pilot=8), RunSettings(chains=2, iterations=12, burn_in=4)
    write_tableaux(FEET._replace(frequency=np.array([20.0, 0, 10, 0, 12, 6])), tmp_path / "t")
    example = read_tableaux(tmp_path / "t")
    start_run(example, tmp_path / "through", settings, run, check=True)
    start_run(example, tmp_path / "stopped", settings, run._replace(iterations=7))
    summary = resume_run(tmp_path / "stopped", 12)
    assert summary["tokens"] == 48
    for name in ("chain-2/trace.tsv", "summary.json", "predictions.json"):
        assert (tmp_path / "through" / name).read_text() == (tmp_path / "stopped" / name).read_text()
    record = json.loads((tmp_path / "through" / "predictions.json").read_text())
    assert len(record["inputs"][0]["candidates"][0]["parses"]) == 2


@pytest.mark.parametrize(
    ("priors", "expected"),
    [({}, stats.uniform(-3, 6)), ({3: (1.0, 2.0)}, stats.truncnorm(-2.0, 1.0, 1.0, 2.0))],
)
def test_constraints_in_which_no_parses_differ_keep_their_prior(rng, priors, expected):
    example = THREE._replace(
        constraints=("A", "B", "C", "D"), violations=np.pad(THREE.violations, ((0, 0), (0, 1)))
    )
    counts = token_counts(overt_forms(example)[0])
    kernel = hidden_kernel(example, counts, OtSettings(truncate=3.0, priors=priors, pilot=8, collapsed=2))
    state, draws = kernel.init(rng, None), []
    for _ in range(400):
        state, _ = kernel.step(rng, state)
        draws.append(state.mean.copy())
    assert stats.kstest(np.array(draws)[:, 3], expected.cdf).pvalue > FALSE_ALARM
    assert_allclose(np.array(draws)[:, :3].sum(axis=1), 0.0, atol=1e-9)


def test_options_that_move_values_are_refused_with_overt_forms():
    counts = token_counts(overt_forms(THREE)[0])
    for settings in (OtSettings(learn_variances=True), OtSettings(truncate=0.0), OtSettings(collapsed=0)):
        with pytest.raises(SettingsError, match="overt forms are learnt from by collapsed moves"):
            hidden_kernel(THREE, counts, settings)


def test_interpreting_what_has_one_parse_is_warned_of(tmp_path, capsys):
    write_tableaux(THREE, tmp_path / "overt")
    write_tableaux(THREE._replace(overt=()), tmp_path / "plain")
    options = ["--seeds", "1", "--trials", "10", "--stages", "1", "--quiet", "--interpret"]
    for name, how, is_idle in (("plain", "rrip", True), ("plain", "rip", False), ("overt", "rrip", False)):
        assert main(["ot", "gla", str(tmp_path / name), *options, how]) == 0
        warning = "warning: --interpret does nothing without an overt column: "
        assert capsys.readouterr().err.startswith(warning) == is_idle


def test_robust_interpretive_parsing_learns_towards_the_best_parse_of_what_is_heard():
    """Where c wins, C is promoted, and the constraint of the better parse of "one" demoted."""
    example = THREE._replace(frequency=np.array([0.0, 1.0, 0.0]))
    settings = GlaSettings(trials=1, stages=1, plasticity=(1.0, 1.0))
    seen = set()
    for seed in range(40):
        moved = learn(example, settings, seed=seed)[0] - 100.0
        seen.add(tuple(np.round(moved).astype(int).tolist()))
    # No change where "one" was what the learner says itself; else C is promoted, and A or B demoted.
    assert seen == {(0, 0, 0), (-1, 0, 1), (0, -1, 1)}


def test_what_sounds_right_teaches_nothing():
    example = THREE._replace(frequency=np.array([1.0, 0.0, 0.0]), overt=("one", "one", "one"))
    for interpretation in ("rip", "rrip"):
        values = learn(example, GlaSettings(trials=200, interpretation=interpretation), seed=3)
        assert np.all(values == 100.0)


@pytest.mark.parametrize("interpretation", ["rip", "rrip"])
def test_learners_from_overt_forms_match_their_shares(interpretation):
    values = learn(THREE, GlaSettings(trials=40_000, interpretation=interpretation), seeds=8)
    shares = [heard(THREE, winning_probs(THREE, row, 2.0))[1][0] for row in values]
    assert_allclose(np.mean(shares), 1 / 3, atol=0.03)


def test_wrong_interpretations_are_refused():
    with pytest.raises(SettingsError, match="--interpret is 'none'; choose from rip, rrip"):
        learn(THREE, GlaSettings(interpretation="none"))


@pytest.mark.parametrize("example", [TABLE_2, FEET._replace(frequency=np.array([20.0, 0, 10, 0, 12, 6]))])
def test_what_goes_on_needs_no_pilot_sweeps(tmp_path, monkeypatch, example):
    write_tableaux(example, tmp_path / "t")
    run = RunSettings(chains=2, iterations=12, burn_in=4)
    start_run(read_tableaux(tmp_path / "t"), tmp_path / "run", OtSettings(pilot=8), run)

    def refused(means, occurring):
        raise AssertionError("pilot sweeps")

    monkeypatch.setattr(gibbs, "covariance_factor", refused)
    resume_run(tmp_path / "run", 14)
    with pytest.raises(AssertionError, match="pilot sweeps"):
        start_run(read_tableaux(tmp_path / "t"), tmp_path / "other", OtSettings(pilot=8), run)
