"""The samplers against closed forms. Statistical tests fail by chance with a probability below 1e-8 each."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats

from monolingual.cli import main
from monolingual.pcfg.approaches import APPROACHES
from monolingual.pcfg.collapsed import collapsed_kernel
from monolingual.pcfg.gibbs import gibbs_kernel
from monolingual.pcfg.model import Data, build_model, nonterminal_prior
from monolingual.pcfg.partition import newton_partition
from monolingual.pcfg.posterior import reweight
from monolingual.pcfg.renormalised import expected_uses, log_tilt, propose_family, tilt_rates
from scfg_sampler.core.chains.kernel import copy_state
from scfg_sampler.errors import SettingsError
from tests.monolingual.pcfg.grammars import TERNARY, catalan, grammar_of, random_grammar
from tests.oracles.twins import interpreted
from tests.statistics import FALSE_ALARM

NO_WORDS = np.zeros(0, np.int32)
NO_SENTENCES = np.zeros(1, np.int64)
# S -> S S | 'a' under Beta(1.5, 1.5), with two trees of seven leaves altogether: five binary nodes.
ALPHA, BINARY, LEAVES, TREES = 1.5, 5, 7, 2


def trees_only(*counts, trees):
    return Data(NO_WORDS, NO_SENTENCES, np.array(counts, np.int64), trees)


def sentences_of(*lengths):
    return Data(
        np.zeros(sum(lengths), np.int32),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.zeros(3, np.int64),
        0,
    )


def draw(model, data, approach, rng, size, thin=1, **options):
    kernel = gibbs_kernel(model, data, approach, block=size * thin, thin=thin, **options)
    state = kernel.init(rng, np.full(len(model.prior), 1.0 / len(model.prior)))
    return kernel.step(rng, state)[1]


def catalan_cdf(approach):
    """The posterior distribution function of P(S -> S S)."""
    low = stats.beta(ALPHA + BINARY, ALPHA + LEAVES).cdf
    if approach == "sink":
        return low
    if approach == "only-tight":
        return lambda p: np.where(p < 0.5, low(p) / low(0.5), 1.0)
    # Above 1/2 the likelihood is divided by Z^n = ((1 − p) / p)^n, which makes it the mirror image.
    return lambda p: np.where(p < 0.5, low(p), 2 * low(0.5) - low(1.0 - p)) / (2 * low(0.5))


@pytest.fixture
def catalan_model(tmp_path):
    return build_model(catalan(0.5, tmp_path)[0], np.full(2, ALPHA))


@pytest.fixture
def ternary_model(tmp_path):
    return build_model(grammar_of(TERNARY, tmp_path)[0], np.ones(3))


@pytest.mark.parametrize(
    ("approach", "proposal"),
    [*((name, "tilted") for name in APPROACHES), ("renormalise", "tight"), ("renormalise", "dirichlet")],
)
def test_catalan_posteriors_are_their_closed_forms(approach, proposal, catalan_model, rng):
    data = trees_only(BINARY, LEAVES, trees=TREES)
    thin = 30 if approach == "renormalise" else 1
    found = draw(catalan_model, data, approach, rng, 4000, thin, proposal=proposal).probs[:, 0]
    tails = {name: stats.kstest(found, catalan_cdf(name)).pvalue for name in APPROACHES}
    assert tails.pop(approach) > FALSE_ALARM
    # The planted faults: the other two approaches.
    assert max(tails.values()) < FALSE_ALARM


def test_tilted_densities_are_those_of_the_draws(rng):
    concentrations, rates = np.array([2.5, 0.8]), np.array([0.3, 1.7])
    dirichlet = stats.beta(*concentrations)

    def density(p):
        return dirichlet.pdf(p) * np.exp(log_tilt(concentrations, rates, 0, 2, np.array([p, 1.0 - p])))

    norm, mean = (integrate.quad(lambda p, k=k: p**k * density(p), 0.0, 1.0)[0] for k in (0, 1))
    assert abs(norm - 1.0) < 1e-6
    proposal, found = np.empty(2), []
    for _ in range(4000):
        propose_family(rng, concentrations, rates, 0, 2, proposal)
        found.append(proposal[0])
    assert abs(np.mean(found) - mean) < 6 * np.std(found) / np.sqrt(len(found))
    assert abs(dirichlet.mean() - mean) > 6 * np.std(found) / np.sqrt(len(found))


def test_expected_uses_are_those_of_finite_trees(catalan_model):
    # Finite trees of a Catalan grammar with q = 0.7 are those of the one with 0.3: 1 / (1 − 2 · 0.3) nodes.
    probs = np.array([0.7, 0.3])
    values, _ = newton_partition(catalan_model.system, probs)
    uses = expected_uses(catalan_model.system, probs, values)
    assert_allclose(uses, [1.0 / (1.0 - 0.6)], rtol=1e-9)
    rates = np.empty(2)
    tilt_rates(catalan_model.system, 0, np.array([4.0, 6.0]), values, 2.0 * uses, rates)
    assert_allclose(rates, [0.5 + 0.5 * 3 / 7, 0.5 + 0.5 * 7 / 3])


def test_tilted_proposals_move_where_those_of_algorithm_2_do_not(rng, tmp_path):
    # Finite trees of n = 200 trees suit q = 0.3 and, the prior being far above 1/2, its mirror image 0.7.
    model = build_model(catalan(0.5, tmp_path)[0], np.array([100.0, 1.0]))
    data = trees_only(150, 350, trees=200)
    rejections = {}
    for proposal in ("tilted", "dirichlet"):
        kernel = gibbs_kernel(model, data, "renormalise", block=500, proposal=proposal)
        state, _ = kernel.step(rng, kernel.init(rng, np.array([0.7, 0.3])))
        state, info = kernel.step(rng, state)
        assert info.log_z.max() < 0.0
        rejections[proposal] = info.all_rejections
    assert rejections["tilted"] < 250
    assert rejections["dirichlet"] > 490


@pytest.mark.parametrize(
    ("approach", "proposal", "a_sweep"),
    # Trees use the only nonterminal, so that of the two moves of its group there is one.
    [
        ("sink", "tight", 1),
        ("renormalise", "dirichlet", 1),
        ("renormalise", "tilted", 1),
        ("renormalise", "tight", 2),
    ],
)
def test_proposals_that_were_made_are_counted(catalan_model, rng, approach, proposal, a_sweep):
    data = trees_only(BINARY, LEAVES, trees=TREES)
    kernel = gibbs_kernel(catalan_model, data, approach, block=30, proposal=proposal)
    _, info = kernel.step(rng, kernel.init(rng, np.array([0.4, 0.6])))
    assert info.all_proposals == 30 * a_sweep
    assert 0 <= info.all_rejections <= info.all_proposals


@pytest.mark.parametrize(
    ("options", "of_what"),
    [
        ("--approach renormalise", "proposals"),
        ("--sampler collapsed", "proposals"),
        ("--approach only-tight", "sweeps"),
    ],
)
def test_rejections_are_told_of_a_thousand_of_what_they_are_counted_by(tmp_path, capsys, options, of_what):
    (tmp_path / "grammar").write_text("S -> S S [0.5] | 'a' [0.5]\n")
    (tmp_path / "text").write_text("a a a\na a\n")
    run = tmp_path / "run"
    given = ["--sentences", str(tmp_path / "text"), "--iterations", "200", "--output", str(run)]
    assert main(["pcfg", "sample", str(tmp_path / "grammar"), *given, *options.split()]) == 0
    found = re.search(r"; ([0-9.]+) rejections in a thousand (\w+)\n", capsys.readouterr().err)
    assert found is not None
    assert found[2] == of_what
    told = json.loads((run / "summary.json").read_text())
    share = told["rejections"] / 200 if of_what == "sweeps" else 1.0 - told["acceptance"]
    assert float(found[1]) == pytest.approx(1000.0 * share, abs=0.051)
    assert of_what == "proposals" or share > 0.0


def test_proposals_of_the_only_tight_approach_are_its_tries(catalan_model, rng):
    info = draw(catalan_model, trees_only(BINARY, LEAVES, trees=TREES), "only-tight", rng, 50)
    assert info.all_proposals == 50 + info.all_rejections


def test_renormalised_catalan_mean_is_one_half(catalan_model, rng):
    data = trees_only(BINARY, LEAVES, trees=TREES)
    found = draw(catalan_model, data, "renormalise", rng, 4000, 30).probs[:, 0]
    assert abs(found.mean() - 0.5) < 6 * found.std() / np.sqrt(len(found))
    sink = draw(catalan_model, data, "sink", rng, 4000).probs[:, 0]
    assert abs(sink.mean() - 0.5) > 6 * sink.std() / np.sqrt(len(sink))


def test_only_tight_tries_are_one_over_the_tight_share(catalan_model, rng):
    data = trees_only(BINARY, LEAVES, trees=TREES)
    info = draw(catalan_model, data, "only-tight", rng, 20_000)
    share = stats.beta(ALPHA + BINARY, ALPHA + LEAVES).cdf(0.5)  # 1 − q
    tries = 1.0 + info.rejections
    error = np.sqrt(1.0 - share) / share / np.sqrt(len(tries))
    assert abs(tries.mean() - 1.0 / share) < 6 * error
    assert info.all_rejections == info.rejections.sum()
    assert np.all(info.probs[:, 0] <= 0.5)


EXACT = {"sink": 7 / 11, "only-tight": 11179 / 17221, "renormalise": 0.61989256}


def flat_share(trees):
    """The share of the tree S -> S S S, in which rule 1 is not used."""
    binary = np.add.reduceat(trees.rules == 1, trees.start[:-1])
    return binary == 0


@pytest.mark.parametrize("approach", APPROACHES)
def test_section_8_probabilities_are_reproduced(approach, ternary_model, rng):
    kernel = gibbs_kernel(ternary_model, sentences_of(3), approach, block=2000)
    state = kernel.init(rng, np.full(3, 1 / 3))
    shares = []
    for _ in range(100):
        state, info = kernel.step(rng, state)
        shares.append(flat_share(info.trees).mean())
    error = np.std(shares) / np.sqrt(len(shares) - 1)
    assert error < 0.004
    assert abs(np.mean(shares) - EXACT[approach]) < 6 * error


@pytest.mark.parametrize("sampler", ["gibbs", "collapsed"])
def test_one_reweighted_run_answers_for_all_approaches(sampler, ternary_model, rng):
    data = sentences_of(3)
    options = {"block": 30_000, "with_partition": True}
    if sampler == "gibbs":
        kernel = gibbs_kernel(ternary_model, data, "sink", **options)
    else:
        kernel = collapsed_kernel(ternary_model, data, **options)
    info = kernel.step(rng, kernel.init(rng, np.full(3, 1 / 3)))[1]
    flat = flat_share(info.trees)
    for approach, exact in EXACT.items():
        weights, effective = reweight(info.log_z, 1, approach)
        share = np.sum(weights * flat)
        # Successive draws are correlated: fewer count than the weights say.
        assert abs(share - exact) < 6 * np.sqrt(exact * (1 - exact) / (effective / 5))
        assert_allclose(weights.sum(), 1.0)


def test_log_joints_are_those_from_scratch(ternary_model, rng):
    data = sentences_of(3, 5)._replace(tree_counts=np.array([1, 0, 3]), num_trees=1)
    kernels = [gibbs_kernel(ternary_model, data, approach, block=7) for approach in APPROACHES]
    kernels.append(collapsed_kernel(ternary_model, data, block=7))
    for kernel in kernels:
        state = kernel.init(rng, np.full(3, 1 / 3))
        for _ in range(3):
            state, info = kernel.step(rng, state)
            assert_allclose(info.log_joint, kernel.log_joint(state), rtol=1e-10)


def test_every_thin_th_sweep_is_kept(ternary_model):
    data = sentences_of(3, 4)
    every = gibbs_kernel(ternary_model, data, "sink", block=12)
    third = gibbs_kernel(ternary_model, data, "sink", block=12, thin=3)
    found = []
    for kernel in (every, third):
        rng = np.random.default_rng(3)
        found.append(kernel.step(rng, kernel.init(rng, np.full(3, 1 / 3)))[1])
    assert_array_equal(found[0].probs[2::3], found[1].probs)
    assert_array_equal(found[0].rejections[2::3], found[1].rejections)
    all_trees = [
        found[0].trees.rules[a:b]
        for a, b in zip(found[0].trees.start, found[0].trees.start[1:], strict=False)
    ]
    kept = [
        found[1].trees.rules[a:b]
        for a, b in zip(found[1].trees.start, found[1].trees.start[1:], strict=False)
    ]
    expected = [all_trees[2 * sweep + at] for sweep in range(2, 12, 3) for at in range(2)]
    for mine, theirs in zip(kept, expected, strict=True):
        assert_array_equal(mine, theirs)


def test_threads_change_nothing_and_shards_are_whole(rng):
    grammar, _ = random_grammar(np.random.default_rng(1), 3)
    model = build_model(*_useful(grammar))
    sentences = [[0] * int(n) for n in np.random.default_rng(2).integers(1, 6, size=300)]
    words = np.array([word for s in sentences for word in s], dtype=np.int32)
    start = np.concatenate([[0], np.cumsum([len(s) for s in sentences])]).astype(np.int64)
    data = Data(words, start, np.zeros(len(model.prior), np.int64), 0)
    found = []
    for threads in (1, 3):
        kernel = gibbs_kernel(model, data, "renormalise", block=4, thin=2, threads=threads)
        rng = np.random.default_rng(5)
        state, info = kernel.step(rng, kernel.init(rng, np.exp(-np.ones(len(model.prior)))))
        assert_array_equal(
            np.bincount(info.trees.rules[info.trees.start[300] :], minlength=len(model.prior)), state.counts
        )
        found.append((copy_state(state), info.trees.rules))
    for mine, theirs in zip(found[0][0], found[1][0], strict=True):
        assert_array_equal(mine, theirs)
    assert_array_equal(found[0][1], found[1][1])


def _useful(grammar):
    from monolingual.pcfg.graph import without_useless

    smaller, _ = without_useless(grammar)
    return smaller, np.full(len(smaller.rhs_start) - 1, 0.5)


def sampled(seed, approach, tmp):
    """A few sweeps, for the interpreted twin."""
    import pathlib

    model = build_model(grammar_of(TERNARY, pathlib.Path(tmp))[0], np.array([0.3, 1.0, 2.0]))
    rng = np.random.default_rng(seed)
    data = sentences_of(3, 4)
    if approach == "collapsed":
        kernel = collapsed_kernel(model, data, block=5, with_partition=True)
    else:
        kernel = gibbs_kernel(model, data, approach, block=5)
    info = kernel.step(rng, kernel.init(rng, np.array([0.2, 0.3, 0.5])))[1]
    return info.probs, info.rejections, info.trees.rules, info.log_z


@pytest.mark.parametrize("approach", [*APPROACHES, "collapsed"])
def test_compiled_and_interpreted_samplers_make_the_same_choices(approach, tmp_path):
    mine, twin = sampled(4, approach, str(tmp_path)), interpreted(sampled, 4, approach, str(tmp_path))
    assert_allclose(mine[0], twin[0], rtol=1e-12)
    assert_array_equal(mine[1], twin[1])
    assert_array_equal(mine[2], twin[2])
    assert_allclose(mine[3], twin[3], rtol=1e-12, atol=1e-14)


def test_a_posterior_without_tight_grammars_is_given_up(ternary_model, rng):
    with pytest.raises(SettingsError, match=r"100,000 grammars in a row were not tight"):
        draw(ternary_model, trees_only(10_000, 0, 10, trees=1), "only-tight", rng, 1)


@pytest.mark.parametrize("number", [3, 300])
@pytest.mark.parametrize("approach", APPROACHES)
def test_sentences_without_a_tree_are_refused(number, approach, tmp_path, rng):
    """Few sentences at once, and many in shards."""
    model = build_model(grammar_of("S -> 'a' | 'a' 'a'", tmp_path)[0], np.ones(2))
    draw(model, sentences_of(*[2] * number)._replace(tree_counts=np.zeros(2, np.int64)), approach, rng, 1)
    data = sentences_of(*[2] * (number - 1), 3)._replace(tree_counts=np.zeros(2, np.int64))
    with pytest.raises(SettingsError, match="a sentence has no tree whose probability can be represented"):
        draw(model, data, approach, rng, 1)


def test_shards_keep_the_trees_of_every_sentence_and_count_those_that_are_given(rng, tmp_path):
    """Sentences of 1 to 5 words, each with a rule of its own."""
    text = "S -> " + " | ".join(" ".join(["'a'"] * n) for n in range(1, 6))
    model = build_model(grammar_of(text, tmp_path)[0], np.ones(5))
    lengths = rng.integers(1, 6, size=301)
    given = np.array([0, 7, 0, 0, 2])
    data = sentences_of(*lengths)._replace(tree_counts=given, num_trees=9)
    kernel = gibbs_kernel(model, data, "sink", block=6, thin=2)
    state, info = kernel.step(rng, kernel.init(rng, np.full(5, 0.2)))
    assert_array_equal(info.trees.start, np.arange(3 * 301 + 1))
    assert_array_equal(info.trees.rules, np.tile(lengths - 1, 3))
    assert_array_equal(state.counts, given + np.bincount(lengths - 1, minlength=5))
    assert info.all_proposals == 6


def test_priors_are_checked(tmp_path):
    grammar, _ = grammar_of("S -> A A | 'a'\nA -> 'b'", tmp_path)
    assert_array_equal(nonterminal_prior(grammar, {"A": 3.0}, 0.5), [0.5, 0.5, 3.0])
    with pytest.raises(SettingsError, match="names B, which is not a nonterminal"):
        nonterminal_prior(grammar, {"B": 3.0}, 0.5)
    with pytest.raises(SettingsError, match="must be positive and finite"):
        build_model(grammar, np.array([1.0, 0.0, 1.0]))
    useless, _ = grammar_of("S -> 'a' | S U\nU -> U U", tmp_path)
    with pytest.raises(SettingsError, match="2 useless rules, such as S -> S U"):
        build_model(useless, np.ones(3))


def test_reweighting_without_tight_draws_is_refused():
    with pytest.raises(SettingsError, match="no draw is tight"):
        reweight(np.array([-0.5, -0.1]), 3, "only-tight")
    with pytest.raises(SettingsError, match="choose one of only-tight, renormalise, sink"):
        reweight(np.zeros(2), 3, "tight")
    # Of weights that span hundreds of orders of magnitude the largest survive.
    assert_allclose(reweight(np.array([0.0, -2.0]), 10_000, "renormalise").weights, [0.0, 1.0])
