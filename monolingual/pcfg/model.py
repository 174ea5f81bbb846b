"""A PCFG with its priors, and the data it explains: what every learner of PCFGs begins with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monolingual.pcfg.chart_grammar import ChartGrammar, binarise
from monolingual.pcfg.grammar import Grammar, families, heads, num_rules, rule_name
from monolingual.pcfg.graph import useful_rules
from monolingual.pcfg.partition import System, build_system
from monolingual.priors.multinomials import Families
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import SettingsError

__all__ = ["Data", "Model", "build_model", "nonterminal_prior"]


class Model(NamedTuple):
    """A grammar without useless rules, in the forms that samplers and learners use.

    Attributes
    ----------
    grammar : Grammar
    families : Families
    chart : ChartGrammar
    system : System
    prior : float64, shape (R,)
        The concentrations α of the Dirichlet priors.
    """

    grammar: Grammar
    families: Families
    chart: ChartGrammar
    system: System
    prior: np.ndarray


class Data(NamedTuple):
    """Observed sentences, and the rule counts of observed trees.

    Attributes
    ----------
    words : int32
        The words of all sentences.
    start : int64, shape (sentences + 1,)
        Sentence i is words[start[i]:start[i + 1]].
    tree_counts : int64, shape (R,)
        The uses of each rule in the observed trees.
    num_trees : int
        How many trees there are.
    kept : bool, shape (sentences of a file,), optional
        Which sentences these are, where some of a file were left out.
    """

    words: np.ndarray
    start: np.ndarray
    tree_counts: np.ndarray
    num_trees: int
    kept: np.ndarray | None = None


def build_model(grammar: Grammar, prior: np.ndarray) -> Model:
    """The model of a grammar.

    Parameters
    ----------
    grammar : Grammar
    prior : float64, shape (R,)
        Positive.

    Raises
    ------
    SettingsError
        The grammar has useless rules (names one), or a concentration is not positive.
    """
    useless = np.flatnonzero(~useful_rules(grammar))
    if len(useless):
        name = rule_name(grammar, int(useless[0]))
        raise SettingsError(
            f"the grammar has {counted(len(useless), 'useless rule')}, such as {name}; leave them out"
        )
    if len(prior) != num_rules(grammar) or not np.all(np.isfinite(prior) & (prior > 0.0)):
        raise SettingsError("--prior must be positive and finite for every rule")
    chart = binarise(grammar)
    return Model(grammar, families(grammar), chart, build_system(grammar), np.asarray(prior, np.float64))


def nonterminal_prior(grammar: Grammar, by_name: dict[str, float], default: float) -> np.ndarray:
    """Concentrations that are the same for all rules of a nonterminal: float64, shape (R,).

    Raises
    ------
    SettingsError
        A name is not that of a nonterminal.
    """
    unknown = sorted(set(by_name) - set(grammar.nonterminals))
    if unknown:
        raise SettingsError(f"--prior names {unknown[0]}, which is not a nonterminal of the grammar")
    values = np.array([by_name.get(name, default) for name in grammar.nonterminals])
    return values[heads(grammar)]
