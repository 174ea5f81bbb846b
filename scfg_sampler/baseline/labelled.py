"""Hiero rules with labels: those of `baseline.extraction`, labelled by the spans of their nonterminals.

Which phrase pairs yield which rules is as without labels. The left-hand side of a rule has the label of its
phrase pair's span on the labelled side, each gap that of the part taken out: one rule of X becomes as many as
there are ways to label it.

While they are counted, labels are symbols (`baseline.spans`), so the store tells rules of different labels
apart.

The fact a newcomer would get wrong: labels are a part of what probabilities are conditioned on. LogForward is
P(target | source side, its labels, left-hand side), LogBackward P(source side, left-hand side | target side,
its labels); LogLabels, P(labels | both sides without them), says how usual the labels of a rule are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from scfg_sampler.baseline.extraction import extracted
from scfg_sampler.baseline.settings import HieroSettings
from scfg_sampler.baseline.spans import spans_of
from scfg_sampler.core.arrays.ragged import group_rows
from scfg_sampler.core.elementary import log_each
from scfg_sampler.corpus.parallel_text import ParallelCorpus
from scfg_sampler.corpus.span_labels import SpanLabels
from scfg_sampler.rules.counts import RuleCounts
from scfg_sampler.rules.features import phrase_probabilities, score_rules
from scfg_sampler.rules.labels import Labels, gap_counts, labels_of_rows
from scfg_sampler.rules.lexical import LexicalTables
from scfg_sampler.rules.store import stored_rules
from scfg_sampler.rules.table import RuleTable

__all__ = ["LabelledRules", "extract_labelled", "score_labelled"]


class LabelledRules(NamedTuple):
    """Rules and their labels.

    counts : RuleCounts, gaps numbered −1, −2
    labels : Labels, or None if all are X
    coded : the same rules with labels as symbols, as they were counted
    """

    counts: RuleCounts
    labels: Labels | None
    coded: RuleCounts


def extract_labelled(
    corpus: ParallelCorpus,
    labels: SpanLabels,
    settings: HieroSettings | None = None,
    *,
    advance: Callable[..., None] | None = None,
) -> LabelledRules:
    """Every rule of the corpus with its labels and its count.

    Parameters
    ----------
    corpus : ParallelCorpus
    labels : SpanLabels
        Of spans of the corpus.
    settings : HieroSettings, optional
    advance : callable, optional
        Called with numbers of sentences that have been worked through.

    Raises
    ------
    SettingsError
        A limit is outside its range.
    """
    settings = settings or HieroSettings()
    settings.check()
    coded = stored_rules(
        extracted(corpus, settings, spans=spans_of(labels), advance=advance).store,
        drop_singletons=settings.no_singletons,
    )
    return _decoded(coded, labels.names)


def score_labelled(
    rules: LabelledRules,
    lexical: LexicalTables,
    corpus: ParallelCorpus | RuleTable,
    signature: str = "",
    *,
    whole: LabelledRules | None = None,
    rows: np.ndarray | None = None,
    more_features: Mapping[str, np.ndarray] | None = None,
) -> RuleTable:
    """The rules with their features and LogLabels.

    Parameters
    ----------
    rules : LabelledRules
    lexical : LexicalTables
        Of the corpus.
    corpus : ParallelCorpus or RuleTable
        For its vocabularies.
    signature : str
        What the table was made with.
    whole, rows : LabelledRules and int64 (R,), optional
        All rules, whose counts make the denominators, and which of them `rules` are; by default these.
    more_features : mapping from name to float array (R,), optional
        Before LogLabels.
    """
    everything = rules if whole is None else whole
    forward, backward = phrase_probabilities(rules.coded, None if whole is None else whole.coded)
    log_labels = _log_labels(everything.counts)
    table = score_rules(
        rules.counts,
        lexical,
        corpus.source_vocabulary,
        corpus.target_vocabulary,
        more_features={
            **(more_features or {}),
            "LogLabels": log_labels if rows is None else log_labels[rows],
        },
        signature=signature,
    )
    table.features[:, table.feature_names.index("LogForward")] = forward
    table.features[:, table.feature_names.index("LogBackward")] = backward
    return table._replace(labels=rules.labels)


def _log_labels(counts: RuleCounts) -> np.ndarray:
    """ln of each rule's count over that of all rules with the same sides, whatever their labels; (R,)."""
    source = group_rows(counts.source_start, counts.source)[0].astype(np.int64)
    target = group_rows(counts.target_start, counts.target)[0]
    _, group = np.unique(source << 32 | target, return_inverse=True)
    return log_each(counts.count) - log_each(np.bincount(group, weights=counts.count)[group])


def _decoded(coded: RuleCounts, names: tuple[str, ...]) -> LabelledRules:
    """The rules that were counted with labels as symbols."""
    is_first = np.zeros(len(coded.source), bool)
    is_first[coded.source_start[:-1]] = True
    number = np.arange(coded.num_rules + 1)
    source_start, source = coded.source_start - number, coded.source[~is_first]
    label = np.where(coded.source < 0, (-1 - coded.source) >> 1, 0).astype(np.int32)
    rows = np.concatenate([[0], np.cumsum(1 + gap_counts(source_start, source))]).astype(np.int64)
    labels = labels_of_rows(names, rows, label[coded.source < 0])
    sides = [
        np.where(side < 0, -1 - (-1 - side & 1), side).astype(np.int32) for side in (source, coded.target)
    ]
    plain = coded._replace(source_start=source_start, source=sides[0], target=sides[1])
    return LabelledRules(plain, labels, coded)
