"""Runs in which nodes have types, and what they leave on disk."""

from __future__ import annotations

import gzip
import json
import math
from collections import Counter

import numpy as np
import pytest

import scfg_sampler
from scfg_sampler.cli import main
from scfg_sampler.corpus.parallel_text import CorpusFiles, read_corpus
from scfg_sampler.errors import SettingsError
from scfg_sampler.learner.chain import learner_kernel
from scfg_sampler.learner.chains import start_chains
from scfg_sampler.learner.forest_bank import forest_bank
from scfg_sampler.learner.grammar import write_grammar
from scfg_sampler.learner.run import resume_run, start_run
from scfg_sampler.learner.settings import GrammarSettings, LearnerSettings, RunSettings, check_settings
from scfg_sampler.learner.stored import _first_bad_tree
from scfg_sampler.learner.verification import verify_run
from scfg_sampler.rules.labels import kind_of
from scfg_sampler.rules.table import read_rule_table
from tests.oracles import rule_model, typed_rules
from tests.oracles.phrase_forest import sentence

RUN = RunSettings(iterations=8, burn_in=3, checkpoint_every=3, seed=2)
TYPED = LearnerSettings(types=2, tables="exact", max_cut_span=3)
PAIRS = [("das haus", "the house", "0-0 1-1"), ("ein alter hund", "an old dog", "0-0 1-1 2-2")]
PAIRS += [("das alte haus", "the old house", "0-0 1-1 2-2"), ("ein haus", "an house", "0-0 1-1")]


def write(tmp_path, pairs):
    for name, column in zip("fea", zip(*pairs, strict=True), strict=True):
        (tmp_path / name).write_text("\n".join(column) + "\n", encoding="utf-8")
    return CorpusFiles(tmp_path / "f", tmp_path / "e", (tmp_path / "a",))


@pytest.fixture
def files(tmp_path):
    return write(tmp_path, PAIRS)


def _lines(path):
    return gzip.decompress(path.read_bytes()).decode().splitlines()


def test_a_run_with_types_is_verified_and_goes_on_as_if_it_had_not_stopped(files, tmp_path):
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    start_run(files, whole, TYPED, RUN._replace(marginals=True), check=True)
    assert verify_run(whole)
    start_run(files, stopped, TYPED, RUN._replace(marginals=True, iterations=4))
    resume_run(stopped, 8)
    for name in ("counts/marginal.gz", "derivations.jsonl.gz"):
        assert _lines(whole / name) == _lines(stopped / name)


def test_counts_are_those_of_the_rules_of_derivations(files, tmp_path):
    start_run(files, tmp_path / "run", TYPED, RUN)
    used, kinds = Counter(), set()

    def visit(node, left):
        name, source, _ = node["rule"].split(" ||| ")
        assert left in (None, name[1:-1])
        kinds.add(name)
        used[node["rule"]] += 1
        gaps = [symbol[1:].split(",")[0] for symbol in source.split() if symbol[0] == "["]
        for part, gap in zip(node["parts"], gaps, strict=True):
            visit(part, gap)

    for line in _lines(tmp_path / "run" / "derivations.jsonl.gz"):
        visit(json.loads(line)["derivation"], "X")
    table = read_rule_table(tmp_path / "run" / "counts" / "last.gz", labels=True)
    assert kinds == {"[X]", "[X1]", "[X2]"}
    assert Counter(dict(_by_text(table, "LogCount", math.exp))) == used


def _by_text(table, feature, number):
    """Rules as derivations spell them, with a feature."""
    column = table.feature_names.index(feature)
    for r in range(table.num_rules):
        kind = kind_of(table.labels, r) or ("X",) * 3
        sides = []
        for start, symbols, vocabulary in (
            (table.rules.source_start, table.rules.source, table.source_vocabulary),
            (table.rules.target_start, table.rules.target, table.target_vocabulary),
        ):
            row = symbols[start[r] : start[r + 1]].tolist()
            words = [vocabulary.words[s] if s >= 0 else f"[{kind[-s]},{-s}]" for s in row]
            sides.append(" ".join(words))
        yield f"[{kind[0]}] ||| {sides[0]} ||| {sides[1]}", round(number(float(table.features[r, column])), 4)


def test_the_posterior_of_rules_is_that_of_the_oracle(tmp_path):
    pairs = PAIRS * 3  # So that rules have more customers than tables.
    start_run(write(tmp_path, pairs), tmp_path / "run", TYPED, RUN)
    table = read_rule_table(tmp_path / "run" / "counts" / "marginal.gz", labels=True)
    counts = {}
    for text, count in _by_text(table, "LogCount", lambda x: x):
        left, source, target = text.split(" ||| ")
        counts[source, target, left[1:-1]] = math.exp(count)
    assert max(counts.values()) > 1.5
    model = rule_model.model_of(TYPED, [sentence(*pair) for pair in pairs])
    expected = typed_rules.log_predictive(model, 2, counts)
    for text, found in _by_text(table, "LogPosterior", lambda x: x):
        left, source, target = text.split(" ||| ")
        assert found == pytest.approx(expected[source, target, left[1:-1]], abs=2e-3)


def test_a_grammar_with_types_is_written_and_translates(files, tmp_path, capsys):
    given = ["--source", f"{files.source}", "--target", f"{files.target}", "--alignment", f"{tmp_path / 'a'}"]
    assert (
        main(["sample", *given, "--output", f"{tmp_path / 'run'}", "--types", "2", "--iterations", "4"]) == 0
    )
    assert json.loads((tmp_path / "run" / "run.json").read_text())["settings"]["tables"] == "exact"
    write_grammar(tmp_path / "run", tmp_path / "grammar.gz", GrammarSettings())
    table = read_rule_table(tmp_path / "grammar.gz", labels=True)
    assert "LogLabels" in table.feature_names
    assert table.labels is not None
    assert "types:2" in table.signature
    rules = scfg_sampler.open_run(tmp_path / "run").grammar()
    assert list(rules) == list(scfg_sampler.read_rules(tmp_path / "grammar.gz"))


@pytest.mark.parametrize(
    "setting",
    [
        {"tables": "estimated"},
        {"discount": 0.0},
        {"unaligned": "free"},
        {"operator": "rejection"},
        {"type_moves": 2},
        {"divide_by_trees": True},
        {"learned": ("strength",)},
        {"shards": 2},
        {"types": 17},
    ],
    ids=str,
)
def test_what_types_do_not_go_with_is_refused(setting):
    with pytest.raises(SettingsError, match="--types"):
        check_settings(TYPED._replace(**setting))


def test_chains_with_types_are_refused(files, tmp_path):
    with pytest.raises(SettingsError, match="--chains"):
        start_chains(files, tmp_path / "run", TYPED, RUN._replace(chains=2))


def test_a_derivation_with_a_type_that_there_is_not_is_refused(files, tmp_path):
    bank = forest_bank(read_corpus(files.source, files.target, *files.alignments), 250, num_types=2)
    codes = learner_kernel(bank, TYPED).init(np.random.default_rng(1), None).trees
    assert _first_bad_tree(bank.walk, codes) == -1
    for bad in (0, 3):
        wrong = codes.copy()
        wrong[1] = (wrong[1] & 0xFFFF) + (bad << 16)
        assert _first_bad_tree(bank.walk, wrong) == 0
