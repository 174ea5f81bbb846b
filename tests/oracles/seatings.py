"""Customers of a dish at tables, as the sizes of these tables."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

__all__ = ["log_named_seatings", "partitions"]


def partitions(number: int, largest: int | None = None) -> Iterator[tuple[int, ...]]:
    """All multisets of positive integers with the given sum, ascending."""
    if number == 0:
        yield ()
        return
    for first in range(min(number, largest or number), 0, -1):
        for rest in partitions(number - first, first):
            yield (*rest, first)


def log_named_seatings(sizes: tuple[int, ...]) -> float:
    """ln of the number of ways to seat customers with names at tables of these sizes."""
    ways = math.lgamma(sum(sizes) + 1) - sum(math.lgamma(size + 1) for size in sizes)
    return ways - sum(math.lgamma(number + 1) for number in Counter(sizes).values())
