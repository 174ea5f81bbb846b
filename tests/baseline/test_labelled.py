"""Rules with labels: those of the baseline, each nonterminal with the label of the span it covers."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest

from scfg_sampler.baseline.extraction import extract
from scfg_sampler.baseline.labelled import extract_labelled, score_labelled
from scfg_sampler.baseline.settings import HieroSettings
from scfg_sampler.cli import main
from scfg_sampler.corpus.span_labels import SpanLabels
from scfg_sampler.rules.counts import select_rules
from scfg_sampler.rules.labels import kind_of
from scfg_sampler.rules.lexical import estimate
from scfg_sampler.rules.table import read_rule_table
from tests.baseline.test_extraction import random_sentence, spelled
from tests.learner.corpora import corpus_of
from tests.oracles import reference_extraction
from tests.oracles.phrase_forest import phrases

NAMES = ("X", "A", "B,1")


def random_labels(rng, corpus, is_target):
    """Labels of about half of the spans of a side, and the same as a dictionary for each sentence."""
    start = corpus.target_start if is_target else corpus.source_start
    given = []
    for length in np.diff(start).tolist():
        spans = [(i, j) for i in range(length) for j in range(i + 1, length + 1) if rng.random() < 0.5]
        given.append({span: int(rng.integers(1, 3)) for span in spans})
    flat = [(span, label) for each in given for span, label in each.items()]
    labels = SpanLabels(
        NAMES,
        is_target,
        np.concatenate([[0], np.cumsum([len(each) for each in given])]).astype(np.int64),
        np.array([span for span, _ in flat], np.int32).reshape(-1, 2),
        np.array([label for _, label in flat], np.int32),
    )
    return labels, given


@pytest.mark.parametrize("is_target", [True, False])
@pytest.mark.parametrize("seed", [0, 3, 5])
def test_labels_are_those_of_the_spans(seed, is_target):
    rng = np.random.default_rng(seed)
    pairs = [random_sentence(rng, 6) for _ in range(4)]
    corpus = corpus_of(pairs)
    labels, given = random_labels(rng, corpus, is_target)
    fractional, loose = bool(seed % 2), ("no", "both")[seed // 4]
    weights, total = defaultdict(Counter), Counter()
    for pair, names in zip(pairs, given, strict=True):
        for whole in phrases(pair, loose):
            ways = reference_extraction.ways_of_phrase(pair, whole, loose=loose)
            for holes, (source, target, links) in ways:
                spans = [part[2:4] if is_target else part[0:2] for part in (whole, *holes)]
                kind = tuple(NAMES[names.get(span, 0)] for span in spans)
                kind = kind if set(kind) != {"X"} else ()
                weights[source, target, kind][links] += 1 / len(ways) if fractional else 1.0
                total[source, target] += 1 / len(ways) if fractional else 1.0
    settings = HieroSettings(counting="fractional" if fractional else "occurrences", loose=loose)
    rules = extract_labelled(corpus, labels, settings)
    table = score_labelled(rules, estimate(corpus), corpus)
    found = {}
    log_labels = table.features[:, table.feature_names.index("LogLabels")]
    for row in range(table.num_rules):
        ((sides, (links, count)),) = spelled(_row(rules.counts, row), corpus).items()
        key = (*sides, kind_of(table.labels, row))
        assert key not in found, "a rule comes once"
        found[key] = count
        alignments = weights[key]
        assert count == pytest.approx(sum(alignments.values()))
        assert alignments[links] == pytest.approx(max(alignments.values()))
        assert np.exp(log_labels[row]) == pytest.approx(count / total[sides], rel=1e-5)
    assert found.keys() == weights.keys()
    _check_probabilities(table, found)


def _row(counts, row):
    return select_rules(counts, np.array([row]))


def _check_probabilities(table, found):
    """Counts over those of the same source side and labels, and of the same target side and gaps."""

    def labels(source, kind):
        return kind or ("X",) * (1 + sum(isinstance(symbol, int) for symbol in source))

    of_source, of_target = Counter(), Counter()
    for (source, target, kind), count in found.items():
        of_source[source, labels(source, kind)] += count
        of_target[target, labels(source, kind)[1:]] += count
    names = table.feature_names
    features = np.exp(table.features[:, [names.index("LogForward"), names.index("LogBackward")]])
    for values, ((source, target, kind), count) in zip(features, found.items(), strict=True):
        totals = of_source[source, labels(source, kind)], of_target[target, labels(source, kind)[1:]]
        assert values == pytest.approx([count / (total + 0.5) for total in totals], rel=1e-5)


def test_without_labels_the_rules_are_the_baselines():
    rng = np.random.default_rng(3)
    corpus = corpus_of([random_sentence(rng) for _ in range(6)])
    none = SpanLabels(("X",), True, np.zeros(7, np.int64), np.zeros((0, 2), np.int32), np.zeros(0, np.int32))
    found = extract_labelled(corpus, none, HieroSettings(no_singletons=True))
    assert found.labels is None
    assert spelled(found.counts, corpus) == spelled(
        extract(corpus, HieroSettings(no_singletons=True)), corpus
    )


def test_the_command_writes_labels(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f").write_text("das haus\nein haus\n")
    (tmp_path / "e").write_text("the house\na house\n")
    (tmp_path / "a").write_text("0-0 1-1\n0-0 1-1\n")
    (tmp_path / "t").write_text("(NP (DT the) (NN house))\n\n")
    corpus = ["--source", "f", "--target", "e", "--alignment", "a", "--quiet"]
    assert main(["extract", *corpus, "--labels", "t", "--labels-form", "trees", "--output", "g"]) == 0
    lines = (tmp_path / "g").read_text().splitlines()
    assert lines[0].endswith("labels:t|labels-form:trees|labels-side:target")
    assert {line.rsplit(" ||| ", 2)[0] for line in lines if line.startswith("[NP]")} == {
        "[NP] ||| [DT,1] haus ||| [DT,1] house",
        "[NP] ||| das [NN,1] ||| the [NN,1]",
        "[NP] ||| das haus ||| the house",
    }
    assert read_rule_table(tmp_path / "g", labels=True).num_rules == len(lines) - 1
    assert capsys.readouterr().err == ""
    assert main(["extract", *corpus, "--labels-side", "source", "--output", "h"]) == 0
    assert "do nothing without --labels: all are X" in capsys.readouterr().err
    (tmp_path / "t").write_text("(NP (DT the) (NN house)\n\n")
    assert main(["extract", *corpus, "--labels", "t", "--labels-form", "trees", "--output", "h"]) == 2
    assert "t:1: has a bracket that is not closed" in capsys.readouterr().err
    (tmp_path / "t").write_text("0-2:NP\n\n")
    monkeypatch.setattr("scfg_sampler.baseline.table._BYTES", 1 << 40)
    assert main(["extract", *corpus, "--labels", "t", "--output", "h"]) == 2
    assert "rules with labels are counted in memory" in capsys.readouterr().err


def test_options_that_do_nothing_beside_labels_are_warned_of_or_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f").write_text("das haus\n")
    (tmp_path / "e").write_text("the house\n")
    (tmp_path / "a").write_text("0-0 1-1\n")
    (tmp_path / "t").write_text("0-1:DT\n")
    command = ["extract", "--source", "f", "--target", "e", "--alignment", "a", "--quiet", "--output", "g"]
    command += ["--labels", "t"]
    assert main([*command, "--threads", "2", "--workers", "2", "--temporary", "here"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        f"warning: --{name} does nothing with --labels" for name in ("threads", "temporary", "workers")
    ]
    for wrong in (["--threads", "0"], ["--workers", "0"], ["--workers", "1", "--scheduler", "tcp://x:1"]):
        assert main([*command, *wrong]) == 2
        assert wrong[0] in capsys.readouterr().err
