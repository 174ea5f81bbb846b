"""Lines of the native rule table format written in blocks: the compiled twin of `rules.text.format_rule`."""

from __future__ import annotations

import numpy as np

from scfg_sampler.core.jit import compiled, kernel

__all__ = ["format_rules"]

_SPACE, _NEWLINE = 32, 10
_BAR, _COMMA, _OPEN, _CLOSE = 124, 44, 91, 93
_MINUS, _PLUS, _DOT, _ZERO, _E = 45, 43, 46, 48, 101


@kernel
def format_rules(rows, table, sparse, texts, labels, buffer):
    """Write the lines of rules `rows` into `buffer` (uint8) as long as they fit.

    table : the arrays source_start … alignment, and features
    sparse : `Rows`, features of few rules, whose names follow those of the others
    texts : pairs of uint8 text and int64 offsets, of source words, target words, features and labels; the
        names of features end with "="
    labels : `kinds` and `kind` as in `Labels`; where `kind` is empty, all rules are of the first kind

    Returns the number of rules written and of bytes used.
    """
    source_start, source, target_start, target, alignment_start, alignment, features = table
    source_texts, target_texts, name_texts, label_texts = texts
    kinds, kind_of = labels
    at = 0
    for done in range(len(rows)):
        rule = rows[done]
        kind = kinds[kind_of[rule] if len(kind_of) > 0 else 0]
        length = (
            64
            + _labels_length(kind, label_texts[1])
            + _features_length(features.shape[1], sparse, rule, name_texts[1])
        )
        length += 24 * (alignment_start[rule + 1] - alignment_start[rule])
        length += _side_length(source, source_start[rule], source_start[rule + 1], source_texts[1])
        length += _side_length(target, target_start[rule], target_start[rule + 1], target_texts[1])
        if at + length > len(buffer):
            return done, at
        at = _put_byte(buffer, _put_text(buffer, _put_byte(buffer, at, _OPEN), label_texts, kind[0]), _CLOSE)
        at = _put_bar(buffer, at)
        side = source[source_start[rule] : source_start[rule + 1]]
        at = _put_side(buffer, at, side, source_texts, label_texts, kind)
        at = _put_bar(buffer, at)
        side = target[target_start[rule] : target_start[rule + 1]]
        at = _put_side(buffer, at, side, target_texts, label_texts, kind)
        at = _put_bar(buffer, at)
        for column in range(features.shape[1]):
            at = _put_feature(buffer, at, column, name_texts, features[rule, column])
        for k in range(sparse.start[rule], sparse.start[rule + 1]):
            at = _put_feature(buffer, at, features.shape[1] + sparse.column[k], name_texts, sparse.values[k])
        for k in range(alignment_start[rule], alignment_start[rule + 1]):
            at = _put_bar(buffer, at) if k == alignment_start[rule] else _put_byte(buffer, at, _SPACE)
            at = _put_integer(buffer, at, alignment[k, 0])
            at = _put_byte(buffer, at, _MINUS)
            at = _put_integer(buffer, at, alignment[k, 1])
        at = _put_byte(buffer, at, _NEWLINE)
    return len(rows), at


@compiled
def _side_length(symbols, begin, end, text_start):
    length = 0
    for k in range(begin, end):
        length += 24
        if symbols[k] >= 0:
            length += text_start[symbols[k] + 1] - text_start[symbols[k]]
    return length


@compiled
def _features_length(num_columns, sparse, rule, name_start):
    """No fewer bytes than the features of a rule take."""
    length = 24 * num_columns + name_start[num_columns]
    for k in range(sparse.start[rule], sparse.start[rule + 1]):
        name = num_columns + sparse.column[k]
        length += 24 + name_start[name + 1] - name_start[name]
    return length


@compiled
def _put_feature(buffer, at, name, name_texts, value):
    """Write a name and its value, behind a space unless there is one."""
    if buffer[at - 1] != _SPACE:
        at = _put_byte(buffer, at, _SPACE)
    return _put_number(buffer, _put_text(buffer, at, name_texts, name), value)


@compiled
def _labels_length(kind, text_start):
    """No fewer bytes than all labels of a rule take, once on the left and twice for each gap."""
    length = 0
    for label in kind:
        length += 2 * (text_start[max(label, 0) + 1] - text_start[max(label, 0)])
    return length


@compiled
def _put_side(buffer, at, symbols, texts, label_texts, kind):
    for k in range(len(symbols)):
        if k > 0:
            at = _put_byte(buffer, at, _SPACE)
        symbol = symbols[k]
        if symbol >= 0:
            at = _put_text(buffer, at, texts, symbol)
        else:
            label = kind[-symbol] if -symbol < len(kind) else 0
            at = _put_text(buffer, _put_byte(buffer, at, _OPEN), label_texts, label)
            at = _put_byte(buffer, at, _COMMA)
            at = _put_byte(buffer, _put_integer(buffer, at, -symbol), _CLOSE)
    return at


@compiled
def _put_text(buffer, at, texts, number):
    text, text_start = texts
    for i in range(text_start[number], text_start[number + 1]):
        at = _put_byte(buffer, at, text[i])
    return at


@compiled
def _put_byte(buffer, at, byte):
    buffer[at] = byte
    return at + 1


@compiled
def _put_bar(buffer, at):
    """Write " ||| "; spaces only where there is none yet."""
    if buffer[at - 1] != _SPACE:
        buffer[at] = _SPACE
        at += 1
    for k in range(3):
        buffer[at + k] = _BAR
    buffer[at + 3] = _SPACE
    return at + 4


@compiled
def _put_integer(buffer, at, value):
    """Write a non-negative integer."""
    power = np.int64(1)
    while value // power >= 10:
        power *= 10
    while power > 0:
        buffer[at] = _ZERO + (value // power) % 10
        at += 1
        power //= 10
    return at


@compiled
def _put_number(buffer, at, value):
    """Write a finite float32 with seven significant digits, as "%.7g" would."""
    number = np.float64(value)  # float() of what is compiled leaves a float32 one.
    if number < 0.0:
        at = _put_byte(buffer, at, _MINUS)
        number = -number
    if number == np.floor(number) and number < 1e7:
        return _put_integer(buffer, at, np.int64(number))
    exponent = int(np.floor(np.log10(number)))
    digits = _seven_digits(number, exponent)
    if digits < 1000000:
        exponent -= 1
        digits = _seven_digits(number, exponent)
    if digits >= 10000000:
        exponent += 1
        digits = _seven_digits(number, exponent)
    places = 6  # digits after the first
    while digits % 10 == 0:
        digits //= 10
        places -= 1
    if -4 <= exponent < 0:
        buffer[at], buffer[at + 1] = _ZERO, _DOT
        at += 2
        for _ in range(-1 - exponent):
            at = _put_byte(buffer, at, _ZERO)
        return _put_integer(buffer, at, digits)
    whole = exponent if 0 <= exponent < 7 else 0  # digits after the first and before the point
    while places < whole:
        digits *= 10
        places += 1
    scale = np.int64(10) ** (places - whole)
    at = _put_integer(buffer, at, digits // scale)
    if places > whole:
        at = _put_byte(buffer, at, _DOT)
        rest = digits % scale
        zeros = scale // 10
        while zeros > max(rest, 1):
            at = _put_byte(buffer, at, _ZERO)
            zeros //= 10
        at = _put_integer(buffer, at, rest)
    if not 0 <= exponent < 7:
        at = _put_byte(buffer, at, _E)
        at = _put_byte(buffer, at, _MINUS if exponent < 0 else _PLUS)
        if abs(exponent) < 10:
            at = _put_byte(buffer, at, _ZERO)
        at = _put_integer(buffer, at, abs(exponent))
    return at


@compiled
def _seven_digits(number, exponent):
    if exponent > 6:
        return np.int64(np.rint(number / 10.0 ** (exponent - 6)))
    if exponent < -30:  # Denormal float32: scaled in two steps, as one power might overflow.
        return np.int64(np.rint(number * 1e30 * 10.0 ** (6 - exponent - 30)))
    return np.int64(np.rint(number * 10.0 ** (6 - exponent)))
