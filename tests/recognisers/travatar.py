"""Travatar: neubig/travatar fa63412 (2021-08-07).

`src/lib/rule-fsm.cc` (ReadFromRuleTable) reads tables for Hiero: columns are what ` ||| ` parts, with a space
on both sides, and there are at least three; `src/lib/dict.cc` (ParseAnnotatedWords, ParseSparseVector) reads
sides and features, `src/lib/cfg-data.cc` (NontermsAreOrdered) wants source nonterminals numbered 0, 1, … in
order. Sides are torn at C's white space only, a word is whatever stands between the first and the last `"`
of a token of three bytes or more, and nothing is unescaped. `src/lib/tree-io.cc` (WordTreeIO) reads
sentences: words between white space, all of them text.
"""

from __future__ import annotations

import re

from tests.recognisers import Refused, Rule, each_line, require, require_words

SPACE = rb"[ \t\n\x0b\f\r]"
FLOAT = re.compile(rb"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


def read_table(data: bytes) -> list[Rule]:
    """The rules of a table; the alignment is not read by the decoder, its form is checked all the same."""
    return each_line(data, read_line)


read_glue = read_table


def read_line(line: bytes) -> Rule:
    columns = line.split(b" ||| ")
    require(3 <= len(columns) <= 5, f"{len(columns)} columns instead of three to five")
    source, source_labels, label = _side(columns[0])
    sides = columns[1].split(b" |COL| ")
    require(len(sides) == 1, "as many targets as trg_factors says, which is one")
    target, target_labels, target_label = _side(sides[0])
    numbers = [x for x in source if isinstance(x, int)]
    require(numbers == list(range(-1, -1 - len(numbers), -1)), "source nonterminals are not in order")
    require(len(source_labels) == len(target_labels), "the sides do not have as many nonterminals")
    require(sorted(x for x in target if isinstance(x, int)) == sorted(numbers), "nonterminals differ")
    require(source and target, "an empty side")
    require_words(source + target)
    require(label == target_label and source_labels == target_labels, "labels differ")
    features: dict[str, float] = {}
    for token in re.findall(rb"[^ \t\n\x0b\f\r]+", columns[2]):
        name, equals, value = token.rpartition(b"=")
        require(equals and name, "a feature has no name")
        require(FLOAT.fullmatch(value), "atof makes 0 of what is no number")
        features[name.decode()] = float(value)
    if len(columns) > 3:
        counts = columns[3].split()
        require(len(counts) == 3 and all(map(FLOAT.fullmatch, counts)), "three counts")
    links = _links(columns[4], source, target) if len(columns) > 4 else ()
    gaps = tuple(source_labels[number] for number in sorted(source_labels))
    return Rule(label, source, target, features, links, gaps)


def _side(text: bytes) -> tuple[tuple[bytes | int, ...], dict[int, bytes], bytes]:
    """The symbols of a side, the labels of its nonterminals by number, and the side's label."""
    symbols: list[bytes | int] = []
    labels: dict[int, bytes] = {}
    tokens = re.findall(rb"[^ \t\n\x0b\f\r]+", text)
    while tokens:
        token = tokens.pop(0)
        if token == b"@":
            require(len(tokens) == 1, "a side has one label, at its end")
            return tuple(symbols), labels, tokens[0]
        if len(token) > 2 and token[:1] == token[-1:] == b'"':
            symbols.append(token[1:-1])
            continue
        nonterminal = re.fullmatch(rb"x([0-9]+):(.+)", token)
        require(nonterminal, "an illegal label")
        assert nonterminal
        number = int(nonterminal[1])
        require(number not in labels, "a nonterminal occurs twice")
        symbols.append(-1 - number)
        labels[number] = nonterminal[2]
    raise Refused("a side without a label")


def _links(text: bytes, source: tuple, target: tuple) -> tuple[tuple[int, int], ...]:
    """Links count words only."""
    links = []
    words = [sum(isinstance(x, bytes) for x in side) for side in (source, target)]
    for token in text.split():
        require(re.fullmatch(rb"[0-9]+-[0-9]+", token), "a link is two positions")
        i, j = map(int, token.split(b"-"))
        require(i < words[0] and j < words[1], "a link past the words")
        links.append((i, j))
    return tuple(links)


def read_input(line: bytes) -> list[bytes]:
    """The words of a line of input."""
    words = re.findall(rb"[^ \t\n\x0b\f\r]+", line)
    require_words(words)
    return words


__all__ = ["Refused", "read_glue", "read_input", "read_line", "read_table"]
