"""Attachment accuracy of dependency trees, by length of the sentence.

directed    the share of words that have the right head (the root's is the sentence itself)
undirected  the share of words whose arc joins two words that gold joins, whichever is the head
root        the share of sentences whose root is right

beside two baselines that know nothing: each word attached to the next one, the last being the root, or to the
one before.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["LENGTHS", "attach_left", "attach_right", "evaluate"]

LENGTHS: tuple[tuple[str, int | None], ...] = (("10", 10), ("20", 20), ("all", None))
"""The names of the classes of sentences, and how many words they have at the most."""


def attach_right(n: int) -> tuple[int, ...]:
    """Heads that attach each of n words to the next."""
    return (*range(2, n + 1), 0)[:n] if n else ()


def attach_left(n: int) -> tuple[int, ...]:
    """Heads that attach each of n words to the one before."""
    return tuple(range(n))


def evaluate(
    predicted: Sequence[Sequence[int]],
    gold: Sequence[Sequence[int]],
    lengths: Sequence[tuple[str, int | None]] = LENGTHS,
) -> dict[str, dict[str, float]]:
    """Accuracies in percent, for sentences of at most so many words.

    Parameters
    ----------
    predicted, gold : sequences of sequences of int
        Heads from 1, 0 for the root; equally many for every sentence.
    lengths : sequence of (name, most words)

    Returns
    -------
    dict from name to `directed`, `undirected`, `root` (percent; NaN without words), `words`, `sentences`
    """
    rows = np.array([_score(*pair) for pair in zip(predicted, gold, strict=True)], float).reshape(-1, 4)
    found = {}
    for name, most in lengths:
        some = rows[(rows[:, 0] > 0) & (rows[:, 0] <= (np.inf if most is None else most))]
        words, directed, undirected, root = some.sum(axis=0)
        percent = 100.0 / words if words else np.nan
        found[name] = {
            "directed": percent * directed,
            "undirected": percent * undirected,
            "root": 100.0 * root / len(some) if len(some) else np.nan,
            "words": int(words),
            "sentences": len(some),
        }
    return found


def _score(predicted: Sequence[int], gold: Sequence[int]) -> tuple[int, int, int, int]:
    """Words, right heads, right arcs without direction, and whether the root is right."""
    directed = sum(p == g for p, g in zip(predicted, gold, strict=True))
    turned = sum(
        p != g and p > 0 and gold[p - 1] == m
        for m, (p, g) in enumerate(zip(predicted, gold, strict=True), start=1)
    )
    root = 0 in predicted and 0 in gold and predicted.index(0) == gold.index(0)
    return len(gold), directed, directed + turned, int(root)
