"""Parallel text aligned by sampling phrases: the chain, and the links that its derivations are.

Links are blocks: all words of a pair that is made at once, and all of a pair that has one word on a side and
belongs to a phrase that others use, too. So words without a partner are linked within phrases, and left alone
where they belong to none. What is learnt of such links translates better than what is learnt of links word by
word (docs/experiments/aligners.md).

The fact a newcomer would get wrong: others use a phrase if its table has a second customer, or one above it
has; what is below a table that a whole sentence pair shares with another has one customer each.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np

from scfg_sampler.aligner.lexicon import Text, learn_lexicon
from scfg_sampler.aligner.phrases import (
    DISCOUNT,
    STRAIGHT,
    STRENGTH,
    WORDS,
    Phrases,
    log_seating,
    new_phrases,
)
from scfg_sampler.aligner.sweep import Corpus, new_scratch, new_visits, sweep
from scfg_sampler.core.elementary import exp_value, log1p_value, log_value
from scfg_sampler.core.jit import kernel
from scfg_sampler.core.slice_sampler import slice_sample

__all__ = ["PhraseAligner"]

_STRENGTH_RATE = 0.01  # α ~ Gamma(1, rate 0.01); d is uniform on (0, 1).
_SMALLEST = 1e-4  # Of d and 1 − d.
_AT_A_TIME = 2_000_000  # Cells that charts could have, between two chances to stop.


class PhraseAligner:
    """A chain over the derivations of all sentence pairs.

    Parameters
    ----------
    source, target : Text
        Both sides; words that are to count as one have one number.
    longest : int
        Sentence pairs with more words on a side, or none on one, are left out, without links; at most 255, as
        charts that are kept number words by bytes.
    seed : int
    """

    def __init__(self, source: Text, target: Text, *, longest: int, seed: int):
        sizes = np.diff(source.start), np.diff(target.start)
        fitting = (np.minimum(*sizes) > 0) & (np.maximum(*sizes) <= longest)
        most_tables = int(2 * (sizes[0] + sizes[1])[fitting].sum())
        self._pairs = np.flatnonzero(fitting)
        self._num_cells = math.prod((size + 1) * (size + 2) // 2 for size in sizes)
        self._rng = np.random.default_rng(seed)
        self._corpus = Corpus(source, target, learn_lexicon(source, target))
        self._phrases = new_phrases(most_tables)
        num_source, num_target = (int(size[fitting].max(initial=0)) for size in sizes)
        self._scratch = new_scratch(num_source, num_target, most_tables)
        self._visits = new_visits(len(fitting))
        self._narrows = False  # Charts, once all sentence pairs have been visited.

    def sweep(self, advance: Callable[[float], object] = lambda share: None) -> int:
        """Derive every sentence pair anew, in random order, and then move both parameters.

        Parameters
        ----------
        advance : callable, optional
            Told of every few sentence pairs, by what share of the sweep they are, long ones counting more.

        Returns
        -------
        int
            How many of the derivations were accepted.
        """
        order = self._rng.permutation(self._pairs)
        accepted = 0
        num_cells = self._num_cells[order]
        ends = np.flatnonzero(np.diff(num_cells.cumsum() // _AT_A_TIME)) + 1
        for some in np.split(order, ends) if len(order) else ():
            is_done = False
            while not is_done:  # An exception that a signal raises may come between two parts of a visit.
                moved, kept, is_done = sweep(
                    self._rng, some, self._corpus, self._phrases, self._scratch, self._visits, self._narrows
                )
                self._visits = self._visits._replace(kept=kept)
                accepted += moved
            advance(float(self._num_cells[some].sum() / num_cells.sum()))
        if len(order):
            _move_parameters(self._rng, self._phrases)
        self._narrows = True
        return accepted

    def coarse(self) -> np.ndarray:
        """Long sentence pairs with so little that is likely that few of their derivations are looked at.

        bool (S,).
        """
        return self._visits.is_coarse > 0

    def links(self) -> Iterator[list[tuple[int, int]]]:
        """The links of every sentence pair by the last derivations, in order."""
        blocks = np.zeros((len(self._scratch.old.table), 4), np.int32)
        for table in self._visits.table.tolist():
            number = _blocks(self._phrases, table, self._scratch.old, blocks) if table >= 0 else 0
            links = (
                itertools.product(range(begin, end), range(first, last))
                for begin, end, first, last in blocks[:number].tolist()
            )
            yield sorted(itertools.chain.from_iterable(links))


def _move_parameters(rng: np.random.Generator, phrases: Phrases) -> None:
    """Move discount and strength by slice sampling, each on a scale without borders."""
    for which in (DISCOUNT, STRENGTH):
        now = float(phrases.parameters[which])
        start = log_value(now / (1.0 - now)) if which == DISCOUNT else log_value(now)

        def log_density(x: float, which: int = which) -> float:
            if abs(x) > 50.0:
                return -math.inf
            value = 1.0 / (1.0 + exp_value(-x)) if which == DISCOUNT else exp_value(x)
            if which == DISCOUNT:
                if not _SMALLEST < value < 1.0 - _SMALLEST:
                    return -math.inf
                seating = log_seating(phrases, value, float(phrases.parameters[STRENGTH]))
                return seating + log_value(value) + log1p_value(-value)
            return (
                log_seating(phrases, float(phrases.parameters[DISCOUNT]), value) - _STRENGTH_RATE * value + x
            )

        moved = slice_sample(rng, log_density, start, width=0.5)
        phrases.parameters[which] = 1.0 / (1.0 + exp_value(-moved)) if which == DISCOUNT else exp_value(moved)


@kernel
def _blocks(phrases, table, derivation, blocks):
    """The blocks of the sentence pair at a table, as cells, into `blocks`; how many there are."""
    pending = derivation.pending
    row = pending[0]
    row[0], row[1], row[2], row[3] = 0, 0, table, phrases.customers[table] > 1
    num_pending, size = 1, 0
    while num_pending > 0:
        num_pending -= 1
        row = pending[num_pending]
        i, k, table = row[0], row[1], row[2]
        num_source, num_target = phrases.lengths[table, 0], phrases.lengths[table, 1]
        is_used = row[3] > 0 or phrases.customers[table] > 1
        symbol = phrases.symbol[table]
        if symbol == WORDS or (is_used and min(num_source, num_target) <= 1):
            block = blocks[size]
            block[0], block[1], block[2], block[3] = i, i + num_source, k, k + num_target
            size += 1
            continue
        left, right = phrases.children[table, 0], phrases.children[table, 1]
        is_straight = symbol == STRAIGHT
        row[0], row[2], row[3] = i, left, is_used
        row[1] = k if is_straight else k + phrases.lengths[right, 1]
        row = pending[num_pending + 1]
        row[0], row[2], row[3] = i + phrases.lengths[left, 0], right, is_used
        row[1] = k + phrases.lengths[left, 1] if is_straight else k
        num_pending += 2
    return size
