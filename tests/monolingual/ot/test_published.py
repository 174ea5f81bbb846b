"""The data of Lin (2005) and the Finnish genitive plurals at full size; skipped where they are absent."""

from __future__ import annotations

import json

import numpy as np
import pytest

from monolingual.cli import main
from monolingual.ot.formats import read_tableaux
from monolingual.ot.grammar import predict, read_summary
from monolingual.ot.orderings import conjunct_texts
from monolingual.ot.run import start_run
from monolingual.ot.settings import OtSettings, RunSettings


@pytest.fixture
def data(shared_data):
    return shared_data / "ot"


def sampled(path, run, **settings):
    """The summary of a run with default settings, and the prediction at its medians."""
    tableaux = read_tableaux(path)
    summary = start_run(tableaux, run, OtSettings(), RunSettings(**settings))
    return summary, predict(read_summary(run)[0], tableaux)


def test_table_3_from_the_file(data):
    tableaux = read_tableaux(data / "lin2005-table2.tsv")
    seen = np.flatnonzero(tableaux.frequency)
    assert [conjunct_texts(tableaux, int(c)) for c in seen] == [
        ["C1 > max{C2, C4}", "max{C3, C5} > C4", "C3 > max{C2, C4}"],
        ["max{C2, C4} > C1", "max{C2, C3, C5} > C1", "C3 > C1"],
        ["max{C3, C4, C5} > max{C1, C2}"],
    ]
    assert (tableaux.frequency[seen] / tableaux.frequency.sum()).tolist() == [0.4, 0.3, 0.3]


@pytest.mark.slow
def test_ilokano_is_fitted_and_converges(data, tmp_path):
    summary, probs = sampled(data / "lin2005-ilokano-reduplication.tsv", tmp_path / "run")
    assert np.abs(probs - 1 / 3).max() < 0.01
    assert summary["worst_rhat"] < 1.01


@pytest.mark.slow
def test_spanish_is_as_published(data, tmp_path):
    summary, probs = sampled(data / "lin2005-spanish-diminutives.tsv", tmp_path / "run")
    assert np.abs(probs[::2] - [0.95, 0.5, 0.95]).max() < 0.02
    assert abs(summary["median"]["DEP-IO"] - summary["median"]["BaseTooLittle"]) < 0.15
    assert summary["worst_rhat"] < 1.01


@pytest.mark.slow
def test_finnish_converges(data, tmp_path):
    path = data / "finnish-genitive-plurals.tsv"
    summary, _ = sampled(path, tmp_path / "run")
    assert summary["worst_rhat"] < 1.01
    assert summary["correlation"] > 0.96
    tableaux = read_tableaux(path)
    assert (len(tableaux.inputs), len(tableaux.constraints), tableaux.frequency.sum()) == (25, 11, 5702)


def test_gla_on_the_file_is_biased(data, capsys):
    path = str(data / "lin2005-spanish-diminutives.tsv")
    assert main(["ot", "gla", path, "--seeds", "20", "--trials", "40000", "--json", "--quiet"]) == 0
    scatter = {entry["output"]: entry for entry in json.loads(capsys.readouterr().out)["scatter"]}
    assert scatter["marEsito"]["below_observed"] > 0.8
