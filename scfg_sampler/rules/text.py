"""How a rule is spelled in the native text format, and how words that look like something else are escaped.

A line is ``[X] ||| source ||| target ||| Name=value … ||| i-j …``; the alignment may be missing. Source
nonterminals are written `[X,1]`, `[X,2]`, … in source order, and the target names them by these numbers.

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
from scfg_sampler.errors import RuleTableError

__all__ = [
    "Rule",
    "RuleProblem",
    "escape",
    "format_rule",
    "guards",
    "parse_alignment",
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
_SPECIAL = re.compile(rf"{_BREAKING}|[\[\]|]|&(?=#[0-9]{{0,7}};)|\A<(?=/?s>\Z)|\A\Z")
_ESCAPE = re.compile(r"&#([0-9]{0,7});")
_LABEL = re.compile(r"\[X,([1-9][0-9]{0,2})\]")
_TARGET_LABEL = re.compile(r"\[(?:X,)?([1-9][0-9]{0,2})\]")
_LINK = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
_TOO_LARGE = 2.0**128 - 2.0**103  # From here on float32 rounds to infinity.
_HINT = "Expected [X] ||| source ||| target ||| Name=value … ||| alignment"


class Rule(NamedTuple):
    """One rule as text; symbols are words (unescaped) or, for nonterminal k, the integer −1−k."""

    source: tuple[str | int, ...]
    target: tuple[str | int, ...]
    features: dict[str, float]
    alignment: tuple[tuple[int, int], ...] = ()


def escape(word: str) -> str:
    """The word as it is written in a rule table.

    >>> escape("house"), escape("[X,1]"), escape("a\\u00a0b"), escape("&#91;")
    ('house', '&#91;X,1&#93;', 'a&#160;b', '&#38;#91;')
    """
    return _SPECIAL.sub(_code, word)


def unescape(text: str) -> str:
    """The word that is written so; the inverse of `escape`."""
    return _ESCAPE.sub(_character, text) if "&#" in text else text


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
        if str(int(digits)) != digits or int(digits) > 0x10FFFF:
            return None
        character = chr(int(digits))
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
    sides = (" ".join(_spell(symbol) for symbol in side) for side in (rule.source, rule.target))
    features = " ".join(f"{name}={value:.7g}" for name, value in rule.features.items())
    fields = ["[X]", *sides, features, " ".join(f"{i}-{j}" for i, j in rule.alignment)]
    return " ||| ".join(fields if rule.alignment else fields[:-1])


def parse_rule(line: str, path: object = None, number: int | None = None) -> Rule:
    """The rule of a line.

    Links at nonterminals are dropped, as their pairing is known from their numbers.

    Raises
    ------
    RuleTableError
        Names `path`, line `number`, and what is wrong.
    """

    try:
        return _parse(line)
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
    return " ".join("|".join([f"scfg-sampler {__version__}", *parts]).split())


def _parse(line: str) -> Rule:
    fields = split_fields(line)
    require(4 <= len(fields) <= 5, f"has {len(fields)} fields instead of 4 or 5")
    lhs = " ".join(fields[0])
    require(lhs == "[X]", f"left-hand side is {lhs!r} instead of [X]", "Only rules for X can be used")
    source, order = parse_source(fields[1])
    target = parse_target(fields[2], order)
    alignment = parse_alignment(fields[4], source, target) if len(fields) == 5 else ()
    return Rule(source, target, _features(fields[3]), alignment)


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
    tokens: list[str], spelled: Callable[[str], str] = unescape
) -> tuple[tuple[str | int, ...], dict[int, int]]:
    """The source side, and which nonterminal each number in brackets names.

    tokens : words as `spelled` reads them, and nonterminals `[X,n]`
    """
    order: dict[int, int] = {}
    symbols: list[str | int] = []
    for token in tokens:
        if not _is_bracketed(token):
            symbols.append(spelled(token))
            continue
        label = _label(_LABEL.fullmatch(token), token)
        require(label not in order, f"{token} occurs twice on the source side", "Number them 1, 2, …")
        order[label] = len(order)
        symbols.append(-1 - order[label])
    require(symbols, "the source side is empty")
    return tuple(symbols), order


def parse_target(
    tokens: list[str], order: dict[int, int], spelled: Callable[[str], str] = unescape
) -> tuple[str | int, ...]:
    """The target side, its nonterminals `[X,n]` or `[n]` named as `order` says."""
    symbols: list[str | int] = []
    for token in tokens:
        if not _is_bracketed(token):
            symbols.append(spelled(token))
            continue
        label = _label(_TARGET_LABEL.fullmatch(token), token)
        require(label in order, f"{token} is on the target side but not on the source side")
        require(-1 - order[label] not in symbols, f"{token} occurs twice on the target side")
        symbols.append(-1 - order[label])
    require(symbols, "the target side is empty")
    for label, k in order.items():
        require(-1 - k in symbols, f"[X,{label}] is on the source side but not on the target side")
    return tuple(symbols)


def _label(match: re.Match[str] | None, token: str) -> int:
    if match is None:
        hint = "Brackets in words are written &#91; and &#93;"
        raise RuleProblem(f"{token!r} is not a nonterminal such as [X,1]", hint)
    return int(match[1])


def _features(tokens: list[str]) -> dict[str, float]:
    features: dict[str, float] = {}
    for token in tokens:
        name, equals, text = token.partition("=")
        require(name and equals, f"feature {token!r} has no name", "Expected Name=value")
        value = parse_number(text)
        require(abs(value) < _TOO_LARGE, f"feature {token!r} is not a finite number")
        require(name not in features, f"feature {name} is given twice")
        features[name] = value
    return features


def _code(match: re.Match[str]) -> str:
    return f"&#{ord(match[0])};" if match[0] else "&#;"


def _character(match: re.Match[str]) -> str:
    if not match[1]:
        return ""
    code = int(match[1])
    return chr(code) if code <= 0x10FFFF else match[0]


def _spell(symbol: str | int) -> str:
    return escape(symbol) if isinstance(symbol, str) else f"[X,{-symbol}]"


def _is_bracketed(token: str) -> bool:
    return len(token) > 2 and token[0] == "[" and token[-1] == "]"
