"""Phrase decomposition forests spelled out: nodes with spans, edges with their minimal rules, exact counts.

The same forests that the sampler walks in implicit form (`forest.SentenceForest`), for people, for other
programs and for the dynamic programs of `core.semiring`. Nodes come in the order of the length of their
source span, then of its start, the goal last; so tails come before heads.

The fact a newcomer would get wrong: spans are positions in the original sentence, unaligned words included,
and the goal's are the whole sentence pair.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from scfg_sampler.core.forests.hypergraph import Hypergraph, HypergraphBuilder, edge_heads
from scfg_sampler.core.fragments.tree import (
    EDGE,
    NUM_TAILS,
    TAIL_START,
    new_workspace,
    open_sentence,
    set_tails,
)
from scfg_sampler.core.jit import by_reference, kernel
from scfg_sampler.corpus.parallel_text import ParallelCorpus
from scfg_sampler.forest.choice import (
    DEGREE,
    EDGE_START,
    FIRST_TAIL,
    HOW_MANY,
    NUM_NODES,
    ROOT,
    Choice,
    ChoiceSizes,
    measure_choices,
    new_choice_forest,
    new_choice_workspace,
)
from scfg_sampler.forest.choice_trees import ChoiceForest, spelled_out
from scfg_sampler.forest.implicit import SIZE, new_sentence_forest, plain_corpus_arrays

# What kernels dispatch to must be below them: see `core.jit`.
from scfg_sampler.forest.trees import SentenceForest  # noqa: F401
from scfg_sampler.rules.text import escape

__all__ = ["ForestBuilder", "PhraseForest", "forest_edges", "forest_json", "phrase_nodes"]


class PhraseForest(NamedTuple):
    """The forest of one sentence pair.

    Attributes
    ----------
    graph : Hypergraph
    spans : int32, shape (N, 4)
        Source and target span of each node, half-open.
    level : int32, shape (N,)
        Edges in any derivation of the node (Lemma 3 of Chung et al. 2014); of several alignments, at most.
    trees : tuple of N int
        Derivations of each node, exactly.
    rules : tuple of E str
        The minimal rule of each edge, `[X,1] ge [X,2] ||| [X,2] a [X,1]`, spelled as in rule tables.
    sampler_ids : int64, shape (N,)
        What the sampler calls each node: i (n + 1) + j on compacted source positions, or of several
        alignments a number.
    """

    graph: Hypergraph
    spans: np.ndarray
    level: np.ndarray
    trees: tuple[int, ...]
    rules: tuple[str, ...]
    sampler_ids: np.ndarray


class ForestBuilder:
    """Builds the forests of a corpus, sentence by sentence.

    Parameters
    ----------
    corpus : ParallelCorpus
    choice : Choice, optional
        Of the alignments that the corpus has every pair under; by default each is a sentence of its own.
    max_length : int, optional
        Most words of a side; longer pairs have no forest. By default all have theirs.

    Attributes
    ----------
    num_sentences : int
    """

    def __init__(self, corpus: ParallelCorpus, choice: Choice | None = None, max_length: int | None = None):
        lengths = np.diff(corpus.source_start), np.diff(corpus.target_start)
        self._longer, self._max_length = np.maximum(*lengths), max_length
        fits = self._longer <= (np.inf if max_length is None else max_length)
        longest = int(lengths[0].max(initial=0, where=fits)), int(lengths[1].max(initial=0, where=fits))
        self._corpus = corpus
        self._arrays = plain_corpus_arrays(corpus)
        self._forest: Any = new_sentence_forest(longest[0], longest[1], 0)
        num_nodes = (longest[0] + 1) ** 2
        self._work = new_workspace(num_nodes, 3 * num_nodes + 16, 16)
        self.num_sentences = corpus.num_sentences // (choice.alignments if choice else 1)
        if choice is not None:
            node_start = np.zeros(self.num_sentences + 1, np.int64)
            sizes = ChoiceSizes(
                *measure_choices(self._forest, self._work, self._arrays, choice.alignments, node_start)
            )
            self._forest = new_choice_forest(longest, sizes, 0, choice, self.num_sentences)
            self._work = new_choice_workspace(longest, sizes, choice)

    def skipped(self, sentence: int) -> str | None:
        """Why a sentence has no forest, as `sample` says it; None if it has one, or has no links."""
        words = int(self._longer[sentence])
        if self._max_length is None or words <= self._max_length:
            return None
        return f"{words} words, more than {self._max_length}"

    def count_edges(self, sentence: int) -> int:
        """How many edges the forest of a sentence has, before any is spelled out.

        They grow with the third power of its length, what counts them with its square. Where an alignment is
        chosen they are listed as numbers, which takes a hundredth of the time that spelling them out does.
        """
        if not _open(self._forest, self._work, self._arrays, sentence):
            return 0
        if isinstance(self._forest, ChoiceForest):
            return int(_count_chosen(self._forest, self._work))
        size = int(self._forest.shape[SIZE])
        square = self._forest.is_phrase[: (size + 1) ** 2].reshape(size + 1, size + 1)
        is_phrase = np.triu(square, 1).astype(np.float32)
        splits = is_phrase @ is_phrase
        return int(np.maximum(splits, 1)[is_phrase > 0].sum(dtype=np.int64))

    def build(self, sentence: int) -> PhraseForest | None:
        """The forest of a sentence; None if it has no links, or more than `max_length` words.

        Parameters
        ----------
        sentence : int
            From 0.
        """
        if not _open(self._forest, self._work, self._arrays, sentence):
            return None
        if isinstance(self._forest, ChoiceForest):
            edges, goal = spelled_out(self._forest, self._work), 0
        else:
            edges, goal = self._all_edges()
        boxes = self._forest.boxes
        lengths = boxes[:, 1] - boxes[:, 0]
        found = sorted(edges, key=lambda node: (node == goal, lengths[node], boxes[node, 0]))
        rank = {node: at for at, node in enumerate(found)}
        builder = HypergraphBuilder()
        rules: list[str] = []
        level: list[int] = []
        trees: list[int] = []
        for node in found:
            head = builder.add_node()
            total, most = 0, 0
            for tails in edges[node]:
                below = [rank[tail] for tail in tails]
                builder.add_edge(head, below)
                rules.append(self._rule(sentence, node, tails))
                product = 1
                for tail in below:
                    product *= trees[tail]
                total += product
                most = max(most, sum(level[tail] for tail in below))
            trees.append(total)
            level.append(1 + most)
        return PhraseForest(
            builder.build(),
            boxes[found].copy(),
            np.array(level, np.int32),
            tuple(trees),
            tuple(rules),
            np.array(found, np.int64),
        )

    def _all_edges(self) -> tuple[dict[int, list[list[int]]], int]:
        """The tails of the edges of every node of one alignment's forest, and the goal."""
        size = int(self._forest.shape[SIZE])
        is_phrase = self._forest.is_phrase[: (size + 1) ** 2].reshape(size + 1, size + 1)
        nodes = [i * (size + 1) + j for i in range(size) for j in range(i + 1, size + 1) if is_phrase[i, j]]
        return {node: self._edges(node, size, is_phrase) for node in nodes}, size

    def _edges(self, node: int, size: int, is_phrase: np.ndarray) -> list[list[int]]:
        i, j = divmod(node, size + 1)
        splits = [k for k in range(i + 1, j) if is_phrase[i, k] and is_phrase[k, j]]
        if splits:
            return [[i * (size + 1) + k, k * (size + 1) + j] for k in splits]
        _set_only_tails(self._forest, self._work, node)
        start = self._work.nodes[node, TAIL_START]
        return [self._work.tails[start : start + self._work.nodes[node, NUM_TAILS]].tolist()]

    def _rule(self, sentence: int, node: int, tails: list[int]) -> str:
        corpus, spans = self._corpus, self._forest.boxes
        source = corpus.source[corpus.source_start[sentence] : corpus.source_start[sentence + 1]]
        target = corpus.target[corpus.target_start[sentence] : corpus.target_start[sentence + 1]]
        sides = []
        for words, vocabulary, side in (
            (source, corpus.source_vocabulary, 0),
            (target, corpus.target_vocabulary, 2),
        ):
            slots = {
                int(spans[tail, side]): (k, int(spans[tail, side + 1])) for k, tail in enumerate(tails, 1)
            }
            symbols, at = [], int(spans[node, side])
            while at < spans[node, side + 1]:
                if at in slots:
                    number, at = slots[at]
                    symbols.append(f"[X,{number}]")
                else:
                    symbols.append(escape(vocabulary.words[words[at]]))
                    at += 1
            sides.append(" ".join(symbols))
        return " ||| ".join(sides)


def phrase_nodes(forest: Any, work: Any, corpus: Any, sentence: int) -> tuple[np.ndarray, np.ndarray]:
    """Spans and sampler's numbers of the nodes of a forest without its edges, which are many more.

    Parameters
    ----------
    forest, work, corpus : as `open_sentence` takes them
        The forest is a `SentenceForest`; it and the workspace are changed.
    sentence : int
        From 0.

    Returns
    -------
    (int32 (N, 4), int64 (N,))
        As the attributes `spans` and `sampler_ids` of `PhraseForest`; without rows if it has no links.
    """
    if not _open(forest, work, corpus, sentence):
        return np.zeros((0, 4), np.int32), np.zeros(0, np.int64)
    size = int(forest.shape[SIZE])
    is_phrase = forest.is_phrase[: (size + 1) ** 2].reshape(size + 1, size + 1)
    ids = np.flatnonzero(np.triu(is_phrase[:size], 1))
    begin, end = forest.boxes[ids, 0], forest.boxes[ids, 1]
    ids = ids[np.lexsort((begin, end - begin, ids == size))]
    return forest.boxes[ids], ids


def forest_edges(forest: PhraseForest) -> Iterator[tuple[int, list[int], str]]:
    """Head, tails and minimal rule of every edge, in the order of the heads."""
    graph = forest.graph
    tail_start, tails = graph.tail_start.tolist(), graph.tails.tolist()
    for edge, (head, rule) in enumerate(zip(edge_heads(graph).tolist(), forest.rules, strict=True)):
        yield head, tails[tail_start[edge] : tail_start[edge + 1]], rule


def forest_json(sentence: int, forest: PhraseForest | None, reason: str = "no links") -> str:
    """One line of JSON for a sentence's forest, or for a skipped sentence.

    Parameters
    ----------
    sentence : int
        From 0.
    forest : PhraseForest or None
    reason : str
        Why there is none.
    """
    if forest is None:
        skipped = {"sentence": sentence, "skipped": reason, "trees": "0", "nodes": [], "edges": []}
        return json.dumps(skipped)
    nodes = [
        {"source": span[:2], "target": span[2:], "level": level, "trees": str(trees)}
        for span, level, trees in zip(forest.spans.tolist(), forest.level.tolist(), forest.trees, strict=True)
    ]
    edges = [{"head": head, "tails": tails, "rule": rule} for head, tails, rule in forest_edges(forest)]
    line = {
        "sentence": sentence,
        "skipped": None,
        "trees": str(forest.trees[-1]),
        "nodes": nodes,
        "edges": edges,
    }
    return json.dumps(line, ensure_ascii=False)


@kernel
def _open(forest, work, corpus, sentence):
    return open_sentence(forest, work, corpus, sentence)


@kernel
def _count_chosen(forest, work):
    """The edges of the nodes that the root can have below it, of the sentence that is open."""
    forest, work = by_reference(forest), by_reference(work)
    num_nodes = forest.shape[NUM_NODES]
    is_below = np.zeros(num_nodes, np.uint8)
    is_below[ROOT] = 1
    number = 0
    for at in range(num_nodes - 1, -1, -1):  # Heads before their tails.
        node = forest.ordered[at]
        if is_below[node] == 0:
            continue
        start = forest.listed[node, EDGE_START]
        number += forest.listed[node, DEGREE]
        for place in range(start, start + forest.listed[node, DEGREE]):
            edge = forest.edge_at[place]
            first = forest.edges[edge, FIRST_TAIL]
            for tail in range(first, first + forest.edges[edge, HOW_MANY]):
                is_below[work.tails[tail]] = 1
    return number


@kernel
def _set_only_tails(forest, work, node):
    work.nodes[node, EDGE] = 0
    set_tails(forest, work, node)
