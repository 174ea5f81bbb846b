"""Moses: moses-smt/mosesdecoder 3445289 (2025-02-03).

`moses/TranslationModel/RuleTable/LoaderStandard.cpp` splits lines at every `|||`, inside words too;
`moses/Phrase.cpp` and `moses/Word.cpp` (CreateFromString) take a token that begins with `[` *and* ends with
`]` for a nonterminal, anything else for a word, and tear words at `|`, the separator of factors;
`moses/TargetPhrase.cpp` (SetAlignmentInfo, SetProperties) and PhraseDictionaryMemory.cpp (GetOrCreateNode)
pair nonterminals by the alignment; `moses/Sentence.cpp` and `moses/Util.cpp` (ProcessAndStripSGML,
ProcessAndStripDLT) read input, in which tags are text unless `-xml-input` says otherwise. `OnDiskPt/Main.cpp`
and the other binarisers want tables sorted as bytes. No reader knows comments, and no reader unescapes
anything: `&apos;` is another word than `'` for the table, the input and the language model alike.
"""

from __future__ import annotations

import math
import re

from tests.recognisers import Refused, Rule, each_line, require, require_sorted, require_words

DECIMAL = re.compile(rb"[-+]?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?")
BOUNDARIES = (b"<s>", b"</s>")


def read_table(data: bytes) -> list[Rule]:
    """The rules of a table, sorted for the binarisers, with four scores (moses.ini: num-features)."""
    require_sorted(data)
    return each_line(data, lambda line: read_line(line, 4))


def read_glue(data: bytes) -> list[Rule]:
    """The rules of a glue grammar, which has one score."""
    return each_line(data, lambda line: read_line(line, 1))


def read_line(line: bytes, num_scores: int) -> Rule:
    fields = line.removesuffix(b"\r").split(b"|||")
    require(len(fields) >= 4, "source, target, scores, alignment")
    require(len(fields) <= 7, "something after the properties")
    source, source_label = _side(fields[0], 1)
    target, target_label = _side(fields[1], 2)
    scores = re.findall(rb"[^ \t]+", fields[2])
    require(all(map(DECIMAL.fullmatch, scores)), "a score is no number")
    require(len(scores) == num_scores, "not as many scores as moses.ini says")
    require(all(float(score) > 0 for score in scores), "the logarithm of a score is taken")
    features = {str(k): math.log(float(score)) for k, score in enumerate(scores)}
    sparse = fields[5].split() if len(fields) > 5 else []
    require(len(sparse) % 2 == 0, "sparse features are pairs of a name and a value")
    for name, value in zip(sparse[::2], sparse[1::2], strict=True):
        require(DECIMAL.fullmatch(value), "a sparse value is no number")
        features[name.decode()] = float(value)
    properties = fields[6] if len(fields) > 6 else b""
    require(properties == b"", "a property is {{Key value}}, and an empty field has not even a space")
    labels = target
    source, target, links = _paired(source, target, re.findall(rb"[^ \t]+", fields[3]))
    by_number = {-x: label[0] for x, label in zip(target, labels, strict=True) if isinstance(x, int)}
    gaps = tuple(by_number[number] for number in sorted(by_number))
    if target_label == b"X":
        forged = [symbol for symbol in source + target if symbol in BOUNDARIES]
        require(not forged, "the ends of a sentence are the glue grammar's")
        require_words(source + target)
    require(source_label == b"X", "the source side's label")
    return Rule(target_label, source, target, features, links, gaps)


def _side(text: bytes, direction: int) -> tuple[list, bytes]:
    """The symbols of a side, nonterminals as labels in a tuple, and the side's label."""
    tokens = re.findall(rb"[^ \t]+", text)
    require(len(tokens) > 1 and _bracketed(tokens[-1]), "a side is symbols and a label in brackets")
    require(re.fullmatch(rb"\[[^\[\]]+\]", tokens[-1]), "the label is torn")
    symbols: list = []
    for token in tokens[:-1]:
        if _bracketed(token):
            both = re.fullmatch(rb"\[([^\[\]]+)\]\[([^\[\]]+)\]", token)
            require(both, "a nonterminal has two labels, as in [X][X]")
            symbols.append((both[direction],))  # type: ignore[index]
        else:
            require(b"|" not in token, "a word has more factors than moses.ini says")
            symbols.append(token)
    return symbols, tokens[-1][1:-1]


def _bracketed(token: bytes) -> bool:
    return len(token) >= 2 and token[:1] == b"[" and token[-1:] == b"]"


def _paired(source: list, target: list, tokens: list[bytes]) -> tuple[tuple, tuple, tuple]:
    sides = [list(source), list(target)]
    links = []
    for token in sorted(tokens, key=lambda token: int(token.split(b"-")[0]) if token[:1].isdigit() else 0):
        require(re.fullmatch(rb"[0-9]+-[0-9]+", token), "a link is two positions")
        i, j = map(int, token.split(b"-"))
        require(i < len(source) and j < len(target), "a link past the end")
        nonterminals = isinstance(source[i], tuple), isinstance(target[j], tuple)
        require(nonterminals[0] == nonterminals[1], "a link of a word and a nonterminal")
        if nonterminals[0]:
            number = sum(isinstance(symbol, tuple) for symbol in source[: i + 1])
            require(sides[0][i] == source[i] and sides[1][j] == target[j], "a nonterminal is paired twice")
            sides[0][i] = sides[1][j] = -number
        else:
            links.append((i, j))
    left = [symbol for side in sides for symbol in side if isinstance(symbol, tuple)]
    require(not left, "no alignment for a nonterminal")
    return tuple(sides[0]), tuple(sides[1]), tuple(links)


def read_input(line: bytes) -> list[bytes]:
    """The words of a line of input."""
    line = line.strip(b" \t\n\r")
    require(not line.lower().startswith(b"<seg"), "is taken for a segment")
    require(b"<dlt" not in line.lower(), "holds a command, if /> comes later")
    words = re.findall(rb"[^ \t]+", line)
    for word in words:
        require(b"|" not in word, f"{word!r} has factors")
        require(not _bracketed(word), f"{word!r} is taken for a nonterminal")
        require(word not in BOUNDARIES, f"{word!r} is an end of the sentence")
    require_words(words)
    return words


__all__ = ["Refused", "read_glue", "read_input", "read_line", "read_table"]
