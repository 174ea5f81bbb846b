"""Pruning: which rules are worth their place, given all others and their counts (`prune`, `grammar --prune`).

What a rule is by itself is asked by `rules.filters`, whether a text can use it by `rules.text_filter`. Here
are four tests of a rule X → ⟨f, e⟩ with count c(f, e):

redundancy
    The rule is a composition, u with l in one of its gaps, of two rules of the table that are nearly as
    probable together: ln P(e_u | f_u) + ln P(e_l | f_l) ≥ ln P(e | f) − T. Whatever the rule translates,
    these two translate, so that little is lost. By induction over length this holds although u and l may
    be redundant themselves.
entropy
    What is lost in all when the rule goes, c(f, e) · (ln P(e | f) − ln P'), is at least T, where P' is the
    probability of its best composition, or e^−10 if it has none (Zens, Stanton and Xu 2012, for phrases;
    there P' is that of the best segmentation). In nats, not divided by the size of the corpus.
count
    c(f, e) ≥ N.
significance
    Under independence of f and e, a count of at least c(f, e) would be a surprise: the tail of the
    hypergeometric distribution with margins c(f), c(e) and N uses of rules in all (Johnson, Martin, Foster
    and Kuhn 2007). By default a tail of 1/N, that of a pair whose sides occur once each, is no surprise.

Denominators stay those of the whole table: pruning changes which rules there are, not what is known of them.

The fact a newcomer would get wrong: expected counts are fractions. Significance rounds them up, and so counts
what was seen at all as seen once. And a count that comes from a table is not what it was when it went there:
the logarithm has seven digits, of which 3 comes back as 2.999999. So counts are compared as closely as they
are known, and not more.
"""

from __future__ import annotations

import fractions
import math
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.hash_table import (
    first_candidate,
    free_slot,
    mix,
    new_slots,
    next_candidate,
    number_in,
    put,
)
from scfg_sampler.core.arrays.ragged import group_rows
from scfg_sampler.core.elementary import log, log_gamma, log_value
from scfg_sampler.core.jit import borrowing, by_reference, compiled, kernel
from scfg_sampler.core.numerals import real_number, whole_number
from scfg_sampler.errors import SettingsError
from scfg_sampler.rules.counts import PRECISION, RuleCounts, uncertainty

__all__ = ["Pruned", "best_compositions", "keep_best", "log_tails", "prune_rules"]

_OF_USES = "uses:"  # Before a share that is one of uses.

DEFAULT_REDUNDANCY = 1.0
DEFAULT_LOSS = 1.0
LOG_PROB_WITHOUT = -10.0
"""What `entropy` takes for the logarithm of a probability that no composition has."""


class Pruned(NamedTuple):
    """What a pruning says of each rule."""

    kept: np.ndarray
    """bool (R,)."""
    worth: np.ndarray
    """float (R,): which rules are best, for `keep_best`."""


def prune_rules(rules: RuleCounts, log_forward: np.ndarray, everything: RuleCounts, method: str) -> Pruned:
    """Which rules are kept, and which of them are best.

    The best are those with the largest loss for `entropy`, with the smallest tail for `significance`, and
    the most frequent for the others.

    Parameters
    ----------
    rules : RuleCounts
        Each rule once.
    log_forward : float array (R,)
        ln P(e | f) of each, from the whole table.
    everything : RuleCounts
        The whole table, for the margins of `significance`.
    method : str
        `redundancy` or `redundancy:T`, `entropy` or `entropy:T`, `count:N`, `significance` or
        `significance:P`.

    Raises
    ------
    SettingsError
        No such method, or its number is out of range.
    """
    name, _, text = method.partition(":")
    try:
        number = real_number(text) if text else math.nan
    except ValueError:
        number = math.nan
    if text and not math.isfinite(number):  # NaN stands for what is not given.
        name = ""
    if name in ("redundancy", "entropy") and not number < 0.0:
        log_forward = np.asarray(log_forward, np.float64)
        composed = best_compositions(rules, log_forward)
        if name == "redundancy":
            tolerance = DEFAULT_REDUNDANCY if math.isnan(number) else number
            return Pruned(composed < log_forward - tolerance, rules.count)
        loss = rules.count * (log_forward - np.maximum(composed, LOG_PROB_WITHOUT))
        return Pruned(loss >= (DEFAULT_LOSS if math.isnan(number) else number), loss)
    if name == "count" and number >= 0.0:
        return Pruned(rules.count >= number - uncertainty(rules.count), rules.count)
    if name == "significance" and not (number <= 0.0 or number > 1.0):
        tails, total = log_tails(rules, everything)
        # By default a tail just below 1/N.
        limit = -log_value(float(total)) * (1.0 + 1e-9) if math.isnan(number) else log_value(number)
        return Pruned(tails <= limit, -tails)
    raise SettingsError(
        f"--prune is {method}; it must be redundancy[:T] or entropy[:T] with T ≥ 0, count:N with N ≥ 0, or "
        "significance[:P] with 0 < P ≤ 1"
    )


def keep_best(rules: RuleCounts, worth: np.ndarray, text: str) -> np.ndarray:
    """The best rules: so many, such a share, or as many as have such a share of all uses. A mask.

    Ties in their order.

    Before all others come the best rules of the source sides that are one word, one for each: without, the
    word is unknown wherever no longer rule fits, which costs more than any longer rule brings.

    Parameters
    ----------
    rules : RuleCounts
    worth : float array (R,)
    text : str
        `N`, `P%` or `uses:P%`.

    Raises
    ------
    SettingsError
        It is none of these.
    """
    of_uses, size = text.startswith(_OF_USES), text.removeprefix(_OF_USES)
    try:
        is_share = size.endswith("%")
        number = real_number(size[:-1]) if is_share else whole_number(size)
        if not number > 0 or (is_share and number > 100.0) or (of_uses and not is_share):
            raise ValueError
    except ValueError:
        raise SettingsError(
            f"--keep is {text}; it must be a number of rules, a percentage of them, as in 10%, or of their "
            "uses, as in uses:90%, and above 0"
        ) from None
    kept = np.zeros(len(worth), bool)
    order = np.argsort(-worth, kind="stable")
    is_first = _best_of_words(rules, order)
    order = np.concatenate([order[is_first], order[~is_first]])
    if of_uses and number == 100.0:  # The rarest may be fewer uses than counts are known to.
        number = len(worth)
    elif of_uses:
        uses = np.cumsum(np.concatenate([[0.0], rules.count[order]]))
        number = int(np.searchsorted(uses, number * uses[-1] / 100.0 * (1.0 - PRECISION)))
    elif is_share:
        # In fractions of whole numbers: 7 % of 100 rules are 7, and 0.07 times 100 is more.
        number = math.ceil(fractions.Fraction(repr(number)) * len(worth) / 100)
    kept[order[:number]] = True
    return kept


def _best_of_words(rules: RuleCounts, order: np.ndarray) -> np.ndarray:
    """Which rules, given in an order, are the first whose source side is a certain word and nothing else."""
    begin = rules.source_start[order]
    is_one = rules.source_start[order + 1] - begin == 1
    places = np.flatnonzero(is_one)
    words, first = np.unique(rules.source[begin[is_one]], return_index=True)
    found = np.zeros(len(order), bool)
    found[places[first[words >= 0]]] = True
    return found


def _rounded_up(count: np.ndarray) -> np.ndarray:
    """Counts as whole numbers; what is one as closely as it is known stays what it is."""
    nearest = np.rint(count)
    return np.where(np.abs(count - nearest) <= uncertainty(count), nearest, np.ceil(count))


# --- significance --------------------------------------------------------------------------------------


def log_tails(rules: RuleCounts, everything: RuleCounts) -> tuple[np.ndarray, float]:
    """ln of the probability of each rule's count or more under independence, and the number N of uses.

    Parameters
    ----------
    rules : RuleCounts
        Some of `everything`.
    everything : RuleCounts
        Its counts, rounded up, make the margins.
    """
    sides = []
    for name in ("source", "target"):
        starts, values = [], []
        for table in (everything, rules):
            starts.append(getattr(table, f"{name}_start"))
            values.append(getattr(table, name))
        start = np.concatenate([starts[0], starts[1][1:] + starts[0][-1]])
        group, _ = group_rows(start, np.concatenate(values))
        margin = np.bincount(group[: everything.num_rules], _rounded_up(everything.count))
        sides.append(margin[group[everything.num_rules :]])
    total = _rounded_up(everything.count).sum()
    return _log_tails(_rounded_up(rules.count), sides[0], sides[1], total), total


@kernel
def _log_tails(joint, source, target, total):
    """ln P(count ≥ joint) of hypergeometric distributions."""
    tails = np.empty(joint.shape[0])
    for r in range(joint.shape[0]):
        most = min(source[r], target[r])
        count = joint[r]
        first = _log_hypergeometric(count, source[r], target[r], total)
        share, more = 1.0, 1.0
        while count < most and more > 1e-17 * share:
            more *= (source[r] - count) * (target[r] - count)
            more /= (count + 1.0) * (total - source[r] - target[r] + count + 1.0)
            share += more
            count += 1.0
        tails[r] = min(0.0, first + log(share))
    return tails


@compiled
def _log_hypergeometric(count, source, target, total):
    value = log_gamma(source + 1.0) - log_gamma(count + 1.0) - log_gamma(source - count + 1.0)
    value += log_gamma(total - source + 1.0)
    value -= log_gamma(target - count + 1.0) + log_gamma(total - source - target + count + 1.0)
    return value - (log_gamma(total + 1.0) - log_gamma(target + 1.0) - log_gamma(total - target + 1.0))


# --- compositions --------------------------------------------------------------------------------------


def best_compositions(rules: RuleCounts, log_forward: np.ndarray) -> np.ndarray:
    """ln of the largest product of two rules' probabilities that make each rule; float64 (R,).

    −inf where no two rules of the table make it.

    Parameters
    ----------
    rules : RuleCounts
        Each rule once.
    log_forward : float array (R,)
        ln P(e | f).
    """
    longest = int(max(np.diff(start).max(initial=0) for start in (rules.source_start, rules.target_start)))
    composed = np.empty(rules.num_rules)
    scratch = np.zeros((5, longest + 2), np.int32)
    _compose_rules(rules, np.asarray(log_forward, np.float64), scratch, composed)
    return composed


@kernel
def _compose_rules(rules, log_forward, scratch, composed):
    rules = by_reference(rules)
    slots = new_slots(composed.shape[0])
    for r in range(composed.shape[0]):
        first, last = rules.source_start[r], rules.source_start[r + 1]
        length = last - first
        for i in range(length):
            scratch[0, i] = rules.source[first + i]
        target_first = rules.target_start[r]
        target_length = rules.target_start[r + 1] - target_first
        for i in range(target_length):
            scratch[1, i] = rules.target[target_first + i]
        code = _hash(scratch[0], length, scratch[1], target_length)
        put(slots, free_slot(slots, code), code, r)
    for r in range(composed.shape[0]):
        composed[r] = _compose(rules, log_forward, r, slots, scratch)


@borrowing
def _hash(source, source_length, target, target_length):
    state = np.uint64(source_length)
    for i in range(source_length):
        state = mix(state, source[i])
    state = mix(state, np.int64(1) << 40)
    for i in range(target_length):
        state = mix(state, target[i])
    return state


@borrowing
def _find(rules, slots, source, source_length, target, target_length):
    """The rule with these sides, or −1."""
    code = _hash(source, source_length, target, target_length)
    slot = first_candidate(slots, code, 0)
    r = number_in(slots, slot)
    while r >= 0 and not (
        _equals(rules.source_start, rules.source, r, source, source_length)
        and _equals(rules.target_start, rules.target, r, target, target_length)
    ):
        slot = next_candidate(slots, code, 0, slot)
        r = number_in(slots, slot)
    return r


@borrowing
def _equals(start, symbols, row, other, length):
    if start[row + 1] - start[row] != length:
        return False
    for i in range(length):  # noqa: SIM110 (must compile)
        if symbols[start[row] + i] != other[i]:
            return False
    return True


_INSIDE = 1
_OUTSIDE = 2


@borrowing
def _compose(rules, log_forward, r, slots, scratch):
    """Cut a run of source symbols out with one of target symbols in all ways: the best of ln P together."""
    best = -math.inf
    length = rules.source_start[r + 1] - rules.source_start[r]
    target_first = rules.target_start[r]
    target_length = rules.target_start[r + 1] - target_first
    sides = scratch[0]  # of each target symbol: linked to the inside, to the outside, or neither
    for a in range(length):
        for b in range(a + 1, length + 1):
            if not _mark_sides(rules, r, a, b, sides):
                continue
            low, high = target_length, -1
            for t in range(target_length):
                if sides[t] == _INSIDE:
                    low = min(low, t)
                    high = t
            if high < 0:
                continue
            between = True
            for t in range(low, high + 1):
                between = between and sides[t] != _OUTSIDE
            if not between:
                continue
            c = low
            while True:
                d = high + 1
                while True:
                    best = max(best, _composition(rules, log_forward, r, (a, b), (c, d), slots, scratch))
                    if d == target_length or sides[d] == _OUTSIDE:
                        break
                    d += 1
                if c == 0 or sides[c - 1] == _OUTSIDE:
                    break
                c -= 1
    return best


@borrowing
def _mark_sides(rules, r, a, b, sides):
    """Say of each target symbol which side of source[a:b] it belongs to; False if one belongs to both."""
    first, last = rules.target_start[r], rules.target_start[r + 1]
    for t in range(last - first):
        sides[t] = 0
        symbol = rules.target[first + t]
        if symbol < 0:
            for s in range(rules.source_start[r], rules.source_start[r + 1]):
                if rules.source[s] == symbol:
                    place = s - rules.source_start[r]
                    sides[t] = _INSIDE if a <= place < b else _OUTSIDE
    for link in range(rules.alignment_start[r], rules.alignment_start[r + 1]):
        side = _INSIDE if a <= rules.alignment[link, 0] < b else _OUTSIDE
        t = rules.alignment[link, 1]
        if sides[t] == _INSIDE + _OUTSIDE - side:
            return False
        sides[t] = side
    return True


@borrowing
def _composition(rules, log_forward, r, source_span, target_span, slots, scratch):
    """ln P of the rule cut out at these spans plus that of the rest; −inf if the table lacks one."""
    a, b = source_span
    c, d = target_span
    start = rules.source_start[r]
    length = rules.source_start[r + 1] - start
    target_start = rules.target_start[r]
    target_length = rules.target_start[r + 1] - target_start
    source, target, numbers = scratch[1], scratch[2], scratch[3]
    # The lower rule.
    gaps = 0
    for i in range(a, b):
        symbol = rules.source[start + i]
        if symbol < 0:
            gaps += 1
            numbers[-1 - symbol] = -gaps
            symbol = -gaps
        source[i - a] = symbol
    # A source side that is a gap and nothing else could go on for ever: no decoder uses such rules.
    if (gaps == 1 and b - a == 1) or b - a == length:
        return -math.inf
    for i in range(c, d):
        symbol = rules.target[target_start + i]
        target[i - c] = numbers[-1 - symbol] if symbol < 0 else symbol
    lower = _find(rules, slots, source, b - a, target, d - c)
    if lower < 0:
        return -math.inf
    # The upper rule.
    gaps = 0
    new_gap = 0
    size = 0
    for i in range(length):
        if a < i < b:
            continue
        symbol = rules.source[start + i]
        if i == a:
            gaps += 1
            new_gap = -gaps
            symbol = new_gap
        elif symbol < 0:
            gaps += 1
            numbers[-1 - symbol] = -gaps
            symbol = -gaps
        source[size] = symbol
        size += 1
    target_size = 0
    for i in range(target_length):
        if c < i < d:
            continue
        symbol = rules.target[target_start + i]
        if i == c:
            symbol = new_gap
        elif symbol < 0:
            symbol = numbers[-1 - symbol]
        target[target_size] = symbol
        target_size += 1
    upper = _find(rules, slots, source, size, target, target_size)
    return log_forward[upper] + log_forward[lower] if upper >= 0 else -math.inf
