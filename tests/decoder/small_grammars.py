"""Small random grammars, and every derivation of a sentence by plain recursion: the decoder's oracle."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from decoder.grammar.trie import Grammar, GrammarSource, build_grammar
from decoder.lm import model as lms
from scfg_sampler.core.arrays.vocabulary import Vocabulary
from scfg_sampler.rules.table import RuleTable

SOURCE_WORDS = ["u", "v", "w"]
TARGET_WORDS = ["a", "b", "c", "foreign"]  # `random_model` of test_lm knows a, b and c.
FEATURES = ("First", "Second")


def rule_table(rules, feature_names=FEATURES) -> RuleTable:
    """A table of rules given as (source string, target string, feature values); nonterminals are X1, X2, …"""
    source_vocabulary, target_vocabulary = Vocabulary(), Vocabulary()

    def ids(side, vocabulary):
        return [-int(w[1:]) if w[0] == "X" and w[1:].isdigit() else vocabulary.add(w) for w in side.split()]

    sources = [ids(rule[0], source_vocabulary) for rule in rules]
    targets = [ids(rule[1], target_vocabulary) for rule in rules]
    offsets = [
        np.cumsum([0] + [len(side) for side in sides]).astype(np.int64) for sides in (sources, targets)
    ]
    flat = [np.array(list(itertools.chain(*sides)), np.int32) for sides in (sources, targets)]
    features = np.array([rule[2] for rule in rules], np.float32).reshape(len(rules), len(feature_names))
    return RuleTable(
        source_vocabulary,
        target_vocabulary,
        offsets[0],
        flat[0],
        offsets[1],
        flat[1],
        np.zeros(len(rules) + 1, np.int64),
        np.zeros((0, 2), np.int32),
        np.ones(len(rules)),
        features,
        tuple(feature_names),
        "test",
    )


def random_rules(rng: np.random.Generator, num_rules: int = 14, max_arity: int = 3) -> list:
    """Rules of any scope over SOURCE_WORDS: nonterminals anywhere, also next to each other, also alone."""
    rules: dict[tuple[str, str], np.ndarray] = {}
    while len(rules) < num_rules:
        length = int(rng.integers(1, 5))
        source, arity = [], 0
        for _ in range(length):
            if arity < max_arity and rng.random() < 0.45:
                arity += 1
                source.append(f"X{arity}")
            else:
                source.append(str(rng.choice(SOURCE_WORDS)))
        if source == ["X1"]:
            continue
        target = [f"X{k + 1}" for k in range(arity)] + list(
            rng.choice(TARGET_WORDS, size=int(rng.integers(0 if arity else 1, 4)))
        )
        rng.shuffle(target)
        rules[" ".join(source), " ".join(target)] = rng.normal(size=len(FEATURES)).round(3)
    return [(source, target, values) for (source, target), values in rules.items()]


class Derivation(NamedTuple):
    """A rule (index in the table, or START, GLUE, COPY), the children in source order, and the words."""

    rule: int
    children: tuple
    words: tuple[str, ...]


class Oracle:
    """All derivations of a sentence, by recursion on spans."""

    def __init__(self, rules: list, words: list[str], max_span: int, copy_any: bool = False):
        self.copy_any = copy_any
        self.rules = [(source.split(), target.split(), values) for source, target, values in rules]
        self.words = words
        self.max_span = max_span
        self.memo: dict = {}

    def x(self, i: int, j: int) -> list[Derivation]:
        if (i, j) not in self.memo:
            found = []
            if j - i <= self.max_span:
                for r, (source, target, _) in enumerate(self.rules):
                    if len(source) == 1 and source[0].startswith("X"):
                        continue
                    for children in self.match(tuple(source), i, j):
                        found.append(Derivation(r, children, self.spell(target, children)))
            is_source = any(source == [self.words[i]] for source, _, _ in self.rules)
            if j == i + 1 and (self.copy_any or not is_source):
                found.append(Derivation(-3, (), (self.words[i],)))
            self.memo[i, j] = found
        return self.memo[i, j]

    def match(self, source: tuple[str, ...], i: int, j: int):
        if not source:
            if i == j:
                yield ()
            return
        if i >= j:
            return
        if source[0].startswith("X"):
            for k in range(i + 1, j + 1):
                if len(source) == 1 and k < j:
                    continue
                for child in self.x(i, k) if (k - i) < (j - i) or len(source) == 1 else ():
                    for rest in self.match(source[1:], k, j):
                        yield (child, *rest)
        elif self.words[i] == source[0]:
            yield from self.match(source[1:], i + 1, j)

    @staticmethod
    def spell(target, children) -> tuple[str, ...]:
        words: list[str] = []
        for symbol in target:
            if symbol[0] == "X" and symbol[1:].isdigit():
                words.extend(children[int(symbol[1:]) - 1].words)
            else:
                words.append(symbol)
        return tuple(words)

    def s(self, j: int) -> list[Derivation]:
        found = [Derivation(-1, (x,), x.words) for x in self.x(0, j)]
        for k in range(1, j):
            for left, right in itertools.product(self.s(k), self.x(k, j)):
                found.append(Derivation(-2, (left, right), left.words + right.words))
        return found

    def features(self, derivation: Derivation) -> np.ndarray:
        """Those of the table, then Glue and PassThrough; the language model's is not in it."""
        values = np.zeros(len(FEATURES) + 2)
        if derivation.rule >= 0:
            values[: len(FEATURES)] += np.asarray(self.rules[derivation.rule][2], np.float32)
        values[len(FEATURES)] += derivation.rule == -2
        values[len(FEATURES) + 1] += derivation.rule == -3
        for child in derivation.children:
            values += self.features(child)
        return values


def sentence_log_prob(lm, vocabulary, words) -> float:
    """ln p of a sentence, word by word."""
    ids = np.array([vocabulary.id(word) for word in words], np.int32)
    totals, _ = lms.score_sentences(lm, np.array([0, len(ids)], np.int64), ids)
    return float(totals[0])


def grammar_of(rules, max_span: int) -> Grammar:
    return build_grammar([GrammarSource(rule_table(rules), "", max_span)])


def random_weights(rng: np.random.Generator) -> dict[str, float]:
    """Weights of either sign; that of the language model is positive three times out of four."""
    names = (*FEATURES, "LanguageModel", "Glue", "PassThrough")
    weights = dict(zip(names, rng.normal(size=len(names)).round(3).tolist(), strict=True))
    if rng.random() < 0.75:
        weights["LanguageModel"] = abs(weights["LanguageModel"])
    return weights


def all_derivations(rules, words, max_span, weights, lm, vocabulary) -> list[tuple[float, Derivation]]:
    """(score, derivation), best first."""
    oracle = Oracle(rules, words, max_span)
    names = (*FEATURES, "Glue", "PassThrough")
    plain = np.array([weights[name] for name in names])
    scored = [
        (
            float(oracle.features(d) @ plain)
            + weights["LanguageModel"] * sentence_log_prob(lm, vocabulary, d.words),
            d,
        )
        for d in oracle.s(len(words))
    ]
    return sorted(scored, key=lambda pair: -pair[0])


def log_sum(scores) -> float:
    top = max(scores)
    return top + math.log(sum(math.exp(score - top) for score in scores))
