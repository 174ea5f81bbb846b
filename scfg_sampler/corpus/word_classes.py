"""Classes of words, learnt of a text from which words stand beside which.

The text is most probable where each word is drawn given its class, and each class given the one before:

    P(text) = Π_i P(w_i | c(w_i)) P(c(w_i) | c(w_{i−1}))

With relative frequencies for both, what depends on the classes is (Kneser and Ney 1993; Martin, Liermann and
Ney 1998, section 2)

    F = Σ_{c,d} N(c, d) ln N(c, d) − 2 Σ_c N(c) ln N(c)

where N counts words and pairs of neighbours by their classes; the ends of lines are a class of their own.
Word after word, the most frequent first, goes to the class where F is highest, until none moves.

The fact a newcomer would get wrong: the classes found are the best of their neighbours, in which one word is
elsewhere, not the best of all. Nothing is drawn at random, so the same text has the same classes.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from scfg_sampler.core import elementary
from scfg_sampler.core.arrays.vocabulary import Vocabulary
from scfg_sampler.core.jit import compiled, kernel
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import SettingsError

__all__ = ["WordClasses", "learn_classes"]

_AT_A_TIME = 1_000  # Words that are looked at before a signal is heard.
_TABLED = 1 << 20  # Numbers of which n ln n is looked up.
_ROUNDING = 1e-9  # What F must rise by, in nats, that a word moves.


class WordClasses(NamedTuple):
    """A class for each of V words.

    words : the most frequent first, and of these the first in the text
    uses : int64 (V,), how often each is in the text
    label : int32 (V,), its class, from 0; that of the most words of the text is 0
    number : how many classes there may be, K; some may have no words
    """

    words: tuple[str, ...]
    uses: np.ndarray
    label: np.ndarray
    number: int

    @property
    def names(self) -> dict[str, str]:
        """The name of the class of each word: C1, C2, …"""
        return {word: f"C{label + 1}" for word, label in zip(self.words, self.label.tolist(), strict=True)}


class _Neighbours(NamedTuple):
    """Words that stand beside each word: of w `word[start[w]:start[w + 1]]`, `times` so often; not itself."""

    start: np.ndarray
    word: np.ndarray
    times: np.ndarray


class _Counts(NamedTuple):
    """By class, the ends of lines the last: uses; pairs of one and the next, and of one and that before."""

    uses: np.ndarray
    pairs: np.ndarray
    flipped: np.ndarray


class _Around(NamedTuple):
    """The classes beside a word, how often each follows it and comes before it; its own uses."""

    beside: np.ndarray
    after: np.ndarray
    ahead: np.ndarray
    itself: int
    uses: int


def learn_classes(
    lines: Iterable[Sequence[str]],
    number: int,
    *,
    passes: int = 30,
    tell: Callable[[int, int], object] = lambda words, moved: None,
    name: str = "the text",
) -> WordClasses:
    """The classes of the words of a text.

    Parameters
    ----------
    lines : iterable of sequences of str
        Words; empty lines say nothing.
    number : int ≥ 1
        K; the memory of a pass grows with its square, the time with it and with the neighbours of words.
    passes : int ≥ 1
        How often every word is looked at, if some still move.
    tell : callable, optional
        Is told of words looked at and, of these, moved.
    name : str, optional
        What an error calls the text.

    Raises
    ------
    SettingsError
        There are fewer different words than classes, or a number is less than 1.
    TypeError
        A line is a string.

    >>> found = learn_classes([["a", "cat"], ["the", "cat"], ["a", "dog"], ["the", "dog"]], 2)
    >>> found.names
    {'a': 'C1', 'cat': 'C2', 'the': 'C1', 'dog': 'C2'}
    """
    for option, value in (("--number", number), ("--passes", passes)):
        if value < 1:
            raise SettingsError(f"{option} is {value}, but must be at least 1")
    words, count, pairs = _counted(lines)
    if len(words) < number:
        raise SettingsError(f"--number is {number}, but {name} has {counted(len(words), 'different word')}")
    following, before, itself = _neighbours(pairs, len(words))
    label = np.arange(len(words) + 1, dtype=np.int32) % number
    label[-1] = number
    counts = _class_counts(pairs, label, count, number)
    entropy = _entropies(min(_TABLED, int(count.sum()) + 1))
    for _ in range(passes):
        moved = 0
        for first in range(0, len(words), _AT_A_TIME):
            last = min(len(words), first + _AT_A_TIME)
            some = _move((first, last), label, count, counts, following, before, itself, entropy)
            tell(last - first, some)
            moved += some
        if moved == 0:
            break
    return WordClasses(words, count[:-1], _by_use(label[:-1], counts.uses[:-1]), number)


def _counted(lines: Iterable[Sequence[str]]) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """The words, how often each is there, and pairs of neighbours, int64 (P, 3): one, the next, how often.

    The ends of lines are the word behind the last, which is at the end of `count`, too.
    """
    vocabulary, text = Vocabulary(), array("q", [-1])
    for line in lines:
        if isinstance(line, str):
            raise TypeError("a line is a string; give its words, such as line.split()")
        text.extend(vocabulary.add_all(line))
        text.append(-1)
    number = len(vocabulary)
    ids = np.array(text, np.int64)
    ids[ids < 0] = number
    count = np.bincount(ids, minlength=number + 1)
    order = np.argsort(-count[:number], kind="stable")
    rank = np.empty(number + 1, np.int64)
    rank[order], rank[number] = np.arange(number), number
    ids = rank[ids]
    both, times = np.unique(ids[:-1] * (number + 1) + ids[1:], return_counts=True)
    pairs = np.column_stack([both // (number + 1), both % (number + 1), times])
    listed = list(vocabulary)
    return tuple(listed[word] for word in order.tolist()), count[np.append(order, number)], pairs


def _neighbours(pairs: np.ndarray, num_words: int) -> tuple[_Neighbours, _Neighbours, np.ndarray]:
    """What follows each word, what comes before it, and how often it follows itself, int64 (V,)."""
    is_itself = pairs[:, 0] == pairs[:, 1]
    itself = np.zeros(num_words + 1, np.int64)
    itself[pairs[is_itself, 0]] = pairs[is_itself, 2]
    others = pairs[~is_itself]
    found = []
    for side in (0, 1):
        ordered = others[np.argsort(others[:, side], kind="stable")]
        start = np.searchsorted(ordered[:, side], np.arange(num_words + 2))
        found.append(_Neighbours(start, ordered[:, 1 - side].copy(), ordered[:, 2].copy()))
    return found[0], found[1], itself


def _class_counts(pairs: np.ndarray, label: np.ndarray, count: np.ndarray, number: int) -> _Counts:
    found = np.zeros((number + 1, number + 1), np.int64)
    np.add.at(found, (label[pairs[:, 0]], label[pairs[:, 1]]), pairs[:, 2])
    uses = np.zeros(number + 1, np.int64)
    np.add.at(uses, label, count)
    return _Counts(uses, found, found.T.copy())


def _by_use(label: np.ndarray, uses: np.ndarray) -> np.ndarray:
    """The classes numbered anew, int32 (V,): that with the most uses is 0."""
    rank = np.empty(len(uses), np.int32)
    rank[np.argsort(-uses, kind="stable")] = np.arange(len(uses))
    return rank[label]


@kernel
def _move(
    span: tuple[int, int],
    label: np.ndarray,
    count: np.ndarray,
    counts: _Counts,
    following: _Neighbours,
    before: _Neighbours,
    itself: np.ndarray,
    entropy: np.ndarray,
) -> int:
    """Move the words first … last − 1 to where F is highest; how many have moved."""
    number = len(counts.uses) - 1
    after, ahead = np.zeros(number + 1, np.int64), np.zeros(number + 1, np.int64)
    beside = np.zeros(number + 1, np.int64)
    moved = 0
    for word in range(span[0], span[1]):
        _add_classes(after, following, label, word)
        _add_classes(ahead, before, label, word)
        # Most words stand beside few classes, and no other has a part in how F changes.
        num_beside = 0
        for other in range(number + 1):
            if after[other] or ahead[other]:
                beside[num_beside] = other
                num_beside += 1
        around = _Around(beside[:num_beside], after, ahead, itself[word], count[word])
        old = label[word]
        _put(counts, old, around, -1)
        new, best = old, _gain(counts, old, around, entropy) + _ROUNDING
        for other in range(number):
            gain = _gain(counts, other, around, entropy)
            if gain > best:
                new, best = other, gain
        _put(counts, new, around, 1)
        moved += new != old
        label[word] = new
        for other in around.beside:
            after[other], ahead[other] = 0, 0
    return moved


@compiled
def _add_classes(found, neighbours, label, word):
    """By class, how often its words are beside a word."""
    for at in range(neighbours.start[word], neighbours.start[word + 1]):
        found[label[neighbours.word[at]]] += neighbours.times[at]


@compiled
def _put(counts, label, around, sign):
    """Count a word in a class, or no longer: what follows it, what comes before it, and it beside itself."""
    for other in around.beside:
        counts.pairs[label, other] += sign * around.after[other]
        counts.flipped[other, label] += sign * around.after[other]
        counts.pairs[other, label] += sign * around.ahead[other]
        counts.flipped[label, other] += sign * around.ahead[other]
    counts.pairs[label, label] += sign * around.itself
    counts.uses[label] += sign * around.uses


@compiled
def _gain(counts, label, around, entropy):
    """By how much F rises where a word that is in no class comes to one."""
    total = 0.0
    for other in around.beside:
        if other != label:
            total += _rise(counts.pairs[label, other], around.after[other], entropy)
            total += _rise(counts.flipped[label, other], around.ahead[other], entropy)
    own = around.after[label] + around.ahead[label] + around.itself
    total += _rise(counts.pairs[label, label], own, entropy)
    return total - 2.0 * _rise(counts.uses[label], around.uses, entropy)


@compiled
def _rise(before, more, entropy):
    """(n + m) ln (n + m) − n ln n."""
    if more == 0:
        return 0.0
    if before + more < len(entropy):
        return entropy[before + more] - entropy[before]
    return _entropy(before + more) - _entropy(before)


@kernel
def _entropies(number: int) -> np.ndarray:
    """n ln n of the numbers below one, float64 (number,)."""
    found = np.zeros(number)
    for n in range(1, number):
        found[n] = _entropy(n)
    return found


@compiled
def _entropy(number):
    """n ln n, which is 0 of 0."""
    return number * elementary.log(np.float64(number)) if number else 0.0
