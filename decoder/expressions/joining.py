"""Lists of several systems as one, so that a ranker chooses among what all of them say.

Systems that learnt otherwise make other mistakes: what two of them have among their best is more often right
than what one has first. A candidate of the joined list has the features of each list, named after it, so that
a ranker can weigh them. What a list lacks is worth no more there than the worst that it has.

The fact a newcomer would get wrong: a feature that is missing is not 0, which as a logarithm is the best that
there is. It is the lowest that the list has for this sentence, or, of a shared one, that any list has.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from decoder.expressions.ranker import Candidate

__all__ = ["join_lists", "joined_names"]

_MISSING = "Missing"
_K = 60  # Of reciprocal rank fusion, as Cormack, Clarke and Büttcher (2009) have it.


def join_lists(
    names: Sequence[str], lists: Sequence[Sequence[Candidate]], shared: Collection[str]
) -> list[tuple[Candidate, float]]:
    """The candidates of a sentence, each once, and their reciprocal ranks; the highest first.

    Parameters
    ----------
    names : sequence of str
        Of the lists, put before their features.
    lists : sequence of lists
        Each has the best first. Of those with the same words, the first counts.
    shared : collection of str
        Features without a name before them, taken from the first list that has the candidate.
    """
    firsts = [_firsts(candidates) for candidates in lists]
    found: dict[tuple[str, ...], dict[str, float]] = {}
    scores: dict[tuple[str, ...], float] = {}
    for candidates in firsts:
        for rank, (words, features) in enumerate(candidates.items(), start=1):
            own = {name: features[name] for name in features if name in shared}
            found[words] = own | found.get(words, {})
            scores[words] = scores.get(words, 0.0) + 1 / (_K + rank)
    lowest_of = [_lowest(candidates.values()) for candidates in firsts]
    lowest_shared = _lowest_shared(lowest_of, shared)
    for words, features in found.items():
        own_lists = [lowest for each, lowest in zip(firsts, lowest_of, strict=True) if words in each]
        for name, value in lowest_shared.items():
            if not any(name in lowest for lowest in own_lists):
                features[name] = value
    for name, candidates, lowest in zip(names, firsts, lowest_of, strict=True):
        for words, features in found.items():
            own = candidates.get(words, lowest)
            features.update({name + each: own[each] for each in own if each not in shared})
            features[name + _MISSING] = float(words not in candidates)
    return [
        (Candidate(list(words), found[words]), scores[words])
        for words in sorted(found, key=lambda words: -scores[words])
    ]


def joined_names(name: str, features: Collection[str], shared: Collection[str]) -> set[str]:
    """What the features of a list are called in the joined one, the shared ones left out."""
    return {name + _MISSING, *(name + each for each in {*features}.difference(shared))}


def _firsts(candidates: Sequence[Candidate]) -> dict[tuple[str, ...], dict[str, float]]:
    """Features by words, of the first candidate that has them."""
    found: dict[tuple[str, ...], dict[str, float]] = {}
    for one in candidates:
        found.setdefault(tuple(one.words), one.features)
    return found


def _lowest_shared(lowest_of: Sequence[dict[str, float]], shared: Collection[str]) -> dict[str, float]:
    """The lowest value of each shared feature, in all lists that have it."""
    found: dict[str, float] = {}
    for lowest in lowest_of:
        for name in lowest:
            if name in shared:
                found[name] = min(lowest[name], found.get(name, lowest[name]))
    return found


def _lowest(of_candidates: Collection[dict[str, float]]) -> dict[str, float]:
    """The lowest value that each feature has; one that a candidate does not name is 0 there."""
    names = dict.fromkeys(name for features in of_candidates for name in features)
    return {name: min(features.get(name, 0.0) for features in of_candidates) for name in names}
