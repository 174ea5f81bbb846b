"""All Hiero rules of a word-aligned corpus: the heuristic baseline of Chiang (2007), section 3.2.

An *initial phrase pair* is a source span [i, j) and a target span [k, l), of at most `max_initial` and
`max_initial_target` words, with at least one link between them and no link that leaves the box. It is *tight*
if both ends of both spans are linked; so a source span has at most one tight phrase pair. Chiang allows only
these. With `loose`, unaligned words may stand at the ends of the source span, of the target span, or of both,
as Moses and cdec allow. Every initial phrase pair yields rules: itself as a whole, and itself with one or two
smaller phrase pairs (loose ones too) inside taken out as nonterminals. A rule is kept if its source side has
at most `max_symbols` symbols, its nonterminals are not adjacent on the source side and at least one linked
word pair remains.

The facts a newcomer would get wrong: the limits of ten words bound the initial phrase, not the rule, whose
unaligned words inside stay. Two tight phrase pairs with disjoint source spans have disjoint target spans; two
loose ones may claim the same unaligned word, and are then not taken out together.

Counts: `occurrences` adds 1 for each way in which a phrase pair yields the rule, as cdec and Moses count;
`fractional` shares a weight of 1 for each initial phrase pair equally among the rules it yields (Chiang
2007, section 3.3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from scfg_sampler.baseline.settings import HieroSettings
from scfg_sampler.baseline.spans import NO_SPANS, Spans, label_rule, labels_in
from scfg_sampler.core.arrays.growth import grown
from scfg_sampler.core.arrays.hash_table import find
from scfg_sampler.core.jit import compiled, kernel
from scfg_sampler.corpus.parallel_text import ParallelCorpus
from scfg_sampler.rules.counts import RuleCounts
from scfg_sampler.rules.runs import Records, sorted_records
from scfg_sampler.rules.store import END, LINK_BASE, RuleStore, add_record, new_store, stored_rules

__all__ = ["extract", "extract_run", "extracted", "sampled_keys"]

_SENTENCES_PER_CALL = 1000


def extract(
    corpus: ParallelCorpus,
    settings: HieroSettings | None = None,
    *,
    advance: Callable[..., None] | None = None,
) -> RuleCounts:
    """Every rule of the corpus with its count, merged and sorted.

    Parameters
    ----------
    corpus : ParallelCorpus
    settings : HieroSettings, optional
    advance : callable, optional
        Called with numbers of sentences that have been worked through.

    Raises
    ------
    SettingsError
        A limit is outside its range.
    """
    settings = settings or HieroSettings()
    settings.check()
    found = extracted(corpus, settings, advance=advance)
    return stored_rules(found.store, drop_singletons=settings.no_singletons)


def extract_run(
    corpus: ParallelCorpus,
    settings: HieroSettings,
    sentences: tuple[int, int],
    rank: np.ndarray,
    *,
    advance: Callable[..., None] | None = None,
) -> Records:
    """The rules of some sentences as a run, for sums over runs: see `rules.runs`.

    Parameters
    ----------
    corpus : ParallelCorpus
    settings : HieroSettings
        Checked.
    sentences : pair of int
        The first one, and the one after the last.
    rank : int64 (V + 3,)
        As `rules.runs.leading_ranks` gives it.
    advance : callable, optional
        Called with numbers of sentences that have been worked through.
    """
    is_fractional = settings.counting == "fractional"
    found = extracted(corpus, settings, sentences, advance=advance, keep_order=is_fractional)
    occurrences = found.occurrences[: int(found.number[0])] if is_fractional else None
    return sorted_records(found.store, rank, occurrences)


def extracted(
    corpus: ParallelCorpus,
    settings: HieroSettings,
    sentences: tuple[int, int] | None = None,
    *,
    advance: Callable[..., None] | None = None,
    keep_order: bool = False,
    spans: Spans = NO_SPANS,
) -> _Found:
    """The rules of some sentences, by default all, as they were found; with labels if there are spans."""
    sentences = (0, corpus.num_sentences) if sentences is None else sentences
    found = _Found(new_store(), np.zeros((0, 2), np.int32), np.zeros(1, np.int64))
    for begin in range(*sentences, _SENTENCES_PER_CALL):
        end = min(begin + _SENTENCES_PER_CALL, sentences[1])
        found = _extract_sentences(found, _bitext(corpus), _limits(settings), spans, keep_order, (begin, end))
        if advance is not None:
            advance(end - begin)
    return found


def sampled_keys(
    corpus: ParallelCorpus, settings: HieroSettings, rank: np.ndarray, step: int
) -> tuple[np.ndarray, np.ndarray]:
    """The keys of the rules that every `step`-th sentence yields, with repetitions; see `rules.runs`.

    Returns
    -------
    keys : int64
    ends : int64, how many of them come from the first of these sentences, the first two, …
    """
    return _sampled_keys(_bitext(corpus), _limits(settings), rank, step)


def _limits(settings: HieroSettings) -> _Limits:
    return _Limits(
        settings.max_initial,
        settings.max_initial_target,
        settings.max_symbols,
        settings.max_nonterminals,
        settings.counting == "fractional",
        settings.loose in ("source", "both"),
        settings.loose in ("target", "both"),
    )


class _Limits(NamedTuple):
    max_initial: int
    max_initial_target: int
    max_symbols: int
    max_nonterminals: int
    fractional: bool
    loose_source: bool
    loose_target: bool


class _Bitext(NamedTuple):
    """The arrays of a ParallelCorpus."""

    source_start: np.ndarray
    source: np.ndarray
    target_start: np.ndarray
    target: np.ndarray
    link_start: np.ndarray
    links: np.ndarray


def _bitext(corpus: ParallelCorpus) -> _Bitext:
    return _Bitext(**{name: getattr(corpus, name) for name in _Bitext._fields})


class _Found(NamedTuple):
    """What was extracted so far. Growing makes new arrays, so rebind."""

    store: RuleStore
    occurrences: np.ndarray
    """int32 (N, 2): of each, in their order, the record and the number of rules it shares a weight of 1 with;
    only if they are kept."""
    number: np.ndarray
    """int64 (1,): how many of these there are."""


class _Sentence(NamedTuple):
    """One sentence pair and its phrase pairs: for each source span the smallest, and how far others reach."""

    source: np.ndarray
    """int32 (I,): word ids."""
    target: np.ndarray
    """int32 (J,)."""
    links: np.ndarray
    """int32 (L, 2), sorted."""
    linked_before: np.ndarray
    """int64 (I + 1,): number of links of the first i source words."""
    target_begin: np.ndarray
    """int32 (I, max_initial + 1): where the smallest target span of source [i, i + length) begins, or −1."""
    target_end: np.ndarray
    """int32, same shape: where it ends."""
    free_before: np.ndarray
    """int32 (J + 1,): how many target words before a position a phrase pair beginning there may take in."""
    free_after: np.ndarray
    """int32 (J + 1,): how many words from a position on one ending there may take in."""


@kernel
def _extract_sentences(found, bitext, limits, spans, keep_order, sentences):
    """What was found, and the rules of sentences from the first of two to before the second."""
    store, occurrences, number_kept = found
    record = np.empty(1024, np.int32)
    holes = np.empty((64, 8), np.int32)
    for s in range(sentences[0], sentences[1]):
        sentence = _phrases(bitext, s, limits)
        label = labels_in(spans, s, len(sentence.source), len(sentence.target))
        longest = 3 + len(sentence.source) + len(sentence.target) + len(sentence.links)
        record = grown(record, longest)
        for i in range(len(sentence.source)):
            for j in range(i + 1, min(i + limits.max_initial, len(sentence.source)) + 1):
                first, last, least, most = _target_spans(sentence, limits, i, j)
                for k in range(first, last + 1):
                    for l in range(least, min(most, k + limits.max_initial_target) + 1):
                        whole = (i, j, k, l)
                        number, holes = _find_holes(sentence, limits, whole, holes)
                        weight = 1.0 / max(1, number) if limits.fractional else 1.0
                        if keep_order:
                            occurrences = grown(occurrences, number_kept[0] + number)
                        for row in range(number):
                            length = _spell_rule(sentence, record, whole, holes[row])
                            length = label_rule(record, length, spans, label, whole, holes[row])
                            store = add_record(store, record, length, weight)
                            if keep_order:
                                occurrences[number_kept[0], 0] = find(store.records, record, 0, length)
                                occurrences[number_kept[0], 1] = number
                                number_kept[0] += 1
    return _Found(store, occurrences, number_kept)


@kernel
def _sampled_keys(bitext, limits, rank, step):
    keys = np.empty(1 << 12, np.int64)
    num_sentences = len(bitext.source_start) - 1
    ends = np.zeros((num_sentences + step - 1) // step, np.int64)
    total = 0
    holes = np.empty((64, 8), np.int32)
    for s in range(0, num_sentences, step):
        sentence = _phrases(bitext, s, limits)
        for i in range(len(sentence.source)):
            for j in range(i + 1, min(i + limits.max_initial, len(sentence.source)) + 1):
                first, last, least, most = _target_spans(sentence, limits, i, j)
                for k in range(first, last + 1):
                    for l in range(least, min(most, k + limits.max_initial_target) + 1):
                        number, holes = _find_holes(sentence, limits, (i, j, k, l), holes)
                        keys = grown(keys, total + number)
                        for row in range(number):
                            keys[total] = _leading_key(sentence.source, i, j, holes[row], rank)
                            total += 1
        ends[s // step] = total
    return keys[:total].copy(), ends


@compiled
def _target_spans(sentence, limits, i, j):
    """Where target spans of phrase pairs over source [i, j) begin, first and last, and where they end.

    None if there are no such phrase pairs: the last beginning is then before the first.
    """
    low, high = sentence.target_begin[i, j - i], sentence.target_end[i, j - i]
    if low < 0 or high - low > limits.max_initial_target:
        return 0, -1, 0, 0
    return low - sentence.free_before[low], low, high, high + sentence.free_after[high]


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
def _phrases(bitext, s, limits):
    """Sentence pair s with its phrase pairs."""
    source = bitext.source[bitext.source_start[s] : bitext.source_start[s + 1]]
    target = bitext.target[bitext.target_start[s] : bitext.target_start[s + 1]]
    links = bitext.links[bitext.link_start[s] : bitext.link_start[s + 1]]
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
    free_before, free_after = _free(rightmost, limits.loose_target)
    target_begin = np.full((num_source, limits.max_initial + 1), -1, np.int32)
    target_end = np.full((num_source, limits.max_initial + 1), -1, np.int32)
    for i in range(num_source):
        if last[i] < 0 and not limits.loose_source:
            continue
        low, high = num_target, -1  # target words reached from source [i, j]
        left, right = num_source, -1  # source words reached from target [low, high]
        seen_low, seen_high = 0, 0  # target words already looked at, half-open
        for j in range(i, min(i + limits.max_initial, num_source)):
            if last[j] < 0 and not limits.loose_source:
                continue
            low, high = min(low, first[j]), max(high, last[j])
            if high < 0:
                continue  # Unaligned words alone are no phrase pair.
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
    return _Sentence(source, target, links, linked_before, target_begin, target_end, free_before, free_after)


@compiled
def _free(rightmost, loose):
    """How many unaligned words are before and after every position, none of them if phrases are tight."""
    size = len(rightmost)
    before, after = np.zeros(size + 1, np.int32), np.zeros(size + 1, np.int32)
    if loose:
        for k in range(size):
            if rightmost[k] < 0:
                before[k + 1] = before[k] + 1
        for k in range(size - 1, -1, -1):
            if rightmost[k] < 0:
                after[k] = after[k + 1] + 1
    return before, after


@compiled
def _find_holes(sentence, limits, whole, holes):
    """The rules that an initial phrase pair yields, as the parts to be taken out.

    Returns their number and, in that many rows, the source spans a, b, c, d of the parts [a, b) and [c, d)
    and their target spans; a part that is not there is empty, at the ends of the whole. The array is the
    given one or a longer one.
    """
    i, j = whole[0], whole[1]
    number = 0
    num_linked = sentence.linked_before[j] - sentence.linked_before[i]
    none = (j, j)
    if j - i <= limits.max_symbols:
        number, holes = _with_parts(sentence, whole, none, none, number, holes)
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
                number, holes = _with_parts(sentence, whole, (a, b), none, number, holes)
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
                        number, holes = _with_parts(sentence, whole, (a, b), (c, d), number, holes)
    return number, holes


@compiled
def _with_parts(sentence, whole, first, second, number, holes):
    """Rows for two parts, given by their source spans, with all target spans that they have together."""
    e_low, e_high, f_low, f_high = _spans_within(sentence, whole, first)
    g_low, g_high, h_low, h_high = _spans_within(sentence, whole, second)
    for e in range(e_low, e_high + 1):
        for f in range(f_low, f_high + 1):
            for g in range(g_low, g_high + 1):
                for h in range(h_low, h_high + 1):
                    if f <= g or h <= e:
                        number, holes = _with_row(holes, number, first, second, (e, f, g, h))
    return number, holes


@compiled
def _spans_within(sentence, whole, part):
    """First and last beginning, and first and last end, of the target spans of a part inside the whole."""
    a, b = part
    if a == b:
        return whole[3], whole[3], whole[3], whole[3]
    low, high = sentence.target_begin[a, b - a], sentence.target_end[a, b - a]
    from_low = max(whole[2], low - sentence.free_before[low])
    to_high = min(whole[3], high + sentence.free_after[high])
    return from_low, low, high, to_high


@compiled
def _with_row(holes, number, first, second, targets):
    holes = grown(holes, number + 1)
    holes[number, 0], holes[number, 1] = first
    holes[number, 2], holes[number, 3] = second
    for k in range(4):
        holes[number, 4 + k] = targets[k]
    return number + 1, holes


@compiled
def _spell_rule(sentence, record, whole, holes):
    """Write a phrase pair without its parts into the record; returns the record's length."""
    i, j, target_from, target_to = whole
    a, b, c, d = holes[0], holes[1], holes[2], holes[3]
    e, f, g, h = holes[4], holes[5], holes[6], holes[7]
    length = _spell_side(record, 0, sentence.source, (i, j), (a, b), (c, d))
    length = _spell_side(record, length, sentence.target, (target_from, target_to), (e, f), (g, h))
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
def _spell_side(record, length, words, span, first, second):
    """Append the words of a span with its first and second part as nonterminals 0 and 1, and an END."""
    at = span[0]
    while at < span[1]:
        if at == first[0]:
            record[length] = -1
            at = first[1]
        elif at == second[0]:
            record[length] = -2
            at = second[1]
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
