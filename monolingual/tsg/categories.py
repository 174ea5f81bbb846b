"""Scores label by label, and which labels are taken for which.

Of brackets over the same words in both trees those with equal labels are matched first; what is left on
both sides over the same words is confused, in the order of the labels. What is left over words that the
other tree has no bracket for is missed (gold) or invented (test). Tags are confused word by word.

The fact a newcomer would get wrong: the F1 of a label counts brackets of that label alone; the mean over
labels is not the F1 of all brackets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from monolingual.tsg.score import Brackets

__all__ = ["NONE", "Categories", "Category", "by_category"]

NONE = "—"
"""Stands for no bracket, or no word of that tag."""


class Category(NamedTuple):
    """The brackets of a label: how many match, are in gold, are in the test trees; shares in percent."""

    label: str
    matched: int
    gold: int
    test: int

    @property
    def precision(self) -> float:
        """The share of the test brackets that match."""
        return 100.0 * self.matched / max(1, self.test)

    @property
    def recall(self) -> float:
        """The share of the gold brackets that match."""
        return 100.0 * self.matched / max(1, self.gold)

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        return 200.0 * self.matched / max(1, self.gold + self.test)


class Categories(NamedTuple):
    """What `by_category` found.

    Attributes
    ----------
    categories : tuple of Category
        The most frequent in gold first.
    labels, tags : Counter of (str, str)
        How often a label, or tag, of gold was taken for another; `NONE` for none.
    """

    categories: tuple[Category, ...]
    labels: Counter[tuple[str, str]]
    tags: Counter[tuple[str, str]]


def by_category(pairs: Iterable[tuple[Brackets, Brackets]]) -> Categories:
    """Counts of all sentences, given the brackets of gold and test (`score.compared`)."""
    counts: dict[str, list[int]] = {}
    labels: Counter[tuple[str, str]] = Counter()
    tags: Counter[tuple[str, str]] = Counter()
    for gold, test in pairs:
        both = gold.brackets & test.brackets
        for place, brackets in enumerate((both, gold.brackets, test.brackets)):
            for (label, _, _), times in brackets.items():
                counts.setdefault(label, [0, 0, 0])[place] += times
        labels += _confused(gold.brackets - both, test.brackets - both)
        tags.update((a, b) for a, b in zip(gold.tags, test.tags, strict=True) if a != b)
    found = [Category(label, *numbers) for label, numbers in counts.items()]
    return Categories(tuple(sorted(found, key=lambda entry: (-entry.gold, entry.label))), labels, tags)


def _confused(gold: Counter, test: Counter) -> Counter[tuple[str, str]]:
    """Pairs of labels of unmatched brackets over the same words, and those without a partner."""
    spans: dict[tuple[int, int], tuple[list[str], list[str]]] = {}
    for side, brackets in enumerate((gold, test)):
        for (label, begin, end), times in sorted(brackets.items()):
            spans.setdefault((begin, end), ([], []))[side].extend([label] * times)
    found: Counter[tuple[str, str]] = Counter()
    for left, right in spans.values():
        shared = min(len(left), len(right))
        found.update(zip(left[:shared], right[:shared], strict=True))
        found.update((label, NONE) for label in left[shared:])
        found.update((NONE, label) for label in right[shared:])
    return found
