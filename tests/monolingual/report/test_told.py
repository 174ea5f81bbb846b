"""What pages of the four models tell about numbers: tips, verdicts, limits; and words from right to left."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from scfg_sampler.core.chains import driver
from scfg_sampler.core.reports.traces import NamedTrace, Traced, tell_traces
from tests.monolingual.report.made import SHALOM, call, made_ot, made_page, made_pcfg, made_tsg
from tests.report.test_report import SVG, XHTML, Made

TWO_TITLES = {"log_joint": "log joint", "types": "sizes"}


@pytest.fixture(scope="module")
def dmv(tmp_path_factory):
    """A directory with a model, its covariances and a page about them."""
    directory = tmp_path_factory.mktemp("dmv")
    made_page(directory, "dmv")
    return directory


# ---- Dependencies ----------------------------------------------------------------------------------


def test_pointing_at_a_square_shows_the_correlation_however_strong_its_colour_is(dmv):
    arrays = np.load(dmv / "model.npz")
    tags, flat = arrays["tags"].tolist(), arrays["covariance"]
    page, size = dmv / "head.html", len(tags)
    told = ["--covariances", dmv / "model.npz", "--head", "VB"]
    assert call("dmv", "report", dmv / "model.txt", *told, "--output", page) == 0
    # The root's matrix, those of four stops of each tag, those of the children of each tag on both sides.
    first = size**2 + 4 * size * 4 + 2 * tags.index("VB") * size**2
    matrix = flat[first : first + size**2].reshape(size, size)
    deviations = np.sqrt(np.diagonal(matrix))
    correlation = matrix / np.outer(deviations, deviations)
    np.fill_diagonal(correlation, 0.0)
    strongest = np.abs(correlation).max()
    picture = Made(page).section("covariances").find(f".//{SVG}svg")
    assert picture.get("aria-label") == f"VB left: the strongest colour is {strongest:.3g}"
    squares = [each for each in picture.findall(f"{SVG}rect") if each.get("class") != "frame"]
    assert len(squares) == (np.abs(correlation) >= 0.005 * strongest).sum() > 2
    for square in squares:
        pair, _, shown = square.find(f"{SVG}title").text.rpartition(": ")
        head, tag = pair.split(", ")
        expected = correlation[tags.index(head), tags.index(tag)]
        assert float(shown.replace("−", "-")) == pytest.approx(expected, rel=1e-3)
        opacity = (abs(expected) / strongest) ** 0.6
        assert float(square.get("fill-opacity")) == pytest.approx(opacity, abs=0.0051)


def test_tags_from_right_to_left_do_not_take_the_number_of_another_one(tmp_path):
    (tmp_path / "tagged").write_text(f"A {SHALOM}x {SHALOM}\n{SHALOM} A\n" * 2, encoding="utf-8")
    told = ["--method", "vb-em-logistic-normal", "--rounds", 3, "--covariances", tmp_path / "npz"]
    assert call("dmv", "train", tmp_path / "tagged", "--output", tmp_path / "model", *told) == 0
    page = tmp_path / "page.html"
    assert call("dmv", "report", tmp_path / "model", *told[-2:], "--output", page) == 0
    made = Made(page)
    for section, at_least in (("tags", 3), ("covariances", 3)):
        cells = [each for each in made.section(section).iter() if each.tag in (f"{XHTML}td", f"{XHTML}th")]
        listed = [cell for cell in cells if ", " in "".join(cell.itertext()) and cell.findall(f"{XHTML}bdi")]
        assert len(listed) >= at_least
        for cell in listed:
            apart = ["".join(each.itertext()) for each in cell.findall(f"{XHTML}bdi")]
            text = "".join(cell.itertext())
            assert [re.sub(r" [\d.]+$", "", each) for each in text.split(", ")] == apart


# ---- Chains ----------------------------------------------------------------------------------------


def test_all_draws_are_judged_and_not_the_last_of_each_block(tmp_path):
    run = made_pcfg(tmp_path, "--reweight")
    assert call("pcfg", "report", run, "--output", tmp_path / "page.html") == 0
    samples = np.load(run / "samples.npz")
    judged = json.loads((run / "summary.json").read_text())["convergence"]["log_joint"]
    rows = {row[0]: row[1:] for row in Made(tmp_path / "page.html").rows("traces")}
    rhat, ess, mean, deviation = [float(each.replace("−", "-")) for each in rows["log joint"]]
    assert (rhat, ess) == pytest.approx((judged["rhat"], judged["ess"]), abs=0.051)
    assert rhat == pytest.approx(judged["rhat"], abs=5.1e-4)
    assert mean == pytest.approx(samples["log_joint"].mean(), rel=1e-3)
    assert deviation == pytest.approx(samples["log_joint"].std(), rel=1e-3)
    partition = float(rows["log of the partition function"][2].replace("−", "-"))
    assert partition == pytest.approx(samples["log_partition"].mean(), rel=1e-3)


@pytest.mark.parametrize(("rhat", "is_told"), [(1.004, False), (1.66, True), (None, False)])
def test_rules_on_which_chains_disagree_are_told_whatever_the_log_joint_says(tmp_path, rhat, is_told):
    run = made_pcfg(tmp_path)
    record = json.loads((run / "summary.json").read_text())
    rules = [name for name in record["convergence"] if name != "log_joint"]
    for name in rules:
        record["convergence"][name]["rhat"] = 1.0
    record["convergence"][rules[1]]["rhat"] = rhat
    (run / "summary.json").write_text(json.dumps(record))
    assert call("pcfg", "report", run, "--output", tmp_path / "page.html") == 0
    said = Made(tmp_path / "page.html").said("traces")
    told = f"have not come to agree on 1 of 2 probabilities: split R̂ is above 1.01, for {rules[1]} 1.660."
    assert (told in said) == is_told
    assert ("come to agree on" in said) == is_told


def test_a_log_joint_that_agrees_does_not_speak_for_what_does_not():
    rng = np.random.default_rng(5)
    sweep = np.arange(400.0)
    traces = [
        {"sweep": sweep, "log_joint": rng.normal(size=400), "types": rng.normal(3.0 * apart, size=400)}
        for apart in (0, 1)
    ]
    named = [NamedTrace(f"chain {k}", trace) for k, trace in enumerate(traces)]
    for titles, is_told in (({"log_joint": "log joint"}, False), (TWO_TITLES, True)):
        page = "".join(tell_traces(named, Traced(titles), 0))
        assert ("the chains agree on it." in page) != is_told
        shown = re.search(r"agree on it, but not on all that is traced \(sizes: (\d\.\d+)\)", page)
        assert (shown is not None and float(shown[1]) > 1.5) == is_told


# ---- Treebanks -------------------------------------------------------------------------------------


def test_a_constituent_cut_in_just_so_many_tenths_is_counted_above_that_tenth(tmp_path):
    run = made_tsg(tmp_path)
    nodes = [{"cut": k / 10} for k in range(11)]
    (run / "marginals.json").write_text(json.dumps({"sweeps": 10, "trees": [{"nodes": nodes}]}))
    assert call("tsg", "report", run, "--output", tmp_path / "page.html") == 0
    counted = [int(row[2]) for row in Made(tmp_path / "page.html").rows("cuts")]
    assert counted == [1] * 9 + [2]


def test_constituents_count_for_the_sweeps_whose_trees_have_them(tmp_path):
    """Of sentences with several trees: those that are in none are in no elementary tree, either."""
    run = made_tsg(tmp_path)
    nodes = [{"cut": 0.0, "present": 0.0}] * 90 + [{"cut": 0.5, "present": 0.5}] * 4
    nodes += [{"cut": 1.0, "present": 1.0}] * 2
    (run / "marginals.json").write_text(json.dumps({"sweeps": 10, "trees": [{"nodes": nodes}]}))
    assert call("tsg", "report", run, "--output", tmp_path / "page.html") == 0
    made = Made(tmp_path / "page.html")
    assert [int(row[2]) for row in made.rows("cuts")] == [0] * 5 + [2] + [0] * 3 + [2]
    assert [float(row[3]) for row in made.rows("cuts")] == [0.0] * 5 + [50.0] + [0.0] * 3 + [50.0]
    assert "of a sentence with several trees" in made.said("cuts")
    (run / "marginals.json").write_text(json.dumps({"sweeps": 10, "trees": [{"nodes": nodes[:90]}]}))
    assert call("tsg", "report", run, "--output", tmp_path / "page.html") == 0
    assert "No tree has a constituent" in Made(tmp_path / "page.html").said("cuts")


# ---- Rankings --------------------------------------------------------------------------------------

SEPARATED = f"input\toutput\tfrequency\tMax\t{SHALOM}\nab\ta\t5\t0\t1\nab\tb\t5\t1\t0\nab\tc\t0\t1\t1\n"
DOMINATED = "input\toutput\tfrequency\tMax\tDep\nab\ta\t5\t0\t1\nab\tb\t0\t1\t0\n"


@pytest.mark.parametrize("prior", [(), ("--prior-variance", 10)])
def test_where_weights_grow_without_end_the_page_says_that_there_is_no_best_grammar(tmp_path, prior):
    (tmp_path / "tableaux").write_text(SEPARATED, encoding="utf-8")
    assert call("ot", "maxent", tmp_path / "tableaux", *prior, "--output", tmp_path / "run") == 0
    assert json.loads((tmp_path / "run" / "summary.json").read_text(encoding="utf-8"))["separation"]
    assert call("ot", "report", tmp_path / "run", "--output", tmp_path / "page.html") == 0
    made = Made(tmp_path / "page.html")
    told = f"weights grow without end along +Max, +{SHALOM}, and in the limit ab → c would never occur"
    assert (told in made.said("constraints")) == (not prior)
    assert ("no best grammar" in made.said("constraints")) == (not prior)
    assert "medians" not in made.said("fit")


def test_of_fit_the_page_says_which_constraints_the_data_put_below_the_others(tmp_path):
    (tmp_path / "tableaux").write_text(DOMINATED)
    assert call("ot", "fit", tmp_path / "tableaux", "--truncate", 2, "--output", tmp_path / "run") == 0
    assert call("ot", "report", tmp_path / "run", "--output", tmp_path / "page.html") == 0
    said = Made(tmp_path / "page.html").said("constraints")
    assert "There is no best grammar: the data put Dep below the others" in said
    assert "Only the bound of the means keeps these where they are: Max, Dep." in said


def test_of_sample_the_page_says_what_the_command_has_warned_of(tmp_path, capsys):
    (tmp_path / "tableaux").write_text(DOMINATED + "ba\ta\t0\t0\t0\nba\tb\t2\t1\t0\n")
    told = ["--iterations", 40, "--output", tmp_path / "run"]
    assert call("ot", "sample", tmp_path / "tableaux", *told) == 0
    warned = capsys.readouterr().err
    assert call("ot", "report", tmp_path / "run", "--output", tmp_path / "page.html") == 0
    said = Made(tmp_path / "page.html").said("constraints")
    keeps = "only the truncation or the priors keep them"
    for problem in (
        f"the data dominate Dep categorically: no finite optimum; {keeps}",
        "ba → b (frequency 2) is harmonically bounded: it wins under no ranking, and is left out",
    ):
        assert problem in warned
        assert f"{problem}." in said


@pytest.mark.parametrize("wrong", [{"separation": {"direction": [], "candidates": 3}}, {"dominated": 7}])
def test_a_summary_that_says_something_else_of_bounds_is_refused(tmp_path, capsys, wrong):
    (tmp_path / "tableaux").write_text(SEPARATED, encoding="utf-8")
    assert call("ot", "maxent", tmp_path / "tableaux", "--output", tmp_path / "run") == 0
    record = json.loads((tmp_path / "run" / "summary.json").read_text(encoding="utf-8"))
    (tmp_path / "run" / "summary.json").write_text(json.dumps(record | wrong), encoding="utf-8")
    assert call("ot", "report", tmp_path / "run", "--output", tmp_path / "page.html") == 2
    assert "summary.json: is not the summary of a grammar" in capsys.readouterr().err


def test_of_a_run_that_was_stopped_as_it_was_prolonged_the_sweeps_made_are_told(tmp_path, monkeypatch):
    run = made_ot(tmp_path)
    assert call("ot", "report", run, "--output", tmp_path / "page.html") == 0
    said = Made(tmp_path / "page.html").said("run")
    assert "80sweeps of 2 chains each" in said
    assert "sampling" in said
    assert "not finished" not in said
    real = driver.run_chain

    def stopped(*arguments, **options):
        chain = real(*arguments, **options)
        for _ in range(20):
            yield next(chain)
        chain.close()
        raise KeyboardInterrupt

    monkeypatch.setattr(driver, "run_chain", stopped)
    assert call("ot", "resume", run, "--iterations", 5000) == 130
    assert call("ot", "report", run, "--output", tmp_path / "page.html") == 0
    said = Made(tmp_path / "page.html").said("run")
    assert "180sweeps of 2 chains together" in said
    assert (
        "The run is not finished: medians, intervals and predictions are of before it was prolonged" in said
    )
    assert f"scfg-monolingual ot resume {run}" in said
    assert "sampling" not in said
    assert "processor-seconds" not in said


def test_predictions_of_a_posterior_are_said_to_be_those_at_its_medians(tmp_path):
    run = made_ot(tmp_path)
    assert call("ot", "report", run, "--output", tmp_path / "page.html") == 0
    assert "those at the medians of its posterior" in Made(tmp_path / "page.html").said("fit")
