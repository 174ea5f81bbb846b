"""Trees drawn from a grammar, given that they are finite.

If the grammar is not tight, an unconditioned draw may never end. The tight grammar of Chi (1999) has the
distribution of the finite trees and ends with probability 1, so draws are made from it. At criticality trees
are finite but of infinite expected size; a limit on the number of rules keeps a draw from filling the memory,
and says so.

The fact a newcomer would get wrong: giving up on long draws and starting again would not condition on being
finite, but on being short.
"""

from __future__ import annotations

import numpy as np

from monolingual.pcfg.grammar import Grammar
from monolingual.pcfg.tightness import tighten
from monolingual.pcfg.tree_draws import Trees
from scfg_sampler.core import draws
from scfg_sampler.core.arrays.growth import grown
from scfg_sampler.core.jit import kernel
from scfg_sampler.errors import SettingsError

__all__ = ["simulate"]


def simulate(
    rng: np.random.Generator,
    grammar: Grammar,
    probs: np.ndarray,
    samples: int,
    *,
    max_rules: int = 10_000_000,
) -> tuple[Grammar, Trees]:
    """Finite trees drawn from a grammar.

    Parameters
    ----------
    rng : numpy.random.Generator
    grammar : Grammar
    probs : float64, shape (R,)
    samples : int
    max_rules : int
        The most rules a tree may have.

    Returns
    -------
    Grammar, that of the rules that finite trees use; and Trees of it.

    Raises
    ------
    SettingsError
        No finite tree has a positive probability, or a tree has grown beyond `max_rules`.
    """
    if samples < 1:
        raise SettingsError(f"--samples is {samples}; it must be at least 1")
    if max_rules < 1:
        raise SettingsError(f"--max-rules is {max_rules}; it must be at least 1")
    tight, new, _ = tighten(grammar, probs)
    start, rules = _simulate(rng, tight.rule_start, tight.rhs_start, tight.rhs, new, samples, max_rules)
    if len(start) <= samples:
        raise SettingsError(
            f"tree {len(start)} has grown beyond {max_rules:,} rules: the expected size of trees is infinite "
            "or huge. Raise --max-rules, or see pcfg check"
        )
    return tight, Trees(start, rules)


@kernel
def _simulate(rng, rule_start, rhs_start, rhs, probs, samples, max_rules):
    """Offsets and rules of trees in preorder; fewer offsets if a tree has grown too large."""
    start = np.zeros(samples + 1, dtype=np.int64)
    rules = np.empty(16 * samples + 16, dtype=np.int32)
    stack = np.empty(64, dtype=np.int64)
    most = 0
    for a in range(len(rule_start) - 1):
        most = max(most, rule_start[a + 1] - rule_start[a])
    weights = np.empty(most)
    size = 0
    for sample in range(samples):
        stack[0], depth = 0, 1
        while depth > 0:
            depth -= 1
            a = stack[depth]
            first, count = rule_start[a], rule_start[a + 1] - rule_start[a]
            for c in range(count):
                weights[c] = probs[first + c]
            rule = first + draws.categorical(rng, weights, count)
            rules = grown(rules, size + 1)
            rules[size] = rule
            size += 1
            if size - start[sample] > max_rules:
                return start[: sample + 1].copy(), rules[: start[sample]].copy()
            stack = grown(stack, depth + rhs_start[rule + 1] - rhs_start[rule])
            for i in range(rhs_start[rule + 1] - 1, rhs_start[rule] - 1, -1):
                if rhs[i] < 0:
                    stack[depth] = -1 - rhs[i]
                    depth += 1
        start[sample + 1] = size
    return start, rules[:size].copy()
