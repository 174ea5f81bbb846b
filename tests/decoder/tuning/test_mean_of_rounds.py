"""Tuning: the mean of the weights of the rounds with nearly the highest score."""

import contextlib
import json
import re

import numpy as np
import pytest

from decoder.cli import main
from decoder.tuning import tune as tuning
from decoder.tuning.settings import TuneSettings
from decoder.tuning.tune import Round, best_round, tune
from scfg_sampler.core import console
from scfg_sampler.errors import SettingsError
from tests.decoder.test_decoder_commands import models, options  # noqa: F401
from tests.decoder.tuning.test_mira import run_with_long
from tests.decoder.tuning.test_tune import REFERENCES, SOURCES, decoder

SETTINGS = TuneSettings(rounds=6, nbest=4)


def rounds_with(*scores):
    return [Round(number, np.zeros(2), score, 1.0, 5) for number, score in enumerate(scores)]


@pytest.mark.parametrize(
    ("within", "scores", "expected"),
    [
        (5, (30, 50, 45, 44.9, 50), [1, 2, 4]),
        (20, (41.6, 50, 41.7, 10), [1, 2]),
        (0, (30, 50, 50, 49), [1]),
        (1, (0, 0, 0), [0]),
        (1.5, (5, 6, 4.9), [0, 1]),
    ],
)
def test_rounds_with_nearly_the_highest_score_are_near(within, scores, expected):
    assert [each.number for each in tuning.near_best(rounds_with(*scores), within)] == expected


def test_a_mean_has_the_best_rounds_scale_and_every_rounds_share():
    rounds = [
        Round(0, np.array([1.0, -3.0]), 40, 1.0, 1),
        Round(1, np.array([2.0, 0.0]), 50, 1.0, 1),
        Round(2, np.zeros(2), 45, 1.0, 1),
    ]
    # Scaled to 2: (1/2, −3/2), (2, 0) and (0, 0).
    np.testing.assert_allclose(tuning.mean_weights(rounds), [2.5 / 3, -0.5], rtol=1e-15)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_mean_comes_last_and_is_the_result(seed):
    """Of rounds that go up and down; weights and score are as said."""
    every = run_with_long(SETTINGS._replace(seed=seed, within=50))
    alone = run_with_long(SETTINGS._replace(seed=seed, within=0))
    *rounds, mean = every
    assert len(rounds) == len(alone) > 2
    for one, other in zip(rounds, alone, strict=True):
        assert (one.score, one.of) == (other.score, ())
        np.testing.assert_array_equal(one.weights, other.weights)
    highest = max(each.score for each in rounds)
    near = [each for each in rounds if each.score >= highest * 5 / 6]
    assert mean.of == tuple(each.number for each in near)
    assert len(near) > 1
    shares = [each.weights / np.abs(each.weights).sum() for each in near]
    expected = np.mean(shares, axis=0) * np.abs(best_round(alone).weights).sum()
    np.testing.assert_allclose(mean.weights, expected, rtol=1e-12, atol=1e-15)
    assert best_round(every) is mean
    assert mean.number == rounds[-1].number + 1
    assert mean.score >= highest * 5 / 6


def test_a_mean_is_scored_by_what_it_decodes(monkeypatch):
    """The search is asked once for each round and once for the mean, with these weights."""
    asked = []
    decoded = tuning.decoded

    class Recording:
        def __init__(self, context):
            self.context = context

        def __enter__(self):
            under = self.context.__enter__()

            def recorded(weights):
                asked.append(weights)
                return under(weights)

            return recorded

        def __exit__(self, *exception):
            return self.context.__exit__(*exception)

    monkeypatch.setattr(tuning, "decoded", lambda *given: Recording(decoded(*given)))
    every = run_with_long(SETTINGS._replace(within=50))
    assert [list(weights) for weights in asked] == [list(each.weights) for each in every]


def test_a_mean_that_is_not_near_itself_is_left_out(monkeypatch):
    monkeypatch.setattr(tuning, "mean_weights", lambda near: -near[0].weights)
    every = run_with_long(SETTINGS._replace(within=1.5))
    assert [each.of for each in every] == [()] * len(every)


def test_pro_has_the_best_round_alone_unless_told():
    def run(**settings):
        return list(tune(decoder(), SOURCES, REFERENCES, TuneSettings(rounds=4, nbest=20, **settings)))

    assert not run(method="pro")[-1].of
    assert run(method="pro", within=90)[-1].of
    assert run(within=90)[-1].of


def test_saved_rounds_are_gone_on_from_within_other_points(tmp_path):
    def run(**settings):
        given = SETTINGS._replace(rounds=4, nbest=20, **settings)
        return list(tune(decoder(), SOURCES, REFERENCES, given, state=tmp_path / "state"))

    alone = run(within=0)
    saved = sorted(path.name for path in (tmp_path / "state").iterdir())
    again = run(within=90)
    assert [each.score for each in again[:-1]] == [each.score for each in alone]
    assert again[-1].of
    assert sorted(path.name for path in (tmp_path / "state").iterdir()) == saved
    again_too = run(within=90)
    np.testing.assert_array_equal(again_too[-1].weights, again[-1].weights)


@pytest.mark.parametrize("points", [-0.1, float("inf"), float("nan")])
def test_points_out_of_range_are_refused(points):
    with pytest.raises(SettingsError, match=r"--within is .*; it is at least 0, and finite"):
        list(tune(decoder(), SOURCES, REFERENCES, SETTINGS._replace(within=points)))


def test_the_command_writes_the_mean_and_a_table_of_rounds(models, monkeypatch, capsys):  # noqa: F811
    def rounds(decoder, *rest, **options):
        for number, bleu in enumerate([30.0, 50.0, 49.0]):
            yield Round(number, np.arange(5.0) + number, bleu, 1.0, 1)
        yield Round(3, np.arange(5.0) + 7, 49.5, 1.0, 0, of=(0, 1, 2))

    monkeypatch.setattr(tuning, "tune", rounds)
    given = options(models, "--initial", f"{models}/w.json", "--source", f"{models}/source")
    given += ["--references", f"{models}/reference", "--output", f"{models}/mean.json"]
    given.remove("--quiet")
    assert main(["tune", *given]) == 0
    said = capsys.readouterr().err
    assert re.search(r"^ mean  49\.50   1\.000       0", said, re.MULTILINE)
    assert f"{models}/mean.json: the mean weights of rounds 0, 1 and 2, BLEU 49.50 (tokenize none)" in said
    rows = [line.split("\t") for line in (models / "mean.json.rounds.tsv").read_text().splitlines()]
    assert [each[0] for each in rows] == ["round", "0", "1", "2"]
    assert sorted(json.loads((models / "mean.json").read_text()).values()) == [7, 8, 9, 10, 11]


@pytest.mark.parametrize("overwrite", [False, True])
def test_the_command_waits_for_no_rounds_that_are_saved(models, monkeypatch, overwrite):  # noqa: F811
    totals, steps = [], []

    @contextlib.contextmanager
    def progress(description, total):
        totals.append(total)
        steps.clear()
        yield lambda number, note: steps.append(number)

    monkeypatch.setattr(console, "progress", progress)
    given = options(models, "--initial", f"{models}/w.json", "--source", f"{models}/source", "--nbest", "4")
    given += ["--references", f"{models}/reference", "--output", f"{models}/again.json"]
    assert main(["tune", *given, "--rounds", "1"]) == 0
    saved = len(list((models / "again.json.state").iterdir()))
    assert saved == 2
    assert main(["tune", *given, "--rounds", "4", *["--overwrite"] * overwrite]) == 0
    lines = len((models / "source").read_text().splitlines())
    passes = 4 + 1 + 1
    assert totals == [(1 + 1 + 1) * lines, (passes if overwrite else passes - saved) * lines]
    assert sum(steps) <= totals[-1]
