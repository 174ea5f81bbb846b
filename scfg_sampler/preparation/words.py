"""Words as a reader counts them: sacremoses tells them apart, and marks say what it forgets.

Where two words met in the text, either a space stood between them or none. Which is usual is learnt from the
training text: a full stop joins the word before it, an opening bracket the one after. Only where a text does
otherwise, a mark is put to the word: `￭` joins, `␣` parts. So `( see 3 / 4 )` needs no marks but at the
slash, `3 ￭/￭ 4`; translations, which are made of the words of training text, come out joined as that text
is; and every text is restored exactly.

The fact a newcomer would get wrong: sacremoses's own way back is not used. It guesses from rules, and forgets
which quotation mark opened.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from scfg_sampler.errors import SettingsError
from scfg_sampler.preparation.letters import StandIns, ends_in_letter, is_letter, pictures
from scfg_sampler.preparation.protected import protected_spans
from scfg_sampler.preparation.segments import JOIN, SPACE, Joined, Segmented, escape, unescape

__all__ = ["WordSegmenter", "known_languages", "language_of_rules", "sacremoses_version"]

_RUN = re.compile(r"[^\W_]+|[^\s]")
_USUAL = 2 / 3  # The share of its places at which a word must join for that to be expected,
_FEWEST = 3  # … and their number.
# What joins wherever it is used at all, for texts that have too little of it to tell.
_TO_THE_LEFT = frozenset(",.)]}")
_TO_THE_LEFT_BUT_IN_FRENCH = frozenset(";:!?")
_TO_THE_RIGHT = frozenset("([{¿¡")
# ISO 639-2 and 639-3 of the languages that sacremoses calls by two letters.
_LONG_CODES = """
as asm, bn ben, ca cat, cs ces cze, de deu ger, el ell gre, en eng, es spa, et est ekk, fi fin, fr fra fre,
ga gle, gu guj, hi hin, hu hun, is isl ice, it ita, kn kan, lt lit, lv lav lvs, ml mal, mr mar, nl nld dut,
or ori ory, pa pan, pl pol, pt por, ro ron rum, ru rus, sk slk slo, sl slv, sv swe, ta tam, te tel, tdt tet,
zh zho chi cmn
"""
_SHORT_CODES = {code: short for short, *codes in map(str.split, _LONG_CODES.split(",")) for code in codes}


class WordSegmenter:
    """Segmentation into words by sacremoses's rules for a language.

    Parameters
    ----------
    rules : the language, as sacremoses calls it
    joins_left, joins_right : words that usually have no space before, or after, them
    whole : whether words are whole by Unicode (`letters`); preparations of versions up to 0.2 are cut as by
        sacremoses alone
    apostrophes : whether those between two letters, and those before a word that close nowhere, are letters,
        whatever the rules say (`ng'ombe`, `'yan`)
    """

    def __init__(
        self,
        rules: str,
        joins_left: Iterable[str] = (),
        joins_right: Iterable[str] = (),
        *,
        whole: bool = True,
        apostrophes: bool = False,
    ):
        self.rules = rules
        self.whole = whole
        self.apostrophes = apostrophes
        self._is_letter = is_letter if whole else str.isalnum
        self._ends_in_letter = ends_in_letter if whole else _ends_in_alnum
        self._stand_ins = StandIns("")
        self.joins_left = frozenset(joins_left)
        self.joins_right = frozenset(joins_right)
        self._tokenizer: Any = None

    @classmethod
    def learn(
        cls,
        lines: Sequence[str],
        rules: str,
        own_case: Sequence[str] | None = None,
        *,
        apostrophes: bool = False,
    ) -> WordSegmenter:
        """The segmenter that expects words to join as they do in a text; `own_case` as for `segment`.

        Raises
        ------
        SettingsError
            sacremoses is not installed, or has no rules for the language.
        """
        segmenter = cls(rules, apostrophes=apostrophes)
        segmenter._load()
        seen: Counter[tuple[str, str, bool]] = Counter()
        for line, own in zip(lines, lines if own_case is None else own_case, strict=True):
            words, places = segmenter._cut(line, own)
            seen.update(
                (words[at - 1], words[at], places[at - 1][1] == places[at][0]) for at in range(1, len(words))
            )
        # Which way a straight quotation mark joins is never the usual way.
        left, known_left = _usual(
            (after, joined, n)
            for (_, after, joined), n in seen.items()
            if not segmenter._is_letter(after[0]) and after[0] != '"'
        )
        left |= (_TO_THE_LEFT if rules == "fr" else _TO_THE_LEFT | _TO_THE_LEFT_BUT_IN_FRENCH) - known_left
        right, known_right = _usual(
            (before, joined, n)
            for (before, after, joined), n in seen.items()
            if not segmenter._ends_in_letter(before) and before[-1] not in '."' and after not in left
        )
        return cls(rules, left, right | (_TO_THE_RIGHT - known_right), apostrophes=apostrophes)

    def segment(self, text: str, own_case: str | None = None) -> Segmented:
        """The words of a text, with marks where they join in an unusual way.

        Capitals tell the end of a sentence from that of an abbreviation, so sacremoses is given `own_case`.
        """
        cut, places = self._cut(text, text if own_case is None else own_case)
        words = list(map(escape, cut))
        for at in range(1, len(cut)):
            joined = places[at - 1][1] == places[at][0]
            if joined == self._expected(cut[at - 1], cut[at]):
                continue
            if joined:
                on_right = not self._is_letter(cut[at][0]) or self._ends_in_letter(cut[at - 1])
            else:
                on_right = cut[at] in self.joins_left
            if on_right:
                words[at] = (JOIN if joined else SPACE) + words[at]
            else:
                words[at - 1] += JOIN if joined else SPACE
        return Segmented(words, places)

    def join(self, words: list[str]) -> Joined:
        """The text of words; a mark at the beginning or the end of the text says nothing."""
        parts: list[str] = []
        places: list[tuple[int, int]] = []
        at, before, mark_before = 0, "", ""
        for word in words:
            mark = word[0] if word[0] in (JOIN, SPACE) else ""
            core = word[len(mark) :]
            mark_after = core[-1] if core.endswith((JOIN, SPACE)) else ""
            core = unescape(core.removesuffix(mark_after))
            if not core:  # A mark that search has left without its word.
                mark_before = mark
                places.append((at, at))
                continue
            if before:
                decided = mark or mark_before
                joined = decided == JOIN if decided else self._expected(before, core)
                if not joined:
                    parts.append(" ")
                    at += 1
            parts.append(core)
            places.append((at, at + len(core)))
            at += len(core)
            before, mark_before = core, mark_after
        return Joined("".join(parts), places)

    def word(self, text: str, *, joined: bool) -> str:
        """A part of a text as one word."""
        return JOIN * (joined and text not in self.joins_left) + escape(text)

    def respelled(self, word: str) -> str:
        """The word without marks; punctuation keeps those that join, which its translation would lose."""
        core = word.removeprefix(SPACE).removesuffix(SPACE)
        bare = core.removeprefix(JOIN).removesuffix(JOIN)
        return (bare if any(map(str.isalnum, bare)) else core) or word

    def record(self) -> dict[str, Any]:
        """What `WordSegmenter` is made of."""
        return {
            "kind": "words",
            "rules": self.rules,
            "joins_left": sorted(self.joins_left),
            "joins_right": sorted(self.joins_right),
            "whole": self.whole,
            "apostrophes": self.apostrophes,
        }

    def _expected(self, before: str, after: str) -> bool:
        """Whether two words are taken to have no space between them."""
        return after in self.joins_left or before in self.joins_right

    def _cut(self, text: str, own_case: str) -> tuple[list[str], list[tuple[int, int]]]:
        """Words without marks, and their places.

        Protected parts are hidden from sacremoses behind as many letters, or digits, so that it can neither
        cut them nor move anything. Should it change a character all the same, letters and digits in a row
        are taken for words instead.
        """
        masked, borders = _masked(own_case, self.whole)
        if self._tokenizer is None:
            self._load()
        if self.whole:
            masked = self._stand_ins.shown(masked, apostrophes=self.apostrophes)
        words = self._tokenizer.tokenize(masked, escape=False)
        if "".join(words) != masked.replace(" ", ""):
            words = _RUN.findall(masked)
        places: list[tuple[int, int]] = []
        at = 0
        for word in words:
            begin = masked.index(word[0], at)
            at = begin + len(word)
            inside = borders[bisect_right(borders, begin) : bisect_left(borders, at)]
            places += zip([begin, *inside], [*inside, at], strict=True)
        return [text[begin:end] for begin, end in places], places

    def _load(self) -> None:
        """Make sacremoses ready."""
        if self.rules not in known_languages():
            known = " ".join(known_languages())
            raise SettingsError(
                f"sacremoses has no rules for the language {self.rules!r}: use --segment subwords:8000, or "
                f"name rules that will do, as in --rules {self.rules}=en. It knows {known}"
            )
        from sacremoses import MosesTokenizer

        self._tokenizer = MosesTokenizer(self.rules)
        self._stand_ins = StandIns(MosesTokenizer.IsAlnum)


def _ends_in_alnum(word: str) -> bool:
    """`ends_in_letter` as it was up to version 0.2."""
    return word[-1].isalnum()


def _masked(text: str, whole: bool = True) -> tuple[str, list[int]]:
    """A text whose protected parts are letters, or digits, and where those that are no numbers begin and end.

    whole : whether pictures of several characters are hidden, too

    >>> _masked("See @ann, 1,234.5")
    ('See xxxx, 0000000', [4, 8])
    """
    hidden = list(protected_spans(text))
    if whole:
        hidden = _with_pictures(text, hidden)
    parts: list[str] = []
    borders: set[int] = set()
    done = 0
    for begin, end, is_number in hidden:
        parts += [text[done:begin], ("0" if is_number else "x") * (end - begin)]
        done = end
        if not is_number:
            borders |= {begin, end}
    return "".join([*parts, text[done:]]), sorted(borders)


def _with_pictures(text: str, protected: list[tuple[int, int, bool]]) -> list[tuple[int, int, bool]]:
    """Protected parts, and pictures that share no character with one of them, in order."""
    ends = [end for _, end, _ in protected]
    found = []
    for begin, end in pictures(text):
        after = bisect_right(ends, begin)
        if after == len(protected) or protected[after][0] >= end:
            found.append((begin, end, False))
    return sorted([*protected, *found]) if found else protected


def language_of_rules(language: str) -> str:
    """What sacremoses calls a language whose code may be of three letters, and name a country or a script.

    >>> language_of_rules("pt-BR"), language_of_rules("fra_Latn"), language_of_rules("fon")
    ('pt', 'fr', 'fon')
    """
    code = re.split("[-_]", language.lower())[0]
    return _SHORT_CODES.get(code, code)


def known_languages() -> list[str]:
    """The languages sacremoses has rules for, by their codes, sorted.

    Raises
    ------
    SettingsError
        sacremoses is not installed.
    """
    try:
        from sacremoses.corpus import NonbreakingPrefixes
    except ImportError:
        raise SettingsError(
            "--segment words needs sacremoses, which is not installed: pip install "
            "'scfg-sampler[tokenize]', or use --segment subwords:8000"
        ) from None
    return sorted(set(NonbreakingPrefixes().available_langs.values()))


def sacremoses_version() -> str:
    """The version that is installed, "" if none is."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("sacremoses")
    except PackageNotFoundError:
        return ""


def _usual(places: Iterable[tuple[str, bool, int]]) -> tuple[set[str], set[str]]:
    """The words that join at most of their places, and those that have enough places to tell.

    A place is a word, whether it joins, and how often.
    """
    seen: dict[str, list[int]] = {}
    for word, joined, number in places:
        seen.setdefault(word, [0, 0])[joined] += number
    usual = {
        word
        for word, (parted, joined) in seen.items()
        if joined >= _FEWEST and joined > _USUAL * (parted + joined)
    }
    return usual, {word for word, counts in seen.items() if sum(counts) >= _FEWEST}
