"""πT = π where the nodes of forests have labels, by enumeration of all random choices."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from scfg_sampler.core.chains.kernel import copy_state
from scfg_sampler.core.fragments import rules as fragment_rules
from scfg_sampler.corpus.span_labels import SpanLabels
from scfg_sampler.forest import pieces
from scfg_sampler.learner import model as rule_models
from scfg_sampler.learner.chain import learner_kernel
from scfg_sampler.learner.collecting import collected_rules
from scfg_sampler.learner.derivations import record_text, words_of
from scfg_sampler.learner.forest_bank import collect, forest_bank
from scfg_sampler.learner.labels import without_labels
from scfg_sampler.learner.settings import LearnerSettings
from scfg_sampler.rules.labels import kind_of
from scfg_sampler.rules.store import END
from tests.exact.test_sampler_stationarity import MODELS, departure, with_type_moves
from tests.learner.corpora import (
    Chain,
    all_derivations,
    all_states,
    chain_on,
    corpus_of,
    log_weights,
    seated,
)
from tests.oracles.phrase_forest import sentence

# Labels are of target spans but where a test says otherwise.
CORPORA = {
    "two trees": [sentence("a b c", "A B C", "0-0 1-1 2-2", "0-1:N 1-3:V 2-3:N 0-3:S")],
    "one rule under two labels": [
        sentence("a b", "A B", "0-0 1-1", "0-1:N 1-2:V"),
        sentence("a b", "A B", "0-0 1-1", "0-1:V 1-2:N"),
    ],
    "one rule of two gaps": [
        sentence("a b", "A B", "0-0 1-1", "0-1:N"),
        sentence("b a", "B A", "0-0 1-1", "0-1:N 1-2:N"),
    ],
    "upper and lower rule alike": [sentence("a a a", "A A A", "0-0 1-1 2-2", "0-2:N 1-3:N 0-3:N")],
    "inverted with unaligned words": [sentence("x a y b c", "C z B A", "1-3 3-2 4-0", "0-3:V 2-3:N 0-4:S")],
}
QUICK = ("one rule under two labels", "one rule of two gaps")


def _cases():
    for pairs in CORPORA:
        for model in MODELS:
            yield pytest.param(pairs, model, marks=[] if pairs in QUICK else [pytest.mark.slow])


@pytest.mark.parametrize(("pairs", "model"), list(_cases()))
def test_sweep_with_labels_leaves_posterior_invariant(pairs, model):
    chain = chain_on(CORPORA[pairs], max_cut_span=0, **MODELS[model])
    assert chain.bank.labels is not None
    assert departure(chain, CORPORA[pairs]) < 1e-12


@pytest.mark.parametrize(
    "settings",
    [
        {"labels_side": "source"},
        {"operator": "rejection"},
        {"base": "null-words"},
        {"divide_by_trees": True},
        {"order": "breadth-first"},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_other_settings_with_labels_leave_posterior_invariant(settings):
    pairs = [
        sentence("a z b", "A B", "0-0 2-1", "0-1:N"),
        sentence("b a", "B A", "0-0 1-1", "0-1:N 1-2:N"),
    ]
    chain = chain_on(pairs, **{"max_cut_span": 0, "tables": "exact", **settings})
    assert departure(chain, pairs) < 1e-12


@pytest.mark.parametrize("pairs", QUICK)
@pytest.mark.parametrize("settings", [{"tables": "exact"}, {"discount": 0.0}], ids=["exact", "d = 0"])
def test_type_moves_with_labels_leave_posterior_invariant(pairs, settings):
    chain = chain_on(CORPORA[pairs], max_cut_span=0, **settings)
    assert departure(with_type_moves(chain), CORPORA[pairs]) < 1e-12


@pytest.mark.slow
def test_type_moves_with_labels_leave_the_posterior_of_identical_pairs_invariant():
    pairs = [*CORPORA["one rule under two labels"][:1]] * 3
    chain = chain_on(pairs, max_cut_span=0, discount=0.0)
    assert departure(with_type_moves(chain), pairs) < 1e-12


@pytest.mark.parametrize("pairs", CORPORA)
def test_the_log_joint_with_labels_is_that_of_the_oracle(pairs):
    chain = chain_on(CORPORA[pairs], max_cut_span=0, discount=0.0, strength=3.0, base="lexical")
    for (trees, _), expected in log_weights(chain, CORPORA[pairs]).items():
        found = chain.kernel.log_joint(seated(chain, trees))
        assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("pairs", CORPORA)
def test_rules_are_counted_with_the_labels_of_the_oracle(pairs):
    """So expected counts are the oracle's, as the posterior is."""
    chain = chain_on(CORPORA[pairs], max_cut_span=0)
    words = words_of(chain.bank)
    for codes, expected in all_derivations(chain, CORPORA[pairs]):
        collected = collected_rules(collect(chain.bank, np.array(codes, np.uint16)))
        plain, labels = without_labels(collected, chain.bank)
        found = Counter()
        for r in range(collected.num_rules):
            source, target = (
                side[start[r] : start[r + 1]]
                for start, side in (
                    (collected.source_start, collected.source),
                    (collected.target_start, collected.target),
                )
            )
            left, *sides = record_text(words, np.array([*source, END, *target, END])).split(" ||| ")
            found[(*sides, left[1:-1])] += int(plain.count[r])
            kind = kind_of(labels, r)
            gaps = [symbol[1:].split(",")[0] for symbol in sides[0].split() if symbol[0] == "["]
            assert kind == (left[1:-1], *gaps) or (kind == () and {left[1:-1], *gaps} == {"X"})
        assert found == expected


def test_a_chain_of_labels_all_of_which_are_x_is_the_chain_without():
    """Through the forests that have labels: a bank would leave them out."""
    pairs = [sentence("x a y b c", "C z B A", "1-3 3-2 4-0"), sentence("a b c", "A B C", "0-0 1-1 2-2")]
    corpus, settings = corpus_of(pairs), LearnerSettings(learned=("mean_length",))
    none = SpanLabels(
        ("X", "N"), True, np.zeros(3, np.int64), np.zeros((0, 2), np.int32), np.zeros(0, np.int32)
    )
    states, infos = [], []
    for labels in (None, none):
        kernel = learner_kernel(forest_bank(corpus, settings.max_length, labels=labels), settings)
        rng = np.random.default_rng(1)
        state = kernel.init(rng, None)
        for _ in range(4):
            state, info = kernel.step(rng, state)
            infos.append(info)
        states.append(state)
    assert infos[:4] == infos[4:]
    assert (states[0].trees == states[1].trees).all()
    assert (states[0].restaurants.entries == states[1].restaurants.entries).all()


# --- faults that must be noticed --------------------------------------------------------------------------


def _posterior(chain: Chain, pairs) -> list[float]:
    return list(all_states(chain, pairs).values())


def test_labels_make_a_difference_to_the_posterior():
    """Else they would prove nothing."""
    for pairs in map(CORPORA.get, ("two trees", *QUICK)):
        plain = [pair._replace(labels=()) for pair in pairs]
        with_labels, without = (
            _posterior(chain_on(each, max_cut_span=0, discount=0.0), each) for each in (pairs, plain)
        )
        assert np.abs(np.array(with_labels) - np.array(without)).max() > 1e-4


def test_forgotten_labels_of_gaps_in_the_base_are_noticed(monkeypatch):
    monkeypatch.setattr(rule_models, "sum_gap_labels", lambda forest, work, node, log_label: 0.0)
    pairs = CORPORA["one rule of two gaps"]
    assert departure(chain_on(pairs, max_cut_span=0, discount=0.0), pairs) > 1e-3


def _weights_are_wrong(pairs) -> bool:
    """Whether rules that are two to the oracle are one to the chain, or its log joint is another."""
    chain = chain_on(pairs, max_cut_span=0, discount=0.0)
    try:
        expected = log_weights(chain, pairs)
    except AssertionError:
        return True
    return any(
        abs(chain.kernel.log_joint(copy_state(seated(chain, trees))) - weight) > 1e-6
        for (trees, _), weight in expected.items()
    )


def test_rules_that_differ_in_the_label_of_a_gap_alone_are_told_apart(monkeypatch):
    pairs = CORPORA["one rule of two gaps"]
    assert not _weights_are_wrong(pairs)
    monkeypatch.setattr(pieces, "slot_value", lambda forest, tail: np.uint64(0))
    assert _weights_are_wrong(pairs)


def test_rules_that_differ_in_the_label_of_their_root_alone_are_told_apart(monkeypatch):
    pairs = CORPORA["one rule under two labels"]
    assert not _weights_are_wrong(pairs)
    monkeypatch.setattr(fragment_rules, "root_value", lambda forest, node: np.uint64(0))
    assert _weights_are_wrong(pairs)
