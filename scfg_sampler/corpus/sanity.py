"""Parallel text that smells wrong: what is likely to be a mistake, though every line can be read.

Each remark names a share and says what may be the matter. The shares above which it is made are far beyond
what clean corpora have.

The fact a newcomer would get wrong: nothing is refused here but a corpus without a single link. A copied or
doubled pair is not wrong in itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from scfg_sampler.core.arrays.ragged import group_rows
from scfg_sampler.core.arrays.vocabulary import Vocabulary
from scfg_sampler.core.console import warn
from scfg_sampler.core.files import PathLike
from scfg_sampler.corpus.parallel_text import CorpusFiles, ParallelCorpus
from scfg_sampler.errors import InputError

__all__ = ["attached_marks", "require_links", "warn_of_odd_pairs", "warn_of_untokenised_text"]

_FEWEST = 20  # Pairs below which shares say nothing.
_COPIED, _DOUBLED, _LINKLESS, _ATTACHED = 0.2, 0.5, 0.2, 0.04
_MARKED = re.compile(r"[^\W\d_]{2,}[.,;:!?。，；：！？]+")  # A word of letters with a mark at its end.


def require_links(corpus: ParallelCorpus, path: PathLike) -> None:
    """Raise InputError, naming the source text, unless some sentence pair has a link."""
    if corpus.num_sentences == 0:
        raise InputError(path, None, "has no lines", "Are these the right files?")
    if len(corpus.links) == 0:
        hint = "Is the alignment empty, or that of another text?"
        raise InputError(path, None, "no sentence pair has a link", hint)


def warn_of_odd_pairs(corpus: ParallelCorpus, files: CorpusFiles) -> None:
    """Warn of shares of copied, doubled and linkless pairs, and of text that is not tokenised."""
    for remark in odd_pairs(corpus, len(files.alignments)):
        warn(f"{files.source}: {remark}")


def odd_pairs(corpus: ParallelCorpus, alignments: int = 1) -> list[str]:
    """What is odd about a corpus, a sentence each; nothing of fewer than twenty pairs with words.

    Parameters
    ----------
    alignments : int
        Under how many alignments each pair of the corpus stands: that often it is no repetition.
    """
    lengths = np.diff(corpus.source_start), np.diff(corpus.target_start)
    full = (lengths[0] > 0) & (lengths[1] > 0)
    links = np.diff(corpus.link_start).reshape(alignments, -1).sum(axis=0)
    full[len(links) :] = False  # The others are these again, under another alignment.
    number = int(full.sum())
    if number < _FEWEST:
        return []
    remarks = []
    linkless = int((full[: len(links)] & (links == 0)).sum())
    if linkless > _LINKLESS * number:
        text = f"{linkless} of {number} pairs have no links; is it the alignment of this text?"
        remarks.append(text)
    copied = int((full & _are_copied(corpus, *lengths)).sum())
    if copied > _COPIED * number:
        remarks.append(
            f"{copied} of {number} pairs are the same on both sides; are both texts in one language?"
        )
    sides = [
        group_rows(start, symbols)[0]
        for start, symbols in ((corpus.source_start, corpus.source), (corpus.target_start, corpus.target))
    ]
    pairs = sides[0].astype(np.int64) << 32 | sides[1]
    doubled = number - len(np.unique(pairs[full]))
    if doubled > _DOUBLED * number:
        remarks.append(f"{doubled} of {number} pairs repeat another one; 'prepare' leaves repetitions out")
    for name, symbols, vocabulary in (
        ("source", corpus.source, corpus.source_vocabulary),
        ("target", corpus.target, corpus.target_vocabulary),
    ):
        share = _attached_share(symbols, vocabulary)
        if share > _ATTACHED:
            remarks.append(f"{share:.0%} of the words of the {name} text end in a mark; is it tokenised?")
    return remarks


def attached_marks(lines: Iterable[str]) -> float:
    """The share of the words that end in a punctuation mark: next to none where text is tokenised."""
    words = marked = 0
    for line in lines:
        for word in line.split():
            words += 1
            marked += _MARKED.fullmatch(word) is not None
    return marked / words if words else 0.0


def warn_of_untokenised_text(lines: Iterable[str], path: PathLike) -> None:
    """Warn if the words of a text, or of its beginning, have punctuation marks at their ends."""
    share = attached_marks(lines)
    if share > _ATTACHED:
        warn(f"{path}: {share:.0%} of the words end in a mark; is the text tokenised? See 'prepare'")


def _are_copied(corpus: ParallelCorpus, source_length: np.ndarray, target_length: np.ndarray) -> np.ndarray:
    """Which pairs have the same words on both sides, bool (S,)."""
    ids = [corpus.source_vocabulary.id(word) for word in corpus.target_vocabulary.words]
    as_source = np.array([*ids, -1], np.int64)
    rows = np.flatnonzero((source_length == target_length) & (source_length > 0))
    lengths = source_length[rows]
    begin = np.cumsum(lengths) - lengths
    offset = np.arange(int(lengths.sum())) - np.repeat(begin, lengths)
    one = corpus.source[np.repeat(corpus.source_start[rows], lengths) + offset]
    other = as_source[corpus.target[np.repeat(corpus.target_start[rows], lengths) + offset]]
    copied = np.zeros(len(source_length), bool)
    if len(rows):
        copied[rows] = np.logical_and.reduceat(one == other, begin)
    return copied


def _attached_share(symbols: np.ndarray, vocabulary: Vocabulary) -> float:
    if len(symbols) == 0:
        return 0.0
    counts = np.bincount(symbols, minlength=len(vocabulary))
    marked = np.array([_MARKED.fullmatch(word) is not None for word in vocabulary.words], bool)
    return float(counts[marked].sum() / len(symbols))
