"""All ways to search against the enumeration of all derivations, and against each other."""

import math
from collections import Counter, defaultdict
from types import SimpleNamespace

import numpy as np
import pytest

from decoder.lm.model import LmVocabulary, build_lm
from decoder.search.cube import FINISH
from decoder.search.guide import Guidance, margins, widest_margin
from decoder.search.workspace import EDGES, ITEMS, NUM_COUNTERS
from decoder.translation.decoder import Decoder
from decoder.translation.forced import ForcedDecoder
from decoder.translation.settings import SEARCHES
from scfg_sampler.core.forests.semiring import LogSum, inside
from scfg_sampler.errors import SettingsError
from tests.decoder import small_grammars as small
from tests.decoder.lm.test_model import random_model
from tests.decoder.search.several_models import case
from tests.decoder.search.test_search import random_case


@pytest.mark.parametrize("how", SEARCHES)
@pytest.mark.parametrize("seed", range(12))
def test_unlimited_search_finds_all_derivations_with_their_scores_and_features(seed, how):
    known = case(seed, 1 + seed % 3, unknown=seed % 3 == 0, length=4)
    decoder = known.decoder().searching(how)
    result = decoder.search(known.words)
    found = decoder.translations(result, len(known.derivations) + 5, unique=False)
    scores = [score for score, _, _ in known.derivations]
    np.testing.assert_allclose([t.score for t in found], scores, atol=1e-4)
    assert decoder.best(result).score == pytest.approx(scores[0], abs=1e-4)
    assert sorted(tuple(t.words) for t in found) == sorted(words for _, _, words in known.derivations)
    place = decoder.feature_names.index("LanguageModel")
    for t in found:
        for model, log_prob in enumerate(t.features[place : place + len(known.lms)]):
            own = small.sentence_log_prob(known.lms[model], known.vocabularies[model], t.words)
            assert log_prob == pytest.approx(own, abs=1e-4)
        assert t.score == pytest.approx(float(t.features @ decoder.weights), abs=1e-9)


@pytest.mark.parametrize("beam", [0, 1, 3, 8])
@pytest.mark.parametrize("seed", range(10))
def test_both_searches_keep_the_same_forest_whatever_the_beam(seed, beam):
    known = case(100 + seed, 1 + seed % 2, length=5)
    forests = []
    for how in ("boundary", "cube"):
        decoder = known.decoder(beam=beam, widen=seed % 3).searching(how)
        forests.append(decoder.search(known.words, keep_states=True).forest)
    boundary, cube = forests
    assert len(boundary.cell) == len(cube.cell)
    assert _edges(boundary) == _edges(cube)
    np.testing.assert_allclose(np.sort(boundary.weight), np.sort(cube.weight), atol=1e-9)
    assert boundary.score[-1] == pytest.approx(cube.score[-1], abs=1e-9)


@pytest.mark.parametrize("beam", [0, 5])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_both_searches_keep_the_same_forest_where_much_can_be_combined(order, beam):
    rules = [("u", target, [0.1 * i, 0]) for i, target in enumerate("abc")]
    rules += [("u u", "a b", [0.7, 0]), ("u u", "c", [0.2, 0]), ("u u", "a b c", [0.3, 1])]
    rules += [("X1 X2", "X2 X1", [1, 1]), ("u X1", "X1 c", [1, 0]), ("X1 u X2", "X1 X2", [0.5, 0.2])]
    model = random_model(order, order)
    weights = {"First": 1.0, "Second": 0.9, "LanguageModel": 1.1, "Glue": -0.3, "PassThrough": -1.0}
    vocabulary = LmVocabulary(model.words)
    decoder = Decoder(
        small.grammar_of(rules, 4), build_lm(model), vocabulary, weights, beam=beam, max_targets=0
    )
    boundary, cube = (
        decoder.searching(how).search(["u"] * 4, keep_states=True).forest for how in ("boundary", "cube")
    )
    assert len(boundary.cell) == len(cube.cell)
    assert len(boundary.head) == len(cube.head)
    assert _edges(boundary) == _edges(cube) or beam
    assert boundary.score[-1] == pytest.approx(cube.score[-1], abs=1e-9)
    if beam == 0:
        for forest in (boundary, cube):
            most = _require_every_combination(forest)
            assert most > 4 or order == 1  # A model of one word knows no two items apart.


def _require_every_combination(forest):
    """A rule over some cells makes an edge of every choice of items, once; how many a rule with two makes."""
    tails_of = [tuple(tail for tail in tails if tail >= 0) for tails in forest.tails.tolist()]
    edges = list(zip(forest.head.tolist(), forest.rule.tolist(), tails_of, strict=True))
    assert len(set(edges)) == len(edges)
    cells = forest.cell.tolist()
    over = Counter((cells[head], rule, tuple(cells[t] for t in tails)) for head, rule, tails in edges)
    items_in = Counter(cells[:-1])  # The goal, the last, is the tail of nothing.
    for (_, _, below), found in over.items():
        assert found == math.prod(items_in[cell] for cell in below)
    return max(found for (_, _, below), found in over.items() if len(below) == 2)


def _edges(forest):
    """Each edge by cells, rule and states of head and tails, sorted."""
    item = [(cell, state.tobytes()) for cell, state in zip(forest.cell.tolist(), forest.state, strict=True)]
    edges = []
    for head, rule, tails in zip(forest.head, forest.rule.tolist(), forest.tails.tolist(), strict=True):
        edges.append((item[head], rule, [item[tail] for tail in tails if tail >= 0]))
    return sorted(edges)


@pytest.mark.parametrize("how", SEARCHES)
@pytest.mark.parametrize("seed", range(4))
def test_copies_of_several_words_or_none_are_found_with_their_scores(seed, how):
    (grammar, lm, vocabulary, weights), _, words, _ = random_case(seed, length=3)
    decoder = Decoder(grammar, lm, vocabulary, weights, beam=0, max_targets=0).searching(how).copying_any()
    copies = [(), ("a", "foreign", "b"), ("c", "c")][: len(words)]
    result = decoder.search(words, copies)
    best = decoder.best(result)
    log_prob = small.sentence_log_prob(lm, vocabulary, best.words)
    assert best.features[decoder.feature_names.index("LanguageModel")] == pytest.approx(log_prob, abs=1e-4)
    graph = decoder.export(result)
    total = inside(graph.graph, LogSum(result.forest.weight[graph.edges]))[-1, 0]
    every = decoder.translations(result, 10**4, unique=False)
    assert total == pytest.approx(small.log_sum([t.score for t in every]), abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_what_was_found_is_found_again_when_it_is_asked_for(seed):
    known = case(200 + seed, 1, length=4)
    decoder = known.decoder(beam=4).searching("boundary")
    best = decoder.translate(known.words)
    forced = ForcedDecoder(decoder).derive(known.words, best.words)
    assert forced.result.forest.score[-1] >= best.score - 1e-9


def test_an_unknown_way_to_search_is_told():
    with pytest.raises(SettingsError, match="--search is words; it is one of boundary, guided, cube"):
        case(1, 1).decoder().searching("words")


def _guided(decoder, **guidance):
    """The same decoder with a search that is guided so."""
    other = decoder.searching("guided")
    other._settings = other._settings._replace(guidance=Guidance(**guidance))
    return other


@pytest.mark.parametrize("beam", [3, 8])
@pytest.mark.parametrize("seed", range(8))
def test_a_narrow_search_before_leaves_no_trace_but_margins(seed, beam):
    known = case(300 + seed, 1 + seed % 2, length=5)
    decoder = known.decoder(beam=beam, widen=seed % 3)
    plain = decoder.searching("boundary").search(known.words, keep_states=True).forest
    guided = _guided(decoder, narrow=1 + seed % 2).search(known.words, keep_states=True).forest
    assert _edges(plain) == _edges(guided)
    assert plain.score[-1] == guided.score[-1]


@pytest.mark.parametrize("seed", range(10))
def test_guided_searches_find_derivations_that_there_are(seed):
    known = case(400 + seed, 1 + seed % 2, length=5)
    scores = np.array([score for score, _, _ in known.derivations])
    decoder = known.decoder(beam=64)
    before = math.inf
    for margin in (100.0, 1.0, 0.01):
        guided = _guided(decoder, narrow=2, margin=margin, rest=0.5)
        result = guided.search(known.words)
        for found in guided.translations(result, 50, unique=False):
            assert np.abs(scores - found.score).min() < 1e-4
        assert len(result.forest.head) <= before
        before = len(result.forest.head)


def _through(forest):
    """For every cell the best score, without </s>, of a derivation that has an item of it; by enumeration."""
    by_head = defaultdict(list)
    for edge, (head, rule) in enumerate(zip(forest.head.tolist(), forest.rule.tolist(), strict=True)):
        if rule != FINISH:
            by_head[head].append(edge)

    def derivations(item):
        for edge in by_head[item]:
            partial = [(forest.weight[edge], {forest.cell[item]})]
            for tail in (tail for tail in forest.tails[edge].tolist() if tail >= 0):
                below = list(derivations(tail))
                partial = [(a + b, x | y) for a, x in partial for b, y in below]
            yield from partial

    best = defaultdict(lambda: -math.inf)
    tops = forest.tails[forest.rule == FINISH, 0].tolist()
    for top in tops:
        for score, cells in derivations(top):
            for cell in cells:
                best[cell] = max(best[cell], score)
    return best


@pytest.mark.usefixtures("plain_kernels")
@pytest.mark.parametrize("seed", range(8))
def test_margins_shrink_by_what_the_best_derivation_through_a_cell_lacks(seed):
    known = case(500 + seed, 1, length=4)
    result = known.decoder(beam=3).searching("boundary").search(known.words)
    forest, num_cells = result.forest, len(result.chart.begin)
    is_inner = forest.rule != FINISH
    edges = SimpleNamespace(
        head=forest.head[is_inner], weight=forest.weight[is_inner], tails=forest.tails[is_inner]
    )
    count = np.zeros(NUM_COUNTERS, np.int64)
    count[ITEMS], count[EDGES] = len(forest.score) - 1, is_inner.sum()
    first_item = np.searchsorted(forest.cell[:-1], np.arange(num_cells + 1))
    best = _through(forest)
    top = max(best.values())
    for widest in (0.5, 4.0):
        found = margins(widest, first_item, forest, edges, count)
        for cell in range(num_cells):
            assert found[cell] == pytest.approx(max(widest / 4, widest - (top - best[cell])), abs=1e-9)


def test_margins_follow_the_scale_of_scores_and_widen_with_the_beam():
    weights = np.array([0.3, -0.2])
    assert widest_margin(14.0, 200, weights) == pytest.approx(7.0)
    assert widest_margin(14.0, 1600, 2 * weights) == pytest.approx(28.0)
    assert widest_margin(14.0, 200, np.zeros(1)) == math.inf
    assert widest_margin(14.0, 0, weights) == math.inf
