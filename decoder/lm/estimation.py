"""Interpolated modified Kneser–Ney estimation of back-off models from text.

For an n-gram of words c₁…c_{n−1} w (Chen and Goodman 1998, equations 23–26; Heafield et al. 2013),

    p(w | c₁…c_{n−1}) = max(a(c w) − D(a(c w)), 0) / Σ_v a(c v)  +  γ(c) p(w | c₂…c_{n−1}),

where γ(c) is what the discounts D took from the context, and the recursion ends in the uniform
distribution over the vocabulary, `<unk>` included. With t_k the number of n-grams whose a is k, and
Y = t₁ / (t₁ + 2t₂), the discounts of an order are D(k) = k − (k+1) Y t_{k+1} / t_k for k = 1, 2 and 3 or
more.

The fact a newcomer would get wrong: a is the number of occurrences for the highest order only. Below it,
a(g) is the number of different words seen before g, because a lower order is consulted only where the
higher one saw nothing; but n-grams that begin with `<s>`, which nothing precedes, keep their occurrences.

Everything longer than the vocabulary is a table on disk, read and sorted in blocks; sums are of integers, so
that the model does not depend on how much memory there was.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from decoder.lm.arpa import BEGIN, MAX_ORDER, UNKNOWN, ArpaModel
from decoder.lm.counts import TrainingText, count_ngrams, parts
from scfg_sampler.core.arrays.external import Scratch, Table, gather, tally
from scfg_sampler.core.console import warn
from scfg_sampler.errors import SettingsError

__all__ = [
    "FALLBACK_DISCOUNTS",
    "Discounts",
    "LmTables",
    "estimate_lm",
    "estimate_tables",
    "pruning_thresholds",
]

FALLBACK_DISCOUNTS = (0.5, 1.0, 1.5)
_SMALLEST_PROB = 1e-99  # Of `<s>`, which is never predicted; what is customary in ARPA files.


class LmTables(NamedTuple):
    """A model as `ArpaModel` has it, in tables on disk instead of arrays."""

    words: list[str]
    ngrams: tuple[Table, ...]
    log_probs: tuple[Table, ...]
    backoffs: tuple[Table, ...]

    @property
    def order(self) -> int:
        return len(self.ngrams)


class Discounts(NamedTuple):
    """What one order's n-grams are discounted by.

    amounts : for a = 1, 2 and 3 or more.
    counts : t₁ to t₄.
    reason : why the amounts are the fall-back ones; empty if they are estimated.
    """

    amounts: tuple[float, float, float]
    counts: tuple[int, ...]
    reason: str


_CONTEXT = np.dtype([("total", "i8"), ("gamma", "f8")])


def estimate_lm(
    text: TrainingText,
    order: int,
    *,
    prune: Sequence[int] = (),
    interpolate_unigrams: bool = True,
) -> tuple[ArpaModel, list[Discounts]]:
    """The model of a text, in memory, and the discounts of each order; see `estimate_tables`."""
    with Scratch() as scratch:
        tables, discounts = estimate_tables(
            text, order, scratch, prune=prune, interpolate_unigrams=interpolate_unigrams
        )
        columns = [tuple(table[:] for table in column) for column in tables[1:]]
    return ArpaModel(tables.words, *columns), discounts


def estimate_tables(
    text: TrainingText,
    order: int,
    scratch: Scratch,
    *,
    prune: Sequence[int] = (),
    interpolate_unigrams: bool = True,
) -> tuple[LmTables, list[Discounts]]:
    """The model of a text, in tables on disk, and the discounts of each order.

    Where an order's counts of counts do not give discounts between 0 and k, as in tiny or artificial
    texts, `FALLBACK_DISCOUNTS` are used, with a warning. Memory is that of `scratch` and the vocabulary;
    the disk takes some 200 bytes for each word of the text.

    Parameters
    ----------
    text : TrainingText
    order : from 1 to 6
    scratch : Scratch
    prune : a threshold per order, non-decreasing, the first 0; the last goes for all higher orders.
        N-grams that occur so often or less are left out and their mass goes to the back-off.
    interpolate_unigrams : if False, `<unk>` gets all that the discounts took from the unigrams,
        instead of sharing it equally with the other words.

    Raises
    ------
    SettingsError
        The order or the thresholds are out of range.
    """
    thresholds = pruning_thresholds(order, prune)
    levels = count_ngrams(text, order, scratch)
    discounts = []
    spelled, was_kept, lower = (scratch.table(dtype) for dtype in (_words(0), np.bool_, np.float64))
    was_kept.append(np.ones(1, np.bool_))
    lower.append(np.zeros(1))
    ngrams, log_probs, backoffs = [], [], []
    for n, level in enumerate(levels, start=1):
        threshold = thresholds[n - 1] if n > 1 else -1
        adjusted = _adjusted(level, levels[n] if n < order else None, n, scratch)
        discounts.append(_discounts(n, adjusted, is_all=n == 1 and not interpolate_unigrams))
        contexts = _contexts(level, adjusted, threshold, discounts[-1], len(lower), scratch)
        if n > 1:
            backoffs.append(scratch.table(np.float64))
            for part in parts(contexts):
                backoffs[-1].append(np.log10(contexts[part]["gamma"][was_kept[part]]))
        probs = _interpolate(level, adjusted, threshold, discounts[-1], contexts, lower, interpolate_unigrams)
        spelled = _spell(level, spelled, n, scratch)
        ngrams.append(scratch.table(_words(n)))
        log_probs.append(scratch.table(np.float64))
        was_kept = scratch.table(np.bool_)
        for part in parts(level):
            is_kept = level[part]["occurrences"] > threshold
            was_kept.append(is_kept)
            ngrams[-1].append(spelled[part][is_kept])
            log_probs[-1].append(np.log10(np.maximum(probs[part][is_kept], _SMALLEST_PROB)))
        lower = probs
    backoffs.append(scratch.table(np.float64))
    for part in parts(ngrams[-1]):
        backoffs[-1].append(np.zeros(len(ngrams[-1][part])))
    return LmTables(text.words, tuple(ngrams), tuple(log_probs), tuple(backoffs)), discounts


def _words(n: int) -> np.dtype:
    """The dtype of a row of n word ids."""
    return np.dtype((np.int32, (n,)))


# ---- Probabilities ----------------------------------------------------------------------------------


def _adjusted(level: Table, longer: Table | None, n: int, scratch: Scratch) -> Table:
    """int64, the adjusted counts a of n-grams; `longer` are those one word longer."""
    adjusted = scratch.table(np.int64)
    if longer is not None:
        suffixes = (longer[part]["suffix"] for part in parts(longer))
        continued = tally(scratch, suffixes, len(level))
    for part in parts(level):
        rows = level[part]
        values = rows["occurrences"]
        if longer is not None:
            values = np.where(rows["begins"], values, continued[part])
        if n == 1 and part.start == 0:
            values[BEGIN] = 0
        adjusted.append(values)
    return adjusted


def _contexts(
    level: Table,
    adjusted: Table,
    threshold: int,
    discounts: Discounts,
    num_contexts: int,
    scratch: Scratch,
) -> Table:
    """Rows of `_CONTEXT`: Σ a of what follows every context, and γ (1 where nothing follows)."""
    out = scratch.table(_CONTEXT)
    first = 0
    pending: np.ndarray = np.zeros((5, 1))  # Sums of the context numbered `first`, which may not be complete.
    for part in parts(level):
        rows, counts = level[part], adjusted[part]
        is_kept = rows["occurrences"] > threshold
        local = rows["prefix"] - first
        masks = [is_kept & (counts == k) for k in (1, 2)] + [is_kept & (counts >= 3)]
        columns = [counts, *masks, np.where(is_kept, 0, counts)]
        sums: np.ndarray = np.stack([np.bincount(local, column) for column in columns])
        sums[:, 0] += pending[:, 0]
        out.append(_finished(sums[:, :-1], discounts))
        first, pending = int(rows["prefix"][-1]), sums[:, -1:]
    out.append(_finished(pending, discounts))
    while len(out) < num_contexts:
        missing = min(num_contexts - len(out), scratch.block_rows(_CONTEXT))
        out.append(_finished(np.zeros((5, missing)), discounts))
    return out


def _finished(sums: np.ndarray, discounts: Discounts) -> np.ndarray:
    """Rows of `_CONTEXT` from Σ a, the n-grams with a = 1, 2 and 3 or more, and the mass of pruned ones."""
    out = np.empty(sums.shape[1], _CONTEXT)
    total = sums[0]
    removed = (
        sum(amount * number for amount, number in zip(discounts.amounts, sums[1:4], strict=True)) + sums[4]
    )
    out["total"], out["gamma"] = total, np.where(total > 0, removed / np.maximum(total, 1), 1.0)
    return out


def _interpolate(
    level: Table,
    adjusted: Table,
    threshold: int,
    discounts: Discounts,
    contexts: Table,
    lower: Table,
    interpolate_unigrams: bool,
) -> Table:
    """float64, probabilities of all n-grams of a level; `lower` are those of the level below."""
    scratch = level.scratch
    probs = scratch.table(np.float64)
    amounts = np.array([0.0, *discounts.amounts])
    backed_off = gather(lower, (level[part]["suffix"] for part in parts(level)))
    for part in parts(level):
        rows, counts = level[part], adjusted[part]
        removed = np.where(rows["occurrences"] > threshold, amounts[np.minimum(counts, 3)], counts)
        start = int(rows["prefix"][0])
        context = contexts[start : int(rows["prefix"][-1]) + 1][rows["prefix"] - start]
        own = (counts - removed) / context["total"]
        if len(lower) > 1:
            own += context["gamma"] * backed_off[part]
        elif interpolate_unigrams:
            own += context["gamma"] / (len(level) - 1)
        elif part.start == 0:
            own[UNKNOWN] += context["gamma"][0]
        probs.append(own)
    return probs


def _spell(level: Table, shorter: Table, n: int, scratch: Scratch) -> Table:
    """Rows of n word ids, the words of each n-gram; `shorter` are those of the level below."""
    out = scratch.table(_words(n))
    for part in parts(level):
        rows = level[part]
        words = rows["word"][:, None]
        if n > 1:
            start = int(rows["prefix"][0])
            prefixes = shorter[start : int(rows["prefix"][-1]) + 1][rows["prefix"] - start]
            words = np.column_stack([prefixes, words])
        out.append(words)
    return out


def _discounts(n: int, adjusted: Table, is_all: bool) -> Discounts:
    """The discounts of an order from its counts of counts; Chen and Goodman (1998), equation 26.

    is_all : what they leave is all the probability an n-gram gets, so that none may be the whole count
    """
    occurring = np.zeros(6, np.int64)
    for block in adjusted.blocks():
        occurring += np.bincount(np.minimum(block, 5), minlength=6)
    counts = occurring[1:5].tolist()
    reason = ""
    amounts = list(FALLBACK_DISCOUNTS)
    missing = [k for k in (1, 2, 3) if counts[k - 1] == 0]
    if missing:
        reason = f"no {n}-gram has adjusted count {missing[0]}"
    else:
        y = counts[0] / (counts[0] + 2 * counts[1])
        estimated = [k - (k + 1) * y * counts[k] / counts[k - 1] for k in (1, 2, 3)]
        bad = [k for k in (1, 2, 3) if not 0 < estimated[k - 1] <= k or (is_all and estimated[k - 1] == k)]
        if bad:
            reason = f"the discount for adjusted count {bad[0]} would be {estimated[bad[0] - 1]:.4g}"
        else:
            amounts = estimated
    if reason:
        shown = ", ".join(f"{amount:g}" for amount in FALLBACK_DISCOUNTS)
        warn(f"{reason}, as in small or artificial texts; {n}-grams are discounted by {shown}")
    return Discounts((amounts[0], amounts[1], amounts[2]), tuple(counts), reason)


def pruning_thresholds(order: int, prune: Sequence[int]) -> list[int]:
    """One threshold per order, as `estimate_lm` takes them; SettingsError if they are out of range."""
    if not 1 <= order <= MAX_ORDER:
        raise SettingsError(f"--order is {order}; it must be from 1 to {MAX_ORDER}")
    thresholds = [*prune, *[prune[-1] if prune else 0] * order][: max(order, len(prune))]
    shown = " ".join(str(threshold) for threshold in prune)
    if len(prune) > order:
        raise SettingsError(f"--prune {shown} has {len(prune)} thresholds for a model of order {order}")
    if thresholds[0] != 0 or any(b < a for a, b in itertools.pairwise(thresholds)):
        raise SettingsError(f"--prune {shown}: the first must be 0 and none smaller than the one before")
    return thresholds
