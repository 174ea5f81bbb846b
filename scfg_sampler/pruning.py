"""Smaller rule tables: which rules are worth their place.

Three tests of a rule X → ⟨f, e⟩ with count c(f, e):

redundancy
    The rule is a composition, u with l in one of its gaps, of two rules of the table that are nearly as
    probable together: ln P(e_u | f_u) + ln P(e_l | f_l) ≥ ln P(e | f) − T. Whatever the rule translates,
    these two translate, so that little is lost. By induction over length this holds although u and l may
    be redundant themselves.
count
    c(f, e) ≥ N.
significance
    Under independence of f and e, a count of at least c(f, e) would be a surprise: the tail of the
    hypergeometric distribution with margins c(f), c(e) and N uses of rules in all (Johnson, Martin, Foster
    and Kuhn 2007). By default a tail of 1/N, that of a pair whose sides occur once each, is no surprise.

Denominators stay those of the whole table: pruning changes which rules there are, not what is known of them.

The fact a newcomer would get wrong: expected counts are fractions. Significance rounds them up, and so counts
what was seen at all as seen once.
"""

from __future__ import annotations

import math

import numpy as np

from scfg_sampler.core.jit import borrowing, by_reference, compiled, kernel
from scfg_sampler.core.ragged import group_rows, mix
from scfg_sampler.errors import SettingsError
from scfg_sampler.rule_counts import RuleCounts

__all__ = ["PRUNINGS", "keep_best", "prune_rules", "redundant_rules", "significant_rules"]

PRUNINGS = ("redundancy", "count", "significance")
DEFAULT_REDUNDANCY = 1.0


def prune_rules(
    rules: RuleCounts, log_forward: np.ndarray, everything: RuleCounts, method: str
) -> np.ndarray:
    """Which rules are kept; a mask.

    Parameters
    ----------
    rules : RuleCounts
        Each rule once.
    log_forward : float array (R,)
        ln P(e | f) of each, from the whole table.
    everything : RuleCounts
        The whole table, for the margins of `significance`.
    method : str
        `redundancy` or `redundancy:T`, `count:N`, `significance` or `significance:P`.

    Raises
    ------
    SettingsError
        No such method, or its number is out of range.
    """
    name, _, text = method.partition(":")
    try:
        number = float(text) if text else math.nan
    except ValueError:
        number = math.nan
        name = ""
    if name == "redundancy" and not number < 0.0:
        return ~redundant_rules(rules, log_forward, DEFAULT_REDUNDANCY if math.isnan(number) else number)
    if name == "count" and number >= 0.0:
        return rules.count >= number
    if name == "significance" and not (number <= 0.0 or number > 1.0):
        return significant_rules(rules, everything, None if math.isnan(number) else number)
    raise SettingsError(
        f"--prune is {method}; it must be redundancy[:T] with T ≥ 0, count:N with N ≥ 0, or significance[:P] "
        "with 0 < P ≤ 1"
    )


def keep_best(rules: RuleCounts, text: str) -> np.ndarray:
    """The rules with the largest counts, so many or such a share; ties in their order. A mask.

    Parameters
    ----------
    rules : RuleCounts
    text : str
        `N` or `P%`.

    Raises
    ------
    SettingsError
        It is neither.
    """
    try:
        share = float(text[:-1]) / 100.0 if text.endswith("%") else math.nan
        number = rules.num_rules * share if text.endswith("%") else int(text)
        if not number >= 0 or share > 1.0:
            raise ValueError
    except ValueError:
        raise SettingsError(
            f"--keep is {text}; it must be a number of rules or a percentage, as in 10%"
        ) from None
    kept = np.zeros(rules.num_rules, bool)
    kept[np.argsort(-rules.count, kind="stable")[: math.ceil(number)]] = True
    return kept


# --- significance --------------------------------------------------------------------------------------


def significant_rules(rules: RuleCounts, everything: RuleCounts, level: float | None = None) -> np.ndarray:
    """Which rules' counts would be a surprise under independence; a mask.

    Parameters
    ----------
    rules : RuleCounts
        Some of `everything`.
    everything : RuleCounts
        Its counts, rounded up, make the margins.
    level : float, optional
        Largest tail that is a surprise; by default just below 1/N.
    """
    sides = []
    for name in ("source", "target"):
        starts, values = [], []
        for table in (everything, rules):
            starts.append(getattr(table, f"{name}_start"))
            values.append(getattr(table, name))
        start = np.concatenate([starts[0], starts[1][1:] + starts[0][-1]])
        group, _ = group_rows(start, np.concatenate(values))
        margin = np.bincount(group[: everything.num_rules], np.ceil(everything.count))
        sides.append(margin[group[everything.num_rules :]])
    total = np.ceil(everything.count).sum()
    limit = -math.log(total) * (1.0 + 1e-9) if level is None else math.log(level)
    return _log_tails(np.ceil(rules.count), sides[0], sides[1], total) <= limit


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
        tails[r] = min(0.0, first + math.log(share))
    return tails


@compiled
def _log_hypergeometric(count, source, target, total):
    value = math.lgamma(source + 1.0) - math.lgamma(count + 1.0) - math.lgamma(source - count + 1.0)
    value += math.lgamma(total - source + 1.0)
    value -= math.lgamma(target - count + 1.0) + math.lgamma(total - source - target + count + 1.0)
    return value - (math.lgamma(total + 1.0) - math.lgamma(target + 1.0) - math.lgamma(total - target + 1.0))


# --- redundancy ----------------------------------------------------------------------------------------


def redundant_rules(rules: RuleCounts, log_forward: np.ndarray, tolerance: float) -> np.ndarray:
    """Which rules two others make, nearly as probable; a mask.

    Parameters
    ----------
    rules : RuleCounts
        Each rule once.
    log_forward : float array (R,)
        ln P(e | f).
    tolerance : float
        T, in nats, at least 0.
    """
    longest = int(max(np.diff(start).max(initial=0) for start in (rules.source_start, rules.target_start)))
    size = 4
    while size < 2 * rules.num_rules:
        size *= 2
    slots = np.full(size, -1, np.int64)
    redundant = np.zeros(rules.num_rules, np.bool_)
    scratch = np.zeros((5, longest + 2), np.int32)
    _find_redundant(rules, np.asarray(log_forward, np.float64), tolerance, slots, scratch, redundant)
    return redundant


@kernel
def _find_redundant(rules, log_forward, tolerance, slots, scratch, redundant):
    rules = by_reference(rules)
    mask = slots.shape[0] - 1
    for r in range(redundant.shape[0]):
        first, last = rules.source_start[r], rules.source_start[r + 1]
        length = last - first
        for i in range(length):
            scratch[0, i] = rules.source[first + i]
        target_first = rules.target_start[r]
        target_length = rules.target_start[r + 1] - target_first
        for i in range(target_length):
            scratch[1, i] = rules.target[target_first + i]
        slot = _hash(scratch[0], length, scratch[1], target_length) & mask
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = r
    for r in range(redundant.shape[0]):
        redundant[r] = _is_redundant(rules, log_forward, r, tolerance, slots, scratch)


@borrowing
def _hash(source, source_length, target, target_length):
    state = np.uint64(source_length)
    for i in range(source_length):
        state = mix(state, source[i])
    state = mix(state, np.int64(1) << 40)
    for i in range(target_length):
        state = mix(state, target[i])
    return np.int64(state >> np.uint64(1))


@borrowing
def _find(rules, slots, source, source_length, target, target_length):
    """The rule with these sides, or −1."""
    mask = slots.shape[0] - 1
    slot = _hash(source, source_length, target, target_length) & mask
    while slots[slot] >= 0:
        r = slots[slot]
        if _equals(rules.source_start, rules.source, r, source, source_length) and _equals(
            rules.target_start, rules.target, r, target, target_length
        ):
            return r
        slot = (slot + 1) & mask
    return -1


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
def _is_redundant(rules, log_forward, r, tolerance, slots, scratch):
    """Whether a run of source symbols can be cut out with one of target symbols, both in the table."""
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
                    if _reproduces(rules, log_forward, r, (a, b), (c, d), tolerance, slots, scratch):
                        return True
                    if d == target_length or sides[d] == _OUTSIDE:
                        break
                    d += 1
                if c == 0 or sides[c - 1] == _OUTSIDE:
                    break
                c -= 1
    return False


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
def _reproduces(rules, log_forward, r, source_span, target_span, tolerance, slots, scratch):
    """Whether the rule cut out at these spans and the rest of the rule are in the table and as probable."""
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
        return False
    for i in range(c, d):
        symbol = rules.target[target_start + i]
        target[i - c] = numbers[-1 - symbol] if symbol < 0 else symbol
    lower = _find(rules, slots, source, b - a, target, d - c)
    if lower < 0 or log_forward[lower] < log_forward[r] - tolerance:
        return False
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
    return upper >= 0 and log_forward[upper] + log_forward[lower] >= log_forward[r] - tolerance
