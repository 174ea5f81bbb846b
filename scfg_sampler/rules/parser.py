"""Lines of the native rule table format read in blocks: the compiled twin of `rules.text.parse_rule`.

Parsing works on blocks of bytes and never makes a Python object of a word: words are interned as bytes, as
they are escaped in the file. On the first line it cannot read it stops and says which line that is;
`rules.text.parse_rule`, which accepts exactly the same lines, then finds the words for what is wrong. The
fact a newcomer would get wrong: features may be given in any order and may be missing (then they are 0), so
the parser guesses that each line repeats the order of the columns and looks a name up only if it does not.
The first names have a column, the others are kept as they come: nobody knows yet how many there will be.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.hash_table import add
from scfg_sampler.core.arrays.word_pool import (
    WordPool,
    end_of_line,
    has_room,
    new_word_pool,
    next_token,
)
from scfg_sampler.core.jit import borrowing, by_reference, compiled, kernel

__all__ = [
    "BAD_LINE",
    "NO_ROOM",
    "OK",
    "ParsedRules",
    "decimal_digits",
    "decimal_number",
    "is_name",
    "label_pool",
    "last_comma",
    "link_of",
    "new_parsed_rules",
    "parse_block",
]

OK, BAD_LINE, NO_ROOM = 0, 1, 2

_NEWLINE, _RETURN = 10, 13
_BAR, _HASH, _EQUALS, _COMMA, _OPEN, _CLOSE, _X = 124, 35, 61, 44, 91, 93, 88
_MINUS, _PLUS, _DOT, _ZERO, _NINE = 45, 43, 46, 48, 57
_MAX_LABEL = 999
_COLUMNS = 32  # More names than most tables have; few enough to be written for every rule.
_WRONG = np.int64(-(2**62))  # Instead of a symbol.


class ParsedRules(NamedTuple):
    """Rules of one block, in arrays long enough for any block of its length.

    Fields as in `RuleTable`, but for these.

    features : float32, the features whose names came first, for every rule
    given : int64, how many rules name each of these
    more_start, more_name, more_value : int64, int32 and float32: the other features, as rules name them
    label : int32, of each rule the label of its left-hand side, then those of its nonterminals
    size : int64, shape (6,), rules, source symbols, target symbols, links, features without a column, labels
    """

    source_start: np.ndarray
    source: np.ndarray
    target_start: np.ndarray
    target: np.ndarray
    alignment_start: np.ndarray
    alignment: np.ndarray
    features: np.ndarray
    given: np.ndarray
    more_start: np.ndarray
    more_name: np.ndarray
    more_value: np.ndarray
    label: np.ndarray
    size: np.ndarray


def new_parsed_rules(block: np.ndarray) -> ParsedRules:
    """Room for the rules of a block (uint8)."""
    lines = int(np.count_nonzero(block == _NEWLINE)) + 1
    symbols = len(block) // 2 + 1
    return ParsedRules(
        np.zeros(lines + 1, np.int64),
        np.empty(symbols, np.int32),
        np.zeros(lines + 1, np.int64),
        np.empty(symbols, np.int32),
        np.zeros(lines + 1, np.int64),
        np.empty((len(block) // 4 + 1, 2), np.int32),
        np.empty((lines, _COLUMNS), np.float32),
        np.zeros(_COLUMNS, np.int64),
        np.zeros(lines + 1, np.int64),
        np.empty(len(block) // 4 + 1, np.int32),
        np.empty(len(block) // 4 + 1, np.float32),
        np.empty(lines + symbols, np.int32),
        np.zeros(6, np.int64),
    )


def label_pool() -> WordPool:
    """The label X, which is number 0, and room for others."""
    pool = new_word_pool()
    _add_x(pool)
    return pool


@kernel
def _add_x(labels):
    add(labels, np.array([_X], np.uint8), 0, 1)


@kernel
def parse_block(block, at, out, source_words, target_words, names, labels, keeps_labels):
    """Parse the lines of a block from byte `at` on, appending to `out`.

    Parameters
    ----------
    block : uint8, whole lines
    at : where a line begins
    out : ParsedRules
    source_words, target_words, names : WordPool
        Of words, and of the names of features in the order they come.
    labels : WordPool, of the labels of nonterminals; see `label_pool`
    keeps_labels : whether there may be others than X

    Returns
    -------
    status : OK, or why it stopped: BAD_LINE, or NO_ROOM for the words of a line
    at : the end of the block, or the beginning of the line it stopped at, which has left no trace in `out`
    """
    order = np.zeros(_MAX_LABEL + 1, np.int32)
    # One more than the last rule that gave each feature without a column, or 0. It is handed on as it is:
    # what is made here and known by reference alone is given back to the heap at once.
    last_rule = np.zeros(len(names.start), np.int64)
    pools = by_reference(source_words), by_reference(target_words), by_reference(names)
    reader = by_reference(_Reader(*pools, by_reference(labels), keeps_labels))
    out_at = by_reference(out)
    while at < len(block):
        end = end_of_line(block, at)
        stop = end - 1 if end > at and block[end - 1] == _RETURN else end
        length = stop - at
        if not (
            has_room(source_words, length)
            and has_room(target_words, length)
            and has_room(names, length)
            and has_room(labels, length)
        ):
            return NO_ROOM, at
        if block[at] != _HASH and next_token(block, at, stop)[0] < stop:
            status = _parse_line(block, at, stop, out_at, reader, order, last_rule)
            if status != OK:
                return status, at
        at = end + 1
    return OK, len(block)


class _Reader(NamedTuple):
    """What lines are read with: the pools of `parse_block`."""

    source_words: WordPool
    target_words: WordPool
    names: WordPool
    labels: WordPool
    keeps_labels: bool


@borrowing
def _parse_line(block, at, end, out, reader, order, last_rule):
    """Append the rule of a line: `[X] ||| source ||| target ||| features`, maybe `||| links`."""
    source, target, size = out.source, out.target, out.size
    rule, num_source, num_target, num_links = size[0], size[1], size[2], size[3]
    source_begin, target_begin, links_begin = num_source, num_target, num_links
    size[4] = out.more_start[rule]  # A line that could not be read may have left some.
    values = out.features[rule]
    field, labels, used, guess = 0, 0, 0, 0
    lhs = 0
    for k in range(len(values)):
        values[k] = np.nan
    while True:
        begin, at = next_token(block, at, end)
        if begin == at:
            break
        if at - begin == 3 and block[begin] == _BAR and block[begin + 1] == _BAR and block[begin + 2] == _BAR:
            field += 1
            continue
        bracketed = at - begin > 2 and block[begin] == _OPEN and block[at - 1] == _CLOSE
        if field == 0:
            label = _label(block, begin + 1, at - 1, reader) if bracketed and not lhs else -1
            if label < 0:
                return BAD_LINE
            lhs = 1
            out.label[size[5]] = label
        elif field == 1:
            symbol = _source_symbol(block, begin, at, bracketed, reader, out, order, labels)
            if symbol == _WRONG:
                return BAD_LINE
            labels += symbol < 0
            source[num_source] = symbol
            num_source += 1
        elif field == 2:
            symbol = _target_symbol(block, begin, at, bracketed, reader, out, order, labels)
            if symbol == _WRONG or (symbol < 0 and _holds(target, target_begin, num_target, symbol)):
                return BAD_LINE
            used += symbol < 0
            target[num_target] = symbol
            num_target += 1
        elif field == 3:
            guess = _set_feature(block, begin, at, reader, out, last_rule, guess)
            if guess < 0:
                return BAD_LINE
        elif field == 4:
            i, j = link_of(block, begin, at)
            if i < 0 or i >= num_source - source_begin or j >= num_target - target_begin:
                return BAD_LINE
            if source[source_begin + i] >= 0 and target[target_begin + j] >= 0:
                num_links = _insert_link(out.alignment, links_begin, num_links, i, j)
        else:
            return BAD_LINE
    if field < 3 or field > 4 or not lhs or used != labels:
        return BAD_LINE
    if num_source == source_begin or num_target == target_begin:
        return BAD_LINE
    size[5] += 1 + labels
    _end_rule(out, rule, num_source, num_target, num_links)
    return OK


@borrowing
def _end_rule(out, rule, num_source, num_target, num_links):
    """Note where a rule ends; features that were not given are 0."""
    for k in range(out.features.shape[1]):
        if np.isnan(out.features[rule, k]):
            out.features[rule, k] = 0.0
        else:
            out.given[k] += 1
    out.source_start[rule + 1] = num_source
    out.target_start[rule + 1] = num_target
    out.alignment_start[rule + 1] = num_links
    size = out.size
    out.more_start[rule + 1] = size[4]
    size[0], size[1], size[2], size[3] = rule + 1, num_source, num_target, num_links


@borrowing
def _source_symbol(block, begin, end, bracketed, reader, out, order, labels):
    """A word's id, or −1−k for nonterminal k, whose number order[k] becomes; _WRONG if it cannot be."""
    if not bracketed:
        return np.int64(add(reader.source_words, block, begin, end))
    comma = last_comma(block, begin, end)
    number = decimal_digits(block, comma + 1, end - 1, 3)
    if comma == begin or number <= 0 or block[comma + 1] == _ZERO or _holds(order, 0, labels, number):
        return _WRONG
    label = _label(block, begin + 1, comma, reader)
    if label < 0:
        return _WRONG
    order[labels] = number
    out.label[out.size[5] + 1 + labels] = label
    return np.int64(-1 - labels)


@borrowing
def _target_symbol(block, begin, end, bracketed, reader, out, order, labels):
    """A word's id, or −1−k for the source side's nonterminal k; _WRONG for a number it does not have."""
    if not bracketed:
        return np.int64(add(reader.target_words, block, begin, end))
    comma = last_comma(block, begin, end)
    number = decimal_digits(block, comma + 1, end - 1, 3)
    if number <= 0 or block[comma + 1] == _ZERO:
        return _WRONG
    for k in range(labels):
        if order[k] == number:
            label = out.label[out.size[5] + 1 + k]
            same = comma == begin or _label(block, begin + 1, comma, reader) == label
            return np.int64(-1 - k) if same else _WRONG
    return _WRONG


@borrowing
def last_comma(block, begin, end):
    """Where the last comma of `[X,n]` is, or `begin` if there is none."""
    at = end - 1
    while at > begin and block[at] != _COMMA:
        at -= 1
    return at


@borrowing
def _label(block, begin, end, reader):
    """The number of the label block[begin:end], or −1 if it cannot be one."""
    if end - begin == 1 and block[begin] == _X:
        return 0
    if begin >= end or not reader.keeps_labels:
        return -1
    for at in range(begin, end):
        if block[at] == _OPEN or block[at] == _CLOSE or block[at] == _COMMA:
            return -1
    return np.int64(add(reader.labels, block, begin, end))


@borrowing
def _holds(values, begin, end, value):
    """Whether values[begin:end] holds a value."""
    at = begin
    while at < end and values[at] != value:
        at += 1
    return at < end


@borrowing
def _set_feature(block, begin, end, reader, out, last_rule, guess):
    """Set the value that `name=number` gives; the name that may come next, or −1 if it cannot be read."""
    rule = out.size[0]
    equals = end - 1  # The last one: names may hold some.
    while equals > begin and block[equals] != _EQUALS:
        equals -= 1
    if equals == begin:
        return -1
    value, is_number = decimal_number(block, equals + 1, end)
    if not is_number:
        return -1
    names = reader.names
    name = (
        guess if is_name(names, guess, block, begin, equals) else np.int64(add(names, block, begin, equals))
    )
    if name < _COLUMNS:
        if not np.isnan(out.features[rule, name]):
            return -1
        out.features[rule, name] = value
    else:
        if last_rule[name] == rule + 1:
            return -1
        last_rule[name] = rule + 1
        at = out.size[4]
        out.more_name[at], out.more_value[at] = name, value
        out.size[4] = at + 1
    return name + 1


@borrowing
def is_name(names, name, block, begin, end):
    """Whether block[begin:end] is the name of this number, if there is one."""
    if name >= names.size[0] or names.start[name + 1] - names.start[name] != end - begin:
        return False
    k = 0
    while k < end - begin and names.symbols[names.start[name] + k] == block[begin + k]:
        k += 1
    return k == end - begin


@compiled
def decimal_digits(block, begin, end, most):
    """The number spelled by decimal digits, or −1; at most `most` of them."""
    if begin == end or end - begin > most:
        return -1
    value = np.int64(0)
    for at in range(begin, end):
        if block[at] < _ZERO or block[at] > _NINE:
            return -1
        value = 10 * value + np.int64(block[at]) - _ZERO
    return value


@compiled
def link_of(block, begin, end):
    """The two numbers of a link `i-j`; −1 if it is none."""
    minus = begin
    while minus < end and block[minus] != _MINUS:
        minus += 1
    i, j = decimal_digits(block, begin, minus, 9), decimal_digits(block, min(minus + 1, end), end, 9)
    return (-1, -1) if i < 0 or j < 0 else (i, j)


@compiled
def _insert_link(alignment, begin, end, i, j):
    """Keep alignment[begin:end] sorted and unique with (i, j) added; returns its new end."""
    at = end
    while at > begin and (
        alignment[at - 1, 0] > i or (alignment[at - 1, 0] == i and alignment[at - 1, 1] > j)
    ):
        at -= 1
    if at > begin and alignment[at - 1, 0] == i and alignment[at - 1, 1] == j:
        return end
    for k in range(end, at, -1):
        alignment[k, 0], alignment[k, 1] = alignment[k - 1, 0], alignment[k - 1, 1]
    alignment[at, 0], alignment[at, 1] = i, j
    return end + 1


@compiled
def decimal_number(block, begin, end):
    """A finite decimal number and whether it is one.

    The float64 nearest to it where at most 15 digits and 10^±22 take part. With more digits it is rounded
    twice, and may be a neighbour of that; digits behind the 18th count as zeros.
    """
    at = begin
    negative = at < end and block[at] == _MINUS
    if at < end and (block[at] == _MINUS or block[at] == _PLUS):
        at += 1
    mantissa, exponent, digits = np.int64(0), 0, 0
    seen_dot = False
    while at < end and (block[at] == _DOT or _ZERO <= block[at] <= _NINE):
        if block[at] == _DOT:
            if seen_dot:
                return 0.0, False
            seen_dot = True
        else:
            if mantissa < 100000000000000000:
                mantissa = 10 * mantissa + np.int64(block[at]) - _ZERO
                exponent -= seen_dot
            else:
                exponent += not seen_dot
            digits += 1
        at += 1
    if digits == 0:
        return 0.0, False
    if at < end and (block[at] == 69 or block[at] == 101):  # E or e
        at += 1
        sign = 1
        if at < end and (block[at] == _MINUS or block[at] == _PLUS):
            sign = -1 if block[at] == _MINUS else 1
            at += 1
        power = decimal_digits(block, at, end, 4)
        if power < 0:
            return 0.0, False
        exponent += sign * power
        at = end
    if at != end:
        return 0.0, False
    value = float(mantissa)
    if exponent < -330:
        value = 0.0
    elif exponent < 0:
        value = value / 10.0 ** min(-exponent, 300) / 10.0 ** max(0, -exponent - 300)
    elif exponent > 0 and mantissa > 0:
        value = value * 10.0 ** min(exponent, 308)  # Float32 holds less, and Python less than 10³⁰⁹.
    if not np.isfinite(np.float32(value)):
        return 0.0, False
    return (-value if negative else value), True
