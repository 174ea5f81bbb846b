"""Cases with several language models, of other orders and vocabularies, and their enumeration."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decoder.grammar.trie import Grammar
from decoder.grammar.weighted import with_unknown_words
from decoder.lm.model import LanguageModel, LmVocabulary, build_lm
from decoder.translation.decoder import Decoder
from tests.decoder import small_grammars as small
from tests.decoder.lm.test_model import random_model

WORDS = [["a", "b", "c"], ["foreign", "c", "b"], ["c", "x", "a"]]  # What each model knows.


class Case(NamedTuple):
    """A sentence, what a decoder of it takes, and its derivations as (score, features, words), best first."""

    grammar: Grammar
    lms: tuple[LanguageModel, ...]
    vocabularies: tuple[LmVocabulary, ...]
    weights: dict[str, float]
    words: list[str]
    derivations: list[tuple[float, dict[str, float], tuple[str, ...]]]

    def decoder(self, **options) -> Decoder:
        """A decoder, exact unless told otherwise."""
        exact = {"beam": 0, "max_targets": 0, **options}
        return Decoder(self.grammar, self.lms, self.vocabularies, self.weights, **exact)


def case(seed: int, num_models: int, *, unknown: bool = False, length: int = 5) -> Case:
    """A random case; with `unknown`, words that the last model does not know are counted."""
    rng = np.random.default_rng(1000 + seed)
    rules = small.random_rules(rng, 12)
    words = [
        str(word) for word in rng.choice([*small.SOURCE_WORDS, "x"], size=int(rng.integers(1, length + 1)))
    ]
    max_span = int(rng.integers(2, 6))
    orders = rng.permutation([1, 2, 3, 4])[:num_models]
    models = [
        random_model(seed % 50 + 7 * i, int(order))._replace(words=["<unk>", "<s>", "</s>", *WORDS[i]])
        for i, order in enumerate(orders)
    ]
    names = ["LanguageModel", *(f"LanguageModel_{i}" for i in range(1, num_models))]
    weights = small.random_weights(rng) | {name: round(rng.normal(), 3) for name in names[1:]}
    if unknown:
        weights[f"{names[-1]}_OOV"] = -0.7
    lms = tuple(build_lm(model) for model in models)
    vocabularies = tuple(LmVocabulary(model.words) for model in models)
    grammar = with_unknown_words(small.grammar_of(rules, max_span), vocabularies, weights)
    derivations = []
    oracle = small.Oracle(rules, words, max_span)
    for derivation in oracle.s(len(words)):
        values = dict(zip((*small.FEATURES, "Glue", "PassThrough"), oracle.features(derivation), strict=True))
        for name, lm, vocabulary in zip(names, lms, vocabularies, strict=True):
            values[name] = small.sentence_log_prob(lm, vocabulary, derivation.words)
        if unknown:
            known = WORDS[num_models - 1]
            values[f"{names[-1]}_OOV"] = sum(word not in known for word in derivation.words)
        score = sum(weights[name] * value for name, value in values.items())
        derivations.append((score, values, derivation.words))
    derivations.sort(key=lambda each: -each[0])
    return Case(grammar, lms, vocabularies, weights, words, derivations)
