"""Words and their dense ids, and what counts as a word.

A line of text is a sequence of words separated by spaces or tabs **and nothing else**. The fact a newcomer
would get wrong: `str.split()` also splits at U+00A0, U+2028 and two dozen other characters, which in
tokenised text are parts of words; a corpus read that way no longer fits its word alignment. Every program
of the project splits with `split_words`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

__all__ = ["Vocabulary", "line_of", "split_words"]


def split_words(line: str) -> list[str]:
    """The words of a line: what stands between spaces and tabs.

    A carriage return that ends the line belongs to a Windows line end and is dropped; anywhere else it
    is a part of a word.

    >>> split_words("ne\\u00a0 pas\\t. \\r")
    ['ne\\xa0', 'pas', '.']
    """
    if "\t" in line:
        line = line.replace("\t", " ")
    words = line.removesuffix("\r").split(" ")
    return [word for word in words if word] if "" in words else words


def line_of(words: Sequence[str]) -> str:
    """The line that `split_words` takes apart into these words.

    >>> split_words(line_of(["a\\r", "b\\r"]))
    ['a\\r', 'b\\r']
    """
    line = " ".join(words)
    return line + "\r" if line.endswith("\r") else line


class Vocabulary:
    """Words numbered 0, 1, … in the order in which they were added.

    >>> vocabulary = Vocabulary(["the", "house"])
    >>> vocabulary.add("house"), vocabulary.add("cat"), vocabulary.id("dog"), len(vocabulary)
    (1, 2, -1, 3)
    >>> vocabulary.words
    ['the', 'house', 'cat']
    """

    __slots__ = ("_ids", "words")

    words: list[str]

    def __init__(self, words: Iterable[str] = ()):
        self._ids = _Ids()
        self.words = self._ids.words
        for word in words:
            self._ids[word]

    def add(self, word: str) -> int:
        """The word's id; a new one if it has none yet."""
        return self._ids[word]

    def add_all(self, words: Iterable[str]) -> list[int]:
        """The ids of many words, new ones where needed."""
        return list(map(self._ids.__getitem__, words))

    def id(self, word: str) -> int:
        """The word's id, or −1 if it has none."""
        return self._ids.get(word, -1)

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self._ids

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.words == other.words

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} words)"

    def __reduce__(self):
        return Vocabulary, (self.words,)


class _Ids(dict[str, int]):
    """A dictionary that numbers the words it has not seen."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []

    def __missing__(self, word: str) -> int:
        index = self[word] = len(self.words)
        self.words.append(word)
        return index
