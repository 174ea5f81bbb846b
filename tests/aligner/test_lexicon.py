"""IBM Model 1 against a spelled-out twin, and word pairs by their places."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from scfg_sampler.aligner.lexicon import learn_lexicon
from tests.aligner.corpora import SOURCE, TARGET, random_sides, text_of


def model_1(given, made, passes):
    """P(made word | given word) by words, "" being no word."""
    pairs = [([*one.split(), ""], other.split()) for one, other in zip(given, made, strict=True)]
    probs = {(f, e): 1.0 for one, other in pairs for f in one for e in other}
    for _ in range(passes):
        counts, totals = defaultdict(float), defaultdict(float)
        for one, other in pairs:
            for e in other:
                total = sum(probs[f, e] for f in one)
                for f in one:
                    counts[f, e] += probs[f, e] / total
                    totals[f] += probs[f, e] / total
        probs = {(f, e): counts[f, e] / totals[f] for f, e in probs}
    return probs


@pytest.mark.parametrize("passes", [1, 5])
@pytest.mark.parametrize("sides", [(SOURCE, TARGET), random_sides(1, pairs=300, longest=9, words=90)])
def test_both_directions_are_those_of_a_spelled_out_twin(sides, passes):
    source, target = sides
    (source_text, source_numbers), (target_text, target_numbers) = map(text_of, sides)
    lexicon = learn_lexicon(source_text, target_text, passes)
    forward, backward = model_1(source, target, passes), model_1(target, source, passes)
    for sentence, (one, other) in enumerate(zip(source, target, strict=True)):
        words = [(f, e) for f in one.split() for e in other.split()]
        numbers = lexicon.pair[lexicon.start[sentence] : lexicon.start[sentence + 1]]
        expected = [forward[pair] for pair in words]
        np.testing.assert_allclose(lexicon.target_given_source[numbers], expected, rtol=1e-10)
        expected = [backward[e, f] for f, e in words]
        np.testing.assert_allclose(lexicon.source_given_target[numbers], expected, rtol=1e-10)
    for word, number in target_numbers.items():
        assert lexicon.target_alone[number] == pytest.approx(forward["", word], rel=1e-10)
        assert lexicon.target_share[number] == pytest.approx(
            " ".join(target).split().count(word) / len(target_text.words)
        )
    for word, number in source_numbers.items():
        assert lexicon.source_alone[number] == pytest.approx(backward["", word], rel=1e-10)


def test_pairs_without_words_on_a_side_have_no_places():
    (source, _), (target, _) = text_of(["a", "", "b"]), text_of(["x", "y", ""])
    lexicon = learn_lexicon(source, target)
    assert lexicon.start.tolist() == [0, 1, 1, 1]
    assert np.isfinite(lexicon.target_given_source).all()


def test_each_word_pair_has_one_number():
    sides = random_sides(2, pairs=400, longest=9, words=200)  # More than the first table of pairs holds.
    (source, _), (target, _) = map(text_of, sides)
    lexicon = learn_lexicon(source, target, 1)
    seen = {}
    for sentence in range(len(source.start) - 1):
        at = lexicon.start[sentence]
        for f in source.words[source.start[sentence] : source.start[sentence + 1]].tolist():
            for e in target.words[target.start[sentence] : target.start[sentence + 1]].tolist():
                assert seen.setdefault((f, e), lexicon.pair[at]) == lexicon.pair[at]
                at += 1
    assert len(seen) == len(lexicon.target_given_source) == len(set(seen.values())) > 1 << 12


def test_nothing_is_learnt_of_pairs_that_are_too_long():
    """Whose word pairs would take room for every two of their words."""
    long = " ".join(f"w{k}" for k in range(1024))
    (source, _), (target, _) = text_of(["a b", long, "a"]), text_of(["x y", "x", "x"])
    lexicon = learn_lexicon(source, target)
    assert np.diff(lexicon.start).tolist() == [4, 0, 1]
    alone = learn_lexicon(*(text_of(side)[0] for side in (["a b", "a"], ["x y", "x"])))
    np.testing.assert_allclose(lexicon.target_given_source, alone.target_given_source, rtol=1e-12)
    (source, _), (target, _) = text_of([long]), text_of(["x"])
    assert np.isfinite(learn_lexicon(source, target).target_alone).all()
