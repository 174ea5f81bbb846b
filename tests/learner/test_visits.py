"""Visits choice by choice: the sampler's own choices, and the weights that the posterior says."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from scfg_sampler.core.chains.kernel import copy_state
from scfg_sampler.corpus.parallel_text import parse_corpus
from scfg_sampler.errors import SettingsError
from scfg_sampler.learner.chain import pair_kernel
from scfg_sampler.learner.pair_posteriors import LastState
from scfg_sampler.learner.visited_pairs import VisitedPair, pair_alone, pair_of_run, pair_of_words
from scfg_sampler.learner.visits import visit
from tests.learner.corpora import all_derivations, all_states, chain_on
from tests.learner.test_pair_posteriors import last_state
from tests.oracles.phrase_forest import Sentence, sentence

PAIRS = [
    sentence("a b c", "A B C", "0-0 1-1 2-2"),
    sentence("a b", "A B", "0-0 1-1"),
    sentence("b c", "B C", "0-0 1-1"),
]
LONGER = [
    sentence("a x b c d e a b", "E A B z C D A B", "0-1 2-2 3-4 4-5 5-0 6-6 7-7"),
    *[sentence("a b c", "A B C", "0-0 1-1 2-2")] * 3,
]


def of_pairs(pairs: list[Sentence], **settings) -> LastState:
    """A run that has just begun."""
    chain = chain_on(pairs, **settings)
    state = chain.kernel.init(np.random.default_rng(5))
    codes = tuple(state.trees.tolist())
    return last_state(chain, codes)._replace(learner=state)


@pytest.mark.parametrize(
    "settings",
    [{}, {"tables": "exact"}, {"order": "breadth-first"}, {"base": "lexical", "max_cut_span": 3}],
    ids=["estimated", "exact", "breadth-first", "lexical"],
)
def test_visit_leaves_what_a_sweep_leaves(settings):
    """With the same draws, over several sweeps: trees and seats."""
    last = of_pairs(LONGER, **settings)
    step = pair_kernel(last.bank, last.settings, [0]).step
    state, pair = copy_state(last.learner), pair_of_run(last, 0)
    rngs = np.random.default_rng(3), np.random.default_rng(3)
    changed = 0
    for _ in range(6):
        state, info = step(rngs[0], state)
        pair, choices = visit(rngs[1], pair)
        assert_array_equal(pair.trees, state.trees[: len(pair.trees)])
        assert sum(each.kind == "edge" and each.before != each.chosen for each in choices) == (
            info.edges_changed
        )
        assert sum(each.kind == "cut" and each.before != each.chosen for each in choices) == (
            info.cuts_changed
        )
        changed += info.edges_changed + info.cuts_changed
    assert changed > 5
    seats = [each[np.lexsort(each.T)] for each in (state.restaurants.entries, pair.restaurants.entries)]
    assert_array_equal(*[each[each[:, 1] != 0] for each in seats])


def after(last: LastState, seed: int, number: int) -> VisitedPair:
    """The first pair after so many choices of a visit."""
    return visit(np.random.default_rng(seed), pair_of_run(last, 0), number)[0]


def test_weights_are_those_of_the_posterior():
    """Of a Dirichlet process, whose rules are exchangeable: the weights of what was and of what was chosen
    are in the ratio of the posterior probabilities of the two states."""
    chain = chain_on(PAIRS, model="dirichlet", strength=0.5, max_cut_span=0)
    posterior = {trees: prob for (trees, _), prob in all_states(chain, PAIRS).items()}
    codes = [codes for codes, _ in all_derivations(chain, PAIRS)]
    compared = {"edge": 0, "cut": 0}
    for seed in range(12):
        last = last_state(chain, codes[seed * 7 % len(codes)])
        rest = tuple(last.learner.trees[last.bank.tree_start[1] :].tolist())
        _, choices = visit(np.random.default_rng(seed), pair_of_run(last, 0))
        for number, choice in enumerate(choices):
            assert sum(option.share for option in choice.options) == pytest.approx(1.0, abs=1e-12)
            if choice.before == choice.chosen:
                assert choice.derivation is None
                continue
            states = [(*after(last, seed, n).trees.tolist(), *rest) for n in (number, number + 1)]
            found = choice.options[choice.chosen].share / choice.options[choice.before].share
            assert_allclose(found, posterior[states[1]] / posterior[states[0]], rtol=1e-9)
            compared[choice.kind] += 1
    assert min(compared.values()) >= 3


def test_options_name_what_they_would_make_and_how_often_that_is_used_elsewhere():
    chain = chain_on(PAIRS, model="dirichlet", strength=0.5, max_cut_span=0)
    # Edges uniform and every node cut: the other pairs use a, b, c and the two rules of pairs.
    state = chain.kernel.init(np.random.default_rng(0))
    last = last_state(chain, tuple(state.trees.tolist()))
    _, choices = visit(np.random.default_rng(1), pair_of_run(last, 0))
    edge = next(each for each in choices if each.kind == "edge")
    assert {option.parts for option in edge.options} == {
        (((0, 1), (0, 1)), ((1, 3), (1, 3))),
        (((0, 2), (0, 2)), ((2, 3), (2, 3))),
    }
    seen = {}
    for choice in choices:
        if choice.kind == "cut":
            for option in choice.options:
                seen |= dict(zip(option.rules, option.seen, strict=True))
    assert seen["b ||| B"] == 2
    assert seen.get("a ||| A", 1) == 1
    assert seen.get("a b ||| A B", 0) == 0


def test_derivation_of_a_choice_has_a_rule_where_it_says():
    last = of_pairs(LONGER)
    pair, places = pair_of_run(last, 0), 0
    for seed in range(4):
        pair, choices = visit(np.random.default_rng(seed), pair)
        for choice in choices:
            if choice.kind == "cut" and choice.derivation is not None:
                stack, found = [choice.derivation], set()
                while stack:
                    node = stack.pop()
                    found.add((node.source, node.target))
                    stack += node.parts
                assert (choice.place in found) == (choice.chosen == 1)
                places += 1
        assert pair.derivation() == next(
            (each.derivation for each in reversed(choices) if each.derivation), pair.derivation()
        )
    assert places > 3


@pytest.mark.parametrize("settings", [{}, {"base": "lexical"}, {"model": "dirichlet"}, {"tables": "exact"}])
def test_pair_with_words_nobody_knows_and_longer_than_all_is_visited(settings):
    last = of_pairs(PAIRS, **settings)
    before = copy_state(last.learner)
    words = "a b c new b c a a b c a b"
    pair = parse_corpus([words], [words.upper()], [" ".join(f"{k}-{k}" for k in range(12))])
    visited = pair_of_words(np.random.default_rng(1), last, pair)
    assert visited.derivation().parts
    for seed in range(3):
        visited, choices = visit(np.random.default_rng(seed), visited)
        for choice in choices:
            assert all(0.0 <= option.share <= 1.0 for option in choice.options)
    text = str(visited.derivation())
    assert "new" in text
    assert "NEW" in text
    assert_array_equal(last.learner.trees, before.trees)
    assert_array_equal(last.learner.restaurants.entries, before.restaurants.entries)
    assert "new" not in last.bank.corpus.source_vocabulary


def test_pair_alone_has_seen_no_rule_elsewhere():
    pair = pair_alone(np.random.default_rng(1), parse_corpus(["a b"], ["A B"], ["0-0 1-1"]))
    _, choices = visit(np.random.default_rng(1), pair)
    seen = [option.seen for choice in choices for option in choice.options if choice.kind == "cut"]
    assert seen
    assert all(set(each) <= {0} for each in seen)


# ---- Whole derivations, proposed

OTHER = [
    sentence("a x b c d e a b", "E A B z C D A B", "0-1 2-2 3-4 4-5 5-0 6-6"),
    *[sentence("a b c", "A B C", "0-0 1-2 2-1")] * 3,
]


@pytest.mark.parametrize(
    ("pairs", "settings"),
    [
        (LONGER, {"operator": "rejection"}),
        (LONGER, {"operator": "rejection", "tables": "exact"}),
        (list(zip(LONGER, OTHER, strict=True)), {"choose": "sentence", "operator": "rejection"}),
        pytest.param(list(zip(LONGER, OTHER, strict=True)), {"choose": "sentence"}, marks=pytest.mark.slow),
    ],
    ids=["estimated", "exact", "sentence-rejection", "sentence"],
)
def test_visit_with_proposals_leaves_what_a_sweep_leaves(pairs, settings):
    """With the same draws, over many sweeps: trees and seats."""
    last = of_pairs(pairs, **settings)
    step = pair_kernel(last.bank, last.settings, [0]).step
    state, pair = copy_state(last.learner), pair_of_run(last, 0)
    rngs = np.random.default_rng(3), np.random.default_rng(3)
    taken = 0
    for _ in range(200):
        state, _ = step(rngs[0], state)
        pair, choices = visit(rngs[1], pair)
        assert_array_equal(pair.trees, state.trees[: len(pair.trees)])
        assert [each.kind for each in choices].count("derivation") == 1
        assert (len(choices) == 1) == ("operator" in settings)
        first = choices[0]
        assert first.kind == "derivation"
        taken += first.chosen
        assert (first.derivation is not None) <= (first.chosen == 1)
        if len(choices) == 1 and first.chosen:
            assert pair.derivation() == first.options[1].derivation
    assert 0 < taken < 200
    seats = [each[np.lexsort(each.T)] for each in (state.restaurants.entries, pair.restaurants.entries)]
    assert_array_equal(*[each[each[:, 1] != 0] for each in seats])


def test_proposals_are_weighed_by_the_posterior_and_by_how_often_they_are_made():
    """P by enumeration, up to a factor; Q sums to 1 over all trees, and derivations come as often as it says.

    Trees that differ within a rule alone are one derivation. Of the frequencies of 3,000 proposals, none is 5
    standard errors away: a false alarm below 1e-5 by rule.
    """
    chain = chain_on(PAIRS, model="dirichlet", strength=0.5, max_cut_span=0, operator="rejection")
    posterior = {trees: prob for (trees, _), prob in all_states(chain, PAIRS).items()}
    size = int(chain.bank.tree_start[1])
    rest = next(iter(posterior))[size:]
    own = [trees for trees in posterior if trees[size:] == rest]
    log_proposals: dict[str, list[float]] = {}
    probs: dict[str, float] = {}
    for trees in own:
        (choice,) = visit(np.random.default_rng(1), pair_of_run(last_state(chain, trees), 0))[1]
        shown = str(choice.options[0].derivation)
        log_proposals.setdefault(shown, []).append(choice.options[0].log_proposal)
        assert probs.setdefault(shown, posterior[trees]) == pytest.approx(posterior[trees], rel=1e-9)
    assert sum(np.exp(each).sum() for each in log_proposals.values()) == pytest.approx(1.0, abs=1e-12)
    made = dict.fromkeys(log_proposals, 0)
    rng, last = np.random.default_rng(2), last_state(chain, own[0])
    for _ in range(3000):
        old, new = visit(rng, pair_of_run(last, 0))[1][0].options
        shown = str(new.derivation)
        made[shown] += 1
        ratio = probs[shown] / posterior[own[0]]
        assert new.log_prob - old.log_prob == pytest.approx(np.log(ratio), abs=1e-9)
        assert min(abs(new.log_proposal - each) for each in log_proposals[shown]) < 1e-12
        back = np.exp(old.log_proposal - new.log_proposal)
        assert new.share == pytest.approx(min(1.0, ratio * back), rel=1e-9)
        assert old.share == pytest.approx(1.0 - new.share, abs=1e-12)
    for shown, number in made.items():
        prob = np.exp(log_proposals[shown]).sum()
        assert abs(number - 3000 * prob) < 5 * np.sqrt(3000 * prob * (1 - prob)) + 1e-9


def test_pair_without_links_is_refused():
    pair = pair_alone(np.random.default_rng(0), parse_corpus(["a"], ["A"], [""]))
    assert pair.derivation() is None
    with pytest.raises(SettingsError, match="no links"):
        visit(np.random.default_rng(0), pair)
