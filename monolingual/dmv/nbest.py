"""The best N trees of a sentence.

The items are those of `chart.py`, each with the best derivations of it instead of their sum; a derivation
is a pair of better or worse ones of two smaller items, so that the best of a sum of grids is taken from
their corners (Huang and Chiang 2005). Every tree is one derivation of the whole, since an item is split at
its head.

The fact a newcomer would get wrong: trees that differ in one arc alone are different trees, and the best
ten often differ in little. `parse --posteriors` says how sure each arc is.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from monolingual.dmv.layout import Layout
from monolingual.dmv.model import parts
from scfg_sampler.errors import SettingsError

__all__ = ["best_heads"]


class _Derivation(NamedTuple):
    """A derivation of an item: its log weight, the arc (head, dependent) it adds or None, and its parts."""

    log_weight: float
    arc: tuple[int, int] | None
    parts: tuple[_Derivation, ...]


_Way = tuple[float, tuple[int, int] | None, list[_Derivation], list[_Derivation]]
"""A way to make an item: log weight, arc, and the derivations of its two parts."""


def best_heads(
    layout: Layout, probs: np.ndarray, tags: Sequence[int], number: int
) -> list[tuple[float, list[int]]]:
    """The best trees of a sequence, the best first.

    Parameters
    ----------
    layout : Layout
    probs : float64
        The parameters of a model.
    tags : sequence of int
    number : int
        How many trees at the most, at least 1.

    Returns
    -------
    list of (float, list of int)
        Log weights, and heads counted from 1, 0 for the root. Trees of weight 0 are none.
    """
    if number < 1:
        raise SettingsError(f"--nbest is {number}; it must be at least 1")
    n = len(tags)
    if n == 0:
        return []
    with np.errstate(divide="ignore"):
        root, stop, child = parts(layout, np.log(probs))
    last = layout.child_valences - 1
    one = [_Derivation(0.0, None, ())]
    # By direction (0 left, 1 right): items over words i … j, headed by their last or first word.
    opened: list[dict[tuple[int, int], list[_Derivation]]] = [{}, {}]
    closed: list[dict[tuple[int, int], list[_Derivation]]] = [{}, {}]
    attached: list[dict[tuple[int, int], list[_Derivation]]] = [{}, {}]

    def attach(
        d: int, head: int, dependent: int, inner: Iterable[tuple[list, list, bool]]
    ) -> list[_Derivation]:
        ways = []
        for own, other, adjacent in inner:
            v = 0 if adjacent else 1
            weight = stop[tags[head], d, v, 1] + child[tags[head], d, min(v, last), tags[dependent]]
            ways.append((float(weight), (head, dependent), own, other))
        return _merged(ways, number)

    for width in range(n):
        for i in range(n - width):
            j = i + width
            if width == 0:
                opened[0][i, i] = opened[1][i, i] = one
            else:
                attached[1][i, j] = attach(
                    1, i, j, [(opened[1][i, k], closed[0][k + 1, j], k == i) for k in range(i, j)]
                )
                attached[0][i, j] = attach(
                    0, j, i, [(opened[0][k + 1, j], closed[1][i, k], k + 1 == j) for k in range(i, j)]
                )
                opened[1][i, j] = _merged(
                    [(0.0, None, attached[1][i, k], closed[1][k, j]) for k in range(i + 1, j + 1)], number
                )
                opened[0][i, j] = _merged(
                    [(0.0, None, attached[0][k, j], closed[0][i, k]) for k in range(i, j)], number
                )
            v = int(width > 0)
            closed[1][i, j] = _merged([(float(stop[tags[i], 1, v, 0]), None, opened[1][i, j], one)], number)
            closed[0][i, j] = _merged([(float(stop[tags[j], 0, v, 0]), None, opened[0][i, j], one)], number)
    whole = [(float(root[tags[r]]), (-1, r), closed[0][0, r], closed[1][r, n - 1]) for r in range(n)]
    return [(found.log_weight, _heads(found, n)) for found in _merged(whole, number)]


def _merged(ways: Sequence[_Way], number: int) -> list[_Derivation]:
    """The best derivations of all ways together."""
    heap: list[tuple[float, int, int, int]] = []

    def push(way: int, a: int, b: int) -> None:
        weight, _, left, right = ways[way]
        if a < len(left) and b < len(right):
            total = weight + left[a].log_weight + right[b].log_weight
            if total > -math.inf:
                heapq.heappush(heap, (-total, way, a, b))

    for way in range(len(ways)):
        push(way, 0, 0)
    found: list[_Derivation] = []
    while heap and len(found) < number:
        loss, way, a, b = heapq.heappop(heap)
        _, arc, left, right = ways[way]
        found.append(_Derivation(-loss, arc, (left[a], right[b])))
        push(way, a, b + 1)
        if b == 0:  # So that each pair is come by in one way.
            push(way, a + 1, 0)
    return found


def _heads(derivation: _Derivation, n: int) -> list[int]:
    """The heads of all words."""
    heads, pending = [0] * n, [derivation]
    while pending:
        _, arc, below = pending.pop()
        if arc is not None:
            heads[arc[1]] = arc[0] + 1
        pending.extend(below)
    return heads
