"""Moses' hierarchical rule tables.

`source [X] ||| target [X] ||| scores ||| alignment ||| counts ||| sparse ||| properties`: nonterminals are
`[X][X]` on both sides and paired by the alignment alone, whose positions count them. Labels are those of the
target, `[X][NP]` and `[NP]` at its end, as what Moses translates are plain words, which it takes for X; those
of the source are read where the target has X. The scores are plain
probabilities, φ(f|e) lex(f|e) φ(e|f) lex(e|f), that is the exponentials of LogBackward, LexBackward,
LogForward and LexForward; the counts are those of the target side, the source side and the rule.
`TargetWords` and `Abstract` are not written, as they are known from the rule; all other features go to the
sparse field with name and value unchanged. With `linear`, whatever Moses does not weigh otherwise goes there
too: LogCount and Abstract, where they are not 0.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from scfg_sampler.core.arrays.ragged import take_rows
from scfg_sampler.core.wording import counted
from scfg_sampler.formats.batches import SideTexts, column_texts, link_texts, more_texts, texts_of_each
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
from scfg_sampler.rules.text import (
    NO_EMPTY_SIDE,
    Rule,
    as_labels,
    escape_label,
    parse_number,
    require,
    split_fields,
)

__all__ = ["SCORES", "Writer", "parser"]

SCORES = ("LogBackward", "LexBackward", "LogForward", "LexForward")
"""Our names of the scores, in their order."""
_NOT_SPARSE = (*SCORES, "LogCount", "TargetWords", "Abstract")
_NONTERMINAL = re.compile(r"\[([^\s\[\]]+)\]\[([^\s\[\]]+)\]")
_LABEL = re.compile(r"\A\[([^\s\[\]]+)\]\Z")
_LINK = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
_POSITION = 20  # Bits of a position in a rule, more than a line of a table can have.


class Writer:
    """Writes rules in Moses' format and counts what is lost."""

    def __init__(self, escaped: bool, losses: Counter, linear: bool = False):
        self._spell = speller("moses", escaped).write
        self._losses = losses
        self._more = ("LogCount", "Abstract") if linear else ()

    def order(self, table: RuleTable) -> np.ndarray:
        """The rows of the table, all of whose labels are X, in the order of their lines."""
        return text_order(table, self._spell, lambda k: "[X][X]", "[X] |||")

    def lines(self, table: RuleTable, parts: Iterable[np.ndarray]) -> Iterator[Lines]:
        """The lines of rows, some of which are given at a time, behind their sides."""
        sides = SideTexts(table, self._spell, lambda k: "[X][X]")
        missing = [name for name in SCORES if name not in table.feature_names]
        for rows in parts:
            if missing:
                self._losses[_without(missing)] += len(rows)
            sources, targets = sides.of(rows)
            fields = (
                _scores(table, rows),
                _links(table, rows),
                _counts(table, rows),
                self._sparse(table, rows),
            )
            lines = [
                f"{source} [X] ||| {target} [X] ||| {scores} ||| {pairs} ||| {counts} ||| {more}|||"
                for source, target, scores, pairs, counts, more in zip(sources, targets, *fields, strict=True)
            ]
            yield sources, targets, lines

    def _sparse(self, table: RuleTable, rows: np.ndarray) -> list[str]:
        """The features that Moses has no field for, each with a space behind it."""

        def spell(name: str, values: Iterable[float]) -> list[str]:
            always = name not in self._more
            return [f"{name} {value:.7g} " if always or value else "" for value in values]

        columns = [
            column_texts(table, k, rows, functools.partial(spell, name))
            for k, name in enumerate(table.feature_names)
            if name not in _NOT_SPARSE or name in self._more
        ]
        columns.append(more_texts(table, rows, lambda name, value: spell(name, [value])[0], ""))
        return list(map("".join, zip(*columns, strict=True)))

    def format(self, rule: Rule) -> str:
        """The line of a rule."""
        spell = self._spell
        left, *gaps = map(escape_label, rule.labels or ["X"] * (1 + len(rule.source)))
        sides = [
            " ".join(spell(x) if isinstance(x, str) else f"[X][{gaps[-1 - x]}]" for x in side)
            for side in rule[:2]
        ]
        pairs = [(i, rule.target.index(x)) for i, x in enumerate(rule.source) if isinstance(x, int)]
        alignment = " ".join(f"{i}-{j}" for i, j in sorted([*pairs, *rule.alignment]))
        missing = [name for name in SCORES if name not in rule.features]
        if missing:
            self._losses[_without(missing)] += 1
        scores = " ".join(shortest_exp(rule.features.get(name, 0.0)) for name in SCORES)
        count, of_source, of_target = marginals(rule.features)
        together = shortest_exp(rule.features["LogCount"]) if "LogCount" in rule.features else f"{count:g}"
        counts = f"{of_target:.6g} {of_source:.6g} {together}"
        sparse = [
            f"{name} {value:.7g} "
            for name, value in rule.features.items()
            if name not in _NOT_SPARSE or (value and name in self._more)
        ]
        return (
            f"{sides[0]} [X] ||| {sides[1]} [{left}] ||| {scores} ||| {alignment} ||| {counts} ||| "
            f"{''.join(sparse)}|||"
        )


def _without(missing: list[str]) -> str:
    return f"rules without {', '.join(missing)}, written as probability 1"


def _scores(table: RuleTable, rows: np.ndarray) -> list[str]:
    """The scores of some rules; many of them have the same."""
    values = np.zeros((len(rows), len(SCORES)), np.float32)
    for k, name in enumerate(SCORES):
        if name in table.feature_names:
            values[:, k] = table.features[rows, table.feature_names.index(name)]
    texts = texts_of_each(values.ravel(), shortest_exp_of_each)
    return [" ".join(texts[at : at + len(SCORES)]) for at in range(0, len(texts), len(SCORES))]


def _links(table: RuleTable, rows: np.ndarray) -> list[str]:
    """The links of some rules, those between their nonterminals too."""
    start, links = take_rows(table.alignment_start, table.alignment, rows)
    row = np.repeat(np.arange(len(rows)), np.diff(start))
    (row_of_source, symbol, i), (row_of_target, partner, j) = (
        _nonterminals(*take_rows(each_start, symbols, rows))
        for each_start, symbols in ((table.source_start, table.source), (table.target_start, table.target))
    )
    # Sorted by rule and number, each nonterminal of the source stands where that of the target does.
    order, partners = np.lexsort((symbol, row_of_source)), np.lexsort((partner, row_of_target))
    paired = np.column_stack([i[order], j[partners]])
    row = np.concatenate([row, row_of_source[order]])
    links = np.concatenate([links, paired])
    # In the order of rows, and of the positions on the left, then on the right.
    keys = np.sort((row << 2 * _POSITION | links[:, 0].astype(np.int64) << _POSITION) + links[:, 1])
    at = 1 << _POSITION
    start = np.searchsorted(keys, np.arange(len(rows) + 1) << 2 * _POSITION)
    return link_texts(start, np.column_stack([keys // at % at, keys % at]))


def _nonterminals(start: np.ndarray, symbols: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each nonterminal in some sides its row, its symbol and its position."""
    at = np.flatnonzero(symbols < 0)
    row = np.searchsorted(start, at, side="right") - 1
    return row, symbols[at], at - start[row]


def _counts(table: RuleTable, rows: np.ndarray) -> list[str]:
    """The counts of the target side, the source side and the rule, of some rules."""
    count, of_source, of_target = marginals_of_each(table, rows)
    if "LogCount" in table.feature_names:
        at = table.feature_names.index("LogCount")
        together = column_texts(table, at, rows, shortest_exp_of_each)
    else:
        together = [f"{each:g}" for each in count]
    return [
        f"{target:.6g} {source:.6g} {both}"
        for target, source, both in zip(of_target, of_source, together, strict=True)
    ]


def parser(escaped: bool) -> Callable[[str], Rule | str]:
    """A function from a line to its rule, or to the reason why it is left out; raises RuleProblem."""
    spelled = speller("moses", escaped).read

    def parse(line: str) -> Rule | str:
        fields = split_fields(line)
        require(len(fields) >= 3, f"has {counted(len(fields), 'field')} instead of at least 3", _HINT)
        ends = []
        for side, name in zip(fields[:2], ("source", "target"), strict=True):
            ends += _LABEL.findall(side[-1] if side else "")
            require(len(ends) == 1 + (name == "target"), f"the {name} side has no label", _HINT)
            require(len(side) > 1, f"the {name} side is empty", NO_EMPTY_SIDE)
        source, target, gaps, alignment = _pair(fields[0][:-1], fields[1][:-1], fields[3:4])
        labels = [_one_label(ends[0], ends[1]), *gaps]
        if "" in labels:
            return "rules with different labels on both sides"
        source, target = (tuple(x if isinstance(x, int) else spelled(x) for x in s) for s in (source, target))
        if is_glue(source, target, labels):
            return GLUE_RULES
        return Rule(source, target, _features(fields), alignment, as_labels(labels[0], labels[1:]))

    return parse


_HINT = "Expected source [X] ||| target [X] ||| scores ||| alignment ||| counts ||| sparse ||| properties"


def _one_label(source: str, target: str) -> str:
    """The label of a nonterminal that has these on both sides, "" if they differ and neither is X."""
    if source in ("X", target):
        return target
    return source if target == "X" else ""


def _pair(source: list[str], target: list[str], alignment: list[list[str]]):
    """Both sides with nonterminals numbered in source order, their labels, and the links between words."""
    sides: list[list[str | int]] = [list(source), list(target)]
    matches = [[_NONTERMINAL.fullmatch(token) for token in side] for side in (source, target)]
    links, labels = [], list[str]()
    for token in sorted(alignment[0] if alignment else [], key=_position):
        match = _LINK.fullmatch(token)
        require(match, f"{token!r} is not a link such as 0-0", _HINT)
        i, j = int(match[1]), int(match[2])  # type: ignore[index]
        require(i < len(source) and j < len(target), f"link {token} points past the end of the rule", _HINT)
        one, other = matches[0][i], matches[1][j]
        require((one is None) == (other is None), f"link {token} joins a nonterminal and a word", _HINT)
        if one is None or other is None:
            links.append((i, j))
            continue
        free = isinstance(sides[0][i], str) and isinstance(sides[1][j], str)
        require(free, f"link {token} pairs a nonterminal twice", _HINT)
        # Both labels stand on both sides.
        labels.append(_one_label(one[1], one[2]) if one[0] == other[0] else "")
        sides[0][i] = sides[1][j] = -len(labels)
    paired = all(sum(map(bool, side)) == len(labels) for side in matches)
    require(paired, "a nonterminal is not paired by the alignment", _HINT)
    return sides[0], sides[1], labels, tuple(sorted(set(links)))


def _position(token: str) -> tuple[int, int]:
    match = _LINK.fullmatch(token)
    return (int(match[1]), int(match[2])) if match else (-1, -1)


def _features(fields: list[list[str]]) -> dict[str, float]:
    features: dict[str, float] = {}
    for k, token in enumerate(fields[2]):
        prob = parse_number(token)
        require(0.0 <= prob < 3.4e38, f"score {token!r} is not a probability", _HINT)
        features[SCORES[k] if k < len(SCORES) else f"Score_{k}"] = log(prob)
    if len(fields) > 4 and fields[4]:
        counts = [parse_number(text) for text in fields[4]]
        are_counts = len(counts) in (2, 3) and min(counts) >= 0.0
        require(are_counts, f"{' '.join(fields[4])!r} are not two or three counts", _HINT)
        if len(counts) == 3:  # Older tables have those of the sides alone.
            features["LogCount"] = log(counts[2])
    sparse = fields[5] if len(fields) > 5 else []
    require(len(sparse) % 2 == 0, "the sparse features are not pairs of name and value", _HINT)
    for name, text in zip(sparse[::2], sparse[1::2], strict=True):
        value = parse_number(text)
        require(abs(value) < 3.4e38, f"sparse feature {name} is not a finite number", _HINT)
        features[name] = value
    return features
