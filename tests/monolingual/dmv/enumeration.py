"""All projective dependency trees with one root, and the model's weights, as its definition says."""

from __future__ import annotations

import functools
import itertools

import numpy as np

from monolingual.dmv.layout import num_parameters


@functools.cache
def projective_trees(n: int) -> list[tuple[int, ...]]:
    """Heads (from 1, 0 for the root) of every tree of n words, found by trying all."""
    return [heads for heads in itertools.product(range(n + 1), repeat=n) if is_projective(heads)]


def is_projective(heads) -> bool:
    """One root, no cycle, and between a head and its dependent only descendants of the head."""
    n = len(heads)
    if sum(head == 0 for head in heads) != 1:
        return False
    for word in range(1, n + 1):
        at, steps = word, 0
        while at and steps <= n:
            at, steps = heads[at - 1], steps + 1
        if at:
            return False

    def below(word, head):
        while word and word != head:
            word = heads[word - 1]
        return word == head

    return all(
        below(between, head)
        for word, head in enumerate(heads, start=1)
        if head
        for between in range(min(word, head), max(word, head))
    )


def tree_counts(layout, tags, heads) -> np.ndarray:
    """Uses of each parameter in a tree, straight from equation 12."""
    counts = np.zeros(num_parameters(layout))
    T, V = layout.num_tags, layout.child_valences
    for h, tag in enumerate(tags):
        if heads[h] == 0:
            counts[tag] += 1
        sides = (range(h - 1, -1, -1), range(h + 1, len(tags)))
        for direction, side in enumerate(sides):
            dependents = [m for m in side if heads[m] == h + 1]
            stop = T + 8 * tag + 4 * direction
            for number, m in enumerate(dependents):
                valence = min(number, 1)
                counts[stop + 2 * valence + 1] += 1
                child = ((tag * 2 + direction) * V + min(valence, V - 1)) * T
                counts[9 * T + child + tags[m]] += 1
            counts[stop + 2 * (len(dependents) > 0)] += 1
    return counts


def tree_weights(layout, tags, weights) -> np.ndarray:
    """The weight of every tree of `projective_trees`."""
    rows = [tree_counts(layout, tags, heads) for heads in projective_trees(len(tags))]
    return np.exp(np.array(rows) @ np.log(weights))
