"""Counts of several tables added up: chains of one learner, alignments, sampled rules and extracted ones.

A rule's mixed count is Σ_k w_k c_k(f, e). So a mixed phrase probability is the mean of those of the tables,
each weighted by w_k times how often it has seen the source side: a table with a small weight matters most
where the others know least.

The fact a newcomer would get wrong: tables that were read from two files share no word ids, so a mixture
numbers the words anew. And counts of different origin have different sizes: extraction counts each of its
overlapping rules, a derivation uses every word once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scfg_sampler.core.arrays.ragged import concatenated
from scfg_sampler.core.arrays.vocabulary import Vocabulary
from scfg_sampler.core.elementary import exp_each, log_each
from scfg_sampler.rules.counts import RuleCounts
from scfg_sampler.rules.store import merge_rules
from scfg_sampler.rules.table import RuleTable

__all__ = ["joined_sides", "mix_tables"]

TINY = 1e-300
"""Stands for probabilities that are too small for their own logarithm."""


def mix_tables(tables: Sequence[RuleTable], weights: Sequence[float], signature: str) -> RuleTable:
    """The rules of all tables with the features LogCount and LogPosterior.

    LogPosterior is the logarithm of the mean probability in the tables that have both the feature and the
    rule. Where none has, it is the smallest of rules as long, which is about what the model gives to a rule
    that it has not seen: the paper's base is the same for all rules of a length. Where there are none, it is
    that of the nearest shorter rules, or of the shortest (0 if no table has the feature).

    Parameters
    ----------
    tables : sequence of RuleTable
        Each rule once in each, with `count`.
    weights : sequence of float
        One a table, positive.
    signature : str
        Of the mixture.

    Returns
    -------
    RuleTable, with vocabularies of its own; of a rule's alignments the one with the largest count.
    """
    vocabularies, sides = joined_sides(tables)
    sides += [*concatenated([(table.alignment_start, table.alignment) for table in tables])]

    def merged(counts: list[np.ndarray]) -> RuleCounts:
        return merge_rules(RuleCounts(*sides, np.concatenate(counts)))  # type: ignore[call-arg]

    rules = merged([table.count * weight for table, weight in zip(tables, weights, strict=True)])
    probs, known = zip(*map(_posterior_probs, tables), strict=True)
    seen = merged(list(known)).count
    posterior = merged(list(probs)).count / np.maximum(seen, 1.0)
    _fill(posterior, seen > 0.0, _lengths(rules))
    features = np.stack([log_each(rules.count), log_each(np.maximum(posterior, TINY))], axis=1).astype(
        np.float32
    )
    return RuleTable(*vocabularies, *rules, features, ("LogCount", "LogPosterior"), signature)


def _lengths(rules: RuleCounts) -> np.ndarray:
    """How long rules are here, int64 (R,): words of both sides, each gap once; ℓ has the scope instead."""
    gaps = np.concatenate(([0], np.cumsum(rules.source < 0)))
    symbols = np.diff(rules.source_start) + np.diff(rules.target_start)
    return symbols - (gaps[rules.source_start[1:]] - gaps[rules.source_start[:-1]])


def _fill(posterior: np.ndarray, is_known: np.ndarray, length: np.ndarray) -> None:
    """Give unknown rules the smallest probability of known ones of their length, or of the nearest."""
    if not is_known.any():
        posterior[:] = 1.0
        return
    smallest = np.full(int(length.max(initial=0)) + 1, np.inf)
    np.minimum.at(smallest, length[is_known], posterior[is_known])
    has = np.flatnonzero(np.isfinite(smallest))
    shorter = np.searchsorted(has, length[~is_known], "right") - 1
    posterior[~is_known] = smallest[has[np.maximum(shorter, 0)]]


def joined_sides(tables: Sequence[RuleTable]) -> tuple[tuple[Vocabulary, Vocabulary], list[np.ndarray]]:
    """The sides of the rules of all tables, one after the other, and the vocabularies they share.

    Returns
    -------
    source and target vocabulary; source_start, source, target_start, target as in `RuleTable`
    """
    vocabularies = Vocabulary(), Vocabulary()
    sides: list[np.ndarray] = []
    for vocabulary, side in zip(vocabularies, ("source", "target"), strict=True):
        parts = []
        for table in tables:
            start, symbols = getattr(table, f"{side}_start"), getattr(table, side)
            ids = [vocabulary.add(word) for word in getattr(table, f"{side}_vocabulary").words]
            words = np.array([*ids, 0], np.int32)[np.maximum(symbols, 0)]
            parts.append((start, np.where(symbols >= 0, words, symbols)))
        sides += [*concatenated(parts)]
    return vocabularies, sides


def _posterior_probs(table: RuleTable) -> tuple[np.ndarray, np.ndarray]:
    """exp(LogPosterior) of each rule and 1, or zeros if the table does not have it."""
    if "LogPosterior" not in table.feature_names:
        return np.zeros(table.num_rules), np.zeros(table.num_rules)
    column = table.features[:, table.feature_names.index("LogPosterior")].astype(np.float64)
    return exp_each(column), np.ones(table.num_rules)
