"""Comparisons on the same data, information criteria, ties, repeated candidates, spreadsheets."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from monolingual.cli import main
from monolingual.ot import comparison
from monolingual.ot.comparison import mean_prediction, posterior_probs
from monolingual.ot.exact import winning_probs
from monolingual.ot.formats import read_tableaux
from monolingual.ot.grammar import read_summary
from monolingual.ot.harmonic import fit_maxent
from monolingual.ot.run import read_draws
from scfg_sampler.errors import InputError

# z is harmonically bounded by the other two together: no ranking makes it win, weights can.
BOUNDED = (
    "input\toutput\tfrequency\tA\tB\n"
    "i\tx\t6\t2\t0\ni\ty\t3\t0\t2\ni\tz\t1\t1\t1\nj\tu\t5\t1\t0\nj\tv\t5\t0\t1\n"
)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.tsv").write_text(BOUNDED)
    for command in ("maxent", "fit"):
        assert main(["ot", command, "t.tsv", "--output", command, "--quiet"]) == 0
    return tmp_path


def compared(capsys, *names):
    capsys.readouterr()
    assert main(["ot", "compare", "t.tsv", *names, "--json"]) == 0
    said = capsys.readouterr()
    return json.loads(said.out), said.err


def test_grammars_are_compared_on_what_none_excludes(place, capsys):
    record, _ = compared(capsys, "maxent", "fit")
    assert record["left_out"] == [{"candidate": "i → z", "frequency": 1.0}]
    assert [entry["excluded"] for entry in record["grammars"]] == [0.0, 1.0]
    alone, _ = compared(capsys, "maxent")
    assert alone["left_out"] == []
    weights = json.loads((place / "maxent" / "summary.json").read_text())["grammar"]
    harmony = {
        "x": -2 * weights["A"],
        "y": -2 * weights["B"],
        "z": -weights["A"] - weights["B"],
    }
    chance = math.exp(harmony["z"]) / sum(map(math.exp, harmony.values()))
    lost = alone["grammars"][0]["log_likelihood"] - record["grammars"][0]["log_likelihood"]
    assert_allclose(lost, math.log(chance), atol=1e-9)
    assert main(["ot", "compare", "t.tsv", "maxent", "fit"]) == 0
    shown = capsys.readouterr().out
    assert "left out for all, as some grammar gives it no chance: i → z (frequency 1)" in shown
    assert "fit gives 1 of 20 tokens no chance" in shown


def test_what_a_grammar_excludes_is_counted_in_tokens(place, capsys):
    (place / "t.tsv").write_text(BOUNDED.replace("\t1\t1\t1\n", "\t4\t1\t1\n"))
    record, _ = compared(capsys, "maxent", "fit")
    assert record["left_out"] == [{"candidate": "i → z", "frequency": 4.0}]
    assert [entry["excluded"] for entry in record["grammars"]] == [0.0, 4.0]


def test_posterior_probabilities_are_of_draws_from_all_of_all_chains(place, monkeypatch):
    """Two chains of ten draws after the burn-in: of the twenty the first, two between, and the last."""
    run = ["--chains", "2", "--iterations", "16", "--burn-in", "6", "--pilot", "8", "--output", "run"]
    assert main(["ot", "sample", "t.tsv", *run, "--quiet"]) == 0
    tableaux, draws = read_tableaux("t.tsv"), read_draws("run")
    assert [len(each) for each in draws.mean] == [10, 10]
    mean, deviation = np.concatenate(draws.mean), np.concatenate(draws.deviation)
    every = np.array([winning_probs(tableaux, *row) for row in zip(mean, deviation, strict=True)])
    assert_array_equal(posterior_probs("run", tableaux), every)
    assert_array_equal(mean_prediction("run", tableaux), every.mean(axis=0))
    monkeypatch.setattr(comparison, "_MOST_DRAWS", 4)
    assert_array_equal(posterior_probs("run", tableaux), every[[0, 6, 12, 19]])


def test_bic_weighs_values_by_the_logarithm_of_tokens(place, capsys):
    entry = compared(capsys, "maxent")[0]["grammars"][0]
    assert entry["parameters"] == 2
    assert_allclose(entry["bic"], 2 * math.log(20) - 2 * entry["log_likelihood"], rtol=1e-12)
    assert_allclose(entry["aic"], 4 - 2 * entry["log_likelihood"], rtol=1e-12)


def test_aicc_adds_what_few_tokens_make_of_aic(place, capsys):
    entry = compared(capsys, "maxent")[0]["grammars"][0]
    assert_allclose(entry["aicc"] - entry["aic"], 2 * 2 * 3 / (20 - 2 - 1), rtol=1e-9)
    # With no more tokens than values and one there is none.
    (place / "t.tsv").write_text("input\toutput\tfrequency\tA\tB\ni\tx\t2\t2\t0\ni\ty\t1\t0\t2\n")
    assert compared(capsys, "maxent")[0]["grammars"][0]["aicc"] is None


def test_probabilities_have_no_information_criteria(place, capsys):
    (place / "t.tsv").write_text(
        "input\toutput\tfrequency\tA\tB\ni\tx\t.33\t2\t0\ni\ty\t.67\t0\t2\nj\tu\t1\t1\t0\nj\tv\t0\t0\t1\n"
    )
    small = ["--iterations", "40", "--chains", "1", "--pilot", "8", "--output", "run", "--quiet"]
    assert main(["ot", "sample", "t.tsv", *small]) == 0
    record, said = compared(capsys, "maxent", "run")
    assert "the frequencies of t.tsv are probabilities, which tell no number of tokens" in said
    for entry in record["grammars"]:
        assert entry["log_likelihood"] < 0.0
        assert {entry[name] for name in ("aic", "aicc", "bic", "waic", "loo")} == {None}
    (place / "t.tsv").write_text((place / "t.tsv").read_text().replace(".33", "33").replace(".67", "67"))
    record, said = compared(capsys, "maxent", "run")
    assert "are probabilities" not in said
    assert record["grammars"][0]["aic"] is not None
    assert record["grammars"][1]["waic"] is not None


@pytest.mark.parametrize("prior", [["--prior-variance", "1"], ["--bias", "b"], []])
def test_probabilities_beside_a_prior_are_warned_of(place, capsys, prior):
    (place / "b").write_text("A\t0\t1\nB\t0\t1\n")
    for frequencies, is_told in (((".4", ".6"), bool(prior)), (("1", "0"), False), (("40", "60"), False)):
        rows = "i\tx\t{}\t1\t0\ni\ty\t{}\t0\t1\n".format(*frequencies)
        (place / "t.tsv").write_text("input\toutput\tfrequency\tA\tB\n" + rows)
        capsys.readouterr()
        assert main(["ot", "maxent", "t.tsv", *prior]) == 0
        said = capsys.readouterr().err
        assert ("weighs no more than a single token beside the prior" in said) == is_told


def test_an_input_without_tokens_adds_no_fitted_value(place, capsys):
    (place / "t.tsv").write_text(
        "input\toutput\tfrequency\tA\tB\tC\n"
        "x\ta\t5\t1\t0\t0\nx\tb\t5\t0\t1\t0\nx\te\t0\t1\t1\t0\n"
        "y\tc\t0\t0\t0\t1\ny\td\t0\t0\t0\t0\n"
    )
    for command, values in (("maxent", 2), ("fit", 1)):  # In Stochastic OT only differences count.
        assert main(["ot", command, "t.tsv", "--output", f"{command}-unseen", "--quiet"]) == 0
        entry = compared(capsys, f"{command}-unseen")[0]["grammars"][0]
        assert entry["parameters"] == values
        assert_allclose(entry["aic"], 2 * values - 2 * entry["log_likelihood"], rtol=1e-12)


def test_runs_learnt_from_other_data_are_named(place, capsys):
    assert "was learnt from other" not in compared(capsys, "maxent")[1]
    (place / "t.tsv").write_text(BOUNDED.replace("\t6\t", "\t7\t"))
    assert (
        "maxent was learnt from other candidates or frequencies than t.tsv" in compared(capsys, "maxent")[1]
    )


def test_ties_are_named_by_rank(tmp_path, capsys):
    (tmp_path / "t").write_text(
        "input\toutput\tfrequency\tA\tB\ni\tx\t6\t1\t0\ni\tw\t0\t1\t0\ni\ty\t0\t0\t1\n"
        "j\tu\t0\t1\t0\nj\tv\t0\t1\t0\nj\tt\t1\t0\t0\n"
    )
    assert main(["ot", "rank", str(tmp_path / "t"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ties"] == [["i → x", ["w"]]]
    assert main(["ot", "rank", str(tmp_path / "t")]) == 0
    assert "tied under every ranking, their violations being the same: i → x; w" in capsys.readouterr().out


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_repeated_candidates_are_summed_and_commas_read(delimiter, tmp_path):
    """As maxent.ot's files: a spreadsheet, with a line for each observation."""
    rows = [
        ["Input", "Output", "Frequency", '"Ident, back"' if delimiter != "\t" else "Ident, back", "Agree"],
        ["hotel-nAk", "hotelnak", "1", "", "1"],
        ["hotel-nAk", "hotelnek", "1", "1", ""],
        ["hotel-nAk", "hotelnak", "1", "0", "1"],
        ["", "hotelnak", "2", "0", "1"],
    ]
    path = tmp_path / "data.csv"
    path.write_text("\r\n".join(delimiter.join(row) for row in rows) + "\r\n", encoding="utf-8-sig")
    found = read_tableaux(path)
    assert found.constraints == ("Ident, back", "Agree")
    assert found.outputs == ("hotelnak", "hotelnek")
    assert found.frequency.tolist() == [4.0, 1.0]
    assert found.violations.tolist() == [[0, 1], [1, 0]]


def test_damaged_quotes_are_named_with_their_line(tmp_path):
    (tmp_path / "x.csv").write_text('input,output,frequency,A\ni,x,1,0\ni,"y,2,1\n')
    with pytest.raises(InputError, match=r":3: is no row of quoted columns .*Mend the quotes"):
        read_tableaux(tmp_path / "x.csv")


def test_weights_are_not_negative_unless_asked_for(tmp_path):
    """Violating A is what winners do here, so that its best weight is negative."""
    (tmp_path / "t").write_text(
        "input\toutput\tfrequency\tA\tB\ni\tx\t6\t1\t0\ni\ty\t2\t0\t0\ni\tz\t1\t0\t1\n"
    )
    example = read_tableaux(tmp_path / "t")
    assert fit_maxent(example).weight[0] == 0.0
    assert_allclose(fit_maxent(example, non_negative=False).weight[0], -math.log(3.0), atol=1e-6)
    assert main(["ot", "maxent", str(tmp_path / "t"), "--output", str(tmp_path / "r"), "--quiet"]) == 0
    assert json.loads((tmp_path / "r" / "summary.json").read_text())["grammar"]["A"] == 0.0


def test_grammars_of_one_name_are_told_apart_in_a_report(place):
    """It shows the grammar's own likelihood, whatever is beside it."""
    tied = ["ot", "maxent", "t.tsv", "--prior-variance", "0.01", "--output", "tied/maxent", "--quiet"]
    assert main(tied) == 0
    found = []
    for beside in ([], ["--beside", "tied/maxent"]):
        assert main(["ot", "report", "maxent", *beside, "--output", "report.html", "--quiet"]) == 0
        fit = (place / "report.html").read_text(encoding="utf-8").partition("correlation of shares")[2]
        found.append(re.findall(r"−[0-9]+\.[0-9]{2}(?=<)", fit))
    assert found[1][0] == found[0][0] != found[1][1]
    assert f"{place.name}/maxent" in fit
    assert "tied/maxent" in fit


@pytest.mark.parametrize(
    ("value", "deviation", "complaint"),
    [
        ("NaN", "1", "has the value nan of 'A'. Give a number"),
        ("-1e101", "1", "has the value -1e+101 of 'A'. Give a number from -1e+100 to 1e+100"),
        ("1", "0", "has the deviation 0 of 'A'. Give one above 0"),
        ("1", "1e400", "has the deviation inf of 'A'. Give one above 0"),
        ("1", "null", "has the deviation nan of 'A'. Give one above 0"),
        ("true", "1", "is not the summary of a grammar"),
        ("1", "true", "is not the summary of a grammar"),
        ('"1"', "1", "is not the summary of a grammar"),
        ("[1]", "1", "is not the summary of a grammar"),
    ],
)
def test_grammars_without_sense_are_refused(tmp_path, value, deviation, complaint):
    text = f'{{"model": "stochastic-ot", "grammar": {{"A": {value}}}, "deviation": {{"A": {deviation}}}}}'
    (tmp_path / "summary.json").write_text(text)
    with pytest.raises(InputError, match=re.escape(complaint)):
        read_summary(tmp_path)
