"""Tuning: pairwise ranking optimisation, and what it has in common with batch MIRA."""

import argparse
import itertools
import json

import numpy as np
import pytest
from sacrebleu.metrics.chrf import CHRF

from decoder.commands.tune import _warn_of_unknown_words
from decoder.lm.model import LmVocabulary, build_lm
from decoder.scoring.bleu_statistics import bleu_plus_one, bleu_statistics
from decoder.translation.decoder import Decoder
from decoder.tuning import tune as tuning
from decoder.tuning.metrics import Translations, metric_of
from decoder.tuning.settings import TuneSettings
from decoder.tuning.tune import Round, best_round, optimise, tune
from scfg_sampler.core.arrays.sparse import no_rows
from scfg_sampler.errors import CheckpointMismatch, InputError, SettingsError
from tests.decoder import small_grammars as small
from tests.decoder.lm.test_model import random_model

# The good translations have a high second feature, but the first is what the weights begin with.
RULES = [
    ("u", "a", [0, 1]),
    ("u", "b", [1, 0]),
    ("v", "b", [0, 1]),
    ("v", "c", [1, 0]),
    ("w", "c a", [0, 1]),
    ("w", "a c", [1, 0]),
]
SOURCES = [list(words) for words in ("uvwuv", "wwvu", "", "vuvuw", "xvuw")]
GOOD = {"u": "a", "v": "b", "w": "c a", "x": "x"}
REFERENCES = [[" ".join(GOOD[word] for word in words).split()] for words in SOURCES]
INITIAL = {"First": 1.0, "Second": 0.0, "LanguageModel": 0.1, "Glue": 0.0, "PassThrough": 0.0}


def decoder() -> Decoder:
    model = random_model(5, 2)
    return Decoder(small.grammar_of(RULES, 5), build_lm(model), LmVocabulary(model.words), INITIAL)


def run(settings=None, **options):
    settings = settings or TuneSettings(rounds=4, nbest=20)
    return list(tune(decoder(), SOURCES, REFERENCES, settings, **options))


def test_separable_translations_are_learnt():
    rounds = run()
    assert rounds[0].score < 60
    best = best_round(rounds)
    assert best.score == pytest.approx(100)
    found = decoder().with_weights(best.weights)
    for words, (reference,) in zip(SOURCES, REFERENCES, strict=True):
        assert found.translate(words).words == reference


def test_new_weights_are_a_mixture_with_the_old_ones():
    """The first optimum does not depend on the share ψ: w′ = ψ optimum + (1 − ψ) w."""
    before, whole, part = (
        run(TuneSettings(rounds=1, nbest=20, interpolation=share))[number].weights
        for share, number in ((1.0, 0), (1.0, 1), (0.25, 1))
    )
    assert np.abs(whole - before).max() > 0.1
    np.testing.assert_allclose(part, 0.25 * whole + 0.75 * before, rtol=1e-12)


def test_best_round_is_the_first_of_the_highest_bleu():
    rounds = [Round(number, np.zeros(2), bleu, 1.0, 5) for number, bleu in enumerate([30, 50, 41, 50, 49])]
    assert best_round(rounds).number == 1


def test_translations_are_counted_and_kept_once():
    """No list is cut off, so that the first round finds all there are, and the second nothing new."""
    settings = TuneSettings(rounds=5, nbest=10_000, method="pro")
    first, second = run(settings)
    assert (first.num_new, second.num_new) == (sum(map(num_translations, SOURCES)), 0)
    few = run(settings._replace(nbest=5))
    assert len(few) > 2
    assert sum(found.num_new for found in few) <= first.num_new


def num_translations(words) -> int:
    """How many strings a sentence can become; u, v and w have two translations each."""
    options = {"u": ("a", "b"), "v": ("b", "c"), "w": ("c a", "a c"), "x": ("x",)}
    return len({" ".join(each) for each in itertools.product(*(options[word] for word in words))})


def test_equal_seeds_give_equal_weights_and_others_do_not():
    one, again = run(), run(where=3)
    np.testing.assert_array_equal(one[-1].weights, again[-1].weights)
    other = run(TuneSettings(rounds=4, nbest=20, candidates=30, seed=2))
    assert not np.array_equal(
        run(TuneSettings(rounds=4, nbest=20, candidates=30))[1].weights, other[1].weights
    )


def test_resumed_tuning_equals_tuning_in_one_go(tmp_path, monkeypatch):
    expected = run()
    assert len(expected) > 2
    partial = run(TuneSettings(rounds=1, nbest=20), state=tmp_path / "state")
    assert len(partial) == 2
    decoded: list[int] = []
    decode = tuning._lists_of

    def counted(*args):
        decoded.append(1)
        return decode(*args)

    monkeypatch.setattr(tuning, "_lists_of", counted)
    resumed = run(state=tmp_path / "state")
    assert len(decoded) == len(expected) - 2
    for one, other in zip(expected, resumed, strict=True):
        np.testing.assert_array_equal(one.weights, other.weights)
        assert one[2:] == other[2:]


def test_state_of_other_settings_or_data_is_refused(tmp_path):
    run(TuneSettings(rounds=1, nbest=20), state=tmp_path, identity={"lm": "abc"})
    with pytest.raises(CheckpointMismatch, match="other lm, seed"):
        run(TuneSettings(rounds=1, nbest=20, seed=2), state=tmp_path, identity={"lm": "abd"})


def test_damaged_state_is_refused(tmp_path):
    (tmp_path / "round-000.npz").write_bytes(b"PK\x03\x04 half a file")
    with pytest.raises(InputError, match=r"round-000\.npz: not a saved round"):
        run(state=tmp_path)


def rewritten(path, name, change, *, with_digest=True) -> None:
    """Change an array of a saved round; with its digest, as somebody would who knew how."""
    with np.load(path) as saved:
        arrays = dict(saved)
    del arrays["digest"]
    before = tuning._digest(arrays)
    arrays[name] = change(arrays[name])
    digest = tuning._digest(arrays) if with_digest else before
    np.savez(path, digest=np.array(digest), **arrays)


def test_a_changed_round_does_not_match_its_digest(tmp_path):
    run(state=tmp_path)
    rewritten(tmp_path / "round-000.npz", "scores", lambda scores: scores + 1, with_digest=False)
    with pytest.raises(InputError, match=r"round-000\.npz: a saved round that does not match its digest"):
        run(state=tmp_path)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("features", lambda array: array[:, :-1]),
        ("features", lambda array: array[:-1]),
        ("features", lambda array: array.astype(np.float32)),
        ("features", lambda array: array * np.nan),
        ("scores", lambda array: array[None]),
        ("counts", lambda array: array[:, :2]),
        ("start", lambda array: array + 1),
        ("start", lambda array: array[:-1]),
        ("start", lambda array: array - np.eye(len(array), dtype=array.dtype)[1] * 10**6),
        ("statistics", lambda array: array[:1]),
    ],
)
def test_wrong_arrays_of_a_round_are_refused_whatever_their_digest(tmp_path, name, change):
    run(state=tmp_path)
    rewritten(tmp_path / "round-000.npz", name, change)
    with pytest.raises(InputError, match=r"round-000\.npz: not a saved round"):
        run(state=tmp_path)


def test_weights_minimise_the_logistic_loss(rng):
    truth = np.array([1.0, -2.0, 0.5])
    differences = rng.normal(size=(300, 3))
    differences *= np.where(rng.random(300) < 1 / (1 + np.exp(-differences @ truth)), 1, -1)[:, None]
    found = optimise(differences, 0.3, np.zeros(3))
    margins = differences @ found
    gradient = -(1 / (1 + np.exp(margins))) @ differences + 0.3 * found
    assert np.abs(gradient).max() < 1e-3
    assert found @ truth / np.linalg.norm(found) / np.linalg.norm(truth) > 0.95


def test_pairs_are_the_widest_of_those_drawn_and_never_below_the_threshold():
    start = np.array([0, 4, 5, 8], np.int64)
    scores = np.array([0.1, 0.5, 0.52, 0.9, 0.3, 0.2, 0.21, 0.22])
    features = scores[:, None] * [[1.0, -1.0]]
    pairs, rows = tuning._sample_pairs(np.random.default_rng(1), start, features, scores, 2000, 150, 0.05)
    # All of the last sentence's differences are below the threshold, and the second has one translation.
    np.testing.assert_array_equal(pairs, features[rows[:, 0]] - features[rows[:, 1]])
    assert len(pairs) == 150
    np.testing.assert_allclose(pairs, np.repeat([[0.8, -0.8]], 150, axis=0))
    few, _ = tuning._sample_pairs(np.random.default_rng(1), start, features, scores, 40, 300, 0.05)
    many, _ = tuning._sample_pairs(np.random.default_rng(1), start, features, scores, 40, 10**12, 0.05)
    np.testing.assert_array_equal(many, few)  # Room is made for no more than are drawn.
    gaps = few[:, 0]
    assert (np.diff(gaps) <= 1e-12).all()
    assert gaps.min() >= 0.05
    assert set(np.round(gaps, 6)) <= {0.8, 0.4, 0.42, 0.38}


def test_smooth_brevity_counts_references_as_a_word_longer():
    statistics = bleu_statistics(
        np.array([0, 3], np.int64),
        np.array([1, 2, 3], np.int32),
        np.array([0, 3], np.int64),
        np.array([1, 2, 3], np.int32),
    )
    assert bleu_plus_one(statistics)[0] == pytest.approx(1.0)
    assert bleu_plus_one(statistics, 1)[0] == pytest.approx(np.exp(1 - 4 / 3))
    assert metric_of(TuneSettings(smooth_brevity=False)).scores(statistics)[0] == pytest.approx(1.0)
    assert metric_of(TuneSettings(smooth_brevity=True)).scores(statistics)[0] == pytest.approx(np.exp(-1 / 3))


@pytest.mark.parametrize("random_starts", [0, 2])
@pytest.mark.parametrize("method", ["pro", "mira"])
def test_both_methods_learn_from_any_start(method, random_starts):
    settings = TuneSettings(rounds=4, nbest=20, method=method, random_starts=random_starts, interpolation=0.8)
    one, again = run(settings), run(settings, where=2)
    assert one[0].score < 60
    assert best_round(one).score == pytest.approx(100)
    np.testing.assert_array_equal(one[-1].weights, again[-1].weights)


def test_rounds_that_older_versions_saved_are_not_gone_on_from(tmp_path):
    run(TuneSettings(rounds=1, nbest=20), state=tmp_path)

    def older(header):
        return np.array(json.dumps({k: v for k, v in json.loads(str(header)).items() if k != "version"}))

    rewritten(tmp_path / "round-001.npz", "header", older)
    with pytest.raises(CheckpointMismatch, match="begun with other version"):
        run(TuneSettings(rounds=3, nbest=20), state=tmp_path)


def test_bleu_of_lists_is_that_of_the_translations_put_first():
    statistics = np.array([[4, 4, 4, 3, 2, 1, 4, 3, 2, 1], [4, 4, 0, 0, 0, 0, 4, 3, 2, 1]], np.int64)
    lists = tuning._Lists(np.array([0, 2, 2]), np.array([[1.0], [-1.0]]), np.zeros(2), statistics, no_rows(2))
    assert tuning.list_score(lists, np.ones(1), metric_of(TuneSettings())) == pytest.approx(100)
    assert tuning.list_score(lists, -np.ones(1), metric_of(TuneSettings())) == 0


def test_several_references_make_room_for_other_translations():
    references = [[["no", "such", "words", "here", "at", "all"], *row] for row in REFERENCES]
    best = best_round(list(tune(decoder(), SOURCES, references, TuneSettings(rounds=4, nbest=20))))
    assert best.score == pytest.approx(100)


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ({"rounds": -1}, "--rounds is -1"),
        ({"nbest": 1}, "--nbest is 1"),
        ({"interpolation": 0.0}, "--interpolation is 0.0"),
        ({"l2": float("nan")}, "--l2 is nan"),
        ({"l2": float("inf")}, "--l2 is inf"),
        ({"threshold": -0.1}, "--threshold is -0.1"),
        ({"threshold": float("inf")}, "--threshold is inf"),
        ({"threshold": 5.0}, "--threshold is 5.0; it is from 0 to 1"),
        ({"kept": 0}, "--kept is 0"),
        ({"method": "mert"}, "--method is mert; choose from mira, pro"),
        ({"random_starts": -1}, "--random-starts is -1"),
        ({"passes": 0}, "--passes is 0"),
        ({"largest_step": 0.0}, "--largest-step is 0.0"),
        ({"largest_step": float("inf")}, "--largest-step is inf"),
    ],
)
def test_settings_out_of_range_are_refused(setting, complaint):
    with pytest.raises(SettingsError, match=complaint):
        run(TuneSettings(**setting))


def test_header_of_the_state_is_json(tmp_path):
    run(TuneSettings(rounds=0, nbest=5), state=tmp_path, identity={"lm": "abc"})
    with np.load(tmp_path / "round-000.npz") as saved:
        assert json.loads(str(saved["header"]))["lm"] == "abc"


def test_chrf_is_what_weights_are_tuned_for_if_asked():
    """Words of the references that are all wrong but for a letter tell nothing by BLEU, and all by chrF."""
    references = [[[f"{word}z" for word in reference]] for (reference,) in REFERENCES]
    settings = TuneSettings(rounds=4, nbest=20, metric="chrf", threshold=0.0)
    rounds = list(tune(decoder(), SOURCES, references, settings))
    best = best_round(rounds)
    found = decoder().with_weights(best.weights)
    translations = [found.translate(words).words for words in SOURCES]
    assert translations == [list(reference) for (reference,) in REFERENCES]
    metric = CHRF()
    texts = (
        [" ".join(words) for words in translations],
        [[" ".join(reference) for (reference,) in references]],
    )
    assert best.score == pytest.approx(metric.corpus_score(*texts).score, abs=1e-9)
    assert best.score > rounds[0].score + 2
    assert best.length_ratio == pytest.approx(0.5)


def test_chrf_counts_recall_as_told():
    metric = metric_of(TuneSettings(metric="chrf", chrf_beta=1.0))
    assert metric.name == "chrF, β 1"
    words = ["abcd", "abcdefgh"]
    found = Translations(np.array([0, 1, 2]), np.array([0, 1], np.int32), words.__getitem__, words.index)
    counts = metric.counts_of(found, [["abcdef"]])
    expected = [CHRF(beta=1).sentence_score(word, ["abcdef"]).score for word in words]
    assert 100 * metric.scores(counts) == pytest.approx(expected)
    assert metric.of_text(counts[0]) == pytest.approx(expected[0])
    assert metric_of(TuneSettings(metric="chrf")).name == "chrF"


@pytest.mark.parametrize("beta", [0.0, -1.0, 1001.0, float("nan")])
def test_recall_that_counts_for_nothing_or_all_is_refused(beta):
    with pytest.raises(SettingsError, match="at most 1000"):
        run(TuneSettings(metric="chrf", chrf_beta=beta))


def test_chrf_counts_characters_without_marks_and_spaces():
    words = ["▁ab", "c", "￭,", "␛wd"]
    found = Translations(
        np.array([0, 4, 5]), np.array([0, 1, 2, 3, 1], np.int32), words.__getitem__, words.index
    )
    counts = metric_of(TuneSettings(metric="chrf")).counts_of(found, [["a", "▁bc,", "␛w", "d"]])
    assert counts[0].tolist() == [n for order in range(1, 7) for n in 3 * [7 - order]]
    assert counts[1, :3].tolist() == [1, 6, 1]


def test_share_of_right_translations_is_what_weights_are_tuned_for_if_asked():
    settings = TuneSettings(rounds=4, nbest=20, metric="exact")
    rounds = list(tune(decoder(), SOURCES, REFERENCES, settings))
    best = best_round(rounds)
    found = [decoder().with_weights(best.weights).translate(words).words for words in SOURCES]
    right = [
        words != [] and words in [list(reference) for reference in row]
        for words, row in zip(found, REFERENCES, strict=True)
    ]
    assert [] in found
    assert best.score == pytest.approx(100 * np.mean(right))
    assert best.score > rounds[0].score


def test_right_is_any_reference_and_all_of_it():
    words = ["a", "b", "c"]
    found = Translations(
        np.array([0, 2, 3, 3, 5]), np.array([0, 1, 0, 1, 0], np.int32), words.__getitem__, words.index
    )
    metric = metric_of(TuneSettings(metric="exact"))
    counts = metric.counts_of(found, [["a", "b"], ["a"]])
    assert counts.tolist() == [[2, 2, 1, 1], [1, 2, 1, 1], [0, 2, 0, 1], [2, 2, 0, 1]]
    assert metric.scores(counts).tolist() == [1.0, 1.0, 0.0, 0.0]
    assert metric.of_text(counts.sum(axis=0)) == 50.0
    assert metric.length_ratio(counts.sum(axis=0)) == 5 / 8
    # Nothing is no right translation, as `evaluate` has it.
    assert metric.counts_of(found, [[]])[:, 2].tolist() == [0, 0, 0, 0]


def test_mira_is_for_bleu_alone():
    with pytest.raises(SettingsError, match="--method mira is for BLEU alone"):
        run(TuneSettings(method="mira", metric="chrf"))


def test_unknown_metric_is_refused():
    with pytest.raises(SettingsError, match="--metric is ter; choose from bleu, chrf, exact"):
        run(TuneSettings(metric="ter"))


def test_state_of_another_metric_is_refused(tmp_path):
    run(TuneSettings(rounds=1, nbest=20), state=tmp_path)
    with pytest.raises(CheckpointMismatch, match=r"other .*metric"):
        run(TuneSettings(rounds=1, nbest=20, metric="chrf"), state=tmp_path)


def test_state_of_another_beta_is_refused(tmp_path):
    run(TuneSettings(rounds=1, nbest=20, metric="chrf"), state=tmp_path)
    with np.load(tmp_path / "round-000.npz") as saved:
        assert "chrf_beta" not in json.loads(str(saved["header"]))  # As before there was a choice.
    with pytest.raises(CheckpointMismatch, match="chrf"):
        run(TuneSettings(rounds=1, nbest=20, metric="chrf", chrf_beta=1.0), state=tmp_path)


def test_state_of_bleu_is_that_of_versions_without_other_metrics(tmp_path):
    run(TuneSettings(rounds=1, nbest=20), state=tmp_path)
    with np.load(tmp_path / "round-000.npz") as saved:
        assert "metric" not in json.loads(str(saved["header"]))


@pytest.mark.parametrize(
    ("source", "reference", "said"),
    [
        ("u v x", "a b y", []),
        ("a b u", "a b c", ["F: 2 of 3 words are in no rule; are the languages swapped"]),
        ("u v w", "u v a", ["E1, E2: 2 of 3 words are in no rule; are the languages swapped"]),
    ],
)
def test_texts_of_which_the_rules_know_less_than_half_are_remarked_on(capsys, source, reference, said):
    options = argparse.Namespace(source="F", references=["E1", "E2"])
    texts = [source.split()], [[reference.split()]]
    _warn_of_unknown_words(small.grammar_of(RULES, 5), *texts, options)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == len(said)
    for line, expected in zip(lines, said, strict=True):
        assert expected in line
