"""How often a stretch of one text occurs in another: what BLEU counts of words, and chrF of characters."""

from __future__ import annotations

from scfg_sampler.core.jit import compiled

__all__ = ["occurrences"]


@compiled
def occurrences(text, begin, end, pattern, at, order):
    """How often pattern[at:at + order] occurs in text[begin:end]."""
    count = 0
    for i in range(begin, end - order + 1):
        same = True
        for k in range(order):
            if text[i + k] != pattern[at + k]:
                same = False
                break
        if same:
            count += 1
    return count
