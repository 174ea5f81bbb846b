"""What a base distribution says of words: frequencies (`lexical`), shares without links (`null-words`).

The fact a newcomer would get wrong: the share of a word's occurrences without links enters rules whose words
are all on one side, and no others; what asks for it is `model`.
"""

from __future__ import annotations

import numpy as np

from scfg_sampler.core.elementary import log_each
from scfg_sampler.corpus.parallel_text import ParallelCorpus
from scfg_sampler.learner.settings import LearnerSettings

__all__ = ["word_weights"]


def word_weights(
    corpus: ParallelCorpus, settings: LearnerSettings, more: tuple[int, int] = (0, 0)
) -> tuple[np.ndarray, np.ndarray] | None:
    """ln of the weight of each word in the base distribution; None for bases that look at no words.

    `lexical`: the relative frequency on its side, at least that of a word seen once. `null-words`: the share
    of its occurrences that have no link, one more occurrence counted with the average share of its side,
    which is that of words never seen; a side without any unlinked word counts as if it had one.

    Parameters
    ----------
    corpus : ParallelCorpus
        Pairs under several alignments stand there under each.
    settings : LearnerSettings
    more : (int, int)
        Words of either side that the corpus does not have, for which there are weights after the others'.

    Returns
    -------
    (float64 array, float64 array) or None
        By the ids of source and target words.
    """
    if settings.model != "pitman-yor" or settings.base not in _WEIGHTS:
        return None
    weigh = _WEIGHTS[settings.base]
    sides = (
        (corpus.source, corpus.source_vocabulary, corpus.source_start, corpus.links[:, 0]),
        (corpus.target, corpus.target_vocabulary, corpus.target_start, corpus.links[:, 1]),
    )
    found = []
    for (words, vocabulary, start, linked), unseen in zip(sides, more, strict=True):
        alone = np.ones(len(words), bool)
        alone[linked + np.repeat(start[:-1], np.diff(corpus.link_start))] = False
        found.append(weigh(words, alone, len(vocabulary) + unseen))
    return found[0], found[1]


def _log_frequencies(words: np.ndarray, alone: np.ndarray, size: int) -> np.ndarray:
    del alone
    return log_each(np.maximum(np.bincount(words, minlength=size), 1) / max(1, len(words)))


def _log_shares_alone(words: np.ndarray, alone: np.ndarray, size: int) -> np.ndarray:
    average = max(1, int(np.count_nonzero(alone))) / max(1, len(words))
    occurrences = np.bincount(words, minlength=size)
    return log_each((np.bincount(words[alone], minlength=size) + average) / (occurrences + 1))


_WEIGHTS = {"lexical": _log_frequencies, "null-words": _log_shares_alone}
