"""The baseline's table is the same in one share and in many."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest

from scfg_sampler.baseline import table
from scfg_sampler.baseline.extraction import extract, extract_run
from scfg_sampler.baseline.settings import HieroSettings
from scfg_sampler.baseline.table import Resources, divide, write_baseline
from scfg_sampler.core import mapped
from scfg_sampler.core.executors import InProcess
from scfg_sampler.errors import SettingsError
from scfg_sampler.rules import lexical
from scfg_sampler.rules.runs import LAST_KEY
from tests.baseline.test_extraction import monotone_sentence, random_sentence
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
    assert min(len(divide(corpus, settings, narrow).shares), len(divide(corpus, settings, narrow).parts)) >= 3
    for name, resources in (("whole", Resources()), ("shares", narrow)):
        number = write_baseline(corpus, tables, tmp_path / name, settings, resources, signature="s")
        assert number == extract(corpus, settings).num_rules
    # Those of fractions too, though sums of fractions depend on their order.
    assert (tmp_path / "shares").read_bytes() == (tmp_path / "whole").read_bytes()


class Others(InProcess):
    """Four of them, whom everything is sent to."""

    is_elsewhere = True
    at_a_time = 4
    tasks = 0

    def submit(self, function, /, *arguments):
        self.tasks += 1
        return super().submit(function, *pickle.loads(pickle.dumps(arguments)))


@pytest.mark.parametrize("resources", [Resources(), Resources(NARROW)])
def test_others_who_walk_the_corpus_make_the_same_table(rng, tmp_path, resources):
    corpus, settings = corpus_of([random_sentence(rng) for _ in range(120)]), HieroSettings()
    tables, others = lexical.estimate(corpus), Others()
    for name, executor in (("here", None), ("there", others)):
        write_baseline(corpus, tables, tmp_path / name, settings, resources, executor=executor)
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()
    assert others.tasks >= 3
    mapped._last.clear()


def test_runs_that_are_there_are_not_made_again_elsewhere(rng, tmp_path, monkeypatch):
    corpus = corpus_of([random_sentence(rng) for _ in range(120)])
    tables, others = lexical.estimate(corpus), Others()
    with monkeypatch.context() as patched:
        patched.setattr(table, "_share_counts", lambda work: interrupted(table._runs(work)))
        with pytest.raises(KeyboardInterrupt):
            write_baseline(corpus, tables, tmp_path / "table", executor=others)
    done = others.tasks
    assert done >= 3
    write_baseline(corpus, tables, tmp_path / "table", executor=others)
    assert others.tasks == done
    mapped._last.clear()


def interrupted(runs):
    raise KeyboardInterrupt


def test_parts_are_the_corpus_and_shares_all_keys(rng):
    corpus = corpus_of([random_sentence(rng) for _ in range(150)])
    division = divide(corpus, HieroSettings(), Resources(NARROW))
    for pieces, stop in ((division.parts, 150), (division.shares, LAST_KEY)):
        assert pieces[0][0] == 0
        assert pieces[-1][1] == stop
        assert all(one[1] == other[0] < other[1] for one, other in itertools.pairwise(pieces))


def test_parts_have_about_as_many_rules(rng):
    # Long sentences first, so that equal numbers of sentences would not do.
    pairs = [monotone_sentence(rng, 12) for _ in range(2000)] + [random_sentence(rng, 4) for _ in range(2000)]
    corpus = corpus_of(pairs)
    division = divide(corpus, HieroSettings(), Resources(1 << 24))
    sizes = [extract_run(corpus, HieroSettings(), part, division.rank).seen.sum() for part in division.parts]
    assert len(sizes) >= 3
    assert sum(sizes) == extract(corpus).count.sum()
    assert max(sizes) < 1.3 * np.mean(sizes)


def test_the_corpus_is_walked_once(rng, tmp_path, monkeypatch):
    corpus = corpus_of([random_sentence(rng) for _ in range(120)])
    walked, real = [], table.extract_run

    def noted(corpus, settings, sentences, *rest, **more):
        walked.extend(range(*sentences))
        return real(corpus, settings, sentences, *rest, **more)

    monkeypatch.setattr(table, "extract_run", noted)
    done = []
    narrow = Resources(NARROW)
    write_baseline(corpus, lexical.estimate(corpus), tmp_path / "t", None, narrow, advance=done.append)
    assert walked == list(range(120))
    assert sum(done) == pytest.approx(120)


def test_corpus_without_rules_has_an_empty_table(tmp_path):
    corpus = corpus_of([random_sentence(np.random.default_rng(1))])._replace(
        link_start=np.zeros(2, np.int64), links=np.zeros((0, 2), np.int32)
    )
    assert write_baseline(corpus, lexical.estimate(corpus), tmp_path / "t", None, Resources(NARROW, 2)) == 0


def test_threads_below_one_are_refused(rng, tmp_path):
    corpus = corpus_of([random_sentence(rng)])
    with pytest.raises(SettingsError, match="--threads is 0"):
        write_baseline(corpus, lexical.estimate(corpus), tmp_path / "t", None, Resources(threads=0))
