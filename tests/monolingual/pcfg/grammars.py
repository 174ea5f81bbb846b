"""Grammars of the tests, random ones, and all trees of a sentence by brute force."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np

from monolingual.pcfg.grammar import Grammar, build_grammar, families, heads, num_rules, rule_symbols
from monolingual.pcfg.grammar_text import probabilities, read_grammar
from monolingual.priors.multinomials import normalise

CATALAN = "S -> S S [{p}] | 'a' [{q}]"
TERNARY = "S -> S S S | S S | 'a'"
CHAINS = """
S -> A S B [.2] | A [.3] | S [.1] | 'a' [.4]
A -> S [.5] | B [.25] | 'c' S 'd' [.25]
B -> B [.3] | 'b' [.7]
"""


def grammar_of(text: str, tmp_path: Path) -> tuple[Grammar, np.ndarray]:
    """The grammar of a text, and its probabilities."""
    path = tmp_path / "grammar.txt"
    path.write_text(text, encoding="utf-8")
    weighted = read_grammar(path)
    return weighted.grammar, probabilities(path, weighted)


def catalan(p: float, tmp_path: Path) -> tuple[Grammar, np.ndarray]:
    return grammar_of(CATALAN.format(p=p, q=1 - p), tmp_path)


def random_grammar(rng, size: int, *, max_arity: int = 3, terminals: int = 3, linear: bool = False):
    """A grammar in which every nonterminal has a terminal rule, and random probabilities.

    With `linear`, nonterminals 2i and 2i + 1 lead only to themselves, once at the most, and to higher ones.
    """
    rules = {}
    for a in range(size):
        rules[(a, (("t0", True),))] = None
        for _ in range(int(rng.integers(1, 4))):
            right = []
            for _ in range(int(rng.integers(1, max_arity + 1))):
                if rng.random() < 0.3:
                    right.append((f"t{rng.integers(terminals)}", True))
                    continue
                lowest = 0
                if linear:
                    is_used = any(not is_terminal and int(n[1:]) // 2 == a // 2 for n, is_terminal in right)
                    lowest = 2 * (a // 2 + is_used)
                if lowest >= size:
                    right.append(("t0", True))
                    continue
                right.append((f"N{rng.integers(lowest, size)}", False))
            rules[(a, tuple(right))] = None
    grammar, _ = build_grammar("N0", [(f"N{a}", list(right)) for a, right in rules])
    weights = rng.gamma(0.7, size=num_rules(grammar)) + 1e-3
    return grammar, normalise(families(grammar), weights)


def precise_partition(grammar: Grammar, probs: np.ndarray, rounds: int = 4000) -> np.ndarray:
    """The least fixed point by the plain iteration in 50 digits."""
    lhs = heads(grammar)
    with localcontext() as context:
        context.prec = 50
        exact = [Decimal(float(p)) for p in probs]
        values = [Decimal(0)] * len(grammar.nonterminals)
        for _ in range(rounds):
            new = [Decimal(0)] * len(values)
            for rule in range(num_rules(grammar)):
                product = exact[rule]
                for symbol in rule_symbols(grammar, rule):
                    if symbol < 0:
                        product *= values[-1 - symbol]
                new[lhs[rule]] += product
            if all(abs(a - b) < Decimal(10) ** -30 for a, b in zip(new, values, strict=True)):
                break
            values = new
        return np.array([float(value) for value in values])


def all_trees(grammar: Grammar, words, *, max_unary: int = 0, symbol: int = 0):
    """Every tree of a sentence as the tuple of its rules in preorder, with at most `max_unary` unary rules.

    `words` are terminal ids; each tree occurs once.
    """
    words = tuple(words)

    def of_symbol(a: int, part: tuple, unary: int):
        for rule in range(grammar.rule_start[a], grammar.rule_start[a + 1]):
            right = rule_symbols(grammar, rule)
            is_unary = len(right) == 1 and right[0] < 0
            if is_unary and unary == 0:
                continue
            for rules, left in of_sequence(right, part, unary - is_unary):
                yield (rule, *rules), left

    def of_sequence(right, part: tuple, unary: int):
        if not right:
            if not part:
                yield (), unary
            return
        first, rest = right[0], right[1:]
        if first >= 0:
            if part and part[0] == first:
                yield from of_sequence(rest, part[1:], unary)
            return
        for size in range(1, len(part) - len(rest) + 1):
            for rules, left in of_symbol(-1 - first, part[:size], unary):
                for more, remaining in of_sequence(rest, part[size:], left):
                    yield (*rules, *more), remaining

    return [rules for rules, _ in of_symbol(symbol, words, max_unary)]


def tree_probability(tree, probs) -> float:
    return math.prod(float(probs[rule]) for rule in tree)
