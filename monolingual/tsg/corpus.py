"""The sentences of a run: gathered from files, prepared, kept in the run directory.

Sentences with one tree and sentences with several are learnt from together, in this order: trees, lists of
trees, forests, brackets, plain words. A run directory keeps them as they were learnt from, the first in
`trees.mrg.gz`, the others in `forests.json.gz` (a line each: `words`, and `nodes` with a label and edges,
whose children are nodes, or −1 − position of a word) and, with the words as they were, in `sentences.txt.gz`.

The fact a newcomer would get wrong: rare words are rare in all sentences together.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from monolingual.tsg.annotation import read_brackets, read_forests, read_nbest, read_sentences
from monolingual.tsg.markov import PLAIN, Form
from monolingual.tsg.packed import ForestNode, PackedForest, binarise_forest, escaped_forest, tree_of_edges
from monolingual.tsg.preparation import (
    Preparation,
    check_preparation,
    head_rules,
    prepared_tree,
    read_prepared,
    restore_tree,
    with_known,
)
from monolingual.tsg.settings import Sources
from monolingual.tsg.stored import StoredForests, StoredTrees
from monolingual.tsg.transforms import clean, count_words
from monolingual.tsg.treebank import Treebank, build_treebank
from monolingual.tsg.trees import Tree, format_tree, leaves, read_trees, with_leaves
from scfg_sampler.core.arrays.vocabulary import split_words
from scfg_sampler.core.files import atomic_output, file_digest, read_lines
from scfg_sampler.core.json_text import WRONG_RECORD, parse_json
from scfg_sampler.errors import InputError, SettingsError, TreeError

__all__ = [
    "CORPUS_FILES",
    "Corpus",
    "chosen_trees",
    "corpus_digests",
    "gather",
    "read_corpus",
    "write_corpus",
]

CORPUS_FILES = _TREES, _FORESTS, _SENTENCES = "trees.mrg.gz", "forests.json.gz", "sentences.txt.gz"
"""What `write_corpus` writes."""


class Corpus(NamedTuple):
    """Sentences ready to learn from.

    Attributes
    ----------
    trees : sequence of Tree
    forests : sequence of PackedForest
        Of the sentences with several trees.
    sentences : list of tuple of str
        The words of these as they were.
    """

    trees: Sequence[Tree]
    forests: Sequence[PackedForest]
    sentences: list[tuple[str, ...]]

    def treebank(self) -> Treebank:
        """Trees and forests as arrays, in this order."""
        return build_treebank(self.trees, self.forests)


def gather(sources: Sources, preparation: Preparation) -> tuple[Corpus, Preparation]:
    """All sentences, prepared, and the preparation with the words that are known.

    Parameters
    ----------
    sources : Sources
    preparation : Preparation
        Its `known` is not read.

    Raises
    ------
    TreeError
        A file cannot be read, or the first has no tree.
    SettingsError
        A setting is out of range, or there is nothing to read.
    """
    _check(sources)
    check_preparation(preparation)
    packed = [name for name in ("forests", "brackets", "sentences") if getattr(sources, name) is not None]
    if packed and preparation.form not in (PLAIN, Form("none")):
        raise SettingsError(
            f"--{packed[0]} goes with --binarise right or none, --horizontal 0 and --vertical 1 alone"
        )
    trees = StoredTrees() if sources.trees is None else read_prepared(sources.trees, preparation)
    if sources.trees is not None and not trees:
        raise TreeError(sources.trees, None, "holds no tree", "Write bracketed trees, (S (NP (DT the) …) …)")
    forests = StoredForests(_forests(sources, preparation))
    if not trees and not forests:
        raise SettingsError("the files hold no sentence to learn from")
    sentences = [forest.words for forest in forests]
    if preparation.unknown == "none":
        return Corpus(trees, forests, sentences), preparation._replace(known=frozenset())
    counts = count_words(itertools.chain(map(leaves, trees), map(list, sentences)))
    preparation = with_known(preparation, counts)
    trees = StoredTrees(with_leaves(tree, preparation.words(leaves(tree))) for tree in trees)
    forests = StoredForests(
        forest._replace(words=tuple(preparation.words(list(forest.words)))) for forest in forests
    )
    return Corpus(trees, forests, sentences), preparation


def _check(sources: Sources) -> None:
    if all(source is None for source in sources[:5]):
        raise SettingsError(
            "nothing to learn from; give TREES, --nbest-lists, --forests, --brackets or --sentences"
        )
    if sources.pack not in ("trees", "spans"):
        raise SettingsError(f"--pack is {sources.pack}; choose trees or spans")
    if (sources.brackets is not None or sources.sentences is not None) and not sources.labels:
        raise SettingsError(
            "--brackets and --sentences need --labels; name what a constituent may be, e.g. A,B,C"
        )
    if sources.longest < 1:
        raise SettingsError(f"--max-length is {sources.longest}; it must be at least 1")
    for option, given in (("--labels", sources.labels), ("--tag-set", sources.tags)):
        if not all(map(_is_label, given)) or len(set(given)) < len(given):
            raise SettingsError(f"{option} is {','.join(given)!r}; give different labels, joined by commas")
    if not _is_label(sources.root):
        raise SettingsError(f"--root is {sources.root!r}; give a label, without blanks, brackets and ?")


def _is_label(text: str) -> bool:
    """Whether it can be a label of a tree that is written with brackets."""
    return text != "" and not set(text) & set(" \t\n()?")


def _forests(sources: Sources, preparation: Preparation) -> Iterator[PackedForest]:
    rules = head_rules(preparation)

    def transform(tree: Tree) -> Tree | None:
        return prepared_tree(tree, preparation, rules)

    if sources.nbest is not None:
        yield from (found.forest for found in read_nbest(sources.nbest, transform, sources.pack))
    unknown = sources.labels, sources.tags or sources.labels, sources.root, sources.longest
    cleaned = (lambda tree: tree) if preparation.keep_annotation else clean
    made = binarise_forest if preparation.binarise == "right" else escaped_forest
    for path, read in (
        (sources.forests, read_forests),
        (sources.brackets, lambda path: read_brackets(path, *unknown, cleaned)),
        (sources.sentences, lambda path: read_sentences(path, *unknown)),
    ):
        if path is not None:
            for forest, _ in read(path):
                yield made(forest)


def write_corpus(directory: Path, corpus: Corpus) -> None:
    """Keep the sentences in a run directory."""
    with atomic_output(directory / _TREES) as stream:
        stream.writelines(format_tree(tree) + "\n" for tree in corpus.trees)
    if not corpus.forests:
        (directory / _FORESTS).unlink(missing_ok=True)
        (directory / _SENTENCES).unlink(missing_ok=True)
        return
    with atomic_output(directory / _FORESTS) as stream:
        for forest in corpus.forests:
            json.dump({"words": forest.words, "nodes": forest.nodes}, stream, ensure_ascii=False)
            stream.write("\n")
    with atomic_output(directory / _SENTENCES) as stream:
        stream.writelines(" ".join(words) + "\n" for words in corpus.sentences)


def read_corpus(directory: Path) -> Corpus:
    """The sentences that `write_corpus` kept.

    Raises
    ------
    TreeError, InputError
        A file is damaged.
    """
    trees = StoredTrees(source.tree for source in read_trees(directory / _TREES))
    path = directory / _FORESTS
    if not path.exists():
        return Corpus(trees, [], [])
    forests = StoredForests()
    for number, line in enumerate(read_lines(path), start=1):
        try:
            record = parse_json(line)
            nodes = (ForestNode(label, tuple(map(tuple, edges))) for label, edges in record["nodes"])
            forests.append(PackedForest(tuple(record["words"]), tuple(nodes)))
        except WRONG_RECORD:
            raise InputError(path, number, "is damaged", "Train again") from None
    return Corpus(trees, forests, [tuple(split_words(line)) for line in read_lines(directory / _SENTENCES)])


def corpus_digests(directory: Path) -> dict[str, str]:
    """What tells whether the sentences of a run have been changed."""
    files = {"trees": directory / _TREES, "forests": directory / _FORESTS}
    return {name: file_digest(path) for name, path in files.items() if path.exists()}


def chosen_trees(
    corpus: Corpus, treebank: Treebank, codes: np.ndarray, preparation: Preparation
) -> Iterator[Tree]:
    """For each sentence with several trees the one that a state of the chain has, as in a treebank.

    Parameters
    ----------
    corpus : Corpus
    treebank : Treebank
        Of this corpus.
    codes : uint16 (N,)
        As in `sampler.TsgState`.
    preparation : Preparation
    """
    starts = treebank.node_start[len(corpus.trees) :].tolist()
    for forest, words, start in zip(corpus.forests, corpus.sentences, starts, strict=False):
        tree = tree_of_edges(forest, (codes[start : start + len(forest.nodes)] >> 1).tolist())
        yield restore_tree(tree, preparation, list(words))
