"""Translation of raw text by a system directory.

    system = load_system("system")
    for found in system.translate(["Ein Hund läuft."]):
        print(found.text, found.phrases)

A line is segmented, translated and joined again; words the grammar does not know are copied in their own
case, spelled as the target language spells spaces. A system without a preparation takes text whose words
stand between spaces, and gives such text.

The fact a newcomer would get wrong: a line is not a sentence. One of more than a hundred words is cut where
sentences, or clauses, seem to end, since the time of search grows with the square of a sentence's length.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from decoder.system.bundle import RANKING, read_system_record
from decoder.system.models import read_models
from decoder.system.phrases import phrases_of
from decoder.system.ranking import read_ranking, require_sound
from decoder.system.shown import TranslationTree
from decoder.translation.decoder import Decoder
from decoder.translation.derivations import derivation_record
from decoder.translation.results import SearchResult, Translation
from decoder.translation.settings import SearchDefaults
from scfg_sampler.core.arguments import (
    require_count,
    require_path,
    require_type,
)
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.streams import each_line
from scfg_sampler.core.wording import counted
from scfg_sampler.preparation.preparation import FILE as PREPARATION
from scfg_sampler.preparation.preparation import Preparation, Prepared, load_preparation

__all__ = ["Correspondence", "Piece", "Range", "System", "SystemTranslation", "cut_line", "load_system"]

_LONGEST = 100  # Words that are translated together.
# Of Chinese, Indian, Ethiopic, Arabic, N'Ko, Adlam, Armenian, Burmese, Khmer and Vai writing, too.
_SENTENCE_ENDS = re.compile(r"(?:[.!?…。！？।॥።፧፨؟۔߹⸮։။។꘎꘏]+|::)[\"'”’»)\]」]*")
_CLAUSE_ENDS = re.compile(r"[,;:،؛，、；：–—፣፤፥፦߸⹁၊꘍]")

Range = tuple[int, int]


class Correspondence(NamedTuple):
    """Parts of a text and of its translation that belong together.

    source, target : half-open ranges of characters, in order
    is_copied : whether the grammar did not know the word
    """

    source: list[Range]
    target: list[Range]
    is_copied: bool


class SystemTranslation(NamedTuple):
    """A line and its translation.

    source : the line as it was given
    text : its translation
    score : of the derivation, or the sum of those of its parts
    phrases : of the raw line and of `text`

    >>> import decoder, scfg_sampler
    >>> rules = scfg_sampler.extract_rules(scfg_sampler.make_corpus([("un chat", "a cat", "0-0 1-1")]))
    >>> found = decoder.make_system(rules, decoder.train_lm(["a cat", "the cat"])).translate_line("un chat")
    >>> found.text, [(found.source[b:e], found.text[c:d]) for part in found.phrases
    ...     for (b, e), (c, d) in zip(part.source, part.target)]
    ('a cat', [('un chat', 'a cat')])
    """

    source: str
    text: str
    score: float
    phrases: list[Correspondence]


class Piece(NamedTuple):
    """A translation of words of a line that were translated together.

    begin : which word of the line is the first
    decoder : whose translation it is
    result : the forest that it is in
    """

    begin: int
    decoder: Decoder
    result: SearchResult
    translation: Translation


class System:
    """Translates lines of text; immutable, so threads may share it.

    decoder : Decoder
    preparation : Preparation, or None if words stand between spaces
    record : what `system.json` says

    >>> import decoder, scfg_sampler
    >>> pairs = [("un chat", "a cat", "0-0 1-1"), ("un chien", "a dog", "0-0 1-1")]
    >>> pairs += [("un chien", "one dog", "0-0 1-1")]
    >>> rules = scfg_sampler.extract_rules(scfg_sampler.make_corpus(pairs))
    >>> system = decoder.make_system(rules, decoder.train_lm([target for _, target, _ in pairs]))
    >>> [found.text for found in system.translate(["un chat", "un chien"])]
    ['a cat', 'a dog']
    >>> sorted(found.text for found in system.n_best("un chien", 2))
    ['a dog', 'one dog']
    """

    def __init__(self, decoder: Decoder, preparation: Preparation | None, record: dict[str, Any]):
        self.decoder, self.preparation, self.record = decoder, preparation, record

    def translate(self, lines: Iterable[str], *, threads: int = 1) -> list[SystemTranslation]:
        """The translations of lines of raw text, in order; TypeError for a string, which is one line."""
        return list(self.stream(lines, threads=threads))

    def stream(self, lines: Iterable[str], *, threads: int = 1) -> Iterator[SystemTranslation]:
        """The same, each as soon as it is found."""
        return each_line(self.translate_line, lines, threads)

    def translate_line(self, line: str) -> SystemTranslation:
        """The translation of one line; of one without words "" ."""
        require_type("line", line, str, "a string")
        return self.translate_prepared(line, self.prepare(line))

    def translate_prepared(self, line: str, prepared: Prepared) -> SystemTranslation:
        """The translation of a line that `prepare` has given."""
        ranges = list(cut_line(prepared.parts))
        results = self.search_pieces(prepared, ranges)
        pieces = [
            Piece(begin, self.decoder, result, self.decoder.best(result))
            for (begin, _), result in zip(ranges, results, strict=True)
        ]
        return self.finish_pieces(line, prepared, pieces)

    def n_best(self, line: str, k: int = 10) -> list[SystemTranslation]:
        """Up to k different translations of a line, the best first; of one without words, one of "".

        Parameters
        ----------
        line : str
            Not cut, however long.
        k : int
            At least 1.

        Raises
        ------
        TypeError
            The line is no string, or k no whole number.
        ValueError
            k is less than 1.
        """
        require_type("line", line, str, "a string")
        require_count("k", k)
        prepared = self.prepare(line)
        if not prepared.words:
            return [self.translate_line(line)]
        result = self.search(prepared)
        listed = self.finish_list(line, prepared, result, self.decoder.translations(result, k))
        return [finished for _, finished in listed]

    def derivation(self, line: str) -> TranslationTree:
        """How the best translation of a line is built; it shows itself as a picture."""
        require_type("line", line, str, "a string")
        prepared = self.prepare(line)
        result = self.search(prepared) if prepared.words else None
        found = self.decoder.translate([]) if result is None else self.decoder.best(result)
        return TranslationTree(derivation_record(self.decoder, result, found, 0))

    def __repr__(self) -> str:
        takes = "raw text" if self.preparation is not None else "words between spaces"
        models = (
            "a language model" if len(self.decoder.lms) == 1 else f"{len(self.decoder.lms)} language models"
        )
        return f"System of {counted(len(self.decoder.grammar.rules), 'rule')} and {models}; takes {takes}"

    def prepare(self, line: str) -> Prepared:
        """A line as the grammar takes it."""
        require_type("line", line, str, "a string")
        if self.preparation is not None:
            return self.preparation.source.prepare(line)
        kept = line.removesuffix("\n").removesuffix("\r")  # As open files and those of Windows give it.
        places = [match.span() for match in re.finditer("[^ \t\n]+", kept)]
        words = [line[begin:end] for begin, end in places]
        return Prepared(words, places, words, words, [False] * len(words), False)

    def search(self, prepared: Prepared, *, keep_states: bool = False) -> SearchResult:
        """The forest of a prepared line of at least one word, however long; `keep_states` as in `Decoder`."""
        return self._search(prepared.words, self._copies(prepared), keep_states)

    def search_pieces(self, prepared: Prepared, ranges: Iterable[Range]) -> Iterator[SearchResult]:
        """The forests of pieces of a prepared line, which are ranges of at least one word."""
        copies = self._copies(prepared)
        for begin, end in ranges:
            yield self._search(prepared.words[begin:end], copies and copies[begin:end])

    def finish(
        self, line: str, prepared: Prepared, result: SearchResult, translation: Translation
    ) -> SystemTranslation:
        """One of the translations in a forest of `search`, as text."""
        return self.finish_pieces(line, prepared, [Piece(0, self.decoder, result, translation)])

    def finish_list(
        self, line: str, prepared: Prepared, result: SearchResult, translations: Iterable[Translation]
    ) -> list[tuple[Translation, SystemTranslation]]:
        """Translations in a forest of `search`, each as text; none whose text one before it has.

        Words may differ and yet be one text, as other pieces of a word are, or letters that become capitals.
        """
        found: dict[str, tuple[Translation, SystemTranslation]] = {}
        for each in translations:
            finished = self.finish(line, prepared, result, each)
            found.setdefault(finished.text, (each, finished))
        return list(found.values())

    def finish_pieces(self, line: str, prepared: Prepared, pieces: Sequence[Piece]) -> SystemTranslation:
        """The translation of a line from those of its pieces, in their order, as text.

        They may be those of systems with other grammars, if these prepare text in the same way.
        """
        words: list[str] = []
        phrases = []
        copied: dict[int, int] = {}  # From a place in the source to one in the target.
        for begin, decoder, result, translation in pieces:
            offset = len(words)
            words += translation.words
            for phrase in phrases_of(decoder, result, translation):
                source, target = (
                    [at + by for at in side] for side, by in zip(phrase[:2], (begin, offset), strict=True)
                )
                if phrase.is_copied:
                    copied[source[0]] = target[0]
                phrases.append((source, target, phrase.is_copied))
        own = prepared.words
        if self.preparation is not None:
            follows = [copied.get(at - 1, -2) + 1 == copied.get(at, -2) for at in range(len(own))]
            own = self.preparation.copied(prepared, own_case=True, follows=follows)
        for at, place in copied.items():
            words[place] = own[at]
        text, places = self._restored(words, prepared.begins_small)
        found = [
            Correspondence(_ranges(prepared.places, source), _ranges(places, target), is_copied)
            for source, target, is_copied in phrases
        ]
        score = sum(piece.translation.score for piece in pieces)
        return SystemTranslation(line, text, score, found)

    def _copies(self, prepared: Prepared) -> list[str] | None:
        """How each word of a line is copied; None if as it is."""
        return None if self.preparation is None else self.preparation.copied(prepared)

    def _search(
        self, words: Sequence[str], copies: Sequence[str] | None, keep_states: bool = False
    ) -> SearchResult:
        """The forest of a line, or of a piece of one."""
        words = list(words)
        if self.preparation is not None:
            known = self.decoder.grammar.source_vocabulary
            respelled = self.preparation.source.segmenter.respelled
            for at, word in enumerate(words):
                if word not in known and (other := respelled(word)) in known:
                    words[at] = other
        return self.decoder.search(words, copies, keep_states=keep_states)

    def _restored(self, words: list[str], begins_small: bool) -> tuple[str, list[Range]]:
        """Words as text, and where in it each is."""
        if self.preparation is None:
            text, places = " ".join(words).replace("\n", " "), []  # As `Translation.text`.
            at = 0
            for word in words:
                places.append((at, at + len(word)))
                at += len(word) + 1
            return text, places
        source, target = self.preparation.source, self.preparation.target
        # A small first letter says something only where sentences begin with capitals.
        begins_small &= source.case_model is not None and source.case_model.begins_with_capital
        return target.restore_with_places(words, begins_small=begins_small)


def load_system(directory: PathLike, settings: SearchDefaults | None = None) -> System:
    """The system in a directory that `write_system` wrote.

    Parameters
    ----------
    directory : path
    settings : how to search, instead of what the system says

    Raises
    ------
    InputError
        A part is missing, damaged or of another version, or the parts do not fit.

    >>> import decoder, scfg_sampler, tempfile
    >>> rules = scfg_sampler.extract_rules(scfg_sampler.make_corpus([("un chat", "a cat", "0-0 1-1")]))
    >>> lm = decoder.train_lm(["a cat", "the cat"])
    >>> weights = {name: 1.0 for name in decoder.make_system(rules, lm).decoder.feature_names}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = decoder.bundle(rules, lm, weights, folder + "/system")
    ...     decoder.load_system(folder + "/system").translate_line("un chat").text
    'a cat'
    """
    require_path("directory", directory)
    if settings is not None:
        require_type("settings", settings, SearchDefaults, "SearchDefaults")
    record = read_system_record(directory)
    folder = Path(directory)
    settings = SearchDefaults(**record["settings"]) if settings is None else settings
    with ThreadPoolExecutor(1) as pool:  # Most of the time goes into checksums.
        mapping = pool.submit(read_ranking, folder / RANKING, settings.max_targets)
        (grammar, lms, weights), ranking = read_models(folder, record, settings), mapping.result()
    models = (grammar, *lms, weights)
    if ranking is not None:
        require_sound(ranking, grammar, lms.models, folder / RANKING)
        decoder = Decoder.with_ranking(*models, settings, ranking)
    else:
        decoder = Decoder(
            *models, beam=settings.beam, max_targets=settings.max_targets, widen=settings.widen
        ).searching(settings.search)
    preparation = load_preparation(folder) if PREPARATION in record["files"] else None
    return System(decoder, preparation, record)


def cut_line(parts: Sequence[str]) -> Iterator[Range]:
    """Begins and ends of what is translated together: all, unless there are more than `_LONGEST` words.

    A piece ends where the last sentence in reach does, or else the last clause in the second half of it.
    """
    begin = 0
    while len(parts) - begin > _LONGEST:
        reach = range(begin + _LONGEST, begin + _LONGEST // 2, -1)
        ends = (
            *(
                at
                for at in range(begin + _LONGEST, begin, -1)
                if _ends_sentence(parts[max(begin, at - 2) : at])
            ),
            *(at for at in reach if _CLAUSE_ENDS.fullmatch(parts[at - 1])),
            begin + _LONGEST,
        )
        yield begin, ends[0]
        begin = ends[0]
    if begin < len(parts):
        yield begin, len(parts)


def _ends_sentence(parts: Sequence[str]) -> bool:
    """Whether a sentence ends with some words; two colons, one word or two, are Ethiopic's full stop."""
    return _SENTENCE_ENDS.fullmatch(parts[-1]) is not None or [*parts[-2:]] == [":", ":"]


def _ranges(places: Sequence[Range], words: Sequence[int]) -> list[Range]:
    """The ranges of words, those of neighbours as one."""
    ranges: list[Range] = []
    for before, at in zip([-2, *words], words, strict=False):
        begin, end = places[at]
        if at == before + 1:
            ranges[-1] = (ranges[-1][0], end)
        else:
            ranges.append((begin, end))
    return ranges
