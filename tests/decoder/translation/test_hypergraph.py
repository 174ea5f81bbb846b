"""Hypergraphs as JSON: what a program finds in them alone is what the decoder finds."""

import itertools
import json

import numpy as np
import pytest

from decoder.cli import main
from decoder.lm.arpa import write_arpa
from decoder.translation.hypergraph import hypergraph_record
from scfg_sampler.rules.table import write_rule_table
from tests.decoder import small_grammars as small
from tests.decoder.lm.test_model import random_model
from tests.decoder.search.several_models import case
from tests.decoder.tuning.test_tune import INITIAL, RULES


def derivations(record):
    """Per node all its derivations as (score, words, features, rules used), best first."""
    found = []
    by_head = {}
    for edge in record["edges"]:
        by_head.setdefault(edge["head"], []).append(edge)
    for number in range(len(record["nodes"])):
        rows = []
        for edge in by_head[number]:
            rule = record["rules"][edge["rule"]]
            assert all(tail < number for tail in edge["tails"])
            for parts in itertools.product(*(found[tail] for tail in edge["tails"])):
                words = []
                for symbol in rule["target"]:
                    words += parts[symbol - 1][1] if isinstance(symbol, int) else [symbol]
                total = {}
                for values in (rule["features"], edge["features"], *(part[2] for part in parts)):
                    for name, value in values.items():
                        total[name] = total.get(name, 0.0) + value
                rows.append((edge["score"] + sum(part[0] for part in parts), words, total))
        found.append(sorted(rows, key=lambda row: -row[0]))
    return found


@pytest.mark.parametrize("beam", [0, 3])
@pytest.mark.parametrize("seed", range(12))
def test_best_and_k_best_of_the_json_are_those_of_the_decoder(seed, beam):
    known = case(seed, 2, unknown=seed % 2 == 0, length=4)
    decoder = known.decoder(beam=beam)
    result = decoder.search(known.words, keep_states=True)
    record = json.loads(json.dumps(hypergraph_record(decoder, result, 7)))
    assert (record["sentence"], record["source"]) == (7, known.words)
    found = derivations(record)
    assert record["goal"] == len(record["nodes"]) - 1
    for node, rows in zip(record["nodes"], found, strict=True):
        assert node["score"] == pytest.approx(rows[0][0], abs=1e-9)
    every = decoder.translations(result, len(found[-1]) + 5, unique=False)
    assert len(every) == len(found[-1])
    assert beam or len(every) == len(known.derivations)
    np.testing.assert_allclose([row[0] for row in found[-1]], [t.score for t in every], atol=1e-9)
    assert sorted(tuple(row[1]) for row in found[-1]) == sorted(tuple(t.words) for t in every)
    best = decoder.best(result)
    assert record["score"] == pytest.approx(best.score, abs=1e-9)
    for score, words, features in found[-1]:
        assert score == pytest.approx(sum(known.weights[n] * v for n, v in features.items()), abs=1e-4)
        if words == best.words and score == pytest.approx(best.score, abs=1e-12):
            values = [features.get(name, 0.0) for name in decoder.feature_names]
            np.testing.assert_allclose(values @ decoder.weights, best.score, atol=1e-4)


@pytest.mark.parametrize("seed", range(12))
def test_nodes_differ_in_symbol_span_or_state_and_states_are_ends_of_their_words(seed):
    known = case(seed, 2, length=4)
    decoder = known.decoder()
    record = hypergraph_record(decoder, decoder.search(known.words, keep_states=True), 0)
    found = derivations(record)
    seen = {json.dumps([node["symbol"], node["span"], node["states"]]) for node in record["nodes"]}
    assert len(seen) == len(record["nodes"])
    for node, rows in zip(record["nodes"][:-1], found, strict=False):
        for _, words, _ in rows:
            for state, vocabulary in zip(node["states"], decoder.lm_vocabularies, strict=True):
                known_words = [word if word in vocabulary else "<unk>" for word in words]
                text = ["<s>", *known_words] if node["symbol"] == "S" else known_words
                assert state["left"] == known_words[: len(state["left"])]
                assert state["right"] == text[len(text) - len(state["right"]) :]
                assert state["closed"] or state["left"] == known_words
    assert record["nodes"][-1]["symbol"] == "GOAL"
    assert record["nodes"][-1]["span"] == [0, len(known.words)]


@pytest.fixture
def models(tmp_path, monkeypatch):
    """A directory to work in, and the options that name its models."""
    monkeypatch.chdir(tmp_path)
    write_rule_table(small.rule_table(RULES), "grammar.gz")
    write_arpa(random_model(5, 2), "lm.arpa")
    (tmp_path / "w.json").write_text(json.dumps(INITIAL))
    (tmp_path / "in").write_text("u v\n\nw x u\n")
    return ["--grammar", "grammar.gz", "--lm", "lm.arpa", "--weights", "w.json", "--input", "in", "--quiet"]


def test_files_directories_and_systems_hold_the_same_hypergraphs(models, tmp_path):
    assert main(["translate", *models, "--output", "o", "--hypergraph", "all.jsonl", "--threads", "2"]) == 0
    lines = (tmp_path / "all.jsonl").read_text().splitlines(keepends=True)
    assert [json.loads(line)["sentence"] for line in lines] == [0, 1, 2]
    assert json.loads(lines[1])["nodes"] == []
    translated = (tmp_path / "o").read_text().splitlines()
    for line, text in zip(lines, translated, strict=True):
        found = derivations(json.loads(line))
        assert " ".join(found[-1][0][1] if found else []) == text
    assert main(["translate", *models, "--output", "o", "--hypergraph", "graphs/"]) == 0
    assert [(tmp_path / "graphs" / f"{i}.json").read_text() for i in range(3)] == lines
    assert main(["bundle", *models[:6], "--output", "system", "--quiet"]) == 0
    again = ["translate", "--system", "system", "--input", "in", "--output", "o", "--quiet"]
    assert main([*again, "--hypergraph", "system.jsonl"]) == 0
    assert (tmp_path / "system.jsonl").read_text().splitlines(keepends=True) == lines


def test_hypergraphs_of_forced_derivations_hold_all_that_yield_the_translation(models, tmp_path):
    """They are the exhaustive search's derivations with these words, and nodes yield what they say."""
    exact = ["--beam", "0", "--max-targets", "0"]
    assert main(["translate", *models, *exact, "--nbest", "2", "--output", "o"]) == 0
    assert main(["translate", *models, *exact, "--hypergraph", "every", "--output", "x"]) == 0
    every = [json.loads(line) for line in (tmp_path / "every").read_text().splitlines()]
    rows = [row.split(" ||| ") for row in (tmp_path / "o").read_text().splitlines()]
    wanted = [next((row[1] for row in rows[::-1] if int(row[0]) == k), "") for k in range(3)]
    (tmp_path / "two").write_text("".join(text + "\n" for text in wanted))
    (tmp_path / "none").write_text("\n\nno such words\n")
    references = ["--reference", "two", "none"]
    assert main(["translate", *models, *references, "--hypergraph", "graphs", "--output", "x"]) == 0
    records = [json.loads(line) for line in (tmp_path / "graphs").read_text().splitlines()]
    assert [record["sentence"] for record in records] == [0, 1, 2]
    assert (records[1]["nodes"], records[1]["score"]) == ([], 0.0)
    for record, text, searched in ((records[k], wanted[k], every[k]) for k in (0, 2)):
        found = derivations(record)
        same = [row[0] for row in derivations(searched)[-1] if " ".join(row[1]) == text]
        np.testing.assert_allclose([row[0] for row in found[-1]], same, atol=1e-9)
        assert record["score"] == pytest.approx(same[0], abs=1e-9)
        reference = text.split()
        for node, built in zip(record["nodes"], found, strict=True):
            first, last = node["target"]
            assert {tuple(row[1]) for row in built} == {tuple(reference[first:last])}
            assert node["score"] == pytest.approx(built[0][0], abs=1e-9)
        nodes = [json.dumps([node["symbol"], node["span"], node["target"]]) for node in record["nodes"]]
        assert len(set(nodes)) == len(nodes)
        assert record["nodes"][-1]["target"] == [0, len(reference)]
    best = [next((row[1] for row in rows if int(row[0]) == k), "") for k in range(3)]
    (tmp_path / "best").write_text("".join(text + "\n" for text in best))
    references = ["--reference", "best", "two"]
    assert main(["translate", *models, *references, "--hypergraph", "graphs", "--output", "x"]) == 0
    records = [json.loads(line) for line in (tmp_path / "graphs").read_text().splitlines()]
    assert best != wanted
    assert [record["score"] for record in records] == pytest.approx([each["score"] for each in every])
    (tmp_path / "two").write_text("no such words\n" * 3)
    assert main(["translate", *models, "--reference", "two", "--hypergraph", "graphs", "--output", "x"]) == 0
    none = json.loads((tmp_path / "graphs").read_text().splitlines()[0])
    assert none == {
        "sentence": 0,
        "source": ["u", "v"],
        "goal": None,
        "score": None,
        "rules": [],
        "nodes": [],
        "edges": [],
    }


def test_hypergraphs_of_a_longer_text_before_do_not_stay(models, tmp_path):
    """What has such a name but is none, or lies elsewhere, is left alone, and so is all where a run fails."""
    graphs = tmp_path / "graphs"
    command = ["translate", *models, "--output", "o", "--hypergraph", "graphs/"]
    (tmp_path / "in").write_text("u v\n" * 8)
    assert main(command) == 0
    linked = (graphs / "7.json").rename(tmp_path / "linked")
    (graphs / "7.json").symlink_to(linked)
    (graphs / "6.json").write_text('{"sentence": 5, "source": ["u"]}\n')
    (graphs / "5.json").write_text("")
    (graphs / "4.json").unlink()
    (graphs / "4.json").mkdir()
    (graphs / "03.json").write_bytes((graphs / "3.json").read_bytes())
    others = {"03.json", "4.json", "5.json", "6.json", "7.json"}
    (tmp_path / "in").write_bytes(b"u v\nx\n\xff\n")
    assert main(command) == 2
    assert {each.name for each in graphs.iterdir()} == others | {"0.json", "1.json", "2.json", "3.json"}
    (tmp_path / "in").write_text("u v\nx\n")
    assert main(command) == 0
    assert {each.name for each in graphs.iterdir()} == others | {"0.json", "1.json"}
    assert json.loads(linked.read_text())["sentence"] == 7
    (tmp_path / "in").write_text("")
    assert main(command) == 0
    assert {each.name for each in graphs.iterdir()} == others
    assert main([*command[:-1], "none/"]) == 0
    assert not (tmp_path / "none").exists()
