"""Labels of spans of one side of a corpus, from a file with a line for each sentence pair.

Three forms:

spans    `0-2:NP 2-5:VP …`, half-open, positions from 0; a label may hold colons
classes  a class for every word, as a tagger or a clusterer gives; the label of a span is the class of its
         first word and that of its last, `DT..NN`, of a single word its class (Zollmann and Vogel 2011)
trees    a tree in brackets, as parsers write it; labels as in SAMT (Zollmann and Venugopal 2006): a
         constituent NP; two side by side, NP+VP; one that lacks another on its right, S/VP, or on its left,
         S\\NP; in this order, the smallest whole first

Spans without a label have X, as all have where a line is empty (a sentence that could not be parsed). The
fact a newcomer would get wrong: of constituents over the same words the outermost counts, so that NP over one
noun is NP; a root called TOP, ROOT, S1 or nothing at all is none.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.vocabulary import Vocabulary, split_words
from scfg_sampler.core.files import PathLike, read_lines
from scfg_sampler.core.wording import counted
from scfg_sampler.corpus.parallel_text import ParallelCorpus
from scfg_sampler.errors import InputError

__all__ = ["SpanLabels", "labels_of_lines", "read_span_labels"]

Spans = dict[tuple[int, int], str]

_SPAN = re.compile(r"([0-9]{1,9})-([0-9]{1,9}):(.+)")
_TOKEN = re.compile(r"[()]|[^() \t]+")  # Other blanks are parts of words: `split_words`.
_ROOTS = ("", "TOP", "ROOT", "S1")


class SpanLabels(NamedTuple):
    """The labels of the spans of S sentences; sentence s owns `start[s]:start[s + 1]`.

    names : the first is X
    is_target : whether the spans are of target sides
    start : int64 (S + 1,)
    spans : int32 (N, 2), half-open
    label : int32 (N,), none of them X
    """

    names: tuple[str, ...]
    is_target: bool
    start: np.ndarray
    spans: np.ndarray
    label: np.ndarray


def read_span_labels(
    path: PathLike, corpus: ParallelCorpus, *, side: str, form: str, longest: int, alignments: int = 1
) -> SpanLabels:
    """The labels of the spans of a corpus, up to so many words.

    Where the corpus has every pair under several alignments, all have the labels of the one line.

    Parameters
    ----------
    path : path
    corpus : ParallelCorpus
    side, form : one of `span_forms.SIDES`, and of its FORMS
    longest : int
        Words of the longest span that is asked for.
    alignments : int
        Under how many the corpus has every pair.

    Raises
    ------
    InputError
        A line is not of the form, or does not fit its sentence; file and line are named. Or there are more
        or fewer lines than pairs.
    """
    lines = enumerate(read_lines(path), start=1)
    return labels_of_lines(lines, path, corpus, side=side, form=form, longest=longest, alignments=alignments)


def labels_of_lines(
    lines: Iterable[tuple[int, str]],
    path: PathLike,
    corpus: ParallelCorpus,
    *,
    side: str,
    form: str,
    longest: int,
    alignments: int = 1,
) -> SpanLabels:
    """As `read_span_labels`, of lines of the file that were read already, with their numbers there."""
    text_start = corpus.target_start if side == "target" else corpus.source_start
    lengths = np.diff(text_start).tolist()
    read: Callable[[str, int, int], Spans] = {"spans": _spans, "classes": _classes, "trees": _constituents}[
        form
    ]
    # Spans are many: as pairs of Python they would take ten times the memory.
    names, sizes, spans, labels = Vocabulary(["X"]), list[int](), array("i"), array("i")
    for number, line in lines:
        if len(sizes) == len(lengths):
            raise InputError(
                path, number, f"the corpus has only {counted(len(lengths), 'pair')}", "Give a line for each"
            )
        try:
            found = read(line, lengths[len(sizes)], longest) if split_words(line) else {}
        except _Wrong as wrong:
            raise InputError(path, number, str(wrong), f"Expected {_EXPECTED[form]}") from None
        sizes.append(len(found))
        for span in sorted(found):
            spans.extend(span)
            labels.append(names.add(found[span]))
    if not sizes or len(lengths) not in (len(sizes), alignments * len(sizes)):
        found_lines = f"has {counted(len(sizes), 'line')} for {counted(len(lengths), 'pair')}"
        raise InputError(path, None, found_lines, "Give a line for each pair")
    times = len(lengths) // len(sizes)
    start = np.concatenate([[0], np.cumsum(sizes * times)]).astype(np.int64)
    every = np.array(spans, np.int32).reshape(-1, 2)
    return SpanLabels(
        tuple(names.words),
        side == "target",
        start,
        np.tile(every, (times, 1)),
        np.tile(np.array(labels, np.int32), times),
    )


_EXPECTED = {
    "spans": "0-2:NP 2-5:VP …, half-open",
    "classes": "a class for every word",
    "trees": "a tree such as (S (NP (DT the) (NN dog)) (VP (VB barks)))",
}


class _Wrong(Exception):
    """What is wrong with a line."""


def _spans(line: str, length: int, longest: int) -> Spans:
    found: Spans = {}
    for token in split_words(line):
        match = _SPAN.fullmatch(token)
        if match is None:
            raise _Wrong(f"{token!r} is no labelled span")
        begin, end = int(match[1]), int(match[2])
        if not begin < end <= length:
            raise _Wrong(f"{token!r} is no span of a sentence of {counted(length, 'word')}")
        if (begin, end) in found:
            raise _Wrong(f"{token!r} labels a span that has a label")
        found[begin, end] = match[3]
    return {(i, j): label for (i, j), label in found.items() if j - i <= longest and label != "X"}


def _classes(line: str, length: int, longest: int) -> Spans:
    classes = split_words(line)
    if len(classes) != length:
        raise _Wrong(f"has {counted(len(classes), 'class', 'classes')} for {counted(length, 'word')}")
    found = {(i, i + 1): name for i, name in enumerate(classes) if name != "X"}
    for i in range(length):
        for j in range(i + 2, min(i + longest, length) + 1):
            found[i, j] = f"{classes[i]}..{classes[j - 1]}"
    return found


def _constituents(line: str, length: int, longest: int) -> Spans:
    """SAMT's labels of the spans of a tree."""
    whole = _tree_spans(line, length)
    if not whole:
        return {}
    beginning: dict[int, list[int]] = {}
    for i, j in sorted(whole):
        beginning.setdefault(i, []).append(j)
    found: Spans = {}
    for i in range(length):
        for j in range(i + 1, min(i + longest, length) + 1):
            if (i, j) in whole:
                found[i, j] = whole[i, j]
            elif label := next(_composed(whole, beginning, i, j), None):
                found[i, j] = label
    return found


def _composed(whole: Spans, beginning: dict[int, list[int]], i: int, j: int) -> Iterator[str]:
    """The labels of a span that is no constituent, in their order."""
    for k in beginning.get(i, ()):
        if k < j and (k, j) in whole:
            yield f"{whole[i, k]}+{whole[k, j]}"
    for k in beginning.get(i, ()):
        if k > j and (j, k) in whole:
            yield f"{whole[i, k]}/{whole[j, k]}"
    for k in range(i - 1, -1, -1):
        if (k, j) in whole and (k, i) in whole:
            yield f"{whole[k, j]}\\{whole[k, i]}"


def _tree_spans(line: str, length: int) -> Spans:
    """The constituents of a tree, outermost first where they have the same words."""
    open_at: list[tuple[int, str]] = []
    found: Spans = {}
    position, before = 0, ""
    for token in _TOKEN.findall(line.removesuffix("\r")):
        if token == "(":
            open_at.append((position, ""))
        elif token == ")":
            if not open_at:
                raise _Wrong("has a bracket that was not opened")
            begin, label = open_at.pop()
            if begin < position and label not in _ROOTS and label != "X":
                found[begin, position] = label
        elif before == "(":
            open_at[-1] = open_at[-1][0], token
        elif not open_at:
            raise _Wrong(f"{token!r} stands outside of the tree")
        else:
            position += 1
        if not open_at and token != ")":
            raise _Wrong("is no tree")
        before = token
    if open_at:
        raise _Wrong("has a bracket that is not closed")
    if position not in (0, length):
        raise _Wrong(f"is a tree over {counted(position, 'word')} instead of {length}")
    return found
