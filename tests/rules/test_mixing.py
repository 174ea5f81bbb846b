"""Mixing tables: counts, posterior probabilities, words of different tables."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scfg_sampler.rules.mixing import mix_tables
from scfg_sampler.rules.table import read_rule_table, rule


def table_of(path, lines):
    """A table of lines `source ||| target ||| features`."""
    path.write_text("# made by hand\n" + "".join(f"[X] ||| {line} ||| 0-0\n" for line in lines))
    return read_rule_table(path)


@pytest.fixture
def tables(tmp_path):
    first = table_of(
        tmp_path / "a",
        [
            f"zwei ||| two ||| LogCount={math.log(3)} LogPosterior={math.log(0.5)}",
            f"drei ||| three ||| LogCount={math.log(2)} LogPosterior={math.log(0.2)}",
        ],
    )
    second = table_of(tmp_path / "b", ["eins ||| one ||| LogCount=0", "zwei ||| two ||| LogCount=0"])
    return first, second


def rows(table):
    found = [rule(table, r) for r in range(table.num_rules)]
    return {(*each.source, *each.target): each.features for each in found}


def test_counts_are_added_with_their_weights(tables):
    mixed = rows(mix_tables(tables, [1.0, 0.25], "mixed"))
    counts = {words: math.exp(features["LogCount"]) for words, features in mixed.items()}
    assert counts == pytest.approx({("zwei", "two"): 3.25, ("drei", "three"): 2.0, ("eins", "one"): 0.25})


def test_posterior_is_that_of_the_tables_that_have_it_else_of_rules_as_long(tables):
    mixed = rows(mix_tables(tables, [1.0, 0.25], "mixed"))
    posterior = {words: math.exp(features["LogPosterior"]) for words, features in mixed.items()}
    assert posterior == pytest.approx({("zwei", "two"): 0.5, ("drei", "three"): 0.2, ("eins", "one"): 0.2})


def test_unknown_posterior_is_the_smallest_of_the_length(tmp_path):
    """Lengths count words of both sides, and each gap once: 2, 3, 4 and 60 are known."""
    long = " ".join(["w"] * 30)
    known = [
        ("a", "b", -1),
        ("c", "d", -2),
        ("a [X,1]", "[X,1] b", -3),
        ("a b", "c d", -5),
        (long, long, -170),
    ]
    unknown = {
        **{("e", "f"): -2, ("e", "f g"): -3, ("[X,1] e", "f [X,1]"): -3, ("e [X,1] f", "g [X,1]"): -5},
        **{("a b", "c d e f"): -5, ("[X,1]", "[X,1]"): -2, (long, f"{long} w"): -170, ("a b", "c d"): -5},
    }
    first = table_of(
        tmp_path / "a",
        [f"{source} ||| {target} ||| LogCount=0 LogPosterior={p}" for source, target, p in known],
    )
    second = table_of(tmp_path / "b", [f"{source} ||| {target} ||| LogCount=0" for source, target in unknown])
    mixed = rows(mix_tables([first, second], [1.0, 1.0], "mixed"))
    found = {
        sides: mixed[words]["LogPosterior"]
        for sides in unknown
        for words in mixed
        if " ".join(map(str, words)) == " ".join(sides).replace("[X,1]", "-1")
    }
    assert found == pytest.approx(unknown)


def test_posterior_is_the_mean_of_tables_that_have_it(tables):
    mixed = rows(mix_tables([tables[0], tables[0], tables[1]], [0.5, 0.5, 1.0], "mixed"))
    assert mixed["zwei", "two"]["LogPosterior"] == pytest.approx(math.log(0.5))


def test_a_table_mixed_with_itself_stays_as_it_was(tables):
    mixed = mix_tables([tables[0], tables[0]], [0.5, 0.5], "mixed")
    assert rows(mixed) == {
        words: pytest.approx(features, rel=1e-6) for words, features in rows(tables[0]).items()
    }
    assert mixed.signature == "mixed"


def test_tables_without_posterior_can_be_mixed(tables):
    mixed = mix_tables([tables[1]], [2.0], "mixed")
    assert np.exp(mixed.features[:, 0]).tolist() == pytest.approx([2.0, 2.0])
    assert mixed.features[:, 1].tolist() == [0.0, 0.0]
