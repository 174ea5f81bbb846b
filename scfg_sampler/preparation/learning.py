"""From training text to a `Preparation`: how words, spaces and capitals are learnt.

A segmentation is said as text: `words`, `subwords:N` or `none`, or two of these with a comma between them for
the source and the target language (`subwords:N,M` is `subwords:N,subwords:M`). Languages whose script has no
spaces between words cannot be told apart into words by sacremoses; for them `words` means subwords
(`pieces_instead_of_words`).

The fact a newcomer would get wrong: only the training part is learnt from. What were learnt from the test set
too would know its words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scfg_sampler.core.console import warn
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import SettingsError
from scfg_sampler.preparation.case import CASES, learn_case
from scfg_sampler.preparation.preparation import LanguagePreparation, Preparation
from scfg_sampler.preparation.segments import Plain, Segmenter
from scfg_sampler.preparation.subwords import SubwordSegmenter, train_subwords, uses_spaces
from scfg_sampler.preparation.words import WordSegmenter, language_of_rules

__all__ = [
    "Segmentation",
    "SegmentationSettings",
    "learn_preparation",
    "parse_segmentation",
    "pieces_instead_of_words",
]

_PIECES_OF_ALPHABETS = 4000
_MANY_CHARACTERS = 1000  # More than alphabets and syllabaries have.
_MOST_LINES = 200_000  # To learn from where words join.


class Segmentation(NamedTuple):
    """How one language is cut: kind is `words`, `subwords` or `none`; size, of subwords, their number."""

    kind: str
    size: int = 0


class SegmentationSettings(NamedTuple):
    """How both languages are prepared.

    languages : their names, the source's first
    segment : of both
    joint : one sentencepiece model for both, of the source's size
    subword_model : one of `subwords.MODELS`
    case : one of `case.CASES`
    rules : language → the language whose rules sacremoses uses, where it is another
    apostrophes : the languages in which an apostrophe between two letters, or before a word, is a letter
    """

    languages: tuple[str, str]
    segment: tuple[Segmentation, Segmentation]
    joint: bool = False
    subword_model: str = "unigram"
    case: str = "true"
    rules: Mapping[str, str] = {}
    apostrophes: tuple[str, ...] = ()


def parse_segmentation(text: str) -> tuple[Segmentation, Segmentation]:
    """What --segment says of the two languages.

    >>> parse_segmentation("subwords:2000,4000")
    (Segmentation(kind='subwords', size=2000), Segmentation(kind='subwords', size=4000))
    >>> parse_segmentation("words,subwords:4000")
    (Segmentation(kind='words', size=0), Segmentation(kind='subwords', size=4000))

    Raises
    ------
    SettingsError
        It says nothing of the kind.
    """
    sides = text.split(",")
    if len(sides) == 2 and sides[0].startswith("subwords:") and sides[1].isdecimal():
        sides[1] = f"subwords:{sides[1]}"
    found = [re.fullmatch(r"(words|none)|subwords:(\d{1,7})", side) for side in sides]
    parsed = [Segmentation(side[1] or "subwords", int(side[2] or 0)) for side in found if side]
    too_small = any(side.kind == "subwords" and side.size < 2 for side in parsed)
    if len(sides) > 2 or len(parsed) < len(sides) or too_small:
        raise SettingsError(
            f"--segment is {text!r}, but must be words, none, subwords:N or subwords:N,M, such as "
            "subwords:8000, or two of them, such as words,subwords:8000"
        )
    return parsed[0], parsed[-1]


def learn_preparation(
    source: Sequence[str], target: Sequence[str], settings: SegmentationSettings
) -> Preparation:
    """How the text of both languages is prepared, learnt from normalised training text.

    Raises
    ------
    SettingsError
        A language is unknown to sacremoses, a number of subwords is too small for the text, or settings
        contradict each other.
    """
    if settings.case not in CASES:
        raise SettingsError(f"--case is {settings.case!r}, but must be one of {', '.join(CASES)}")
    if settings.joint and any(part.kind != "subwords" for part in settings.segment):
        raise SettingsError("--joint is for --segment subwords:N")
    sizes = [part.size for part in settings.segment]
    if settings.joint and sizes[0] != sizes[1]:
        both = f"of {sizes[0]} or of {sizes[1]}"
        raise SettingsError(f"--joint makes one set of subwords, {both}: give --segment one number")
    texts = (source, target)
    plain = []
    for language, text in zip(settings.languages, texts, strict=True):
        model = None if settings.case == "keep" else learn_case(text)
        plain.append(LanguagePreparation(language, Plain(), settings.case, model))
    cased = [
        text if side.case_model is None else list(map(side.cased, text))
        for side, text in zip(plain, texts, strict=True)
    ]
    segmenters: list[Segmenter]
    if settings.joint:
        size = settings.segment[0].size
        what = f"the text in {' and '.join(settings.languages)}"
        model_bytes = train_subwords([*cased[0], *cased[1]], size, settings.subword_model, what)
        joint = [SubwordSegmenter(model_bytes, spaced=uses_spaces(text)) for text in cased]
        _warn_of_fewer(joint[0].num_pieces, size, what)
        segmenters = [*joint]
    else:
        segmenters = [_segmenter(side, cased[side], texts[side], settings) for side in (0, 1)]
    sides = [
        LanguagePreparation(side.language, segmenter, side.case, side.case_model)
        for side, segmenter in zip(plain, segmenters, strict=True)
    ]
    return Preparation(sides[0], sides[1], {})


def pieces_instead_of_words(text: Sequence[str]) -> int:
    """How many subwords a text without spaces is cut into where words are asked for.

    A third more than it has different characters, in thousands, where these are many: fewer pieces, each seen
    more often, were better for 10,000 and 27,000 pairs of Japanese and Chinese. 4,000 for alphabets.

    >>> pieces_instead_of_words(["สวัสดี"]), pieces_instead_of_words(["".join(map(chr, range(0x4E00, 0x53D3)))])
    (4000, 2000)
    """
    characters = len(set().union(*text))
    if characters <= _MANY_CHARACTERS:
        return _PIECES_OF_ALPHABETS
    return 1000 * math.ceil(characters * 4 / 3000)


def _segmenter(
    side: int, text: Sequence[str], own_case: Sequence[str], settings: SegmentationSettings
) -> Segmenter:
    """The segmenter of one side, learnt from its cased text, and the same in its own case."""
    kind, size = settings.segment[side]
    language = settings.languages[side]
    spaced = uses_spaces(text)
    if kind == "words" and not spaced:
        kind, size = "subwords", pieces_instead_of_words(text)
    if kind == "words":
        rules = language_of_rules(settings.rules.get(language, language))
        step = 1 + len(text) // _MOST_LINES
        apostrophes = language in settings.apostrophes
        return WordSegmenter.learn(text[::step], rules, own_case[::step], apostrophes=apostrophes)
    if kind == "none":
        return Plain()
    what = f"the text in {language}"
    model = train_subwords(text, size, settings.subword_model, what)
    segmenter = SubwordSegmenter(model, spaced=spaced)
    if settings.segment[side].kind == "subwords":
        _warn_of_fewer(segmenter.num_pieces, size, what)
    return segmenter


def _warn_of_fewer(number: int, wanted: int, what: str) -> None:
    """Warn of a text that has fewer subwords than were asked for."""
    if number < wanted:
        warn(f"{what} has {counted(number, 'subword')}, fewer than {wanted}")
