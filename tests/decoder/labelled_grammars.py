"""Small random grammars with labels, and every derivation of a sentence by plain recursion.

Rules are (left-hand side, source side, target side, feature values); gap number k of label L is
written `L:k`. Nothing here is taken from the decoder or from the reader of tables.
"""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np

from tests.decoder.small_grammars import (
    FEATURES,
    SOURCE_WORDS,
    TARGET_WORDS,
    Derivation,
    sentence_log_prob,
)

LABELS = ("X", "A", "B")
_GAP = re.compile(r"([A-Z]+):([0-9])")


def random_labelled_rules(rng: np.random.Generator, num_rules: int = 16) -> list:
    """Rules over SOURCE_WORDS whose unary ones lead from X to A and from both to B alone."""
    rules: dict = {}
    while len(rules) < num_rules:
        left, source, gaps = str(rng.choice(LABELS)), [], []
        for _ in range(int(rng.integers(1, 4))):
            if len(gaps) < 2 and rng.random() < 0.45:
                gaps.append(f"{rng.choice(LABELS)}:{len(gaps) + 1}")
                source.append(gaps[-1])
            else:
                source.append(str(rng.choice(SOURCE_WORDS)))
        if len(source) == len(gaps) == 1 and LABELS.index(source[0][0]) >= LABELS.index(left):
            continue
        words = list(rng.choice(TARGET_WORDS, size=int(rng.integers(0 if gaps else 1, 3))))
        target = gaps + words
        rng.shuffle(target)
        rules[left, " ".join(source), " ".join(target)] = rng.normal(size=len(FEATURES)).round(3)
    return [(*key, values) for key, values in rules.items()]


def write_rules(rules: list, path: Path) -> Path:
    """A table in the native format."""

    def spelled(side: str) -> str:
        return _GAP.sub(r"[\1,\2]", side)

    lines = [
        f"[{left}] ||| {spelled(source)} ||| {spelled(target)} ||| "
        + " ".join(f"{name}={value}" for name, value in zip(FEATURES, values, strict=True))
        for left, source, target, values in rules
    ]
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


class LabelledOracle:
    """All derivations of a sentence, by recursion on spans and labels; with `soft`, gaps take any label."""

    def __init__(self, rules: list, words: list[str], max_span: int, soft: bool = False):
        self.soft = soft
        self.rules = [
            (left, source.split(), target.split(), values) for left, source, target, values in rules
        ]
        self.words, self.max_span = words, max_span
        self.labels = {rule[0] for rule in self.rules} | {"X"}
        self.wanted = {m[1] for _, source, _, _ in self.rules for s in source if (m := _GAP.fullmatch(s))} | {
            "X"
        }
        self.memo: dict = {}

    def derivations(self, label: str, i: int, j: int) -> list[Derivation]:
        """Those of a label over [i, j)."""
        if (label, i, j) not in self.memo:
            found = []
            if j - i <= self.max_span:
                for r, (left, source, target, _) in enumerate(self.rules):
                    if left == label:
                        is_unary = len(source) == 1 and ":" in source[0]
                        for children in self.match(tuple(source), i, j, is_unary):
                            found.append(Derivation(r, children, self.spell(target, children)))
            if j == i + 1 and label in self.wanted and not self.is_source(i):
                found.append(Derivation(-3, (), (self.words[i],)))
            self.memo[label, i, j] = found
        return self.memo[label, i, j]

    def is_source(self, i: int) -> bool:
        return any(source == [self.words[i]] for _, source, _, _ in self.rules)

    def match(self, source: tuple[str, ...], i: int, j: int, is_unary: bool = False):
        """The children of the gaps of a source side that covers [i, j), in every way."""
        if not source or i >= j:
            if not source and i == j:
                yield ()
            return
        gap = _GAP.fullmatch(source[0])
        if gap is None:
            if self.words[i] == source[0]:
                yield from self.match(source[1:], i + 1, j)
            return
        for k in range(i + 1, j + 1):
            if j - k >= len(source) - 1 and (len(source) > 1 or k == j):
                for child in self.fillers(gap[1], i, k, is_unary):
                    for rest in self.match(source[1:], k, j):
                        yield (child, *rest)

    def fillers(self, label: str, i: int, j: int, is_unary: bool) -> list[Derivation]:
        """What fills a gap over [i, j): its label, and another where something else than a copy has it."""
        found = list(self.derivations(label, i, j))
        if self.soft and not is_unary:
            for other in sorted((self.labels | self.wanted) - {label}):
                each = self.derivations(other, i, j)
                if any(d.rule != -3 for d in each):
                    found += [Derivation(-5, (d,), d.words) for d in each]
        return found

    @staticmethod
    def spell(target: list[str], children: tuple) -> tuple[str, ...]:
        words: list[str] = []
        for symbol in target:
            gap = _GAP.fullmatch(symbol)
            words.extend(children[int(gap[2]) - 1].words if gap else [symbol])
        return tuple(words)

    def glued(self, i: int, j: int) -> list[Derivation]:
        """What S takes over [i, j): any label, but of copied words X alone."""
        found = [
            (label, d) for label in sorted(self.labels | self.wanted) for d in self.derivations(label, i, j)
        ]
        only_copied = {
            label for label, _ in found if all(d.rule == -3 for other, d in found if other == label)
        }
        return [d for label, d in found if label == "X" or label not in only_copied]

    def sentences(self, j: int) -> list[Derivation]:
        """The derivations of S over [0, j)."""
        found = [Derivation(-1, (part,), part.words) for part in self.glued(0, j)]
        for k in range(1, j):
            for left, right in itertools.product(self.sentences(k), self.glued(k, j)):
                found.append(Derivation(-2, (left, right), left.words + right.words))
        return found

    def features(self, derivation: Derivation) -> np.ndarray:
        """Those of the table, then Glue, PassThrough and LabelMismatch."""
        values = np.zeros(len(FEATURES) + 3)
        if derivation.rule >= 0:
            values[: len(FEATURES)] += np.asarray(self.rules[derivation.rule][3], np.float32)
        values[len(FEATURES)] += derivation.rule == -2
        values[len(FEATURES) + 1] += derivation.rule == -3
        values[len(FEATURES) + 2] += derivation.rule == -5
        return values + sum((self.features(child) for child in derivation.children), np.zeros(len(values)))


def all_labelled_derivations(rules, words, max_span, weights, lm, vocabulary) -> list:
    """(score, derivation), best first; labels are soft if LabelMismatch has a weight."""
    oracle = LabelledOracle(rules, words, max_span, "LabelMismatch" in weights)
    names = (*FEATURES, "Glue", "PassThrough", "LabelMismatch")
    plain = np.array([weights.get(name, 0.0) for name in names])
    scored = [
        (
            float(oracle.features(each) @ plain)
            + weights["LanguageModel"] * sentence_log_prob(lm, vocabulary, each.words),
            each,
        )
        for each in oracle.sentences(len(words))
    ]
    return sorted(scored, key=lambda pair: -pair[0])
