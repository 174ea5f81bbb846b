"""The graph of a grammar: which nonterminals lead to which, and what follows from that alone.

A → B when a rule of A has B on its right. The strongly connected components of this graph, each after all it
leads to, are the order in which everything about a grammar is computed. A nonterminal is *productive* if a
finite tree grows from it, *reachable* if it occurs in a sentential form, useful if it is both; a
production is useless if any of its nonterminals is.

A grammar is *linear* (Cohen and Johnson 2013, definition 1) if there is no A ⇒⁺ … A … A …. That is so if and
only if no rule of a useful nonterminal has two nonterminals of its own component on its right: two such, B
and C in A → … B … C …, both lead back to A; and where the paths to the two A's part there is such a rule.
This is what the construction of Bar-Hillel et al. (1964), which the paper uses, decides. A linear grammar is
tight with probability 1 under every continuous prior (proposition 1).

The fact a newcomer would get wrong: S → S S makes a grammar non-linear, but S → A A with A → S does so just
as well.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monolingual.pcfg.grammar import Grammar, heads, num_rules, select_rules
from scfg_sampler.core.jit import kernel

__all__ = [
    "Components",
    "components",
    "is_linear",
    "nonlinear_rules",
    "productive",
    "reachable",
    "useful_rules",
    "without_useless",
]


class Components(NamedTuple):
    """Strongly connected components, those a component leads to before itself.

    Attributes
    ----------
    start : int64, shape (C + 1,)
    members : int64, shape (N,)
        The nonterminals of component c are members[start[c]:start[c + 1]], ascending.
    component : int64, shape (N,)
        The component of each nonterminal.
    """

    start: np.ndarray
    members: np.ndarray
    component: np.ndarray


def components(grammar: Grammar, use: np.ndarray | None = None) -> Components:
    """The components of a grammar, or of some of its rules.

    Parameters
    ----------
    grammar : Grammar
    use : bool, shape (R,), optional
        The rules to look at; by default all.
    """
    component = _components(grammar.rule_start, grammar.rhs_start, grammar.rhs, _all_or(grammar, use))
    members = np.argsort(component, kind="stable")
    sizes = np.bincount(component)
    return Components(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), members, component)


def productive(grammar: Grammar, use: np.ndarray | None = None) -> np.ndarray:
    """Whether a finite tree grows from each nonterminal: bool, shape (N,)."""
    return _productive(
        heads(grammar), grammar.rhs_start, grammar.rhs, _all_or(grammar, use), len(grammar.nonterminals)
    )


def reachable(grammar: Grammar, use: np.ndarray | None = None) -> np.ndarray:
    """Whether each nonterminal occurs in a sentential form of the start symbol: bool, shape (N,)."""
    return _reachable(grammar.rule_start, grammar.rhs_start, grammar.rhs, _all_or(grammar, use))


def useful_rules(grammar: Grammar, use: np.ndarray | None = None) -> np.ndarray:
    """Whether each rule occurs in a finite tree of the start symbol: bool, shape (R,)."""
    use = _all_or(grammar, use)
    grows = use & _all_children(grammar, productive(grammar, use))
    return grows & reachable(grammar, grows)[heads(grammar)]


def without_useless(grammar: Grammar) -> tuple[Grammar, np.ndarray]:
    """The grammar of the useful rules, and their old numbers; the start symbol must be productive."""
    return select_rules(grammar, useful_rules(grammar))


def nonlinear_rules(grammar: Grammar) -> np.ndarray:
    """The useful rules with two nonterminals of their own component on the right; none if linear."""
    useful = useful_rules(grammar)
    component = components(grammar, useful).component
    lhs = heads(grammar)
    owner = np.repeat(np.arange(num_rules(grammar)), np.diff(grammar.rhs_start))
    is_nonterminal = grammar.rhs < 0
    rule, child = owner[is_nonterminal], -1 - grammar.rhs[is_nonterminal]
    again = np.bincount(rule, component[child] == component[lhs[rule]], minlength=num_rules(grammar))
    return np.flatnonzero(useful & (again >= 2))


def is_linear(grammar: Grammar) -> bool:
    """Whether no nonterminal derives a form with two of itself (Cohen and Johnson 2013, definition 1)."""
    return len(nonlinear_rules(grammar)) == 0


def _all_or(grammar: Grammar, use: np.ndarray | None) -> np.ndarray:
    return np.ones(num_rules(grammar), dtype=np.bool_) if use is None else np.asarray(use, dtype=np.bool_)


def _all_children(grammar: Grammar, good: np.ndarray) -> np.ndarray:
    """Whether every nonterminal on the right of each rule is good."""
    fine = np.where(grammar.rhs < 0, good[-1 - np.minimum(grammar.rhs, -1)], True)
    return np.logical_and.reduceat(fine, grammar.rhs_start[:-1])


@kernel
def _productive(lhs, rhs_start, rhs, use, size):
    found = np.zeros(size, dtype=np.bool_)
    changed = True
    while changed:
        changed = False
        for rule in range(len(lhs)):
            if use[rule] and not found[lhs[rule]]:
                complete = True
                for i in range(rhs_start[rule], rhs_start[rule + 1]):
                    if rhs[i] < 0 and not found[-1 - rhs[i]]:
                        complete = False
                        break
                if complete:
                    found[lhs[rule]] = True
                    changed = True
    return found


@kernel
def _reachable(rule_start, rhs_start, rhs, use):
    size = len(rule_start) - 1
    found = np.zeros(size, dtype=np.bool_)
    stack = np.empty(size, dtype=np.int64)
    stack[0], depth = 0, 1
    found[0] = True
    while depth > 0:
        depth -= 1
        node = stack[depth]
        for rule in range(rule_start[node], rule_start[node + 1]):
            if not use[rule]:
                continue
            for i in range(rhs_start[rule], rhs_start[rule + 1]):
                child = -1 - rhs[i]
                if rhs[i] < 0 and not found[child]:
                    found[child] = True
                    stack[depth] = child
                    depth += 1
    return found


@kernel
def _components(rule_start, rhs_start, rhs, use):
    """Tarjan's algorithm with a stack of its own; components are numbered as they are completed."""
    size = len(rule_start) - 1
    component = np.full(size, -1, dtype=np.int64)
    index = np.full(size, -1, dtype=np.int64)
    low = np.zeros(size, dtype=np.int64)
    position = np.zeros(size, dtype=np.int64)  # the next symbol of the rules of a node to look at
    path = np.empty(size, dtype=np.int64)  # nodes being visited
    open_nodes = np.empty(size, dtype=np.int64)  # nodes without a component yet
    count, num_open, found = 0, 0, 0
    rule_of = np.empty(len(rhs), dtype=np.int64)
    for rule in range(len(rhs_start) - 1):
        rule_of[rhs_start[rule] : rhs_start[rule + 1]] = rule
    for root in range(size):
        if index[root] >= 0:
            continue
        path[0], depth = root, 1
        while depth > 0:
            node = path[depth - 1]
            if index[node] < 0:
                index[node] = low[node] = count
                count += 1
                open_nodes[num_open] = node
                num_open += 1
                position[node] = rhs_start[rule_start[node]]
            descended = False
            while position[node] < rhs_start[rule_start[node + 1]]:
                at = position[node]
                position[node] += 1
                if rhs[at] >= 0 or not use[rule_of[at]]:
                    continue
                child = -1 - rhs[at]
                if index[child] < 0:
                    path[depth] = child
                    depth += 1
                    descended = True
                    break
                if component[child] < 0:
                    low[node] = min(low[node], low[child])
            if descended:
                continue
            depth -= 1
            if depth > 0:
                low[path[depth - 1]] = min(low[path[depth - 1]], low[node])
            if low[node] == index[node]:
                member = -1
                while member != node:
                    num_open -= 1
                    member = open_nodes[num_open]
                    component[member] = found
                found += 1
    return component
