"""Tuning: batch MIRA, alone and in rounds."""

import itertools

import numpy as np
import pytest

from decoder.lm.model import LmVocabulary, build_lm
from decoder.translation.decoder import Decoder
from decoder.tuning import tune as tuning
from decoder.tuning.metrics import metric_of
from decoder.tuning.mira import mira
from decoder.tuning.settings import TuneSettings, resolved
from decoder.tuning.tune import best_round, tune
from scfg_sampler.core.arrays.sparse import no_rows, sparse_rows
from tests.decoder import small_grammars as small
from tests.decoder.lm.test_model import random_model
from tests.decoder.tuning.test_tune import INITIAL

# The first round learns that "a b" is better than "a", and with it to want far too long translations.
WITH_LONG = [
    ("u", "a b", [2, 1]),
    ("v", "b a", [2, 1]),
    ("u", "a", [1, 0]),
    ("v", "b", [1, 0]),
    ("u", " ".join("c" * 60), [60, 0]),
    ("v", " ".join("c" * 60), [60, 0]),
]


def run_with_long(settings):
    model = random_model(5, 2)
    weights = {**INITIAL, "First": -1.0}
    of_long = Decoder(small.grammar_of(WITH_LONG, 5), build_lm(model), LmVocabulary(model.words), weights)
    sources = [list(words) for words in ("uv", "vuu", "uuv", "vv", "uvuv")]
    references = [[" ".join({"u": "a b", "v": "b a"}[word] for word in words).split()] for words in sources]
    return list(tune(of_long, sources, references, settings))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_mira_finds_back_from_translations_that_are_far_too_long(seed):
    """There the hope is the fear, so that nothing is learnt that way; the weights before know better."""
    rounds = run_with_long(TuneSettings(rounds=6, nbest=4, seed=seed))
    assert rounds[1].length_ratio > 20
    assert best_round(rounds).score == pytest.approx(100)


def scores_on(lists, weights):
    return [tuning.list_score(lists, each, metric_of(TuneSettings())) for each in weights]


@pytest.mark.parametrize(("method", "share"), [("mira", 1.0), ("mira", 0.4), ("pro", 0.5)])
def test_rounds_of_mira_set_out_from_the_last_and_from_the_best_weights(method, share, monkeypatch):
    """And new weights are mixed with those that they were found from."""
    calls = []
    optima = tuning._optima

    def recorded(rng, lists, settings, start, reach):
        found = optima(rng, lists, settings, start, reach)
        calls[-1].append((start, found, reach, max(scores_on(lists, [start])), max(scores_on(lists, found))))
        return found

    best_optimum = tuning._best_optimum

    def counted(*args):
        calls.append([])
        return best_optimum(*args)

    monkeypatch.setattr(tuning, "_optima", recorded)
    monkeypatch.setattr(tuning, "_best_optimum", counted)
    settings = TuneSettings(rounds=8, nbest=4, method=method, interpolation=share, threshold=0.0, within=0)
    rounds = run_with_long(settings)
    kinds = set()
    for number, (each, after) in enumerate(itertools.pairwise(rounds)):
        best = max(reversed(rounds[: number + 1]), key=lambda r: r.score)
        expected = [each.weights] if method == "pro" or best is each else [each.weights, best.weights]
        kinds.add((len(expected), best.number > 0))
        at_first = calls[number][: len(expected)]
        after_it, before = (max(call[column] for call in at_first) for column in (4, 3))
        again = method == "mira" and after_it < 0.9 * before
        assert [call[2] for call in calls[number]] == [False] * len(expected) + [True] * len(expected) * again
        for (start, *_), begin in zip(calls[number], expected * 2, strict=False):
            np.testing.assert_array_equal(start, begin)
        mixed = [share * new + (1 - share) * start for start, found, *_ in calls[number] for new in found]
        assert any(np.array_equal(after.weights, weights) for weights in mixed)
    if (method, share) == ("mira", 0.4):
        assert kinds == {(1, False), (1, True), (2, True)}


def naive_mira(order, start, features, statistics, weights, largest_step, reach=False):
    """As the paper's algorithm 2 has it, with a list of all weights; and how often it reached."""
    document, seen, averages, reached = np.ones(10), [], [], 0

    def bleu(total):
        precisions = np.log(total[2:6] / total[6:10]).mean()
        return np.exp(precisions + min(0.0, 1 - total[1] / total[0])) * total[1]

    for visits in order:
        for s in visits:
            rows = range(start[s], start[s + 1])
            if not rows:
                continue
            gain = {row: bleu(document + statistics[row]) for row in rows}
            hope = max(rows, key=lambda row: features[row] @ weights + gain[row])
            fear = max(rows, key=lambda row: features[row] @ weights - gain[row])
            if reach and hope == fear:
                hope = max(rows, key=lambda row: (gain[row], features[row] @ weights))
                reached += hope != fear
            delta = features[hope] - features[fear]
            loss = gain[hope] - gain[fear] - delta @ weights
            if loss > 0 and delta @ delta > 0:
                weights = weights + min(largest_step, loss / (delta @ delta)) * delta
            document = 0.999 * (document + statistics[hope])
            seen.append(weights)
        averages.append(np.mean(seen, axis=0))
    return np.array(averages), reached


@pytest.mark.parametrize("reach", [False, True])
@pytest.mark.parametrize("largest_step", [0.3, 3.0, 1000.0])
def test_mira_is_the_published_algorithm(rng, largest_step, reach):
    """With small steps, with some at their limit, and with none; and reaching for the highest gain."""
    start = np.array([0, 4, 4, 9, 12], np.int64)
    features = rng.normal(size=(12, 3)) * (4 if reach else 1)
    statistics = np.zeros((12, 10), np.int64)
    for row in statistics:
        row[0], row[1] = rng.integers(5, 9), rng.integers(5, 9)
        row[6:] = row[0] - np.arange(4)
        row[2:6] = np.minimum(row[6:], np.sort(rng.integers(0, 6, size=4))[::-1])
    statistics[[5, 11]] = statistics[[4, 10]]  # Of the same gain.
    order = rng.permuted(np.tile(np.arange(4), (6, 1)), axis=1)
    expected, reached = naive_mira(order, start, features, statistics, np.ones(3), largest_step, reach)
    assert (reached > 3) == reach
    for num_columns in (3, 1):  # The others as features that few rules have.
        dense, sparse = features[:, :num_columns].copy(), sparse_rows(features[:, num_columns:])
        found = mira(order, start, dense, sparse, statistics, np.ones(3), largest_step, reach)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_of_equal_gains_mira_reaches_for_the_one_the_model_is_nearest_to():
    """The first of three translations is 40 ahead of the second, and 30 of the third."""
    features = np.array([[40.0, 0.0], [0.0, 1.0], [10.0, 2.0]])
    right = np.array([4, 4, 4, 3, 2, 1, 4, 3, 2, 1])
    statistics = np.array([[40, 4, 0, 0, 0, 0, 40, 39, 38, 37], right, right])
    start = np.array([0, 3], np.int64)
    none = sparse_rows(np.zeros((3, 0)))
    (found,) = mira(np.zeros((1, 1), np.int64), start, features, none, statistics, np.ones(2), 0.01, True)
    np.testing.assert_allclose(found, [1 - 0.01 * 30, 1 + 0.01 * 2], rtol=1e-12)
    (same,) = mira(np.zeros((1, 1), np.int64), start, features, none, statistics, np.ones(2), 0.01, False)
    np.testing.assert_array_equal(same, np.ones(2))


@pytest.mark.parametrize(("after", "expected"), [(0.88, 2.0), (0.92, -1.0)])
def test_mira_reaches_only_where_it_has_lost_its_way(rng, monkeypatch, after, expected):
    """Of 100 translations of a word, that share is right with the weight −1, and all are with 1 and 2."""
    right, wrong = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1], [1, 1, 0, 0, 0, 0, 1, 1, 1, 1]
    signs = np.where(np.arange(100) < 100 * after, 0.0, 1.0)
    features = np.column_stack([signs, -signs]).reshape(-1, 1)
    counts = np.array([right, wrong] * 100, np.int64)
    lists = tuning._Lists(np.arange(101) * 2, features, np.zeros(200), counts, no_rows(200))
    monkeypatch.setattr(tuning, "_optima", lambda *arguments: [np.array([2.0 if arguments[-1] else -1.0])])
    assert scores_on(lists, [np.ones(1), -np.ones(1)]) == pytest.approx([100, 100 * after])
    found, _ = tuning._best_optimum(rng, lists, resolved(TuneSettings()), [np.ones(1)])
    assert found == [expected]


def test_weights_whose_scores_drown_all_gains_are_left_behind(rng):
    """What the weights put first is 60 words long, and no translation that is right comes near its score."""
    sentences = 5
    right, wrong = [4, 4, 4, 3, 2, 1, 4, 3, 2, 1], [60, 4, 1, 0, 0, 0, 60, 59, 58, 57]
    counts = np.array([right, wrong] * sentences, np.int64)
    features = np.array([[0.0, 0.0], [100.0, -20.0]] * sentences)
    lists = tuning._Lists(
        np.arange(sentences + 1) * 2, features, np.zeros(2 * sentences), counts, no_rows(2 * sentences)
    )
    weights = np.array([1.0, 0.0])
    settings = resolved(TuneSettings())
    without = tuning._optima(rng, lists, settings, weights, False)
    np.testing.assert_allclose(without, [weights] * settings.passes)  # Nothing is learnt that way.
    assert scores_on(lists, [weights])[0] < 5
    found, begin = tuning._best_optimum(rng, lists, settings, [weights])
    assert begin is weights
    assert scores_on(lists, [found]) == pytest.approx([100])
