"""Sentence pairs, their forests and derivations, as objects that show themselves as pictures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from scfg_sampler.core.arguments import require_characters, require_path, require_place, require_type
from scfg_sampler.core.arrays.vocabulary import line_of
from scfg_sampler.core.files import PathLike, atomic_output, read_lines
from scfg_sampler.core.wording import counted
from scfg_sampler.corpus import parallel_text as corpus
from scfg_sampler.corpus.parallel_text import (
    CorpusFiles,
    ParallelCorpus,
    pair_words,
    parse_corpus,
    same_corpus,
    select_pairs,
)
from scfg_sampler.corpus.span_labels import SpanLabels, labels_of_lines, read_span_labels
from scfg_sampler.errors import InputError
from scfg_sampler.forest.explicit import ForestBuilder, PhraseForest, forest_edges
from scfg_sampler.learner.derivations import Derivation
from scfg_sampler.learner.drawing import draw_alignment, draw_derivation, draw_forest, readable
from scfg_sampler.notebook.shown import SHOWN, html_table

__all__ = ["IDLE_LABELS", "Corpus", "Forest", "Phrase", "SentencePair", "Tree", "make_corpus", "read_corpus"]

IDLE_LABELS = "labels_form and labels_side do nothing without labels: all are X"

_DRAWN = 2000  # Edges of a forest that is drawn unasked.


def read_corpus(
    source: PathLike,
    target: PathLike,
    alignment: PathLike,
    *more_alignments: PathLike,
    labels: PathLike | None = None,
) -> Corpus:
    """The sentence pairs of two texts and their alignment, gzipped or not, line k of each belonging together.

    With several alignments, all pairs under the first come first, then all under the second, ….

    Parameters
    ----------
    source, target : path
        Tokenised text.
    alignment, *more_alignments : path
        Links in Pharaoh format, `0-0 2-1`, source position first.
    labels : path, optional
        Labels of spans, by which `sample` and `extract_rules` call nonterminals; their settings `labels_form`
        and `labels_side` say what a line is.

    Raises
    ------
    InputError, AlignmentError
        File and line are named.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     paths = [Path(folder, name) for name in ("train.fr", "train.en", "train.fr-en")]
    ...     lines = ("ne dort pas", "not sleep", "0-0 1-1 2-0")
    ...     _ = [path.write_text(line + "\\n") for path, line in zip(paths, lines)]
    ...     read_corpus(*paths)
    Corpus of 1 sentence pair, 3 source and 2 target words
    """
    for name, path in (("source", source), ("target", target), ("alignment", alignment)):
        require_path(name, path)
    for path in more_alignments:
        require_path("a further alignment", path)
    if labels is not None:
        require_path("labels", labels)
    resolved = [Path(path).resolve() for path in (source, target, alignment, *more_alignments)]
    of_spans = None if labels is None else Path(labels).resolve()
    files = CorpusFiles(resolved[0], resolved[1], tuple(resolved[2:]), of_spans)
    return Corpus(corpus.read_corpus(source, target, alignment, *more_alignments), files)


def make_corpus(pairs: Iterable[tuple[str, str, str]]) -> Corpus:
    """A corpus in memory out of (source, target, alignment) lines.

    Raises
    ------
    TypeError, ValueError
        A pair is not three strings; says which.
    InputError, AlignmentError
        A string is not one line, or not an alignment of the pair.

    >>> make_corpus([("ne dort pas", "not sleep", "0-0 1-1 2-0")])
    Corpus of 1 sentence pair, 3 source and 2 target words
    """
    require_type("pairs", pairs, Iterable, "a list of (source, target, alignment)")
    lines: list[list[str]] = [[], [], []]
    for number, pair in enumerate(pairs, start=1):
        require_type(f"pair {number}", pair, (tuple, list), "three strings: source, target, alignment")
        if len(pair) != 3:
            found = f"pair {number} has {counted(len(pair), 'part')}"
            raise ValueError(f"{found}; give three strings: source, target, alignment such as '0-0 1-2'")
        for name, line in zip(("source", "target", "alignment"), pair, strict=True):
            wanted = "a string: ' '.join(words)" if name != "alignment" else "a string such as '0-0 1-2'"
            require_type(f"the {name} of pair {number}", line, str, wanted)
            require_characters(f"the {name} of pair {number}", line)
        for side, given in zip(lines, pair, strict=True):
            line = given.removesuffix("\n")  # As open files give it.
            if "\n" in line:
                raise InputError("pair", number, f"{line!r} is more than one line", "Give one sentence each")
            side.append(line)
    return Corpus(parse_corpus(lines[0], lines[1], lines[2]))


class SentencePair(NamedTuple):
    """Two sentences and the links between their words; shows the alignment as a grid.

    Attributes
    ----------
    source, target : tuple of str
    links : tuple of (source position, target position)
    number : int
        Its place in the corpus.

    >>> pair = make_corpus([("ne dort pas", "not sleep", "0-0 1-1 2-0")])[0]
    >>> pair.source, pair.target, pair.links
    (('ne', 'dort', 'pas'), ('not', 'sleep'), ((0, 0), (1, 1), (2, 0)))
    >>> pair.forest()
    Forest of 1 tree, 2 phrases and 2 edges
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: tuple[tuple[int, int], ...]
    number: int

    def forest(self) -> Forest | None:
        """All ways to take the pair apart into rules; None if it has no links."""
        links = " ".join(f"{i}-{j}" for i, j in self.links)
        arrays = parse_corpus([line_of(self.source)], [line_of(self.target)], [links])
        forest = ForestBuilder(arrays).build(0)
        return None if forest is None else Forest(self, forest)

    def svg(self) -> str:
        """The alignment as an SVG picture."""
        return draw_alignment(self.source, self.target, self.links, f"pair {self.number}")

    def _repr_html_(self) -> str:
        return self.svg()


class LabelLines(NamedTuple):
    """The labels of some pairs of a corpus: the file, the pairs (int64), and how many pairs it is of.

    alignments : how many the corpus has; the lines begin again with each, if there are not as many as pairs.
    """

    path: PathLike
    pairs: np.ndarray
    num_pairs: int
    alignments: int

    def read(self) -> list[tuple[int, str]]:
        """The line of every pair, with its number in the file."""
        lines = list(read_lines(self.path))
        if not lines or self.num_pairs not in (len(lines), self.alignments * len(lines)):
            found = f"has {counted(len(lines), 'line')} for {counted(self.num_pairs, 'pair')}"
            raise InputError(self.path, None, found, "Give a line for each pair")
        places = (self.pairs % len(lines)).tolist()
        return [(place + 1, lines[place]) for place in places]


class Corpus(Sequence[SentencePair]):
    """Word-aligned sentence pairs; a slice is a corpus again.

    Parameters
    ----------
    arrays : ParallelCorpus
    files : CorpusFiles, optional
        Where they were read.
    labels : LabelLines, optional
        Of which lines of which file the labels are, where they are some of those of a corpus.

    >>> pairs = [("ne dort pas", "not sleep", "0-0 1-1 2-0"), ("il dort", "he sleeps", "0-0 1-1")]
    >>> corpus = make_corpus(pairs)
    >>> len(corpus), corpus[1:], corpus[1].target
    (2, Corpus of 1 sentence pair, 2 source and 2 target words, ('he', 'sleeps'))
    """

    def __init__(
        self,
        arrays: ParallelCorpus,
        files: CorpusFiles | None = None,
        labels: LabelLines | None = None,
    ):
        self.arrays, self.files, self._labels = arrays, files, labels

    def __len__(self) -> int:
        return self.arrays.num_sentences

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            chosen = np.arange(len(self))[key]
            labels = self._labels
            if self.files is not None and self.files.labels is not None:
                labels = LabelLines(
                    self.files.labels, np.arange(len(self)), len(self), len(self.files.alignments)
                )
            if labels is not None:
                labels = labels._replace(pairs=labels.pairs[chosen])
            return Corpus(select_pairs(self.arrays, chosen), labels=labels)
        number = require_place(key, len(self), "sentence pairs")
        start = self.arrays.link_start
        links = self.arrays.links[start[number] : start[number + 1]].tolist()
        source, target = pair_words(self.arrays, number)
        return SentencePair(tuple(source), tuple(target), tuple((i, j) for i, j in links), number)

    def require_unchanged(self) -> None:
        """Raise an InputError if the files it was read from hold another corpus now, as a run would read."""
        if self.files is None:
            return
        names = (self.files.source, self.files.target, *self.files.alignments)
        if not same_corpus(self.arrays, corpus.read_corpus(*names)):
            found = f"or {self.files.target}, or their alignment, is not what it was when the corpus was read"
            raise InputError(self.files.source, None, found, "Read it again")

    def span_labels(self, side: str, form: str, longest: int) -> SpanLabels | None:
        """The labels of spans of up to so many words; None if there are none.

        Parameters
        ----------
        side, form : one of `corpus.span_forms.SIDES`, and of its FORMS
        longest : int

        Raises
        ------
        InputError
            The labels cannot be read, are not of the form, or do not fit the sentences.
        """
        if self.files is not None and self.files.labels is not None:
            alignments = len(self.files.alignments)
            return read_span_labels(
                self.files.labels, self.arrays, side=side, form=form, longest=longest, alignments=alignments
            )
        if self._labels is None or not len(self):
            return None
        lines, path = self._labels.read(), self._labels.path
        return labels_of_lines(lines, path, self.arrays, side=side, form=form, longest=longest)

    def __repr__(self) -> str:
        words = f"{len(self.arrays.source)} source and {counted(len(self.arrays.target), 'target word')}"
        return f"Corpus of {counted(len(self), 'sentence pair')}, {words}"

    def _repr_html_(self) -> str:
        rows = [(pair.number, " ".join(pair.source), " ".join(pair.target)) for pair in self[:SHOWN]]
        return html_table(repr(self), ("", "source", "target"), rows)

    def write(self, directory: PathLike) -> tuple[Path, Path, Path]:
        """Write `source`, `target` and `alignment` into a directory; their paths."""
        folder = Path(directory)
        paths = folder / "source", folder / "target", folder / "alignment"
        lines = (
            (line_of(pair.source), line_of(pair.target), " ".join(f"{i}-{j}" for i, j in pair.links))
            for pair in self
        )
        with atomic_output(paths[0]) as one, atomic_output(paths[1]) as two, atomic_output(paths[2]) as three:
            for fields in lines:
                for stream, line in zip((one, two, three), fields, strict=True):
                    stream.write(line + "\n")
        return paths

    def write_all(self, directory: PathLike) -> CorpusFiles:
        """As `write`, and a file `labels` where the pairs have some; the files.

        Raises
        ------
        InputError
            The labels cannot be read any more, or there are more or fewer than pairs.
        """
        source, target, alignment = self.write(directory)
        if self._labels is None:
            return CorpusFiles(source, target, (alignment,))
        labels = Path(directory) / "labels"
        lines = self._labels.read()
        with atomic_output(labels) as stream:
            stream.writelines(f"{line}\n" for _, line in lines)
        return CorpusFiles(source, target, (alignment,), labels)


class Phrase(NamedTuple):
    """A node of a forest: half-open spans, level (edges of each of its trees), number of trees."""

    source: tuple[int, int]
    target: tuple[int, int]
    level: int
    trees: int


class Forest:
    """The phrase decomposition forest of a sentence pair; shows itself as a picture.

    Parameters
    ----------
    pair : SentencePair
    forest : PhraseForest
        `forest.graph` is a hypergraph for the dynamic programs of `scfg_sampler.core`.
    shares : sequence of float, optional
        Of the states of a run, those that have each phrase: pictures are shaded by them (`Run.forest`).

    >>> forest = make_corpus([("ne dort pas", "not sleep", "0-0 1-1 2-0")])[0].forest()
    >>> forest.num_trees, forest.rules
    (1, ['dort ||| sleep', 'ne [X,1] pas ||| not [X,1]'])
    """

    def __init__(self, pair: SentencePair, forest: PhraseForest, shares: Sequence[float] | None = None):
        self.pair, self.forest, self.shares = pair, forest, shares

    @property
    def num_trees(self) -> int:
        """How many derivations of minimal rules the pair has."""
        return self.forest.trees[-1]

    @property
    def phrases(self) -> list[Phrase]:
        """The nodes, short spans first, the whole pair last."""
        rows = zip(self.forest.spans.tolist(), self.forest.level.tolist(), self.forest.trees, strict=True)
        return [Phrase((a, b), (c, d), level, trees) for (a, b, c, d), level, trees in rows]

    @property
    def rules(self) -> list[str]:
        """The minimal rule of every edge, as rule tables spell it."""
        return list(self.forest.rules)

    def __repr__(self) -> str:
        sizes = f"{counted(len(self.forest.trees), 'phrase')} and {counted(len(self.forest.rules), 'edge')}"
        return f"Forest of {counted(self.num_trees, 'tree')}, {sizes}"

    def svg(self) -> str:
        """The forest as an SVG picture."""
        name = f"forest of pair {self.pair.number}"
        return draw_forest(self.pair.source, self.pair.target, self.forest, name, shares=self.shares)

    def _repr_html_(self) -> str:
        if len(self.forest.rules) > _DRAWN:
            return f"<p>{self!r}; too large to be shown unasked: see svg()</p>"
        return self.svg()

    def edges(self) -> Iterator[tuple[Phrase, list[Phrase], str]]:
        """Each edge as the phrase it builds, those it is built of, and its minimal rule."""
        phrases = self.phrases
        for head, tails, text in forest_edges(self.forest):
            yield phrases[head], [phrases[tail] for tail in tails], text


class Tree:
    """The derivation of a sentence pair that a run ended with; shows itself as a picture.

    Parameters
    ----------
    pair : SentencePair
    derivation : Derivation

    >>> import scfg_sampler, tempfile
    >>> corpus = make_corpus([("ne dort pas", "not sleep", "0-0 1-1 2-0")] * 9)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = scfg_sampler.sample(corpus, folder + "/run", iterations=20)
    ...     run.derivation(0).rules[0] in ("ne dort pas ||| not sleep", "ne [X,1] pas ||| not [X,1]")
    True
    """

    def __init__(self, pair: SentencePair, derivation: Derivation):
        self.pair, self.derivation = pair, derivation

    @property
    def rules(self) -> list[str]:
        """The rules from the top down, from left to right, as rule tables spell them."""
        return [node.rule for node, _ in self._nodes()]

    def __repr__(self) -> str:
        return "\n".join("  " * depth + readable(node.rule) for node, depth in self._nodes())

    def svg(self) -> str:
        """The derivation as an SVG picture."""
        name = f"derivation of pair {self.pair.number}"
        return draw_derivation(self.pair.source, self.pair.target, self.derivation, name)

    def _repr_html_(self) -> str:
        return self.svg()

    def _nodes(self) -> Iterator[tuple[Derivation, int]]:
        stack = [(self.derivation, 0)]
        while stack:
            node, depth = stack.pop()
            yield node, depth
            stack.extend((part, depth + 1) for part in reversed(node.parts))
