"""Hidden Markov models as a family of multinomials, for the learners that serve every grammar.

With N states and V symbols the multinomials are, in this order: the first state (1 of N), the next state or
the end (N of N + 1), the symbol (N of V). A sentence x₁ … x_n with states z has the weight

    first(z₁) · Π_t symbol(x_t | z_t) · Π_{t<n} next(z_{t+1} | z_t) · next(end | z_n),

and expected uses come from forward and backward sums (Baum et al. 1970).

The fact a newcomer would get wrong: weights need not sum to 1, so forward sums are no probabilities of
anything; each is divided by its own total, and the logs of these totals add up to that of the sentence.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from monolingual.priors.estimators import Expectations
from monolingual.priors.multinomials import Families, families_of_sizes
from scfg_sampler.core.jit import kernel

__all__ = ["hmm_expectations", "hmm_families"]


def hmm_families(num_states: int, num_symbols: int) -> Families:
    """The multinomials of a hidden Markov model."""
    return families_of_sizes([num_states] + [num_states + 1] * num_states + [num_symbols] * num_states)


def hmm_expectations(num_states: int, num_symbols: int, sentences: Sequence[Sequence[int]]) -> Expectations:
    """The expected counts of all choices in sentences, as a function of the weights.

    Parameters
    ----------
    num_states, num_symbols : int
    sentences : sequences of int
        Symbols, at least one in each.

    Returns
    -------
    callable, from weights, float64 of shape (R,), to counts, alike, and the log total weight.
    """
    symbols = np.array([symbol for row in sentences for symbol in row], dtype=np.int64)
    start = np.concatenate([[0], np.cumsum([len(row) for row in sentences])]).astype(np.int64)
    longest = int(np.diff(start).max(initial=1))
    splits = np.cumsum([num_states, num_states * (num_states + 1)])

    def expectations(weights: np.ndarray) -> tuple[np.ndarray, float]:
        counts = np.zeros(len(weights))
        first, following, emitted = np.split(np.asarray(weights, np.float64), splits)
        parts = [counts[: splits[0]], counts[splits[0] : splits[1]], counts[splits[1] :]]
        total = _expected_uses(
            symbols,
            start,
            (first, following.reshape(num_states, -1), emitted.reshape(num_states, -1)),
            (parts[0], parts[1].reshape(num_states, -1), parts[2].reshape(num_states, -1)),
            np.zeros((2, longest, num_states)),
        )
        return counts, total

    return expectations


@kernel
def _expected_uses(symbols, start, weights, counts, room):
    first, following, emitted = weights
    forward, backward = room[0], room[1]
    size = len(first)
    total = 0.0
    for s in range(len(start) - 1):
        x = symbols[start[s] : start[s + 1]]
        n = len(x)
        for t in range(n):
            norm = 0.0
            for z in range(size):
                value = first[z] if t == 0 else 0.0
                for y in range(size if t else 0):
                    value += forward[t - 1, y] * following[y, z]
                forward[t, z] = value * emitted[z, x[t]]
                norm += forward[t, z]
            for z in range(size):
                forward[t, z] /= norm
            total += np.log(norm)
        end = 0.0
        for z in range(size):
            end += forward[n - 1, z] * following[z, size]
        total += np.log(end)
        for t in range(n - 1, -1, -1):
            norm = 0.0
            for z in range(size):
                value = following[z, size] if t == n - 1 else 0.0
                for y in range(size if t < n - 1 else 0):
                    value += following[z, y] * emitted[y, x[t + 1]] * backward[t + 1, y]
                backward[t, z] = value
                norm += forward[t, z] * value
            for z in range(size):  # Now forward · backward is the posterior of the state.
                backward[t, z] /= norm
                counts[2][z, x[t]] += forward[t, z] * backward[t, z]
            if t == n - 1:
                for z in range(size):
                    counts[1][z, size] += forward[t, z] * backward[t, z]
            else:
                for z in range(size):
                    for y in range(size):
                        pair = following[z, y] * emitted[y, x[t + 1]] * backward[t + 1, y]
                        counts[1][z, y] += forward[t, z] * pair / norm
        for z in range(size):
            counts[0][z] += forward[0, z] * backward[0, z]
    return total
