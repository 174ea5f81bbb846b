"""All Hiero rules of a word-aligned corpus: the heuristic baseline of Chiang (2007), section 3.2.

An *initial phrase pair* is a source span [i, j) of at most `max_initial` words and the target span its links
reach, provided no link leaves the box and both ends of both spans are linked (the pair is tight). Every
initial phrase pair yields rules: itself as a whole, and itself with one or two smaller tight phrase pairs
inside taken out as nonterminals. A rule is kept if its source side has at most `max_symbols` symbols, its
nonterminals are not adjacent on the source side and at least one linked word pair remains.

The fact a newcomer would get wrong: the limit of ten words bounds the *source* span of the initial phrase,
not the rule, and not the target, which may be of any length; unaligned words inside a phrase stay in the
rule. Two tight phrase pairs with disjoint source spans always have disjoint target spans.

Counts: `occurrences` adds 1 for each way in which a phrase pair yields the rule, as cdec and Moses count;
`fractional` shares a weight of 1 for each initial phrase pair equally among the rules it yields (Chiang
2007, section 3.3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.jit import compiled, kernel
from scfg_sampler.corpus.parallel_text import ParallelCorpus
from scfg_sampler.errors import SettingsError
from scfg_sampler.rules.counts import RuleCounts
from scfg_sampler.rules.pool import END, LINK_BASE, add_record, drain, new_pool

__all__ = ["COUNTING", "HieroSettings", "Share", "extract", "leading_keys"]

COUNTING = ("occurrences", "fractional")
_SENTENCES_PER_CALL = 1000


class HieroSettings(NamedTuple):
    """Which rules are extracted, and how they are counted.

    max_initial : source words of an initial phrase pair, at least 1
    max_symbols : symbols of a rule's source side, at least 1
    max_nonterminals : 0, 1 or 2
    counting : `occurrences` or `fractional`
    no_singletons : leave out rules that occur once in the corpus and have more than one word on the source
        side (Chung et al. 2014, section 5.4.1), before anything is normalised
    """

    max_initial: int = 10
    max_symbols: int = 5
    max_nonterminals: int = 2
    counting: str = "occurrences"
    no_singletons: bool = False

    def check(self) -> None:
        """Raise SettingsError if a limit is outside its range."""
        for name, value in (("max-initial", self.max_initial), ("max-symbols", self.max_symbols)):
            if not 1 <= value <= 1000:
                raise SettingsError(f"--{name} is {value}, but must be between 1 and 1000")
        if not 0 <= self.max_nonterminals <= 2:
            raise SettingsError(f"--max-nonterminals is {self.max_nonterminals}, but must be 0, 1 or 2")
        if self.counting not in COUNTING:
            raise SettingsError(f"--counting is {self.counting!r}, but must be one of {', '.join(COUNTING)}")


class Share(NamedTuple):
    """The rules whose source sides begin with certain symbols: all rules with a source side, or none of them.

    A source side has a key: rank of its first symbol · 2³¹ + rank of its second.

    rank : int64, shape (V + 3,), of every source word, of the two nonterminals, and of the end
    low, high : int, keys from `low` to `high` − 1 belong to the share
    """

    rank: np.ndarray
    low: int
    high: int


def extract(
    corpus: ParallelCorpus,
    settings: HieroSettings | None = None,
    *,
    share: Share | None = None,
    advance: Callable[..., None] | None = None,
) -> RuleCounts:
    """Every rule of the corpus, or of one share, with its count, merged and sorted.

    Parameters
    ----------
    corpus : ParallelCorpus
    settings : HieroSettings, optional
    share : Share, optional
        All rules by default.
    advance : callable, optional
        Called with numbers of sentences that have been worked through.

    Raises
    ------
    SettingsError
        A limit is outside its range.
    """
    settings = settings or HieroSettings()
    settings.check()
    if share is None:
        share = Share(np.zeros(len(corpus.source_vocabulary) + 3, np.int64), 0, 1)
    pool = new_pool()
    for begin in range(0, corpus.num_sentences, _SENTENCES_PER_CALL):
        end = min(begin + _SENTENCES_PER_CALL, corpus.num_sentences)
        pool = _extract_sentences(pool, _Bitext(*corpus[2:]), _limits(settings), share, begin, end)
        if advance is not None:
            advance(end - begin)
    return RuleCounts(*drain(pool, drop_singletons=settings.no_singletons))


def leading_keys(corpus: ParallelCorpus, settings: HieroSettings, rank: np.ndarray, step: int) -> np.ndarray:
    """int64, the keys (see `Share`) of the rules that every `step`-th sentence yields, with repetitions."""
    return _leading_keys(_Bitext(*corpus[2:]), _limits(settings), rank, step)


def _limits(settings: HieroSettings) -> _Limits:
    fractional = settings.counting == "fractional"
    return _Limits(settings.max_initial, settings.max_symbols, settings.max_nonterminals, fractional)


class _Limits(NamedTuple):
    max_initial: int
    max_symbols: int
    max_nonterminals: int
    fractional: bool


class _Bitext(NamedTuple):
    """The arrays of a ParallelCorpus."""

    source_start: np.ndarray
    source: np.ndarray
    target_start: np.ndarray
    target: np.ndarray
    link_start: np.ndarray
    links: np.ndarray


class _Sentence(NamedTuple):
    """One sentence pair and its tight phrases."""

    source: np.ndarray
    """int32 (I,): word ids."""
    target: np.ndarray
    """int32 (J,)."""
    links: np.ndarray
    """int32 (L, 2), sorted."""
    linked_before: np.ndarray
    """int64 (I + 1,): number of links of the first i source words."""
    target_begin: np.ndarray
    """int32 (I, max_initial + 1): where the phrase over source [i, i + length) begins, or −1 if not tight."""
    target_end: np.ndarray
    """int32, same shape: where it ends."""


@kernel
def _extract_sentences(pool, bitext, limits, share, begin, end):
    """The pool with the share's rules of sentences begin … end − 1."""
    record = np.empty(1024, np.int32)
    holes = np.empty((64, 4), np.int32)
    for s in range(begin, end):
        source = bitext.source[bitext.source_start[s] : bitext.source_start[s + 1]]
        target = bitext.target[bitext.target_start[s] : bitext.target_start[s + 1]]
        links = bitext.links[bitext.link_start[s] : bitext.link_start[s + 1]]
        longest = 2 + len(source) + len(target) + len(links)
        if longest > len(record):
            record = np.empty(2 * longest, np.int32)
        sentence = _tight_phrases(source, target, links, limits.max_initial)
        for i in range(len(source)):
            for j in range(i + 1, min(i + limits.max_initial, len(source)) + 1):
                if sentence.target_begin[i, j - i] >= 0:
                    number, holes = _find_holes(sentence, limits, i, j, holes)
                    weight = 1.0 / max(1, number) if limits.fractional else 1.0
                    for k in range(number):
                        if share.low <= _leading_key(source, i, j, holes[k], share.rank) < share.high:
                            length = _spell_rule(sentence, record, i, j, holes[k])
                            pool = add_record(pool, record, length, weight)
    return pool


@kernel
def _leading_keys(bitext, limits, rank, step):
    keys = np.empty(1 << 12, np.int64)
    total = 0
    holes = np.empty((64, 4), np.int32)
    for s in range(0, len(bitext.source_start) - 1, step):
        source = bitext.source[bitext.source_start[s] : bitext.source_start[s + 1]]
        target = bitext.target[bitext.target_start[s] : bitext.target_start[s + 1]]
        links = bitext.links[bitext.link_start[s] : bitext.link_start[s + 1]]
        sentence = _tight_phrases(source, target, links, limits.max_initial)
        for i in range(len(source)):
            for j in range(i + 1, min(i + limits.max_initial, len(source)) + 1):
                if sentence.target_begin[i, j - i] >= 0:
                    number, holes = _find_holes(sentence, limits, i, j, holes)
                    if total + number > len(keys):
                        longer = np.empty(2 * (total + number), np.int64)
                        for k in range(total):
                            longer[k] = keys[k]
                        keys = longer
                    for k in range(number):
                        keys[total] = _leading_key(source, i, j, holes[k], rank)
                        total += 1
    return keys[:total].copy()


@compiled
def _leading_key(words, i, j, holes, rank):
    """The key of the source side that the phrase over [i, j) without its parts has."""
    a, b, c, d = holes[0], holes[1], holes[2], holes[3]
    num_words = len(rank) - 3
    at, key = i, np.int64(0)
    for _ in range(2):
        symbol = num_words + 2  # The end, unless there is more.
        if at < j:
            if at == a and a < b:
                symbol, at = num_words, b
            elif at == c and c < d:
                symbol, at = num_words + 1, d
            else:
                symbol = words[at]
                at += 1
        key = key << 31 | rank[symbol]
    return key


@compiled
def _tight_phrases(source, target, links, max_initial):
    """The sentence with the target spans of its tight phrases."""
    num_source, num_target = len(source), len(target)
    linked_before = np.zeros(num_source + 1, np.int64)
    first = np.full(num_source, num_target, np.int32)  # first and last target word of each source word
    last = np.full(num_source, -1, np.int32)
    leftmost = np.full(num_target, num_source, np.int32)  # and the other way round
    rightmost = np.full(num_target, -1, np.int32)
    for k in range(len(links)):
        i, j = links[k, 0], links[k, 1]
        linked_before[i + 1] += 1
        first[i], last[i] = min(first[i], j), max(last[i], j)
        leftmost[j], rightmost[j] = min(leftmost[j], i), max(rightmost[j], i)
    for i in range(num_source):
        linked_before[i + 1] += linked_before[i]
    target_begin = np.full((num_source, max_initial + 1), -1, np.int32)
    target_end = np.full((num_source, max_initial + 1), -1, np.int32)
    for i in range(num_source):
        if last[i] < 0:
            continue
        low, high = num_target, -1  # target words reached from source [i, j]
        left, right = num_source, -1  # source words reached from target [low, high]
        seen_low, seen_high = 0, 0  # target words already looked at, half-open
        for j in range(i, min(i + max_initial, num_source)):
            if last[j] < 0:
                continue
            low, high = min(low, first[j]), max(high, last[j])
            if seen_high == 0:
                seen_low, seen_high = low, low
            while seen_low > low:
                seen_low -= 1
                left, right = min(left, leftmost[seen_low]), max(right, rightmost[seen_low])
            while seen_high <= high:
                left, right = min(left, leftmost[seen_high]), max(right, rightmost[seen_high])
                seen_high += 1
            if left < i:
                break  # Longer spans reach at least as far to the left.
            if right <= j:
                target_begin[i, j + 1 - i] = low
                target_end[i, j + 1 - i] = high + 1
    return _Sentence(source, target, links, linked_before, target_begin, target_end)


@compiled
def _find_holes(sentence, limits, i, j, holes):
    """The rules that the initial phrase over source [i, j) yields, as the parts to be taken out.

    Returns their number and, in that many rows, the source spans a, b, c, d of the parts [a, b) and [c, d);
    a part that is not there is [j, j). The array is the given one or a longer one.
    """
    number = 0
    num_linked = sentence.linked_before[j] - sentence.linked_before[i]
    if j - i <= limits.max_symbols:
        number, holes = _with_row(holes, number, j, j, j, j)
    if limits.max_nonterminals == 0:
        return number, holes
    for a in range(i, j):
        if a - i + 1 > limits.max_symbols:
            break  # The words before the first part and its nonterminal are already too many.
        for b in range(a + 1, j + 1):
            if sentence.target_begin[a, b - a] < 0:
                continue
            num_left = num_linked - (sentence.linked_before[b] - sentence.linked_before[a])
            if num_left == 0:
                continue
            if (a - i) + (j - b) + 1 <= limits.max_symbols:
                number, holes = _with_row(holes, number, a, b, j, j)
            if limits.max_nonterminals == 1:
                continue
            for c in range(b + 1, j):
                if (a - i) + (c - b) + 2 > limits.max_symbols:
                    break
                for d in range(max(c + 1, j - limits.max_symbols), j + 1):
                    if sentence.target_begin[c, d - c] < 0:
                        continue
                    if sentence.linked_before[d] - sentence.linked_before[c] == num_left:
                        continue
                    if (a - i) + (c - b) + (j - d) + 2 <= limits.max_symbols:
                        number, holes = _with_row(holes, number, a, b, c, d)
    return number, holes


@compiled
def _with_row(holes, number, a, b, c, d):
    if number == len(holes):
        longer = np.empty((2 * number, 4), holes.dtype)
        for row in range(number):
            for k in range(4):
                longer[row, k] = holes[row, k]
        holes = longer
    holes[number, 0], holes[number, 1], holes[number, 2], holes[number, 3] = a, b, c, d
    return number + 1, holes


@compiled
def _spell_rule(sentence, record, i, j, holes):
    """Write the phrase over source [i, j) without its parts into the record; returns the record's length."""
    a, b, c, d = holes[0], holes[1], holes[2], holes[3]
    target_from, target_to = sentence.target_begin[i, j - i], sentence.target_end[i, j - i]
    e, f, g, h = target_to, target_to, target_to, target_to  # the parts' target spans
    if a < b:
        e, f = sentence.target_begin[a, b - a], sentence.target_end[a, b - a]
    if c < d:
        g, h = sentence.target_begin[c, d - c], sentence.target_end[c, d - c]
    length = _spell_side(record, 0, sentence.source, i, j, a, b, c, d)
    length = _spell_side(record, length, sentence.target, target_from, target_to, e, f, g, h)
    for k in range(sentence.linked_before[i], sentence.linked_before[j]):
        at, to = sentence.links[k, 0], sentence.links[k, 1]
        if a <= at < b or c <= at < d:
            continue
        position = at - i - _taken(at, a, b) - _taken(at, c, d)
        target_position = to - target_from - _taken(to, e, f) - _taken(to, g, h)
        record[length] = position * LINK_BASE + target_position
        length += 1
    return length


@compiled
def _spell_side(record, length, words, begin, end, a, b, c, d):
    """Append words[begin:end] with [a, b) as nonterminal 0 and [c, d) as nonterminal 1, and an END."""
    at = begin
    while at < end:
        if at == a:
            record[length] = -1
            at = b
        elif at == c:
            record[length] = -2
            at = d
        else:
            record[length] = words[at]
            at += 1
        length += 1
    record[length] = END
    return length + 1


@compiled
def _taken(at, begin, end):
    """By how much a part [begin, end) before position `at` shortens what is before it."""
    return end - begin - 1 if begin < end <= at else 0
