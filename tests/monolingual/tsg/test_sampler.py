"""The TSG sampler: its probabilities against naive ones, mixing, hyperparameters, runs."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from monolingual.cli import main
from monolingual.tsg.fragments import format_fragment, read_fragments, seated_fragments
from monolingual.tsg.hyperparameters import draw_tables, log_seats
from monolingual.tsg.marginals import NodeCounts
from scfg_sampler.core.chains import driver
from scfg_sampler.core.chains.chain import Sweep
from scfg_sampler.core.chains.kernel import copy_state
from scfg_sampler.core.fragments.density import log_joint as restaurants_log_joint
from tests.monolingual.tsg.seatings import seating_posterior_of
from tests.monolingual.tsg.treebanks import TREEBANKS, chain_of, cuts_of, posterior_of, start_at, tree_of
from tests.oracles.elementary_trees import bases, elementary_trees, log_joint


def naive_log_joint(name, base, cuts, concentration, stop):
    trees = [tree_of(text) for text in TREEBANKS[name]]
    fragments = [e for tree, bits in zip(trees, cuts, strict=True) for e in elementary_trees(tree, bits)]
    return log_joint(fragments, bases(trees, base), concentration, stop)


@pytest.mark.parametrize(("name", "base"), list(itertools.product(TREEBANKS, ("uniform", "pcfg"))))
def test_log_joint_is_that_of_the_naive_model(name, base, rng):
    chain = chain_of(name, base=base, concentration=None, stop=None)
    labels = chain.treebank.productions.labels
    state = chain.kernel.init(rng, None)
    for _ in range(5):
        strength, expand = rng.gamma(1.0, size=len(labels)), rng.beta(2, 2, size=len(labels))
        state, _ = chain.kernel.step(rng, state)
        state = start_at(chain, cuts_of(chain, state), rng, expand)
        state.restaurants.strength[:] = strength
        given = dict(zip(labels, strength, strict=True)), dict(zip(labels, 1 - expand, strict=True))
        naive = naive_log_joint(name, base, cuts_of(chain, state), *given)
        # Γ(0.001, scale 1000) of every concentration, up to a constant; β is uniform.
        prior = float(np.sum(-0.999 * np.log(strength) - strength / 1000.0))
        assert chain.kernel.log_joint(state) == pytest.approx(naive + prior, abs=1e-9)


def cut_shares(chain, state, rng, sweeps):
    """Of the sweeps in which a node was in the tree, the share in which it was cut."""
    nodes = NodeCounts(chain.treebank)
    for index in range(sweeps):
        state, info = chain.kernel.step(rng, state)
        nodes(Sweep(index, state, info))
    return nodes.counts[:, 1] / nodes.counts[:, 0]


def cuts_under_a_discount(name, discount, given):
    """The exact posterior of the cut bits, whatever the seating."""
    posterior = Counter()
    for (cuts, _), prob in seating_posterior_of(name, discount=discount, **given).items():
        posterior[cuts] += prob
    return posterior


@pytest.mark.slow
@pytest.mark.parametrize("discount", [0.0, 0.1])
def test_type_moves_find_the_exact_marginals_where_single_sites_stick(discount, rng):
    """Two equal trees under P_M: both cut, or neither, and next to nothing between.

    Shares of 3,000 sweeps, thinned by ten: a deviation of 0.03 at the worst, so a false alarm at 0.15 is
    below one in a million.
    """
    name, given = "two larger trees", {"base": "uniform", "concentration": 1e-4, "stop": 0.5}
    posterior = cuts_under_a_discount(name, discount, given) if discount else posterior_of(name, **given)
    exact = sum(prob * np.concatenate(cuts) for cuts, prob in posterior.items())
    assert ((exact > 0.2) & (exact < 0.8)).any()
    departures = {}
    for moves in (("single",), ("single", "type")):
        chain = chain_of(name, moves=moves, discount=discount, **given)
        state = chain.kernel.init(rng, None)
        shares = cut_shares(chain, state, rng, 3000)
        below = np.setdiff1d(np.arange(len(shares)), chain.treebank.node_start)
        departures[moves] = np.abs(shares[below] - exact).max()
    assert departures["single", "type"] < 0.15
    assert departures["single",] > 0.15


@pytest.mark.slow
def test_block_moves_agree_with_single_ones_under_a_discount(rng):
    """Where seats are a part of the state. Shares of 20,000 sweeps: 0.03 is beyond five standard errors."""
    shares = []
    for moves in (("single",), ("block",)):
        chain = chain_of("shared parts", moves=moves, discount=0.5)
        state = chain.kernel.init(rng, None)
        shares.append(cut_shares(chain, state, rng, 20_000))
    assert np.abs(shares[0] - shares[1]).max() < 0.03


def test_elementary_trees_are_those_of_the_derivations(rng):
    for name in TREEBANKS:
        chain = chain_of(name)
        state = chain.kernel.init(rng, None)
        for _ in range(10):
            state, _ = chain.kernel.step(rng, state)
            found, _ = seated_fragments(chain.treebank, state.restaurants, state.trees)
            trees = [tree_of(text) for text in TREEBANKS[name]]
            expected = Counter(
                e
                for tree, bits in zip(trees, cuts_of(chain, state), strict=True)
                for e in elementary_trees(tree, bits)
            )
            assert {as_tuple(fragment): count for fragment, count in found} == expected


def as_tuple(part):
    return part if isinstance(part, str) else (part.label, *map(as_tuple, part.children))


@pytest.mark.parametrize("discount", [0.0, 0.4])
@pytest.mark.parametrize("name", ["entries", "log_base", "stratum_customers", "stratum_tables", "strength"])
def test_a_recount_finds_what_is_wrong_with_the_restaurants(name, discount, rng):
    """And does not mend it: the state is as it was."""
    chain = chain_of("shared parts", discount=discount)
    state, info = chain.kernel.step(rng, chain.kernel.init(rng, None))
    assert chain.kernel.log_joint(state) == pytest.approx(info.log_joint, abs=1e-9)
    array = getattr(state.restaurants, name)
    at = int(np.flatnonzero(state.restaurants.entries[:, 1])[0]) if name in ("entries", "log_base") else 0
    array[(at, 1) if name == "entries" else at] += 1
    damaged = copy_state(state)
    with pytest.raises(AssertionError, match=f"not those of the derivations: {name}"):
        chain.kernel.log_joint(state)
    assert all(np.array_equal(a, b) for a, b in zip(damaged.restaurants, state.restaurants, strict=True))


def test_a_recount_finds_a_stop_probability_that_is_not_the_one_set(rng):
    chain = chain_of("shared parts")
    state = chain.kernel.init(rng, None)
    state.expand[0] = 0.5
    with pytest.raises(AssertionError, match=r"expand is not 1 - 0\.3 as set"):
        chain.kernel.log_joint(state)


# --- hyperparameters --------------------------------------------------------------------------------------


def test_seats_have_the_probability_of_the_restaurants(rng):
    for discount in (0.0, 0.4):
        chain = chain_of("recursive", discount=discount)
        restaurants = chain.kernel.init(rng, None).restaurants
        differences = []
        for strength in (0.5, 7.0):
            restaurants.strength[:] = strength
            total = np.empty(len(restaurants.strength))
            log_seats(restaurants, restaurants.strength, total)
            differences.append(total.sum() - restaurants_log_joint(restaurants))
        assert differences[0] == pytest.approx(differences[1], abs=1e-9)


def test_tables_are_drawn_from_their_posterior(rng):
    """A dish with three customers: P(t | n) ∝ (α P₀)^t × Stirling numbers 2, 3, 1; chi-square at 1e-6."""
    chain = chain_of("recursive")
    restaurants = chain.kernel.init(rng, None).restaurants
    slot = int(np.flatnonzero(restaurants.entries[:, 1])[0])
    restaurants.entries[:, 1] = 0
    restaurants.entries[slot, 1] = 3
    restaurants.log_base[slot] = math.log(0.25)
    base = 0.25 * restaurants.strength[restaurants.stratum[slot]]
    tables, counts = np.zeros(len(restaurants.stratum), np.int64), Counter()
    for _ in range(20_000):
        draw_tables(rng, restaurants, tables)
        counts[int(tables[slot])] += 1
    weights = np.array([2 * base, 3 * base**2, base**3])
    assert stats.chisquare([counts[1], counts[2], counts[3]], 20_000 * weights / weights.sum()).pvalue > 1e-6


@pytest.mark.slow
def test_learnt_hyperparameters_have_the_exact_posterior(rng):
    """β on one tree, summed over the derivations: its mean to within five standard errors of long chains."""
    name, grid = "one chain", np.linspace(0.0005, 0.9995, 1000)
    log_weights = []
    for stop in grid:
        given = dict.fromkeys("SA", 2.0), dict.fromkeys("SA", stop)
        joints = [
            naive_log_joint(name, "pcfg", cuts, *given) for cuts in posterior_of(name, "pcfg", stop=0.5)
        ]
        log_weights.append(np.logaddexp.reduce(joints))
    weights = np.exp(log_weights - np.max(log_weights))
    exact = float(weights @ grid / weights.sum())
    chain = chain_of(name, base="pcfg", stop=None)
    state, drawn = chain.kernel.init(rng, None), []
    label = chain.treebank.productions.labels.index("A")
    for _ in range(20_000):
        state, _ = chain.kernel.step(rng, state)
        drawn.append(1.0 - state.expand[label])
    blocks = np.mean(np.reshape(drawn, (100, -1)), axis=1)
    assert abs(blocks.mean() - exact) < 5 * blocks.std() / 10


@pytest.mark.slow
def test_learnt_concentration_has_the_exact_posterior(rng):
    """The mean of ln (1 + α) of A, summed over derivations and integrated; five standard errors."""
    name, logs = "recursive", np.linspace(-14.0, 10.0, 400)
    chain = chain_of(name, base="pcfg", concentration=None)
    log_weights = []
    for log_alpha in logs:
        alpha = math.exp(log_alpha)
        given = {"S": 1.0, "A": alpha}, dict.fromkeys("SA", 0.3)
        joints = [naive_log_joint(name, "pcfg", cuts, *given) for cuts in posterior_of(name, "pcfg")]
        # A Gamma(0.001, scale 1000) density of α, and dα = α d ln α.
        log_weights.append(np.logaddexp.reduce(joints) + 0.001 * log_alpha - alpha / 1000.0)
    weights = np.exp(log_weights - np.max(log_weights))
    exact = float(weights @ np.log1p(np.exp(logs)) / weights.sum())
    state, drawn = chain.kernel.init(rng, None), []
    label = chain.treebank.productions.labels.index("A")
    for _ in range(40_000):
        state, _ = chain.kernel.step(rng, state)
        drawn.append(math.log1p(state.restaurants.strength[label]))
    blocks = np.mean(np.reshape(drawn, (40, -1)), axis=1)
    assert abs(blocks.mean() - exact) < 5 * blocks.std() / math.sqrt(40)


# --- runs -------------------------------------------------------------------------------------------------


@pytest.fixture
def treebank_file(tmp_path):
    path = tmp_path / "trees.mrg"
    path.write_text("(S (NP (D the) (N dog)) (VP (V sees) (NP (D the) (N cat))))\n" * 3 + "(S (A a) (B b))\n")
    return path


def train(*arguments):
    return main(["tsg", "train", *map(str, arguments), "--quiet"])


def test_training_writes_marginals_and_a_grammar(treebank_file, tmp_path):
    out = tmp_path / "run"
    options = ["--unknown", "none", "--iterations", 40, "--marginals", "--check", "--states", 2, "--thin", 5]
    assert train(treebank_file, "--output", out, *options) == 0
    marginals = json.loads((out / "marginals.json").read_text())
    assert marginals["sweeps"] == 20
    nodes = marginals["trees"][0]["nodes"]
    assert [(node["label"], node["span"]) for node in nodes] == [
        ("NP", [0, 2]), ("D", [0, 1]), ("N", [1, 2]), ("VP", [2, 5]), ("V", [2, 3]), ("NP", [3, 5]),
        ("D", [3, 4]), ("N", [4, 5]),
    ]  # fmt: skip
    assert all(0.0 <= node["cut"] <= 1.0 for node in nodes)
    assert len(read_fragments(out / "grammar.tsg.gz")) > 0
    assert len(list(out.glob("samples/*.tsg.gz"))) == 2
    assert "(S (NP ) (VP ))" in [format_fragment(tree) for tree, _ in read_fragments(out / "pcfg.tsg.gz")]


def test_states_of_a_run_that_was_to_be_shorter_go(treebank_file, tmp_path):
    """Ten states of 40 sweeps after a burn-in of ten are three sweeps apart, of 20 sweeps one."""
    run = tmp_path / "run"
    options = ["--unknown", "none", "--burn-in", "10", "--anneal", "5:1:10", "--quiet"]
    assert (
        main(["tsg", "train", str(treebank_file), "--output", str(run), "--iterations", "20", *options]) == 0
    )
    kept = [int(path.name[6:13]) for path in sorted((run / "samples").iterdir())]
    assert kept == list(range(11, 21))
    assert main(["tsg", "resume", str(run), "--iterations", "40", "--quiet"]) == 0
    kept = [int(path.name[6:13]) for path in sorted((run / "samples").iterdir())]
    assert kept == [13, 16, 19, *range(22, 41, 3)]


def test_workers_of_a_run_that_goes_on_in_one_shard_are_warned_of(treebank_file, tmp_path, capsys):
    run = tmp_path / "run"
    assert train(treebank_file, "--output", run, "--iterations", "2", "--quiet") == 0
    assert main(["tsg", "resume", str(run), "--iterations", "3", "--workers", "1", "--quiet"]) == 0
    assert capsys.readouterr().err == "warning: there is one shard, which is swept here\n"


def test_states_of_two_lengths_of_a_run_are_not_taken_together(treebank_file, tmp_path, monkeypatch, capsys):
    def stopped(*arguments, **more):
        yield from itertools.islice(real(*arguments, **more), 15)
        raise KeyboardInterrupt

    run, real = tmp_path / "run", driver.run_chain
    assert train(treebank_file, "--output", run, "--iterations", "20", "--states", "4", "--quiet") == 0
    parse = ["tsg", "parse", str(run), "--input", str(treebank_file), "--format", "trees", "--quiet"]
    assert main([*parse, "--average", "0"]) == 0
    before = capsys.readouterr().out
    with monkeypatch.context() as patch:
        patch.setattr(driver, "run_chain", stopped)
        assert main(["tsg", "resume", str(run), "--iterations", "40", "--quiet"]) == 130
    assert main(parse) == 2
    assert "run: is not finished, and has states of before it was prolonged" in capsys.readouterr().err
    assert main([*parse, "--average", "0"]) == main([*parse, "--model", "pcfg"]) == 0
    assert capsys.readouterr().out.startswith(before)
    assert main(["tsg", "resume", str(run), "--quiet"]) == main(parse) == 0


@pytest.mark.parametrize("more", [[], ["--discount", 0.3], ["--moves", "single,block,type"]])
def test_a_resumed_run_is_that_of_one_never_interrupted(treebank_file, tmp_path, more):
    through, halves = tmp_path / "through", tmp_path / "halves"
    fixed = ["--burn-in", 5, "--marginals", "--check", *more]
    assert train(treebank_file, "--output", through, "--iterations", 20, *fixed) == 0
    assert train(treebank_file, "--output", halves, "--iterations", 10, *fixed) == 0
    assert main(["tsg", "resume", str(halves), "--iterations", "20", "--check", "--quiet"]) == 0
    for name in ("trace.tsv", "marginals.json", "parameters.tsv"):
        assert (through / name).read_text() == (halves / name).read_text()


def test_what_is_left_is_told_of_a_run_that_is_gone_on_with(treebank_file, tmp_path, monkeypatch, capsys):
    """Not at the rate of all sweeps there are."""
    run = tmp_path / "run"
    assert train(treebank_file, "--output", run, "--iterations", 40, "--anneal", "1:1:0") == 0
    monkeypatch.setattr("scfg_sampler.core.console.SECONDS_BETWEEN_LINES", 0.0)
    assert main(["tsg", "resume", str(run), "--iterations", "42"]) == 0
    told = [line.split(",")[0] for line in capsys.readouterr().err.splitlines() if " of " in line]
    assert {line for line in told if line.startswith("sampling: ")} == {
        "sampling: 1 of 2",
        "sampling: 2 of 2",
    }


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--concentration", "-1"], "-1; it must be above 0 and 1e+15 at most, or 'learn'"),
        (["--concentration", "1e16"], "--concentration is 1e+16; it must be above 0 and 1e+15 at most"),
        (["--concentration", "much"], "--concentration is 'much'; give a number, or 'learn'"),
        (["--stop", "1"], "--stop is 1; it must be at least 1e-09 and below 1"),
        (["--stop", "1e-300"], "--stop is 1e-300; it must be at least 1e-09 and below 1"),
        (["--moves", "single,twist"], "--moves is 'single,twist'"),
        (["--anneal", "5:1"], "--anneal is '5:1'; give START:END:SWEEPS"),
        (["--burn-in", "1000"], "--burn-in is 1000; it must be at least 0 and below --iterations"),
        (["--marginals", "--anneal", "5:1:900"], "--marginals counts sweeps at temperature 1 only"),
        (["--marginals", "--anneal", "5:3:10"], "--anneal ends at 3: let it end at 1"),
        (["--marginals", "--anneal", "1:2:10"], "--anneal ends at 2: let it end at 1"),
        (["--states", "100", "--thin", "10"], "do not fit into the"),
        (["--discount", "1"], "--discount is 1"),
        (["--rare", "-1"], "--rare is -1"),
    ],
)
def test_settings_out_of_range_are_refused(options, complaint, treebank_file, tmp_path, capsys):
    assert train(treebank_file, "--output", tmp_path / "run", *options) == 2
    errors = capsys.readouterr().err
    assert complaint in errors
    assert errors.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "warned"),
    [
        (["--moves", "single", "--type-every", 2], "--type-every does nothing without --moves type"),
        (["--moves", "type", "--type-every", 2], None),
        (["--states", 0, "--thin", 2], "--thin does nothing without --states"),
        (["--states", 2, "--thin", 2], None),
        (["--unknown", "none", "--rare", 3], "--rare does nothing without --unknown signature"),
        (["--heads", "none.txt"], "--heads does nothing without --binarise head"),
        (
            ["--binarise", "none", "--horizontal", 2],
            "--horizontal does nothing without --binarise right, left or head",
        ),
        (["--pack", "spans"], "--pack does nothing without --nbest-lists"),
        (["--labels", "A,B"], "--labels does nothing without --brackets or --sentences"),
        (["--tag-set", "A,B"], "--tag-set does nothing without --brackets or --sentences"),
        (["--root", "R"], "--root does nothing without --brackets or --sentences"),
        (["--max-length", 3], "--max-length does nothing without --brackets or --sentences"),
    ],
)
def test_options_without_effect_are_warned_of(options, warned, treebank_file, tmp_path, capsys):
    assert train(treebank_file, "--output", tmp_path / "run", "--iterations", 8, *options) == 0
    found = [line for line in capsys.readouterr().err.splitlines() if "does nothing" in line]
    assert found == ([] if warned is None else [f"warning: {warned}"])


@pytest.mark.parametrize(
    "option",
    [
        ("--base", "uniform"),
        ("--concentration", 2),
        ("--discount", 0.5),
        ("--moves", "single"),
        ("--visit-order", "top-down"),
        ("--iterations", 8),
        ("--burn-in", 2),
        ("--anneal", "5:1:2"),
        ("--seed", 3),
        ("--shards", 2),
        ("--thin", 2),
        ("--checkpoint-every", 5),
        ("--check",),
    ],
    ids=lambda option: option[0],
)
def test_options_of_chains_do_nothing_with_double_dop(option, treebank_file, tmp_path, capsys):
    double = (treebank_file, "--output", tmp_path / "run", "--method", "2dop", "--quiet")
    assert train(*double) == 0
    assert train(*double, "--overwrite", *option) == 0
    assert capsys.readouterr().err == f"warning: {option[0]} does nothing without --method gibbs\n"


@pytest.mark.parametrize(
    ("more", "is_told"),
    [
        (["--anneal", "3:1:5"], True),
        (["--anneal", "3:1:4"], False),
        (["--anneal", "1:1:9"], False),
        (["--anneal", "3:1:5", "--burn-in", "5"], False),
        ([], False),
    ],
)
def test_states_at_other_temperatures_are_warned_of(treebank_file, tmp_path, capsys, more, is_told):
    assert train(treebank_file, "--output", tmp_path / "run", "--iterations", "8", "--quiet", *more) == 0
    told = "--anneal takes 5 sweeps and --burn-in is 4, so that states at other temperatures are kept"
    assert capsys.readouterr().err == (f"warning: {told}\n" if is_told else "")


def test_a_directory_with_a_run_is_not_overwritten(treebank_file, tmp_path, capsys):
    assert train(treebank_file, "--output", tmp_path / "run", "--iterations", 2) == 0
    assert train(treebank_file, "--output", tmp_path / "run", "--iterations", 2) == 2
    assert "holds a run already" in capsys.readouterr().err
    assert train(treebank_file, "--output", tmp_path / "run", "--iterations", 2, "--overwrite") == 0
    assert main(["tsg", "resume", str(tmp_path / "run")]) == 2
    assert main(["tsg", "resume", str(tmp_path)]) == 2
    assert main(["tsg", "resume", str(tmp_path / "run"), "--iterations", "1"]) == 2
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    del record["nodes"], record["settings"]["moves"]
    (tmp_path / "run" / "run.json").write_text(json.dumps({**record, "settings": {"approach": "sink"}}))
    assert main(["tsg", "resume", str(tmp_path / "run"), "--iterations", "3"]) == 2
    errors = capsys.readouterr().err
    assert "has 2 sweeps already" in errors
    assert "--iterations is 1; the run was started with a burn-in of 1: give more" in errors
    assert "is damaged, or not that of 'tsg train'" in errors
    assert "is not a run directory" in errors
