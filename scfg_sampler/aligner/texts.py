"""Two files of text, and the alignment files that are made of them by sampling phrases.

The fact a newcomer would get wrong: a draw is the last state of a chain of its own, from the beginning. The
states of one chain are too much alike, as phrases that many sentences share are slow to change.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scfg_sampler.aligner.alignment import PhraseAligner
from scfg_sampler.aligner.lexicon import Text
from scfg_sampler.core.arrays.vocabulary import Vocabulary
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.limits import require_number, require_seed
from scfg_sampler.corpus.word_alignment import (
    AlignmentReport,
    prefixes,
    read_both,
    require_prefix,
    write_together,
)
from scfg_sampler.errors import SettingsError

__all__ = ["DEFAULT_ITERATIONS", "DEFAULT_LONGEST", "MOST_WORDS", "align_phrases"]

DEFAULT_ITERATIONS = 12
DEFAULT_LONGEST = 60
MOST_WORDS = 120  # Charts of twice as many would take 27 GB.


def align_phrases(
    source: PathLike,
    target: PathLike,
    prefix: PathLike,
    *,
    iterations: int = DEFAULT_ITERATIONS,
    longest: int = DEFAULT_LONGEST,
    draws: int = 1,
    seed: int = 1,
    advance: Callable[[float, int], object] = lambda sweeps, draws: None,
) -> AlignmentReport:
    """Align two texts by phrases that are sampled together; what came of it. Writes `PREFIX.phrases`.

    Parameters
    ----------
    source, target : path
        Tokenised text; line k of both belongs together.
    prefix : path
    iterations : int
        Sweeps over the corpus, at least 1; the derivations after the last one are the alignment.
    longest : int
        Sentence pairs with more words on a side are left without links. The room that charts take, and the
        time that long pairs take, grow with its fourth power and faster. Pairs of more than 60 words a side
        or so that would take longer still, as little in them is likely, are aligned coarsely: fewer of their
        derivations are looked at.
    draws : int
        How many chains are run; the file of draw k, from 2, is `PREFIX.k.phrases`. It is written before the
        next chain begins.
    seed : int
        Draw k has the seed `seed` + k − 1.
    advance : callable, optional
        Told of parts of a sweep, by what share they are and 0, and of every draw by 0 and 1.

    Raises
    ------
    SettingsError
        A number is out of range.
    InputError
        A file cannot be read, the texts differ in their number of lines or are empty, or the files of the
        prefix cannot be written, which is said before aligning.
    """
    for option, number in (("iterations", iterations), ("draws", draws)):
        require_number(option, number)
    if not 1 <= longest <= MOST_WORDS:
        raise SettingsError(f"--longest is {longest}; it must be from 1 to {MOST_WORDS}")
    require_seed(seed)
    texts = [_folded(*text) for text in read_both(source, target)]
    require_prefix(prefix)
    num_links, is_coarse = 0, np.zeros(len(texts[0].start) - 1, bool)
    for draw, name in enumerate(prefixes(prefix, draws)):
        aligner = PhraseAligner(*texts, longest=longest, seed=seed + draw)
        for _ in range(iterations):
            aligner.sweep(lambda share: advance(share, 0))
        lines = [" ".join(f"{i}-{j}" for i, j in links) for links in aligner.links()]
        write_together({"phrases": iter(lines)}, name)
        is_coarse |= aligner.coarse()
        num_links += sum(line.count("-") for line in lines)
        advance(0, 1)
    too_long = np.maximum(*(np.diff(text.start) for text in texts)) > longest
    return AlignmentReport(len(too_long), num_links, int(too_long.sum()), int(is_coarse.sum()))


def _folded(vocabulary: Vocabulary, start: np.ndarray, words: np.ndarray) -> Text:
    """A text in which words that differ in case alone have one number, as eflomal is given them."""
    folded = Vocabulary()
    numbers = np.array(folded.add_all(word.lower() for word in vocabulary.words), np.int32)
    return Text(start, numbers[words] if len(words) else words, len(folded.words))
