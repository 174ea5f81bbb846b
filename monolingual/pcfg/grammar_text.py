"""Grammars as text, in NLTK's format and in Mark Johnson's.

NLTK: one rule a line, alternatives after a bar, terminals in quotes, probabilities in brackets, `#` begins a
comment, a backslash at the end of a line has the next one go on with it:

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
import urllib.parse
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from monolingual.pcfg.encoded_text import read_encoded_lines
from monolingual.pcfg.grammar import (
    Grammar,
    RuleList,
    WeightedGrammar,
    build_grammar,
    families,
    heads,
    nonterminal,
    num_rules,
    rule_name,
    rule_symbols,
    weight_sums,
)
from monolingual.priors.multinomials import normalise
from scfg_sampler.core.files import PathLike, atomic_output
from scfg_sampler.core.numerals import real_number
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import InputError, SettingsError

__all__ = [
    "FORMATS",
    "can_hold",
    "format_rules",
    "grammar_of_names",
    "meant",
    "probabilities",
    "read_grammar",
    "refuse_names",
    "spellable",
    "write_grammar",
]

FORMATS = ("nltk", "johnson")

_TOKEN = re.compile(r"""("[^"]*"|'[^']*'|\[[^\]]*\]|\||[^\s|"'\[\]]+)\s*""")
_START = re.compile(r"%\s*start\b(.*)")
_FEATURES = re.compile(r"[^\s\[\]'\"|]+\[(?:[^\]\s]*=|[+-])")  # As in NP[NUM=sg].
_QUOTED_OR_COMMENT = re.compile(r"""'[^']*'?|"[^"]*"?|(?:(?<=->)|(?<![^\s|"'\[\]]))#.*""")
_NOT_NLTK = re.compile(r"[\s'\"\[\]|]|^#|(?<=-)>|\\$|^%(?=start\b)")
"""In a nonterminal: what parts or quotes symbols, begins a comment, is the arrow, continues a line, or names
the start symbol."""
_ESCAPE = re.compile("%[0-9A-Fa-f]{2}")
_BLANKS = " \t\n\r\f\v"
_BLANK = re.compile(f"[{_BLANKS}]")
_SUM_TOLERANCE = 1e-4


class _Line(NamedTuple):
    """One rule as written; NaN for a number that is not there."""

    number: int
    parent: str
    children: list[tuple[str, bool]]
    weight: float = math.nan
    pseudo_count: float = math.nan


class _Lines(NamedTuple):
    """All rules of a file, their lines and numbers in flat arrays; and the start symbol if one is named."""

    style: str
    start: str | None
    rules: RuleList
    numbers: array[int]
    weights: array[float]
    pseudo_counts: array[float]


def read_grammar(path: PathLike, *, empty: bool = False, encoding: str = "utf-8") -> WeightedGrammar:
    """The grammar in a file, in either format, gzipped or not; "-" is standard input.

    With `empty` a right-hand side may be empty: only `empty_rules` can do with such a grammar.

    Raises
    ------
    InputError
        Names the line of an empty production, a rule that stands twice, a weight that is not a number or
        negative, or anything else that is not a rule; or says that only some rules have weights.
    """
    found = _parse(path, empty, encoding)
    rules = found.rules
    if not len(rules):
        raise InputError(path, None, "holds no rule", "Write one rule a line, as in S -> S S [0.4]")
    if (again := rules.first_repetition()) is not None:
        one, first = again
        text = f"{rules.spelled(one)} stands here again, first on line {found.numbers[first]}"
        raise InputError(path, found.numbers[one], text, "Write each rule once")
    start = found.start or rules.names[0]
    if not rules.has_parent(start):
        raise InputError(path, None, f"the start symbol {start} has no rule", "Give it one")
    weights, pseudo_counts = (np.frombuffer(column) for column in (found.weights, found.pseudo_counts))
    if found.style == "nltk":
        _refuse_some_without_weight(path, found, weights)
    grammar, place = rules.grammar(start)
    return WeightedGrammar(grammar, _column(weights, place), _column(pseudo_counts, place))


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
    with np.errstate(over="ignore"):
        sums = weight_sums(grammar, weights)
    is_wrong = (sums <= 0.0) | ~np.isfinite(sums) if normalised else np.abs(sums - 1.0) > _SUM_TOLERANCE
    for number in np.flatnonzero(is_wrong)[:1]:
        found = f"the weights of the rules of {grammar.nonterminals[number]} sum to {sums[number]:.6g}"
        hint = "Probabilities sum to 1; --normalise divides by the sum"
        if not np.isfinite(sums[number]):
            hint = "Write smaller ones, in the same proportions"
        elif normalised:
            hint = "One must be positive"
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
    refuse_names(grammar, style, numbered=weights is not None or pseudo_counts is not None)
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


def can_hold(grammar: Grammar, style: str) -> bool:
    """Whether a format, "nltk" or "johnson", can hold the names of a grammar."""
    try:
        refuse_names(grammar, style)
    except SettingsError:
        return False
    return True


def write_grammar(
    path: PathLike, grammar: Grammar, weights=None, *, style: str = "nltk", pseudo_counts=None
) -> None:
    """Write a grammar; the parameters are those of `format_rules`. "-" is standard output."""
    lines = list(format_rules(grammar, weights, style=style, pseudo_counts=pseudo_counts))
    with atomic_output(path) as stream:
        stream.writelines(f"{line}\n" for line in lines)


def _parse(path: PathLike, empty: bool, encoding: str) -> _Lines:
    """The rules of a file of either format."""
    start: str | None = None
    rules, numbers, weights, pseudo_counts = RuleList(), array("q"), array("d"), array("d")
    style = ""
    for number, content in _whole_lines(read_encoded_lines(path, encoding)):
        if not content or content.startswith("#"):
            continue
        if named := _START.match(content):
            start = named[1].strip()
            continue
        style = _style_of(path, number, content, style)
        for line in (_johnson_line if style == "johnson" else _nltk_line)(path, number, content, empty):
            rules.add(line.parent, line.children)
            numbers.append(line.number)
            weights.append(line.weight)
            pseudo_counts.append(line.pseudo_count)
    rules.close()
    if style == "johnson":
        rules.let_others_be_terminals()
    return _Lines(style, start, rules, numbers, weights, pseudo_counts)


def _whole_lines(texts: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Lines with those that go on with them, and the number of the first of them."""
    begun, first = "", 0
    for number, text in enumerate(texts, start=1):
        content, first = begun + text.strip(_BLANKS), first if begun else number
        begun = ""
        if content.endswith("\\") and not content.startswith("#") and "-->" not in _fields(content):
            begun = content[:-1].rstrip(_BLANKS) + " "
        else:
            yield first, content
    if begun:
        yield first, begun.rstrip(_BLANKS)


def _fields(content: str) -> list[str]:
    """What blanks of ASCII part, as in the programs of Johnson's format: a no-break space is a letter."""
    return re.findall(rf"[^{_BLANKS}]+", content)


def _style_of(path: PathLike, number: int, content: str, before: str) -> str:
    """The format of a line, which must be that of the lines before, if there are any."""
    found = "johnson" if "-->" in _fields(content) else "nltk" if "->" in content else ""
    if found != "johnson" and (features := _FEATURES.search(_QUOTED_OR_COMMENT.sub(" ", content))):
        text = f"a rule of a feature grammar: {features[0]} … is a nonterminal with features"
        raise InputError(path, number, text, "Only plain context-free grammars are read")
    if not found or (before and found != before):
        hint = "A rule is S -> S S [0.4], or 0.4 S --> S S; one file has one format"
        raise InputError(path, number, f"not a rule: {content[:60]!r}", hint)
    return found


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
        weight = math.nan
        if parts and parts[-1].startswith("["):
            weight = _number(path, number, parts.pop()[1:-1], "weight")
        if any(part.startswith("[") for part in parts):
            raise InputError(path, number, "a weight stands before the end of a rule", "Put it last")
        children = [(part[1:-1], True) if part[0] in "'\"" else (part, False) for part in parts]
        children = _without_nothing(path, number, parent, children, empty)
        yield _Line(number, parent, children, weight)


def _tokens(path: PathLike, number: int, text: str) -> list[str]:
    tokens, at = [], 0  # What is left of the line is not copied for each token: lines may be long.
    while at < len(text) and text[at] != "#":
        found = _TOKEN.match(text, at)
        if found is None:
            raise InputError(
                path, number, f"cannot be read from {text[at:].strip()[:20]!r} on", "Close quotes"
            )
        tokens.append(found[1])
        at = found.end()
    return tokens


def _johnson_line(path: PathLike, number: int, content: str, empty: bool) -> Iterator[_Line]:
    words = _fields(content)
    at = words.index("-->")
    left, children = words[:at], [(word, False) for word in words[at + 1 :]]
    if not 1 <= len(left) <= 3:
        found = f"{counted(len(left), 'field')} before -->"
        raise InputError(path, number, found, "Write weight, pseudo-count and parent, or fewer of them")
    names = ("weight", "pseudo-count")
    numbers = [_number(path, number, *pair) for pair in zip(left[:-1], names, strict=False)]
    children = _without_nothing(path, number, left[-1], children, empty)
    yield _Line(number, left[-1], children, *numbers)


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
        least = "at least 0" if name == "weight" else "positive"
        raise InputError(path, number, f"the {name} is {text}", f"It must be {least} and finite")
    return value


def _refuse_some_without_weight(path: PathLike, found: _Lines, weights: np.ndarray) -> None:
    is_missing = np.isnan(weights)
    if is_missing.any() and not is_missing.all():
        rule = int(np.argmax(is_missing))
        text = f"{found.rules.spelled(rule)} has no weight, others have"
        raise InputError(path, found.numbers[rule], text, "Give weights to all rules or to none")


def _column(values: np.ndarray, place: np.ndarray) -> np.ndarray | None:
    """Numbers in the order of the grammar's rules, 1 where some are missing; None when all are."""
    is_missing = np.isnan(values)
    if is_missing.all():
        return None
    column = np.empty(len(values))
    column[place] = np.where(is_missing, 1.0, values)
    return column


def refuse_names(grammar: Grammar, style: str, *, numbered: bool = True) -> None:
    """Raise a SettingsError if the format cannot hold a name, with or without numbers before the rules."""
    for name in grammar.nonterminals:
        if style == "nltk" and _NOT_NLTK.search(name):
            raise SettingsError(f"NLTK's format cannot hold the nonterminal {name}; write Johnson's")
        if style == "johnson" and (name == "-->" or _BLANK.search(name)):
            raise SettingsError(f"Johnson's format cannot hold the nonterminal {name}; give it another name")
        if style == "johnson" and name.startswith("#") and not numbered:
            # The line would be a comment.
            found = f"Johnson's format cannot hold the nonterminal {name} where a line begins with it"
            raise SettingsError(f"{found}; give the rules weights")
    for name in grammar.terminals:
        if style == "nltk" and "'" in name and '"' in name:
            raise SettingsError(f"NLTK's format cannot hold the terminal {name}; write Johnson's")
        if style == "johnson" and (name in grammar.nonterminals or _BLANK.search(name) or name == "-->"):
            raise SettingsError(f"Johnson's format cannot hold the terminal {name}; write NLTK's")
    if style == "johnson" and np.any(np.diff(grammar.rule_start) == 0):
        name = grammar.nonterminals[int(np.flatnonzero(np.diff(grammar.rule_start) == 0)[0])]
        raise SettingsError(f"Johnson's format cannot hold {name}, a nonterminal without rules; write NLTK's")


def spellable(label: str) -> str:
    """A nonterminal as NLTK's format can hold it: what it cannot as in addresses, ' as %27, and % as %25.

    Others come back as they are, unless they look like that. `meant` undoes it.

    >>> spellable("''"), spellable("#"), spellable("A->B"), spellable("NP")
    ('%27%27', '%23', 'A-%3EB', 'NP')
    """
    if not _NOT_NLTK.search(label) and not _ESCAPE.search(label):
        return label
    return re.sub(f"%|{_NOT_NLTK.pattern}", lambda found: urllib.parse.quote(found[0], safe=""), label)


def meant(label: str) -> str:
    """The label that `spellable` writes so; one with blanks, which trees cannot hold either, as it is.

    >>> meant("%27%27"), meant("A-%3EB"), meant("NP"), meant("%41")
    ("''", 'A->B', 'NP', '%41')
    """
    found = urllib.parse.unquote(label) if _ESCAPE.search(label) else label
    return found if spellable(found) == label and not _BLANK.search(found) else label
