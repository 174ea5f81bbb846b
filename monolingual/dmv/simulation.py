"""Trees drawn from a model, from the head of the sentence outwards.

The fact a newcomer would get wrong: a learnt model may not be tight. Where tags have more than one
dependent on average, some trees never end; those that grow beyond a limit are dropped and drawn anew, so
that what is drawn is drawn given its length. Weights of JDAGEEM, which need not sum to 1, are taken for
shares of their sum, those of stopping and of going on, too.
"""

from __future__ import annotations

import numpy as np

from monolingual.dmv.model import DmvModel, parts
from scfg_sampler.errors import SettingsError

__all__ = ["draw_sentences"]

_MOST_ATTEMPTS = 1000
"""For one sentence."""


def draw_sentences(
    rng: np.random.Generator, model: DmvModel, number: int, longest: int
) -> tuple[list[tuple[list[int], list[int]]], int]:
    """Sentences of a model, each as tags and heads (from 1, 0 for the root), and how many were too long.

    Parameters
    ----------
    rng : numpy.random.Generator
    model : DmvModel
        Of probabilities.
    number : int
    longest : int
        Words of a sentence, at the most.

    Raises
    ------
    SettingsError
        A setting is out of range, or hardly any sentence is short enough.
    """
    if number < 1 or longest < 1:
        raise SettingsError("--samples and --max-length must be at least 1")
    found: list[tuple[list[int], list[int]]] = []
    dropped, attempts = 0, 0
    while len(found) < number:
        drawn = _draw(rng, model, longest)
        if drawn is None:
            dropped, attempts = dropped + 1, attempts + 1
            if attempts == _MOST_ATTEMPTS:
                found_text = f"{attempts} sentences in a row had more than {longest} words"
                raise SettingsError(f"{found_text}; raise --max-length")
            continue
        found.append(drawn)
        attempts = 0
    return found, dropped


def _draw(rng: np.random.Generator, model: DmvModel, longest: int) -> tuple[list[int], list[int]] | None:
    """A sentence; None if it is too long."""
    root, stop, child = parts(model.layout, model.probs)
    last = model.layout.child_valences - 1
    tags, heads = [_choice(rng, root)], [-1]  # In the order of drawing.
    sides: list[tuple[list[int], list[int]]] = [([], [])]  # The dependents of each, the nearest first.
    at = 0
    while at < len(tags):
        for d in range(2):
            while _choice(rng, stop[tags[at], d, int(bool(sides[at][d]))]):
                v = min(int(bool(sides[at][d])), last)
                sides[at][d].append(len(tags))
                tags.append(_choice(rng, child[tags[at], d, v]))
                heads.append(at)
                sides.append(([], []))
                if len(tags) > longest:
                    return None
        at += 1
    order = _in_order(sides)
    place = {word: position for position, word in enumerate(order, start=1)}
    return [tags[word] for word in order], [place.get(heads[word], 0) for word in order]


def _choice(rng: np.random.Generator, probs: np.ndarray) -> int:
    """One of the tags, or 0 to stop and 1 to go on."""
    return int(min(np.searchsorted(np.cumsum(probs), rng.random() * probs.sum(), "right"), len(probs) - 1))


def _in_order(sides: list[tuple[list[int], list[int]]]) -> list[int]:
    """The words from left to right."""
    order: list[int] = []
    pending: list[tuple[int, bool]] = [(0, False)]
    while pending:
        word, is_done = pending.pop()
        if is_done:
            order.append(word)
            continue
        left, right = sides[word]
        pending.extend((dependent, False) for dependent in reversed(right))
        pending.append((word, True))
        pending.extend((dependent, False) for dependent in left)
    return order
