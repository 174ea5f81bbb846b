"""Joshua: apache/joshua 716cc81 (2020-09-04).

`decoder/ff/tm/GrammarReader.java` and `decoder/ff/tm/format/HieroFormatReader.java` read tables, line by line
(Java's lines end at a carriage return, too) and without comments; `util/Constants.java` has the separator, a
bar with one white space on either side, `util/FormatUtils.java` what a nonterminal is.
`decoder/ff/FeatureVector.java` reads features: those without a name are dense, numbered and negated, others
are taken as they are, unless their name begins with `tm_OWNER_`. `decoder/ff/tm/Rule.java` reads links
into bytes. Tables need not be sorted. In input, `decoder/segment_file/Sentence.java` takes ` ||| ` for the
beginning of a reference, and `Token.java` what stands in brackets behind a word for its annotation; only then
are brackets and bars replaced. White space is Java's `\\s`, six characters of ASCII. `jni/kenlm_wrap.cc` asks
KenLM for what `GetStringUTFChars` gives, where a character beyond U+FFFF is two of three bytes.
"""

from __future__ import annotations

import re

from tests.recognisers import Refused, Rule, each_line, require, require_words

SPACE = rb"[ \t\n\x0b\f\r]"
BOUNDARIES = (b"<s>", b"</s>")
FLOAT = re.compile(rb"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


def read_table(data: bytes, owner: str = "pt") -> list[Rule]:
    """The rules of a table of that owner; every rule must have as many dense features as the first one."""
    rules = each_line(data, lambda line: read_line(line, owner))
    dense = [sum(name.startswith(f"tm_{owner}_") for name in rule.features) for rule in rules]
    require(len(set(dense)) <= 1, "line 1: has not as many dense features as the others")
    return rules


def read_glue(data: bytes) -> list[Rule]:
    """The rules of a glue grammar, whose owner is `glue`."""
    return read_table(data, "glue")


def read_line(line: bytes, owner: str) -> Rule:
    require(b"\r" not in line, "a carriage return ends the line")
    fields = re.split(SPACE + rb"\|{3}" + SPACE, line)
    while fields and not fields[-1]:  # As Java's split does.
        fields.pop()
    require(3 <= len(fields) <= 5, "label, source, target, features, alignment")
    require(_is_nonterminal(fields[0]) and b"," not in fields[0], "the left-hand side is no nonterminal")
    source: list[bytes | int] = []
    gaps: list[bytes] = []
    for token in re.split(SPACE + rb"+", fields[1]):
        require(token, "an empty word")
        if _is_nonterminal(token):
            gaps.append(token[1:].partition(b",")[0])
            number = rb"\[[^\[\],]+,%d\]" % len(gaps)
            require(re.fullmatch(number, token), "nonterminals are numbered in order")
        source.append(-len(gaps) if _is_nonterminal(token) else _word(token))
    arity = len(gaps)
    target: list[bytes | int] = []
    for token in re.split(SPACE + rb"+", fields[2]):
        require(token, "an empty word")
        if not _is_nonterminal(token):
            target.append(_word(token))
            continue
        numbered = re.fullmatch(rb"\[[^\[\],]+,([0-9]+)\]", token)
        require(numbered, "a target nonterminal without a number")
        target.append(-int(numbered[1]))  # type: ignore[index]
    require(sorted(x for x in target if isinstance(x, int)) == list(range(-arity, 0)), "nonterminals differ")
    if fields[0] == b"[X]":
        forged = [symbol for symbol in (*source, *target) if symbol in BOUNDARIES]
        require(not forged, "the ends of a sentence are the glue grammar's")
        _require_words([*source, *target])
    features = _features(fields[3] if len(fields) > 3 else b"", f"tm_{owner}_")
    links = _links(fields[4], source, target) if len(fields) > 4 else ()
    return Rule(fields[0][1:-1], tuple(source), tuple(target), features, links, tuple(gaps))


def _require_words(symbols: list) -> None:
    """Refuse words that KenLM takes for marks, or is not asked for as they stand in its file."""
    require_words(symbols)
    for symbol in symbols:
        known = isinstance(symbol, int) or not re.search(rb"[\xf0-\xf7]", symbol)
        require(known, f"KenLM is asked for other bytes than {symbol!r}")
        kept = isinstance(symbol, int) or not re.search(rb"%[Sacdefit]", symbol)
        require(kept, f"{symbol!r} is replaced in translations")


def _is_nonterminal(token: bytes) -> bool:
    return len(token.decode(errors="replace")) >= 3 and token[:1] == b"[" and token[-1:] == b"]"


def _word(token: bytes) -> bytes:
    """A word of a table; one that input never has, for want of replacing, is refused."""
    require(not re.search(rb"[\[\]|]", token), "input has -lsb-, -rsb- and -pipe- in place of this")
    return token


def _features(text: bytes, prefix: str) -> dict[str, float]:
    features: dict[str, float] = {}
    number = 0
    for token in re.split(SPACE + rb"+", text) if text.strip() else []:
        name, equals, value = token.partition(b"=")
        require(FLOAT.fullmatch(value if equals else token), "a feature is no number")
        if not equals:
            features[f"{prefix}{number}"] = -float(token)
            number += 1
        else:
            require(not name.decode().startswith(prefix), "a dense feature in disguise")
            require(name and name.decode() not in features, "a feature without a name, or twice")
            features[name.decode()] = float(value)
    return features


def _links(text: bytes, source: list, target: list) -> tuple[tuple[int, int], ...]:
    numbers = re.split(rb"[-\s]+", text)
    require(all(number.isdigit() for number in numbers), "an alignment is numbers and nothing else")
    require(len(numbers) % 2 == 0 and max(map(int, numbers)) <= 127, "an alignment is pairs of bytes")
    links = tuple(zip(map(int, numbers[::2]), map(int, numbers[1::2]), strict=True))
    require(all(i < len(source) and j < len(target) for i, j in links), "a link past the end")
    return links


def read_input(line: bytes) -> list[bytes]:
    """The words of a line of input, as the decoder looks them up in tables."""
    require(b"\r" not in line, "a carriage return ends the line")
    line = re.sub(SPACE + rb"+", b" ", line)
    line = line.strip(bytes(range(33)))  # Java's trim.
    require(not re.match(rb"<seg(\s|\Z)", line), "is taken for a segment, if id= comes next")
    require(b" ||| " not in line, "what follows ||| is taken for a reference")
    words = []
    for word in line.split(b" ") if line else []:
        require(not re.search(rb"\S\[\S+\]", word), f"{word!r} is taken for a word with an annotation")
        require(word not in BOUNDARIES, f"{word!r} is an end of the sentence")
        _require_words([word])
        words.append(word.replace(b"[", b"-lsb-").replace(b"]", b"-rsb-").replace(b"|", b"-pipe-"))
    return words


__all__ = ["Refused", "read_glue", "read_input", "read_line", "read_table"]
