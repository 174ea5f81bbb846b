"""Derivations whose nonterminals have types, and the probability of their rules, customer by customer.

A typed rule is drawn, given the type on its left and its length, from a Pitman–Yor process whose base is that
of its skeleton, the rule without types, of the same length (Teh 2006), times 1/K for the type of each gap.
Tables of typed rules are the customers of skeletons. Nothing is imported from the code.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from tests.oracles import phrase_forest, rule_model
from tests.oracles.phrase_forest import Sentence

__all__ = ["Rule", "log_joint", "log_predictive", "preorder", "skeleton", "typings"]

Rule = tuple[str, str, str]
"""Both sides, gaps spelled with their types, and the type on the left."""


def preorder(derivation: tuple) -> Iterator[tuple]:
    """(node, whether it is cut) of all nodes, a node before those below, these in source order."""
    node, cut, parts = derivation
    yield node, cut
    for part in parts:
        yield from preorder(part)


def typings(
    pair: Sentence, derivation: tuple, num_types: int
) -> Iterator[tuple[tuple[int, ...], list[Rule]]]:
    """All types of the nodes in preorder, 0 where there is none, each with the rules of the cut nodes."""
    nodes = list(preorder(derivation))
    choices = [range(1, num_types + 1) if cut and at > 0 else (0,) for at, (_, cut) in enumerate(nodes)]
    for types in itertools.product(*choices):
        labels = tuple((*node[2:], f"X{z}") for (node, _), z in zip(nodes, types, strict=True) if z)
        yield types, phrase_forest.labelled_rules(pair._replace(labels=labels), derivation, "target")


def skeleton(rule: Rule) -> tuple[str, str]:
    """The rule without types."""
    return tuple(
        " ".join(
            f"[X,{symbol[:-1].split(',')[1]}]" if symbol[0] == "[" else symbol for symbol in side.split()
        )
        for side in rule[:2]
    )


def _gaps(rule: Rule) -> int:
    return sum(symbol[0] == "[" for symbol in rule[0].split())


def _seats(sizes: list[tuple[int, ...]], alpha: float, d: float) -> float:
    """ln of the probability of a seating without what the tables eat, and of how many have such sizes."""
    customers, tables = sum(map(sum, sizes)), sum(map(len, sizes))
    total = sum(math.log(alpha + k * d) for k in range(tables))
    total -= sum(math.log(alpha + i) for i in range(customers))
    total += sum(math.log(i - d) for each in sizes for size in each for i in range(1, size))
    for each in sizes:
        total += math.lgamma(sum(each) + 1) - sum(math.lgamma(size + 1) for size in each)
        total -= sum(math.lgamma(number + 1) for number in Counter(each).values())
    return total


def log_joint(
    model: rule_model.Model,
    num_types: int,
    typed: Mapping[Rule, tuple[int, ...]],
    shared: Mapping[tuple[str, str], tuple[int, ...]],
) -> float:
    """ln P of all seatings with these table sizes of typed rules, and of skeletons."""
    tables = Counter()
    for rule, sizes in typed.items():
        tables[skeleton(rule)] += len(sizes)
    assert tables == Counter({rule: sum(sizes) for rule, sizes in shared.items()})
    alpha, d, total = model.strength, model.discount, 0.0
    restaurants = defaultdict(list)
    for rule, sizes in typed.items():
        restaurants[rule[2], phrase_forest.rule_length(rule)].append(sizes)
        total += sum(sizes) * math.log(_poisson(model, rule)) - len(sizes) * _gaps(rule) * math.log(num_types)
    for rule, sizes in shared.items():
        restaurants["skeletons", phrase_forest.rule_length(rule)].append(sizes)
        total += len(sizes) * math.log(rule_model.base_prob(model, rule))
    return total + sum(_seats(sizes, alpha, d) for sizes in restaurants.values())


def _poisson(model: rule_model.Model, rule: tuple[str, ...]) -> float:
    length, mean = phrase_forest.rule_length(rule), model.mean_length
    return math.exp(-mean) * mean**length / math.factorial(length)


def log_predictive(
    model: rule_model.Model, num_types: int, counts: Mapping[Rule, float]
) -> dict[Rule, float]:
    """ln P(r | counts) with n^d tables for a rule used n times, n of them if n is below one."""
    alpha, d = model.strength, model.discount
    tables = {rule: min(n, n**d) for rule, n in counts.items()}
    shared = Counter()
    for rule, number in tables.items():
        shared[skeleton(rule)] += number
    shared_log = rule_model.log_predictive(model, shared)
    found = {}
    for rule, n in counts.items():
        alike = [
            r
            for r in counts
            if r[2] == rule[2] and phrase_forest.rule_length(r) == phrase_forest.rule_length(rule)
        ]
        # What the oracle gives for the skeleton has the length's own factor, which typed rules have once.
        back = math.exp(shared_log[skeleton(rule)]) / _poisson(model, rule) / num_types ** _gaps(rule)
        opening = alpha + d * sum(tables[r] for r in alike)
        mass = n - d * tables[rule] + opening * back
        found[rule] = math.log(_poisson(model, rule) * mass / (alpha + sum(counts[r] for r in alike)))
    return found
