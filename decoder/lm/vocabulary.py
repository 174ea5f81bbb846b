"""Which ids of a language model the words of a text have: of the model's words, or of classes of words.

A model of classes is one of text in which every word is replaced by its class (`scfg-sampler classes`): its
own words are the classes. With the class of each word, it takes text as any other model does. The
probabilities P(w | class) of class-based models (Brown et al. 1992) are no part of it: for a decoder it is a
feature of its own beside a model of words (Wuebker et al. 2013), whose weight is tuned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from decoder.lm.arpa import RESERVED, UNKNOWN
from scfg_sampler.core.arrays.word_classes import read_word_classes
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import InputError

__all__ = ["LmVocabulary", "read_classes"]


class LmVocabulary:
    """Word ids of a language model: 0 is `<unk>`, 1 `<s>`, 2 `</s>`.

    Parameters
    ----------
    words : of the model, by their ids
    class_of : the id that each word of a text has, if the words of the model are classes of words

    >>> vocabulary = LmVocabulary(["<unk>", "<s>", "</s>", "a"])
    >>> vocabulary.id("a"), vocabulary.id("b"), vocabulary.id("<s>")
    (3, 0, 0)
    >>> vocabulary = LmVocabulary(["<unk>", "<s>", "</s>", "article"], {"a": 3, "the": 3})
    >>> vocabulary.id("a"), vocabulary.id("the"), vocabulary.id("article")
    (3, 3, 0)
    """

    def __init__(self, words: Iterable[str], class_of: Mapping[str, int] | None = None):
        self.words = list(words)
        self.class_of = None if class_of is None else dict(class_of)
        # A text that contains reserved words is talking about them, not ending a sentence.
        self._ids = dict(self._entries()) | dict.fromkeys(RESERVED, UNKNOWN)

    def id(self, word: str) -> int:
        """The id of a word of a text, `<unk>`'s if the model does not know it."""
        return self._ids.get(word, UNKNOWN)

    def entries(self) -> tuple[list[str], np.ndarray]:
        """The words of a text that have an id, behind the reserved ones, and the ids; int32."""
        known = self._entries()
        words, ids = [word for word, _ in known], [number for _, number in known]
        return [*RESERVED, *words], np.array([*range(len(RESERVED)), *ids], np.int32)

    def spelled(self, unescape: Callable[[str], str], escape: Callable[[str], str]) -> LmVocabulary:
        """The vocabulary of a model of escaped text, for words that are not.

        If all words are as `escape` writes them, each of them is the word that it stands for, and no other:
        `&#91;` is `[`, and the word `&#91;` is unknown unless it is there as it is escaped itself.
        If others are among them, as `[` is, the text was not escaped, or in part, and a word that the model
        has as it is stays.

        >>> reserved, read, write = ["<unk>", "<s>", "</s>"], {"&#91;": "["}, {"[": "&#91;"}
        >>> escaping = [lambda word: read.get(word, word), lambda word: write.get(word, word)]
        >>> spelled = LmVocabulary([*reserved, "a", "&#91;"]).spelled(*escaping)
        >>> spelled.id("["), spelled.id("&#91;")
        (4, 0)
        >>> LmVocabulary([*reserved, "[", "&#91;"]).spelled(*escaping).id("[")
        3
        """
        known = self._entries()
        meant = [unescape(word) for word, _ in known]
        ids: dict[str, int] = {}
        for word, (_, number) in zip(meant, known, strict=True):
            ids.setdefault(word, number)
        other = LmVocabulary(self.words, self.class_of)
        if all(escape(each) == word for (word, _), each in zip(known, meant, strict=True)):
            other._ids = dict.fromkeys(RESERVED, UNKNOWN) | ids
        else:
            other._ids = ids | other._ids
        if self.class_of is None:
            other.words[len(RESERVED) :] = [
                each if other._ids[each] == number else word
                for (word, number), each in zip(known, meant, strict=True)
            ]
        return other

    def knows_as(self, other: LmVocabulary) -> bool:
        """Whether both have the same id for every word."""
        return self._ids == other._ids

    def described(self) -> str:
        """How many words it has, but for the reserved ones, and in how many classes if they are in classes.

        >>> LmVocabulary(["<unk>", "<s>", "</s>", "a", "the"]).described()
        '2 words'
        >>> LmVocabulary(["<unk>", "<s>", "</s>", "article"], {"a": 3, "the": 3}).described()
        '2 words in 1 class'
        """
        words = counted(len(self._entries()), "word")
        if self.class_of is None:
            return words
        return f"{words} in {counted(len(set(self.class_of.values())), 'class', 'classes')}"

    def _entries(self) -> list[tuple[str, int]]:
        """What has an id, but for the reserved words of the model."""
        if self.class_of is not None:
            return list(self.class_of.items())
        return list(zip(self.words[len(RESERVED) :], range(len(RESERVED), len(self.words)), strict=True))

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.id(word) != UNKNOWN


def read_classes(path: PathLike, model: LmVocabulary) -> LmVocabulary:
    """The vocabulary of a model whose words are classes, for text.

    path : as `read_word_classes` reads it

    Raises
    ------
    InputError
        The file has no class of the model for each word, or the model has classes already.
    """
    if model.class_of is not None:
        found = "are classes of words for a model that has them already"
        raise InputError(path, None, found, "Give the ARPA file that the model was made of")
    class_of = {word: model.id(label) for word, label in read_word_classes(path, model).items()}
    return LmVocabulary(model.words, class_of)
