"""What is done to trees before learning, and undone before scoring.

cleaning      empty elements go, and the constituents left without words; labels lose function tags and
              indices (`NP-SBJ-1` → `NP`), but for those that begin with `-`, as `-LRB-` does; a bracket
              within one, written so, is none (STTS's tag `$(` is `$-LRB-`).
rare words    words seen at most so often become one of some fifty signatures, by their shape, their ending
              and whether they open the sentence; the words are kept beside the tree.

Binarisation is in `markov.py`.

The fact a newcomer would get wrong: a rare word is one that is rare in the training trees. In text that is
parsed later it is replaced however often it occurs there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from monolingual.tsg.trees import Tree, fold

__all__ = [
    "SUFFIXES",
    "category",
    "clean",
    "count_words",
    "is_signature",
    "replace_rare",
    "signature",
]

SUFFIXES = ("s", "ed", "ing", "ion", "er", "est", "ly", "ity", "y", "al")
"""Endings that a signature tells apart."""
_CATEGORY = re.compile("(?:-[LR]RB-|[^-=])*")


def clean(tree: Tree) -> Tree | None:
    """The tree without empty elements, function tags and indices; None if no word is left.

    >>> clean(Tree("S", (Tree("NP-SBJ-1", (Tree("-NONE-", ("*",)),)), Tree("VP", ("runs",)))))
    Tree(label='S', children=(Tree(label='VP', children=('runs',)),))
    """

    def combine(label: str, parts: list) -> Tree | None:
        kept = tuple(part for part in parts if part is not None)
        if label == "-NONE-" or not kept:
            return None
        return Tree(category(label), kept)

    return fold(tree, combine)


def category(label: str) -> str:
    """A label without function tags and indices.

    >>> category("NP-SBJ=2"), category("$-LRB-"), category("-NONE-")
    ('NP', '$-LRB-', '-NONE-')
    """
    return label if label.startswith(("-", "=")) else _CATEGORY.findall(label)[0]


def count_words(sentences: Iterable[list[str]]) -> Counter[str]:
    """How often each word occurs."""
    return Counter(word for words in sentences for word in words)


def replace_rare(words: list[str], known: frozenset[str] | set[str]) -> list[str]:
    """The words, those that are not known by their signatures."""
    return [word if word in known else signature(word, at == 0) for at, word in enumerate(words)]


def is_signature(word: str) -> bool:
    """Whether a word is what `signature` makes of rare ones.

    >>> is_signature("UNK-cap-ing"), is_signature("UNK"), is_signature("UNKNOWN")
    (True, True, False)
    """
    return word == "UNK" or word.startswith("UNK-")


def signature(word: str, is_first: bool) -> str:
    """The class of a rare word: case, digits, hyphen and ending.

    Parameters
    ----------
    word : str
    is_first : bool
        Whether it opens the sentence, where a capital says less.

    >>> signature("Walking", False), signature("walking", False), signature("1,990", False)
    ('UNK-cap-ing', 'UNK-ing', 'UNK-number')
    >>> signature("co-authors", False), signature("NASA", False), signature("Walking", True)
    ('UNK-hyphen-s', 'UNK-upper', 'UNK-first-ing')
    """
    letters = [character for character in word if character.isalpha()]
    if any(character.isdigit() for character in word):
        return "UNK-number" if not letters else "UNK-mixed"
    if not letters:
        return "UNK-symbol"
    if len(letters) > 1 and all(character.isupper() for character in letters):
        return "UNK-upper"
    parts = ["UNK"]
    if word[0].isupper():
        parts.append("first" if is_first else "cap")
    if "-" in word[1:-1]:
        parts.append("hyphen")
    lower = word.lower()
    # The longest ending, if more than two letters stand before it.
    endings = [suffix for suffix in SUFFIXES if lower.endswith(suffix) and len(word) > len(suffix) + 2]
    if endings:
        parts.append(max(endings, key=len))
    return "-".join(parts)
