"""The well-formed derivations of random forests against all derivations, each judged by itself."""

from __future__ import annotations

import itertools
from math import inf, isclose

import numpy as np
import pytest

from decoder.expressions.intersection import LONGEST, intersection
from decoder.expressions.model import count_arguments, expression_model
from decoder.search.forest import ForestGraph
from decoder.search.kbest import k_best
from scfg_sampler.core.forests.hypergraph import Hypergraph

TREES = ["f@1 g@2 c@0 c@0", "f@1 h@1 'k'@0", "g@2 c@0 f@1 c@0", "h@1 'k'@0", "g@2 h@1 'k'@0 d@0"]
MODEL = expression_model(count_arguments([text.split() for text in TREES], [["h@1", "'l'@0"]]))
WORDS = ["f@1", "g@2", "h@1", "c@0", "d@0", "'k'@0", "'l'@0", "noise"]
SYMBOL = np.array([MODEL.symbols.index(word) if word in MODEL.symbols else -1 for word in WORDS], np.int32)


def judged(words: list[str]) -> float:
    """The log probability of a linear form, −∞ if it is none; by recursion, and a table by place and word."""
    places = [(word, at) for word in MODEL.symbols for at in range(int(word[-1]))]

    def tree(at: int, place: int) -> tuple[float, int]:
        if at >= len(words) or words[at] not in MODEL.symbols:
            return -inf, len(words)
        word = words[at]
        total, end = MODEL.log_prob[place, MODEL.symbols.index(word)], at + 1
        for position in range(int(word[-1])):
            more, end = tree(end, places.index((word, position)))
            total += more
        return total, end

    total, end = tree(0, len(places))
    return total if end == len(words) else -inf


def forest(seed: int, num_nodes: int = 6) -> tuple[ForestGraph, np.ndarray]:
    """A random one whose leaves are words of linear forms."""
    rng = np.random.default_rng(seed)
    edge_start, tail_start, tails, templates = [0], [0], [], []
    for node in range(num_nodes):
        for _ in range(int(rng.integers(2, 5))):
            arity = int(rng.integers(0, 3)) if node else 0
            chosen = rng.integers(0, max(1, node), size=arity).tolist()
            tails += chosen
            tail_start.append(len(tails))
            words = rng.integers(0, len(WORDS), size=rng.integers(0 if arity else 1, 3)).tolist()
            template = [-1 - k for k in range(arity)] + words
            rng.shuffle(template)
            templates.append(template)
        edge_start.append(len(templates))
    graph = Hypergraph(*(np.array(part, np.int32) for part in (edge_start, tail_start, tails)))
    start = np.cumsum([0, *map(len, templates)]).astype(np.int64)
    flat = np.array(list(itertools.chain(*templates)), np.int32)
    numbers = rng.permutation(100)[: len(templates)].astype(np.int32)  # The forest's own, as of a larger one.
    found = ForestGraph(graph, np.arange(num_nodes, dtype=np.int32), numbers, start, flat)
    return found, rng.normal(size=len(templates))


def derivations(graph: ForestGraph, node: int, limit: int = 3000) -> list[tuple[list[int], list[str]]]:
    """The edges, in preorder, and the words of every derivation of a node."""
    inner, found = graph.graph, []
    for edge in range(inner.edge_start[node], inner.edge_start[node + 1]):
        tails = inner.tails[inner.tail_start[edge] : inner.tail_start[edge + 1]]
        below = [derivations(graph, int(tail), limit) for tail in tails]
        template = graph.template[graph.template_start[edge] : graph.template_start[edge + 1]]
        for combination in itertools.product(*below):
            words = [[WORDS[s]] if s >= 0 else combination[-1 - s][1] for s in template]
            edges = [edge, *itertools.chain(*(part[0] for part in combination))]
            found.append((edges, list(itertools.chain(*words))))
            if len(found) > limit:
                raise OverflowError
    return found


def cases(number: int) -> list[int]:
    """Seeds of forests that have well-formed derivations, and some that have none."""
    found = []
    for seed in itertools.count():
        graph, _ = forest(seed)
        try:
            every = derivations(graph, len(graph.graph.edge_start) - 2)
        except OverflowError:
            continue
        if seed % 7 == 0 or sum(judged(words) > -inf for _, words in every) > 1:
            found.append(seed)
        if len(found) == number:
            return found
    raise AssertionError


@pytest.mark.parametrize("factor", [0.0, 0.7])
@pytest.mark.parametrize("seed", cases(25))
def test_every_well_formed_derivation_and_no_other(seed, factor):
    graph, weights = forest(seed)
    expected = []
    for edges, words in derivations(graph, len(graph.graph.edge_start) - 2):
        log_prob = judged(words)
        if log_prob > -inf:
            own = sum(weights[edge] for edge in edges)
            expected.append((own + factor * log_prob, log_prob, [graph.edges[edge] for edge in edges], words))
    found = intersection(graph, weights, SYMBOL, MODEL, factor, 10_000)
    if not expected:
        assert found is None
        return
    split, log_prob = found
    where = {number: edge for edge, number in enumerate(graph.edges.tolist())}
    own = np.array([weights[where[number]] for number in split.edges.tolist()])
    best = k_best(
        split.graph, own + factor * log_prob, split.template_start, split.template, len(expected) + 5
    )
    assert len(best.score) == len(expected)
    for score, wanted in zip(best.score, sorted((case[0] for case in expected), reverse=True), strict=True):
        assert isclose(score, wanted, abs_tol=1e-9)
    seen = []
    for i in range(len(best.score)):
        edges = best.edges[best.edge_start[i] : best.edge_start[i + 1]]
        words = [WORDS[word] for word in best.words[best.word_start[i] : best.word_start[i + 1]]]
        assert isclose(log_prob[edges].sum(), judged(words), abs_tol=1e-9)
        seen.append((split.edges[edges].tolist(), words))
    assert sorted(seen) == sorted((edges, words) for _, _, edges, words in expected)


def chain(words: list[str]) -> tuple[ForestGraph, np.ndarray]:
    """A forest of one derivation, each word an edge behind those before it."""
    number = len(words)
    tails = np.arange(number - 1, dtype=np.int32)
    template = [WORDS.index(words[0])]
    for word in words[1:]:
        template += [-1, WORDS.index(word)]
    start = np.concatenate([[0], 1 + 2 * np.arange(number)]).astype(np.int64)
    graph = Hypergraph(
        np.arange(number + 1, dtype=np.int32),
        np.concatenate([[0], np.arange(number)]).astype(np.int32),
        tails,
    )
    edges = np.arange(number, dtype=np.int32)
    return ForestGraph(graph, edges, edges, start, np.array(template, np.int32)), np.zeros(number)


@pytest.mark.parametrize(("more", "is_found"), [(0, True), (1, False)])
def test_pieces_with_too_many_open_places_are_left_out(more, is_found):
    # g opens two places and fills one: after n of them n + 1 are open.
    depth = LONGEST - 1 + more
    words = ["g@2"] * depth + ["c@0"] * (depth + 1)
    assert judged(words) > -inf
    graph, weights = chain(words)
    assert (intersection(graph, weights, SYMBOL, MODEL, 1.0, 100) is not None) is is_found


@pytest.mark.parametrize(("factor", "kept"), [(1.0, "h@1 'k'@0"), (0.0, "f@1 d@0")])
def test_best_shapes_are_kept_where_they_are_too_many(factor, kept):
    # The first has the lower weight, the second the less likely argument.
    texts = [["h@1", "'k'@0"], ["f@1", "d@0"]]
    assert judged(texts[1]) - MODEL.log_prob[-1, MODEL.symbols.index("f@1")] < -1
    words = [WORDS.index(word) for text in texts for word in text]
    graph = Hypergraph(*(np.array(part, np.int32) for part in ([0, 2, 3], [0, 0, 0, 1], [0])))
    template = np.array([*words, -1], np.int32)
    numbers = np.arange(3, dtype=np.int32)
    forest = ForestGraph(graph, numbers[:2], numbers, np.array([0, 2, 4, 5]), template)
    for most, number in ((1, 1), (2, 2)):
        split, _ = intersection(forest, np.array([-1.0, 0.0, 0.0]), SYMBOL, MODEL, factor, most)
        found = k_best(split.graph, np.zeros(len(split.edges)), split.template_start, split.template, 9)
        ends = itertools.pairwise(found.word_start.tolist())
        strings = {" ".join(WORDS[word] for word in found.words[begin:end]) for begin, end in ends}
        assert len(strings) == number
        assert kept in strings
