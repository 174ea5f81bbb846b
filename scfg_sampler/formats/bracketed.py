"""cdec's and Joshua's tables: `[X] ||| source ||| target ||| features ||| alignment`.

=============  ====================================  =======================================
ours           cdec                                  Joshua (names of Thrax)
=============  ====================================  =======================================
LogForward     EgivenFCoherent = −log10 P            e_given_f_phrase = −ln P
LogBackward    FgivenECoherent = −log10 P            f_given_e_phrase = −ln P
LexForward     LexEgivenF = −log10 lex               e_given_f_lex = −ln lex
LexBackward    LexFgivenE = −log10 lex               f_given_e_lex = −ln lex
LogCount       CountEF = log10(1 + count)            count = the count itself
TargetWords    TargetWords                           target_word_count
Abstract       Abstract                              abstract
=============  ====================================  =======================================

Other features keep name and value. cdec's own lexical features, MaxLexEgivenF and MaxLexFgivenE, are read as
ours although they take the best translation of a word where we take the mean over its links; Thrax's
`rarity`, exp(1 − count), is read as the count where `count` is missing. Features without a name are called
PhraseModel_0, PhraseModel_1, … as cdec does.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.ragged import take_rows
from scfg_sampler.core.wording import counted
from scfg_sampler.formats.batches import SideTexts, column_texts, link_texts, more_texts
from scfg_sampler.formats.glue import GLUE_RULES, GLUED, is_glue
from scfg_sampler.formats.tables import Lines, log, plain_of_each, shortest, shortest_of_each
from scfg_sampler.formats.words import speller
from scfg_sampler.rules.order import text_order
from scfg_sampler.rules.table import RuleTable
from scfg_sampler.rules.text import (
    Rule,
    as_labels,
    label_texts,
    parse_alignment,
    parse_left,
    parse_number,
    parse_source,
    parse_target,
    require,
    split_fields,
)

__all__ = [
    "CDEC_NAMES",
    "DENSE",
    "TOO_LARGE",
    "Writer",
    "counterparts",
    "own_names",
    "parser",
    "too_large",
    "writer",
]

DENSE = (
    "LogForward",
    "LogBackward",
    "LexForward",
    "LexBackward",
    "LogCount",
    "TargetWords",
    "Abstract",
)
"""The order of Joshua's features without names, which says what they are in files that are there already; any
others follow in the table's order."""

_CDEC_SYMBOLS, _CDEC_LINKS = 200, 2000  # Of a side, and of a rule, for cdec to read it (f7c4899).
TOO_LARGE = (
    f"a side of more than {counted(_CDEC_SYMBOLS, 'symbol')}, or more than {counted(_CDEC_LINKS, 'link')}"
)
"""What a rule has that cdec has no room for."""

_LN10 = math.log(10.0)
_NONTERMINAL = re.compile(r"\[[^\s\[\],]+(,[0-9]+)?\]")
_NO_NUMBER = re.compile(r"\[(?![0-9]+\])[^\s\[\],]+\]")


def too_large(table: RuleTable) -> np.ndarray:
    """Whether a rule has more symbols or links than cdec has room for: bool (R,). There it crashes."""
    longer = np.maximum(np.diff(table.source_start), np.diff(table.target_start)) > _CDEC_SYMBOLS
    return longer | (np.diff(table.alignment_start) > _CDEC_LINKS)


class Meaning(NamedTuple):
    """What a feature is called elsewhere, and how its values go there and back."""

    name: str
    there: Callable[[float], float]
    back: Callable[[float], float]


def _negated_log10(name: str) -> Meaning:
    return Meaning(name, lambda value: 0.0 - value / _LN10, lambda value: 0.0 - value * _LN10)


def _negated(name: str) -> Meaning:
    return Meaning(name, lambda value: 0.0 - value, lambda value: 0.0 - value)


def _same(name: str) -> Meaning:
    return Meaning(name, float, float)


_CDEC = {
    "LogForward": _negated_log10("EgivenFCoherent"),
    "LogBackward": _negated_log10("FgivenECoherent"),
    "LexForward": _negated_log10("LexEgivenF"),
    "LexBackward": _negated_log10("LexFgivenE"),
    "LogCount": Meaning(
        "CountEF",
        lambda value: math.log1p(math.exp(value)) / _LN10,
        lambda value: round(log(math.expm1(value * _LN10)), 11),
    ),
}
_JOSHUA = {
    "LogForward": _negated("e_given_f_phrase"),
    "LogBackward": _negated("f_given_e_phrase"),
    "LexForward": _negated("e_given_f_lex"),
    "LexBackward": _negated("f_given_e_lex"),
    "LogCount": Meaning("count", math.exp, log),
    "TargetWords": _same("target_word_count"),
    "Abstract": _same("abstract"),
}
_MEANINGS = {"cdec": _CDEC, "joshua": _JOSHUA}
_ALSO = {
    "cdec": {
        "MaxLexEgivenF": ("LexForward", _CDEC["LexForward"].back),
        "MaxLexFgivenE": ("LexBackward", _CDEC["LexBackward"].back),
    },
    "joshua": {},
}
CDEC_NAMES = frozenset({meaning.name for meaning in _CDEC.values()} | _ALSO["cdec"].keys())
"""The features of cdec that have other names and units here."""
_NOT_LINEAR = ("LogCount",)
_COUNTED = ("TargetWords", "Abstract", "target_word_count", "abstract")  # Known from the rule itself.


def _numbered(tokens: list[str]) -> list[str]:
    """The symbols of a source side of cdec's, whose nonterminals may lack the numbers they have in order.

    >>> _numbered(["[Z]", "a", "[Y]", "[X,3]"])
    ['[Z,1]', 'a', '[Y,2]', '[X,3]']
    """
    number, symbols = 0, []
    for token in tokens:
        number += bool(_NONTERMINAL.fullmatch(token))
        symbols.append(f"{token[:-1]},{number}]" if _NO_NUMBER.fullmatch(token) else token)
    return symbols


def parser(file_format: str, dense: bool) -> Callable[[str], Rule | str]:
    """A function from a line to its rule, or to the reason why it is left out; raises RuleProblem.

    dense : features without names are in the order of DENSE, and not PhraseModel_k
    """
    names = {meaning.name: (ours, meaning.back) for ours, meaning in _MEANINGS[file_format].items()}
    names.update(_ALSO[file_format])
    if dense:
        order = (_MEANINGS[file_format].get(name, _same(name)) for name in DENSE)
        names.update((f"PhraseModel_{k}", names.get(m.name, (m.name, m.back))) for k, m in enumerate(order))
    spelled = speller(file_format).read

    def parse(line: str) -> Rule | str:
        fields = split_fields(line)
        require(4 <= len(fields) <= 5, f"has {counted(len(fields), 'field')} instead of 4 or 5")
        left = parse_left(fields[0])
        if any(map(_NO_NUMBER.fullmatch, fields[1])) and left in GLUED:
            return GLUE_RULES  # cdec's `[S] ||| [S] [X] ||| [1] [2]`.
        if file_format == "cdec":
            fields[1] = _numbered(fields[1])
        source, order, gaps = parse_source(fields[1], spelled, keeps_labels=True)
        target = parse_target(fields[2], order, spelled)
        labels = as_labels(left, gaps)
        if is_glue(source, target, labels):
            return GLUE_RULES
        alignment = parse_alignment(fields[4], source, target) if len(fields) == 5 else ()
        return Rule(source, target, _features(fields[3], names), alignment, labels)

    return parse


class Writer(NamedTuple):
    """How rules are written in one of the two formats."""

    meanings: dict[str, Meaning]
    spell: Callable[[str], str]
    dense: tuple[str, ...]

    def format(self, rule: Rule) -> str:
        """The line of a rule."""
        spell = self.spell
        left, gap = label_texts(rule)
        sides = [" ".join(spell(x) if isinstance(x, str) else gap(x) for x in side) for side in rule[:2]]
        if self.dense:
            named = [self._number(name, rule.features.get(name, 0.0)) for name in self.dense]
        else:
            named = [
                f"{self.meanings[name].name if name in self.meanings else name}={self._number(name, value)}"
                for name, value in rule.features.items()
            ]
        fields = [f"[{left}]", *sides, " ".join(named)]
        if rule.alignment:
            fields.append(" ".join(f"{i}-{j}" for i, j in rule.alignment))
        return " ||| ".join(fields)

    def order(self, table: RuleTable) -> np.ndarray:
        """The rows of the table, all of whose labels are X, in the order of their lines."""
        return text_order(table, self.spell)

    def lines(self, table: RuleTable, parts: Iterable[np.ndarray]) -> Iterator[Lines]:
        """The lines of rows, some of which are given at a time, behind their sides."""
        sides = SideTexts(table, self.spell, "[X,{}]".format)
        for rows in parts:
            links = link_texts(*take_rows(table.alignment_start, table.alignment, rows))
            sources, targets = sides.of(rows)
            features = self._features(table, rows)
            lines = [
                f"[X] ||| {source} ||| {target} ||| {named}{' ||| ' if pairs else ''}{pairs}"
                for source, target, named, pairs in zip(sources, targets, features, links, strict=True)
            ]
            yield sources, targets, lines

    def _features(self, table: RuleTable, rows: np.ndarray) -> list[str]:
        """The features of some rules, as text."""
        columns = []
        for name in self.dense or table.feature_names:
            spell = functools.partial(self._column, name)
            if name in table.feature_names:
                columns.append(column_texts(table, table.feature_names.index(name), rows, spell))
            else:
                columns.append(spell([0.0]) * len(rows))
        if table.sparse is not None:
            columns.append(more_texts(table, rows, lambda name, value: self._column(name, [value])[0]))
        if not columns:
            return [""] * len(rows)
        return [" ".join(filter(None, texts)) for texts in zip(*columns, strict=True)]

    def _column(self, name: str, values: Sequence[float]) -> list[str]:
        """Values of a feature, with its name in front where features have names."""
        meaning = self.meanings.get(name)
        values = [value + 0.0 for value in values]  # Without -0, as `_number` has it.
        numbers = (
            plain_of_each(values)
            if meaning is None
            else shortest_of_each(values, meaning.there, meaning.back)
        )
        if self.dense:
            return numbers
        shown = name if meaning is None else meaning.name
        return [f"{shown}={number}" for number in numbers]

    def _number(self, name: str, value: float) -> str:
        # Without -0, which the memory of what was spelled takes for 0.
        return _spelled_number(self.meanings.get(name), value + 0.0)


def writer(
    file_format: str, feature_names: tuple[str, ...], dense: bool = False, linear: bool = False
) -> Writer:
    """The writer of a format.

    dense : features without names, ours first, in the order of DENSE
    linear : those that are no multiple of ours elsewhere keep name and value
    """
    columns = (*DENSE, *(name for name in feature_names if name not in DENSE)) if dense else ()
    meanings = _MEANINGS[file_format]
    if linear:
        meanings = {name: meaning for name, meaning in meanings.items() if name not in _NOT_LINEAR}
    return Writer(meanings, speller(file_format).write, columns)


def counterparts(file_format: str) -> dict[str, tuple[str, float]]:
    """What our features are called in a format, and what multiple of ours they are, where they are one."""
    return {
        ours: (meaning.name, meaning.there(1.0))
        for ours, meaning in _MEANINGS[file_format].items()
        if ours not in _NOT_LINEAR
    }


def own_names(file_format: str) -> frozenset[str]:
    """What a feature of another meaning cannot be called: it is read back as that of the format."""
    names = {meaning.name for meaning in _MEANINGS[file_format].values()} | _ALSO[file_format].keys()
    return frozenset({*names, *_COUNTED} - {"TargetWords", "Abstract"})


@functools.lru_cache(maxsize=1 << 16)
def _spelled_number(meaning: Meaning | None, value: float) -> str:
    return f"{value:.7g}" if meaning is None else shortest(value, meaning.there, meaning.back)


def _features(tokens: list[str], names: dict[str, tuple[str, Callable[[float], float]]]) -> dict[str, float]:
    features: dict[str, float] = {}
    unnamed = 0
    for token in tokens:
        name, equals, text = token.rpartition("=")
        if not equals:
            name = f"PhraseModel_{unnamed}"
            unnamed += 1
        require(name, f"feature {token!r} has no name", "Expected Name=value, or a value alone")
        value = parse_number(text)
        require(abs(value) < 3.4e38, f"feature {token!r} is not a finite number")
        if name in _COUNTED:
            continue
        ours, back = names.get(name, (name, float))
        if ours not in features:
            features[ours] = back(value)
    if "rarity" in features and "LogCount" not in features:
        features["LogCount"] = log(1.0 - log(features["rarity"]))
    return features
