"""Language models as objects: estimated from text, read, asked for probabilities."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from decoder.lm.arpa import RESERVED, model_words, write_arpa
from decoder.lm.counts import encode_text
from decoder.lm.estimation import estimate_lm
from decoder.lm.model import LmVocabulary, TextScores, perplexity_of, score_text
from decoder.lm.model import load_lm as load_compiled
from decoder.lm.table import LanguageModel, build_lm
from decoder.notebook.texts import Text, lines_of
from scfg_sampler.core.arguments import (
    of_arguments,
    require_file,
    require_path,
    require_switch,
    require_type,
    require_whole,
)
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.needed import require_not_lost
from scfg_sampler.corpus.word_classes import learn_classes
from scfg_sampler.errors import InputError

__all__ = ["NgramModel", "load_lm", "train_class_lm", "train_lm"]


class NgramModel:
    """A language model: what it makes of sentences.

    Parameters
    ----------
    lm : LanguageModel
    vocabulary : LmVocabulary
    path : path, optional
        The file it is in.

    >>> import decoder
    >>> lm = decoder.train_lm(["the cat sleeps", "the dog sleeps"], order=2)
    >>> lm.order, "cat" in lm, "cow" in lm
    (2, True, False)
    >>> bool(lm.perplexity(["the cat sleeps"]) < lm.perplexity(["cat sleeps the"]))
    True
    """

    def __init__(self, lm: LanguageModel, vocabulary: LmVocabulary, path: PathLike | None = None):
        self.lm, self.vocabulary, self.path = lm, vocabulary, path

    @property
    def order(self) -> int:
        """The length of its longest n-grams."""
        return int(self.lm.order)

    def log_probs(self, text: Text) -> np.ndarray:
        """ln of the probability of each line with its end; float64, a number a line."""
        return self._scores(text).log_probs

    def perplexity(self, text: Text) -> float:
        """Of all lines, unknown words and the ends of lines included; an InputError if there are none."""
        found = self._scores(text)
        if not found.num_tokens:
            raise InputError("text", None, "has no lines, and so no perplexity", "Give at least one")
        return perplexity_of(float(found.log_probs.sum()), found.num_tokens)

    def __contains__(self, word: str) -> bool:
        return word in self.vocabulary

    def __repr__(self) -> str:
        return f"Language model of order {self.order}, {self.vocabulary.described()}"

    def _scores(self, text: Text) -> TextScores:
        return score_text(self.lm, self.vocabulary, lines_of(text))


def train_lm(
    text: Text,
    output: PathLike | None = None,
    *,
    order: int = 3,
    prune: Sequence[int] = (),
    interpolate_unigrams: bool = True,
) -> NgramModel:
    """The interpolated modified Kneser–Ney model of a text.

    Parameters
    ----------
    text : path, or lines of words between spaces
    output : path, optional
        An ARPA file to write it to.
    order : int
        From 1 to 6.
    prune : sequence of int
        Leave out n-grams seen so often or less: a threshold per order, the first 0.
    interpolate_unigrams : bool
        Whether unigrams are mixed with the uniform distribution.

    Raises
    ------
    ArgumentError
        A setting is out of range, or `output` is the text.

    >>> lm = train_lm(["the cat sleeps", "the dog sleeps", "a cat sees the dog"], order=2)
    >>> lm
    Language model of order 2, 6 words
    >>> likely, unlikely = lm.log_probs(["the dog sleeps", "sleeps dog the"])
    >>> bool(likely > unlikely)
    True
    """
    require_type("prune", prune, (tuple, list), "a list of whole numbers")
    thresholds = [require_whole("a threshold of prune", each) for each in prune]
    order, interpolate = (
        require_whole("order", order),
        require_switch("interpolate_unigrams", interpolate_unigrams),
    )
    if output is not None:
        require_file("output", output)
        require_not_lost(output, "the model", text)
    with of_arguments():
        return _trained(text, output, order, thresholds, interpolate)


def _trained(
    text: Text, output: PathLike | None, order: int, thresholds: list[int], interpolate: bool
) -> NgramModel:
    """`train_lm`, of arguments of the right types."""
    encoded = encode_text(lines_of(text), text if isinstance(text, str | os.PathLike) else None)
    model, _ = estimate_lm(encoded, order, prune=thresholds, interpolate_unigrams=interpolate)
    if output is not None:
        write_arpa(model, output)
        return load_lm(output)  # As the file has it.
    return NgramModel(build_lm(model), LmVocabulary(model.words))


def train_class_lm(text: Text, number: int = 200, *, order: int = 5) -> NgramModel:
    """The model of the classes of a text's words, which are learnt from which words stand beside which.

    Beside a model of words, as in `make_system(rules, [words, classes])`, it says more of words that are
    seldom seen; `bundle` keeps it.

    Parameters
    ----------
    text : path, or lines of words between spaces
    number : int ≥ 1
        Of classes; at most as many as there are different words.
    order : int
        From 1 to 6.

    Raises
    ------
    ArgumentError
        A setting is out of range, or there are fewer different words than classes.

    >>> lm = train_class_lm(["a cat sees the dog", "the dog sees a cat", "a dog sleeps"], 3, order=2)
    >>> lm
    Language model of order 2, 6 words in 3 classes
    >>> bool(lm.log_probs(["the cat sleeps"]) > lm.log_probs(["cat the sleeps"]))
    True
    """
    number, order = require_whole("number", number), require_whole("order", order)
    lines = [model_words(line) for line in lines_of(text)]
    with of_arguments():
        names = learn_classes(lines, number, name="the text").names
        path = text if isinstance(text, str | os.PathLike) else None
        encoded = encode_text([" ".join(names[word] for word in line) for line in lines], path)
        model, _ = estimate_lm(encoded, order)
    label = {name: number for number, name in enumerate(model.words)}
    class_of = {word: label[name] for word, name in names.items() if word not in RESERVED}
    return NgramModel(build_lm(model), LmVocabulary(model.words, class_of))


def load_lm(path: PathLike, classes: PathLike | None = None) -> NgramModel:
    """The model of an ARPA file, or of one that `compile-lm` wrote.

    Parameters
    ----------
    path : path
    classes : path, optional
        The class of each word, a line for each, if the words of the model are classes.

    Raises
    ------
    ArpaError
        It is no such file; line and fault are named.
    InputError
        A line of `classes` is no word with a class that the model has.

    >>> import decoder, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = decoder.train_lm(["the cat sleeps"], folder + "/en.arpa", order=2)
    ...     decoder.load_lm(folder + "/en.arpa")
    Language model of order 2, 3 words
    """
    require_path("path", path)
    if classes is not None:
        require_path("classes", classes)
    return NgramModel(*load_compiled(path, classes), path)
