"""Context-free grammars as arrays, and probabilities for their rules.

A grammar has N nonterminals, the first of which is the start symbol, W terminals and R rules A → X₁ … X_k
with k ≥ 1. Rules are numbered so that those of a nonterminal stand together: they are the choices of one
multinomial, and the rules of all nonterminals are a `Families`. Probabilities, prior concentrations and
counts are arrays of shape (R,) in that order, beside the grammar and not in it.

The fact a newcomer would get wrong: a nonterminal without rules is a nonterminal all the same (a useless
one), not a terminal. Such nonterminals have the highest numbers, so that the families are those of the
others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from monolingual.priors.multinomials import Families, sum_per_family
from scfg_sampler.core.arrays.vocabulary import Vocabulary

__all__ = [
    "Grammar",
    "WeightedGrammar",
    "build_grammar",
    "families",
    "heads",
    "nonterminal",
    "num_rules",
    "quoted",
    "rule_name",
    "rule_symbols",
    "select_rules",
    "weight_sums",
]

Rule = tuple[str, Sequence[tuple[str, bool]]]
"""Left-hand side, and for each symbol on the right its name and whether it is a terminal."""


class Grammar(NamedTuple):
    """A context-free grammar.

    Attributes
    ----------
    nonterminals, terminals : tuple of str
        Names; nonterminal 0 is the start symbol.
    rule_start : int64, shape (N + 1,)
        The rules of nonterminal A are rule_start[A] … rule_start[A + 1] − 1.
    rhs_start : int64, shape (R + 1,)
    rhs : int32
        The right-hand side of rule r is rhs[rhs_start[r]:rhs_start[r + 1]], never empty: a terminal's number,
        or −1 − A for nonterminal A.
    """

    nonterminals: tuple[str, ...]
    terminals: tuple[str, ...]
    rule_start: np.ndarray
    rhs_start: np.ndarray
    rhs: np.ndarray


class WeightedGrammar(NamedTuple):
    """A grammar with what a file says of its rules.

    Attributes
    ----------
    grammar : Grammar
    weights : float64, shape (R,), or None
        As written, not normalised; None when the file has none.
    pseudo_counts : float64, shape (R,), or None
        Prior concentrations of the rules, in Johnson's format.
    """

    grammar: Grammar
    weights: np.ndarray | None = None
    pseudo_counts: np.ndarray | None = None


def build_grammar(start: str, rules: Iterable[Rule]) -> tuple[Grammar, np.ndarray]:
    """The grammar of some rules, and the place of each among its rules.

    Parameters
    ----------
    start : str
        The start symbol, which must have a rule.
    rules : iterable of (left-hand side, [(symbol, is terminal), …])
        All different, right-hand sides not empty.

    Returns
    -------
    Grammar, and int64 of shape (R,): the number of the first given rule, of the second, ….

    >>> grammar, _ = build_grammar("S", [("S", [("S", False), ("S", False)]), ("S", [("a", True)])])
    >>> [rule_name(grammar, rule) for rule in range(2)]
    ['S -> S S', "S -> 'a'"]
    """
    rules = list(rules)
    names = Vocabulary([start])
    words = Vocabulary()
    lhs_ids = np.array(names.add_all(lhs for lhs, _ in rules), dtype=np.int64)
    order = np.argsort(lhs_ids, kind="stable")
    place = np.empty(len(rules), dtype=np.int64)
    place[order] = np.arange(len(rules))
    rhs: list[int] = []
    rhs_start = [0]
    for index in order:
        for symbol, is_terminal in rules[index][1]:
            rhs.append(words.add(symbol) if is_terminal else -1 - names.add(symbol))
        rhs_start.append(len(rhs))
    counts = np.bincount(lhs_ids, minlength=len(names))
    grammar = Grammar(
        tuple(names.words),
        tuple(words.words),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.array(rhs_start, dtype=np.int64),
        np.array(rhs, dtype=np.int32),
    )
    return grammar, place


def num_rules(grammar: Grammar) -> int:
    """How many rules there are."""
    return len(grammar.rhs_start) - 1


def heads(grammar: Grammar) -> np.ndarray:
    """The nonterminal on the left of every rule: int32, shape (R,)."""
    size = len(grammar.nonterminals)
    return np.repeat(np.arange(size, dtype=np.int32), np.diff(grammar.rule_start))


def families(grammar: Grammar) -> Families:
    """The rules of each nonterminal as a multinomial; nonterminals without rules have none."""
    size = int(np.count_nonzero(np.diff(grammar.rule_start)))
    return Families(grammar.rule_start[: size + 1])


def nonterminal(symbol):
    """The nonterminal that a negative symbol of a right-hand side stands for, and the reverse."""
    return -1 - symbol


def rule_symbols(grammar: Grammar, rule: int) -> list[int]:
    """The right-hand side of a rule."""
    return grammar.rhs[grammar.rhs_start[rule] : grammar.rhs_start[rule + 1]].tolist()


def rule_name(grammar: Grammar, rule: int) -> str:
    """A rule as NLTK writes it, without its weight."""
    lhs = int(np.searchsorted(grammar.rule_start, rule, side="right")) - 1
    names = [
        quoted(grammar.terminals[symbol]) if symbol >= 0 else grammar.nonterminals[nonterminal(symbol)]
        for symbol in rule_symbols(grammar, rule)
    ]
    return " ".join([grammar.nonterminals[lhs], "->", *names])


def quoted(terminal: str) -> str:
    """A terminal between quotes, of the kind that does not occur in it if there is one."""
    return f'"{terminal}"' if "'" in terminal else f"'{terminal}'"


def select_rules(grammar: Grammar, keep: np.ndarray) -> tuple[Grammar, np.ndarray]:
    """The grammar of some of the rules, and their numbers in the old one.

    Parameters
    ----------
    grammar : Grammar
    keep : bool, shape (R,)
        At least one rule of the start symbol.

    Returns
    -------
    Grammar, and int64 of shape (R',): the old number of each of its rules.
    """
    lhs = heads(grammar)
    old = np.flatnonzero(keep)
    rules = [
        (
            grammar.nonterminals[lhs[rule]],
            [
                (grammar.terminals[symbol], True)
                if symbol >= 0
                else (grammar.nonterminals[nonterminal(symbol)], False)
                for symbol in rule_symbols(grammar, int(rule))
            ],
        )
        for rule in old
    ]
    smaller, place = build_grammar(grammar.nonterminals[0], rules)
    numbers = np.empty(len(old), dtype=np.int64)
    numbers[place] = old
    return smaller, numbers


def weight_sums(grammar: Grammar, weights: np.ndarray) -> np.ndarray:
    """The sum of the weights of each nonterminal's rules, for those that have rules."""
    return sum_per_family(families(grammar), weights)
