"""The probability of the rules of derivations, customer by customer, as the papers define it.

Chung, Fang, Gildea and Štefankovič (2014), sections 4 and 5.2: a rule of length ℓ has probability
Poisson(ℓ; λ) times the predictive probability of the Pitman–Yor restaurant of length ℓ (`pitman-yor`), or
that of one Dirichlet process over all rules (`dirichlet`). Nothing is imported from the code: every constant
is written here again, and sums go over customers one by one. Rules are pairs of text, as
`phrase_forest.rules` spells them, or triples, with a left-hand side behind: then there is a restaurant for
each of these, and the base is multiplied by the share of each gap's label among all phrases but goals.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tests.oracles.phrase_forest import Sentence, goal, label, phrases, rule_length

__all__ = ["Model", "base_prob", "log_jacobian", "log_joint", "log_predictive", "log_prior", "model_of"]

Rule = tuple[str, ...]


class Model(NamedTuple):
    """What the probability of a rule depends on.

    unigrams are relative frequencies by word, alone the shares of its occurrences that no link touches, a
    further occurrence having the average share.
    """

    model: str
    base: str
    exact: bool
    discount: float
    strength: float
    mean_length: float
    unigrams: tuple[Mapping[str, float], Mapping[str, float]]
    alone: tuple[Mapping[str, float], Mapping[str, float]]
    shares: Mapping[str, float]


def model_of(settings, pairs: Iterable[Sentence], **changed: float) -> Model:
    """The model of the learner's settings on a corpus; `changed` are values of parameters."""
    counts = Counter(), Counter()
    for pair in pairs:
        for side in (0, 1):
            counts[side].update(pair[side])
    unigrams = tuple({word: n / count.total() for word, n in count.items()} for count in counts)
    alone = tuple(_shares_alone(pairs, side) for side in (0, 1))
    values = {name: getattr(settings, name) for name in ("discount", "strength", "mean_length")} | changed
    if settings.model == "dirichlet":
        values["discount"] = 0.0
    return Model(
        settings.model,
        settings.base,
        settings.tables == "exact",
        **values,
        unigrams=unigrams,
        alone=alone,
        shares=_label_shares(list(pairs), settings.labels_side),
    )


def _label_shares(pairs: list[Sentence], side: str) -> dict[str, float]:
    """The share of each label among the phrases that a rule may have a gap for."""
    if not any(pair.labels for pair in pairs):
        return {}
    seen = Counter(label(pair, p, side) for pair in pairs for p in phrases(pair) if p != goal(pair))
    return {name: number / seen.total() for name, number in seen.items()}


def _shares_alone(pairs: Iterable[Sentence], side: int) -> dict[str, float]:
    seen, without = Counter(), Counter()
    for pair in pairs:
        linked = {link[side] for link in pair.links}
        for at, word in enumerate(pair[side]):
            seen[word] += 1
            without[word] += at not in linked
    average = max(1, without.total()) / seen.total()
    return {word: (without[word] + average) / (n + 1) for word, n in seen.items()}


def _sides(rule: Rule) -> tuple[list[str], list[str], int]:
    """The words of both sides, and the number of gaps."""
    words = [[symbol for symbol in side.split() if not symbol.startswith("[")] for side in rule[:2]]
    return words[0], words[1], len(rule[0].split()) - len(words[0])


def _poisson(length: int, mean: float) -> float:
    return math.exp(-mean) * mean**length / math.factorial(length)


def _length_prob(model: Model, rule: Rule) -> float:
    return 1.0 if model.model == "dirichlet" else _poisson(rule_length(rule), model.mean_length)


def base_prob(model: Model, rule: Rule) -> float:
    """P₀ of a rule."""
    return _plain_base_prob(model, rule) * math.prod(
        model.shares[symbol[1:].split(",")[0]] for symbol in rule[0].split() if symbol[0] == "[" and rule[2:]
    )


def _plain_base_prob(model: Model, rule: Rule) -> float:
    source, target, gaps = _sides(rule)
    if model.model == "dirichlet":
        sizes = [len(unigrams) for unigrams in model.unigrams]
        return 1.0 / (sizes[0] ** len(source) * sizes[1] ** len(target))
    prob = _poisson(rule_length(rule), model.mean_length)
    if model.base == "lexical":
        prob *= math.prod(model.unigrams[0][word] for word in source)
        prob *= math.prod(model.unigrams[1][word] for word in target)
        prob /= 4**gaps
    if model.base == "null-words" and not (source and target):
        prob *= math.prod(model.alone[0][word] for word in source)
        prob *= math.prod(model.alone[1][word] for word in target)
    return prob


def _strata(model: Model, rules: Iterable[Rule]) -> list[list[Rule]]:
    found = defaultdict(list)
    for rule in rules:
        found[0 if model.model == "dirichlet" else rule_length(rule), rule[2:]].append(rule)
    return list(found.values())


def log_joint(model: Model, seating: Mapping[Rule, tuple[int, ...]]) -> float:
    """ln P of all rules and, if tables are exact and there is a discount, of one seating of their uses.

    seating : the table sizes of every rule; only their sum counts where tables are not tracked
    """
    alpha, d, total = model.strength, model.discount, 0.0
    for rules in _strata(model, seating):
        customers = sum(sum(seating[rule]) for rule in rules)
        total -= sum(math.log(alpha + i) for i in range(customers))
        total += sum(sum(seating[rule]) * math.log(_length_prob(model, rule)) for rule in rules)
        if model.exact and d > 0.0:
            tables = sum(len(seating[rule]) for rule in rules)
            total += sum(math.log(alpha + k * d) for k in range(tables))
            for rule in rules:
                total += len(seating[rule]) * math.log(base_prob(model, rule))
                total += sum(math.log(i - d) for size in seating[rule] for i in range(1, size))
            continue
        counts = {rule: sum(seating[rule]) for rule in rules}
        opening = alpha + d * sum(count**d for count in counts.values())
        for rule, count in counts.items():
            total += math.log(opening * base_prob(model, rule))
            total += sum(math.log(i - d * i**d + opening * base_prob(model, rule)) for i in range(1, count))
    return total


def log_predictive(model: Model, counts: Mapping[Rule, float]) -> dict[Rule, float]:
    """ln P(r | counts) with n^d tables for a rule used n times, n of them if n is below one."""
    found = {}
    for rules in _strata(model, counts):
        tables = {rule: min(counts[rule], counts[rule] ** model.discount) for rule in rules}
        customers = sum(counts[rule] for rule in rules)
        opening = model.strength + model.discount * sum(tables.values())
        for rule in rules:
            mass = counts[rule] - model.discount * tables[rule] + opening * base_prob(model, rule)
            found[rule] = math.log(_length_prob(model, rule) * mass / (customers + model.strength))
    return found


def log_prior(learned: Iterable[str], model: Model) -> float:
    """ln of α ~ Gamma(1, rate 1/100), λ ~ Gamma(1, rate 1/10), d uniform, up to a constant."""
    rates = {"strength": 1 / 100, "mean_length": 1 / 10, "discount": 0.0}
    return -sum(rates[name] * getattr(model, name) for name in learned)


def log_jacobian(name: str, value: float) -> float:
    """ln |dvalue / dx| where x = ln value, or ln value / (1 − value) for the discount."""
    return math.log(value * (1.0 - value)) if name == "discount" else math.log(value)
