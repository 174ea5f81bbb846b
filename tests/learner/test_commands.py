"""The learner's commands as a user runs them."""

from __future__ import annotations

import gzip
import itertools
import json
import math
import re

import numpy as np
import pytest

import scfg_sampler
from scfg_sampler.cli import COMMANDS, main
from scfg_sampler.core.chains.chain import read_trace
from scfg_sampler.rules.table import read_rule_table
from tests.learner.corpora import all_states, all_trees, chain_on
from tests.learner.test_chain import some_pairs
from tests.oracles import phrase_forest as oracle
from tests.oracles.phrase_forest import Sentence


def write_corpus(directory, pairs: list[Sentence]) -> list[str]:
    """Three files, and the options that name them."""
    (directory / "train.f").write_text("".join(" ".join(pair.source) + "\n" for pair in pairs))
    (directory / "train.e").write_text("".join(" ".join(pair.target) + "\n" for pair in pairs))
    lines = (" ".join(f"{s}-{t}" for s, t in sorted(pair.links)) + "\n" for pair in pairs)
    (directory / "train.a").write_text("".join(lines))
    names = {"--source": "train.f", "--target": "train.e", "--alignment": "train.a"}
    return [part for option, name in names.items() for part in (option, str(directory / name))]


def sample(options: list[str], output, *more: str) -> int:
    return main(["sample", *options, "--output", str(output), "--quiet", *more])


@pytest.mark.parametrize(
    "options",
    [
        ("--discount", "2"),
        ("--strength", "-1"),
        ("--strength", "0"),
        ("--mean-length", "-1"),
        ("--shards", "0"),
    ],
    ids=" ".join,
)
def test_refused_settings_leave_no_directory(tmp_path, capsys, options):
    corpus = write_corpus(tmp_path, [oracle.sentence("a b", "A B", "0-0 1-1")])
    assert sample(corpus, tmp_path / "run", *options) == 2
    assert f"{options[0]} is {options[1]}; it must be" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_limit_beyond_all_sentences_is_none(tmp_path):
    corpus = write_corpus(tmp_path, [oracle.sentence("a b c", "A B C", "0-0 1-1 2-2")] * 5)
    for limit in ("0", "9000000000000000000"):
        assert (
            sample(corpus, tmp_path / limit, "--iterations", "5", "--burn-in", "2", "--max-cut-span", limit)
            == 0
        )
    whole, limited = (
        (tmp_path / limit / "derivations.jsonl.gz").read_bytes() for limit in ("0", "9000000000000000000")
    )
    assert whole == limited


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_has_an_example(command, capsys):
    with pytest.raises(SystemExit) as status:
        main([command, "--help"])
    assert status.value.code == 0
    shown = capsys.readouterr().out
    assert re.search(rf"^examples?:\n(  .*\n)*?  scfg-sampler {command} ", shown, re.MULTILINE)


def test_run_directory_holds_what_is_documented(corpus_options, tmp_path):
    run = tmp_path / "run"
    assert sample(corpus_options, run, "--iterations", "12", "--burn-in", "4", "--marginals", "--check") == 0
    trace = read_trace(run / "trace.tsv")
    assert list(trace) == [
        "sweep",
        "level",
        "temperature",
        "log_joint",
        "rules",
        "types",
        "tables",
        "edges_changed",
        "cuts_changed",
        "seconds",
        "cpu_seconds",
        "acceptance",
        "discount",
        "strength",
        "mean_length",
        "evaluations",
    ]
    assert trace["sweep"].tolist() == list(range(12))
    record = json.loads((run / "run.json").read_text())
    assert record["finished"]
    assert record["run"]["seed"] == 1
    assert record["corpus"]["sentences"] == 45
    lines = gzip.decompress((run / "derivations.jsonl.gz").read_bytes()).decode().splitlines()
    assert len(lines) == 45
    last = read_rule_table(run / "counts" / "last.gz")
    assert math.isclose(last.count.sum(), trace["rules"][-1], rel_tol=1e-5)
    marginal = read_rule_table(run / "counts" / "marginal.gz")
    assert math.isclose(marginal.count.sum(), trace["rules"][4:].mean(), rel_tol=1e-5)
    assert "|states:8" in marginal.signature
    assert "|sweeps:12|seed:1" in marginal.signature
    assert "states:2" in read_rule_table(run / "counts" / "average.gz").signature


def test_an_older_run_is_not_overwritten_unasked(corpus_options, tmp_path, capsys):
    assert sample(corpus_options, tmp_path / "run", "--iterations", "2") == 0
    assert sample(corpus_options, tmp_path / "run", "--iterations", "2") == 2
    assert "holds a run already" in capsys.readouterr().err
    assert sample(corpus_options, tmp_path / "run", "--iterations", "2", "--overwrite") == 0


def test_grammar_has_the_documented_features(corpus_options, tmp_path):
    run, table = tmp_path / "run", tmp_path / "table.gz"
    assert sample(corpus_options, run, "--iterations", "12") == 0
    for origin in ("last", "average", "marginal"):
        assert main(["grammar", str(run), "--output", str(table), "--from", origin, "--quiet"]) == 0
        rules = read_rule_table(table)
        assert rules.feature_names == (
            "LogForward",
            "LogBackward",
            "LexForward",
            "LexBackward",
            "LogCount",
            "TargetWords",
            "Abstract",
            "LogPosterior",
        )
        assert "|source:train.f|target:train.e|alignment:train.a|burn_in:" in rules.signature
        assert f"from:{origin}|filter:scope2" in rules.signature
        posterior = rules.features[:, rules.feature_names.index("LogPosterior")]
        assert (posterior < 0.0).all()


@pytest.mark.parametrize(
    ("more", "origin", "told"),
    [
        (["--max-length", "4"], "last", "|max_length:4|"),
        (["--average-every", "2", "--average-until", "4"], "average", "|average_every:2|average_until:4|"),
        (["--model", "dirichlet", "--source-vocabulary", "999"], "last", "|source_vocabulary:999|"),
        (["--model", "dirichlet", "--tables", "exact"], "last", "|tables:exact|"),
    ],
)
def test_signature_names_what_makes_other_counts(corpus_options, tmp_path, more, origin, told):
    assert sample(corpus_options, tmp_path / "run", "--iterations", "4", *more) == 0
    table = tmp_path / "table.gz"
    assert main(["grammar", str(tmp_path / "run"), "--from", origin, "-o", str(table), "--quiet"]) == 0
    assert told in read_rule_table(table).signature


def test_filters_and_max_targets_only_drop_rules(corpus_options, tmp_path):
    run = tmp_path / "run"
    assert sample(corpus_options, run, "--iterations", "6") == 0
    sizes = []
    for options in (["none"], ["scope"], ["hiero"], ["scope", "--max-targets", "1"]):
        table = tmp_path / "table"
        assert main(["grammar", str(run), "--output", str(table), "--quiet", "--filter", *options]) == 0
        rules = {line.split(" ||| LogForward")[0] for line in table.read_text().splitlines()[1:]}
        sizes.append(rules)
    everything, scope, hiero, single = sizes
    assert single < scope < everything
    assert hiero < everything
    assert len({line.split(" ||| ")[1] for line in single}) == len(single)


@pytest.mark.parametrize("most", [0, 1])
def test_scope_filter_keeps_the_rules_up_to_that_scope(most, corpus_options, tmp_path):
    """Hopkins and Langmead (2010): pairs of neighbouring nonterminals, and nonterminals at either end.

    More than two nonterminals are dropped whatever the scope.
    """
    assert sample(corpus_options, tmp_path / "run", "--iterations", "6") == 0
    kept = []
    for options in (["none"], ["scope", "--max-scope", str(most)]):
        table = tmp_path / "table"
        command = ["grammar", str(tmp_path / "run"), "--output", str(table), "--quiet", "--filter", *options]
        assert main(command) == 0
        kept.append({line.split(" ||| LogForward")[0] for line in table.read_text().splitlines()[1:]})
    everything, narrow = kept
    binary = {rule for rule in everything if rule.split(" ||| ")[1].count("[X,") <= 2}

    def scope(rule: str) -> int:
        symbols = ["[X,1]", *rule.split(" ||| ")[1].split(), "[X,1]"]
        return sum(a[0] == b[0] == "[" for a, b in itertools.pairwise(symbols))

    assert narrow == {rule for rule in binary if scope(rule) <= most}
    assert any(scope(rule) == most + 1 for rule in binary)


def test_errors_name_file_and_line_and_exit_with_2(tmp_path, capsys):
    options = write_corpus(tmp_path, some_pairs(3))
    (tmp_path / "train.a").write_text("0-0\n0-99\n" + "\n" * 4)
    assert sample(options, tmp_path / "run") == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert "train.a:2: link 0-99 points past the end" in message
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--iterations", "0"], "--iterations is 0"),
        (["--iterations", "5", "--burn-in", "5"], "--burn-in is 5"),
        (["--seed", "-1"], "--seed is -1"),
        (["--discount", "1.5"], "--discount is 1.5"),
        (["--model", "dirichlet", "--target-vocabulary", "-1"], "--target-vocabulary is -1; it must be at"),
        (["--anneal", "3:1"], "--anneal is 3:1; it must be START:END:SWEEPS"),
        (["--anneal", "0:1:5"], "two temperatures above 0"),
        (["--anneal", "3:1:50", "--iterations", "50"], "--anneal takes 50 sweeps; it must be fewer than"),
        (["--anneal", "3:1:9", "--iterations", "9", "--burn-in", "9"], "--burn-in is 9; it must be"),
        (["--threads", "0"], "--threads is 0; it must be from 1 to 65536"),
        (["--shards", "0"], "--shards is 0; it must be from 1 to 65536"),
        (["--shards", "3000000000"], "--shards is 3000000000; it must be from 1 to 65536"),
        (["--chains", "0"], "--chains is 0"),
        (["--type-moves", "-1"], "--type-moves is -1"),
        (["--discount", "0", "--learn-hyperparameters", "--strength", "1"], None),
    ],
)
def test_settings_out_of_range_exit_with_2(corpus_options, tmp_path, capsys, options, message):
    assert sample(corpus_options, tmp_path / "run", *options) == (2 if message else 0)
    assert (message or "") in capsys.readouterr().err


def test_threads_for_types_are_no_shards(corpus_options, tmp_path):
    more = ["--iterations", "1", "--types", "2", "--threads", "2"]
    assert sample(corpus_options, tmp_path / "run", *more) == 0
    assert json.loads((tmp_path / "run" / "run.json").read_text())["settings"]["shards"] == 1


def test_sweeps_that_are_annealed_are_burn_in(corpus_options, tmp_path):
    assert sample(corpus_options, tmp_path / "run", "--anneal", "3:1:5", "--iterations", "9") == 0
    assert json.loads((tmp_path / "run" / "run.json").read_text())["run"]["burn_in"] == 5


def test_given_hyperparameters_are_not_learned(corpus_options, tmp_path):
    more = ["--iterations", "6", "--base", "lexical", "--learn-hyperparameters", "--strength", "7"]
    assert sample(corpus_options, tmp_path / "run", *more) == 0
    trace = read_trace(tmp_path / "run" / "trace.tsv")
    assert set(trace["strength"]) == {7.0}
    assert len(set(trace["mean_length"])) == 6
    assert len(set(trace["discount"])) == 6


def test_chains_are_runs_of_their_own_and_pooled(corpus_options, tmp_path, capsys):
    run, single = tmp_path / "run", tmp_path / "single"
    more = ["--iterations", "20", "--burn-in", "4", "--marginals"]
    assert sample(corpus_options, run, *more, "--chains", "3", "--threads", "2") == 0
    assert sample(corpus_options, single, *more) == 0
    chains = [run / f"chain-{k}" for k in (1, 2, 3)]
    first, alone = (read_trace(path / "trace.tsv") for path in (chains[0], single))
    assert np.array_equal(first["log_joint"], alone["log_joint"])
    assert len({tuple(read_trace(path / "trace.tsv")["log_joint"]) for path in chains}) == 3
    counts = [read_rule_table(path / "counts" / "marginal.gz").count.sum() for path in (*chains, run)]
    assert math.isclose(counts[3], sum(counts[:3]) / 3, rel_tol=1e-6)
    marginals = [json.loads((path / "marginals.json").read_text()) for path in (*chains, run)]
    cut = [each["sentences"][1]["nodes"][0]["cut"] for each in marginals]
    assert math.isclose(cut[3], sum(cut[:3]) / 3, abs_tol=1e-9)
    assert main(["diagnose", str(run), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["log_joint"]["chains"] == 3
    assert main(["grammar", str(run), "--output", str(tmp_path / "table.gz"), "--quiet"]) == 0
    assert "|seed:1|chains:3|source:train.f|" in read_rule_table(tmp_path / "table.gz").signature
    assert main(["resume", str(run), "--quiet"]) == 2
    assert "has 20 sweeps already" in capsys.readouterr().err
    assert main(["resume", str(run), "--iterations", "24", "--quiet"]) == 0
    assert json.loads((run / "run.json").read_text())["chains"] == 3
    assert len(read_trace(chains[2] / "trace.tsv")["sweep"]) == 24


def test_several_alignments_are_sampled_and_extracted_together(corpus_options, tmp_path):
    """As if text and alignments had been written one behind the other."""
    (tmp_path / "other").write_text("".join("0-0\n" for _ in some_pairs()))
    for name, second in (("train.f", "train.f"), ("train.e", "train.e"), ("train.a", "other")):
        (tmp_path / f"twice.{name}").write_text(
            (tmp_path / name).read_text() + (tmp_path / second).read_text()
        )
    several = [*corpus_options, str(tmp_path / "other")]
    twice = [option.replace("train.", "twice.train.") for option in corpus_options]
    tables = []
    for name, options in (("several", several), ("twice", twice)):
        assert sample(options, tmp_path / name, "--iterations", "4", "--burn-in", "1") == 0
        assert main(["grammar", str(tmp_path / name), "--output", f"{tmp_path}/{name}.sampled"]) == 0
        assert main(["extract", *options, "--output", f"{tmp_path}/{name}.extracted", "--quiet"]) == 0
        tables.append(
            [
                (tmp_path / f"{name}.{kind}").read_text().partition("\n")[2]
                for kind in ("sampled", "extracted")
            ]
        )
    assert tables[0] == tables[1]
    assert all(tables[0])
    files = json.loads((tmp_path / "several" / "run.json").read_text())["corpus"]["files"]
    assert files["alignment-2"] == str(tmp_path / "other")
    assert "|alignments:2|" in (tmp_path / "several.sampled").read_text().partition("\n")[0]
    header = (tmp_path / "several.extracted").read_text().partition("\n")[0]
    assert f"|alignment-2:{tmp_path}/other" in header
    assert main(["forest", *several, "--sentence", str(2 * len(some_pairs()) - 1), "--quiet"]) == 0
    assert sample(several, tmp_path / "chains", "--iterations", "3", "--chains", "2") == 0
    record = json.loads((tmp_path / "chains" / "chain-2" / "run.json").read_text())
    assert record["corpus"]["sentences"] == 2 * len(some_pairs())
    # The option may be repeated instead.
    again = [*corpus_options, "--alignment", str(tmp_path / "other")]
    assert main(["extract", *again, "--output", f"{tmp_path}/again", "--quiet"]) == 0
    assert (tmp_path / "again").read_text() == (tmp_path / "several.extracted").read_text()
    assert main(["resume", str(tmp_path / "several"), "--iterations", "6", "--quiet"]) == 0
    (tmp_path / "other").write_text("".join("\n" for _ in some_pairs()))
    assert main(["resume", str(tmp_path / "several"), "--iterations", "7", "--quiet"]) == 2


def test_an_alignment_named_twice_is_warned_of_and_counted(corpus_options, tmp_path, capsys):
    twice = [*corpus_options, corpus_options[-1]]
    assert main(["sample", *twice, "--output", str(tmp_path / "run"), "--iterations", "2"]) == 0
    said = capsys.readouterr().err
    assert f"warning: {corpus_options[-1]} is named 2 times, and counts as often" in said
    assert f"over {len(some_pairs())} sentence pairs, each under 2 alignments, in" in said


def test_grammar_of_no_run_is_one_line(tmp_path, capsys):
    assert main(["grammar", str(tmp_path), "--output", str(tmp_path / "x")]) == 2
    assert "is not a run directory" in capsys.readouterr().err


def test_grammar_adds_the_counts_of_other_tables(corpus_options, tmp_path, capsys):
    run, hiero, plain, mixed = (tmp_path / name for name in ("run", "hiero.gz", "plain.gz", "mixed.gz"))
    assert sample(corpus_options, run, "--iterations", "12") == 0
    assert main(["extract", *corpus_options, "--output", str(hiero)]) == 0
    grammar = ["grammar", str(run), "--filter", "none", "--quiet", "--output"]
    assert main([*grammar, str(plain)]) == 0
    assert main([*grammar, str(mixed), "--add", f"{hiero}:0.5", "--add", f"{hiero}:0.25"]) == 0
    tables = [read_rule_table(path) for path in (plain, hiero, mixed)]
    counts = [table.count.sum() for table in tables]
    assert math.isclose(counts[2], counts[0] + 0.75 * counts[1], rel_tol=1e-4)
    assert tables[2].feature_names == tables[0].feature_names
    assert f"|add:{hiero}:0.5|add:{hiero}:0.25|" in tables[2].signature
    for weight in ("-1", "0", "nan", "inf", "1e-101", "1e101"):
        assert main([*grammar, str(mixed), "--add", f"{hiero}:{weight}"]) == 2
        assert (
            "the number behind the colon must be positive, from 1e-100 to 1e+100" in capsys.readouterr().err
        )


@pytest.mark.parametrize("count", ["1000", "-1000"])
def test_a_count_that_is_no_number_is_one_line_wherever_counts_are_added_up(
    corpus_options, tmp_path, capsys, count
):
    run, table, out = tmp_path / "run", tmp_path / "table", str(tmp_path / "out")
    assert sample(corpus_options, run, "--iterations", "2") == 0
    capsys.readouterr()
    table.write_text(f"[X] ||| a ||| b ||| LogForward=0 LogCount=0\n[X] ||| b ||| b ||| LogCount={count}\n")
    for command in (
        ["prune", str(table), "--prune", "significance"],
        ["grammar", str(run), "--add", str(table)],
        ["report", str(run), "--grammar", str(table)],
    ):
        assert main([*command, "--output", out, "--quiet"]) == 2
        told = capsys.readouterr().err
        assert f"{table}: the LogCount of rule 2 is of a count of " in told
        assert told.count("\n") == 1


def test_prune_takes_any_table_with_counts(corpus_options, tmp_path, capsys):
    hiero, small = tmp_path / "hiero.gz", tmp_path / "small.gz"
    assert main(["extract", *corpus_options, "--output", str(hiero)]) == 0
    prune = ["prune", str(hiero), "--output", str(small)]
    assert main([*prune, "--prune", "entropy", "--keep", "50%"]) == 0
    whole, pruned = read_rule_table(hiero), read_rule_table(small)
    assert 0 < pruned.num_rules < whole.num_rules / 2
    assert pruned.signature == f"{whole.signature}|prune:entropy|keep:50%"
    with gzip.open(hiero, "rt") as lines, gzip.open(small, "rt") as kept:
        assert set(list(kept)[1:]) < set(lines)  # as they were
    capsys.readouterr()
    assert main(prune) == 2
    assert "nothing to prune by; give --prune or --keep" in capsys.readouterr().err
    small.write_text("[X] ||| a ||| b ||| LogForward=0\n")
    assert main(["prune", str(small), "--output", str(hiero), "--prune", "count:2"]) == 2
    assert "has no feature LogCount" in capsys.readouterr().err
    small.write_text("")
    assert main(["prune", str(small), "--output", str(hiero), "--prune", "count:2"]) == 2
    assert "small.gz: has no rules. Is it the table" in capsys.readouterr().err


def test_picture_of_a_forest_is_shaded_by_what_the_run_counted(corpus_options, tmp_path, capsys):
    run = tmp_path / "run"
    more = ("--iterations", "30", "--burn-in", "4", "--quiet")
    assert sample(corpus_options, run, *more, "--marginals") == 0
    record = json.loads((run / "marginals.json").read_text())
    shares = [{node["in_tree"] for node in each["nodes"]} for each in record["sentences"]]
    sentence = max(range(len(shares)), key=lambda at: len(shares[at]))
    assert len(shares[sentence]) > 2
    nodes = record["sentences"][sentence]["nodes"]
    drawn = ["--sentence", str(sentence), "--format", "svg", "--output", str(tmp_path / "f.svg")]
    assert main(["forest", *corpus_options, *drawn, "--run", str(run)]) == 0
    told = re.findall(
        r"source (\d+)–(\d+), target (\d+)–(\d+),.* in ([\d.]+)% of the states of the run</title>"
        r"<rect [^>]*?(?:fill-opacity=\"([\d.]+)\")?/>",
        (tmp_path / "f.svg").read_text(),
    )
    expected = {(*node["source"], *node["target"]): node["in_tree"] for node in nodes}
    assert {tuple(map(int, place)) for *place, _, _ in told} == set(expected)
    for *place, share, shade in told:
        in_tree = expected[tuple(map(int, place))]
        assert float(share) == pytest.approx(100 * in_tree, abs=0.051)
        assert float(shade or 1) == pytest.approx(in_tree, abs=0.0051) or in_tree < 0.1
    shown = scfg_sampler.open_run(run).forest(sentence)
    assert shown.svg().count("of the states of the run") == len(nodes)
    assert list(shown.shares) == [node["in_tree"] for node in nodes]

    assert main(["forest", *corpus_options, "--sentence", "0", "--run", str(run)]) == 2
    assert "--run shades a picture; add --format svg" in capsys.readouterr().err
    assert sample(corpus_options, tmp_path / "plain", *more) == 0
    assert main(["forest", *corpus_options, *drawn, "--run", str(tmp_path / "plain")]) == 2
    assert "has not counted phrases. Sample with --marginals" in capsys.readouterr().err
    longer = [pair._replace(source=(*pair.source, "more")) for pair in some_pairs()]
    (tmp_path / "other").mkdir()
    others = write_corpus(tmp_path / "other", longer)
    assert main(["forest", *others, *drawn, "--run", str(run)]) == 2
    assert "(source) is not the same as when" in capsys.readouterr().err


def test_forest_writes_one_line_a_sentence(corpus_options, tmp_path, capsys):
    assert main(["forest", *corpus_options]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["sentence"] for line in lines] == list(range(45))
    assert main(["forest", *corpus_options, "--sentence", "3"]) == 0
    assert json.loads(capsys.readouterr().out) == lines[3]
    assert main(["forest", *corpus_options, "--sentence", "45"]) == 2
    assert "sentences 0 to 44" in capsys.readouterr().err


def test_diagnose_prints_rhat_of_several_runs(corpus_options, tmp_path, capsys):
    runs = [str(tmp_path / f"run{seed}") for seed in (1, 2)]
    for seed, run in enumerate(runs, start=1):
        assert sample(corpus_options, run, "--iterations", "40", "--seed", str(seed)) == 0
    assert main(["diagnose", *runs, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["log_joint"]["chains"] == 2
    assert 0.9 < found["log_joint"]["rhat"] < 2.0
    assert main(["diagnose", *runs]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("scalar")
    verdict = printed.split("\n\n")[-1]  # A paragraph of its own, as wide as the terminal.
    assert verdict.startswith("The chains ")


@pytest.mark.parametrize("sweeps", [2000, pytest.param(4000, marks=pytest.mark.slow)])
def test_marginals_agree_with_the_enumerated_posterior(tmp_path, sweeps):
    # Ten chains; batch means give the Monte-Carlo error. Fixed seed.
    pairs = [oracle.sentence("a b c", "A B C", "0-0 1-1 2-2"), oracle.sentence("a b", "A B", "0-0 1-1")]
    options = write_corpus(tmp_path, pairs)
    settings = {"discount": 0.5, "strength": 5.0, "tables": "exact", "max_cut_span": 0}
    chain = chain_on(pairs, **settings)
    expected: dict[tuple[int, tuple], list[float]] = {}
    trees = list(all_trees(chain, pairs))
    derivations = [list(oracle.derivations(pair)) for pair in pairs]
    both = [(a, b) for a in derivations[0] for b in derivations[1]]
    prob_of = dict.fromkeys(trees, 0.0)
    for (codes, _), prob in all_states(chain, pairs).items():
        prob_of[codes] += prob
    for codes, combination in zip(trees, both, strict=True):
        for sentence, tree in enumerate(combination):
            for node, cut in _nodes(tree):
                share = expected.setdefault((sentence, node), [0.0, 0.0])
                share[0] += prob_of[codes]
                share[1] += cut * prob_of[codes]
    runs = []
    for seed in range(10):
        run = tmp_path / f"run{seed}"
        more = ["--iterations", str(sweeps), "--burn-in", "100", "--seed", str(seed), "--marginals"]
        more += ["--tables", "exact", "--max-cut-span", "0", "--checkpoint-every", "0"]
        assert sample(options, run, *more) == 0
        runs.append(json.loads((run / "marginals.json").read_text()))
    for (sentence, node), shares in expected.items():
        for name, share in zip(("in_tree", "cut"), shares, strict=True):
            found = [_share(run, sentence, node, name) for run in runs]
            error = np.std(found, ddof=1) / math.sqrt(len(found))
            assert abs(np.mean(found) - share) < 4.0 * error + 1e-12, (sentence, node, name)


def _nodes(tree: tuple):
    yield tree[0], tree[1]
    for part in tree[2]:
        yield from _nodes(part)


def _share(run: dict, sentence: int, node: tuple, name: str) -> float:
    return next(
        found[name]
        for found in run["sentences"][sentence]["nodes"]
        if (*found["source"], *found["target"]) == node
    )
