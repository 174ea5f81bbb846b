"""What a run says of single sentences: derivations as trees of rules, and marginals of nodes.

A line of `derivations.jsonl.gz` is `{"sentence": 0, "skipped": null, "derivation": …}` where a derivation is
`{"source": [0, 4], "target": [0, 3], "rule": "[X,1] b ||| B [X,1]", "parts": […]}`: the rule at a cut node,
and the derivations at its nonterminals, in their order. Spans are half-open positions of the original
sentence. Where rules have labels, `rule` begins with the left-hand side: `[NP] ||| das [N,1] ||| the [N,1]`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.growth import grown
from scfg_sampler.core.files import PathLike, atomic_output
from scfg_sampler.core.fragments.tree import BELOW, CUT, PARENT, decode, open_sentence
from scfg_sampler.core.jit import by_reference, kernel
from scfg_sampler.corpus.parallel_text import ParallelCorpus

# What kernels dispatch to must be below them: see `core.jit`.
from scfg_sampler.forest.choice_trees import ChoiceForest  # noqa: F401
from scfg_sampler.forest.explicit import ForestBuilder, phrase_nodes
from scfg_sampler.forest.labelled import LabelledForest  # noqa: F401
from scfg_sampler.forest.trees import SentenceForest  # noqa: F401
from scfg_sampler.forest.typed import TypedForest  # noqa: F401
from scfg_sampler.learner.collecting import Collector, spell
from scfg_sampler.learner.forest_bank import ForestBank, collector_for
from scfg_sampler.rules.counts import RuleCounts
from scfg_sampler.rules.store import END
from scfg_sampler.rules.text import escape, escape_label

__all__ = [
    "Derivation",
    "Words",
    "derivation",
    "record_text",
    "spelled_words",
    "words_of",
    "write_derivations",
    "write_marginals",
]


_AT_A_TIME = 4096  # Sentences.

Words = tuple[list[str], ...]
"""Those of the source and of the target, by id, as rules spell them; then labels, where nodes have them."""


class Derivation(NamedTuple):
    """A rule and the derivations at its nonterminals."""

    source: tuple[int, int]
    target: tuple[int, int]
    rule: str
    parts: list


def write_derivations(path: PathLike, bank: ForestBank, trees: np.ndarray) -> None:
    """Write the derivations of all sentences.

    Parameters
    ----------
    path : path
    bank : ForestBank
    trees : uint16 or uint32
        As in `LearnerState`.
    """
    scratch, words = collector_for(bank), words_of(bank)
    quoted = tuple([json.dumps(word, ensure_ascii=False)[1:-1] for word in side] for side in words)
    with atomic_output(path) as stream:
        for first in range(0, bank.num_sentences, _AT_A_TIME):
            sentences = first, min(first + _AT_A_TIME, bank.num_sentences)
            for sentence, text in _texts(bank, trees, sentences, scratch, quoted):
                skipped = json.dumps(bank.skipped.get(sentence), ensure_ascii=False)
                stream.write(f'{{"sentence": {sentence}, "skipped": {skipped}, "derivation": {text}}}\n')


def _texts(
    bank: ForestBank, trees: np.ndarray, sentences: tuple[int, int], scratch: Collector, words: Words
) -> Iterator[tuple[int, str]]:
    """Sentences and their derivations in JSON, of words that are spelled as JSON has them."""
    spelled = _spell_rules(bank.walk, trees, sentences, scratch)
    above, spans, ends = spelled.above.tolist(), spelled.spans.tolist(), spelled.symbols_start.tolist()
    symbols, start = spelled.symbols[: ends[-1]].tolist(), spelled.rules_start.tolist()
    for number, sentence in enumerate(range(*sentences)):
        parts: list[list[tuple[int, int, str]]] = [[] for _ in range(start[number + 1] - start[number])]
        text = "null"
        # From the last to the first, so that all parts of a rule are there before it.
        for k in range(len(parts) - 1, -1, -1):
            row = start[number] + k
            i1, j1, i2, j2 = spans[row]
            rule = _rule_text(words, symbols[ends[row] : ends[row + 1]])
            below = ", ".join([text for _, _, text in sorted(parts[k])])
            where = f'"source": [{i1}, {j1}], "target": [{i2}, {j2}]'
            text = f'{{{where}, "rule": "{rule}", "parts": [{below}]}}'
            if above[row] >= 0:
                parts[above[row]].append((i1, j1, text))
        yield sentence, text


def derivation(
    bank: ForestBank,
    trees: np.ndarray,
    sentence: int,
    scratch: Collector | None = None,
    words: Words | None = None,
) -> Derivation | None:
    """The derivation of a sentence; None if the sentence is skipped.

    Parameters
    ----------
    bank : ForestBank
    trees : uint16 or uint32
        As in `LearnerState`.
    sentence : int
        From 0.
    scratch : Collector, optional
        Memory to spell in, for callers who ask for many.
    words : pair of lists of str, optional
        The words of both vocabularies as rules spell them, for the same callers.
    """
    size = int(bank.tree_start[sentence + 1] - bank.tree_start[sentence])
    if size == 0:
        return None
    collector, words = scratch or collector_for(bank), words or words_of(bank)
    spelled = _spell_rules(bank.walk, trees, (sentence, sentence + 1), collector)
    start = spelled.symbols_start
    nodes: list[Derivation] = []
    for k in range(len(spelled.above)):
        text = record_text(words, spelled.symbols[start[k] : start[k + 1]])
        i1, j1, i2, j2 = spelled.spans[k].tolist()
        nodes.append(Derivation((i1, j1), (i2, j2), text, []))
        if spelled.above[k] >= 0:
            nodes[spelled.above[k]].parts.append(nodes[k])
    for node in nodes:
        node.parts.sort(key=lambda part: part.source)
    return nodes[0]


def spelled_words(corpus: ParallelCorpus) -> Words:
    """The words of both vocabularies of a corpus, by id, as rules spell them."""
    vocabularies = corpus.source_vocabulary, corpus.target_vocabulary
    return tuple([escape(word) for word in vocabulary.words] for vocabulary in vocabularies)


def words_of(bank: ForestBank) -> Words:
    """`spelled_words` of the corpus of a bank, and the labels of its phrases."""
    words = spelled_words(bank.corpus)
    return words if bank.labels is None else (*words, [escape_label(name) for name in bank.labels.names])


def record_text(words: Words, symbols: np.ndarray) -> str:
    """The sides of a rule as tables spell them, with a left-hand side before them where rules have labels.

    Parameters
    ----------
    words : Words
    symbols : int32
        As a collector spells the rule: both sides with END behind, and links, which are left out.
    """
    return _rule_text(words, symbols.tolist())


def _rule_text(words: Words, plain: list[int]) -> str:
    end = plain.index(END)
    sides = plain[:end], plain[end + 1 : plain.index(END, end + 1)]
    if len(words) > 2:
        return _labelled_text(words, *sides)
    return " ||| ".join(
        " ".join([spelled[s] if s >= 0 else f"[X,{-s}]" for s in side])
        for spelled, side in zip(words, sides, strict=True)
    )


def _labelled_text(words: Words, source: list[int], target: list[int]) -> str:
    """A rule whose source side begins with its labels, in a table's text."""
    first = len(words[0])
    left, *gaps = [words[2][symbol - first] for symbol in source if symbol >= first]
    sides = [
        " ".join([spelled[s] if s >= 0 else f"[{gaps[-1 - s]},{-s}]" for s in side])
        for spelled, side in zip(words, (source[len(gaps) + 1 :], target), strict=False)
    ]
    return " ||| ".join([f"[{left}]", *sides])


class _Spelled(NamedTuple):
    """The R rules of the derivations of S sentences, each derivation's in preorder."""

    rules_start: np.ndarray
    """int64 (S + 1,)."""
    above: np.ndarray
    """int32 (R,): the rule of its derivation that each hangs below, −1 for the first."""
    spans: np.ndarray
    """int32 (R, 4): source and target span."""
    symbols_start: np.ndarray
    """int64 (R + 1,)."""
    symbols: np.ndarray
    """int32: as a collector spells them."""


@kernel
def _spell_rules(walk, trees, sentences, collector):
    """Spell the rules of the derivations of the sentences from the first of two on, up to the second."""
    forest, work, corpus = by_reference(walk.forest), by_reference(walk.work), by_reference(walk.corpus)
    collector = by_reference(collector)
    first, stop = sentences
    most = walk.tree_start[stop] - walk.tree_start[first]
    rules_start = np.zeros(stop - first + 1, np.int64)
    above, spans = np.empty(most, np.int32), np.empty((most, 4), np.int32)
    symbols_start = np.zeros(most + 1, np.int64)
    symbols = np.empty(16 * most, np.int32)
    number = np.empty(forest.boxes.shape[0], np.int32)
    num_rules = 0
    for sentence in range(first, stop):
        begin = num_rules
        if walk.tree_start[sentence + 1] > walk.tree_start[sentence]:
            open_sentence(forest, work, corpus, sentence)
            size = decode(forest, work, trees, walk.tree_start[sentence], 0)
            # Spelling uses the other lists, but not this one, in which a node is before those below it.
            for k in range(size):
                node = work.lists[BELOW, k]
                parent = work.nodes[node, PARENT]
                if work.nodes[node, CUT] == 0:
                    number[node] = number[parent]
                    continue
                above[num_rules] = number[parent] if parent >= 0 else -1
                number[node] = num_rules - begin
                for side in range(4):
                    spans[num_rules, side] = forest.boxes[node, side]
                length = spell(collector, forest, work, corpus, sentence, node)
                at = symbols_start[num_rules]
                symbols = grown(symbols, at + length)
                for i in range(length):
                    symbols[at + i] = collector.record[i]
                num_rules += 1
                symbols_start[num_rules] = at + length
        rules_start[sentence + 1 - first] = num_rules
    return _Spelled(
        rules_start, above[:num_rules], spans[:num_rules], symbols_start[: num_rules + 1], symbols
    )


def write_marginals(
    path: PathLike, bank: ForestBank, node_counts: np.ndarray, sweeps: int, rules: RuleCounts
) -> None:
    """Write how often each node was in the tree, and cut, and the mean count of each rule.

    Parameters
    ----------
    path : path
    bank : ForestBank
    node_counts : int64 (M, 2)
        As `forest_bank.collect` counts them, over `sweeps` sweeps.
    sweeps : int
    rules : RuleCounts
        Mean counts over the same sweeps.
    """
    words = words_of(bank)
    with atomic_output(path) as stream:
        stream.write(f'{{"sweeps": {sweeps}, "sentences": [')
        for sentence, (spans, ids) in enumerate(_nodes_of_all(bank)):
            stream.write(", " * (sentence > 0) + '{"nodes": [')
            seen = node_counts[bank.node_start[sentence] : bank.node_start[sentence + 1]]
            for first in range(0, len(ids), _AT_A_TIME):
                part = slice(first, first + _AT_A_TIME)
                shares = seen[ids[part]] / max(1, sweeps)
                stream.write(", " * (first > 0) + _nodes_text(spans[part], shares))
            stream.write("]}")
        stream.write('], "rules": [')
        for r in range(rules.num_rules):
            source = rules.source[rules.source_start[r] : rules.source_start[r + 1]]
            target = rules.target[rules.target_start[r] : rules.target_start[r + 1]]
            text = record_text(words, np.concatenate([source, [END], target, [END]]))
            stream.write(", " * (r > 0) + json.dumps([text, float(rules.count[r])], ensure_ascii=False))
        stream.write("]}\n")


def _nodes_of_all(bank: ForestBank) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Spans and numbers of the nodes of each sentence's forest, in the order of `PhraseForest`."""
    if bank.choice is None:
        walk = bank.walk
        for sentence in range(bank.num_sentences):
            yield phrase_nodes(walk.forest, walk.work, walk.corpus, sentence)
        return
    builder = ForestBuilder(bank.corpus, bank.choice, bank.max_length)
    for sentence in range(bank.num_sentences):
        forest = builder.build(sentence)
        none = np.zeros((0, 4), np.int32), np.zeros(0, np.int64)
        yield none if forest is None else (forest.spans, forest.sampler_ids)


def _nodes_text(spans: np.ndarray, shares: np.ndarray) -> str:
    """Nodes in JSON, which as objects would take a hundred times the room."""
    return ", ".join(
        f'{{"source": [{i1}, {j1}], "target": [{i2}, {j2}], "in_tree": {in_tree!r}, "cut": {cut!r}}}'
        for (i1, j1, i2, j2), (in_tree, cut) in zip(spans.tolist(), shares.tolist(), strict=True)
    )
