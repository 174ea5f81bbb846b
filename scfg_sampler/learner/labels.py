"""Labels of rules, from the records that a run counts to a rule table with its features.

A record begins with symbols of labels (`collecting`). Here they are taken off it, and become the `Labels` of
a table. The features of a grammar with labels are those of extracted rules with labels (`baseline.labelled`).

The fact a newcomer would get wrong: a chain numbers labels as they come in their file, who reads a table anew
as they come there.
"""

from __future__ import annotations

import numpy as np

from scfg_sampler.baseline.labelled import LabelledRules, score_labelled
from scfg_sampler.corpus.parallel_text import CorpusFiles, read_corpus
from scfg_sampler.corpus.span_labels import read_span_labels
from scfg_sampler.errors import SettingsError
from scfg_sampler.forest.choice import chosen
from scfg_sampler.learner.forest_bank import ForestBank, forest_bank
from scfg_sampler.learner.settings import GrammarSettings, LearnerSettings, attached
from scfg_sampler.rules.counts import RuleCounts, select_rules
from scfg_sampler.rules.filters import best_targets
from scfg_sampler.rules.labels import Labels, gap_counts, gap_symbols, labels_of_rows, take_labels
from scfg_sampler.rules.lexical import LexicalTables
from scfg_sampler.rules.table import RuleTable

__all__ = ["are_labelled", "bank_of", "coded", "refuse_with_labels", "score_sampled", "without_labels"]


def refuse_with_labels(settings: LearnerSettings, chains: int = 1) -> None:
    """Raise SettingsError if a setting is none for forests whose nodes have labels."""
    for is_set, option in (
        (settings.unaligned != "lowest", f"--unaligned {settings.unaligned}"),
        (settings.choose != "none", f"--choose {settings.choose}"),
        (settings.types > 1, f"--types {settings.types}"),
        (chains > 1, f"--chains {chains}"),
    ):
        if is_set:
            raise SettingsError(f"--labels has no {option}; leave one of them out")


def bank_of(files: CorpusFiles, settings: LearnerSettings) -> ForestBank:
    """The forests of a corpus, with the labels of its spans if it has any.

    Parameters
    ----------
    files : CorpusFiles
    settings : LearnerSettings

    Raises
    ------
    InputError
        A file cannot be used; see `read_corpus` and `read_span_labels`.
    SettingsError
        A setting is none for labels, or a pair is too long.
    """
    if files.labels is not None:
        refuse_with_labels(settings)
    corpus = read_corpus(files.source, files.target, *files.alignments)
    choice = chosen(settings.choose, len(files.alignments))
    labels = None
    if files.labels is not None:
        side, form = settings.labels_side, settings.labels_form
        more = {"longest": settings.max_length, "alignments": len(files.alignments)}
        labels = read_span_labels(files.labels, corpus, side=side, form=form, **more)
    return forest_bank(corpus, settings.max_length, attached(settings), choice, labels, settings.types)


def are_labelled(start: np.ndarray, symbols: np.ndarray, first_label: int) -> bool:
    """Whether every source side begins with as many labels as it has gaps, and one more, and has no others.

    Parameters
    ----------
    start, symbols : int64 (R + 1,), int32
        Source sides, as records have them.
    first_label : int
        Symbols from there on are labels.
    """
    is_label = symbols >= first_label
    expected = 1 + gap_counts(start, symbols)
    place = np.arange(len(symbols)) - np.repeat(start[:-1], np.diff(start))
    return bool((is_label == (place < np.repeat(expected, np.diff(start)))).all())


def without_labels(rules: RuleCounts, bank: ForestBank) -> tuple[RuleCounts, Labels | None]:
    """Rules as they were counted, without the symbols of labels; and their labels, numbered as the bank's.

    Parameters
    ----------
    rules : RuleCounts
    bank : ForestBank
        With labels.
    """
    assert bank.labels is not None
    is_label = rules.source >= bank.extent.first_label
    before = np.concatenate([[0], np.cumsum(is_label)])
    start = before[rules.source_start].astype(np.int64)
    labels = labels_of_rows(bank.labels.names, start, rules.source[is_label] - bank.extent.first_label)
    plain = rules._replace(source_start=rules.source_start - start, source=rules.source[~is_label])
    return plain, labels


def coded(rules: RuleCounts, labels: Labels | None) -> RuleCounts:
    """Rules whose symbols say their labels: gaps by their labels, and the left-hand side before the source.

    Parameters
    ----------
    rules : RuleCounts
    labels : Labels, optional
    """
    if labels is None:
        return rules
    source = gap_symbols(labels, rules.source_start, rules.source)
    left = -1 - labels.kinds.shape[1] * labels.lhs
    return rules._replace(
        source_start=rules.source_start + np.arange(rules.num_rules + 1),
        source=np.insert(source, rules.source_start[:-1], left).astype(np.int32),
        target=gap_symbols(labels, rules.target_start, rules.target),
    )


def score_sampled(
    table: RuleTable, kept: np.ndarray, lexical: LexicalTables, settings: GrammarSettings, made: str
) -> RuleTable:
    """The rules of a run's counts that the filter leaves, with their features and LogLabels.

    Parameters
    ----------
    table : RuleTable
        Of counts, with labels.
    kept : bool (R,)
        Which rules the filter leaves, whatever their labels.
    lexical : LexicalTables
    settings : GrammarSettings
        Of which `max_targets` counts the targets of a source side with its labels.
    made : str
        What the table was made with.
    """
    everything = LabelledRules(table.rules, table.labels, coded(table.rules, table.labels))
    if settings.max_targets is not None:
        counts = np.where(kept, table.count, -1.0)
        kept = kept & best_targets(everything.coded, counts, settings.max_targets)
    rows = np.flatnonzero(kept)
    posterior = table.features[rows, table.feature_names.index("LogPosterior")]
    rules = LabelledRules(
        select_rules(everything.counts, rows),
        take_labels(everything.labels, rows),
        select_rules(everything.coded, rows),
    )
    more = {"LogPosterior": posterior}
    return score_labelled(rules, lexical, table, made, whole=everything, rows=rows, more_features=more)
