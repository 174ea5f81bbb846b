"""Features of rules: what a decoder weighs.

For a rule α → γ with count c, all natural logarithms:

=============  =================================================================
LogForward     ln P(γ | α) = ln c / (Σ over γ' of c(α → γ') + 0.5)
LogBackward    ln P(α | γ) = ln c / (Σ over α' of c(α' → γ) + 0.5)
LexForward     ln lex(γ | α), see `scfg_sampler.rules.lexical`
LexBackward    ln lex(α | γ)
LogCount       ln c
TargetWords    number of words of γ
Abstract       1 if neither side has a word, else 0
=============  =================================================================

The fact a newcomer would get wrong: the half in the denominators is not smoothing towards unseen rules. It
tells a rule seen once of one (P = 0.67) from a rule seen a hundred times of a hundred (P = 0.995), which the
relative frequency does not. Target sides are told apart by the numbers of their nonterminals too, as written
in the rule table: `[X,1] a [X,2]` and `[X,2] a [X,1]` are two target sides.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from scfg_sampler.core.arrays.ragged import group_rows
from scfg_sampler.core.arrays.vocabulary import Vocabulary
from scfg_sampler.core.elementary import log_each
from scfg_sampler.rules.counts import RuleCounts
from scfg_sampler.rules.lexical import LexicalTables, lexical_weights
from scfg_sampler.rules.table import RuleTable

__all__ = ["DENOMINATOR_BONUS", "count_words", "phrase_probabilities", "score_rules"]

DENOMINATOR_BONUS = 0.5


def score_rules(
    counts: RuleCounts,
    lexical: LexicalTables,
    source_vocabulary: Vocabulary,
    target_vocabulary: Vocabulary,
    *,
    denominators: RuleCounts | None = None,
    target_totals: np.ndarray | None = None,
    more_features: Mapping[str, np.ndarray] | None = None,
    signature: str = "",
) -> RuleTable:
    """The rules with their features.

    Parameters
    ----------
    counts : RuleCounts
        Each rule once (see `merge_rules`).
    lexical : LexicalTables
        Of the corpus the rules come from.
    source_vocabulary, target_vocabulary : Vocabulary
        What the symbols stand for.
    denominators : RuleCounts, optional
        Rules whose counts make the denominators of the phrase probabilities, when `counts` is a selection
        of them; each rule once. By default `counts` itself.
    target_totals : float64, shape (R,), optional
        For each rule the sum of counts of all rules with its target side, when `counts` are a part of the
        rules that has all or none of those with one source side.
    more_features : mapping from name to float array of shape (R,), optional
        Appended after the features above.
    signature : str
        What the table was made with.
    """
    forward, backward = phrase_probabilities(counts, denominators, target_totals)
    lex_forward, lex_backward = lexical_weights(counts, lexical)
    source_words = count_words(counts.source_start, counts.source)
    target_words = count_words(counts.target_start, counts.target)
    columns = {
        "LogForward": forward,
        "LogBackward": backward,
        "LexForward": lex_forward,
        "LexBackward": lex_backward,
        "LogCount": log_each(counts.count),
        "TargetWords": target_words,
        "Abstract": source_words + target_words == 0,
        **(more_features or {}),
    }
    features = np.empty((counts.num_rules, len(columns)), np.float32)
    for k, column in enumerate(columns.values()):
        features[:, k] = column
    return RuleTable(source_vocabulary, target_vocabulary, *counts, features, tuple(columns), signature)


def phrase_probabilities(
    counts: RuleCounts, denominators: RuleCounts | None = None, target_totals: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """ln P(target | source) and ln P(source | target) of every rule; float64, shape (R,).

    Parameters are those of `score_rules`.
    """
    whole = counts if denominators is None else denominators
    of_source = counts.source_start, counts.source, counts.count
    forward = _log_share(*of_source, whole.source_start, whole.source, whole.count)
    if target_totals is not None:
        return forward, log_each(counts.count) - log_each(target_totals + DENOMINATOR_BONUS)
    of_target = counts.target_start, counts.target, counts.count
    return forward, _log_share(*of_target, whole.target_start, whole.target, whole.count)


def count_words(start: np.ndarray, symbols: np.ndarray) -> np.ndarray:
    """How many symbols of each row are words; int64, shape (R,)."""
    before = np.zeros(len(symbols) + 1, np.int64)
    np.cumsum(symbols >= 0, out=before[1:])
    return before[start[1:]] - before[start[:-1]]


def _log_share(
    start: np.ndarray,
    symbols: np.ndarray,
    count: np.ndarray,
    whole_start: np.ndarray,
    whole_symbols: np.ndarray,
    whole_count: np.ndarray,
) -> np.ndarray:
    """ln of each row's count over the count of all rows of the whole with the same symbols, plus a half."""
    if whole_symbols is symbols:
        group = group_rows(start, symbols)[0]
        totals = np.bincount(group, weights=count)
    else:
        both_start = np.concatenate([whole_start[:-1], start + whole_start[-1]])
        group = group_rows(both_start, np.concatenate([whole_symbols, symbols]))[0]
        group_of_whole, group = group[: len(whole_count)], group[len(whole_count) :]
        size = 1 + int(max(group_of_whole.max(initial=0), group.max(initial=0)))
        # Rules that the whole does not have make their own denominators.
        totals = np.maximum(
            np.bincount(group_of_whole, weights=whole_count, minlength=size),
            np.bincount(group, weights=count, minlength=size),
        )
    return log_each(count) - log_each(totals[group] + DENOMINATOR_BONUS)
