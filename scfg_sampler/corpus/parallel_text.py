"""Word-aligned parallel text in flat arrays.

Line k of the two texts and of the alignment belong together; an empty line is a sentence without words, or
without links, and keeps its number, so that sentence k is line k + 1 everywhere. Alignments are in Pharaoh
format: `i-j` says that source word i, counted from 0, is linked to target word j. With several alignments the
corpus holds every pair once under each: first all pairs with the first alignment, then all with the second, …

The fact a newcomer would get wrong: the source is always the first number, whatever direction the aligner
ran in.
"""

from __future__ import annotations

import itertools
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.ragged import concatenated, take_rows
from scfg_sampler.core.arrays.vocabulary import Vocabulary, split_words
from scfg_sampler.core.files import PathLike, read_lines
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import AlignmentError, InputError

__all__ = [
    "CorpusFiles",
    "ParallelCorpus",
    "pair_words",
    "parse_corpus",
    "parse_links",
    "read_alignment",
    "read_corpus",
    "read_text",
    "require_equal_lines",
    "same_corpus",
    "select_pairs",
]


class ParallelCorpus(NamedTuple):
    """Sentence pairs and their word alignments; sentence s owns `start[s]:start[s + 1]` of each array.

    source_vocabulary, target_vocabulary : Vocabulary
    source_start, target_start, link_start : int64, shape (S + 1,)
    source, target : int32, word ids
    links : int32, shape (L, 2), (source position, target position), sorted and unique within a sentence
    """

    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    source_start: np.ndarray
    source: np.ndarray
    target_start: np.ndarray
    target: np.ndarray
    link_start: np.ndarray
    links: np.ndarray

    @property
    def num_sentences(self) -> int:
        return len(self.source_start) - 1


class CorpusFiles(NamedTuple):
    """Where a corpus is read from: two texts, one or several alignments of them, maybe labels of spans."""

    source: PathLike
    target: PathLike
    alignments: tuple[PathLike, ...]
    labels: PathLike | None = None

    def by_name(self) -> dict[str, PathLike]:
        """The files as `source`, `target`, `alignment`, `alignment-2`, …, and `labels` if there are any."""
        alignments = enumerate(self.alignments, start=1)
        named = {"alignment" if k == 1 else f"alignment-{k}": path for k, path in alignments}
        labels = {} if self.labels is None else {"labels": self.labels}
        return {"source": self.source, "target": self.target, **named, **labels}

    @classmethod
    def from_names(cls, named: Mapping[str, PathLike]) -> CorpusFiles:
        """The files that `by_name` has named; KeyError if one is missing."""
        number = len(named) - 2 - ("labels" in named)
        alignments = [named["alignment"], *(named[f"alignment-{k}"] for k in range(2, number + 1))]
        return cls(named["source"], named["target"], tuple(alignments), named.get("labels"))


def read_corpus(
    source: PathLike, target: PathLike, alignment: PathLike, *more_alignments: PathLike
) -> ParallelCorpus:
    """The sentence pairs of two texts under each of one or several alignments.

    Parameters
    ----------
    source, target : path
        S lines each.
    alignment, *more_alignments : path
        S lines each. Pair s under alignment a, both from 0, is sentence a · S + s of the corpus.

    Raises
    ------
    InputError
        A file cannot be read or is not UTF-8 (with the line), or the files differ in their number of lines.
    AlignmentError
        A link is malformed or points outside its sentence; file and line are named.
    """
    names = source, target, alignment
    corpus = parse_corpus(read_lines(source), read_lines(target), read_lines(alignment), names=names)
    if not more_alignments:
        return corpus
    links = [(corpus.link_start, corpus.links)]
    for path in more_alignments:
        link_start, more = read_alignment(path)
        _require_fitting(path, link_start, more, source, corpus.source_start, corpus.target_start)
        links.append((link_start, more))
    return ParallelCorpus(
        corpus.source_vocabulary,
        corpus.target_vocabulary,
        *concatenated([(corpus.source_start, corpus.source)] * len(links)),
        *concatenated([(corpus.target_start, corpus.target)] * len(links)),
        *concatenated(links),
    )


def parse_corpus(
    source_lines: Iterable[str],
    target_lines: Iterable[str],
    alignment_lines: Iterable[str],
    *,
    names: tuple[PathLike, PathLike, PathLike] = ("source", "target", "alignment"),
) -> ParallelCorpus:
    """The sentence pairs of lines, without their line ends; errors are those of `read_corpus`.

    names : what errors call the three
    """
    source, target, alignment = names
    source_vocabulary, source_start, source_words = _parse_text(source_lines)
    target_vocabulary, target_start, target_words = _parse_text(target_lines)
    link_start, links = _parse_alignment(alignment_lines, alignment)
    require_equal_lines(source, len(source_start) - 1, target, len(target_start) - 1)
    _require_fitting(alignment, link_start, links, source, source_start, target_start)
    return ParallelCorpus(
        source_vocabulary,
        target_vocabulary,
        source_start,
        source_words,
        target_start,
        target_words,
        link_start,
        links,
    )


def read_text(
    path: PathLike, vocabulary: Vocabulary | None = None
) -> tuple[Vocabulary, np.ndarray, np.ndarray]:
    """The words of a text: a vocabulary (the given one, extended), offsets int64 (S + 1,), ids int32."""
    return _parse_text(read_lines(path), vocabulary)


def _parse_text(
    lines: Iterable[str], vocabulary: Vocabulary | None = None
) -> tuple[Vocabulary, np.ndarray, np.ndarray]:
    """The words of lines without their line ends, as `read_text` returns them."""
    vocabulary = Vocabulary() if vocabulary is None else vocabulary
    words, start = array("i"), array("q", [0])
    for line in lines:
        words.extend(vocabulary.add_all(split_words(line)))
        start.append(len(words))
    return vocabulary, np.frombuffer(start, np.int64), np.frombuffer(words, np.int32)


def read_alignment(path: PathLike) -> tuple[np.ndarray, np.ndarray]:
    """The links of a Pharaoh file: offsets int64 (S + 1,) and int32 (L, 2), sorted and unique per line."""
    return _parse_alignment(read_lines(path), path)


def select_pairs(corpus: ParallelCorpus, pairs: np.ndarray) -> ParallelCorpus:
    """The sentence pairs of the given numbers (int64), in that order, with the same vocabularies."""
    return ParallelCorpus(
        corpus.source_vocabulary,
        corpus.target_vocabulary,
        *take_rows(corpus.source_start, corpus.source, pairs),
        *take_rows(corpus.target_start, corpus.target, pairs),
        *take_rows(corpus.link_start, corpus.links, pairs),
    )


def same_corpus(one: ParallelCorpus, other: ParallelCorpus) -> bool:
    """Whether two corpora, read from files, are the same: words, sentences, links.

    >>> one, other = (parse_corpus(["un chat"], ["a cat"], [links]) for links in ("0-0 1-1", "0-0"))
    >>> same_corpus(one, one), same_corpus(one, other)
    (True, False)
    """
    words = ((corpus.source_vocabulary.words, corpus.target_vocabulary.words) for corpus in (one, other))
    return next(words) == next(words) and all(map(np.array_equal, one[2:], other[2:]))


def pair_words(corpus: ParallelCorpus, sentence: int) -> tuple[list[str], list[str]]:
    """The source and the target words of a sentence pair, counted from 0."""
    sides = []
    for vocabulary, start, words in (
        (corpus.source_vocabulary, corpus.source_start, corpus.source),
        (corpus.target_vocabulary, corpus.target_start, corpus.target),
    ):
        ids = words[start[sentence] : start[sentence + 1]].tolist()
        sides.append([vocabulary.words[word] for word in ids])
    return sides[0], sides[1]


def parse_links(text: str, path: object = None, line: int | None = None) -> list[tuple[int, int]]:
    """The links of one line, in the line's order; an AlignmentError names `path` and `line`.

    >>> parse_links("0-0 2-1")
    [(0, 0), (2, 1)]
    """
    numbers = iter(_link_numbers(text, path, line))
    return list(zip(numbers, numbers, strict=True))


def _parse_alignment(lines: Iterable[str], path: object) -> tuple[np.ndarray, np.ndarray]:
    starts, links, count, before = array("q", [0]), [np.zeros((0, 2), np.int32)], 0, 0
    # Block by block, since a link while it is read takes many times the four bytes it had in the file.
    lines = iter(lines)
    while block := list(itertools.islice(lines, _LINES_AT_ONCE)):
        numbers, start = array("q"), array("q", [0])
        for line, text in enumerate(block, start=before + 1):
            numbers.extend(_link_numbers(text, path, line))
            start.append(len(numbers) // 2)
        offsets, found = np.array(start, np.int64), np.array(numbers, np.int64).reshape(-1, 2)
        if len(found) and found.max() > _MAX_POSITION:
            at = int(np.argmax(found.max(axis=1) > _MAX_POSITION))
            line = before + int(np.searchsorted(offsets, at, side="right"))
            raise AlignmentError(path, line, f"link {found[at, 0]}-{found[at, 1]} cannot be right", _COUNTED)
        offsets, ordered = _sort_links(offsets, found)
        starts.frombytes((offsets[1:] + count).tobytes())
        links.append(ordered)
        count, before = count + len(ordered), before + len(offsets) - 1
    return np.frombuffer(starts, np.int64), np.concatenate(links)


_LINES_AT_ONCE = 1 << 12
_MAX_POSITION = 2**31 - 1
_LINK = re.compile(r"[0-9]{1,18}-[0-9]{1,18}")
_LINE = re.compile(r"[ \t]*(?:[0-9]{1,18}-[0-9]{1,18}(?:[ \t]+|\r?\Z))*\r?")
_COUNTED = "Alignments are source-target pairs counted from 0; were the two languages swapped?"
_FROM_ONE = "Alignments are counted from 0, and no link of the file has a 0: subtract 1 from every number"


def _link_numbers(text: str, path: object, line: int | None) -> Iterator[int]:
    if _LINE.fullmatch(text):
        return map(int, text.replace("-", " ").split())
    wrong = next(word for word in split_words(text) if not _LINK.fullmatch(word))
    raise AlignmentError(
        path, line, f"{wrong!r} is not a link", "Expected pairs such as 0-0 2-1, counted from 0"
    )


def _sort_links(offsets: np.ndarray, links: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same links sorted within each line, without repetitions."""
    sentence = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    first, second = links[:, 0], links[:, 1]
    same = sentence[1:] == sentence[:-1]
    ahead = (first[1:] > first[:-1]) | ((first[1:] == first[:-1]) & (second[1:] > second[:-1]))
    if np.all(ahead | ~same):
        return offsets, np.ascontiguousarray(links, np.int32)
    rows = np.unique(np.column_stack([sentence, links]), axis=0)
    counts = np.bincount(rows[:, 0], minlength=len(offsets) - 1)
    return np.concatenate([[0], np.cumsum(counts)]), np.ascontiguousarray(rows[:, 1:], np.int32)


def require_equal_lines(path: object, lines: int, other: object, other_lines: int) -> None:
    """Raise an InputError that names the shorter file, unless both have as many lines."""
    if lines != other_lines:
        short, fewer, long, more = (
            (path, lines, other, other_lines) if lines < other_lines else (other, other_lines, path, lines)
        )
        found = f"ends after {counted(fewer, 'line')}, but {long} has {more}"
        raise InputError(short, fewer + 1, found, "Line k of all files must belong together")


def _require_fitting(
    path: object,
    link_start: np.ndarray,
    links: np.ndarray,
    source: object,
    source_start: np.ndarray,
    target_start: np.ndarray,
) -> None:
    """Raise an error unless an alignment has a line for each pair, and links inside of it."""
    require_equal_lines(source, len(source_start) - 1, path, len(link_start) - 1)
    sentence = np.repeat(np.arange(len(link_start) - 1), np.diff(link_start))
    lengths = np.column_stack([np.diff(source_start), np.diff(target_start)])[sentence]
    outside = links >= lengths
    if outside.any():
        at = int(np.argmax(outside.any(axis=1)))
        side = int(np.argmax(outside[at]))
        found = (
            f"link {links[at, 0]}-{links[at, 1]} points past the end of a {lengths[at, side]}-word "
            f"{('source', 'target')[side]} sentence"
        )
        raise AlignmentError(path, int(sentence[at]) + 1, found, _COUNTED if links.min() == 0 else _FROM_ONE)
