"""Small parallel texts, and an aligner's parts made of them."""

from __future__ import annotations

import numpy as np

from scfg_sampler.aligner.lexicon import Text, learn_lexicon
from scfg_sampler.aligner.sweep import Corpus

__all__ = ["SOURCE", "TARGET", "corpus_of", "random_sides", "text_of"]

SOURCE = ["das haus", "das buch", "ein buch", "ein haus ist gross", "das haus das haus"]
TARGET = ["the house", "the book", "a book", "big is a house", "the house the house"]


def text_of(lines: list[str]) -> tuple[Text, dict[str, int]]:
    """A text, and the number of each word."""
    numbers: dict[str, int] = {}
    words = [numbers.setdefault(word, len(numbers)) for line in lines for word in line.split()]
    start = np.cumsum([0, *(len(line.split()) for line in lines)])
    return Text(start, np.array(words, np.int32), len(numbers)), numbers


def corpus_of(source: list[str], target: list[str]) -> Corpus:
    """Both texts with their lexicon."""
    texts = [text_of(side)[0] for side in (source, target)]
    return Corpus(*texts, learn_lexicon(*texts))


def random_sides(seed: int, *, pairs: int, longest: int, words: int = 6) -> tuple[list[str], list[str]]:
    """Lines of random words, up to `longest` of them."""
    rng = np.random.default_rng(seed)
    sides = (
        [
            " ".join(f"{name}{word}" for word in rng.integers(words, size=rng.integers(1, longest + 1)))
            for _ in range(pairs)
        ]
        for name in "fe"
    )
    return next(sides), next(sides)
