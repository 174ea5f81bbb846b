"""Runs of corpora whose spans have labels, and what they leave on disk."""

from __future__ import annotations

import gzip
import json
import math

import pytest

from scfg_sampler.corpus.parallel_text import CorpusFiles
from scfg_sampler.errors import CheckpointMismatch, InputError, SettingsError
from scfg_sampler.explore.sources import open_sources
from scfg_sampler.learner.chains import start_chains
from scfg_sampler.learner.grammar import write_grammar
from scfg_sampler.learner.run import resume_run, start_run
from scfg_sampler.learner.settings import GrammarSettings, LearnerSettings, RunSettings
from scfg_sampler.learner.verification import verify_run
from scfg_sampler.rules.labels import kind_of
from scfg_sampler.rules.table import read_rule_table

TREES = """\
(NP (DT the) (NN house))
(S (NP (DT an) (JJ old) (NN dog)) (VP (VB sleeps)))

(S (NP (DT an) (NN house)) (VP (VB sleeps)))
"""
RUN = RunSettings(iterations=8, burn_in=3, checkpoint_every=3, seed=2)
PARSED = LearnerSettings(labels_form="trees", max_cut_span=3)


@pytest.fixture
def files(tmp_path):
    lines = {
        "f": "das haus\nein alter hund schläft\ndas alte haus\nein haus schläft\n",
        "e": "the house\nan old dog sleeps\nthe old house\nan house sleeps\n",
        "a": "0-0 1-1\n0-0 1-1 2-2 3-3\n0-0 1-1 2-2\n0-0 1-1 2-2\n",
        "trees": TREES,
        "none": "\n\n\n\n",
    }
    for name, text in lines.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return CorpusFiles(tmp_path / "f", tmp_path / "e", (tmp_path / "a",), tmp_path / "trees")


def _lines(path):
    return gzip.decompress(path.read_bytes()).decode().splitlines()


def test_a_run_with_labels_is_verified_and_goes_on_as_if_it_had_not_stopped(files, tmp_path):
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    start_run(files, whole, PARSED, RUN._replace(marginals=True), check=True)
    assert verify_run(whole)
    start_run(files, stopped, PARSED, RUN._replace(marginals=True, iterations=4))
    resume_run(stopped, 8)
    for name in ("counts/marginal.gz", "derivations.jsonl.gz"):
        assert _lines(whole / name) == _lines(stopped / name)
    assert (whole / "marginals.json").read_text() == (stopped / "marginals.json").read_text()


def test_shards_and_rules_on_disk_change_no_count(files, tmp_path):
    settings = PARSED._replace(shards=2)
    start_run(files, tmp_path / "all", settings, RUN)
    start_run(files, tmp_path / "few", settings, RUN._replace(memory=1))
    assert list((tmp_path / "few" / "collected").iterdir())
    assert verify_run(tmp_path / "few")
    for name in ("last", "average", "marginal"):
        found, expected = (_lines(tmp_path / run / "counts" / f"{name}.gz") for run in ("few", "all"))
        assert found == expected


def test_tables_have_the_labels_of_derivations(files, tmp_path):
    start_run(files, tmp_path / "run", PARSED, RUN)
    used = set()

    def visit(node):
        used.add(node["rule"])
        for part in node["parts"]:
            visit(part)

    for line in _lines(tmp_path / "run" / "derivations.jsonl.gz"):
        visit(json.loads(line)["derivation"])
    rows = [line.split(" ||| ") for line in _lines(tmp_path / "run" / "counts" / "last.gz")[1:]]
    assert {" ||| ".join(row[:3]) for row in rows} == used
    assert "[S]" in {rule.split()[0] for rule in used}
    # The pair without a tree has X alone.
    assert any(rule.startswith("[X] ||| ") for rule in used)


def test_a_grammar_with_labels_has_the_shares_of_its_rules(files, tmp_path):
    start_run(files, tmp_path / "run", PARSED, RUN)
    made = write_grammar(tmp_path / "run", tmp_path / "grammar", GrammarSettings(rule_filter="none"))
    table = read_rule_table(tmp_path / "grammar", labels=True)
    assert made == (table.num_rules, table.num_rules)
    columns = {name: table.features[:, k] for k, name in enumerate(table.feature_names)}
    counts = [math.exp(float(x)) for x in columns["LogCount"]]
    rows = [line.split(" ||| ")[:3] for line in (tmp_path / "grammar").read_text().splitlines()[1:]]
    for r, (left, source, target) in enumerate(rows):
        assert kind_of(table.labels, r)[:1] in ((left[1:-1],), ())
        same = sum(n for n, row in zip(counts, rows, strict=True) if row[:2] == [left, source])
        assert columns["LogForward"][r] == pytest.approx(math.log(counts[r] / (same + 0.5)), abs=1e-4)
        bare = [_bare(source), _bare(target)]
        alike = sum(n for n, row in zip(counts, rows, strict=True) if [*map(_bare, row[1:])] == bare)
        assert columns["LogLabels"][r] == pytest.approx(math.log(counts[r] / alike), abs=1e-4)


def _bare(side):
    """A side with its gaps called X."""
    return " ".join(f"[X,{x.split(',')[1]}" if x.startswith("[") else x for x in side.split())


def test_labels_all_of_which_are_x_change_no_byte_but_the_signature(files, tmp_path):
    plain, with_x = files._replace(labels=None), files._replace(labels=tmp_path / "none")
    for name, each in (("plain", plain), ("with_x", with_x)):
        start_run(each, tmp_path / name, LearnerSettings(), RUN._replace(marginals=True))
        write_grammar(tmp_path / name, tmp_path / f"{name}.grammar", GrammarSettings())
    for name in ("counts/last.gz", "counts/average.gz", "counts/marginal.gz"):
        assert _lines(tmp_path / "plain" / name)[1:] == _lines(tmp_path / "with_x" / name)[1:]
    derivations = [_lines(tmp_path / name / "derivations.jsonl.gz") for name in ("plain", "with_x")]
    assert derivations[0] == derivations[1]
    texts = [(tmp_path / f"{name}.grammar").read_text().splitlines()[1:] for name in ("plain", "with_x")]
    assert texts[0] == texts[1]
    marginals = [(tmp_path / name / "marginals.json").read_text() for name in ("plain", "with_x")]
    assert marginals[0] == marginals[1]


@pytest.mark.parametrize(
    ("settings", "run"),
    [
        ({"unaligned": "free"}, {}),
        ({"choose": "phrase"}, {}),
        ({}, {"chains": 2}),
    ],
)
def test_what_does_not_go_with_labels_is_refused(files, tmp_path, settings, run):
    with pytest.raises(SettingsError, match=f"--labels has no --{[*settings, *run][0]}"):
        start_chains(files, tmp_path / "run", PARSED._replace(**settings), RUN._replace(**run))


def test_what_needs_x_alone_refuses_a_run_with_labels(files, tmp_path):
    start_run(files, tmp_path / "run", PARSED, RUN)
    for settings in (
        GrammarSettings(prune="entropy"),
        GrammarSettings(keep="10%"),
        GrammarSettings(more=[str(tmp_path / "run" / "counts" / "last.gz")]),
    ):
        with pytest.raises(SettingsError, match="rules with labels have no --"):
            write_grammar(tmp_path / "run", tmp_path / "grammar", settings)
    with pytest.raises(InputError, match="rules with labels, which are not shown"):
        open_sources([tmp_path / "run"])


def test_labels_that_have_changed_are_noticed(files, tmp_path):
    start_run(files, tmp_path / "run", PARSED, RUN._replace(iterations=4))
    (tmp_path / "trees").write_text(TREES.replace("VP", "VV"), encoding="utf-8")
    with pytest.raises(CheckpointMismatch, match=r"\(labels\) is not the same as when"):
        resume_run(tmp_path / "run", 8)
