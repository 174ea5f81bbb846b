"""The baseline's table is the same in one share and in many."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from scfg_sampler.baseline.extraction import extract
from scfg_sampler.baseline.settings import HieroSettings
from scfg_sampler.baseline.table import Resources, choose_shares, write_baseline
from scfg_sampler.errors import SettingsError
from scfg_sampler.rules import lexical
from scfg_sampler.rules.table import read_rule_table
from tests.baseline.test_extraction import random_sentence
from tests.learner.corpora import corpus_of

NARROW = 1 << 14  # Far less than any corpus needs.


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "settings", [HieroSettings(), HieroSettings(counting="fractional", no_singletons=True)]
)
def test_many_shares_make_the_same_table(rng, tmp_path, settings, threads):
    corpus = corpus_of([random_sentence(rng) for _ in range(120)])
    tables = lexical.estimate(corpus)
    narrow = Resources(NARROW, threads)
    assert len(choose_shares(corpus, settings, narrow)) >= 3
    for name, resources in (("whole", Resources()), ("shares", narrow)):
        number = write_baseline(corpus, tables, tmp_path / name, settings, resources, signature="s")
        assert number == extract(corpus, settings).num_rules
    whole, shares = (tmp_path / name for name in ("whole", "shares"))
    if settings.counting == "occurrences":
        assert shares.read_bytes() == whole.read_bytes()
    ours, theirs = read_rule_table(shares), read_rule_table(whole)
    np.testing.assert_array_equal(ours.source, theirs.source)
    np.testing.assert_array_equal(ours.target, theirs.target)
    # Sums of fractions depend on their order.
    np.testing.assert_allclose(ours.features, theirs.features, rtol=1e-6, atol=1e-6)


def test_shares_have_every_rule_once_and_the_table_in_order(rng):
    corpus = corpus_of([random_sentence(rng) for _ in range(40)])
    whole = extract(corpus)
    shares = choose_shares(corpus, HieroSettings(), Resources(NARROW))
    parts = [extract(corpus, share=share) for share in shares]
    assert sum(part.num_rules for part in parts) == whole.num_rules
    assert sum(part.count.sum() for part in parts) == whole.count.sum()
    assert all(low.high == high.low for low, high in itertools.pairwise(shares))


def test_corpus_without_rules_has_an_empty_table(tmp_path):
    corpus = corpus_of([random_sentence(np.random.default_rng(1))])._replace(
        link_start=np.zeros(2, np.int64), links=np.zeros((0, 2), np.int32)
    )
    assert write_baseline(corpus, lexical.estimate(corpus), tmp_path / "t", None, Resources(NARROW, 2)) == 0


def test_threads_below_one_are_refused(rng, tmp_path):
    corpus = corpus_of([random_sentence(rng)])
    with pytest.raises(SettingsError, match="--threads is 0"):
        write_baseline(corpus, lexical.estimate(corpus), tmp_path / "t", None, Resources(threads=0))
