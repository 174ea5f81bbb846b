"""A parallel corpus as chains walk it: what a treebank is to a sampler of trees.

Forests are built anew from the alignment for each visit, which costs less than keeping them would. So a bank
holds what does not change between visits: which sentences have a forest, where each sentence's derivation
lies in the flat array of a state, and room for one sentence at a time.

The fact a newcomer would get wrong: every sentence keeps its place in that array. The number of nodes is the
same for all derivations of a sentence (Lemma 3 of Chung et al. 2014), but where alignments are chosen: there
is room for the largest then, and zeros follow smaller ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.pages import zeros_when_written
from scfg_sampler.core.arrays.vocabulary import Vocabulary
from scfg_sampler.core.elementary import log_each
from scfg_sampler.core.fragments.fingerprint import LONGEST_STRING
from scfg_sampler.core.fragments.tree import LABELS, new_workspace
from scfg_sampler.corpus.parallel_text import ParallelCorpus
from scfg_sampler.corpus.span_labels import SpanLabels
from scfg_sampler.errors import SettingsError
from scfg_sampler.forest.choice import (
    Choice,
    ChoiceSizes,
    measure_choices,
    new_choice_forest,
    new_choice_workspace,
)
from scfg_sampler.forest.implicit import (
    MAX_CUT_SPAN,
    MAX_LENGTH,
    CorpusArrays,
    new_sentence_forest,
    plain_corpus_arrays,
)
from scfg_sampler.forest.labelled import count_labels, labelled_arrays, new_labelled_forest
from scfg_sampler.forest.typed import new_typed_forest
from scfg_sampler.learner.collecting import Collector, new_collector
from scfg_sampler.learner.passes import Walk, collect_sentences, count_nodes

__all__ = [
    "BankLabels",
    "Extent",
    "ForestBank",
    "collect",
    "collector_for",
    "forest_bank",
    "new_walk",
    "node_counts",
    "walk_in_turn",
    "walk_over",
]


class Extent(NamedTuple):
    """What decides how much room one sentence at a time needs."""

    longest: tuple[int, int]
    """Words of the longest source and target sentence that are not skipped."""
    max_attached: int
    """Most unaligned words that a rule takes in at each end; 0 if they belong to the lowest node."""
    choice: Choice | None
    """Among how many alignments derivations choose, if they do."""
    sizes: ChoiceSizes
    """Of the largest forests, where they do."""
    num_labels: int = 0
    """Labels of phrases, X among them; 0 if all are X."""
    first_label: int = 0
    """Which symbol X is in records of rules with labels: see `collecting`."""
    are_types: bool = False
    """Whether the labels are types, which a derivation has and not a forest."""


class BankLabels(NamedTuple):
    """The K labels of the phrases of a corpus."""

    names: tuple[str, ...]
    """The first is X."""
    log_share: np.ndarray
    """float64 (K,): ln of the share of the phrases below the roots that have it; −∞ where none has."""
    longest: np.ndarray
    """int64 (K,): the longest rule, in the sense of ℓ, that each can be on the left of."""


class ForestBank(NamedTuple):
    """The forests of a parallel corpus of S sentence pairs."""

    corpus: ParallelCorpus
    walk: Walk
    """For passes that only read derivations, by one thread at a time; see `walk_in_turn`."""
    node_start: np.ndarray
    """int64 (S + 1,): where each sentence's nodes begin in `node_counts`."""
    skipped: dict[int, str]
    """Sentences without a derivation, and why."""
    most_links: int
    max_length: int
    """Pairs with more words on a side are skipped."""
    extent: Extent
    labels: BankLabels | None = None
    """Those of its phrases; None if all are X."""

    @property
    def record_vocabularies(self) -> tuple[Vocabulary, Vocabulary]:
        """What symbols of records stand for: source words, and labels behind them, and target words."""
        source, target = self.corpus.source_vocabulary, self.corpus.target_vocabulary
        if self.labels is None:
            return source, target
        # A label's text holds a space, and a word none: they are as many as there are symbols.
        return Vocabulary([*source.words, *(f"{name} ..." for name in self.labels.names)]), target

    @property
    def code_type(self) -> type[np.unsignedinteger]:
        """Of `LearnerState.trees`: uint32 where nodes have more variables than their edges and cuts."""
        return np.uint32 if self.max_attached or self.extent.are_types else np.uint16

    @property
    def longest(self) -> tuple[int, int]:
        """As in `Extent`."""
        return self.extent.longest

    @property
    def max_attached(self) -> int:
        """As in `Extent`."""
        return self.extent.max_attached

    @property
    def choice(self) -> Choice | None:
        """As in `Extent`."""
        return self.extent.choice

    @property
    def num_sentences(self) -> int:
        """S: those of the corpus, or where derivations choose among alignments, sentence pairs."""
        return len(self.walk.tree_start) - 1

    @property
    def tree_start(self) -> np.ndarray:
        """int64 (S + 1,): where each sentence's derivation begins in `LearnerState.trees`."""
        return self.walk.tree_start


def forest_bank(
    corpus: ParallelCorpus,
    max_length: int,
    max_attached: int = 0,
    choice: Choice | None = None,
    labels: SpanLabels | None = None,
    num_types: int = 1,
) -> ForestBank:
    """The forests of a corpus.

    Parameters
    ----------
    corpus : ParallelCorpus
    max_length : int
        As in `LearnerSettings`.
    max_attached : int
        As in `LearnerSettings` if unaligned words are free, else 0.
    choice : Choice, optional
        Of the alignments that the corpus has every pair under; by default each is a sentence of its own.
    labels : SpanLabels, optional
        Of spans of the corpus; neither unaligned words are free then, nor alignments chosen. If all are X,
        the bank is that without labels.
    num_types : int
        As in `LearnerSettings`; with more than one there are no labels of spans.

    Raises
    ------
    SettingsError
        A pair is too long for what a derivation is stored in.
    """
    assert max_length < LONGEST_STRING
    assert labels is None or (max_attached == 0 and choice is None)
    labels = None if labels is None or labels.names == ("X",) else labels
    num_sentences = corpus.num_sentences // (choice.alignments if choice else 1)
    starts = corpus.source_start[: num_sentences + 1], corpus.target_start[: num_sentences + 1]
    lengths = np.diff(starts[0]), np.diff(starts[1])
    longer = np.maximum(*lengths)
    fits = longer <= max_length
    longest = (int(lengths[0].max(initial=0, where=fits)), int(lengths[1].max(initial=0, where=fits)))
    tree_start = np.zeros(num_sentences + 1, np.int64)
    node_start = np.zeros(num_sentences + 1, np.int64)
    np.cumsum(np.where(fits, (lengths[0] + 1) ** 2, 0), out=node_start[1:])
    arrays, extent = plain_corpus_arrays(corpus), Extent(longest, max_attached, None, ChoiceSizes(0, 0, 0))
    if labels is not None:
        arrays = labelled_arrays(arrays, labels.is_target, labels.start, labels.spans, labels.label)
        extent = extent._replace(num_labels=len(labels.names), first_label=len(corpus.source_vocabulary))
    if num_types > 1:
        assert labels is None
        assert choice is None
        first = len(corpus.source_vocabulary)
        extent = extent._replace(num_labels=num_types + 1, first_label=first, are_types=True)
    links = np.diff(corpus.link_start)
    if choice is not None:
        _require_room_for_labels(choice, longest)
        plain = walk_over(arrays, tree_start, extent, 0)
        sizes = measure_choices(plain.forest, plain.work, arrays, choice.alignments, node_start)
        extent = extent._replace(choice=choice, sizes=ChoiceSizes(*map(int, sizes)))
        links = links.reshape(choice.alignments, num_sentences).sum(axis=0)
    walk = walk_over(arrays, tree_start, extent, 0)
    count_nodes(walk)
    skipped = {
        int(s): "no links" if fits[s] else f"{longer[s]} words, more than {max_length}"
        for s in np.flatnonzero(np.diff(tree_start) == 0)
    }
    most_links = int(links.max(initial=0))
    found = None if labels is None else _bank_labels(walk, labels.names)
    if num_types > 1:
        found = _type_labels(num_types)
    walk = walk_over(arrays, tree_start, extent, 0)  # Anew, as all forests have left something in the other.
    return ForestBank(corpus, walk, node_start, skipped, most_links, max_length, extent, found)


def _bank_labels(walk: Walk, names: tuple[str, ...]) -> BankLabels:
    """What the forests have of the labels of that name."""
    number, longest = count_labels(walk, len(names))
    if not number.any():
        number[0] = 1  # No phrase is below another: no rule has a gap.
    log_share = np.full(len(names), -np.inf)
    log_share[number > 0] = log_each(number[number > 0] / number.sum())
    return BankLabels(names, log_share, longest)


def _type_labels(num_types: int) -> BankLabels:
    """X, and X1 … XK; what is said of spans' labels is nowhere asked of types."""
    names = ("X", *(f"X{number}" for number in range(1, num_types + 1)))
    return BankLabels(names, np.zeros(0), np.zeros(0, np.int64))


def _require_room_for_labels(choice: Choice, longest: tuple[int, int]) -> None:
    """Raise a SettingsError if a node might have more edges than there are labels."""
    most = (LABELS - 1) // choice.alignments
    if longest[0] > most:
        found = f"a sentence has {longest[0]} words"
        raise SettingsError(f"{found}; --choose with so many alignments needs --max-length {most} or less")


def new_walk(bank: ForestBank, max_cut_span: int, weights: tuple[np.ndarray, np.ndarray] | None) -> Walk:
    """Room for one thread to walk the forests of a bank.

    Parameters
    ----------
    bank : ForestBank
    max_cut_span : int
        As in `LearnerSettings`.
    weights : pair of float64 arrays, or None
        ln of the weights of source and target words, by word id; None for zeros.
    """
    return walk_over(_weighted(bank, weights), bank.tree_start, bank.extent, max_cut_span)


def walk_in_turn(bank: ForestBank, max_cut_span: int, weights: tuple[np.ndarray, np.ndarray] | None) -> Walk:
    """`new_walk` in the room of the bank's own, for a thread that reads derivations between its moves.

    Room for the longest pair is what a chain over long pairs takes most memory for. Either walk opens a
    forest before it reads one, and they share the stamps by which one knows what the other has left.

    Parameters
    ----------
    bank : ForestBank
    max_cut_span : int
    weights : pair of float64 arrays, or None
        As for `new_walk`.
    """
    shape = bank.walk.forest.shape.copy()
    longest = int(shape[MAX_LENGTH]) + 1
    shape[MAX_CUT_SPAN] = min(max_cut_span, longest) if max_cut_span > 0 else longest
    forest = bank.walk.forest._replace(shape=shape)
    return bank.walk._replace(forest=forest, corpus=_weighted(bank, weights))


def _weighted(bank: ForestBank, weights: tuple[np.ndarray, np.ndarray] | None) -> CorpusArrays:
    arrays = bank.walk.corpus
    return (
        arrays if weights is None else arrays._replace(source_weights=weights[0], target_weights=weights[1])
    )


def walk_over(arrays: CorpusArrays, tree_start: np.ndarray, extent: Extent, max_cut_span: int) -> Walk:
    """Room for one thread to walk the forests of a corpus, or of a part of it.

    Parameters
    ----------
    arrays : CorpusArrays
    tree_start : int64 (S + 1,)
        As in `Walk`.
    extent : Extent
    max_cut_span : int
        As in `LearnerSettings`.
    """
    longest, max_attached, choice, sizes = extent[:4]
    num_nodes = (max(longest) + 1) ** 2
    num_rules = num_nodes + 16 + 2 * max_attached
    if extent.are_types:
        return _walk_with_types(arrays, tree_start, extent, max_cut_span)
    if choice is None:
        work = new_workspace(num_nodes, 3 * num_nodes + 16, num_rules, num_rules if max_attached else 0)
        forest = new_sentence_forest(*longest, max_cut_span, max_attached, num_rules)
        if extent.num_labels == 0:
            return Walk(forest, work, arrays, tree_start)
        labelled = new_labelled_forest(forest, extent.num_labels, extent.first_label)
        return Walk(labelled, work, arrays, tree_start)
    work = new_choice_workspace(longest, sizes, choice)
    chosen_from = new_choice_forest(longest, sizes, max_cut_span, choice, len(tree_start) - 1)
    return Walk(chosen_from, work, arrays, tree_start)


def _walk_with_types(arrays: CorpusArrays, tree_start: np.ndarray, extent: Extent, max_cut_span: int) -> Walk:
    num_nodes = (max(extent.longest) + 1) ** 2
    num_rules = num_nodes + 16 + 2 * extent.num_labels
    work = new_workspace(num_nodes, 3 * num_nodes + 16, num_rules, 2 * extent.num_labels)
    # A second half for skeletons: see `core.fragments.backoff`.
    rules, probs = (
        zeros_when_written((2 * len(each), 3), each.dtype) for each in (work.rules, work.rule_probs)
    )
    forest = new_sentence_forest(*extent.longest, max_cut_span)
    typed = new_typed_forest(forest, extent.num_labels - 1, extent.first_label)
    return Walk(typed, work._replace(rules=rules, rule_probs=probs), arrays, tree_start)


def collector_for(bank: ForestBank) -> Collector:
    """An empty collector of rules, for this corpus.

    Parameters
    ----------
    bank : ForestBank
    """
    return new_collector(*bank.longest, bank.most_links)


def node_counts(bank: ForestBank) -> np.ndarray:
    """Zeros to count nodes in, int64 (M, 2); sentence s has rows from node_start[s] on, by node id.

    Parameters
    ----------
    bank : ForestBank
    """
    return zeros_when_written((int(bank.node_start[-1]), 2), np.int64)


def collect(
    bank: ForestBank,
    trees: np.ndarray,
    collector: Collector | None = None,
    nodes: np.ndarray | None = None,
    sentences: tuple[int, int] | None = None,
) -> Collector:
    """A collector with the rules of derivations added.

    Parameters
    ----------
    bank : ForestBank
    trees : uint16 or uint32
        As in `LearnerState`; not changed.
    collector : Collector, optional
        Added to; a new one by default.
    nodes : int64 (M, 2), optional
        Added to: how often each node is in the tree, and how often it is cut. See `node_counts`.
    sentences : pair of int, optional
        The first one, and the one after the last; all by default. With the last sentence a state is complete.
    """
    sentences = sentences or (0, bank.num_sentences)
    if collector is None:
        collector = collector_for(bank)
    if nodes is None:
        nodes = _NO_NODES
    collector.states[0] += sentences[1] == bank.num_sentences
    return collect_sentences(bank.walk, trees, collector, nodes, bank.node_start, sentences)


_NO_NODES = np.zeros((0, 2), np.int64)
