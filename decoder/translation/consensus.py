"""Several systems' translations of a sentence, and the one that is most like what all of them say.

Minimum Bayes risk (Kumar and Byrne 2004) over the lists of S systems. Each system has one vote, which it
divides among the translations of its list as it is sure of them, p_s(e) ∝ exp(scale · score_s(e)); chosen is

    argmax over e of all lists of  Σ over e′ of  1/S Σ_s p_s(e′) · BLEU+1(e against e′).

So a translation need not be in every list, nor be the best of any: it has to share its words, and what stands
beside them, with what the others have. The fact a newcomer would get wrong: scores of different systems are
never compared with each other, so these may have other features, other weights, or be other programs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from decoder.search.mbr import expected_bleu, posteriors
from decoder.translation.nbest import Listed

__all__ = ["SCALE", "consensus", "expected_of", "sentences_of"]

SCALE = 0.3
"""What scores are multiplied by, unless told otherwise; by the development sets of four language pairs."""


def consensus(
    lists: Iterable[Sequence[Listed]], scale: float = SCALE, tokenizer: Callable[[str], str] | None = None
) -> tuple[str, ...]:
    """The words of the translation with the highest expected BLEU+1 among those of all lists.

    Parameters
    ----------
    lists : a system's translations of one sentence, each; where a system has none, or one without words, as
        some write when they find none, the others decide
    scale : float > 0
        A large one gives a system's vote to its best translation, a small one as much to each of its list.

    tokenizer : function of a text that puts blanks between its words, optional
        By which translations that are raw text are compared; by default blanks alone part words.

    Returns
    -------
    tuple of str
        Of equally good ones the one that is listed first; no words, if no system has any translation.
    """
    expected = expected_of(lists, scale, tokenizer)
    return max(expected, key=expected.__getitem__, default=())


def expected_of(
    lists: Iterable[Sequence[Listed]], scale: float = SCALE, tokenizer: Callable[[str], str] | None = None
) -> dict[tuple[str, ...], float]:
    """The BLEU+1 that each translation of all lists can expect, in their order; as for `consensus`."""
    votes: dict[tuple[str, ...], float] = {}
    for listed in lists:
        if not any(one.words for one in listed):
            continue
        shares = posteriors(np.array([one.score for one in listed]), scale)
        for one, share in zip(listed, shares.tolist(), strict=True):
            votes[one.words] = votes.get(one.words, 0.0) + share
    if not votes:
        return {}
    candidates = list(votes)
    numbers: dict[str, int] = {}
    compared = candidates if tokenizer is None else [tokenizer(" ".join(each)).split() for each in candidates]
    words = [numbers.setdefault(word, len(numbers)) for each in compared for word in each]
    start = np.cumsum([0, *map(len, compared)]).astype(np.int64)
    probs = np.array(list(votes.values()))
    expected = expected_bleu(start, np.array(words, np.int32), probs / probs.sum())
    return dict(zip(candidates, expected.tolist(), strict=True))


def sentences_of(
    systems: Sequence[Iterable[tuple[int, list[Listed]]]], size: int | None = None
) -> Iterator[list[list[Listed]]]:
    """For sentence 0, 1, … up to the last that a system has: the first `size` of each system's list, or all.

    Parameters
    ----------
    systems : of each the lists that it has, by increasing number, as `read_nbest` has them
    """
    streams = [iter(each) for each in systems]
    ahead = [next(stream, None) for stream in streams]
    number = 0
    while any(each is not None for each in ahead):
        lists: list[list[Listed]] = []
        for at, (each, stream) in enumerate(zip(ahead, streams, strict=True)):
            if each is None or each[0] > number:
                lists.append([])
                continue
            lists.append(list(islice(each[1], size)))
            ahead[at] = next(stream, None)
        yield lists
        number += 1
