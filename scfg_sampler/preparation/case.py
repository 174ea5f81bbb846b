"""Case: told from the training text what a word's letters look like when nothing forces a capital.

*True* casing gives the first word of a sentence the form it mostly has elsewhere (Lita, Ittycheriah, Roukos
and Kambhatla 2003, unigram model); *lower* casing makes every letter small, and recalls the forms when the
text is restored. Either way sentences get their capitals back, if those of the training text have them.

Scripts without capitals are told by their letters: a line of Korean with an acronym is no line of capitals.
Where the training text tells i from ı, as Turkish does, İ is the capital of one and I of the other.
Cherokee's usual letters are capitals by Unicode, and Georgian's small ones, whose counterparts begin no word:
they stay.

The fact a newcomer would get wrong: no letter changes its width. A few (İ, ß) become two when their case is
changed; they are left alone, so that a place in the text stays a place in the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from scfg_sampler.preparation.letters import COMBINING
from scfg_sampler.preparation.protected import protected_spans

__all__ = ["CASES", "CaseModel", "begins_small", "capitalised", "first_letter", "learn_case", "lowered"]

CASES = ("lower", "true", "keep")

_FEWEST_SHOUTED = 3
_WORD = re.compile(rf"(?:[^\W\d_][{COMBINING}]*)+")
_WORD_WITHOUT_ACCENTS = re.compile(r"[^\W\d_]+")
_NO_CAPITALS = "ǀǁǂǃʔʕʹʺʻʼʽʾʿˀˁªº"  # Letters of languages whose other letters have some.
_CHEROKEE = "\u13a0-\u13f5"
_CHANGED = re.compile(f"[^İ{_CHEROKEE}]+")
_CAPITAL = re.compile(f"[^{_CHEROKEE}]")
_SMALL = re.compile("[^\u10d0-\u10ff]")  # Georgian.
_DOTLESS = 0.25  # As many ı and İ as this share of i: more than half in Turkish, next to none elsewhere.
# Both begin where what they look for begins; from every place within a long run, time would be quadratic.
_STOP = re.compile(r"(?<![.!?։])[.!?։]+[\"'”’»)\]]* ")
_GREEK = re.compile("[\u0370-\u03ff\u1f00-\u1fff]")
_ABBREVIATION = re.compile(rf"(?<![^\W\d_])(?<![{COMBINING}])({_WORD.pattern})\.,? (?=([^\W\d_]))")


class CaseModel(NamedTuple):
    """What is known of a language's letters.

    begins_with_capital : whether sentences of the training text mostly do
    forms : small letters → the most frequent form of the word that no sentence begins with
    abbreviations : words, in small letters, whose full stop ends no sentence
    whole : whether accents that are no part of a letter are of words; they part them in models of versions up
        to 0.2
    dotless : whether i has the capital İ, and ı is another letter, with the capital I
    """

    begins_with_capital: bool
    forms: dict[str, str]
    abbreviations: frozenset[str]
    whole: bool = True
    dotless: bool = False

    def record(self) -> dict[str, Any]:
        """What JSON can hold, for `from_record`."""
        return {
            "begins_with_capital": self.begins_with_capital,
            "forms": sorted(self.forms.values()),
            "abbreviations": sorted(self.abbreviations),
            "whole": self.whole,
            "dotless": self.dotless,
        }

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> CaseModel:
        """The model that `record` has written; KeyError or TypeError if it is none."""
        whole, dotless = (bool(record.get(name, False)) for name in ("whole", "dotless"))
        forms = {lowered(form, dotless=dotless): form for form in record["forms"]}
        abbreviations = frozenset(record["abbreviations"])
        return cls(bool(record["begins_with_capital"]), forms, abbreviations, whole, dotless)

    def true(self, text: str) -> str:
        """The text with each first word of a sentence, and all of a line of capitals, as they mostly are."""
        if _is_in_capitals(text):
            return self._changed(text, lambda word, _: self.forms.get(self.small(word), self.small(word)))
        return self._changed(text, lambda word, is_first: self.forms.get(self.small(word), word) * is_first)

    def lower(self, text: str) -> str:
        """The text in small letters, but for what is protected."""
        return self._changed(text, lambda word, _: self.small(word))

    def recalled(self, text: str) -> str:
        """The text with every word of small letters in its most frequent form."""
        return self._changed(text, lambda word, _: self.forms.get(word, word))

    def with_capitals(self, text: str) -> str:
        """The text with a capital at the beginning of each sentence, if sentences have one."""
        if not self.begins_with_capital:
            return text
        return self._changed(text, lambda word, is_first: capitalised(word, dotless=self.dotless) * is_first)

    def small(self, text: str) -> str:
        """The text in small letters."""
        return lowered(text, dotless=self.dotless)

    def _changed(self, text: str, change: Any) -> str:
        """The text with each word replaced by what `change` gives for it; "" leaves it."""
        parts, done = [], 0
        for begin, end, is_first in _sentence_words(text, self):
            word = text[begin:end]
            other = change(word, is_first)
            if other and other != word:
                parts += [text[done:begin], other]
                done = end
        return "".join([*parts, text[done:]])


_UNKNOWN = CaseModel(False, {}, frozenset())


def learn_case(lines: Iterable[str]) -> CaseModel:
    """The model of a text.

    Words that begin a sentence, follow an opening quotation mark or stand in a line of capitals say nothing
    of their form. Ties go to small letters.
    """
    counts: Counter[str] = Counter()
    stops: dict[str, list[int]] = {}
    capitals = others = dots = dotless = 0
    for text in lines:
        dots += text.count("i")
        dotless += text.count("ı") + text.count("İ")
        for match in _ABBREVIATION.finditer(text):
            stops.setdefault(match[1], [0, 0])[match[2] == match[2].lower() != match[2].upper()] += 1
        places = list(_sentence_words(text, _UNKNOWN))
        words = [text[begin:end] for begin, end, _ in places]
        if not words or (len(words[0]) + len(words) > 2 and _are_capitals(words)):
            continue
        if first := words[0][_first(words[0]) :][:1]:
            capitals += _is_capital(first)
            others += not _is_capital(first)
        for word, (begin, _, is_first) in zip(words, places, strict=True):
            if not is_first and text[begin - 1] in " -'’(/":
                counts[word] += 1
    model = CaseModel(capitals > others, {}, frozenset(), dotless=dotless > _DOTLESS * dots)
    return model._replace(forms=_forms(counts, model), abbreviations=_abbreviations(stops, model))


def _forms(counts: Counter[str], model: CaseModel) -> dict[str, str]:
    """The most frequent form of each word, given how often each form is there."""
    found: dict[str, Counter[str]] = {}
    for word, number in counts.items():
        found.setdefault(model.small(word), Counter())[word] = number
    return {small: _most_frequent(forms, small) for small, forms in found.items()}


def _abbreviations(stops: dict[str, list[int]], model: CaseModel) -> frozenset[str]:
    """The words, in small letters, behind whose full stop sentences end less often than they go on."""
    ends: Counter[str] = Counter()
    for word, (number_of_ends, goes_on) in stops.items():
        ends[model.small(word)] += number_of_ends - goes_on
    return frozenset(word for word, more in ends.items() if more < 0)


def _most_frequent(found: Counter[str], small_form: str) -> str:
    return min(found, key=lambda form: (-found[form], form != small_form, form))


def lowered(text: str, *, dotless: bool = False) -> str:
    """The text in small letters, but for İ, which would become two, and Cherokee's letters.

    With `dotless`, as in Turkish, İ becomes i, and I becomes ı.

    >>> lowered("İSTANBUL, Straße"), len(lowered("İ")), lowered("ΤΗΣ ΠΟΛΗΣ")
    ('İstanbul, straße', 1, 'της πολης')
    >>> lowered("İYİ IŞIK", dotless=True), lowered("ᎠᏴ")
    ('iyi ışık', 'ᎠᏴ')
    """
    if dotless:
        text = text.replace("İ", "i").replace("I", "ı")
    return text.lower() if text.isascii() else _CHANGED.sub(lambda match: match[0].lower(), text)


def capitalised(text: str, *, dotless: bool = False) -> str:
    """The text with a capital as its first letter, unless that would become two.

    Clicks and glottal stops have none: the letter behind them is it. With `dotless` the capital of i is İ.

    >>> capitalised("über"), capitalised("ßa"), capitalised("ǃgâi"), capitalised("ʻōlelo")
    ('Über', 'ßa', 'ǃGâi', 'ʻŌlelo')
    """
    at = _first(text)
    first = text[at : at + 1]
    if not _is_small(first):
        return text
    first = "İ" if dotless and first == "i" else first.upper()
    return text[:at] + first + text[at + 1 :] if len(first) == 1 else text


def _first(word: str) -> int:
    """The place of the letter that may be a capital."""
    return len(word) - len(word.lstrip(_NO_CAPITALS))


def _is_in_capitals(text: str) -> bool:
    """Whether a text is a line of capitals, and not a name or two: it has at least three words.

    >>> _is_in_capitals("WE ARE CLOSED!"), _is_in_capitals("A B C"), _is_in_capitals("NATO, UN")
    (True, False, False)
    """
    words = [text[begin:end] for begin, end, _ in _sentence_words(text, _UNKNOWN)]
    return len(words) >= _FEWEST_SHOUTED and sum(map(len, words)) > len(words) and _are_capitals(words)


def _are_capitals(words: list[str]) -> bool:
    """Whether all letters of some words are capitals; those of scripts without capitals are none.

    >>> _are_capitals(["ART", "º"]), _are_capitals(["한국은", "NATO"]), _are_capitals(["Straße"])
    (True, False, False)
    """
    letters = {letter for letter in "".join(words) if letter.isalpha() and letter not in _NO_CAPITALS}
    return bool(letters) and all(map(_is_capital, letters))


def _is_capital(letter: str) -> bool:
    return letter != letter.lower() and _CAPITAL.match(letter) is not None


def _is_small(letter: str) -> bool:
    return letter != letter.upper() and _SMALL.match(letter) is not None


def begins_small(text: str) -> bool:
    """Whether the first letter of a text is a small one, in a script that has capitals."""
    at = first_letter(text)
    return _is_small(text[at : at + 1])


def first_letter(text: str) -> int:
    """Where the letter of a text is that may be a capital; its end if there is none.

    >>> first_letter("« ʼyan"), first_letter("a"), first_letter("5")
    (3, 0, 1)
    """
    first = _WORD.search(text)
    return len(text) if first is None else first.start() + _first(first[0])


def _sentence_words(text: str, known: CaseModel) -> Iterator[tuple[int, int, bool]]:
    """Begin and end of each word that is not protected, and whether a sentence begins with it."""
    words = _WORD if known.whole else _WORD_WITHOUT_ACCENTS
    kept = list(protected_spans(text))
    kept.append((len(text), len(text), False))
    at, before = 0, 0  # The next protected part, and the end of the last word or protected part.
    last = ""
    is_first = True
    for match in words.finditer(text):
        begin, end = match.span()
        while kept[at][1] <= begin:
            before = kept[at][1]
            last = "" if kept[at][2] else text[kept[at][0] : before]
            at += 1
        if kept[at][0] < end:
            continue
        if before:
            is_first = _ends_sentence(text[before:begin], last, known)
        yield begin, end, is_first
        before, last = end, match[0]


def _ends_sentence(between: str, last: str, known: CaseModel) -> bool:
    """Whether what stands between a word (for a number, "") and the next one ends a sentence."""
    if between == " ":
        return False
    if known.whole and ";" in between and _GREEK.fullmatch(last[-1:]):
        between = between.replace(";", "?")  # What it is in Greek.
    stop = _STOP.search(between)
    if stop is None or ".." in between:
        return False
    if between[stop.start()] == "." and stop.start() == 0:
        return len(last) > 1 and known.small(last) not in known.abbreviations
    return True
