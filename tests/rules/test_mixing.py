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


def test_posterior_is_that_of_the_tables_that_have_it_else_the_smallest(tables):
    mixed = rows(mix_tables(tables, [1.0, 0.25], "mixed"))
    posterior = {words: math.exp(features["LogPosterior"]) for words, features in mixed.items()}
    assert posterior == pytest.approx({("zwei", "two"): 0.5, ("drei", "three"): 0.2, ("eins", "one"): 0.2})


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
