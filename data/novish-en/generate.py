#!/usr/bin/env python3
"""Draw the Novish–English corpus from its synchronous grammar, the same text on every machine.

A derivation of `grammar.txt` yields a Novish sentence, its English translation and the word alignment at
once: a rule rewrites a pair of linked nonterminals, and words of one rule that carry the same mark are
aligned. Sentence pairs are drawn independently with probability proportional to the product of the rule
weights and kept when they are new and of a usable length. No Novish sentence occurs in two of the three
parts, so that dev and test ask for combinations that were never seen.

The fact a newcomer would get wrong: only `random.Random(seed).random()` is promised to give the same numbers
in every version of Python, `choices` and `shuffle` are not. So every choice is made from one such number.

    python data/novish-en/generate.py                  # writes the corpus beside this file
    python data/novish-en/generate.py --output DIR     # … somewhere else
    python data/novish-en/generate.py --derive 5       # five sentence pairs with the rules used
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import random
import re
from pathlib import Path
from typing import NamedTuple

__all__ = ["Grammar", "Pair", "corpus", "load_grammar", "main", "write_corpus"]

HERE = Path(__file__).resolve().parent
SEED = 2014
PARTS = {"train": 3000, "dev": 200, "test": 200}
LENGTHS = range(4, 23)  # Words of a Novish sentence, the full stop included.
MAX_DEPTH = 24


class Symbol(NamedTuple):
    """A nonterminal (`name` and the number `link` that pairs it) or, with link 0, a word and its mark."""

    name: str
    link: int = 0
    mark: str = ""


class Rule(NamedTuple):
    """One line of the grammar with its variables and words filled in."""

    left: str
    source: tuple[Symbol, ...]
    target: tuple[Symbol, ...]
    weight: float
    text: str


class Pair(NamedTuple):
    """A sentence pair: words of both sides and sorted links (source position, target position)."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: tuple[tuple[int, int], ...]


class Words(NamedTuple):
    """What fills the braces of a rule.

    lists : list name → entries (Novish, translations), a translation being the forms given for it.
    forms : form name → (Novish prefix+suffix, name of the English form).
    irregular : English verb → its four forms.
    """

    lists: dict[str, list[tuple[str, list[list[str]]]]]
    forms: dict[str, tuple[str, str]]
    irregular: dict[str, list[str]]


Grammar = dict[str, tuple[list[float], list[Rule]]]  # Left-hand side → cumulative weights and rules.


class TooDeep(Exception):
    """A derivation grew beyond MAX_DEPTH; it is thrown away."""


# ---------------------------------------------------------------------------- the lexicon


def read_lexicon(path: Path) -> dict[str, list[tuple[str, list[list[str]]]]]:
    """The `lists` of `Words`."""
    lists: dict[str, list[tuple[str, list[list[str]]]]] = {}
    for line in _lines(path):
        if line.startswith("["):
            entries = lists.setdefault(line.strip("[]"), [])
        elif numbers := re.fullmatch(r"(\d+)\.\.(\d+)", line):
            entries += [(str(n), [[str(n)]]) for n in range(int(numbers[1]), int(numbers[2]) + 1)]
        elif "=" in line:
            novish, english = line.split("=")
            entries.append((novish.strip(), [forms.split() for forms in english.split("|")]))
        else:
            entries.append((line.split()[0], [line.split()]))
    return lists


def english_form(given: list[str], form: str) -> str:
    """An English word in the named form: as given in the lexicon, else by rule.

    >>> english_form(["carry"], "third"), english_form(["man", "men"], "plural")
    ('carries', 'men')
    >>> english_form(["look_for"], "past"), english_form(["brave", "braver"], "comparative")
    ('looked_for', 'braver')
    """
    place = {"plural": 1, "comparative": 1, "third": 1, "past": 2, "participle": 3}.get(form, 0)
    if place < len(given):
        return given[place]
    word, underscore, rest = given[0].partition("_")
    if form == "comparative":
        return f"more_{word}"
    after_consonant_y = re.search(r"[^aeiou]y$", word) is not None
    if form in ("plural", "third"):
        hissing = word.endswith(("s", "x", "ch", "sh"))
        inflected = word[:-1] + "ies" if after_consonant_y else word + ("es" if hissing else "s")
    else:
        inflected = word[:-1] + "ied" if after_consonant_y else word + ("d" if word.endswith("e") else "ed")
    return inflected + underscore + rest


def novish_form(stem: str, affixes: str) -> str:
    """A Novish word with "prefix+suffix": a final vowel absorbs an e, a final t absorbs a t.

    >>> novish_form("sie", "+en"), novish_form("les", "ge+t"), novish_form("et", "+te")
    ('sien', 'gelest', 'ete')
    """
    prefix, suffix = affixes.split("+")
    if (stem[-1] in "aeiou" and suffix.startswith("e")) or (stem[-1] == "t" and suffix.startswith("t")):
        suffix = suffix[1:]
    return prefix + stem + suffix


# ---------------------------------------------------------------------------- the grammar


def load_grammar(directory: Path = HERE) -> Grammar:
    """The rules of `grammar.txt` with every variable and every word of `lexicon.txt` filled in."""
    lists = read_lexicon(directory / "lexicon.txt")
    irregular = {given[0]: given for _, translations in lists.pop("irregular") for given in translations}
    words = Words(lists, {}, irregular)
    variables: dict[str, list[str]] = {}
    rules: dict[str, list[Rule]] = {}
    for line in _lines(directory / "grammar.txt"):
        kind, _, rest = line.partition(" ")
        if kind == "variable":
            name, values = rest.split("=")
            variables[name.strip()] = values.split()
        elif kind == "form":
            name, value = rest.split("=")
            affixes, english = value.split()
            words.forms[name.strip()] = (affixes, english)
        else:
            for filled in _fill_variables(line, variables):
                for rule in _fill_words(filled, words):
                    rules.setdefault(rule.left, []).append(rule)
    return {
        left: (list(itertools.accumulate(r.weight for r in group)), group) for left, group in rules.items()
    }


def _lines(path: Path) -> list[str]:
    lines = (re.sub(r"(^|\s)#.*", "", line).strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line]


def _fill_variables(line: str, variables: dict[str, list[str]]) -> list[str]:
    """One line for each combination of values of the variables in it."""
    names = [name for name in variables if name in line]
    filled = []
    for values in itertools.product(*(variables[name] for name in names)):
        copy = line
        for name, value in zip(names, values, strict=True):
            copy = copy.replace(name, value)
        filled.append(copy)
    return filled


def _fill_words(line: str, words: Words) -> list[Rule]:
    """One rule for each entry of the list the line names, or the one rule it is."""
    line, _, list_name = line.partition("@")
    if not list_name:
        return [_rule(line, {}, 1.0, words)]
    entries = words.lists[list_name.strip()]
    rank_weights = [1.0 / (rank + 1) for rank in range(1, len(entries) + 1)]
    if list_name.strip() == "year":
        rank_weights = [1.0] * len(entries)
    rules = []
    for (novish, translations), rank_weight in zip(entries, rank_weights, strict=True):
        stem, _, particle = novish.partition("+")
        shares = [1.0] if len(translations) == 1 else [2 / 3, 1 / 3]
        for english, share in zip(translations, shares, strict=True):
            entry = {"novish": stem, "particle": particle, "english": english}
            rules.append(_rule(line, entry, share * rank_weight / sum(rank_weights), words))
    return rules


def _rule(line: str, entry: dict, share: float, words: Words) -> Rule:
    """The rule of a line, with the words of a lexicon entry and a share of the line's weight."""
    fields = [field.strip() for field in line.split("|||")]
    left, source, target = fields[0].strip("[]"), fields[1], fields[2]
    weight = float(fields[3]) if len(fields) > 3 and fields[3] else 1.0

    def novish(braces: re.Match) -> str:
        word, _, form = braces[1].partition(":")
        stem = entry.get(word, word)
        return novish_form(stem, words.forms[form][0]) if form else stem

    def english(braces: re.Match) -> str:
        word, _, form = braces[1].partition(":")
        given = entry["english"] if word == "english" else words.irregular.get(word, [word])
        return english_form(given, words.forms[form][1] if form else "base")

    source = re.sub(r"\{([^}]*)\}", novish, source)
    target = re.sub(r"\{([^}]*)\}", english, target)
    rule = Rule(
        left, _symbols(source), _symbols(target), weight * share, f"[{left}] ||| {source} ||| {target}"
    )
    linked = [sorted((s.link, s.name) for s in side if s.link) for side in (rule.source, rule.target)]
    assert linked[0] == linked[1], f"the two sides do not have the same nonterminals: {rule.text}"
    return rule


def _symbols(side: str) -> tuple[Symbol, ...]:
    symbols = []
    for token in side.split():
        if nonterminal := re.fullmatch(r"\[(.+),(\d)\]", token):
            symbols.append(Symbol(nonterminal[1], int(nonterminal[2])))
        else:
            word, _, mark = token.partition("~")
            symbols += [Symbol(part, 0, mark) for part in word.split("_")]
    return tuple(symbols)


# ---------------------------------------------------------------------------- sentences


def derive(grammar: Grammar, rng: random.Random, trail: list[str] | None = None) -> Pair:
    """A sentence pair drawn from the grammar; the rules used are appended to `trail`, top down."""
    pair = _expand("S", grammar, rng, 0, trail)
    target = tuple(
        "an" if word == "a" and re.match("[aeiou]", following) else word
        for word, following in itertools.zip_longest(pair.target, pair.target[1:], fillvalue="")
    )
    return Pair(pair.source, target, tuple(sorted(pair.links)))


def _expand(left: str, grammar: Grammar, rng: random.Random, depth: int, trail: list[str] | None) -> Pair:
    if depth > MAX_DEPTH:
        raise TooDeep
    cumulative, rules = grammar[left]
    threshold = rng.random() * cumulative[-1]
    rule = next(rule for bound, rule in zip(cumulative, rules, strict=True) if threshold < bound)
    if trail is not None:
        trail.append(rule.text)
    children = {s.link: _expand(s.name, grammar, rng, depth + 1, trail) for s in rule.source if s.link}
    source, source_places, source_marks = _lay_out(rule.source, {k: c.source for k, c in children.items()})
    target, target_places, target_marks = _lay_out(rule.target, {k: c.target for k, c in children.items()})
    links = [
        (source_places[k] + i, target_places[k] + j) for k, child in children.items() for i, j in child.links
    ]
    for mark in source_marks.keys() & target_marks.keys():
        left_words, right_words = source_marks[mark], target_marks[mark]
        one_to_one = len(left_words) == len(right_words)
        links += (zip if one_to_one else itertools.product)(left_words, right_words)
    return Pair(tuple(source), tuple(target), tuple(links))


def _lay_out(side: tuple[Symbol, ...], children: dict[int, tuple[str, ...]]):
    """Words of one side, where each child begins, and the positions of each mark."""
    words: list[str] = []
    places: dict[int, int] = {}
    marks: dict[str, list[int]] = {}
    for symbol in side:
        if symbol.link:
            places[symbol.link] = len(words)
            words += children[symbol.link]
        else:
            if symbol.mark:
                marks.setdefault(symbol.mark, []).append(len(words))
            words.append(symbol.name)
    return words, places, marks


def corpus(grammar: Grammar, seed: int = SEED) -> dict[str, list[Pair]]:
    """Part name → its sentence pairs; no Novish sentence is repeated, within a part or between parts."""
    rng = random.Random(seed)
    seen: set[tuple[str, ...]] = set()
    parts: dict[str, list[Pair]] = {}
    for name, size in PARTS.items():
        parts[name] = []
        while len(parts[name]) < size:
            try:
                pair = derive(grammar, rng)
            except TooDeep:
                continue
            if len(pair.source) in LENGTHS and pair.source not in seen:
                seen.add(pair.source)
                parts[name].append(pair)
    return parts


# ---------------------------------------------------------------------------- the raw edition


def raw_edition(parts: dict[str, list[Pair]], names: set[str]) -> tuple[list[str], list[str]]:
    """All pairs as people would have written them, and about one dirty line in thirty between them."""
    rng = random.Random(SEED)
    sides: tuple[list[str], list[str]] = ([], [])
    pairs = [pair for pairs in parts.values() for pair in pairs]
    for number, pair in enumerate(pairs):
        both = written(pair.source, names), written(pair.target, names | {"i"})
        lines = [both]
        if number == len(pairs) // 2:
            lines.append((both[0], "long " * 2000))
        elif rng.random() < 1 / 30:
            lines.append(dirtied(*both, rng))
        for one, other in lines:
            sides[0].append(one)
            sides[1].append(other)
    return sides


def written(words: tuple[str, ...], names: set[str]) -> str:
    """A sentence with its capitals and with its punctuation where it belongs.

    >>> written(("anna", "'s", "dog", ",", "ida", "."), {"anna", "ida"})
    "Anna's dog, Ida."
    """
    text = " ".join(word.capitalize() if word in names else word for word in words)
    text = re.sub(r" ([.,?]|'s\b)", r"\1", text)
    return text[0].upper() + text[1:]


def dirtied(source: str, target: str, rng: random.Random) -> tuple[str, str]:
    """What a pair of lines may look like in text that nobody has looked through."""
    kinds = (
        (source, target),  # once more
        ("", ""),
        (source, ""),
        ("", target),
        (source, source),  # not translated
        (source, " ".join([target] * 12)),  # something else as well
        (source.upper(), target.upper()),
        (f'"{source}"', f'"{target}"'),
        (source.replace(" ", "\u00a0", 1), target.replace(" ", "  ", 1)),
        (f"{source[:-1]} (1,5).", f"{target[:-1]} (1,5)."),
        ("Skrif til ida@novish.example.org!", "Write to ida@novish.example.org!"),
    )
    return kinds[int(rng.random() * len(kinds))]


def write_raw(sides: tuple[list[str], list[str]], directory: Path) -> None:
    """Write novish.gz, which begins with a byte order mark, and en.gz, whose lines end as on Windows."""
    directory.mkdir(parents=True, exist_ok=True)
    novish = "\ufeff" + "".join(line + "\n" for line in sides[0])
    english = "".join(line + "\r\n" for line in sides[1])
    for name, text in (("novish", novish), ("en", english)):
        (directory / f"{name}.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def write_corpus(parts: dict[str, list[Pair]], directory: Path) -> None:
    """Write PART.novish.gz, PART.en.gz and PART.novish-en.gold.gz (Pharaoh links, counted from 0)."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, pairs in parts.items():
        columns = {
            "novish": (" ".join(pair.source) for pair in pairs),
            "en": (" ".join(pair.target) for pair in pairs),
            "novish-en.gold": (" ".join(f"{i}-{j}" for i, j in pair.links) for pair in pairs),
        }
        for suffix, lines in columns.items():
            text = "".join(line + "\n" for line in lines)
            # Without a time stamp, so that the same text gives the same file.
            (directory / f"{name}.{suffix}.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    names = {novish for novish, _ in read_lexicon(HERE / "lexicon.txt")["name"]}
    write_raw(raw_edition(parts, names), directory / "raw")


def main() -> None:
    """Write the corpus, or print derivations."""
    parser = argparse.ArgumentParser(description="Draw the Novish–English corpus from its grammar.")
    parser.add_argument(
        "--output", type=Path, default=HERE, help="directory to write to (default: beside this file)"
    )
    parser.add_argument(
        "--seed", type=int, default=SEED, help="default: %(default)s, which gives the bundled corpus"
    )
    parser.add_argument("--derive", type=int, metavar="N", help="print N derivations instead")
    arguments = parser.parse_args()
    grammar = load_grammar()
    if arguments.derive is None:
        write_corpus(corpus(grammar, arguments.seed), arguments.output)
        return
    rng = random.Random(arguments.seed)
    for _ in range(arguments.derive):
        trail: list[str] = []
        pair = derive(grammar, rng, trail)
        print(
            " ".join(pair.source), "|||", " ".join(pair.target), "|||", *(f"{i}-{j}" for i, j in pair.links)
        )
        print("".join(f"    {text}\n" for text in trail))


if __name__ == "__main__":
    main()
