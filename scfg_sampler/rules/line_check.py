"""Whether a line of a rule table that is copied, not read, is a rule: as strict as `rules.parser` is.

Nothing is kept of a line but which names of features it has, as none may be there twice. The fact a newcomer
would get wrong: what is no rule in a native table may be one in cdec's, where features need no names, may be
given twice, and glue rules have gaps without numbers.
"""

from __future__ import annotations

from typing import NamedTuple, NoReturn

import numpy as np

from scfg_sampler.core.arrays.hash_table import add
from scfg_sampler.core.arrays.utf8 import is_utf8
from scfg_sampler.core.arrays.word_pool import WordPool, new_word_pool, next_token, with_room
from scfg_sampler.core.files import PathLike, not_utf8
from scfg_sampler.core.jit import borrowing
from scfg_sampler.errors import RuleTableError
from scfg_sampler.rules.parser import decimal_digits, decimal_number, is_name, last_comma, link_of
from scfg_sampler.rules.text import parse_rule, split_fields

__all__ = ["LineCheck", "explain", "is_bar", "is_rule", "new_line_check", "same_bytes", "with_room_for"]

_BAR, _EQUALS, _COMMA, _OPEN, _CLOSE, _MINUS, _DOT, _ZERO, _NINE = 124, 61, 44, 91, 93, 45, 46, 48, 57
_SPACE, _TAB = 32, 9
_SHORT = 38  # Digits: numbers of so many are finite as float32.
_MOST_GAPS = 999


class LineCheck(NamedTuple):
    """What lines of one block are checked with.

    names : WordPool, of the features so far
    last_line : int64, the stamp of the last line that gave each feature
    gaps : int64, shape (999, 4), of each gap of a source side its number, begin and end of its label, and
        whether the target side has it
    strict : whether the table is a native one, not cdec's
    """

    names: WordPool
    last_line: np.ndarray
    gaps: np.ndarray
    strict: bool


def new_line_check(strict: bool) -> LineCheck:
    """To begin with."""
    return _check_of(new_word_pool(), strict)


def with_room_for(check: LineCheck, length: int) -> LineCheck:
    """The same, with room for the names of a line of so many bytes; stamps are forgotten."""
    return _check_of(with_room(check.names, length), check.strict)


def _check_of(names: WordPool, strict: bool) -> LineCheck:
    return LineCheck(
        names, np.full(len(names.start), -1, np.int64), np.empty((_MOST_GAPS, 4), np.int64), strict
    )


def explain(raw: bytes, path: PathLike, line: int, strict: bool) -> NoReturn:
    """Raise the RuleTableError that says what is wrong with a line that is no rule, or is not UTF-8."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RuleTableError(path, line, *not_utf8(error)) from None
    fields = split_fields(text)
    if not strict and len(fields) > 3:  # As cdec names them.
        fields[3] = [each if "=" in each else f"PhraseModel_{k}={each}" for k, each in enumerate(fields[3])]
    parse_rule(" ||| ".join(map(" ".join, fields)), path, line, labels=True)
    raise RuleTableError(path, line, "cannot be read as a rule", "Compare it with the other lines")


@borrowing
def is_rule(block, at, end, check, stamp):
    """Whether block[at:end] is a rule.

    check : LineCheck whose `names` have room for the line
    stamp : a number that no other line has
    """
    field, num_source, num_target, num_gaps, num_used, guess = 0, 0, 0, 0, 0, 0
    has_left = False
    while True:
        if field == 3:
            at, guess = _skip_familiar(block, at, end, check, stamp, guess)
        begin, at = next_token(block, at, end)
        if begin == at:
            break
        if is_bar(block, begin, at):
            field += 1
            continue
        if not is_utf8(block, begin, at):
            return False
        bracketed = at - begin > 2 and block[begin] == _OPEN and block[at - 1] == _CLOSE
        if field == 0:
            if has_left or not bracketed or not _is_label(block, begin + 1, at - 1):
                return False
            has_left = True
        elif field == 1:
            num_source += 1
            if bracketed:
                if not check.strict and last_comma(block, begin, at) == begin:
                    return is_utf8(block, at, end)  # A glue rule of cdec's, as `[S] ||| [S] [X] ||| [1] [2]`.
                if not _take_gap(block, begin, at, check.gaps, num_gaps):
                    return False
                num_gaps += 1
        elif field == 2:
            num_target += 1
            if bracketed:
                if not _fill_gap(block, begin, at, check.gaps, num_gaps):
                    return False
                num_used += 1
        elif field == 3:
            guess = _take_feature(block, begin, at, check, stamp, guess)
            if guess < 0:
                return False
        else:
            i, j = link_of(block, begin, at)
            if field > 4 or i < 0 or i >= num_source or j >= num_target:
                return False
    is_whole = has_left and num_source > 0 and num_target > 0 and num_used == num_gaps
    return is_whole and (field == 3 or field == 4)


@borrowing
def is_bar(block, begin, end):
    """Whether block[begin:end] is what separates fields."""
    return end - begin == 3 and block[begin] == _BAR and block[begin + 1] == _BAR and block[begin + 2] == _BAR


@borrowing
def same_bytes(block, begin, end, other_begin, other_end):
    """Whether two stretches of a block are the same."""
    if end - begin != other_end - other_begin:
        return False
    for k in range(end - begin):  # noqa: SIM110 (all() over a generator does not compile)
        if block[begin + k] != block[other_begin + k]:
            return False
    return True


@borrowing
def _is_label(block, begin, end):
    for at in range(begin, end):
        if block[at] == _OPEN or block[at] == _CLOSE or block[at] == _COMMA:
            return False
    return begin < end


@borrowing
def _gap_number(block, begin, end):
    """The number of the gap `[X,n]` or `[n]`, 0 if it has none, and where its comma is, or `begin`."""
    comma = last_comma(block, begin, end)
    number = decimal_digits(block, comma + 1, end - 1, 3)
    return (0 if number <= 0 or block[comma + 1] == _ZERO else number), comma


@borrowing
def _take_gap(block, begin, end, gaps, num_gaps):
    """Note a gap of the source side; whether there may be such a one."""
    number, comma = _gap_number(block, begin, end)
    if number == 0 or not _is_label(block, begin + 1, comma):
        return False
    for k in range(num_gaps):
        if gaps[k, 0] == number:
            return False
    gaps[num_gaps, 0], gaps[num_gaps, 1], gaps[num_gaps, 2], gaps[num_gaps, 3] = number, begin + 1, comma, 0
    return True


@borrowing
def _fill_gap(block, begin, end, gaps, num_gaps):
    """Whether a gap of the target side is one of the source side that was not there before."""
    number, comma = _gap_number(block, begin, end)
    for k in range(num_gaps):
        if gaps[k, 0] == number and gaps[k, 3] == 0:
            gaps[k, 3] = 1
            return comma == begin or same_bytes(block, begin + 1, comma, gaps[k, 1], gaps[k, 2])
    return False


@borrowing
def _skip_familiar(block, at, end, check, stamp, guess):
    """Go past features that are the guessed ones, with short numbers: where they end, and the next guess.

    What `_take_feature` does of nearly all features, in one pass.
    """
    names = check.names
    while check.strict and guess < names.size[0] and check.last_line[guess] != stamp:
        begin = at
        while begin < end and (block[begin] == _SPACE or block[begin] == _TAB):
            begin += 1
        number = begin + names.start[guess + 1] - names.start[guess] + 1
        if (
            number > end
            or block[number - 1] != _EQUALS
            or not is_name(names, guess, block, begin, number - 1)
        ):
            break
        stop = _short_number(block, number, end)
        if stop == number or (stop < end and block[stop] != _SPACE and block[stop] != _TAB):
            break
        check.last_line[guess] = stamp
        at, guess = stop, guess + 1
    return at, guess


@borrowing
def _short_number(block, begin, end):
    """Where the number at `begin` ends that has no exponent and few digits; `begin` if there is none."""
    at = begin
    if at < end and block[at] == _MINUS:
        at += 1
    dots, first = 0, at
    while at < end and (block[at] == _DOT or _ZERO <= block[at] <= _NINE):
        dots += block[at] == _DOT
        at += 1
    return at if dots <= 1 and dots < at - first <= _SHORT else begin


@borrowing
def _take_feature(block, begin, end, check, stamp, guess):
    """The name that may come next, by its number, after `name=number`; −1 if that cannot be read."""
    equals = end - 1  # The last one: names may hold some.
    while equals > begin and block[equals] != _EQUALS:
        equals -= 1
    if not check.strict:
        number = equals + 1 if block[equals] == _EQUALS else begin
        return 0 if _is_number(block, number, end) else -1
    if equals == begin or not _is_number(block, equals + 1, end):
        return -1
    if is_name(check.names, guess, block, begin, equals):
        name = np.int64(guess)
    else:
        name = np.int64(add(check.names, block, begin, equals))
    if check.last_line[name] == stamp:
        return -1
    check.last_line[name] = stamp
    return name + 1


@borrowing
def _is_number(block, begin, end):
    """Whether it is a number; its value, which takes powers of ten, is only asked for where that decides."""
    if begin < _short_number(block, begin, end) == end:
        return True
    return decimal_number(block, begin, end)[1]
