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
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from decoder.arpa import BEGIN, END, MAX_ORDER, RESERVED, UNKNOWN, ArpaModel, split_words
from scfg_sampler.core.console import warn
from scfg_sampler.errors import InputError, SettingsError

__all__ = [
    "FALLBACK_DISCOUNTS",
    "Discounts",
    "TrainingText",
    "encode_text",
    "estimate_lm",
    "pruning_thresholds",
]

FALLBACK_DISCOUNTS = (0.5, 1.0, 1.5)
_SMALLEST_PROB = 1e-99  # Of `<s>`, which is never predicted; the customary placeholder.


class TrainingText(NamedTuple):
    """A text as word ids.

    words : list of str; ids 0, 1, 2 are `<unk>`, `<s>`, `</s>`, the rest in order of appearance.
    tokens : int32 (T,); every sentence is `<s>` words `</s>`, one after the other.
    num_reserved : how many words of the text looked like `<unk>`, `<s>` or `</s>` and became `<unk>`.
    """

    words: list[str]
    tokens: np.ndarray
    num_reserved: int


class Discounts(NamedTuple):
    """What one order's n-grams are discounted by.

    amounts : for a = 1, 2 and 3 or more.
    counts : t₁ to t₄.
    reason : why the amounts are the fall-back ones; empty if they are estimated.
    """

    amounts: tuple[float, float, float]
    counts: tuple[int, ...]
    reason: str


class _Level(NamedTuple):
    """The different n-grams of one length; ids are their ranks in lexicographic order of word ids.

    prefix, suffix : int32 (N,), ids of the n-grams one word shorter (0 for words).
    word : int32 (N,), the last word.
    occurrences : int64 (N,). begins : bool (N,), whether the first word is `<s>`.
    """

    prefix: np.ndarray
    suffix: np.ndarray
    word: np.ndarray
    occurrences: np.ndarray
    begins: np.ndarray


def encode_text(lines: Iterable[str], path: object = None) -> TrainingText:
    """Lines of words separated by spaces, as ids. An empty line is a sentence of no words.

    Raises
    ------
    InputError
        There is no line at all; `path` is for the message.
    """
    ids = {word: i for i, word in enumerate(RESERVED)}
    blocks: list[np.ndarray] = []
    block: list[int] = []
    num_reserved = 0
    for line in lines:
        sentence = [ids.setdefault(word, len(ids)) for word in split_words(line)]
        if sentence and min(sentence) <= END:
            num_reserved += sum(word <= END for word in sentence)
            sentence = [word if word > END else UNKNOWN for word in sentence]
        block.append(BEGIN)
        block += sentence
        block.append(END)
        if len(block) > 1_000_000:
            blocks.append(np.array(block, dtype=np.int32))
            block = []
    blocks.append(np.array(block, dtype=np.int32))
    tokens = np.concatenate(blocks)
    if len(tokens) == 0:
        raise InputError(path, None, "there is no text", "Give one sentence per line")
    return TrainingText(list(ids), tokens, num_reserved)


def estimate_lm(
    text: TrainingText,
    order: int,
    *,
    prune: Sequence[int] = (),
    interpolate_unigrams: bool = True,
) -> tuple[ArpaModel, list[Discounts]]:
    """The model of a text, and the discounts of each order.

    Where an order's counts of counts do not give discounts between 0 and k, as in tiny or artificial
    texts, `FALLBACK_DISCOUNTS` are used, with a warning.

    Parameters
    ----------
    order : from 1 to 6.
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
    levels = _count(text.tokens, len(text.words), order)
    discounts = []
    kept_words = np.arange(len(text.words), dtype=np.int32)[:, None]
    was_kept = np.ones(1, dtype=np.bool_)
    lower = np.zeros(1)
    ngrams, log_probs, backoffs = [], [], []
    for n, level in enumerate(levels, start=1):
        adjusted = level.occurrences.copy()
        if n < order:
            continued = np.bincount(levels[n].suffix, minlength=len(adjusted))
            adjusted[~level.begins] = continued[~level.begins]
        if n == 1:
            adjusted[BEGIN] = 0
        discounts.append(_discounts(n, adjusted))
        is_kept = (level.occurrences > thresholds[n - 1]) | (n == 1)
        probs, gamma = _interpolate(level, adjusted, is_kept, discounts[-1], lower, n, interpolate_unigrams)
        if n > 1:
            kept_words = np.column_stack([kept_words[level.prefix], level.word])
            backoffs.append(np.log10(gamma[was_kept]))
        was_kept = is_kept
        ngrams.append(kept_words[is_kept])
        log_probs.append(np.log10(np.maximum(probs[is_kept], _SMALLEST_PROB)))
        lower = probs
    backoffs.append(np.zeros(len(ngrams[-1])))
    return ArpaModel(text.words, tuple(ngrams), tuple(log_probs), tuple(backoffs)), discounts


def _interpolate(
    level: _Level,
    adjusted: np.ndarray,
    is_kept: np.ndarray,
    discounts: Discounts,
    lower: np.ndarray,
    n: int,
    interpolate_unigrams: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of all n-grams of a level, and γ of every context (1 where nothing follows)."""
    num_contexts = len(lower)
    amounts = np.array([0.0, *discounts.amounts])
    removed = np.where(is_kept, amounts[np.minimum(adjusted, 3)], adjusted)
    total = np.bincount(level.prefix, adjusted, num_contexts)
    gamma = np.bincount(level.prefix, removed, num_contexts)
    gamma = np.where(total > 0, gamma / np.maximum(total, 1), 1.0)
    probs = (adjusted - removed) / total[level.prefix]
    if n > 1:
        return probs + gamma[level.prefix] * lower[level.suffix], gamma
    if interpolate_unigrams:
        return probs + gamma[0] / (len(adjusted) - 1), gamma
    probs[UNKNOWN] += gamma[0]
    return probs, gamma


def _count(tokens: np.ndarray, num_words: int, order: int) -> list[_Level]:
    """The n-grams of every length up to `order`.

    `ids[p]` is the id of the n-gram that begins at position p. One word longer, it is the pair of that
    id and the word after it, so one sort of integers per order does; and what follows the first word is
    the n-gram at p + 1.
    """
    count = np.bincount(tokens, minlength=num_words)
    zeros = np.zeros(num_words, dtype=np.int32)
    words = np.arange(num_words, dtype=np.int32)
    levels = [_Level(zeros, zeros, words, count, words == BEGIN)]
    ids = tokens
    starts = np.arange(len(tokens))
    for n in range(2, order + 1):
        starts = starts[tokens[starts + n - 2] != END]
        keys = ids[starts].astype(np.int64) * num_words + tokens[starts + n - 1]
        unique, first, inverse, count = np.unique(
            keys, return_index=True, return_inverse=True, return_counts=True
        )
        prefix = (unique // num_words).astype(np.int32)
        suffix = ids[starts[first] + 1].astype(np.int32)
        word = (unique % num_words).astype(np.int32)
        levels.append(_Level(prefix, suffix, word, count, levels[-1].begins[prefix]))
        ids = np.zeros(len(tokens), dtype=np.int32)
        ids[starts] = inverse
    return levels


def _discounts(n: int, adjusted: np.ndarray) -> Discounts:
    """The discounts of an order from its counts of counts; Chen and Goodman (1998), equation 26."""
    counts = np.bincount(np.minimum(adjusted, 5), minlength=6)[1:5].tolist()
    reason = ""
    amounts = list(FALLBACK_DISCOUNTS)
    missing = [k for k in (1, 2, 3) if counts[k - 1] == 0]
    if missing:
        reason = f"no {n}-gram has adjusted count {missing[0]}"
    else:
        y = counts[0] / (counts[0] + 2 * counts[1])
        estimated = [k - (k + 1) * y * counts[k] / counts[k - 1] for k in (1, 2, 3)]
        bad = [k for k in (1, 2, 3) if not 0 < estimated[k - 1] <= k]
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
