"""Posteriors of arcs and log probabilities of sentences, against the enumeration of all trees."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from monolingual.cli import main
from monolingual.dmv.initial import random
from monolingual.dmv.layout import Layout, build_corpus
from monolingual.dmv.model import DmvModel, smoothed, write_model
from monolingual.dmv.posteriors import arc_posteriors
from tests.monolingual.dmv.enumeration import projective_trees, tree_weights


def enumerated(layout, tags, weights):
    """ln of the weight of all trees, and the share of those with each arc."""
    shares = tree_weights(layout, tags, weights)
    found = np.zeros((len(tags), len(tags) + 1))
    for heads, share in zip(projective_trees(len(tags)), shares, strict=True):
        found[np.arange(len(tags)), heads] += share
    return np.log(shares.sum()), found / shares.sum()


@pytest.mark.parametrize("valences", [1, 2])
def test_posteriors_are_those_of_all_trees(valences, rng):
    layout = Layout(3, valences)
    weights = random(rng, layout)
    rows = [[0], [1, 2], [2, 2, 0, 1, 2]]
    totals, arcs = arc_posteriors(layout, build_corpus(layout, rows, distinct=False), weights)
    for tags, total, found in zip(rows, totals, arcs, strict=True):
        log_total, expected = enumerated(layout, tags, weights)
        assert_allclose(total, log_total, rtol=1e-12)
        assert_allclose(found, expected, atol=1e-12)
        assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)


def test_sentences_without_a_tree_have_none(rng):
    layout = Layout(2, 1)
    totals, arcs = arc_posteriors(layout, build_corpus(layout, [[0, 1]]), np.zeros(26))
    assert totals[0] == -np.inf
    assert not arcs[0].any()


def test_parse_writes_them(tmp_path, rng):
    layout = Layout(2, 1)
    model = DmvModel(("NN", "VB"), layout, random(rng, layout))
    write_model(tmp_path / "m.txt", model)
    (tmp_path / "t.txt").write_text("NN VB NN\nVB\n")
    out = str(tmp_path / "out")
    arguments = ["dmv", "parse", str(tmp_path / "m.txt"), str(tmp_path / "t.txt"), "--output", out, "--quiet"]
    assert main([*arguments, "--posteriors", str(tmp_path / "p.jsonl")]) == 0
    records = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert [record["tags"] for record in records] == [["NN", "VB", "NN"], ["VB"]]
    log_total, expected = enumerated(layout, [0, 1, 0], smoothed(model).probs)
    assert_allclose(records[0]["log_probability"], log_total, rtol=1e-9)
    assert_allclose(records[0]["heads"], expected, atol=1e-8)
