"""Files of words and their classes, as `scfg-sampler classes --words` and mkcls write them."""

from __future__ import annotations

from collections.abc import Container

from scfg_sampler.core.arrays.vocabulary import split_words
from scfg_sampler.core.files import PathLike, read_lines
from scfg_sampler.errors import InputError

__all__ = ["read_word_classes"]

_RESERVED = ("<unk>", "<s>", "</s>")  # A text that has them is talking about them: they have no class.
_HINT = "Give a word and its class on each line"


def read_word_classes(path: PathLike, model: Container[str]) -> dict[str, str]:
    """The class of each word, in the order of the file.

    Parameters
    ----------
    path : path
        A line for each word, the word and its class with spaces or a tab between them. Lines of `<unk>`,
        `<s>` and `</s>` say nothing.
    model : container of str
        The classes that the language model has.

    Raises
    ------
    InputError
        A line is no word with its class, the model does not have the class, or a word has two; or there is no
        word.
    """
    class_of: dict[str, str] = {}
    for number, line in enumerate(read_lines(path), start=1):
        fields = split_words(line)
        if not fields:
            continue
        if len(fields) != 2:
            found = f"'{line.strip()}'"[:80] + " is no word with its class"
            raise InputError(path, number, found, _HINT)
        word, label = fields
        if word in _RESERVED:
            continue
        if label in _RESERVED or label not in model:
            found = f"the language model does not have {label}, the class of {word}"
            raise InputError(
                path, number, found, "Train it on text whose words are replaced by these classes"
            )
        if class_of.setdefault(word, label) != label:
            raise InputError(path, number, f"{word} has another class before", "Leave one of them out")
    if not class_of:
        raise InputError(path, None, "has no words", _HINT)
    return class_of
