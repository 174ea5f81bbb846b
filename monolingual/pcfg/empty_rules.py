"""Empty productions taken out of a grammar exactly.

Let e(A) be the probability that A spells nothing, the least solution of e(A) = Σ θ(A → X₁ … X_k) Π e(X_i),
where a terminal has e = 0. A tree in which A spells something keeps of each right-hand side the symbols
that spell something; given that it does, the rule that is left of A → α is used with probability

    Σ over ways to leave out nonterminals:  θ(A → α) · Π_{left out} e(B) · Π_{kept} (1 − e(B)) / (1 − e(A)),

with 1 for terminals. Rules that come out equal are added up. The new grammar gives every sentence that has
words the probability it had, divided by 1 − e(S); and e(S) is that of the sentence without words.

The fact a newcomer would get wrong: rules of one symbol arise (S → NP VP leaves S → VP), and from recursion
S → S; they are summed exactly wherever sentences are parsed.
"""

from __future__ import annotations

import itertools

import numpy as np

from monolingual.pcfg.grammar import Grammar, Rule, build_grammar, heads, num_rules, rule_symbols
from monolingual.pcfg.partition import build_system, newton_partition
from scfg_sampler.errors import InputError

__all__ = ["MOST_EMPTY", "empty_probs", "without_empty"]

MOST_EMPTY = 16
"""Nonterminals of one right-hand side that may spell nothing."""

_ALWAYS = 1e-12


def empty_probs(grammar: Grammar, probs: np.ndarray) -> np.ndarray:
    """The probability that each nonterminal spells nothing, float64 of shape (N,).

    Parameters
    ----------
    grammar : Grammar
        Right-hand sides may be empty.
    probs : float64, shape (R,)
    """
    lhs = heads(grammar)
    rules: list[Rule] = [("start", [(grammar.nonterminals[0] + " ", False)])]
    weights = [1.0]
    for rule in range(num_rules(grammar)):
        right = rule_symbols(grammar, rule)
        if all(symbol < 0 for symbol in right):  # With a terminal, something is spelled.
            names = [(grammar.nonterminals[-1 - symbol] + " ", False) for symbol in right]
            rules.append((grammar.nonterminals[lhs[rule]] + " ", names or [("nothing", True)]))
            weights.append(float(probs[rule]))
    nothing, place = build_grammar("start", rules)
    placed = np.empty(len(weights))
    placed[place] = weights
    system = build_system(nothing, placed > 0.0)
    values, _ = newton_partition(system, placed, np.zeros(len(system.start) - 1, dtype=np.bool_))
    known = dict(zip(nothing.nonterminals, values.tolist(), strict=True))
    return np.array([known.get(name + " ", 0.0) for name in grammar.nonterminals])


def without_empty(path, grammar: Grammar, probs: np.ndarray) -> tuple[Grammar, np.ndarray, float]:
    """The grammar of the sentences that have words, its probabilities, and that of the sentence without.

    Parameters
    ----------
    path : path
        For messages.
    grammar : Grammar
        Right-hand sides may be empty.
    probs : float64, shape (R,)

    Raises
    ------
    InputError
        There is no other sentence than that without words, or a right-hand side is too long.
    """
    empty = empty_probs(grammar, probs)
    empty[empty > 1.0 - _ALWAYS] = 1.0
    if empty[0] == 1.0:
        raise InputError(path, None, "gives no sentence but the empty one")
    lhs = heads(grammar)
    merged: dict[tuple[str, tuple], float] = {}
    for rule in range(num_rules(grammar)):
        parent, right = int(lhs[rule]), rule_symbols(grammar, rule)
        optional = [at for at, symbol in enumerate(right) if symbol < 0 and empty[-1 - symbol] > 0.0]
        if len(optional) > MOST_EMPTY:
            found = (
                f"a rule of {grammar.nonterminals[parent]} has {len(optional)} symbols that may spell nothing"
            )
            raise InputError(path, None, found, f"Split it; at most {MOST_EMPTY}")
        for left_out in itertools.product((False, True), repeat=len(optional)):
            gone = {at for at, is_gone in zip(optional, left_out, strict=True) if is_gone}
            weight = float(probs[rule])
            for at in optional:
                spells_nothing = float(empty[-1 - right[at]])
                weight *= spells_nothing if at in gone else 1.0 - spells_nothing
            kept = tuple(
                (grammar.terminals[symbol], True)
                if symbol >= 0
                else (grammar.nonterminals[-1 - symbol], False)
                for at, symbol in enumerate(right)
                if at not in gone
            )
            if kept and weight > 0.0:
                key = grammar.nonterminals[parent], kept
                merged[key] = merged.get(key, 0.0) + weight / (1.0 - float(empty[parent]))
    smaller, place = build_grammar(grammar.nonterminals[0], list(merged))
    placed = np.empty(len(merged))
    placed[place] = list(merged.values())
    return smaller, placed, float(empty[0])
