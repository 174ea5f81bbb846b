"""How a rule is spelled in the native text format, and how words that look like something else are escaped.

A line is ``[X] ||| source ||| target ||| Name=value … ||| i-j …``; the alignment may be missing. Source
nonterminals are written `[X,1]`, `[X,2]`, … in source order, and the target names them by these numbers.
Where labels are kept, they may be others than X, with commas written `&#44;` and equals signs `&#61;`.

Some words would be taken for a part of the format, or torn apart by programs that split at any white space.
In them the offending character c is written `&#N;`, N its code point: every `[`, `]`, `|`, white space and
control character, and the `<` of `<s>` and `</s>`. The empty word is `&#;`. The fact a newcomer would get
wrong: a word that holds such a sequence itself, as text escaped for Moses does, must not come back changed,
so its `&` is escaped too: `&#124;` is written `&#38;#124;`. All other words stay as they are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from scfg_sampler.core.arrays.vocabulary import split_words
from scfg_sampler.core.numerals import real_number
from scfg_sampler.core.wording import counted, legible
from scfg_sampler.errors import RuleTableError

__all__ = [
    "NO_EMPTY_SIDE",
    "Rule",
    "RuleProblem",
    "as_labels",
    "coded_character",
    "escape",
    "escape_label",
    "format_rule",
    "guards",
    "label_texts",
    "parse_alignment",
    "parse_left",
    "parse_number",
    "parse_rule",
    "parse_source",
    "parse_target",
    "require",
    "signature",
    "split_fields",
    "unescape",
]

_BREAKING = r"[\s\x00-\x1f\x7f-\x9f\ud800-\udfff]"
_GUARDED = rf"(?:{_BREAKING}|\ufeff)"  # A byte order mark where it begins a file.
# Words that mean something to a language model, what cdec takes for a command where a sentence begins, and
# `*EPS*`, which it takes for no word (decoder/bottom_up_parser.cc).
_TAKEN = r"\A<(?=/?s>\Z|UNK>\Z|seg|Seg|SEG)|<(?=/seg>)|\A\((?=\(\(')|\A\{(?=\"rules\":)|\A\*(?=EPS\*\Z)"
_SPECIAL = re.compile(rf"{_BREAKING}|[\[\]|]|&(?=#[0-9]{{0,7}};)|{_TAKEN}|\A\Z")
_ESCAPE = re.compile(r"&#([0-9]{0,7});")
_GAP = re.compile(r"\[(?:([^\[\],]+),)?([1-9][0-9]{0,2})\]")
_LEFT = re.compile(r"\[([^\[\],]+)\]")
_LINK = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
_TOO_LARGE = 2.0**128 - 2.0**103  # From here on float32 rounds to infinity.
_CODES = "Brackets in words are written &#91; and &#93;"
_HINT = "Expected [X] ||| source ||| target ||| Name=value … ||| alignment"
NO_EMPTY_SIDE = "A rule has symbols on both sides; take those out that only insert or delete words"


class Rule(NamedTuple):
    """One rule as text; symbols are words (unescaped) or, for nonterminal k, the integer −1−k.

    labels : of the left-hand side, then of the nonterminals in source order; () if all are X
    """

    source: tuple[str | int, ...]
    target: tuple[str | int, ...]
    features: dict[str, float]
    alignment: tuple[tuple[int, int], ...] = ()
    labels: tuple[str, ...] = ()


def escape(word: str) -> str:
    """The word as it is written in a rule table.

    >>> escape("house"), escape("[X,1]"), escape("a\\u00a0b"), escape("&#91;")
    ('house', '&#91;X,1&#93;', 'a&#160;b', '&#38;#91;')
    """
    return _SPECIAL.sub(_code, word)


def escape_label(label: str) -> str:
    """The label of a nonterminal as it is written; `unescape` reads it.

    In cdec, features go on in the next line, up to an equals sign before the first blank.

    >>> escape_label("NP"), escape_label(","), escape_label("-["), escape_label("NP=2")
    ('NP', '&#44;', '-&#91;', 'NP&#61;2')
    """
    return escape(label).replace(",", "&#44;").replace("=", "&#61;")


def unescape(text: str) -> str:
    """The word that is written so; the inverse of `escape`."""
    return _ESCAPE.sub(_character, text) if "&#" in text else text


def coded_character(digits: str) -> str | None:
    """The character of a code point; None if there is none, as of halves of characters (U+D800 to U+DFFF).

    >>> coded_character("91"), coded_character("55296"), coded_character("1114112")
    ('[', None, None)
    """
    code = int(digits)
    return None if 0xD800 <= code <= 0xDFFF or code > 0x10FFFF else chr(code)


def guards(taken: str = "") -> tuple[Callable[[str], str], Callable[[str], str]]:
    """A function that writes only what would break a line of words as `&#N;`, and its inverse.

    For text that is to stay as it is: white space, control characters, byte order marks and the empty word
    are written so, the first letter of the word `taken`, and the `&` of what looks like one of these codes,
    but of no other.

    >>> escape_little, unescape_little = guards("NULL")
    >>> escape_little("&#91;a\u00a0b"), escape_little("NULL"), escape_little("&#160;")
    ('&#91;a&#160;b', '&#78;ULL', '&#38;#160;')
    """
    first = rf"\A{re.escape(taken[0])}(?={re.escape(taken[1:])}\Z)" if taken else r"(?!)"
    special = re.compile(rf"{_GUARDED}|\A\Z|{first}|&(?=#([0-9]{{0,7}});)")

    def meaning(digits: str) -> str | None:
        """The character of a code if it is one of those written so."""
        if not digits:
            return ""
        character = coded_character(digits)
        if character is None or str(int(digits)) != digits:
            return None
        return character if character in ("&", taken[:1]) or re.fullmatch(_GUARDED, character) else None

    def spell(match: re.Match[str]) -> str:
        stays = match[0] == "&" and meaning(match[1]) is None
        return match[0] if stays else _code(match)

    def read(match: re.Match[str]) -> str:
        character = meaning(match[1])
        return match[0] if character is None else character

    return lambda word: special.sub(spell, word), lambda text: _ESCAPE.sub(read, text)


def format_rule(rule: Rule) -> str:
    """The rule's line, without a line end."""
    left, gap = label_texts(rule)
    sides = (
        " ".join(escape(symbol) if isinstance(symbol, str) else gap(symbol) for symbol in side)
        for side in (rule.source, rule.target)
    )
    features = " ".join(f"{name}={value:.7g}" for name, value in rule.features.items())
    fields = [f"[{left}]", *sides, features, " ".join(f"{i}-{j}" for i, j in rule.alignment)]
    return " ||| ".join(fields if rule.alignment else fields[:-1])


def label_texts(rule: Rule) -> tuple[str, Callable[[int], str]]:
    """The label of a rule's left-hand side as it is spelled, and a function that spells nonterminal −1−k."""
    if not rule.labels:
        return "X", lambda symbol: f"[X,{-symbol}]"
    left, *gaps = map(escape_label, rule.labels)
    return left, lambda symbol: f"[{gaps[-1 - symbol]},{-symbol}]"


def parse_rule(line: str, path: object = None, number: int | None = None, *, labels: bool = False) -> Rule:
    """The rule of a line.

    Links at nonterminals are dropped, as their pairing is known from their numbers.

    labels : whether there may be nonterminals other than X

    Raises
    ------
    RuleTableError
        Names `path`, line `number`, and what is wrong.
    """

    try:
        return _parse(line, labels)
    except RuleProblem as problem:
        raise RuleTableError(path, number, *problem.args) from None


class RuleProblem(Exception):
    """What is wrong with a line, and a hint."""


def require(condition: object, found: str, hint: str = _HINT) -> None:
    """Raise a RuleProblem unless the condition holds."""
    if not condition:
        raise RuleProblem(found, hint)


def split_fields(line: str) -> list[list[str]]:
    """The tokens of a line in the fields that `|||` separates."""
    fields: list[list[str]] = [[]]
    for token in split_words(line):
        if token == "|||":
            fields.append([])
        else:
            fields[-1].append(token)
    return fields


def signature(settings: Iterable[tuple[str, object]]) -> str:
    """What reproduces a table, on one line: `scfg-sampler VERSION|name:value|…`."""
    from scfg_sampler import __version__

    parts = [f"{name}:{value}" for name, value in settings]
    return legible(" ".join("|".join([f"scfg-sampler {__version__}", *parts]).split()))


def _parse(line: str, keeps_labels: bool) -> Rule:
    fields = split_fields(line)
    require(4 <= len(fields) <= 5, f"has {counted(len(fields), 'field')} instead of 4 or 5")
    left = parse_left(fields[0], "Only rules for X can be used here", keeps_labels)
    source, order, gaps = parse_source(fields[1], keeps_labels=keeps_labels)
    target = parse_target(fields[2], order)
    alignment = parse_alignment(fields[4], source, target) if len(fields) == 5 else ()
    return Rule(source, target, _features(fields[3]), alignment, as_labels(left, gaps))


def parse_left(tokens: list[str], hint: str = _HINT, keeps_labels: bool = True) -> str:
    """The label of a left-hand side; only X unless `keeps_labels`."""
    text = " ".join(tokens)
    match = _LEFT.fullmatch(text) if len(tokens) == 1 else None
    found = f"left-hand side is {text!r} instead of [X]"
    if match is None or (not keeps_labels and match[1] != "X"):
        raise RuleProblem(found, hint)
    return match[1]


def as_labels(left: str, gaps: Iterable[str]) -> tuple[str, ...]:
    """What `Rule.labels` is, of labels as they are spelled."""
    labels = tuple(map(unescape, (left, *gaps)))
    return labels if any(label != "X" for label in labels) else ()


def parse_alignment(tokens: list[str], source: tuple, target: tuple) -> tuple[tuple[int, int], ...]:
    """The links between words among `i-j` tokens, sorted; positions count nonterminals."""
    links = set()
    for token in tokens:
        match = _LINK.fullmatch(token)
        i, j = (int(match[1]), int(match[2])) if match else (-1, -1)
        require(match, f"{token!r} is not a link such as 0-0")
        require(i < len(source) and j < len(target), f"link {token} points past the end of the rule")
        if isinstance(source[i], str) and isinstance(target[j], str):
            links.add((i, j))
    return tuple(sorted(links))


def parse_number(text: str) -> float:
    """A decimal number; nan if it is none."""
    try:
        return real_number(text)
    except ValueError:
        return math.nan


def parse_source(
    tokens: list[str], spelled: Callable[[str], str] = unescape, *, keeps_labels: bool = False
) -> tuple[tuple[str | int, ...], dict[int, tuple[int, str]], list[str]]:
    """The source side, which nonterminal each number in brackets names and its label, and all labels.

    Parameters
    ----------
    tokens : words as `spelled` reads them, and nonterminals `[X,n]`
    keeps_labels : whether there may be other labels than X
    """
    order: dict[int, tuple[int, str]] = {}
    symbols: list[str | int] = []
    for token in tokens:
        if not _is_bracketed(token):
            symbols.append(spelled(token))
            continue
        label, number = _gap(token)
        require(
            label == "X" or (label and keeps_labels), f"{token!r} is not a nonterminal such as [X,1]", _CODES
        )
        require(number not in order, f"{token} occurs twice on the source side", "Number them 1, 2, …")
        order[number] = len(order), label
        symbols.append(-len(order))
    require(symbols, "the source side is empty", NO_EMPTY_SIDE)
    return tuple(symbols), order, [label for _, label in order.values()]


def parse_target(
    tokens: list[str], order: dict[int, tuple[int, str]], spelled: Callable[[str], str] = unescape
) -> tuple[str | int, ...]:
    """The target side, its nonterminals `[X,n]` or `[n]` named as `order` says."""
    symbols: list[str | int] = []
    for token in tokens:
        if not _is_bracketed(token):
            symbols.append(spelled(token))
            continue
        label, number = _gap(token)
        require(number in order, f"{token} is on the target side but not on the source side")
        gap, same = order[number]
        require(
            label in ("", same), f"{token} is on the target side but [{same},{number}] on the source side"
        )
        require(-1 - gap not in symbols, f"{token} occurs twice on the target side")
        symbols.append(-1 - gap)
    require(symbols, "the target side is empty", NO_EMPTY_SIDE)
    for number, (gap, label) in order.items():
        require(-1 - gap in symbols, f"[{label},{number}] is on the source side but not on the target side")
    return tuple(symbols)


def _gap(token: str) -> tuple[str, int]:
    """Label and number of a nonterminal as they are spelled; the label is "" if it has only a number."""
    match = _GAP.fullmatch(token)
    if match is None:
        raise RuleProblem(f"{token!r} is not a nonterminal such as [X,1]", _CODES)
    return match[1] or "", int(match[2])


def _features(tokens: list[str]) -> dict[str, float]:
    features: dict[str, float] = {}
    for token in tokens:
        name, equals, text = token.rpartition("=")
        require(name and equals, f"feature {token!r} has no name", "Expected Name=value")
        value = parse_number(text)
        require(abs(value) < _TOO_LARGE, f"feature {token!r} is not a finite number")
        require(name not in features, f"feature {name} is given twice")
        features[name] = value
    return features


def _code(match: re.Match[str]) -> str:
    return f"&#{ord(match[0])};" if match[0] else "&#;"


def _character(match: re.Match[str]) -> str:
    character = coded_character(match[1]) if match[1] else ""
    return match[0] if character is None else character


def _is_bracketed(token: str) -> bool:
    return len(token) > 2 and token[0] == "[" and token[-1] == "]"
