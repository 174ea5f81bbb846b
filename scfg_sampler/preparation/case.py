"""Case: told from the training text what a word's letters look like when nothing forces a capital.

*True* casing gives the first word of a sentence the form it mostly has elsewhere (Lita, Ittycheriah, Roukos
and Kambhatla 2003, unigram model); *lower* casing makes every letter small, and recalls the forms when the
text is restored. Either way sentences get their capitals back, if those of the training text have them.

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
_NO_CAPITALS = "ǀǁǂǃʔʕʹʺʻʼʽʾʿˀˁ"  # Letters of languages whose other letters have some.
# Both begin where what they look for begins; from every place within a long run, time would be quadratic.
_STOP = re.compile(r"(?<![.!?])[.!?]+[\"'”’»)\]]* ")
_ABBREVIATION = re.compile(rf"(?<![^\W\d_])(?<![{COMBINING}])({_WORD.pattern})\.,? (?=([^\W\d_]))")


class CaseModel(NamedTuple):
    """What is known of a language's letters.

    begins_with_capital : whether sentences of the training text mostly do
    forms : small letters → the most frequent form of the word that no sentence begins with
    abbreviations : words, in small letters, whose full stop ends no sentence
    whole : whether accents that are no part of a letter are of words; they part them in models of versions up
        to 0.2
    """

    begins_with_capital: bool
    forms: dict[str, str]
    abbreviations: frozenset[str]
    whole: bool = True

    def record(self) -> dict[str, Any]:
        """What JSON can hold, for `from_record`."""
        return {
            "begins_with_capital": self.begins_with_capital,
            "forms": sorted(self.forms.values()),
            "abbreviations": sorted(self.abbreviations),
            "whole": self.whole,
        }

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> CaseModel:
        """The model that `record` has written; KeyError or TypeError if it is none."""
        forms = {lowered(form): form for form in record["forms"]}
        whole = bool(record.get("whole", False))
        return cls(bool(record["begins_with_capital"]), forms, frozenset(record["abbreviations"]), whole)

    def true(self, text: str) -> str:
        """The text with each first word of a sentence, and all of a line of capitals, as they mostly are."""
        if _is_in_capitals(text):
            return self._changed(text, lambda word, _: self.forms.get(lowered(word), lowered(word)))
        return self._changed(text, lambda word, is_first: self.forms.get(lowered(word), word) * is_first)

    def lower(self, text: str) -> str:
        """The text in small letters, but for what is protected."""
        return self._changed(text, lambda word, _: lowered(word))

    def recalled(self, text: str) -> str:
        """The text with every word of small letters in its most frequent form."""
        return self._changed(text, lambda word, _: self.forms.get(word, word))

    def with_capitals(self, text: str) -> str:
        """The text with a capital at the beginning of each sentence, if sentences have one."""
        if not self.begins_with_capital:
            return text
        return self._changed(text, lambda word, is_first: capitalised(word) * is_first)

    def _changed(self, text: str, change: Any) -> str:
        """The text with each word replaced by what `change` gives for it; "" leaves it."""
        parts, done = [], 0
        words = _WORD if self.whole else _WORD_WITHOUT_ACCENTS
        for begin, end, is_first in _sentence_words(text, self.abbreviations, words):
            word = text[begin:end]
            other = change(word, is_first)
            if other and other != word:
                parts += [text[done:begin], other]
                done = end
        return "".join([*parts, text[done:]])


def learn_case(lines: Iterable[str]) -> CaseModel:
    """The model of a text.

    Words that begin a sentence, follow an opening quotation mark or stand in a line of capitals say nothing
    of their form. Ties go to small letters.
    """
    counts: dict[str, Counter[str]] = {}
    stops: dict[str, list[int]] = {}
    capitals = small = 0
    for text in lines:
        for match in _ABBREVIATION.finditer(text):
            stops.setdefault(lowered(match[1]), [0, 0])[match[2] == match[2].lower() != match[2].upper()] += 1
        words = list(_sentence_words(text, frozenset()))
        letters = "".join(text[begin:end] for begin, end, _ in words)
        if not letters or (len(letters) > 1 and letters == letters.upper() != letters.lower()):
            continue
        begin, end, _ = words[0]
        first = text[begin + _first(text[begin:end]) :][:1]
        if first != first.lower():
            capitals += 1
        elif first != first.upper():
            small += 1
        for begin, end, is_first in words:
            if not is_first and text[begin - 1] in " -'’(/":
                word = text[begin:end]
                counts.setdefault(lowered(word), Counter())[word] += 1
    forms = {small_form: _most_frequent(found, small_form) for small_form, found in counts.items()}
    abbreviations = frozenset(word for word, (ends, goes_on) in stops.items() if goes_on > ends)
    return CaseModel(capitals > small, forms, abbreviations)


def _most_frequent(found: Counter[str], small_form: str) -> str:
    return min(found, key=lambda form: (-found[form], form != small_form, form))


def lowered(text: str) -> str:
    """The text in small letters; those that would become two stay.

    >>> lowered("İSTANBUL, Straße"), len(lowered("İ"))
    ('İstanbul, straße', 1)
    """
    small = text.lower()
    if text.isascii() or (len(small) == len(text) and "Σ" not in text and "İ" not in text):
        return small
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def capitalised(text: str) -> str:
    """The text with a capital as its first letter, unless that would become two.

    Clicks and glottal stops have none: the letter behind them is it.

    >>> capitalised("über"), capitalised("ßa"), capitalised("ǃgâi"), capitalised("ʻōlelo")
    ('Über', 'ßa', 'ǃGâi', 'ʻŌlelo')
    """
    at = _first(text)
    first = text[at : at + 1].upper()
    return text[:at] + first + text[at + 1 :] if len(first) == 1 else text


def _first(word: str) -> int:
    """The place of the letter that may be a capital."""
    return len(word) - len(word.lstrip(_NO_CAPITALS))


def _is_in_capitals(text: str) -> bool:
    """Whether a text is a line of capitals, and not a name or two: it has at least three words.

    >>> _is_in_capitals("WE ARE CLOSED!"), _is_in_capitals("A B C"), _is_in_capitals("NATO, UN")
    (True, False, False)
    """
    words = [text[begin:end] for begin, end, _ in _sentence_words(text, frozenset())]
    letters = "".join(words)
    return (
        len(words) >= _FEWEST_SHOUTED
        and len(letters) > len(words)
        and letters == letters.upper() != letters.lower()
    )


def begins_small(text: str) -> bool:
    """Whether the first letter of a text is a small one, in a script that has capitals."""
    at = first_letter(text)
    return text[at : at + 1] != text[at : at + 1].upper()


def first_letter(text: str) -> int:
    """Where the letter of a text is that may be a capital; its end if there is none.

    >>> first_letter("« ʼyan"), first_letter("a"), first_letter("5")
    (3, 0, 1)
    """
    first = _WORD.search(text)
    return len(text) if first is None else first.start() + _first(first[0])


def _sentence_words(
    text: str, abbreviations: frozenset[str], words: re.Pattern[str] = _WORD
) -> Iterator[tuple[int, int, bool]]:
    """Begin and end of each word that is not protected, and whether a sentence begins with it."""
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
            is_first = _ends_sentence(text[before:begin], last, abbreviations)
        yield begin, end, is_first
        before, last = end, match[0]


def _ends_sentence(between: str, last: str, abbreviations: frozenset[str]) -> bool:
    """Whether what stands between a word (for a number, "") and the next one ends a sentence."""
    if between == " ":
        return False
    stop = _STOP.search(between)
    if stop is None or ".." in between:
        return False
    if between[stop.start()] == "." and stop.start() == 0:
        return len(last) > 1 and lowered(last) not in abbreviations
    return True
