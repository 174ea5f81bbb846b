"""Grammars as text, in NLTK's format and in Mark Johnson's.

NLTK: one rule a line, alternatives after a bar, terminals in quotes, probabilities in brackets, `#` begins a
comment:

    S -> S S [0.4] | 'a' [0.6]

The start symbol is the first on the left, or that of a line `%start S`. Johnson: `weight pseudo-count parent
--> children`, where the pseudo-count, or both, may be left out and count as 1; the first parent is the start
symbol.

    0.4 1 S --> S S
    0.6 1 S --> a

The fact a newcomer would get wrong: in Johnson's format a terminal is whatever is never a parent; nothing
marks it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from monolingual.pcfg.encoded_text import read_encoded_lines
from monolingual.pcfg.grammar import (
    Grammar,
    WeightedGrammar,
    build_grammar,
    families,
    heads,
    nonterminal,
    num_rules,
    quoted,
    rule_name,
    rule_symbols,
    weight_sums,
)
from monolingual.priors.multinomials import normalise
from scfg_sampler.core.files import PathLike, atomic_output
from scfg_sampler.core.numerals import real_number
from scfg_sampler.errors import InputError, SettingsError

__all__ = ["FORMATS", "format_rules", "grammar_of_names", "probabilities", "read_grammar", "write_grammar"]

FORMATS = ("nltk", "johnson")

_TOKEN = re.compile(r"""\s*("[^"]*"|'[^']*'|\[[^\]]*\]|\||[^\s|"'\[\]]+)""")
_START = re.compile(r"%\s*start\b(.*)")
_FEATURES = re.compile(r"[^\s\[\]'\"|]+\[(?:[^\]\s]*=|[+-])")  # As in NP[NUM=sg].
_SUM_TOLERANCE = 1e-4


class _Line(NamedTuple):
    """One rule as written."""

    number: int
    parent: str
    children: list[tuple[str, bool]]
    weight: float | None
    pseudo_count: float | None


def read_grammar(path: PathLike, *, empty: bool = False, encoding: str = "utf-8") -> WeightedGrammar:
    """The grammar in a file, in either format, gzipped or not; "-" is standard input.

    With `empty` a right-hand side may be empty: only `empty_rules` can do with such a grammar.

    Raises
    ------
    InputError
        Names the line of an empty production, a rule that stands twice, a weight that is not a number or
        negative, or anything else that is not a rule; or says that only some rules have weights.
    """
    style, start, lines = _parse(path, empty, encoding)
    if not lines:
        raise InputError(path, None, "holds no rule", "Write one rule a line, as in S -> S S [0.4]")
    seen: dict[tuple, int] = {}
    for line in lines:
        key = (line.parent, tuple(line.children))
        if key in seen:
            found = f"{_spell(line)} stands here again, first on line {seen[key]}"
            raise InputError(path, line.number, found, "Write each rule once")
        seen[key] = line.number
    parents = {line.parent for line in lines}
    start = start or lines[0].parent
    if start not in parents:
        raise InputError(path, None, f"the start symbol {start} has no rule", "Give it one")
    if style == "nltk":
        _refuse_some_without_weight(path, lines)
    grammar, place = build_grammar(start, [(line.parent, line.children) for line in lines])
    return WeightedGrammar(
        grammar,
        _column([line.weight for line in lines], place),
        _column([line.pseudo_count for line in lines], place),
    )


def grammar_of_names(names: Sequence[str]) -> Grammar:
    """The grammar of rules as `rule_name` spells them, in their order; the first parent is the start symbol.

    Parameters
    ----------
    names : sequence of str
        The rules of each nonterminal together.

    Raises
    ------
    InputError
        A name cannot be read back: a terminal has quotes of both kinds.

    >>> [rule_name(grammar_of_names(["S -> S S", "S -> 'a'"]), rule) for rule in range(2)]
    ['S -> S S', "S -> 'a'"]
    """
    lines = [
        line
        for number, name in enumerate(names, start=1)
        for line in _nltk_line("rules", number, name, False)
    ]
    grammar, _ = build_grammar(lines[0].parent, [(line.parent, line.children) for line in lines])
    if [rule_name(grammar, rule) for rule in range(num_rules(grammar))] != list(names):
        raise InputError("rules", None, "cannot be read back as they are", "Use other names for terminals")
    return grammar


def probabilities(path: PathLike, weighted: WeightedGrammar, *, normalised: bool = False) -> np.ndarray:
    """The probabilities of the rules: their weights; if there are none, uniform.

    Parameters
    ----------
    path : path
        Named in errors.
    weighted : WeightedGrammar
    normalised : bool
        Divide by the sum whatever it is. Otherwise the weights must sum to 1 up to 1e-4; what rounding to a
        few digits has left is divided out all the same.

    Raises
    ------
    InputError
        The weights of a nonterminal do not sum to 1; names it.
    """
    grammar, weights, _ = weighted
    groups = families(grammar)
    if weights is None:
        return normalise(groups, np.ones(num_rules(grammar)))
    sums = weight_sums(grammar, weights)
    wrong = np.flatnonzero(sums <= 0.0) if normalised else np.flatnonzero(np.abs(sums - 1.0) > _SUM_TOLERANCE)
    if len(wrong):
        found = f"the weights of the rules of {grammar.nonterminals[wrong[0]]} sum to {sums[wrong[0]]:.6g}"
        hint = (
            "One must be positive" if normalised else "Probabilities sum to 1; --normalise divides by the sum"
        )
        raise InputError(path, None, found, hint)
    if not normalised and np.all(np.abs(sums - 1.0) < 1e-15):
        return weights
    return normalise(groups, weights)


def format_rules(
    grammar: Grammar, weights: np.ndarray | None = None, *, style: str = "nltk", pseudo_counts=None
) -> Iterator[str]:
    """The lines of a grammar's text, without line ends.

    Parameters
    ----------
    grammar : Grammar
    weights : float64, shape (R,), optional
    style : "nltk" or "johnson"
    pseudo_counts : float64, shape (R,), optional
        Written in Johnson's format only, whose weights are then 1 if not given.

    Raises
    ------
    SettingsError
        The format cannot hold a name of the grammar.
    """
    if style not in FORMATS:
        raise SettingsError(f"grammar format is {style!r}; choose one of {', '.join(FORMATS)}")
    _refuse_names(grammar, style)
    lhs = heads(grammar)
    for rule in range(num_rules(grammar)):
        if style == "nltk":
            weight = "" if weights is None else f" [{float(weights[rule])!r}]"
            yield rule_name(grammar, rule) + weight
            continue
        numbers = [float(column[rule]) for column in (weights, pseudo_counts) if column is not None]
        if weights is None and pseudo_counts is not None:
            numbers.insert(0, 1.0)
        names = [
            grammar.terminals[s] if s >= 0 else grammar.nonterminals[nonterminal(s)]
            for s in rule_symbols(grammar, rule)
        ]
        yield " ".join([*map(repr, numbers), grammar.nonterminals[lhs[rule]], "-->", *names])


def write_grammar(
    path: PathLike, grammar: Grammar, weights=None, *, style: str = "nltk", pseudo_counts=None
) -> None:
    """Write a grammar; the parameters are those of `format_rules`. "-" is standard output."""
    lines = list(format_rules(grammar, weights, style=style, pseudo_counts=pseudo_counts))
    with atomic_output(path) as stream:
        stream.writelines(f"{line}\n" for line in lines)


def _parse(path: PathLike, empty: bool, encoding: str) -> tuple[str, str | None, list[_Line]]:
    """Format, start symbol if one is named, and rules."""
    start: str | None = None
    lines: list[_Line] = []
    style = ""
    for number, text in enumerate(read_encoded_lines(path, encoding), start=1):
        content = text.strip()
        if not content or content.startswith("#"):
            continue
        if named := _START.match(content):
            start = named[1].strip()
            continue
        found = "johnson" if "-->" in content.split() else "nltk" if "->" in content else ""
        if found != "johnson" and (features := _FEATURES.search(content)):
            text = f"a rule of a feature grammar: {features[0]} … is a nonterminal with features"
            raise InputError(path, number, text, "Only plain context-free grammars are read")
        if not found or (style and found != style):
            hint = "A rule is S -> S S [0.4], or 0.4 S --> S S; one file has one format"
            raise InputError(path, number, f"not a rule: {content[:60]!r}", hint)
        style = found
        lines.extend((_johnson_line if style == "johnson" else _nltk_line)(path, number, content, empty))
    if style == "johnson":
        parents = {line.parent for line in lines}
        lines = [
            line._replace(children=[(name, name not in parents) for name, _ in line.children])
            for line in lines
        ]
    return style, start, lines


def _nltk_line(path: PathLike, number: int, content: str, empty: bool) -> Iterator[_Line]:
    parent, _, right = (part.strip() for part in content.partition("->"))
    if not parent or re.search(r"[\s'\"\[\]|]", parent):
        raise InputError(path, number, f"{parent!r} is not one nonterminal", "Write one symbol left of ->")
    tokens = _tokens(path, number, right)
    alternatives: list[list[str]] = [[]]
    for token in tokens:
        if token == "|":
            alternatives.append([])
        else:
            alternatives[-1].append(token)
    for parts in alternatives:
        weight = None
        if parts and parts[-1].startswith("["):
            weight = _number(path, number, parts.pop()[1:-1], "weight")
        if any(part.startswith("[") for part in parts):
            raise InputError(path, number, "a weight stands before the end of a rule", "Put it last")
        children = [(part[1:-1], True) if part[0] in "'\"" else (part, False) for part in parts]
        children = _without_nothing(path, number, parent, children, empty)
        yield _Line(number, parent, children, weight, None)


def _tokens(path: PathLike, number: int, text: str) -> list[str]:
    tokens, at = [], 0
    while text[at:].strip() and not text[at:].lstrip().startswith("#"):
        found = _TOKEN.match(text, at)
        if found is None:
            raise InputError(
                path, number, f"cannot be read from {text[at:].strip()[:20]!r} on", "Close quotes"
            )
        tokens.append(found[1])
        at = found.end()
    return tokens


def _johnson_line(path: PathLike, number: int, content: str, empty: bool) -> Iterator[_Line]:
    words = content.split()
    at = words.index("-->")
    left, children = words[:at], [(word, False) for word in words[at + 1 :]]
    if not 1 <= len(left) <= 3:
        found = f"{len(left)} fields before -->"
        raise InputError(path, number, found, "Write weight, pseudo-count and parent, or fewer of them")
    names = ("weight", "pseudo-count")
    numbers = [_number(path, number, *pair) for pair in zip(left[:-1], names, strict=False)]
    children = _without_nothing(path, number, left[-1], children, empty)
    weight = numbers[0] if numbers else None
    yield _Line(number, left[-1], children, weight, numbers[1] if len(numbers) > 1 else None)


def _without_nothing(path: PathLike, number: int, parent: str, children: list, empty: bool) -> list:
    """The children but empty terminals; without any only if `empty`."""
    kept = [child for child in children if child != ("", True)]
    if not empty and (not kept or len(kept) < len(children)):
        found = f"an empty production of {parent}"
        raise InputError(path, number, found, "'pcfg remove-empty' takes such out of a grammar, exactly")
    return kept


def _number(path: PathLike, number: int, text: str, name: str) -> float:
    try:
        value = real_number(text)
    except ValueError:
        raise InputError(path, number, f"the {name} {text!r} is not a number", "Write it as 0.4") from None
    if not (math.isfinite(value) and (value > 0.0 or (value == 0.0 and name == "weight"))):
        raise InputError(path, number, f"the {name} is {text}", "It must be positive and finite")
    return value


def _refuse_some_without_weight(path: PathLike, lines: Iterable[_Line]) -> None:
    if {line.weight is not None for line in lines} == {True, False}:
        line = next(line for line in lines if line.weight is None)
        found = f"{_spell(line)} has no weight, others have"
        raise InputError(path, line.number, found, "Give weights to all rules or to none")


def _column(values: list[float | None], place: np.ndarray) -> np.ndarray | None:
    """Numbers in the order of the grammar's rules, 1 where some are missing; None when all are."""
    if all(value is None for value in values):
        return None
    column = np.empty(len(values))
    column[place] = [1.0 if value is None else value for value in values]
    return column


def _spell(line: _Line) -> str:
    return " ".join([line.parent, "->", *(quoted(n) if terminal else n for n, terminal in line.children)])


def _refuse_names(grammar: Grammar, style: str) -> None:
    for name in grammar.nonterminals:
        if style == "nltk" and re.search(r"[\s'\"\[\]|]", name):
            raise SettingsError(f"NLTK's format cannot hold the nonterminal {name}; write Johnson's")
    for name in grammar.terminals:
        if style == "nltk" and "'" in name and '"' in name:
            raise SettingsError(f"NLTK's format cannot hold the terminal {name}; write Johnson's")
        if style == "johnson" and (name in grammar.nonterminals or re.search(r"\s", name) or name == "-->"):
            raise SettingsError(f"Johnson's format cannot hold the terminal {name}; write NLTK's")
    if style == "johnson" and np.any(np.diff(grammar.rule_start) == 0):
        name = grammar.nonterminals[int(np.flatnonzero(np.diff(grammar.rule_start) == 0)[0])]
        raise SettingsError(f"Johnson's format cannot hold {name}, a nonterminal without rules; write NLTK's")
