"""The classes of words of a language model, as cdec reads them."""

from __future__ import annotations

from collections.abc import Callable, Container

from scfg_sampler.core.arrays.word_classes import read_word_classes
from scfg_sampler.core.files import PathLike, atomic_output
from scfg_sampler.formats.words import Speller
from scfg_sampler.plugs.language_model import spelling

__all__ = ["CLASSES", "write_classes"]

CLASSES = "classes"
"""What the file is called in a directory."""


def write_classes(
    path: PathLike,
    output: PathLike,
    model: Container[str],
    write: Callable[[str], str],
    origin: Speller,
) -> frozenset[str]:
    """Write a line `CLASS WORD 0` for each word; the words that are spelled otherwise.

    The number is cdec's feature ln P(word | class), which our decoder does not have: of 0 it takes no notice.

    Parameters
    ----------
    path : path
        As `read_word_classes` reads it.
    output : path
    model : container of str
        The classes that the language model has, which stay as they are.
    write, origin : as `copy_model` has them

    Raises
    ------
    InputError
        The file has no class of the model for each word.
    """
    class_of = read_word_classes(path, model)
    spell = spelling(frozenset(class_of), write, origin)
    spelled = {word: spell(word) for word in class_of}
    with atomic_output(output) as stream:
        stream.writelines(f"{label} {spelled[word]} 0\n" for word, label in class_of.items())
    return frozenset(word for word, other in spelled.items() if other != word)
