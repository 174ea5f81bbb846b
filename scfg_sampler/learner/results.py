"""The rule tables that a run leaves: mean counts, and what the model makes of them.

The fact a newcomer would get wrong: the probability of a rule given counts needs the counts of all others. So
a table that does not fit into memory is gone through twice; sums are made in the order of its text, whatever
fits.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from scfg_sampler.core.elementary import log_each
from scfg_sampler.learner.chain import LearnerState, rule_model
from scfg_sampler.learner.forest_bank import ForestBank
from scfg_sampler.learner.gathering import Gatherer
from scfg_sampler.learner.labels import without_labels
from scfg_sampler.learner.model import (
    RuleTotals,
    add_to_totals,
    log_predictive_of_counts,
    new_rule_totals,
)
from scfg_sampler.learner.settings import LearnerSettings
from scfg_sampler.learner.words import word_weights
from scfg_sampler.rules.counts import RuleCounts
from scfg_sampler.rules.labels import Labels
from scfg_sampler.rules.table import RuleTable, write_rule_table, write_rule_tables

__all__ = ["log_posterior", "rule_totals", "write_counts"]


def write_counts(
    path: Path,
    bank: ForestBank,
    settings: LearnerSettings,
    state: LearnerState,
    gathered: Gatherer,
    signature: str,
) -> None:
    """Write the mean counts of rules as a table with LogCount and LogPosterior.

    Parameters
    ----------
    path : path
        Removed if no state was counted.
    bank : ForestBank
    settings : LearnerSettings
    state : LearnerState
        For its hyperparameters.
    gathered : Gatherer
    signature : str
    """
    if gathered.states == 0:
        path.unlink(missing_ok=True)
        return
    whole = gathered.whole()
    if bank.labels is not None:
        rules = gathered.unordered() if whole is None else whole
        write_rule_table(_labelled_table(bank, settings, state, rules, signature), path)
        return

    def shares() -> Iterable[RuleCounts]:
        return gathered.shares() if whole is None else [whole]

    totals = rule_totals(bank, settings, state, shares())

    def table(rules: RuleCounts) -> RuleTable:
        posterior = log_posterior(bank, settings, state, rules, totals)
        features = np.stack([log_each(rules.count), posterior], axis=1).astype(np.float32)
        vocabularies = bank.corpus.source_vocabulary, bank.corpus.target_vocabulary
        return RuleTable(*vocabularies, *rules, features, ("LogCount", "LogPosterior"), signature)

    write_rule_tables(map(table, shares()), path)


def _labelled_table(
    bank: ForestBank, settings: LearnerSettings, state: LearnerState, rules: RuleCounts, signature: str
) -> RuleTable:
    """The table of mean counts of rules with labels, all of them at once."""
    plain, labels = without_labels(rules, bank)
    posterior = log_posterior(bank, settings, state, plain, labels=labels)
    features = np.stack([log_each(plain.count), posterior], axis=1).astype(np.float32)
    vocabularies = bank.corpus.source_vocabulary, bank.corpus.target_vocabulary
    names = ("LogCount", "LogPosterior")
    return RuleTable(*vocabularies, *plain, features, names, signature, labels=labels)


def log_posterior(
    bank: ForestBank,
    settings: LearnerSettings,
    state: LearnerState,
    rules: RuleCounts,
    totals: RuleTotals | None = None,
    labels: Labels | None = None,
) -> np.ndarray:
    """ln of the model's predictive probability of each rule, given counts; float64 (R,).

    Parameters
    ----------
    bank : ForestBank
    settings : LearnerSettings
    state : LearnerState
        For its hyperparameters.
    rules : RuleCounts
        Each rule once, with its count, which may be fractional.
    totals : RuleTotals, optional
        Of all rules, if these are not all; `rule_totals` gives them.
    labels : Labels, optional
        Of the rules, numbered as the bank's.
    """
    vocabularies = bank.corpus.source_vocabulary, bank.corpus.target_vocabulary
    weights = word_weights(bank.corpus, settings) or tuple(np.zeros(len(each)) for each in vocabularies)
    return log_predictive_of_counts(
        rule_model(bank, settings, float(state.mean_length[0])),
        rules,
        *weights,
        discount=float(state.restaurants.discount[0]),
        strength=float(state.restaurants.strength[0]),
        totals=totals,
        labels=labels,
    )


def rule_totals(
    bank: ForestBank, settings: LearnerSettings, state: LearnerState, parts: Iterable[RuleCounts]
) -> RuleTotals:
    """What all rules come to, for `log_posterior` of a part of them; added up in the order of the rules.

    Parameters
    ----------
    bank, settings, state
        As in `log_posterior`.
    parts : iterable of RuleCounts
    """
    model = rule_model(bank, settings, float(state.mean_length[0]))
    totals = new_rule_totals(model)
    for rules in parts:
        add_to_totals(totals, model, rules, discount=float(state.restaurants.discount[0]))
    return totals
