"""cdec: redpony/cdec f7c4899 (2020-05-26).

`decoder/rule_lexer.ll` reads grammars, `utils/stringlib.cc` (ProcessAndStripSGML, ParseTranslatorInput),
`decoder/lattice.cc` and `decoder/scfg_translator.cc` (PassThroughGrammar) read sentences. The lexer always
takes the longest match, so a run of characters without white space is a nonterminal or a bar only as a
whole. It knows no comments: it aborts on whatever stands before the `[` of a left-hand side. Blanks there are
no fault, but make the rule a refinement of the one above it, which no table of ours has.
"""

from __future__ import annotations

import itertools
import re

from tests.recognisers import Refused, Rule, each_line, lines_of, require, require_words

LABEL = rb"[^\t \n\r\[\],]+"
REAL = re.compile(rb"[-+]?[0-9]+(\.[0-9]*)?([eE][-+]*[0-9]+)?")
MOST_SYMBOLS, MOST_FEATURES, MOST_LINKS = 200, 10_000, 2_000


def read_table(data: bytes) -> list[Rule]:
    """The rules of a grammar file."""
    lines = data.split(b"\n")
    for line, following in itertools.pairwise(lines):
        # A feature's name is all but blanks, `;` and `=`, line ends included, and the longest match is taken.
        torn = re.match(rb"[^ \t=;]*=", following) and line.count(b"|||") < 4
        require(not torn, "the features go on in the next line, as it has = before its first blank")
    return each_line(data, read_line)


def read_line(line: bytes) -> Rule:
    lhs = re.match(rb"\[(" + LABEL + rb")\][ \t]*\|\|\|", line)
    require(lhs, "unexpected input in the left-hand side")
    assert lhs
    require(not re.search(rb"[\r\f\v\0]", line), "a character that no state of the lexer knows or cares for")
    fields: list[list[bytes]] = [[]]
    for token in re.findall(rb"[^ \t]+", line[lhs.end() :]):
        if token == b"|||":
            fields.append([])
        else:
            fields[-1].append(token)
    require(2 <= len(fields) <= 4, "a source side, a target side, features, an alignment")
    source, labels = _source(fields[0])
    target = _target(fields[1], labels)
    require_words(source + target)
    features = _features(fields[2] if len(fields) > 2 else [])
    links = tuple(_link(token, source, target) for token in (fields[3] if len(fields) > 3 else []))
    require(len(links) <= MOST_LINKS, "more links than the lexer has room for")
    return Rule(lhs[1], source, target, features, links, tuple(labels))


def _source(tokens: list[bytes]) -> tuple[tuple[bytes | int, ...], list[bytes]]:
    symbols: list[bytes | int] = []
    labels: list[bytes] = []
    for token in tokens:
        nonterminal = re.fullmatch(rb"\[(" + LABEL + rb")(?:,([1-9][0-9]?))?\]", token)
        if nonterminal:
            labels.append(nonterminal[1])
            number = nonterminal[2]
            require(number is None or int(number) == len(labels), "source indices must go in order")
        symbols.append(-len(labels) if nonterminal else token)
    require(0 < len(symbols) <= MOST_SYMBOLS, "no symbols, or more than there is room for")
    return tuple(symbols), labels


def _target(tokens: list[bytes], labels: list[bytes]) -> tuple[bytes | int, ...]:
    symbols: list[bytes | int] = []
    for token in tokens:
        nonterminal = re.fullmatch(rb"\[(?:(" + LABEL + rb"),)?([1-9][0-9]?)\]", token)
        if not nonterminal:
            symbols.append(token)
            continue
        number = int(nonterminal[2])
        require(number <= len(labels), "a target index exceeds the arity of the source side")
        require(-number not in symbols, "a target index is used twice")
        require(nonterminal[1] in (None, labels[number - 1]), "the two sides have different labels")
        symbols.append(-number)
    require(0 < len(symbols) <= MOST_SYMBOLS, "no symbols, or more than there is room for")
    require(sum(isinstance(x, int) for x in symbols) == len(labels), "the sides differ in arity")
    return tuple(symbols)


def _features(tokens: list[bytes]) -> dict[str, float]:
    features: dict[str, float] = {}
    for token in filter(None, b";".join(tokens).split(b";")):
        name, equals, value = token.rpartition(b"=")
        require(b"=" not in name and bool(name) == bool(equals), "unexpected input in features")
        require(REAL.fullmatch(value), "unexpected input in a feature value")
        features[name.decode() if equals else str(len(features))] = float(value)
    require(len(features) <= MOST_FEATURES, "more features than there is room for")
    return features


def _link(token: bytes, source: tuple, target: tuple) -> tuple[int, int]:
    require(re.fullmatch(rb"[0-9]+-[0-9]+", token), "unexpected input in the alignment")
    i, j = map(int, token.split(b"-"))
    require(i < len(source) and j < len(target), "a link past the end")
    return i, j


def read_segment(line: bytes) -> tuple[dict[str, str], list[bytes]]:
    """The attributes of a `<seg …> … </seg>` line (none without it), and the words of its sentence."""
    attributes: dict[str, str] = {}
    require(not line.startswith((b"<SEG", b"<Seg")), "segment tags must be lowercase")
    require(not line.startswith(b'{"rules":'), "is taken for rules")
    if line.startswith(b"<seg"):
        head, _, rest = line.partition(b">")
        line, end, behind = rest.partition(b"</seg>")
        require(end and not behind, "a segment ends with </seg>")
        found = re.findall(r'(\w+)="([^"]*)"', head[4:].decode())
        require(head[4:].decode() == "".join(f' {name}="{value}"' for name, value in found), "attributes")
        attributes = dict(found)
    require(b"|||" not in line, "what follows ||| is taken for a reference")
    require(not line.lstrip(b" \t").startswith(b"((('"), "is taken for a lattice")
    words = re.findall(rb"[^ \t\n\r]+", line)
    require(b"*EPS*" not in words, "`*EPS*` is no word (decoder/bottom_up_parser.cc)")
    for word in words:  # The rule that copies a word is spelled out, and read by the lexer.
        try:
            copied = read_line(b"[X] ||| %b ||| %b ||| PassThrough=1" % (word, word)).source
        except Refused:
            copied = ()
        require(copied == (word,), f"{word!r} is taken for a nonterminal")
    return attributes, words


def read_input(line: bytes) -> list[bytes]:
    """The words of a line of input."""
    return read_segment(line)[1]


def read_text(data: bytes) -> list[list[bytes]]:
    """The words of all sentences of a text; `decoder/cdec.cc` leaves out lines without characters."""
    return [read_input(line) for line in lines_of(data) if line]


__all__ = ["Refused", "read_input", "read_line", "read_segment", "read_table", "read_text"]
