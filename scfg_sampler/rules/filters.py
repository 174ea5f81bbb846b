"""Filters by what a rule is: its scope, the Hiero constraints, its rank among the targets of its source side.

They look at one rule and at those with its source side (`grammar --filter`, `--max-targets`). What it is
worth beside all others is asked by `rules.pruning`, whether a text can use it by `rules.text_filter`.

The scope of a rule (Hopkins and Langmead 2010; Chung et al. 2014, section 5) is the number of adjacent
nonterminal pairs on its source side plus the number of nonterminals at either end of it; parsing a sentence
of n words with rules of scope s takes O(n^s). The fact a newcomer would get wrong: a source side that is one
nonterminal has it at both ends, so its scope is 2.

All functions return masks, bool of shape (R,), to be combined and given to `select_rules`.
"""

from __future__ import annotations

import numpy as np

from scfg_sampler.core.arrays.ragged import group_rows
from scfg_sampler.core.jit import kernel
from scfg_sampler.errors import SettingsError
from scfg_sampler.rules.counts import RuleCounts
from scfg_sampler.rules.table import RuleTable

__all__ = ["best_targets", "hiero_rules", "narrow_rules", "num_nonterminals", "source_scope"]


def source_scope(rules: RuleCounts | RuleTable) -> np.ndarray:
    """The scope of every rule; int64, shape (R,)."""
    return _source_shapes(rules.source_start, rules.source)[:, 0]


def num_nonterminals(rules: RuleCounts | RuleTable) -> np.ndarray:
    """The number of nonterminals of every rule; int64, shape (R,)."""
    return _source_shapes(rules.source_start, rules.source)[:, 1]


def narrow_rules(
    rules: RuleCounts | RuleTable, *, max_scope: int | None = 2, max_nonterminals: int | None = 2
) -> np.ndarray:
    """Which rules have at most this scope and at most so many nonterminals; None is no limit."""
    shapes = _source_shapes(rules.source_start, rules.source)
    keep = np.ones(len(shapes), bool)
    for column, limit in ((0, max_scope), (1, max_nonterminals)):
        if limit is not None:
            if limit < 0:
                raise SettingsError(
                    f"a limit of {limit} on scope or nonterminals keeps nothing; use 0 or more"
                )
            keep &= shapes[:, column] <= limit
    return keep


def hiero_rules(rules: RuleCounts | RuleTable, *, max_symbols: int = 5) -> np.ndarray:
    """Which rules Hiero would have: Chiang (2007), section 3.2, as far as a rule alone can tell.

    At most `max_symbols` source symbols, at most two nonterminals, none adjacent on the source side, at
    least one linked word pair. The length of the initial phrase is not known to a rule.
    """
    shapes = _source_shapes(rules.source_start, rules.source)
    linked = np.diff(rules.alignment_start) > 0
    short = np.diff(rules.source_start) <= max_symbols
    return short & linked & (shapes[:, 1] <= 2) & (shapes[:, 2] == 0)


def best_targets(rules: RuleCounts | RuleTable, scores: np.ndarray, most: int) -> np.ndarray:
    """Which rules are among the `most` best of their source side; of equals, the earlier row wins.

    scores : float, shape (R,), the higher the better; for P(target | source) the counts do.
    """
    if most < 1:
        raise SettingsError(f"--max-targets is {most}, but must be at least 1")
    group = group_rows(rules.source_start, rules.source)[0]
    order = np.lexsort((-np.asarray(scores), group))
    ranked = group[order]
    first = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]])[: len(ranked)])
    place = np.arange(len(ranked)) - np.repeat(first, np.diff(np.append(first, len(ranked))))
    keep = np.zeros(len(ranked), bool)
    keep[order] = place < most
    return keep


@kernel
def _source_shapes(start, symbols):
    """Scope, nonterminals and adjacent nonterminal pairs of each source side; int64, shape (R, 3)."""
    shapes = np.zeros((len(start) - 1, 3), np.int64)
    for row in range(len(start) - 1):
        begin, end = start[row], start[row + 1]
        if begin == end:
            continue
        adjacent, nonterminals = 0, 0
        for k in range(begin, end):
            if symbols[k] < 0:
                nonterminals += 1
                if k > begin and symbols[k - 1] < 0:
                    adjacent += 1
        shapes[row, 0] = adjacent + (symbols[begin] < 0) + (symbols[end - 1] < 0)
        shapes[row, 1] = nonterminals
        shapes[row, 2] = adjacent
    return shapes
