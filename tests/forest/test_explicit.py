"""Forests equal Definition 1 of Chung et al. (2014), by brute force."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from scfg_sampler.core.forests.hypergraph import validate
from scfg_sampler.forest.choice import Choice
from scfg_sampler.forest.explicit import ForestBuilder, PhraseForest, forest_json, phrase_nodes
from scfg_sampler.learner.forest_bank import forest_bank
from tests.learner.corpora import corpus_of
from tests.oracles import phrase_forest as oracle
from tests.oracles.phrase_forest import Sentence


def permutation(order: tuple[int, ...]) -> Sentence:
    return Sentence(
        tuple(f"f{i}" for i in range(len(order))),
        tuple(f"e{i}" for i in range(len(order))),
        frozenset(enumerate(order)),
    )


def random_sentence(rng: np.random.Generator) -> Sentence:
    """Many-to-many links over up to seven words a side, some words without any."""
    lengths = rng.integers(1, 8, size=2)
    density = rng.choice([0.1, 0.15, 0.25])
    links = {(s, t) for s in range(lengths[0]) for t in range(lengths[1]) if rng.random() < density}
    links.add((int(rng.integers(lengths[0])), int(rng.integers(lengths[1]))))
    words = [tuple(f"{side}{i}" for i in range(length)) for side, length in zip("fe", lengths, strict=True)]
    return Sentence(*words, frozenset(links))


def edge_sets(pair: Sentence, forest: PhraseForest) -> dict:
    """Spans of each node to the set of the tails (spans) of its edges."""
    graph, spans = forest.graph, [tuple(span) for span in forest.spans.tolist()]
    return {
        spans[head]: {
            tuple(spans[t] for t in graph.tails[graph.tail_start[e] : graph.tail_start[e + 1]])
            for e in range(graph.edge_start[head], graph.edge_start[head + 1])
        }
        for head in range(len(spans))
    }


def assert_is_definition_1(pair: Sentence, forest: PhraseForest) -> None:
    validate(forest.graph)
    expected = {
        oracle.whole(pair, node): {
            tuple(oracle.whole(pair, t) for t in tails) for tails in oracle.edges(pair, node)
        }
        for node in oracle.phrases(pair)
    }
    assert edge_sets(pair, forest) == expected
    for span, trees, level in zip(forest.spans.tolist(), forest.trees, forest.level.tolist(), strict=True):
        node = next(p for p in oracle.phrases(pair) if oracle.whole(pair, p) == tuple(span))
        derivations = oracle.trees(pair, node)
        assert trees == len(derivations)
        assert {_size(tree) for tree in derivations} == {level}, "Lemma 3"


def _size(tree: tuple) -> int:
    return 1 + sum(_size(part) for part in tree[1])


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, pytest.param(6, marks=pytest.mark.slow)])
def test_forests_of_all_permutations(length):
    pairs = [permutation(order) for order in itertools.permutations(range(length))]
    builder = ForestBuilder(corpus_of(pairs))
    for sentence, pair in enumerate(pairs):
        assert_is_definition_1(pair, builder.build(sentence))


def test_forests_of_random_alignments(rng):
    pairs = [random_sentence(rng) for _ in range(500)]
    builder = ForestBuilder(corpus_of(pairs))
    for sentence, pair in enumerate(pairs):
        assert_is_definition_1(pair, builder.build(sentence))


def test_edges_are_counted_before_they_are_made(rng):
    pairs = [permutation(tuple(range(9))), *(random_sentence(rng) for _ in range(60))]
    builder = ForestBuilder(corpus_of([*pairs, Sentence(("f",), ("e",), frozenset())]))
    for sentence in range(len(pairs)):
        assert builder.count_edges(sentence) == len(builder.build(sentence).rules)
    assert builder.count_edges(0) == 9 + sum(9 - size + 1 for size in range(2, 10) for _ in range(size - 1))
    assert builder.count_edges(len(pairs)) == 0


@pytest.mark.parametrize("merged", [True, False], ids=["phrase", "sentence"])
def test_edges_are_counted_before_they_are_made_where_an_alignment_is_chosen(rng, merged):
    pairs = [random_sentence(rng) for _ in range(100)]
    others = [
        pair._replace(links=frozenset(link for link in pair.links if rng.random() < 0.7)) for pair in pairs
    ]
    builder = ForestBuilder(corpus_of([*pairs, *others]), Choice(2, merged))
    found = [builder.build(sentence) for sentence in range(len(pairs))]
    numbers = [0 if forest is None else len(forest.rules) for forest in found]
    assert [builder.count_edges(sentence) for sentence in range(len(pairs))] == numbers
    assert max(numbers) > 5


def test_longer_pairs_have_no_forest_and_leave_the_others_theirs():
    pairs = [
        permutation((0, 1)),
        Sentence(("f",) * 2, ("e",) * 4, frozenset({(0, 0)})),
        permutation((1, 0, 2)),
    ]
    everything, short = ForestBuilder(corpus_of(pairs)), ForestBuilder(corpus_of(pairs), max_length=3)
    assert [short.skipped(k) for k in range(3)] == [None, "4 words, more than 3", None]
    assert short.build(1) is None
    assert everything.build(1) is not None
    for k in (0, 2):
        assert forest_json(k, short.build(k)) == forest_json(k, everything.build(k))


def test_nodes_without_edges_are_those_of_the_forests(rng):
    corpus = corpus_of([random_sentence(rng) for _ in range(60)])
    builder, walk = ForestBuilder(corpus), forest_bank(corpus, 100).walk
    sizes = []
    for sentence in range(60):
        forest = builder.build(sentence)
        spans, ids = phrase_nodes(walk.forest, walk.work, walk.corpus, sentence)
        sizes.append(len(ids))
        if forest is None:
            assert len(spans) == len(ids) == 0
            continue
        assert spans.tolist() == forest.spans.tolist()
        assert ids.tolist() == forest.sampler_ids.tolist()
    assert max(sizes) > 5


def test_minimal_rules_are_those_of_fully_cut_derivations(rng):
    pairs = [random_sentence(rng) for _ in range(60)]
    builder = ForestBuilder(corpus_of(pairs))
    for sentence, pair in enumerate(pairs):
        expected = set()
        for tree in oracle.trees(pair, oracle.goal(pair)):
            expected |= set(oracle.rules(pair, _all_cut(tree)))
        assert {tuple(rule.split(" ||| ")) for rule in builder.build(sentence).rules} == expected


def _all_cut(tree: tuple) -> tuple:
    return tree[0], True, tuple(_all_cut(part) for part in tree[1])


def test_number_of_trees_of_a_long_monotone_sentence_is_exact():
    length = 60
    forest = ForestBuilder(corpus_of([permutation(tuple(range(length)))])).build(0)
    catalan = 1
    for k in range(length - 1):
        catalan = catalan * 2 * (2 * k + 1) // (k + 2)
    assert forest.trees[-1] == catalan


def test_json_has_nodes_in_order_and_counts_as_strings():
    pair = oracle.sentence("x b a y", "A B", "1-1 2-0")
    line = json.loads(forest_json(0, ForestBuilder(corpus_of([pair])).build(0)))
    assert line["trees"] == "1"
    assert line["skipped"] is None
    assert [node["source"] for node in line["nodes"]] == [[1, 2], [2, 3], [0, 4]]
    assert line["nodes"][-1] == {"source": [0, 4], "target": [0, 2], "level": 3, "trees": "1"}
    assert line["edges"][-1] == {
        "head": 2,
        "tails": [0, 1],
        "rule": "x [X,1] [X,2] y ||| [X,2] [X,1]",
    }


def test_sentence_without_links_is_skipped():
    corpus = corpus_of([Sentence(("a",), ("b",), frozenset())])
    forest = ForestBuilder(corpus).build(0)
    assert forest is None
    assert json.loads(forest_json(0, forest)) == {
        "sentence": 0,
        "skipped": "no links",
        "trees": "0",
        "nodes": [],
        "edges": [],
    }
