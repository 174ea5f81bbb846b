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

from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from monolingual.priors.multinomials import Families, sum_per_family
from scfg_sampler.core.arrays.vocabulary import Vocabulary

__all__ = [
    "Grammar",
    "RuleList",
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
    listed = RuleList()
    for lhs, symbols in rules:
        listed.add(lhs, symbols)
    listed.close()
    return listed.grammar(start)


class RuleList:
    """Rules in the order in which they were added, as numbers: each name is kept once.

    Attributes
    ----------
    names, words : list of str
        Of nonterminals and of terminals, in the order in which they were met.
    """

    def __init__(self) -> None:
        self._name_ids, self._word_ids = Vocabulary(), Vocabulary()
        self.names, self.words = self._name_ids.words, self._word_ids.words
        self._lhs, self._symbols, self._start = array("i"), array("i"), array("q", [0])

    def __len__(self) -> int:
        return len(self._lhs)

    def add(self, lhs: str, symbols: Iterable[tuple[str, bool]]) -> None:
        """Add a rule: its left-hand side; of symbols on the right the name, and whether it is a terminal."""
        self._lhs.append(self._name_ids.add(lhs))
        self._symbols.extend(
            self._word_ids.add(name) if is_terminal else nonterminal(self._name_ids.add(name))
            for name, is_terminal in symbols
        )
        self._start.append(len(self._symbols))

    def close(self) -> None:
        """Forget what finds the numbers of names, which takes much room; no rule is added after that."""
        del self._name_ids, self._word_ids

    def has_parent(self, name: str) -> bool:
        """Whether a name is the left-hand side of a rule."""
        return name in self.names and self.names.index(name) in self._lhs

    def spelled(self, rule: int) -> str:
        """A rule as NLTK writes it."""
        names = [
            quoted(self.words[symbol]) if symbol >= 0 else self.names[nonterminal(symbol)]
            for symbol in self._symbols[self._start[rule] : self._start[rule + 1]]
        ]
        return " ".join([self.names[self._lhs[rule]], "->", *names])

    def first_repetition(self) -> tuple[int, int] | None:
        """The first rule that was added before, and which that was; None if all are different."""
        lhs, symbols, start = self._arrays()
        lengths = np.diff(start)
        again = len(self)
        for length in np.flatnonzero(np.bincount(lengths)):
            alike = np.flatnonzero(lengths == length)
            keys = [lhs[alike], *(symbols[start[alike] + k] for k in range(length))]
            order = np.lexsort(keys)  # Equal rules stay in the order in which they were added.
            is_same = np.ones(max(len(order) - 1, 0), dtype=np.bool_)
            for key in keys:
                is_same &= key[order[1:]] == key[order[:-1]]
            again = min(again, int(alike[order[1:][is_same]].min(initial=again)))
        if again == len(self):
            return None
        rule = symbols[start[again] : start[again + 1]]
        for first in np.flatnonzero((lhs == lhs[again]) & (lengths == lengths[again])):
            if np.array_equal(symbols[start[first] : start[first + 1]], rule):
                return again, int(first)
        raise AssertionError("a rule that is repeated has a first one")

    def let_others_be_terminals(self) -> None:
        """Let all names that are the left-hand side of no rule be terminals."""
        lhs, symbols, _ = self._arrays()
        is_word = np.ones(len(self.names), dtype=np.bool_)
        is_word[lhs] = False
        word_of = np.cumsum(is_word) - 1 + len(self.words)
        self.words.extend(self.names[number] for number in np.flatnonzero(is_word))
        moved = (symbols < 0) & is_word[nonterminal(symbols)]
        symbols[moved] = word_of[nonterminal(symbols[moved])]

    def grammar(self, start: str) -> tuple[Grammar, np.ndarray]:
        """The grammar of all rules, and the place of each among its rules, as `build_grammar` gives them."""
        lhs, symbols, symbol_start = self._arrays()
        names, words = self.names, self.words
        parents = _by_appearance(np.concatenate([[names.index(start)], lhs]), len(names))
        number_of = np.full(len(names), -1, dtype=np.int32)
        number_of[parents] = np.arange(len(parents))
        order = np.argsort(number_of[lhs], kind="stable")
        place = np.empty(len(lhs), dtype=np.int64)
        place[order] = np.arange(len(lhs))
        rhs_start = np.concatenate([[0], np.cumsum(np.diff(symbol_start)[order])])
        rhs = symbols[
            np.repeat(symbol_start[order] - rhs_start[:-1], np.diff(rhs_start)) + np.arange(len(symbols))
        ]
        is_name = rhs < 0
        children = _by_appearance(nonterminal(rhs[is_name]), len(names))
        useless = children[number_of[children] < 0]
        number_of[useless] = len(parents) + np.arange(len(useless))
        terminals = _by_appearance(rhs[~is_name], len(words))
        word_of = np.empty(len(words), dtype=np.int32)
        word_of[terminals] = np.arange(len(terminals))
        rhs[~is_name] = word_of[rhs[~is_name]]
        rhs[is_name] = nonterminal(number_of[nonterminal(rhs[is_name])])
        counts = np.bincount(number_of[lhs], minlength=len(parents) + len(useless))
        grammar = Grammar(
            tuple(names[number] for number in (*parents, *useless)),
            tuple(words[number] for number in terminals),
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            rhs_start.astype(np.int64),
            rhs,
        )
        return grammar, place

    def _arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Left-hand sides, symbols, and where those of each rule begin: views of what is kept."""
        columns = (self._lhs, np.int32), (self._symbols, np.int32), (self._start, np.int64)
        lhs, symbols, start = (np.frombuffer(column, dtype) for column, dtype in columns)
        return lhs, symbols, start


def _by_appearance(numbers: np.ndarray, size: int) -> np.ndarray:
    """The different numbers, all below `size`, in the order in which they first appear."""
    first = np.full(size, len(numbers))
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]
    order = np.argsort(first, kind="stable")
    return order[: np.count_nonzero(first < len(numbers))]


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
