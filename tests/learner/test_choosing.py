"""Choosing among alignments, compiled: chains, runs, forests, what is collected, and what is refused."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

import scfg_sampler
from scfg_sampler.cli import main
from scfg_sampler.errors import SettingsError
from scfg_sampler.forest.choice import Choice
from scfg_sampler.forest.explicit import ForestBuilder
from scfg_sampler.learner.pair_posteriors import read_last_state
from tests.learner.corpora import chain_on, corpus_of
from tests.oracles import chosen_alignments
from tests.oracles.phrase_forest import Sentence

WAYS = ("sentence", "phrase")


def random_choices(rng: np.random.Generator, number: int, alignments: int = 2, most: int = 6):
    """Pairs of words without links and with several, under alignments that agree in part."""
    pairs = []
    for _ in range(number):
        lengths = rng.integers(1, most, size=2)
        words = [
            tuple(f"{side}{rng.integers(4)}" for _ in range(n)) for side, n in zip("fe", lengths, strict=True)
        ]
        common = {(i, i) for i in range(lengths.min()) if rng.random() < 0.7}
        pairs.append(
            tuple(
                Sentence(*words, frozenset(common | {tuple(map(int, rng.integers(lengths)))}))
                for _ in range(alignments)
            )
        )
    return pairs


@pytest.mark.parametrize("way", WAYS)
def test_forests_are_those_of_the_definition(way, rng):
    pairs = random_choices(rng, 60, alignments=3)
    words = ("a", "b", "c"), ("A", "B", "C")
    # The largest phrase of the first is below the root by the others, which take it apart in another way.
    diagonal = {(0, 0), (1, 1), (2, 2)}
    alignments = {(0, 1), (1, 0)}, diagonal, diagonal
    pairs.append(tuple(Sentence(*words, frozenset(links)) for links in alignments))
    builder = ForestBuilder(corpus_of(pairs), Choice(3, way == "phrase"))
    assert builder.num_sentences == 61
    for number, pair in enumerate(pairs):
        forest = builder.build(number)
        found, pending = {}, [None]
        while pending:
            node = pending.pop()
            if node not in found:
                found[node] = chosen_alignments.edges(pair, node, way == "phrase")
                pending += [tail for tails in found[node] for tail in tails]
        assert len(forest.trees) == len(found)
        assert len(forest.rules) == sum(map(len, found.values()))
        assert sorted(map(tuple, forest.spans.tolist())) == sorted(
            chosen_alignments.span(pair, node) for node in found
        )
        cut_all = [d for d in chosen_alignments.derivations(pair, way == "phrase", 1) if _is_all_cut(d)]
        assert forest.trees[-1] == len({chosen_alignments.codes(d) for d in cut_all})


def _is_all_cut(derivation: tuple) -> bool:
    return derivation[1] and all(_is_all_cut(part) for part in derivation[2])


@pytest.mark.parametrize("way", ["phrase", pytest.param("sentence", marks=pytest.mark.slow)])
def test_log_joint_is_kept(way, rng):
    chain = chain_on(random_choices(rng, 30), choose=way, tables="exact", shards=2, type_moves=2)
    state = chain.kernel.init(rng, None)
    first = state.trees.copy()
    for _ in range(4):
        state, info = chain.kernel.step(rng, state)
        assert_allclose(chain.kernel.log_joint(state), info.log_joint, rtol=1e-10)
    assert (state.trees != first).any()


@pytest.fixture
def files(tmp_path, rng):
    pairs = random_choices(rng, 40)
    lines = [
        [" ".join(pair[0].source) for pair in pairs],
        [" ".join(pair[0].target) for pair in pairs],
        *([" ".join(f"{s}-{t}" for s, t in sorted(pair[a].links)) for pair in pairs] for a in (0, 1)),
    ]
    names = []
    for name, content in zip(("source", "target", "one", "other"), lines, strict=True):
        (tmp_path / name).write_text("".join(line + "\n" for line in content))
        names.append(str(tmp_path / name))
    return ["--source", names[0], "--target", names[1], "--alignment", names[2], names[3]]


@pytest.mark.parametrize("way", ["phrase", pytest.param("sentence", marks=pytest.mark.slow)])
def test_runs_are_resumed_bit_for_bit_and_hold_what_others_hold(way, files, tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    options = [*files, "--choose", way, "--burn-in", "1", "--marginals", "--quiet", "--tables", "exact"]
    assert main(["sample", *options, "--iterations", "6", "--check", "--output", str(whole)]) == 0
    assert main(["sample", *options, "--iterations", "3", "--output", str(parts)]) == 0
    assert main(["resume", str(parts), "--iterations", "6", "--quiet"]) == 0
    with np.load(whole / "checkpoint.npz") as one, np.load(parts / "checkpoint.npz") as two:
        assert (one["state.learner.trees"] == two["state.learner.trees"]).all()
    for name in ("marginal", "last"):
        assert _lines(whole / "counts" / f"{name}.gz")[1:] == _lines(parts / "counts" / f"{name}.gz")[1:]
    record = json.loads((whole / "run.json").read_text())
    assert record["corpus"]["sentences"] == 40
    marginals = json.loads((whole / "marginals.json").read_text())
    assert len(marginals["sentences"]) == 40
    assert all(sentence["nodes"][-1]["in_tree"] == 1.0 for sentence in marginals["sentences"])
    with gzip.open(whole / "derivations.jsonl.gz", "rt") as stream:
        assert sum(json.loads(line)["derivation"] is not None for line in stream) == 40
    grammar = tmp_path / "grammar.gz"
    assert main(["grammar", str(whole), "--output", str(grammar), "--quiet"]) == 0
    assert f"|choose:{way}|" in _lines(grammar)[0]
    page = tmp_path / "page.html"
    assert main(["report", str(whole), "--states", "2", "--output", str(page), "--quiet"]) == 0
    assert "Sentence pairs" in page.read_text()


def _lines(path) -> list[str]:
    with gzip.open(path, "rt") as stream:
        return stream.readlines()


def test_links_of_a_rule_are_those_of_the_alignment_that_its_words_were_taken_apart_by(tmp_path):
    """Under one alignment a and b are linked, crosswise; under the other c alone."""
    for name, line in (("s", "a b c"), ("t", "A B C"), ("one", "0-1 1-0"), ("other", "2-2")):
        (tmp_path / name).write_text(line + "\n")
    names = [str(tmp_path / name) for name in ("s", "t", "one", "other")]
    found = set()
    for seed in range(8):
        run = tmp_path / f"run{seed}"
        corpus = ["--source", names[0], "--target", names[1], "--alignment", names[2], names[3]]
        more = ["--choose", "sentence", "--iterations", "1", "--burn-in", "0", "--seed", str(seed)]
        assert main(["sample", *corpus, *more, "--quiet", "--output", str(run)]) == 0
        lines = _lines(run / "counts" / "last.gz")
        rows = [line.rstrip("\n").split(" ||| ") for line in lines if not line.startswith("#")]
        for _, source, target, _, links in rows:
            at = [source.split(), target.split()]
            pairs = {(at[0][int(i)], at[1][int(j)]) for i, j in (link.split("-") for link in links.split())}
            assert pairs <= {("a", "B"), ("b", "A")} or pairs <= {("c", "C")}
            found |= pairs
    assert found == {("a", "B"), ("b", "A"), ("c", "C")}


def test_forest_command_makes_one_forest_of_all_alignments(files, capsys):
    for way, lines in (("none", 80), ("sentence", 40), ("phrase", 40)):
        assert main(["forest", *files, "--choose", way, "--quiet"]) == 0
        assert len(capsys.readouterr().out.splitlines()) == lines


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--unaligned", "free"], "--choose phrase has no --unaligned free"),
        (["--paper"], "--choose phrase has no --schedule stratified"),
        (["--divide-by-trees"], "--choose phrase has no --divide-by-trees"),
    ],
)
def test_what_goes_with_one_alignment_alone_is_refused(options, complaint, files, tmp_path, capsys):
    output = str(tmp_path / "run")
    assert main(["sample", *files, "--choose", "phrase", *options, "--output", output]) == 2
    assert complaint in capsys.readouterr().err


def test_one_alignment_leaves_nothing_to_choose(files, tmp_path, capsys):
    output = str(tmp_path / "run")
    assert main(["sample", *files[:-1], "--choose", "phrase", "--output", output]) == 2
    assert "--choose phrase needs several alignments" in capsys.readouterr().err
    assert main(["forest", *files[:-1], "--choose", "phrase"]) == 2


def test_sentences_with_more_edges_than_labels_are_refused(rng):
    words = tuple(f"w{i}" for i in range(20))
    pair = Sentence(words, words, frozenset((i, i) for i in range(20)))
    with pytest.raises(SettingsError, match="needs --max-length 16 or less"):
        chain_on([(pair,) * 2000], choose="phrase")


@pytest.mark.parametrize("way", [*WAYS, "none"])
def test_marginals_of_a_corpus_with_a_pair_that_is_too_long(way, tmp_path, capsys, monkeypatch):
    """Neither does the run end in a failure, nor does the pair take room, nor is there a picture of it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f").write_text("ne dort pas\nil dort\nla maison est grande ici\n")
    (tmp_path / "e").write_text("not sleep\nhe sleeps\nthe house is big here\n")
    (tmp_path / "a").write_text("0-0 1-1 2-0\n0-0 1-1\n0-0 1-1 2-2 3-3 4-4\n")
    (tmp_path / "b").write_text("0-0 1-1\n0-0 1-1\n0-0 1-1 2-3 3-2 4-4\n")
    corpus = ["--source", "f", "--target", "e", "--alignment", "a", "b"]
    run = ["--choose", way, "--max-length", "4", "--marginals", "--iterations", "6", "--output", "run"]
    assert main(["sample", *corpus, *run, "--quiet"]) == 0
    found = json.loads((tmp_path / "run/marginals.json").read_text())
    assert [len(pair["nodes"]) for pair in found["sentences"]][2] == 0
    assert scfg_sampler.open_run("run").forest(2) is None
    node_start = read_last_state("run").bank.node_start
    assert node_start[3] <= node_start[2] + 1
    capsys.readouterr()
    picture = ["--run", "run", "--sentence", "2", "--format", "svg", "--output", "p.svg"]
    assert main(["forest", *corpus, *picture, "--quiet"]) == 2
    assert "skipped sentence 2 (5 words, more than 4)" in capsys.readouterr().err
