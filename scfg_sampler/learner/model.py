"""The probability of a translation rule: its length, and a restaurant with a base distribution.

Length ℓ = source words + target words + scope (Chung et al. 2014, section 5.2). Two models:

`pitman-yor` (section 5)
    P(r) = Poisson(ℓ; λ) × the predictive rule of the restaurant of length ℓ.
`dirichlet` (section 4)
    one restaurant for all rules, no length factor, base V_f^−|r_f| V_e^−|r_e| over words alone.

Bases of `pitman-yor`: `poisson`, the paper's Poisson(ℓ; λ), which is not normalised over rules; `lexical`,
Poisson(ℓ; λ) × Π unigram(word) × ¼ per nonterminal; `null-words`, Poisson(ℓ; λ) and, for a rule whose words
are all on one side, Π P(word has no link), so that to insert or to delete a function word is cheap, a
content word dear.

Where nodes have labels there is a restaurant for each label of a left-hand side and each length, and the base
is multiplied by Π P(label) over the gaps of the rule, P(label) being the share of the phrases below the roots
of the corpus's forests that have it. So bases that are normalised without labels are normalised with them.

Where nodes have types that are learned, there is a restaurant for each type of a left-hand side and each
length, and its base is the restaurant of the same length without types, the model as it is without, times
K^−1 per gap: `core.fragments.backoff`.

The fact a newcomer would get wrong: the Poisson factor outside the restaurant and the one in its base are
two factors, and both stay.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from scfg_sampler.core import elementary
from scfg_sampler.core.arrays.ragged import group_rows
from scfg_sampler.core.elementary import dot, exp_each, log_each, powers
from scfg_sampler.core.fragments.backoff import on_two_levels
from scfg_sampler.core.fragments.density import log_joint
from scfg_sampler.core.fragments.fingerprint import COUNTS, num_first, num_second, num_slots, scope
from scfg_sampler.core.fragments.restaurant import Restaurants
from scfg_sampler.core.fragments.tree import describe
from scfg_sampler.core.jit import kernel
from scfg_sampler.errors import SettingsError
from scfg_sampler.forest.labelled import sum_gap_labels
from scfg_sampler.rules.counts import RuleCounts, select_rules
from scfg_sampler.rules.filters import source_scope
from scfg_sampler.rules.labels import Labels, gap_counts

__all__ = [
    "AnyModel",
    "LabelledModel",
    "RuleModel",
    "RuleTotals",
    "TypedModel",
    "add_to_totals",
    "labelled_model",
    "log_predictive_of_counts",
    "new_rule_model",
    "new_rule_totals",
    "num_strata",
    "rules_log_joint",
    "set_mean_length",
    "typed_model",
]

_LEXICAL = 1
_DIRICHLET = 2
_NULL_WORDS = 3
_KINDS = {"poisson": 0, "lexical": _LEXICAL, "null-words": _NULL_WORDS}
_LOG_NONTERMINAL = math.log(0.25)
_LARGEST_MEAN = 1e15
"""Beside it no length makes a difference; ln P(r) of much larger ones is beyond a feature's range."""


class RuleModel(NamedTuple):
    """Parameters of a rule model, as kernels read them."""

    kind: np.ndarray
    """int64 (1,): 0 poisson, 1 lexical, 2 dirichlet, 3 null-words."""
    log_length: np.ndarray
    """float64 (L,): ln Poisson(ℓ; λ); zeros for `dirichlet`."""
    length_prob: np.ndarray
    """float64 (L,): Poisson(ℓ; λ)."""
    log_words: np.ndarray
    """float64 (2,): −ln V_f and −ln V_e, for `dirichlet`."""


class LabelledModel(NamedTuple):
    """Parameters of a model of rules with labels, as kernels read them."""

    plain: RuleModel
    first: np.ndarray
    """int64 (K,): the first restaurant of each label of a left-hand side; a rule is so many further as it is
    long."""
    log_label: np.ndarray
    """float64 (K,): ln P(label) of a gap."""
    lengths: np.ndarray
    """int64 (L,): how long the rules of each restaurant are."""
    log_length: np.ndarray
    """float64 (L,): ln Poisson(ℓ; λ) for each restaurant, not for each length; zeros for `dirichlet`."""


class TypedModel(NamedTuple):
    """Parameters of a model of rules whose nonterminals have one of K types, as kernels read them."""

    plain: RuleModel
    """Of skeletons, whose restaurants come first."""
    first: np.ndarray
    """int64 (K + 1,): the first restaurant of each type of a left-hand side, X first; a rule is so many
    further as it is long."""
    log_type: np.ndarray
    """float64 (1,): −ln K, of the type of a gap."""
    log_length: np.ndarray
    """float64 (L,): ln Poisson(ℓ; λ) for each restaurant; zeros for those of skeletons, which are drawn for
    tables and not for uses."""


on_two_levels(TypedModel)

AnyModel = RuleModel | LabelledModel | TypedModel


def new_rule_model(
    *,
    model: str,
    base: str,
    mean_length: float,
    longest: int,
    source_vocabulary: int,
    target_vocabulary: int,
) -> RuleModel:
    """A rule model.

    Parameters
    ----------
    model : str
        One of `settings.MODELS`.
    base : str
        One of `settings.BASES`; `dirichlet` has a base of its own.
    mean_length : float
        λ, above 0, at most 1e15.
    longest : int
        The longest rule that can occur, in the sense of ℓ.
    source_vocabulary, target_vocabulary : int
        V_f and V_e.

    Raises
    ------
    SettingsError
        A parameter is out of range.
    """
    if not 0.0 < mean_length <= _LARGEST_MEAN:
        limits = f"above 0 and {_LARGEST_MEAN:g} at most"
        raise SettingsError(f"--mean-length is {mean_length:g}; it must be {limits}")
    dirichlet = model == "dirichlet"
    for side, size in (("source", source_vocabulary), ("target", target_vocabulary)):
        if dirichlet and size < 1:
            raise SettingsError(f"--{side}-vocabulary is {size}; it must be at least 1, or 0 to count words")
    kind = _DIRICHLET if dirichlet else _KINDS[base]
    sizes = [-math.log(source_vocabulary), -math.log(target_vocabulary)] if dirichlet else [0.0, 0.0]
    made = RuleModel(np.array([kind], np.int64), np.zeros(longest + 1), np.ones(longest + 1), np.array(sizes))
    if not dirichlet:
        set_mean_length(made, mean_length)
    return made


def labelled_model(plain: RuleModel, log_label: np.ndarray, longest: np.ndarray) -> LabelledModel:
    """A model of rules whose nonterminals have labels.

    Parameters
    ----------
    plain : RuleModel
        Of the same rules without labels; it becomes a part of this one.
    log_label : float64 (K,)
        ln P(label) of a gap; −∞ for labels that no gap has.
    longest : int64 (K,)
        The longest rule that each label can be on the left of.
    """
    rooms = np.ones(len(longest), np.int64) if plain.kind[0] == _DIRICHLET else longest + 1
    first = np.concatenate([[0], np.cumsum(rooms)]).astype(np.int64)
    lengths = np.concatenate([np.arange(room) for room in rooms]).astype(np.int64)
    return LabelledModel(plain, first[:-1], log_label, lengths, plain.log_length[lengths])


def typed_model(plain: RuleModel, num_types: int) -> TypedModel:
    """A model of rules whose nonterminals have types.

    Parameters
    ----------
    plain : RuleModel
        Of `pitman-yor`; it becomes a part of this one.
    num_types : int
        K, above 1; beside them there is X, which only whole sentence pairs have.
    """
    room = len(plain.log_length)
    first = room * np.arange(1, num_types + 2, dtype=np.int64)
    log_length = np.tile(plain.log_length, num_types + 2)
    log_length[:room] = 0.0
    return TypedModel(plain, first, np.array([-math.log(num_types)]), log_length)


def num_strata(model: AnyModel) -> int:
    """How many restaurants there are."""
    if not isinstance(model, RuleModel):
        return len(model.log_length)
    return 1 if model.kind[0] == _DIRICHLET else len(model.log_length)


def set_mean_length(model: AnyModel, mean_length: float) -> None:
    """Give a `pitman-yor` model another λ.

    Parameters
    ----------
    model : RuleModel or LabelledModel
        Changed in place.
    mean_length : float
        Above 0.
    """
    assert not isinstance(model, TypedModel), "it has no mean length that is learned"
    plain = model.plain if isinstance(model, LabelledModel) else model
    _set_lengths(plain.log_length, plain.length_prob, float(mean_length))
    if isinstance(model, LabelledModel):
        model.log_length[:] = plain.log_length[model.lengths]


@kernel
def _set_lengths(log_length, length_prob, mean_length):
    log_mean = elementary.log(mean_length)
    for length in range(len(log_length)):
        log_length[length] = length * log_mean - mean_length - elementary.log_gamma(length + 1.0)
        length_prob[length] = elementary.exp(log_length[length])


@describe.register(RuleModel)
def _describe(model, forest, work, node):
    counts = work.pieces[node, COUNTS]
    kind = model.kind[0]
    if kind == _DIRICHLET:
        log_base = num_first(counts) * model.log_words[0] + num_second(counts) * model.log_words[1]
        return 0, 0.0, log_base, elementary.exp(log_base)
    length = num_first(counts) + num_second(counts) + scope(counts)
    log_length = model.log_length[length]
    if kind == _LEXICAL:
        log_base = log_length + work.weights[node] + num_slots(counts) * _LOG_NONTERMINAL
        return length, log_length, log_base, elementary.exp(log_base)
    if kind == _NULL_WORDS and (num_first(counts) == 0 or num_second(counts) == 0):
        log_base = log_length + work.weights[node]
        return length, log_length, log_base, elementary.exp(log_base)
    return length, log_length, log_length, model.length_prob[length]


@describe.register(TypedModel)
def _describe_skeleton(model, forest, work, node):
    """That of the skeleton, and the length prior of the typed rule."""
    return describe(model.plain, forest, work, node)


@describe.register(LabelledModel)
def _describe_labelled(model, forest, work, node):
    length, log_length, log_base, base = describe(model.plain, forest, work, node)
    log_label = sum_gap_labels(forest, work, node, model.log_label)
    stratum = model.first[forest.label[node]] + length
    return stratum, log_length, log_base + log_label, base * elementary.exp(log_label)


def log_predictive_of_counts(
    model: AnyModel,
    rules: RuleCounts,
    source_weights: np.ndarray,
    target_weights: np.ndarray,
    *,
    discount: float,
    strength: float,
    totals: RuleTotals | None = None,
    labels: Labels | None = None,
) -> np.ndarray:
    """ln P(r | counts) of each rule under estimated tables; float64 (R,).

    Parameters
    ----------
    model : RuleModel
    rules : RuleCounts
        Each rule once. Counts below one, as expected counts are, are taken to be as many tables.
    source_weights, target_weights : float64 arrays
        ln of the base's word weights, by word id; see `words.word_weights`.
    discount, strength : float
        d and α.
    totals : RuleTotals, optional
        Of all rules, if these are not all.
    labels : Labels, optional
        Of the rules of a `LabelledModel`, as numbered there; None if all are X.
    """
    if isinstance(model, TypedModel):
        assert totals is None, "rules with types are scored all at once"
        of_words = source_weights, target_weights
        return _log_predictive_of_typed(model, rules, of_words, discount, strength, labels)
    if totals is None:
        totals = new_rule_totals(model)
        add_to_totals(totals, model, rules, discount=discount, labels=labels)
    plain = model.plain if isinstance(model, LabelledModel) else model
    sides = []
    for start, symbols, weights in (
        (rules.source_start, rules.source, source_weights),
        (rules.target_start, rules.target, target_weights),
    ):
        is_word = symbols >= 0
        before = np.concatenate([[0], np.cumsum(is_word)])
        weight = np.concatenate([[0.0], np.cumsum(np.where(is_word, weights[np.maximum(symbols, 0)], 0.0))])
        sides.append((np.diff(before[start]), np.diff(weight[start])))
    (source_words, source_weight), (target_words, target_weight) = sides
    slots = np.diff(rules.source_start) - source_words
    stratum = _strata(model, rules, labels)
    if plain.kind[0] == _DIRICHLET:
        log_prior = np.zeros(rules.num_rules)
        log_base = source_words * plain.log_words[0] + target_words * plain.log_words[1]
    else:
        log_prior = log_base = model.log_length[stratum]
        if plain.kind[0] == _LEXICAL:
            log_base = log_base + source_weight + target_weight + slots * _LOG_NONTERMINAL
        elif plain.kind[0] == _NULL_WORDS:
            one_sided = (source_words == 0) | (target_words == 0)
            log_base = log_base + np.where(one_sided, source_weight + target_weight, 0.0)
    if isinstance(model, LabelledModel):
        log_base = log_base + _log_gap_labels(model, rules, labels)
    tables = _tables(rules, discount)
    all_customers, all_tables = totals.customers[stratum], totals.tables[stratum]
    mass = rules.count - discount * tables + (strength + discount * all_tables) * exp_each(log_base)
    return log_prior + log_each(mass / (all_customers + strength))


def _log_predictive_of_typed(
    model: TypedModel,
    rules: RuleCounts,
    of_words: tuple[np.ndarray, np.ndarray],
    discount: float,
    strength: float,
    labels: Labels | None,
) -> np.ndarray:
    """`log_predictive_of_counts` on two levels: tables of typed rules are customers of their skeletons."""
    tables = _tables(rules, discount)
    skeleton, first = group_rows(*_joined_sides(rules))
    shared = select_rules(rules, first)._replace(count=np.bincount(skeleton, tables))
    length = _strata(model.plain, rules, None)
    log_length = model.plain.log_length[length]
    of_skeletons = log_predictive_of_counts(
        model.plain, shared, *of_words, discount=discount, strength=strength
    )
    log_back = of_skeletons[skeleton] - log_length
    left = np.zeros(rules.num_rules, np.int64) if labels is None else labels.lhs
    stratum = model.first[left] + length
    all_customers, all_tables = (np.bincount(stratum, each)[stratum] for each in (rules.count, tables))
    base = exp_each(gap_counts(rules.source_start, rules.source) * model.log_type[0] + log_back)
    opening = (strength + all_tables * discount) * base
    return log_length + log_each((rules.count - tables * discount + opening) / (strength + all_customers))


def _joined_sides(rules: RuleCounts) -> tuple[np.ndarray, np.ndarray]:
    """Both sides of every rule, one behind the other, with a symbol between that no rule has, as rows."""
    start = rules.source_start + rules.target_start + np.arange(rules.num_rules + 1)
    lengths = np.stack([np.diff(rules.source_start), np.ones_like(rules.count), np.diff(rules.target_start)])
    part = np.repeat(np.tile([0, 1, 2], rules.num_rules), lengths.T.ravel().astype(np.int64))
    joined = np.full(int(start[-1]), np.iinfo(np.int32).min, np.int32)
    joined[part == 0] = rules.source
    joined[part == 2] = rules.target
    return start, joined


class RuleTotals(NamedTuple):
    """What all rules of a restaurant come to, for each."""

    customers: np.ndarray
    """float64 (L,)."""
    tables: np.ndarray
    """float64 (L,)."""


def new_rule_totals(model: AnyModel) -> RuleTotals:
    """Those of no rules."""
    return RuleTotals(np.zeros_like(model.log_length), np.zeros_like(model.log_length))


def add_to_totals(
    totals: RuleTotals,
    model: AnyModel,
    rules: RuleCounts,
    *,
    discount: float,
    labels: Labels | None = None,
) -> None:
    """Add some rules, one after the other: sums depend on their order, not on how they are divided.

    Parameters
    ----------
    totals : RuleTotals
        Changed.
    model : RuleModel
    rules : RuleCounts
        As in `log_predictive_of_counts`.
    discount : float
        d.
    labels : Labels, optional
        As there.
    """
    stratum = _strata(model, rules, labels)
    np.add.at(totals.customers, stratum, rules.count)
    np.add.at(totals.tables, stratum, _tables(rules, discount))


def _strata(model: AnyModel, rules: RuleCounts, labels: Labels | None) -> np.ndarray:
    """int64 (R,), the restaurant of each rule."""
    assert not isinstance(model, TypedModel), "its restaurants are found on both levels"
    if isinstance(model, LabelledModel):
        left = np.zeros(rules.num_rules, np.int32) if labels is None else labels.lhs
        return model.first[left] + _strata(model.plain, rules, None)
    if model.kind[0] == _DIRICHLET:
        return np.zeros(rules.num_rules, np.int64)
    sides = (rules.source_start, rules.source), (rules.target_start, rules.target)
    before = [(start, np.concatenate([[0], np.cumsum(symbols >= 0)])) for start, symbols in sides]
    source_words, target_words = (np.diff(words[start]) for start, words in before)
    return source_words + target_words + source_scope(rules)


def _log_gap_labels(model: LabelledModel, rules: RuleCounts, labels: Labels | None) -> np.ndarray:
    """float64 (R,): Σ ln P(label) over the gaps of each rule, in their order."""
    if labels is None:
        return gap_counts(rules.source_start, rules.source) * model.log_label[0]
    padded = np.append(model.log_label, 0.0)  # Kinds are filled with −1.
    total = np.zeros(len(labels.kinds))
    for gaps in labels.kinds.T[1:]:
        total += padded[gaps]
    return total[labels.kind]


def _tables(rules: RuleCounts, discount: float) -> np.ndarray:
    """float64 (R,), how many tables the customers of each rule are taken to have."""
    return np.minimum(rules.count, powers(rules.count, float(discount)))


def rules_log_joint(model: AnyModel, restaurants: Restaurants) -> float:
    """ln P of all rules seated, and of their seating where it is tracked.

    Parameters
    ----------
    model : RuleModel or LabelledModel
    restaurants : Restaurants
    """
    number = len(restaurants.stratum_customers)
    lengths = dot(restaurants.stratum_customers, model.log_length[:number])
    return float(log_joint(restaurants)) + float(lengths)
