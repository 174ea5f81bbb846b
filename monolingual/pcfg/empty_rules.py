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
from decimal import localcontext

import numpy as np

from monolingual.pcfg.grammar import Grammar, Rule, build_grammar, heads, num_rules, rule_symbols
from monolingual.pcfg.graph import productive
from monolingual.pcfg.tightness import analyse
from scfg_sampler.errors import InputError

__all__ = ["MOST_EMPTY", "empty_probs", "without_empty"]

MOST_EMPTY = 16
"""Nonterminals of one right-hand side that may spell nothing."""

_NONE = "gives no sentence but the empty one"


def empty_probs(grammar: Grammar, probs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The probabilities that each nonterminal spells nothing, and that it does not, float64 of shape (N,).

    The second are 1 less the first, with digits of their own where those are nearly 1: see `critical`.

    Parameters
    ----------
    grammar : Grammar
        Right-hand sides may be empty.
    probs : float64, shape (R,)
    """
    names = [f"{name} " for name in grammar.nonterminals]
    words = [f"{word}  " for word in grammar.terminals]
    rules: list[Rule] = []
    for rule, parent in enumerate(heads(grammar)):
        right = [(words[s] if s >= 0 else names[-1 - s], False) for s in rule_symbols(grammar, rule)]
        rules.append((names[parent], right or [("nothing", True)]))
    rules += [(word, [(word, False)]) for word in words]  # From these grows no finite tree.
    nothing, place = build_grammar(names[0], rules)
    placed = np.empty(len(rules))
    placed[place] = [*probs.tolist(), *[1.0] * len(words)]
    verdict = analyse(nothing, placed)
    at = {name: number for number, name in enumerate(nothing.nonterminals)}
    found = [at.get(name, -1) for name in names]
    values = np.append(verdict.partition, 0.0)
    if verdict.precise is None:
        return values[found], 1.0 - values[found]
    with localcontext() as context:
        context.prec = verdict.precise.digits
        others = np.array([*(float(1 - value) for value in verdict.precise.values), 1.0])
    return values[found], others[found]


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
    empty, spelled = empty_probs(grammar, probs)
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
                weight *= float((empty if at in gone else spelled)[-1 - right[at]])
            kept = tuple(
                (grammar.terminals[symbol], True)
                if symbol >= 0
                else (grammar.nonterminals[-1 - symbol], False)
                for at, symbol in enumerate(right)
                if at not in gone
            )
            if kept and weight > 0.0:
                key = grammar.nonterminals[parent], kept
                merged[key] = merged.get(key, 0.0) + weight / float(spelled[parent])
    if not any(parent == grammar.nonterminals[0] for parent, _ in merged):
        raise InputError(path, None, _NONE)
    smaller, place = build_grammar(grammar.nonterminals[0], list(merged))
    placed = np.empty(len(merged))
    placed[place] = list(merged.values())
    if not productive(smaller, placed > 0.0)[0]:
        raise InputError(path, None, _NONE)
    return smaller, placed, float(empty[0])
