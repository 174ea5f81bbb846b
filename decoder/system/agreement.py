"""Several systems that translate a line together: of all they say, what is most like all of it.

    agreement = Agreement([load_system("one"), load_system("two")])
    for found in agreement.translate(["Ein Hund läuft."]):
        print(found.text)

Each system has one vote, which it divides among the best translations that it has; the one with the highest
BLEU+1 to be expected by these votes is chosen (`decoder.translation.consensus`). Compared are the words that
systems translate into, where their preparations cut the target language alike, so that its text need not be
cut again. Where they do not, every translation is made text, and that is cut by the first system's
preparation: words of different cuts have little in common even where they spell the same.

A long line is cut once for all systems: where the one that sees the most words in it would cut it, so that no
piece is too long for any. The pieces begin at characters of the line, as words of different systems have
nothing else in common. Systems that prepare text alike choose piece by piece. Of others one translates all of
a line, that with the most BLEU+1 to be expected over its words: what joins two pieces, and which letter is a
capital, is for one preparation to say.

The fact a newcomer would get wrong: scores of different systems are never compared.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from decoder.search.mbr import check_scale
from decoder.system.system import Piece, Range, System, SystemTranslation, cut_line
from decoder.translation.consensus import SCALE, expected_of
from decoder.translation.nbest import Listed
from scfg_sampler.core.arguments import (
    ArgumentError,
    of_arguments,
    require_count,
    require_type,
    settings_of,
)
from scfg_sampler.core.streams import each_line
from scfg_sampler.preparation.preparation import Prepared

__all__ = ["SIZE", "Agreement", "translates"]

SIZE = 50
"""Translations of each system that are compared, unless told otherwise."""


class _Options(NamedTuple):
    scale: float


class _Choice(NamedTuple):
    """What a system has for a piece of a line that is most like what all have, if any, and how much."""

    piece: Piece | None
    expected: float


class Agreement:
    """Translates lines of text by several systems; immutable, so threads may share it.

    Parameters
    ----------
    systems : list of System
        One that is given twice has two votes.
    scale : float > 0
        A large one gives a system's vote to its best translation, a small one as much to each of its list.
    size : int
        Translations of each system, of which the best is chosen; takes time that grows with its square.

    Raises
    ------
    TypeError
        The systems are something else.
    ValueError
        There are none, or they translate other languages; or a number is out of range.

    >>> import decoder, scfg_sampler
    >>> def system_of(*pairs):
    ...     rules = scfg_sampler.extract_rules(scfg_sampler.make_corpus(pairs))
    ...     return decoder.make_system(rules, decoder.train_lm([target for _, target, _ in pairs]))
    >>> pairs = [("un chat", target, "0-0 1-1") for target in ("a cat", "one cat", "a kitten")]
    >>> agreement = Agreement([system_of(pairs[0]), system_of(pairs[1]), system_of(pairs[2], pairs[0])])
    >>> [found.text for found in agreement.translate(["un chat", ""])]
    ['a cat', '']
    """

    def __init__(self, systems: Iterable[System], *, scale: float = SCALE, size: int = SIZE):
        require_type("systems", systems, Iterable, "a list of systems")
        self.systems = tuple(systems)
        for system in self.systems:
            require_type("what systems has", system, System, "a System: see load_system")
        if not self.systems:
            raise ArgumentError("systems is empty; give one or more")
        require_count("size", size)
        with of_arguments():
            self.scale = check_scale(settings_of(_Options, {"scale": scale}).scale, "--scale")
        self.size = int(size)
        first = self.systems[0]
        for number, system in enumerate(self.systems[1:], start=2):
            if translates(system) != translates(first):
                found = f"system {number} translates {translates(system)}, but system 1 {translates(first)}"
                raise ArgumentError(f"{found}; give systems of the same languages")
        self._cut_anew = None  # By what translations are cut where systems cut otherwise.
        if first.preparation and not all(_is_alike(first, system, "target") for system in self.systems):
            self._cut_anew = first.preparation.target
        self._prepares_alike = self._cut_anew is None and all(
            _is_alike(first, system, "source") for system in self.systems
        )

    def translate(self, lines: Iterable[str], *, threads: int = 1) -> list[SystemTranslation]:
        """The translations of lines of raw text, in order; TypeError for a string, which is one line."""
        return list(self.stream(lines, threads=threads))

    def stream(self, lines: Iterable[str], *, threads: int = 1) -> Iterator[SystemTranslation]:
        """The same, each as soon as it is found."""
        return each_line(self.translate_line, lines, threads)

    def translate_line(self, line: str) -> SystemTranslation:
        """The translation of one line; of one without words "". Its score is that of whose it is."""
        return self.translate_prepared(line, self.prepare(line))

    def prepare(self, line: str) -> list[Prepared]:
        """A line as each system's grammar takes it."""
        return [system.prepare(line) for system in self.systems]

    def translate_prepared(self, line: str, prepared: Sequence[Prepared]) -> SystemTranslation:
        """The translation of a line that `prepare` has given."""
        ranges = _cut_alike(prepared)
        candidates = [
            self._candidates(system, each, of_system)
            for system, each, of_system in zip(self.systems, prepared, ranges, strict=True)
        ]
        choices = [self._choices(line, prepared, lists) for lists in zip(*candidates, strict=True)]
        if self._prepares_alike:
            at, chosen = 0, [max(each, key=lambda one: one.expected) for each in choices]
        else:
            lengths = [end - begin for begin, end in ranges[0]]

            def total(at: int) -> float:
                return sum(n * each[at].expected for n, each in zip(lengths, choices, strict=True))

            at = max(range(len(self.systems)), key=total)
            chosen = [each[at] for each in choices]
        pieces = [one.piece for one in chosen if one.piece is not None]
        return self.systems[at].finish_pieces(line, prepared[at], pieces)

    def __repr__(self) -> str:
        return f"Agreement of {len(self.systems)}: {', '.join(map(repr, self.systems))}"

    def _candidates(
        self, system: System, prepared: Prepared, ranges: Sequence[Range]
    ) -> Iterator[list[Piece]]:
        """The best translations that a system has of each piece of a line; none of one without words."""
        results = system.search_pieces(prepared, [each for each in ranges if each[0] < each[1]])
        for begin, end in ranges:
            if begin == end:
                yield []
                continue
            result = next(results)
            found = system.decoder.translations(result, self.size)
            yield [Piece(begin, system.decoder, result, each) for each in found]

    def _choices(
        self, line: str, prepared: Sequence[Prepared], lists: Sequence[Sequence[Piece]]
    ) -> list[_Choice]:
        """The translation of a piece that is most like what all have, of each system's list."""
        compared = [
            [Listed(self._words(at, line, prepared[at], each), each.translation.score) for each in listed]
            for at, listed in enumerate(lists)
        ]
        expected = expected_of(compared, self.scale)
        choices = []
        for listed, words in zip(lists, compared, strict=True):
            values = [expected.get(each.words, 0.0) for each in words]
            best = max(values, default=0.0)
            choices.append(_Choice(listed[values.index(best)] if listed else None, best))
        return choices

    def _words(self, at: int, line: str, prepared: Prepared, piece: Piece) -> tuple[str, ...]:
        """What a translation of system number `at` is compared by."""
        if self._cut_anew is None:
            return tuple(piece.translation.words)
        text = self.systems[at].finish_pieces(line, prepared, [piece]).text
        return tuple(self._cut_anew.segment(text))


def _cut_alike(prepared: Sequence[Prepared]) -> list[list[Range]]:
    """For each system the words of each piece of a line, begun at the same characters of it.

    Pieces are those of the system that has the most words, the first of several. Of another one a word that
    goes on over a cut belongs to the piece in which it begins.
    """
    most = max(prepared, key=lambda each: len(each.words))
    characters = [most.places[begin][0] for begin, _ in cut_line(most.parts)]
    found = []
    for each in prepared:
        begins = [begin for begin, _ in each.places]
        bounds = [0, *(bisect_left(begins, at) for at in characters[1:]), len(begins)]
        found.append(list(pairwise(bounds))[: len(characters)])
    return found


def translates(system: System) -> str:
    """What a system takes and gives, in words."""
    if system.preparation is None:
        return "words between spaces"
    source, target = system.preparation.source, system.preparation.target
    return f"raw text in {source.language} into {target.language}"


def _is_alike(one: System, other: System, side: str) -> bool:
    """Whether two systems of the same languages prepare a side of text alike."""
    if one.preparation is None or other.preparation is None:
        return True
    ours, theirs = getattr(one.preparation, side), getattr(other.preparation, side)
    return bool(ours.does_as(theirs))
