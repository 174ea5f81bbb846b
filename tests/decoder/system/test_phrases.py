"""Phrases are read off derivations: each word of both sides is in exactly one, the one of its rule."""

from __future__ import annotations

import numpy as np
import pytest

from decoder.lm.model import LmVocabulary, build_lm
from decoder.system.phrases import phrases_of
from decoder.translation.decoder import Decoder
from tests.decoder import small_grammars as small
from tests.decoder.lm.test_model import random_model


def models(seed):
    arpa = random_model(seed, 2)
    return build_lm(arpa), LmVocabulary(arpa.words)


def expected(rules, derivation, begin, phrases):
    """The phrases of a derivation that begins at a source word, in preorder; the target as numbers of
    phrases.

    Returns the end of its source side, and its target side.
    """
    if derivation.rule in (-1, -2):
        words = []
        for child in derivation.children:
            begin, more = expected(rules, child, begin, phrases)
            words += more
        return begin, words
    number = len(phrases)
    phrases.append(([], derivation.rule == -3))
    if derivation.rule == -3:
        phrases[number][0].append(begin)
        return begin + 1, [number]
    source, target, _ = rules[derivation.rule]
    sides = []
    for symbol in source.split():
        if symbol[0] == "X":
            begin, side = expected(rules, derivation.children[len(sides)], begin, phrases)
            sides.append(side)
        else:
            phrases[number][0].append(begin)
            begin += 1
    words = []
    for symbol in target.split():
        words += sides[int(symbol[1:]) - 1] if symbol[0] == "X" and symbol[1:].isdigit() else [number]
    return begin, words


def shown(phrases):
    return sorted((tuple(source), tuple(target), copied) for source, target, copied in phrases)


@pytest.mark.parametrize("seed", range(40))
def test_phrases_are_those_of_the_best_derivation(seed):
    rng = np.random.default_rng(seed)
    rules = small.random_rules(rng)
    words = rng.choice([*small.SOURCE_WORDS, "other"], size=5).tolist()
    lm, vocabulary = models(seed)
    weights = small.random_weights(rng)
    decoder = Decoder(small.grammar_of(rules, 5), lm, vocabulary, weights, beam=0, max_targets=0)
    result = decoder.search(words)
    translation = decoder.best(result)
    ranked = small.all_derivations(rules, words, 5, weights, lm, vocabulary)
    best = [derivation for score, derivation in ranked if score > ranked[0][0] - 1e-9]
    found = phrases_of(decoder, result, translation)
    candidates = []
    for derivation in best:
        phrases = []
        end, target = expected(rules, derivation, 0, phrases)
        assert end == len(words)
        both = [
            (source, [at for at, owner in enumerate(target) if owner == number], copied)
            for number, (source, copied) in enumerate(phrases)
        ]
        candidates.append(shown(both))
    assert shown(found) in candidates


def test_gaps_and_new_orders_by_hand():
    rules = [("u X1 v X2", "X2 a X1 b", (5, 0)), ("w", "c c", (0, 0)), ("u", "b", (0, 0))]
    lm, vocabulary = models(1)
    weights = {"First": 1.0, "Second": 0.0, "LanguageModel": 0.0, "Glue": -1.0, "PassThrough": 0.0}
    decoder = Decoder(small.grammar_of(rules, 9), lm, vocabulary, weights, beam=0)
    result = decoder.search(["u", "w", "v", "odd", "u"])
    translation = decoder.best(result)
    assert translation.words == ["odd", "a", "c", "c", "b", "b"]
    assert phrases_of(decoder, result, translation) == [
        ([0, 2], [1, 4], False),
        ([1], [2, 3], False),
        ([3], [0], True),
        ([4], [5], False),
    ]
