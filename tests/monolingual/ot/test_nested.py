"""Likelihood-ratio tests of nested maximum-entropy grammars: saturated examples, and what is refused."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from monolingual.cli import main
from monolingual.ot.formats import read_tableaux
from monolingual.ot.nested import constraint_rank

# Two constraints fit the three shares exactly; without B, y and z have half of what is not x each.
COUNTS = (50, 31, 19)
SATURATED = "input\toutput\tfrequency\tA\tB\ni\tx\t50\t0\t0\ni\ty\t31\t1\t0\ni\tz\t19\t1\t1\n"
# maxent.ot's sample_data_frame_large.csv: the third constraint is the first one again.
PUBLISHED = (
    "Input,Output,Frequency,Constraint1,Constraint2,Constraint3\n"
    "Input1,Output1-1,1,1,0,1\nInput1,Output1-2,1,0,1,0\n"
    "Input2,Output2-1,1,0,0,1\nInput2,Output2-2,0,0,1,0\n"
)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.tsv").write_text(SATURATED)
    return tmp_path


def fit(name, *options, tableaux="t.tsv"):
    assert main(["ot", "maxent", tableaux, "--output", name, "--quiet", *options]) == 0


def found_of(capsys, *names, tableaux="t.tsv"):
    capsys.readouterr()
    assert main(["ot", "compare", tableaux, *names, "--likelihood-ratio", "--json"]) == 0
    said = capsys.readouterr()
    return json.loads(said.out), said.err


def refusal(capsys, *names, tableaux="t.tsv"):
    capsys.readouterr()
    assert main(["ot", "compare", tableaux, *names, "--likelihood-ratio"]) == 2
    return capsys.readouterr().err


def expected_statistic():
    """Twice the gain of the observed shares over those in which y and z are equal."""
    rest = (COUNTS[1] + COUNTS[2]) / 2.0
    return 2.0 * sum(n * math.log(n / rest) for n in COUNTS[1:])


@pytest.mark.parametrize("bound", ["--non-negative", "--no-non-negative"])
def test_the_statistic_is_that_of_saturated_tables(bound, place, capsys):
    fit("large", bound)
    fit("small", bound, "--without", "B")
    for names in (("small", "large"), ("large", "small")):
        found, said = found_of(capsys, *names)
        assert (found["small"], found["large"], found["added"], found["df"]) == ("small", "large", ["B"], 1)
        assert_allclose(found["statistic"], expected_statistic(), atol=1e-6)
        assert_allclose(found["p"], stats.chi2.sf(expected_statistic(), 1), rtol=1e-5)
        assert said == ""
    half = None if bound.startswith("--no-") else stats.chi2.sf(expected_statistic(), 1) / 2
    assert found["p_bounded"] == (half if half is None else pytest.approx(half, rel=1e-5))
    assert main(["ot", "compare", "t.tsv", "small", "large", "--likelihood-ratio"]) == 0
    shown = capsys.readouterr().out
    assert f"chi-squared {expected_statistic():.4f}, degrees of freedom 1, p " in shown
    assert ("must not fall below 0" in shown) == (half is not None)


def test_degrees_of_freedom_are_the_constraints_added(place, capsys):
    (place / "t.tsv").write_text(
        "input\toutput\tfrequency\tA\tB\tC\ni\tw\t40\t0\t0\t0\ni\tx\t30\t1\t0\t0\ni\ty\t20\t0\t1\t0\ni\tz\t10\t0\t0\t1\n"
    )
    fit("large", "--no-non-negative")
    fit("small", "--no-non-negative", "--without", "B", "--without", "C")
    found, _ = found_of(capsys, "small", "large")
    shares = np.array([40, 30, 20, 10])
    equal = np.array([70 / 3, 30, 70 / 3, 70 / 3])
    statistic = 2.0 * float(shares @ np.log(shares / equal))
    assert (found["df"], found["added"]) == (2, ["B", "C"])
    assert_allclose(found["statistic"], statistic, atol=1e-6)
    assert_allclose(found["p"], stats.chi2.sf(statistic, 2), rtol=1e-5)


def test_a_weight_that_gains_nothing_has_p_1(place, capsys):
    """With bounds the weight of B stays 0, as winners violate it more than half of the time."""
    (place / "t.tsv").write_text(SATURATED.replace("31", "7").replace("19", "31").replace("\t7\t", "\t19\t"))
    fit("large")
    fit("small", "--without", "B")
    found, _ = found_of(capsys, "small", "large")
    assert_allclose(found["statistic"], 0.0, atol=1e-9)
    assert found["p"] == pytest.approx(1.0, abs=1e-4)
    assert found["p_bounded"] == pytest.approx(1.0, abs=1e-4) or found["statistic"] > 0.0


def test_the_example_of_maxent_ot(place, capsys):
    """Its README has chi_sq 2.451046e-06, k_delta 1, p_value 0.9988: what its optimiser leaves of 0."""
    (place / "large.csv").write_text(PUBLISHED)
    rows = (line.rpartition(",")[0] for line in PUBLISHED.splitlines())
    (place / "small.csv").write_text("\n".join(rows) + "\n")
    fit("large", tableaux="large.csv")
    fit("small", tableaux="small.csv")
    found, said = found_of(capsys, "small", "large", tableaux="large.csv")
    assert (found["df"], found["idle"]) == (1, 1)
    assert_allclose(found["statistic"], 2.451046e-06, atol=1e-5)
    assert_allclose(found["p"], 0.9988, atol=2e-3)
    assert "of the constraints added (Constraint3) 1 have violations that are combinations" in said
    fit("free", "--no-non-negative", tableaux="large.csv")
    fit("few", "--no-non-negative", tableaux="small.csv")
    found, _ = found_of(capsys, "few", "free", tableaux="large.csv")
    assert (found["df"], found["p"]) == (0, 1.0)


def test_ranks_ask_only_what_tells_candidates_apart(place):
    (place / "t.tsv").write_text(
        "input\toutput\tfrequency\tA\tB\tC\ni\tx\t1\t1\t2\t5\ni\ty\t1\t0\t0\t5\nj\tu\t0\t0\t1\t0\nj\tv\t0\t0\t0\t7\n"
    )
    assert constraint_rank(read_tableaux("t.tsv")) == 1
    (place / "t.tsv").write_text((place / "t.tsv").read_text().replace("u\t0", "u\t1"))
    assert constraint_rank(read_tableaux("t.tsv")) == 2


def test_what_is_not_nested_is_refused(place, capsys):
    fit("a", "--without", "A")
    fit("b", "--without", "B")
    assert "has not the constraint 'B' of a, which has no more than it: not nested" in refusal(
        capsys, "a", "b"
    )
    assert "has the same constraints as a" in refusal(capsys, "a", "a")
    fit("all")
    assert "is of two grammars, not of 3" in refusal(capsys, "a", "b", "all")
    (place / "fewer.tsv").write_text("input\toutput\tfrequency\tA\ni\tx\t50\t0\ni\ty\t31\t1\ni\tz\t19\t1\n")
    assert "has the constraint 'B', which the tableaux have not" in refusal(
        capsys, "b", "all", tableaux="fewer.tsv"
    )


def test_what_has_no_highest_likelihood_is_refused(place, capsys):
    fit("all")
    fit("smooth", "--without", "B", "--prior-variance", "1")
    assert "was learnt with a prior" in refusal(capsys, "smooth", "all")
    fit("free", "--without", "B", "--no-non-negative")
    assert "may have weights below 0" in refusal(capsys, "free", "all")
    fit("b", "--without", "B")
    (place / "t.tsv").write_text(SATURATED.replace("31", "32"))
    assert "was learnt from other candidates or frequencies" in refusal(capsys, "b", "all")
    (place / "v.tsv").write_text("input\toutput\tfrequency\tA\tB\ni\tx\t6\t1\t0\ni\ty\t4\t0\t1\n")
    assert main(["ot", "fit", "v.tsv", "--output", "ranked", "--quiet"]) == 0
    assert "is a grammar of stochastic-ot" in refusal(capsys, "ranked", "all")


def test_shares_are_refused_and_separation_is_said(place, capsys):
    (place / "t.tsv").write_text(SATURATED.replace("50", "0.5").replace("31", ".31").replace("19", ".19"))
    fit("all")
    fit("b", "--without", "B")
    assert "needs counts" in refusal(capsys, "b", "all")
    (place / "s.tsv").write_text(SATURATED.replace("19", "0"))
    fit("more", tableaux="s.tsv")
    fit("less", "--without", "B", tableaux="s.tsv")
    assert "no more than a rough guess" in found_of(capsys, "less", "more", tableaux="s.tsv")[1]


def test_grammars_with_some_of_the_constraints_are_compared(place, capsys):
    fit("all")
    fit("b", "--without", "B")
    capsys.readouterr()
    assert main(["ot", "compare", "t.tsv", "all", "b", "--json"]) == 0
    said = capsys.readouterr()
    large, small = json.loads(said.out)["grammars"]
    assert (large["parameters"], small["parameters"]) == (2, 1)
    assert_allclose(2 * (large["log_likelihood"] - small["log_likelihood"]), expected_statistic(), atol=1e-6)
    assert "b is compared without what it has not: B" in said.err
    assert main(["ot", "maxent", "t.tsv", "--without", "A", "--without", "B"]) == 2
    assert "--without leaves no constraint" in capsys.readouterr().err
    assert main(["ot", "maxent", "t.tsv", "--without", "C"]) == 2
    assert "--without: there is no constraint 'C'" in capsys.readouterr().err


def test_grammars_that_cannot_be_compared_are_refused_in_one_line(place, capsys):
    (place / "other.tsv").write_text((place / "t.tsv").read_text().replace("A\tB", "D\tE", 1))
    assert main(["ot", "gla", "t.tsv", "--trials", "50", "--output", "gla", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["ot", "compare", "other.tsv", "gla"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "the tableaux have the constraint 'D', which the grammar has not" in line
