"""Dependency models: training, parsing, accuracy."""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypedDict, Unpack

import numpy as np

from monolingual.dmv.commands import read
from monolingual.dmv.commands.parse import warn_of_unknown
from monolingual.dmv.drawing import draw_arcs
from monolingual.dmv.evaluation import evaluate
from monolingual.dmv.model import DmvModel, read_model, write_model
from monolingual.dmv.parsing import parse, posteriors
from monolingual.dmv.punctuation import AUTOMATIC
from monolingual.dmv.report import ReportInputs, write_report
from monolingual.dmv.treebank import StoredSentences, shown_words
from monolingual.notebook.calls import call, given_as_lines, lines_file, of_lines
from scfg_sampler.core.arguments import ArgumentError, of_arguments, require_file, require_lines, require_type
from scfg_sampler.core.console import hushed
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.needed import require_not_lost
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import InputError

__all__ = ["DependencyModel", "DependencyTree", "DmvOptions", "load_dmv", "train_dmv"]


class DmvOptions(TypedDict, total=False):
    """Options of `dmv train`, but for those that `train_dmv` names itself."""

    tags: str
    punctuation: str | Sequence[str]
    overwrite: bool
    max_length: int
    prior: float | Sequence[float]
    rounds: int
    iterations: int
    tolerance: float
    start: str
    restarts: int
    valence: int
    smooth: float
    trace: PathLike
    checkpoint_every: int
    e_step: str
    unambiguity: float
    anneal: str
    covariance: str
    share: Sequence[str]
    level: str
    unused: str
    covariances: PathLike


class DependencyTree(NamedTuple):
    """A parse, drawn in a notebook: arcs are the stronger the surer they are.

    Attributes
    ----------
    words : tuple of str
    heads : tuple of int
        From 1, 0 for the root.
    posteriors : float64, shape (n, n + 1)
        Of every word (row) and every head (column), the root being 0.
    log_prob : float
        Of the sentence.

    >>> import monolingual
    >>> model = monolingual.train_dmv(["DT NN VB", "NN VB"], rounds=3)
    >>> (tree,) = model.parse(["DT NN VB"])
    >>> isinstance(tree, monolingual.DependencyTree), tree.svg().count("<text")
    (True, 3)
    """

    words: tuple[str, ...]
    heads: tuple[int, ...]
    posteriors: np.ndarray
    log_prob: float

    def svg(self) -> str:
        """The picture, as a whole SVG document."""
        return draw_arcs(self.words, self.heads, name="a parse", posteriors=self.posteriors)

    def _repr_svg_(self) -> str:
        return self.svg()


def _without_words(number: int) -> list[DependencyTree]:
    """So many trees of empty lines, each with an array of its own, as the others."""
    return [DependencyTree((), (), np.zeros((0, 1)), 0.0) for _ in range(number)]


class DependencyModel:
    """A dependency model with valence.

    Parameters
    ----------
    model : DmvModel
    tags, punctuation : optional
        How treebanks are read unless a method is told otherwise: as the options of `scfg-monolingual dmv`, or
        a sequence of the tags that are punctuation.

    >>> import monolingual
    >>> model = monolingual.train_dmv(["DT NN VB", "NN VB DT NN", "NN VB"], rounds=20)
    >>> model.tags, [len(tree.heads) for tree in model.parse(["DT NN VB"])]
    (('DT', 'NN', 'VB'), [3])
    """

    def __init__(self, model: DmvModel, *, tags: str = "xpos", punctuation: str | Sequence[str] = AUTOMATIC):
        self.model = model
        self._told = {"tags": tags, "punctuation": punctuation}

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags that the model knows."""
        return self.model.tags

    def parse(
        self,
        sentences: PathLike | Sequence[str],
        decoder: str = "mbr",
        *,
        tags: str | None = None,
        punctuation: str | Sequence[str] | None = None,
    ) -> list[DependencyTree]:
        """The best tree of every sentence.

        Tags that the model does not know are warned of, and parsed as average ones.

        Parameters
        ----------
        sentences : path, or sequence of str
            A treebank, or lines of tags; after a tab heads, after another words. An empty line of these has a
            tree without words.
        decoder : str
            mbr or viterbi.
        tags, punctuation : optional
            As those of `train_dmv`, for treebanks in ten columns; by default what that was told, or the
            defaults of `scfg-monolingual dmv` for a model from a file.
        """
        _check_decoder(decoder)
        told = self._reading(tags, punctuation)
        if not isinstance(sentences, (str, os.PathLike)):
            sentences = require_lines("a text", sentences)
            if not any(line.strip() for line in sentences):
                return _without_words(len(sentences))
        found = self._read(sentences, told)
        heads = parse(self.model, found, decoder)
        trees = []
        following = zip(found, heads, posteriors(self.model, found), strict=True)
        for at, (sentence, each, (log_prob, arcs)) in enumerate(following):
            trees += _without_words(found.blank_lines(at))
            trees.append(DependencyTree(tuple(shown_words(sentence)), tuple(each), arcs, log_prob))
        return trees + _without_words(found.blank_lines(len(found)))

    def evaluate(
        self,
        treebank: PathLike | Sequence[str],
        decoder: str = "mbr",
        *,
        tags: str | None = None,
        punctuation: str | Sequence[str] | None = None,
    ) -> dict[str, dict[str, float]]:
        """Attachment accuracy in percent by length of sentences, as `dmv evaluate --json` prints it.

        NaN, there null, of lengths without words. The treebank is read, and unknown tags are warned of, as by
        `parse`.
        """
        _check_decoder(decoder)
        gold = self._read(treebank, self._reading(tags, punctuation))
        if any(len(sentence.heads) != len(sentence.tags) for sentence in gold):
            raise ArgumentError("the treebank has sentences without heads; give one with gold trees")
        found = evaluate(parse(self.model, gold, decoder), [sentence.heads for sentence in gold])
        return {length: {key: float(each) for key, each in row.items()} for length, row in found.items()}

    def write(self, path: PathLike) -> None:
        """Write the model as text, which `load_dmv` and the commands read."""
        write_model(path, self.model)

    def report(
        self,
        output: PathLike,
        treebank: PathLike | Sequence[str] | None = None,
        *,
        tags: str | None = None,
        punctuation: str | Sequence[str] | None = None,
    ) -> None:
        """Write the page of `scfg-monolingual dmv report`, with some sentences of a treebank parsed.

        The treebank is read, and unknown tags are warned of, as by `parse`.
        """
        require_not_lost(output, "the page", treebank)
        told = self._reading(tags, punctuation)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.txt"
            self.write(path)
            sentences = None if treebank is None else self._read(treebank, told)
            write_report(ReportInputs(path, treebank=sentences, title="Dependency model"), output)

    def _reading(self, tags: str | None, punctuation: str | Sequence[str] | None) -> argparse.Namespace:
        """How to read a treebank, as options have it."""
        given = {"tags": tags, "punctuation": punctuation}
        told = {**self._told, **{name: each for name, each in given.items() if each is not None}}
        told["punctuation"] = _of_tags(told["punctuation"])
        for name, each in told.items():
            require_type(name, each, str, "a text")
        if told["tags"] not in ("xpos", "upos"):
            raise ArgumentError(f"tags is {told['tags']!r}; choose xpos or upos")
        return argparse.Namespace(**told)

    def _read(self, sentences: PathLike | Sequence[str], told: argparse.Namespace) -> StoredSentences:
        """The sentences of a treebank; warns as the commands do."""
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "sentences"
            path = lines_file(sentences, place)
            with of_arguments(), of_lines(("the sentences", sentences, place)), hushed():
                found = read(told, path, "the sentences" if path is place else None)
        warn_of_unknown(self.model, found)
        return found

    def __repr__(self) -> str:
        return f"DependencyModel of {counted(len(self.tags), 'tag')}"


def _of_tags(punctuation: Any) -> Any:
    """Tags of punctuation as the option has them: a sequence as text, with spaces if it has a comma."""
    if isinstance(punctuation, np.ndarray):
        punctuation = punctuation.tolist()
    if not isinstance(punctuation, (list, tuple)):
        return punctuation
    for tag in punctuation:
        require_type("a tag of punctuation", tag, str, "a text")
    if any("," in tag for tag in punctuation):
        return " ".join(punctuation) + " "  # One tag, as STTS's `$,`, would be parted without a space.
    return ",".join(punctuation)


def _check_decoder(decoder: str) -> None:
    if decoder not in ("mbr", "viterbi"):
        raise ArgumentError(f"decoder is {decoder!r}; choose mbr or viterbi")


def train_dmv(
    sentences: PathLike | Sequence[str],
    *,
    method: str = "em",
    heldout: PathLike | Sequence[str] | None = None,
    seed: int = 1,
    output: PathLike | None = None,
    **settings: Unpack[DmvOptions],
) -> DependencyModel:
    """Learn a dependency model from tagged sentences.

    Parameters
    ----------
    sentences : path, or sequence of str
        A treebank, or lines of tags. Sentences of more than `max_length` words, 10 by default, are left out.
    method : str
        em, em-map, vb-dirichlet, vb-em-dirichlet, vb-em-logistic-normal or gibbs.
    heldout : path, or sequence of str, optional
        Sentences that say when to stop.
    seed : int
    output : path, optional
        Where the model is written, too. Until it is, lines that are given lie beside it, in
        `OUTPUT.sentences` and `OUTPUT.heldout`, so that training that was stopped can be resumed;
        `dmv resume` leaves them there. Files of these names that hold the same lines stay.
    settings
        Options of `scfg-monolingual dmv train`: rounds, prior, covariance, valence, …. Tags of punctuation
        may be a list, too.

    Raises
    ------
    InputError
        No sentence is short enough.
    ArgumentError
        There is no such setting, or it is out of range.

    >>> import monolingual
    >>> model = monolingual.train_dmv(["DT NN VB", "NN VB DT NN", "NN VB"] * 3, method="vb-dirichlet")
    >>> found = model.evaluate(["DT NN VB\\t2 3 0\\tthe dog barks"])  # Three sentences teach nothing.
    >>> round(found["all"]["directed"], 1), found["all"]["words"]
    (33.3, 3.0)
    """
    if output is not None:
        require_file("output", output)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "model.txt" if output is None else Path(output)
        checkpoint = Path(f"{place}.checkpoint.npz")
        refused = checkpoint.exists() and not settings.get("overwrite")  # What was stopped keeps its lines.
        beside = str(Path(folder) / "refused") if refused else str(place)
        texts = {"sentences": Path(f"{beside}.sentences"), "heldout": Path(f"{beside}.heldout")}
        given: dict[str, Any] = {"method": method, "seed": seed, "output": place, **settings}
        if "punctuation" in given:
            given["punctuation"] = _of_tags(given["punctuation"])
        own = given_as_lines({"sentences": sentences, "heldout": heldout})
        lines = {texts[name]: {"sentences": sentences, "heldout": heldout}[name] for name in own}
        if not checkpoint.exists() and not settings.get("overwrite"):
            _refuse_others(lines)
        with _beside(checkpoint, lines, refused):
            if heldout is not None:
                given["heldout"] = lines_file(heldout, texts["heldout"])
            path = lines_file(sentences, texts["sentences"])
            written = [
                ("the sentences", sentences, texts["sentences"]),
                ("the sentences of heldout", heldout, texts["heldout"]),
            ]
            with of_lines(*written):
                call("dmv", "train", [path], given)
        how = {name: given[name] for name in ("tags", "punctuation") if given.get(name) is not None}
        return DependencyModel(read_model(place), **how)


@contextlib.contextmanager
def _beside(checkpoint: Path, lines: Mapping[Path, Any], refused: bool) -> Iterator[None]:
    """Within, lines are written beside a model; what is left of them is what its checkpoint needs.

    Parameters
    ----------
    checkpoint : path
        Of the model, if there is one.
    lines : mapping
        By the files that are to have them.
    refused : bool
        Whether nobody goes on from these lines, whatever there is a checkpoint of.
    """
    before, kept = _content(checkpoint), {path: _content(path) for path in lines}
    # Of training that has a checkpoint they are its own, of any other somebody's.
    stay = [] if before is not None else [path for path in lines if _holds(path, lines[path])]
    try:
        yield
    except BaseException:
        if _content(checkpoint) == before:  # Nothing has begun, and what there was is what is needed.
            for path, content in kept.items():
                with contextlib.suppress(OSError):
                    if content is not None:
                        path.write_bytes(content)
                        stay.append(path)
        raise
    finally:
        for path in lines if refused or not checkpoint.exists() else []:
            with contextlib.suppress(OSError):  # Of a place that is no directory, above all.
                if path not in stay:
                    path.unlink()


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _refuse_others(texts: Mapping[Path, Any]) -> None:
    """Raise InputError if lines would be written over a file that holds anything else."""
    for path, lines in texts.items():
        if path.exists() and not _holds(path, lines):
            found = "would be written over, as the sentences are kept there until the model is written"
            raise InputError(path, None, found, "Name another output, or give --overwrite, which replaces it")


def _holds(path: Path, lines: Any) -> bool:
    """Whether a file is what `lines_file` would make of lines, to the byte."""
    with contextlib.suppress(OSError):
        if path.is_file():
            text = "".join(f"{line}\n" for line in require_lines("a text", lines))
            return path.read_bytes() == text.encode("utf-8", "replace")
    return False


def load_dmv(path: PathLike) -> DependencyModel:
    """A model that `train_dmv`, `scfg-monolingual dmv train` or JDAGEEM has written.

    Raises
    ------
    InputError
        The file is none, or names the line that is no parameter.

    >>> import monolingual, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     monolingual.train_dmv(["NN VB"], rounds=2).write(folder + "/model.txt")
    ...     monolingual.load_dmv(folder + "/model.txt")
    DependencyModel of 2 tags
    """
    return DependencyModel(read_model(path))
