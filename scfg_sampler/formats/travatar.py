"""Travatar's Hiero rule tables.

`source @ X ||| target @ X ||| name=value … ||| c(f,e) c(e) c(f) ||| alignment`: words are quoted,
nonterminals are `x0:X`, `x1:X`, … in source order, and alignment positions count words only. Labels are the
same on both sides; where only one side of a rule has others than X, they are the rule's. Features are
natural logarithms: `egfp`, `fgep` the phrase probabilities, `egfl`, `fgel` the lexical weights (e given f is
forward), `lfreq` the log count, `w` the number of target words, `p` 1 for every rule. Others keep name and
value. `Abstract` is not written, as it is known from the rule, unless it is to be weighed.

The fact a newcomer would get wrong: Travatar unescapes nothing. Between the first and the last quotation mark
of a token stands the word as it is, further quotation marks and backslashes with it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator

import numpy as np

from scfg_sampler.core.arrays.ragged import take_rows
from scfg_sampler.core.arrays.vocabulary import split_words
from scfg_sampler.core.wording import counted
from scfg_sampler.formats.batches import SideTexts, column_texts, link_texts, more_texts
from scfg_sampler.formats.glue import GLUE_RULES, is_glue
from scfg_sampler.formats.tables import (
    Lines,
    log,
    marginals,
    marginals_of_each,
    shortest_exp,
    shortest_exp_of_each,
)
from scfg_sampler.formats.words import speller
from scfg_sampler.rules.order import text_order
from scfg_sampler.rules.table import RuleTable
from scfg_sampler.rules.text import NO_EMPTY_SIDE, Rule, as_labels, escape_label, parse_number, require

__all__ = ["OWN_NAMES", "circular", "counterparts", "format_rule", "lines", "order", "parse_rule"]

_OURS = {
    "egfp": "LogForward",
    "fgep": "LogBackward",
    "egfl": "LexForward",
    "fgel": "LexBackward",
    "lfreq": "LogCount",
}
_THEIRS = {ours: theirs for theirs, ours in _OURS.items()} | {"TargetWords": "w"}
_COUNTED = ("p", "w", "Abstract")
OWN_NAMES = frozenset({*_OURS, *_COUNTED} - {"Abstract"})
"""What a feature of another meaning cannot be called: it is read back as that of the format."""
_SPELLER = speller("travatar")
_NONTERMINAL = re.compile(r"x([0-9]{1,3}):(\S+)")
_LINK = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
_HINT = 'Expected "word" x0:X @ X ||| x0:X "word" @ X ||| name=value … ||| counts ||| alignment'


def spell(word: str) -> str:
    """The word, quoted."""
    return f'"{_SPELLER.write(word)}"'


def order(table: RuleTable) -> np.ndarray:
    """The rows of the table, all of whose labels are X, in the order of their lines."""
    return text_order(table, spell, lambda k: f"x{k - 1}:X", "@ X |||")


def counterparts() -> dict[str, tuple[str, float]]:
    """What our features are called, and what multiple of ours they are."""
    return {ours: (theirs, 1.0) for ours, theirs in _THEIRS.items()}


def circular(table: RuleTable) -> np.ndarray:
    """Whether a rule makes a label of nothing but the same label, or of one made of it: bool (R,).

    Travatar ends where it reads one; our decoder leaves them out.
    """
    first = np.append(table.source, 0)[table.source_start[:-1]]
    found = (np.diff(table.source_start) == 1) & (first < 0)
    if table.labels is None or not found.any():
        return found
    kinds = table.labels.kinds[table.labels.kind[found]]
    made: dict[int, set[int]] = {}  # By the label of a gap, what is made of it alone, in one step or more.
    for left, gap in np.unique(kinds[:, :2], axis=0).tolist():
        made.setdefault(gap, set()).add(left)
    changed = True
    while changed:
        before = sum(map(len, made.values()))
        for labels in made.values():
            labels.update(*(made.get(label, ()) for label in list(labels)))
        changed = sum(map(len, made.values())) > before
    found[found] = [gap in made.get(left, ()) for left, gap in kinds[:, :2].tolist()]
    return found


def format_rule(rule: Rule, linear: bool = False) -> str:
    """The line of a rule; with `linear`, it says of a rule without words that it is one."""
    left, *gaps = map(escape_label, rule.labels or ["X"] * (1 + len(rule.source)))
    sides = [
        " ".join(spell(x) if isinstance(x, str) else f"x{-1 - x}:{gaps[-1 - x]}" for x in side)
        for side in rule[:2]
    ]
    named = {
        _THEIRS.get(name, name): value
        for name, value in rule.features.items()
        if name != "Abstract" or (linear and value)
    }
    features = " ".join(f"{name}={value:.7g}" for name, value in named.items())
    count, of_source, of_target = marginals(rule.features)
    together = shortest_exp(rule.features["LogCount"]) if "LogCount" in rule.features else f"{count:g}"
    words = [_word_positions(side) for side in rule[:2]]
    alignment = " ".join(f"{words[0][i]}-{words[1][j]}" for i, j in rule.alignment)
    counts = f"{together} {of_target:.6g} {of_source:.6g}"
    return f"{sides[0]} @ {left} ||| {sides[1]} @ {left} ||| p=1 {features} ||| {counts} ||| {alignment}"


def lines(table: RuleTable, parts: Iterable[np.ndarray], linear: bool = False) -> Iterator[Lines]:
    """The lines of rows, some of which are given at a time, behind their sides; `linear` as `format_rule`."""
    sides = SideTexts(table, spell, lambda k: f"x{k - 1}:X")
    for rows in parts:
        count, of_source, of_target = marginals_of_each(table, rows)
        together = [f"{each:g}" for each in count]
        if "LogCount" in table.feature_names:
            at = table.feature_names.index("LogCount")
            together = column_texts(table, at, rows, shortest_exp_of_each)
        sources, targets = sides.of(rows)
        counts = [
            f"{both} {of_e:.6g} {of_f:.6g}"
            for both, of_e, of_f in zip(together, of_target, of_source, strict=True)
        ]
        fields = _named(table, rows, linear), counts, _links(table, rows)
        spelled = [
            f"{source} @ X ||| {target} @ X ||| p=1 {named} ||| {numbers} ||| {pairs}"
            for source, target, named, numbers, pairs in zip(sources, targets, *fields, strict=True)
        ]
        yield sources, targets, spelled


def _named(table: RuleTable, rows: np.ndarray, linear: bool) -> list[str]:
    """The features of some rules as text."""

    def spell_feature(name: str, values: Iterable[float]) -> list[str]:
        always = name != "Abstract"
        shown = _THEIRS.get(name, name)
        return [f"{shown}={value:.7g}" if always or value else "" for value in values]

    columns = {}  # By the name that is shown: of two the later counts, as in `format_rule`.
    for k, name in enumerate(table.feature_names):
        if name != "Abstract" or linear:
            spell_column = functools.partial(spell_feature, name)
            columns[_THEIRS.get(name, name)] = column_texts(table, k, rows, spell_column)
    more = more_texts(table, rows, lambda name, value: spell_feature(name, [value])[0])
    return [" ".join(filter(None, texts)) for texts in zip(*columns.values(), more, strict=True)]


def _links(table: RuleTable, rows: np.ndarray) -> list[str]:
    """The links of some rules, whose positions count words only."""
    start, links = take_rows(table.alignment_start, table.alignment, rows)
    row = np.repeat(rows, np.diff(start))
    positions = []
    for side, (side_start, symbols) in enumerate(
        ((table.source_start, table.source), (table.target_start, table.target))
    ):
        words_before = np.concatenate([[0], np.cumsum(symbols >= 0)])
        first = side_start[row]
        positions.append(words_before[first + links[:, side]] - words_before[first])
    return link_texts(start, np.column_stack(positions))


def parse_rule(line: str) -> Rule | str:
    """The rule of a line, or the reason why it is left out; raises RuleProblem."""
    # Words hold no spaces: a bar with spaces around it stands between fields. The last may lack its space.
    fields = [field.strip(" \t\r") for field in f"{line} ".split(" ||| ")]
    require(len(fields) >= 3, f"has {counted(len(fields), 'field')} instead of at least 3", _HINT)
    sides = [_side(field, name) for field, name in zip(fields[:2], ("source", "target"), strict=True)]
    source, target = (symbols for symbols, _, _ in sides)
    numbers = [x for x in source if isinstance(x, int)]
    require(len(set(numbers)) == len(numbers), "a nonterminal occurs twice on the source side", _HINT)
    same = sorted(numbers) == sorted(x for x in target if isinstance(x, int))
    require(same, "the sides do not have the same nonterminals", _HINT)
    labels = _labels(sides, numbers)
    if labels is None:
        return "rules with different labels on both sides"
    renamed = {number: -1 - k for k, number in enumerate(numbers)}
    source, target = (tuple(renamed[x] if isinstance(x, int) else x for x in s) for s in (source, target))
    if is_glue(source, target, labels):
        return GLUE_RULES
    features = _features(fields[2])
    if len(fields) > 3 and fields[3] and "LogCount" not in features:
        count = parse_number(fields[3].split(" ")[0])
        require(count >= 0.0, f"{fields[3]!r} are not counts", _HINT)
        features["LogCount"] = log(count)
    alignment = _alignment(fields[4] if len(fields) > 4 else "", source, target)
    return Rule(source, target, features, alignment, as_labels(labels[0], labels[1:]))


def _labels(sides: list, numbers: list[int]) -> list[str] | None:
    """The label of the left-hand side and those of nonterminals in order; None if the sides differ."""
    both = [(sides[0][1], sides[1][1]), *((sides[0][2][x], sides[1][2][x]) for x in numbers)]
    for side in (0, 1):
        if all(pair[0] == pair[1] or pair[side] == "X" for pair in both):
            return [pair[1 - side] for pair in both]
    return None


def _side(text: str, name: str) -> tuple[tuple[str | int, ...], str, dict[int, str]]:
    """The symbols of a side, nonterminals as their numbers, its label, and those of nonterminals."""
    symbols: list[str | int] = []
    labels: dict[int, str] = {}
    tokens = split_words(text)
    require(len(tokens) >= 2 and tokens[-2] == "@", f"the {name} side has no label", _HINT)
    require(len(tokens) > 2, f"the {name} side is empty", NO_EMPTY_SIDE)
    for token in tokens[:-2]:
        quoted = len(token) > 2 and token[0] == token[-1] == '"'
        nonterminal = None if quoted else _NONTERMINAL.fullmatch(token)
        require(quoted or nonterminal, f"{token!r} is neither a quoted word nor a nonterminal", _HINT)
        if nonterminal:
            symbols.append(int(nonterminal[1]))
            labels[int(nonterminal[1])] = nonterminal[2]
        else:
            symbols.append(_SPELLER.read(token[1:-1]))
    return tuple(symbols), tokens[-1], labels


def _features(text: str) -> dict[str, float]:
    features: dict[str, float] = {}
    for token in split_words(text):
        name, equals, number = token.rpartition("=")
        value = parse_number(number)
        require(name and equals, f"feature {token!r} has no name", _HINT)
        require(abs(value) < 3.4e38, f"feature {token!r} is not a finite number", _HINT)
        if name not in _COUNTED:
            features[_OURS.get(name, name)] = value
    return features


def _alignment(text: str, source: tuple, target: tuple) -> tuple[tuple[int, int], ...]:
    places = [[k for k, x in enumerate(side) if isinstance(x, str)] for side in (source, target)]
    links = set()
    for token in split_words(text):
        match = _LINK.fullmatch(token)
        require(match, f"{token!r} is not a link such as 0-0", _HINT)
        i, j = int(match[1]), int(match[2])  # type: ignore[index]
        inside = i < len(places[0]) and j < len(places[1])
        require(inside, f"link {token} points past the words of the rule", _HINT)
        links.add((places[0][i], places[1][j]))
    return tuple(sorted(links))


def _word_positions(side: tuple[str | int, ...]) -> list[int]:
    """For each position, the number of words before it."""
    before, positions = 0, []
    for symbol in side:
        positions.append(before)
        before += isinstance(symbol, str)
    return positions
