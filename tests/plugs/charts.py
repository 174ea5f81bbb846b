"""All translations of a sentence that a decoder's directory for labels allows, with their best scores.

Written from what the decoders' sources say of nonterminals: a rule covers a span if what fills its gaps has
their labels; glue rules begin with the sentence; copied words are of one label in cdec, Joshua and Travatar,
of several in Moses, which takes no rule of a single nonterminal. The language model weighs nothing.
"""

from __future__ import annotations

import gzip
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.recognisers import Rule, cdec, joshua, moses, travatar

READERS = {"cdec": cdec, "moses": moses, "joshua": joshua, "travatar": travatar}
ENDS = b"<s>", b"</s>"

Found = dict[tuple[bytes, ...], float]


class Weighed(NamedTuple):
    """A rule with its score; `first` if it covers beginnings of a sentence alone."""

    rule: Rule
    score: float
    first: bool = False


class Grammar(NamedTuple):
    """What a directory holds.

    copied : the labels of a copied word
    copying : its score
    word : the score of each word, copied or not
    """

    rules: list[Weighed]
    start: bytes
    copied: list[bytes]
    copying: float
    word: float = 0.0
    known_too: bool = True
    ends: bool = False
    relabels: bool = True


def read(directory: Path, decoder: str) -> Grammar:
    """The grammar of a directory, read as the decoder reads it."""
    return {"cdec": _cdec, "moses": _moses, "joshua": _joshua, "travatar": _travatar}[decoder](directory)


def translations(grammar: Grammar, words: list[bytes]) -> Found:
    """All translations of a sentence, with the score of the best derivation of each."""
    if grammar.ends:
        words = [ENDS[0], *words, ENDS[1]]
    chart: dict[tuple[int, int], dict[bytes, Found]] = {}
    for size in range(1, len(words) + 1):
        for i in range(len(words) - size + 1):
            cell: dict[bytes, Found] = {}
            chart[i, i + size] = cell
            _fill(grammar, words, chart, i, i + size)
    goal = chart[0, len(words)].get(grammar.start, {})
    return {tuple(x for x in words if x not in ENDS): score for words, score in goal.items()}


def _fill(grammar: Grammar, words: list[bytes], chart, i: int, j: int) -> None:
    cell = chart[i, j]
    single, several = [], []
    for each in grammar.rules:
        is_single = len(each.rule.source) == 1 and each.rule.source[0] == -1
        (single if is_single else several).append(each)
    for rule, score, first in several:
        for parts in _matches(rule, words, chart, i, j) if not first or i == 0 else ():
            _add(cell, rule, score, parts, grammar.word)
    if j == i + 1 and words[i] not in ENDS and (grammar.known_too or not cell):
        for label in grammar.copied:
            _keep(cell, label, (words[i],), grammar.copying + grammar.word)
    before = -1
    while grammar.relabels and before != (before := sum(map(len, cell.values()))):
        for rule, score, first in single:
            if (not first or i == 0) and rule.gaps[0] in cell:
                _add(cell, rule, score, [dict(cell[rule.gaps[0]])], grammar.word)


def _matches(rule: Rule, words: list[bytes], chart, i: int, j: int, k: int = 0) -> Iterator[list[Found]]:
    """What may fill the gaps of a rule from its symbol k on, over [i, j)."""
    if k == len(rule.source):
        if i == j:
            yield []
        return
    symbol = rule.source[k]
    if isinstance(symbol, bytes):
        if i < j and words[i] == symbol:
            yield from _matches(rule, words, chart, i + 1, j, k + 1)
        return
    for end in range(i + 1, j + 1):
        if (i, end) in chart and rule.gaps[-1 - symbol] in chart[i, end]:
            for rest in _matches(rule, words, chart, end, j, k + 1):
                yield [chart[i, end][rule.gaps[-1 - symbol]], *rest]


def _add(cell: dict[bytes, Found], rule: Rule, score: float, parts: list[Found], word: float) -> None:
    own = sum(isinstance(x, bytes) for x in rule.target)
    for filled in itertools.product(*(part.items() for part in parts)):
        sides = [filled[-1 - x][0] if isinstance(x, int) else (x,) for x in rule.target]
        total = score + own * word + sum(value for _, value in filled)
        _keep(cell, rule.label, tuple(itertools.chain(*sides)), total)


def _keep(cell: dict[bytes, Found], label: bytes, words: tuple[bytes, ...], score: float) -> None:
    found = cell.setdefault(label, {})
    found[words] = max(score, found.get(words, float("-inf")))


# ---- What each configuration says -----------------------------------------------------------------


def _unzipped(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


def _pairs(text: str, between: str = " ") -> dict[str, float]:
    """Names and numbers, one pair a line."""
    found = re.findall(rf"^([^\s=]+){between}([-+.e0-9]+)$", text, re.MULTILINE)
    return {name: float(value) for name, value in found}


def _weighed(rules: list[Rule], weights: dict[str, float], first: bool = False) -> list[Weighed]:
    """A feature without a weight counts nothing."""
    return [
        Weighed(rule, sum(weights.get(name, 0.0) * value for name, value in rule.features.items()), first)
        for rule in rules
    ]


def _cdec(directory: Path) -> Grammar:
    lines = [line.split("=", 1) for line in (directory / "cdec.ini").read_text().splitlines()]
    said = {name: value for name, value in lines if name != "grammar"}
    tables, copies = (directory / value for name, value in lines if name == "grammar")
    assert said["add_pass_through_rules"] == said["scfg_no_hiero_glue_grammar"] == "true"
    weights = _pairs((directory / said["weights"]).read_text())
    rules = _weighed(cdec.read_table(_unzipped(tables)), weights)
    rules += _weighed(cdec.read_table(copies.read_bytes()), weights)
    glue = cdec.read_table((directory / said["scfg_extra_glue_grammar"]).read_bytes())
    rules += _weighed(glue, weights, first=True)
    return Grammar(rules, said["goal"].encode(), [said["scfg_default_nt"].encode()], weights["PassThrough"])


def _joshua(directory: Path) -> Grammar:
    text = (directory / "joshua.config").read_text()
    said = dict(re.findall(r"^([\w-]+) = (\S+)$", text, re.MULTILINE))
    weights, rules = _pairs(text), []
    for owner, limit, name in re.findall(r"^tm = thrax -owner (\S+) -maxspan (\S+) -path (\S+)$", text, re.M):
        data = _unzipped(directory / name) if name.endswith(".gz") else (directory / name).read_bytes()
        rules += _weighed(joshua.read_table(data, owner), weights, first=limit == "-1")
    copied = [said["default-non-terminal"].encode()]
    return Grammar(rules, said["goal-symbol"].encode(), copied, -100 * weights["OOVPenalty"], ends=True)


def _travatar(directory: Path) -> Grammar:
    sections = _sections(directory / "travatar.ini")
    weights, rules = _pairs("\n".join(sections["weight_vals"]), "="), []
    assert len(sections["hiero_span_limit"]) == len(sections["tm_file"])
    for name in sections["tm_file"]:
        data = _unzipped(directory / name) if name.endswith(".gz") else (directory / name).read_bytes()
        rules += _weighed(travatar.read_table(data), weights)
    (start,), (copied,) = sections["root_symbol"], sections["unk_symbol"]
    return Grammar(rules, start.encode(), [copied.encode()], weights["unk"])


def _moses(directory: Path) -> Grammar:
    sections = _sections(directory / "moses.ini")
    weights: dict[str, float] = {}
    for line in sections["weight"]:
        name, values = line.split("= ")
        for k, value in enumerate(values.split()):
            own = {"TranslationModel0": str(k)}.get(name, name.removeprefix("TranslationModel0_"))
            weights[own] = float(value)
    rules = _weighed(moses.read_table(_unzipped(directory / "rule-table.gz")), weights)
    glue = moses.read_glue((directory / "glue-grammar").read_bytes())
    rules += _weighed(glue, {"0": weights["TranslationModel1"]}, first=True)
    copied = []
    for line in (directory / sections["unknown-lhs"][0]).read_bytes().splitlines():
        label, probability = line.split()
        assert float(probability) == 0.0  # Its logarithm is −100, the least that Moses knows.
        copied.append(label)
    (start,) = {rule.label for rule in glue}
    copying, word = -100 * weights["UnknownWordPenalty0"], -weights["WordPenalty0"]
    return Grammar(rules, start, copied, copying, word, known_too=False, ends=True, relabels=False)


def _sections(path: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in path.read_text().splitlines():
        if line.startswith("["):
            found[line[1:-1]] = own = []
        elif line:
            own.append(line)
    return found
