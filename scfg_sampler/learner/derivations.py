"""What a run says of single sentences: derivations as trees of rules, and marginals of nodes.

A line of `derivations.jsonl.gz` is `{"sentence": 0, "skipped": null, "derivation": …}` where a derivation is
`{"source": [0, 4], "target": [0, 3], "rule": "[X,1] b ||| B [X,1]", "parts": […]}`: the rule at a cut node,
and the derivations at its nonterminals, in their order. Spans are half-open positions of the original
sentence.
"""

from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.files import PathLike, atomic_output
from scfg_sampler.core.fragments.tree import BELOW, CUT, PARENT, decode, open_sentence
from scfg_sampler.core.jit import kernel
from scfg_sampler.corpus.parallel_text import ParallelCorpus

# What kernels dispatch to must be below them: see `core.jit`.
from scfg_sampler.forest.choice_trees import ChoiceForest  # noqa: F401
from scfg_sampler.forest.explicit import ForestBuilder
from scfg_sampler.forest.trees import SentenceForest  # noqa: F401
from scfg_sampler.learner.collecting import Collector, spell
from scfg_sampler.learner.forest_bank import ForestBank, collector_for
from scfg_sampler.rules.counts import RuleCounts
from scfg_sampler.rules.store import END
from scfg_sampler.rules.text import escape

__all__ = [
    "Derivation",
    "Words",
    "derivation",
    "record_text",
    "spelled_words",
    "write_derivations",
    "write_marginals",
]


Words = tuple[list[str], ...]
"""Those of the source and of the target, by id, as rules spell them."""


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
    scratch, words = collector_for(bank), spelled_words(bank.corpus)
    with atomic_output(path) as stream:
        for sentence in range(bank.num_sentences):
            found = derivation(bank, trees, sentence, scratch, words)
            line = {
                "sentence": sentence,
                "skipped": bank.skipped.get(sentence),
                "derivation": None if found is None else _plain(found),
            }
            stream.write(json.dumps(line, ensure_ascii=False) + "\n")


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
    collector, words = scratch or collector_for(bank), words or spelled_words(bank.corpus)
    spelled = _Spelled(
        np.empty(size, np.int32),
        np.empty((size, 4), np.int32),
        np.empty(size + 1, np.int64),
        np.empty(size * len(collector.record), np.int32),
    )
    num_rules = _spell_rules(bank.walk, trees, sentence, collector, spelled)
    start = spelled.symbols_start
    nodes: list[Derivation] = []
    for k in range(num_rules):
        text = record_text(words, spelled.symbols[start[k] : start[k + 1]])
        i1, j1, i2, j2 = spelled.spans[k].tolist()
        nodes.append(Derivation((i1, j1), (i2, j2), text, []))
        if spelled.above[k] >= 0:
            nodes[spelled.above[k]].parts.append(nodes[k])
    for node in nodes:
        node.parts.sort(key=lambda part: part.source)
    return nodes[0]


def _plain(node: Derivation) -> dict:
    parts = [_plain(part) for part in node.parts]
    return {"source": node.source, "target": node.target, "rule": node.rule, "parts": parts}


def spelled_words(corpus: ParallelCorpus) -> Words:
    """The words of both vocabularies of a corpus, by id, as rules spell them."""
    vocabularies = corpus.source_vocabulary, corpus.target_vocabulary
    return tuple([escape(word) for word in vocabulary.words] for vocabulary in vocabularies)


def record_text(words: Words, symbols: np.ndarray) -> str:
    """The sides of a rule as tables spell them.

    Parameters
    ----------
    words : Words
    symbols : int32
        As a collector spells the rule: both sides with END behind, and links, which are left out.
    """
    plain = symbols.tolist()
    end = plain.index(END)
    sides = plain[:end], plain[end + 1 : plain.index(END, end + 1)]
    return " ||| ".join(
        " ".join([spelled[s] if s >= 0 else f"[X,{-s}]" for s in side])
        for spelled, side in zip(words, sides, strict=True)
    )


class _Spelled(NamedTuple):
    """The R rules of a derivation in preorder."""

    above: np.ndarray
    """int32 (R,): the rule that each hangs below, −1 for the first."""
    spans: np.ndarray
    """int32 (R, 4): source and target span."""
    symbols_start: np.ndarray
    """int64 (R + 1,)."""
    symbols: np.ndarray
    """int32: as a collector spells them."""


@kernel
def _spell_rules(walk, trees, sentence, collector, spelled):
    """Spell the rules of a derivation; how many."""
    forest, work, corpus = walk.forest, walk.work, walk.corpus
    above, spans, symbols_start, symbols = spelled
    open_sentence(forest, work, corpus, sentence)
    size = decode(forest, work, trees, walk.tree_start[sentence], 0)
    # Spelling uses the other lists, but not this one.
    listed = work.lists[BELOW, :size].copy()
    number = np.full(forest.boxes.shape[0], -1, np.int32)
    num_rules = 0
    symbols_start[0] = 0
    for k in range(size):
        node = listed[k]
        if work.nodes[node, CUT] == 0:
            number[node] = number[work.nodes[node, PARENT]]
            continue
        parent = work.nodes[node, PARENT]
        above[num_rules] = number[parent] if parent >= 0 else -1
        number[node] = num_rules
        for side in range(4):
            spans[num_rules, side] = forest.boxes[node, side]
        length = spell(collector, forest, work, corpus, sentence, node)
        begin = symbols_start[num_rules]
        for i in range(length):
            symbols[begin + i] = collector.record[i]
        symbols_start[num_rules + 1] = begin + length
        num_rules += 1
    return num_rules


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
    builder = ForestBuilder(bank.corpus, bank.choice)
    sentences = []
    for sentence in range(bank.num_sentences):
        forest = builder.build(sentence)
        nodes = []
        if forest is not None:
            seen = node_counts[bank.node_start[sentence] : bank.node_start[sentence + 1]]
            shares = seen[forest.sampler_ids] / max(1, sweeps)
            for span, (in_tree, cut) in zip(forest.spans.tolist(), shares.tolist(), strict=True):
                nodes.append({"source": span[:2], "target": span[2:], "in_tree": in_tree, "cut": cut})
        sentences.append({"nodes": nodes})
    counts = []
    words = spelled_words(bank.corpus)
    for r in range(rules.num_rules):
        source = rules.source[rules.source_start[r] : rules.source_start[r + 1]]
        target = rules.target[rules.target_start[r] : rules.target_start[r + 1]]
        symbols = np.concatenate([source, [END], target, [END]])
        counts.append([record_text(words, symbols), float(rules.count[r])])
    with atomic_output(path) as stream:
        json.dump({"sweeps": sweeps, "sentences": sentences, "rules": counts}, stream, ensure_ascii=False)
        stream.write("\n")
