"""How certain derivations of pairs are, against the enumeration of all derivations."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from scfg_sampler.errors import CheckpointMismatch, InputError, SettingsError
from scfg_sampler.forest.explicit import ForestBuilder
from scfg_sampler.learner.collecting import new_collector
from scfg_sampler.learner.derivations import spelled_words
from scfg_sampler.learner.pair_posteriors import (
    LastState,
    last_derivation,
    node_shares,
    pair_posteriors,
    read_last_state,
)
from tests.learner.corpora import Chain, all_derivations, all_states, chain_on, seated, sentence_derivations
from tests.learner.test_chain import some_pairs
from tests.learner.test_commands import sample, write_corpus
from tests.oracles import phrase_forest
from tests.oracles.phrase_forest import Sentence

PAIRS = [
    Sentence(("a", "b", "c"), ("A", "B", "C"), frozenset({(0, 0), (1, 1), (2, 2)})),
    Sentence(("a", "b"), ("A", "B"), frozenset({(0, 0), (1, 1)})),
    Sentence(("b", "c"), ("B", "C"), frozenset({(0, 0), (1, 1)})),
]


def last_state(chain: Chain, codes: tuple[int, ...]) -> LastState:
    bank = chain.bank
    scratch = new_collector(*bank.longest, bank.most_links)
    return LastState(bank, chain.settings, seated(chain, codes), scratch, spelled_words(bank.corpus))


def expected_rules(chain: Chain, others: tuple[int, ...]) -> dict[str, float]:
    """How often each rule is expected in the first pair, given the codes of all others."""
    weights = {
        trees[: len(trees) - len(others)]: weight
        for (trees, _), weight in all_states(chain, PAIRS).items()
        if trees[len(trees) - len(others) :] == others
    }
    total = sum(weights.values())
    found: Counter[str] = Counter()
    for codes, derivation in sentence_derivations(chain, PAIRS[0]):
        for source, target in phrase_forest.rules(PAIRS[0], derivation):
            found[f"{source} ||| {target}"] += weights[codes] / total
    return found


def test_shares_are_the_posterior_of_a_pair_given_all_others(rng):
    """At 5 standard errors of independent draws, doubled for their dependence: below 1e-6 by rule."""
    chain = chain_on(PAIRS, model="dirichlet", strength=0.5, max_cut_span=0)
    codes = next(codes for codes, _ in all_derivations(chain, PAIRS))
    others = codes[len(next(sentence_derivations(chain, PAIRS[0]))[0]) :]
    sweeps = 4000
    found = pair_posteriors(rng, last_state(chain, codes), [0], sweeps)[0]
    seen: Counter[str] = Counter()
    for rules in found.rules.values():
        for rule, times in rules.items():
            seen[rule] += times / sweeps
    expected = expected_rules(chain, others)
    assert len(expected) > 10
    assert set(seen) <= set(expected)
    for rule, share in expected.items():
        error = np.sqrt(max(share * (1 - share), 1e-3) / sweeps)
        assert abs(seen[rule] - share) < 10 * error, rule


def test_pairs_that_are_not_asked_for_stay_as_they_are(rng):
    chain = chain_on(PAIRS, model="dirichlet")
    codes = [codes for codes, _ in all_derivations(chain, PAIRS)][-1]
    last = last_state(chain, codes)
    before = [last_derivation(last, sentence) for sentence in range(3)]
    pair_posteriors(rng, last, [1], 20)
    assert [last_derivation(last, sentence) for sentence in (0, 2)] == [before[0], before[2]]


def test_share_of_a_node_counts_all_rules_there_or_its_own(rng):
    chain = chain_on(PAIRS, model="dirichlet")
    last = last_state(chain, next(codes for codes, _ in all_derivations(chain, PAIRS)))
    found = pair_posteriors(rng, last, [0], 50)[0]
    root = last_derivation(last, 0)
    assert root is not None
    assert found.share(root) == 1.0
    # Three words come together in more ways than one.
    own = found.rules[root.source, root.target][root.rule]
    assert found.share(root, same_rule=True) == own / 50 < 1.0
    assert found.share(root._replace(source=(0, 99))) == 0.0
    with pytest.raises(SettingsError, match="--states is 0; it must be at least 1"):
        pair_posteriors(rng, last, [0], 0)


def test_last_state_is_read_with_its_derivations(tmp_path, rng):
    run = tmp_path / "run"
    assert sample(write_corpus(tmp_path, some_pairs()), run, "--iterations", "4") == 0
    last = read_last_state(run)
    first = last_derivation(last, 0)
    assert first is not None
    assert pair_posteriors(rng, last, [0], 3)[0].share(first) == 1.0


def test_states_without_their_corpus_are_refused(tmp_path):
    run = tmp_path / "run"
    assert sample(write_corpus(tmp_path, some_pairs()), run, "--iterations", "2") == 0
    with (tmp_path / "train.e").open("a") as stream:
        stream.write("more\n")
    with pytest.raises(CheckpointMismatch, match=r"\(target\) is not the same as when"):
        read_last_state(run)
    (tmp_path / "train.e").unlink()
    with pytest.raises(InputError, match=r"train\.e"):
        read_last_state(run)


def test_node_shares_are_the_marginals_of_the_run(tmp_path):
    options = write_corpus(tmp_path, some_pairs())
    run = tmp_path / "run"
    assert sample(options, run, "--iterations", "12", "--burn-in", "4", "--marginals") == 0
    last = read_last_state(run)
    marginals = json.loads((run / "marginals.json").read_text())["sentences"]
    between = 0
    for sentence, told in enumerate(marginals):
        forest = ForestBuilder(last.bank.corpus).build(sentence)
        if forest is None:
            continue
        shares = node_shares(last, sentence, forest)
        assert shares == [(node["in_tree"], node["cut"]) for node in told["nodes"]]
        between += sum(0.0 < cut < in_tree < 1.0 for in_tree, cut in shares)
    assert between > 0
    unasked = last._replace(node_counts=last.node_counts[:0])
    assert node_shares(unasked, 0, ForestBuilder(last.bank.corpus).build(0)) is None


@pytest.mark.parametrize(
    "way", [{"schedule": "stratified"}, {"anneal_start": 0.01, "anneal_end": 0.01, "anneal_sweeps": 1}]
)
def test_how_the_run_came_there_is_no_matter(way):
    """After few stratified sweeps the upper nodes of a pair are not sampled yet, and cold chains stay."""
    found = []
    for settings in ({}, way):
        chain = chain_on(PAIRS, model="dirichlet", strength=0.5, max_cut_span=0, **settings)
        last = last_state(chain, next(codes for codes, _ in all_derivations(chain, PAIRS)))
        found.append(pair_posteriors(np.random.default_rng(4), last, [0], 50)[0])
    assert found[0] == found[1]
    assert len(found[0].rules) > 4
