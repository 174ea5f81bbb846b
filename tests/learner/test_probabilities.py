"""The learner's probabilities, their parameters' posterior, and what it says of rules: the oracle's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from scfg_sampler.cli import main
from scfg_sampler.learner import hyperparameters
from scfg_sampler.learner.settings import BASES, LearnerSettings
from scfg_sampler.learner.settings import MODELS as KINDS
from scfg_sampler.rules.table import read_rule_table, rule
from scfg_sampler.rules.text import format_rule
from tests.learner.corpora import chain_on, spelled_dishes, state_key
from tests.learner.test_chain import some_pairs
from tests.learner.test_commands import sample, write_corpus
from tests.oracles import rule_model
from tests.oracles.phrase_forest import sentence

PAIRS = [
    sentence("a b a", "A B A", "0-0 1-1 2-2"),
    sentence("a x b", "B A", "0-1 2-0"),
]
MODELS = {
    "estimated": {},
    "exact": {"tables": "exact"},
    "d = 0": {"discount": 0.0},
    "lexical": {"base": "lexical"},
    "lexical, exact": {"base": "lexical", "tables": "exact"},
    "null words, exact": {"base": "null-words", "tables": "exact"},
    "dirichlet": {"model": "dirichlet", "strength": 100.0},
}
LEARNED = {
    "estimated": ("discount", "strength", "mean_length"),
    "exact": ("discount", "strength", "mean_length"),
    "d = 0": ("strength", "mean_length"),
    "lexical": ("mean_length", "discount"),
    "lexical, exact": ("discount", "strength", "mean_length"),
    "null words, exact": ("discount", "strength", "mean_length"),
    "dirichlet": ("strength",),
}


def parameters_of(state) -> dict[str, float]:
    return {
        "discount": float(state.restaurants.discount[0]),
        "strength": float(state.restaurants.strength[0]),
        "mean_length": float(state.mean_length[0]),
    }


def expected_log_joint(chain, spelled, state, **parameters) -> float:
    """ln P of a state and of the learned parameters, by the oracle."""
    model = rule_model.model_of(chain.settings, PAIRS, **parameters_of(state) | parameters)
    seating = {spelled[dish]: sizes for dish, sizes in state_key(state)[1]}
    return rule_model.log_joint(model, seating) + rule_model.log_prior(chain.settings.learned, model)


@pytest.mark.parametrize("name", MODELS)
def test_log_joint_of_a_sweep_is_that_of_its_rules(name):
    chain = chain_on(PAIRS, max_cut_span=0, **MODELS[name])
    spelled = spelled_dishes(chain, PAIRS)
    rng = np.random.default_rng(4)
    state = chain.kernel.init(rng, None)
    for _ in range(4):
        state, info = chain.kernel.step(rng, state)
        assert info.log_joint == pytest.approx(expected_log_joint(chain, spelled, state), abs=1e-8)


@pytest.mark.parametrize("name", MODELS)
def test_log_joint_stays_that_of_the_rules_while_parameters_move(name):
    chain = chain_on(PAIRS, max_cut_span=0, learned=LEARNED[name], **MODELS[name])
    spelled = spelled_dishes(chain, PAIRS)
    rng = np.random.default_rng(5)
    state = chain.kernel.init(rng, None)
    seen = []
    for _ in range(4):
        state, info = chain.kernel.step(rng, state)
        seen.append([parameters_of(state)[each] for each in LEARNED[name]])
        assert info.log_joint == pytest.approx(expected_log_joint(chain, spelled, state), abs=1e-8)
    assert (np.ptp(seen, axis=0) > 1e-3).all()


@pytest.mark.parametrize("name", MODELS)
def test_parameters_are_drawn_from_their_posterior_on_a_scale_without_borders(name, monkeypatch):
    """What slice sampling is given is, up to a constant, joint × prior × Jacobian of the scale."""
    chain = chain_on(PAIRS, max_cut_span=0, learned=LEARNED[name], **MODELS[name])
    spelled = spelled_dishes(chain, PAIRS)
    asked = []

    def record(rng, log_density, start, **options):
        grid = start + np.array([0.0, -2.0, -0.7, 0.4, 1.9])
        asked.append((grid, [log_density(x) for x in grid]))
        return start

    monkeypatch.setattr(hyperparameters, "slice_sample", record)
    rng = np.random.default_rng(6)
    state, _ = chain.kernel.step(rng, chain.kernel.init(rng, None))
    assert len(asked) == len(LEARNED[name])
    for parameter, (grid, found) in zip(LEARNED[name], asked, strict=True):
        is_share = parameter == "discount"
        values = 1.0 / (1.0 + np.exp(-grid)) if is_share else np.exp(grid)
        assert values[0] == pytest.approx(getattr(chain.settings, parameter))
        expected = [
            expected_log_joint(chain, spelled, state, **{parameter: value})
            + rule_model.log_jacobian(parameter, value)
            for value in values.tolist()
        ]
        assert_allclose(np.subtract(found, found[0]), np.subtract(expected, expected[0]), atol=1e-7)


def test_every_base_and_every_model_has_a_case():
    """The sweep and LogPosterior each have a formula of their own for it, and all tests here compare both."""
    cases = [LearnerSettings(**settings) for settings in MODELS.values()]
    assert {settings.base for settings in cases} == set(BASES)
    assert {settings.model for settings in cases} == set(KINDS)


@pytest.mark.parametrize("name", MODELS)
def test_posterior_of_a_rule_is_its_predictive_probability(name, tmp_path):
    """Of expected counts and of those of one state: the feature LogPosterior of the tables of counts."""
    table_as_the_oracle_has_it(tmp_path, some_pairs(), MODELS[name])


def table_as_the_oracle_has_it(directory, pairs, settings) -> None:
    options = [f"--{key}={value}" for key, value in settings.items()]
    corpus = write_corpus(directory, pairs)
    assert sample(corpus, directory / "run", "--iterations", "8", "--burn-in", "2", *options) == 0
    model = rule_model.model_of(LearnerSettings(**settings), pairs)
    for origin in ("marginal", "last"):
        table = read_rule_table(directory / "run" / "counts" / f"{origin}.gz")
        spelled = [tuple(format_rule(rule(table, row)).split(" ||| ")[1:3]) for row in range(table.num_rules)]
        column = table.features[:, table.feature_names.index("LogPosterior")].tolist()
        expected = rule_model.log_predictive(model, dict(zip(spelled, table.count.tolist(), strict=True)))
        assert_allclose(column, [expected[each] for each in spelled], rtol=2e-6)


def test_average_is_over_the_states_before_every_so_many_sweeps_the_last_included(tmp_path):
    """Before sweeps 0, 2 and 4; of which the first state has every node cut."""
    corpus = write_corpus(tmp_path, some_pairs())
    tables = []
    for until in (0, 4):
        run = tmp_path / f"until-{until}"
        more = ["--average-every", "2", "--average-until", str(until), "--iterations", "6"]
        assert sample(corpus, run, *more, "--burn-in", "1") == 0
        tables.append(read_rule_table(run / "counts" / "average.gz"))
    trace = np.genfromtxt(run / "trace.tsv", names=True)
    rules = [tables[0].count.sum(), trace["rules"][1], trace["rules"][3]]
    assert tables[1].count.sum() == pytest.approx(np.mean(rules), rel=1e-6)
    assert "states:3" in tables[1].signature


def unaligned_pairs() -> list:
    """Sentences with a word between two linked ones, on one side; z and x have a link now and then."""
    rng = np.random.default_rng(8)
    pairs = []
    for _ in range(20):
        a, b, c = (str(word) for word in rng.choice(["p", "q", "r"], 3))
        word = str(rng.choice(["x", "y"]))
        pairs += [
            sentence(f"{a} {word} {b}", f"{b} {a}", "0-1 2-0"),
            sentence(f"{a} {c} {b}", f"{a} {c} z {b}", "0-0 1-1 2-3"),
        ]
    return [*pairs, sentence("x p", "z p", "0-0 1-1"), sentence("p s", "p z t", "0-0 1-1")]


def test_rules_with_words_on_one_side_have_the_shares_of_their_words(tmp_path):
    """In the joint of a sweep, and in LogPosterior."""
    pairs = [sentence("a x b", "B A", "0-1 2-0"), sentence("a b", "A z B", "0-0 1-2")]
    pairs += [sentence("x", "z", "0-0"), sentence("a", "z", "0-0")]
    chain = chain_on(pairs, max_cut_span=0, tables="exact", base="null-words")
    spelled = spelled_dishes(chain, pairs)
    state = chain.kernel.init(np.random.default_rng(4), None)  # Every node is cut.
    seating = {spelled[dish]: sizes for dish, sizes in state_key(state)[1]}
    assert {("[X,1] x [X,2]", "[X,2] [X,1]"), ("[X,1] [X,2]", "[X,1] z [X,2]")} <= seating.keys()
    expected = rule_model.log_joint(rule_model.model_of(chain.settings, pairs), seating)
    assert chain.kernel.log_joint(state) == pytest.approx(expected, abs=1e-8)
    table_as_the_oracle_has_it(tmp_path, unaligned_pairs(), {"base": "null-words"})


HAND_MADE = """\
[X] ||| [X,1] a [X,2] ||| [X,2] B [X,1] ||| LogCount=1.386294 LogPosterior=-1
[X] ||| a ||| A ||| LogCount=1.609438 LogPosterior=-1 ||| 0-0
[X] ||| a ||| B ||| LogCount=1.945910 LogPosterior=-2
[X] ||| a ||| C ||| LogCount=0.693147 LogPosterior=-3 ||| 0-0
[X] ||| b ||| A ||| LogCount=1.098612 LogPosterior=-4
[X] ||| b ||| B ||| LogCount=0 LogPosterior=-5 ||| 0-0
"""


def test_rules_that_are_filtered_make_denominators_but_take_no_place(tmp_path):
    """Counts 5, 7 and 2 of targets of `a`; Hiero's constraints drop the 7, which has no link, and others."""
    corpus = write_corpus(tmp_path, [sentence("a b", "A B", "0-0 1-1"), sentence("a", "C", "0-0")])
    run, table = tmp_path / "run", tmp_path / "table"
    assert sample(corpus, run, "--iterations", "2", "--burn-in", "1") == 0
    (run / "counts" / "last.gz").write_text(HAND_MADE)
    more = ["--from", "last", "--filter", "hiero", "--max-targets", "1", "--output", str(table), "--quiet"]
    assert main(["grammar", str(run), *more]) == 0
    read = read_rule_table(table)
    found = {}
    for row in range(read.num_rules):
        entry = rule(read, row)
        found[entry.source, entry.target] = (entry.features["LogForward"], entry.features["LogBackward"])
    assert found.keys() == {(("a",), ("A",)), (("b",), ("B",))}
    shares = {(("a",), ("A",)): (5 / 14.5, 5 / 8.5), (("b",), ("B",)): (1 / 4.5, 1 / 8.5)}
    for key, probs in shares.items():
        assert_allclose(found[key], [math.log(prob) for prob in probs], rtol=1e-5)
