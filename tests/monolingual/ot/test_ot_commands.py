"""`scfg-monolingual ot`: what lands on disk, resuming, messages, pictures."""

from __future__ import annotations

import json
import re
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from monolingual.cli import main
from monolingual.ot.formats import read_tableaux, write_tableaux
from monolingual.ot.summaries import kernel_density, modes, outranking, summarise
from tests.monolingual.ot.examples import ILOKANO, SPANISH, TABLE_2, tableaux

SMALL = ["--chains", "2", "--iterations", "40", "--pilot", "8", "--collapsed", "3", "--quiet"]


@pytest.fixture
def spanish(tmp_path):
    write_tableaux(SPANISH, tmp_path / "spanish.tsv")
    return tmp_path / "spanish.tsv"


def ot(*arguments):
    return main(["ot", *map(str, arguments)])


def printed(capsys, *arguments):
    assert ot(*arguments) == 0
    return json.loads(capsys.readouterr().out)


def test_sample_writes_summary_predictions_and_traces(spanish, tmp_path, capsys):
    run = tmp_path / "run"
    assert ot("sample", spanish, "--output", run, *SMALL, "--check") == 0
    summary = json.loads((run / "summary.json").read_text())
    for key in ("median", "mean", "interval", "rhat", "ess", "modes", "sd"):
        assert set(summary[key]) == set(SPANISH.constraints)
        assert all(summary["constraints"][name][key] == summary[key][name] for name in SPANISH.constraints)
    assert summary["tokens"] == 30
    assert summary["draws"] == 60
    assert len((run / "chain-2" / "trace.tsv").read_text().splitlines()) == 41
    assert json.loads((run / "run.json").read_text())["finished"]
    warnings = capsys.readouterr().err
    assert "the data dominate D, B categorically: no finite optimum; only the truncation" in warnings
    predicted = printed(capsys, "predict", run, spanish, "--json")
    assert predicted == json.loads((run / "predictions.json").read_text())
    uba = predicted["inputs"][0]
    assert uba["input"] == "uba"
    assert uba["candidates"][0]["output"] == "ubita"
    assert uba["candidates"][0]["observed"] == 1.0
    assert sum(candidate["predicted"] for candidate in uba["candidates"]) == pytest.approx(1.0)
    for at in ("mean", "mode", "draws"):
        assert printed(capsys, "predict", run, spanish, "--json", "--at", at)["log_likelihood"] < 0


def test_resuming_equals_running_through(spanish, tmp_path, capsys):
    through, stopped = tmp_path / "through", tmp_path / "stopped"
    more = ["--burn-in", "10", "--learn-variances"]
    assert ot("sample", spanish, "--output", through, *SMALL, *more) == 0
    assert ot("sample", spanish, "--output", stopped, *SMALL, *more, "--iterations", "25") == 0
    began = [line for line in capsys.readouterr().err.splitlines() if "the data dominate" in line]
    assert ot("resume", stopped, "--iterations", "40", "--quiet") == 0
    assert began == 2 * [line for line in capsys.readouterr().err.splitlines() if "the data dom" in line]
    for chain in ("chain-1", "chain-2"):
        first, second = ((run / chain / "trace.tsv").read_text() for run in (through, stopped))
        assert first == second
    assert (through / "summary.json").read_text() == (stopped / "summary.json").read_text()
    assert ot("resume", stopped, "--quiet") == 2
    refused = capsys.readouterr().err
    assert "has 40 sweeps already; give --iterations more than that" in refused
    assert "the data dominate" not in refused


def test_changed_tableaux_are_not_resumed(spanish, tmp_path, capsys):
    run = tmp_path / "run"
    assert ot("sample", spanish, "--output", run, *SMALL) == 0
    write_tableaux(SPANISH._replace(frequency=SPANISH.frequency + 1), run / "tableaux.tsv")
    assert ot("resume", run, "--iterations", "50", "--quiet") == 2
    assert "corpus file tableaux is not the same" in capsys.readouterr().err


def test_older_run_is_kept_unless_told_otherwise(spanish, tmp_path, capsys):
    assert ot("sample", spanish, "--output", tmp_path / "run", *SMALL) == 0
    assert ot("sample", spanish, "--output", tmp_path / "run", *SMALL) == 2
    assert "holds a run already" in capsys.readouterr().err
    assert ot("sample", spanish, "--output", tmp_path / "run", *SMALL, "--overwrite", "--seed", "2") == 0
    assert ot("maxent", spanish, "--output", tmp_path / "me", "--quiet") == 0
    for command in (["maxent", "--quiet"], ["sample", *SMALL]):
        assert ot(command[0], spanish, "--output", tmp_path / "me", *command[1:]) == 2
        assert "holds a grammar already" in capsys.readouterr().err
    assert ot("sample", spanish, "--output", tmp_path / "me", *SMALL, "--overwrite") == 0


def test_priors_are_named_by_constraint(spanish, tmp_path, capsys):
    run = tmp_path / "run"
    priors = ["--prior", "*=0:1", "--prior", "D=-2:0.5"]
    assert ot("sample", spanish, "--output", run, *SMALL, *priors) == 0
    assert json.loads((run / "run.json").read_text())["settings"]["priors"]["2"] == [-2.0, 0.5]
    for wrong, complaint in (
        ("E=1:1", "there is no constraint 'E'; choose from A, M, D, B"),
        ("D=1", "NAME=MEAN"),
    ):
        assert ot("sample", spanish, "--output", tmp_path / "no", *SMALL, "--prior", wrong) == 2
        assert complaint in capsys.readouterr().err
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--chains", "0"], "--chains is 0"),
        (["--iterations", "0"], "--iterations is 0"),
        (["--burn-in", "40"], "--burn-in is 40; it must be at least 0 and below --iterations (40)"),
        (["--seed", "-1"], "--seed is -1"),
        (["--checkpoint-every", "-1"], "--checkpoint-every is -1"),
        (["--truncate", "-1"], "--truncate is -1"),
        (["--tokens", "0"], "--tokens is 0"),
        (
            ["--truncate", "1e300"],
            "--truncate is 1e+300; it must be from 1e-05 to 400 times --noise, which is 1",
        ),
        (["--truncate", "1e-300"], "--truncate is 1e-300; it must be from 1e-05"),
        (["--noise", "1e-12"], "--noise is 1e-12; it must be from 1e-05 to 1000"),
        (["--prior", "*=0:1e300"], "--prior has the deviation 1e+300; it must be from 1e-05 to 100000"),
        (["--prior", "*=0:1e-300"], "--prior has the deviation 1e-300; it must be from 1e-05 to 100000"),
        (["--prior", "A=inf:1"], "--prior has the mean inf; it must be from -100000 to 100000"),
        (["--shifts", "99999999999"], "--shifts is 99999999999; it must be from 0 to 1000000"),
        (["--collapsed", "-2"], "--collapsed is -2; it must be from 0 to 1000000, or -1"),
        (["--learn-variances", "--variance-shape", "1"], "--variance-shape is 1; it must be above 1"),
        (["--variance-shape", "5"], "--variance-shape goes with --learn-variances"),
        (["--pilot", "3"], "--pilot is 3; it must be 0 or at least 8"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_written(spanish, tmp_path, capsys, options, complaint):
    assert ot("sample", spanish, "--output", tmp_path / "run", *SMALL, *options) == 2
    assert complaint in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_short_chains_are_not_judged(spanish, tmp_path, capsys):
    assert ot("sample", spanish, "--output", tmp_path / "run", *SMALL, "--iterations", "5") == 0
    assert "the chains cannot be judged" in capsys.readouterr().err
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["rhat"]["A"] is None


def test_fit_maxent_gla_and_compare(spanish, tmp_path, capsys):
    fitted = printed(capsys, "fit", spanish, "--output", tmp_path / "ml", "--json")
    assert fitted["dominated"] == [["D", "B"]]
    assert_allclose(fitted["inputs"][0]["candidates"][0]["predicted"], 0.95, atol=1e-3)
    smoothed = printed(
        capsys,
        *("maxent", spanish, "--prior-variance", "10", "--no-non-negative"),
        *("--output", tmp_path / "me", "--json"),
    )
    assert_allclose(smoothed["inputs"][0]["candidates"][0]["predicted"], 0.975, atol=1e-3)
    plain = ot("maxent", spanish, "--no-non-negative")
    outcome = capsys.readouterr()
    assert plain == 0
    assert "no finite optimum (separation): weights grow without end along −D, −B" in outcome.err
    assert "uba → ubasita" in outcome.err
    learnt = printed(
        capsys, "gla", spanish, "--trials", "4000", "--seeds", "3", "--output", tmp_path / "gla", "--json"
    )
    assert len(learnt["values"]["A"]) == 3
    assert learnt["scatter"][0]["output"] == "ubita"
    assert ot("gla", spanish, "--model", "hg", "--trials", "4000", "--output", tmp_path / "hg") == 0
    assert ot("sample", spanish, "--output", tmp_path / "run", *SMALL) == 0
    capsys.readouterr()
    names = [str(tmp_path / name) for name in ("ml", "me", "gla", "hg", "run")]
    entries = printed(capsys, "compare", spanish, *names, "--json")["grammars"]
    assert [entry["model"] for entry in entries] == [
        "stochastic-ot",
        "maxent",
        "stochastic-ot",
        "noisy-hg",
        "stochastic-ot",
    ]
    assert [entry["aic"] is None for entry in entries] == [False] * 4 + [True]
    assert entries[4]["waic"] is not None
    assert entries[0]["parameters"] == 3
    assert ot("compare", spanish, *names) == 0
    assert "log likelihood" in capsys.readouterr().out
    assert ot("predict", tmp_path / "me", spanish, "--at", "draws") == 2
    assert "needs a run of 'ot sample'" in capsys.readouterr().err


def test_orderings_and_rank(tmp_path, capsys):
    write_tableaux(TABLE_2, tmp_path / "t")
    found = printed(capsys, "orderings", tmp_path / "t", "--json")
    assert found["orderings"][2]["conjuncts"] == ["max{C3, C4, C5} > max{C1, C2}"]
    assert found["bounded"] == [["x1", "y13"]]
    ranked = printed(capsys, "rank", tmp_path / "t", "--json")
    assert ranked == {
        "strata": [["C3", "C5"], ["C1"], ["C2", "C4"]],
        "consistent": True,
        "unresolved": [],
        "ties": [],
    }
    assert not printed(capsys, "rank", tmp_path / "t", "--all", "--json")["consistent"]

    assert ot("rank", tmp_path / "t", "--all") == 0
    assert "no ranking satisfies all of these together" in capsys.readouterr().out


ONSETS = tableaux(
    "Onset NoCoda Max Dep",
    ("VC", "V", 1, "1010"),
    ("VC", "VC", 0, "1100"),
    ("VC", "CVCV", 0, "0002"),
    ("VC", "null", 0, "0020"),
    ("VC", "CVC", 0, "0101"),
    ("VC", "CV", 0, "0011"),
    ("CV", "CV'", 1, "0000"),
    ("CV", "V'", 0, "1010"),
)


def test_orderings_name_twenty_bounded_candidates_and_count_the_others(tmp_path, capsys):
    rows = [f"x\ty{at}\t{int(at == 0)}\t{at}" for at in range(24)]
    (tmp_path / "t").write_text("\n".join(["input\toutput\tfrequency\tA", *rows]) + "\n")
    assert ot("orderings", tmp_path / "t") == 0
    text = capsys.readouterr().out
    assert text.count("wins under no ranking") == 20
    assert "note: 3 other candidates win under no ranking; --json names all" in text


def test_rank_keeps_faithfulness_low_and_says_what_the_data_say(tmp_path, capsys):
    write_tableaux(ONSETS, tmp_path / "t")
    found = printed(capsys, "rank", tmp_path / "t", "--method", "bcd", "--reduce", "skeletal", "--json")
    assert found["faithfulness"] == ["Max", "Dep"]
    assert found["strata"] == [["NoCoda"], ["Dep"], ["Max"], ["Onset"]]
    assert found["r_measure"] == 2
    assert found["conditions"] == [[["Dep"], ["Max"]], [["Max"], ["Onset"]], [["NoCoda"], ["Max"]]]
    assert ot("rank", tmp_path / "t", "--reduce", "informative") == 0
    assert "  Dep above Onset, Max\n" in capsys.readouterr().out
    chosen = ["--method", "lfcd", "--faithfulness", "Max", "--specific", "Max<Dep"]
    assert ot("rank", tmp_path / "t", *chosen) == 0
    assert "markedness above faithfulness (r-measure): " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--faithfulness", "Max"], "--faithfulness goes with --method bcd or lfcd"),
        (["--specific", "Max<Dep"], "--specific goes with --method lfcd"),
        (["--method", "lfcd", "--specific", "Max<Nix"], "'Max<Nix' is not of the form NAME<NAME"),
        (["--a-priori", "Max"], "--a-priori 'Max' is not of the form NAME>NAME"),
        (["--a-priori", "Max>Dep", "--a-priori", "Dep>Max"], "no ranking has Max above Dep, Dep above Max"),
        (["--method", "bcd", "--faithfulness", "Nix"], "there is no constraint 'Nix'"),
    ],
)
def test_wrong_options_of_rank_are_refused(tmp_path, capsys, options, message):
    write_tableaux(ONSETS, tmp_path / "t")
    assert ot("rank", tmp_path / "t", *options) == 2
    assert message in capsys.readouterr().err


def test_given_rankings_bind_learners_and_typology(tmp_path, capsys):
    write_tableaux(ONSETS, tmp_path / "t")
    free = printed(capsys, "rank", tmp_path / "t", "--json")
    assert free["strata"][0] == ["NoCoda", "Dep"]
    given = printed(capsys, "rank", tmp_path / "t", "--a-priori", "NoCoda > Dep", "--json")
    assert given["strata"] == [["NoCoda"], ["Dep"], ["Max"], ["Onset"]]
    assert given["a_priori"] == [["NoCoda", "Dep"]]
    assert not printed(capsys, "rank", tmp_path / "t", "--a-priori", "Onset>Dep", "--json")["consistent"]
    assert ot("rank", tmp_path / "t", "--a-priori", "Onset>Dep") == 0
    assert "  Onset above Dep, as given\n" in capsys.readouterr().out
    languages = printed(capsys, "typology", tmp_path / "t", "--a-priori", "Onset>Dep", "--json")["languages"]
    assert sum(language["share"] for language in languages) == pytest.approx(1.0)
    assert not any(language["observed"] for language in languages)


def test_faithfulness_that_is_not_recognised_must_be_named(tmp_path, capsys):
    write_tableaux(TABLE_2, tmp_path / "t")
    assert ot("rank", tmp_path / "t", "--method", "bcd") == 2
    assert "say with --faithfulness which of C1, C2" in capsys.readouterr().err


def test_typology_lists_languages_shares_and_implications(tmp_path, capsys):
    write_tableaux(ONSETS, tmp_path / "t")
    found = printed(capsys, "typology", tmp_path / "t", "--json")
    assert [(entry["outputs"], entry["rankings"]) for entry in found["languages"]] == [
        (["CVCV", "CV'"], "1/3"),
        (["null", "CV'"], "1/3"),
        (["VC", "CV'"], "1/6"),
        (["V", "CV'"], "1/12"),
        (["CVC", "CV'"], "1/12"),
    ]
    assert [entry["observed"] for entry in found["languages"]] == [False, False, False, True, False]
    assert found["never"] == ["VC → CV", "CV → V'"]
    assert found["implications"] == []
    rows = [("x", "a", 0, "100"), ("x", "b", 0, "011"), ("y", "c", 0, "100"), ("y", "d", 0, "010")]
    write_tableaux(tableaux("A B C", *rows), tmp_path / "t")
    assert ot("typology", tmp_path / "t", "--implications") == 0
    shown = capsys.readouterr().out.partition("wherever the first wins, so does the second:\n")[2]
    assert shown == "  x → b  ⇒  y → d\n  y → c  ⇒  x → a\n"


def test_maxent_chooses_the_variance_by_cross_validation(tmp_path, capsys):
    example = tableaux(
        "A B", ("x", "a", 30, "10"), ("x", "b", 12, "01"), ("y", "c", 9, "20"), ("y", "d", 5, "01")
    )
    write_tableaux(example, tmp_path / "t")
    found = printed(capsys, "maxent", tmp_path / "t", "--cross-validate", "4", "--json")
    tried = found["cross_validation"]
    assert [row["prior_variance"] for row in tried] == [0.01, 0.1, 1, 10, 100, 1000]
    best = max(tried, key=lambda row: row["log_likelihood_per_token"])
    assert found["prior_variance"] == best["prior_variance"]
    fixed = printed(
        capsys, "maxent", tmp_path / "t", "--prior-variance", str(found["prior_variance"]), "--json"
    )
    assert fixed["weight"] == found["weight"]
    assert ot("maxent", tmp_path / "t", "--cross-validate", "4", "--variances", "0.1") == 0
    assert "chosen: 0.1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--variances", "1"], "--variances goes with --cross-validate"),
        (["--leave-out", "token"], "--leave-out goes with --cross-validate"),
        (["--cross-validate", "2", "--variances", "1,x"], "are not numbers with commas between"),
        (["--cross-validate", "2", "--prior-variance", "1"], "not both"),
        (["--cross-validate", "2", "--seed", "-1"], "--seed is -1"),
        (["--seed", "-1"], "--seed is -1"),
        (["--bias", "b", "--prior-variance", "1"], "--bias goes without --prior-variance"),
        (["--bias", "nowhere"], "nowhere: cannot be read"),
        (["--cross-validate", "900"], "30 tokens were observed, too few for 900 folds"),
    ],
)
def test_wrong_options_of_cross_validation_are_refused(spanish, capsys, options, message):
    assert ot("maxent", spanish, *options) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("folds", [[], ["--cross-validate", "2"]])
def test_a_seed_that_deals_no_folds_is_warned_of(spanish, capsys, folds):
    given = ["--variances" if folds else "--prior-variance", "1", *folds]
    assert ot("maxent", spanish, *given, "--seed", "2") == 0
    told = "warning: --seed does nothing without --cross-validate\n"
    assert (told in capsys.readouterr().err) == (not folds)


def test_distances_need_rankings_that_are_given(spanish, capsys):
    assert ot("gla", spanish, "--distance", "5") == 2
    assert "--distance goes with --a-priori or --a-priori-table" in capsys.readouterr().err


def test_convert_goes_round(spanish, tmp_path, capsys):
    grammar, pairs, back = (tmp_path / name for name in ("g.OTGrammar", "p.PairDistribution", "back.tsv"))
    assert ot("maxent", spanish, "--prior-variance", "10", "--output", tmp_path / "me", "--quiet") == 0
    to_praat = ["--to", "praat", "--output", grammar, "--values", tmp_path / "me"]
    assert ot("convert", spanish, *to_praat, "--output-pairs", pairs) == 0
    assert ot("convert", grammar, "--pair-distribution", pairs, "--to", "tsv", "--output", back) == 0
    assert back.read_text() == spanish.read_text()
    capsys.readouterr()
    assert ot("convert", spanish, "--to", "otsoft") == 0
    assert capsys.readouterr().out.startswith("\t\t\tA\tM\tD\tB\n")
    assert ot("convert", spanish, "--to", "otsoft", "--output-pairs", pairs) == 2
    assert "--output-pairs goes with --to praat" in capsys.readouterr().err
    assert ot("convert", spanish, "--to", "praat", "--output", grammar) == 0
    assert "an OTGrammar holds no frequencies" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options",
    [
        ["--truncate", "400", "--collapsed", "1"],
        ["--truncate", "1e-5"],
        ["--noise", "1e-5", "--truncate", "4e-3"],
        ["--noise", "1e3"],
        ["--truncate", "0", "--prior", "*=-1e5:1e5"],
        ["--prior", "*=5:1e-5"],
    ],
)
def test_the_widest_settings_sample_without_a_warning(spanish, tmp_path, options):
    told = ["--chains", 2, "--iterations", 20, "--pilot", 8, "--output", tmp_path / "run", "--overwrite"]
    with warnings.catch_warnings(action="error"):
        assert ot("sample", spanish, *told, *options) == 0
        assert ot("resume", tmp_path / "run", "--iterations", 22) == 0
    means = json.loads((tmp_path / "run" / "summary.json").read_text())["median"].values()
    assert np.isfinite(list(means)).all()


def test_fit_refuses_the_noise_that_sample_refuses(spanish, capsys):
    for noise in ("1e-300", "1e-12", "1e+06"):
        assert ot("fit", spanish, "--noise", noise) == 2
        error = capsys.readouterr().err
        assert error == f"scfg-monolingual: --noise is {noise}; it must be from 1e-05 to 1000\n"
    # The maximum does not depend on the unit: means are proportional to the noise.
    means = []
    for noise in (1e-5, 1.0, 1e3):
        assert ot("fit", spanish, "--noise", noise, "--truncate", 6 * noise, "--json") == 0
        fitted = json.loads(capsys.readouterr().out)["mean"]
        means.append([value / noise for value in fitted.values()])
    assert_allclose(means[0], means[1], atol=1e-3)
    assert_allclose(means[2], means[1], atol=1e-3)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["predict", "nowhere", "TABLEAUX"], "nowhere: has no summary.json"),
        (["resume", "nowhere"], "nowhere: is not a run directory"),
        (["sample", "nowhere.tsv", "--output", "x"], "nowhere.tsv: cannot be read"),
        (["gla", "TABLEAUX", "--plasticity", "2:x"], "--plasticity is '2:x'"),
        (["maxent", "TABLEAUX", "--prior-variance", "-1"], "--prior-variance is -1"),
    ],
)
def test_wrong_calls_end_with_one_line(spanish, capsys, arguments, complaint):
    assert ot(*[spanish if word == "TABLEAUX" else word for word in arguments]) == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert error.count("\n") == 1


def test_damaged_summary_is_named(tmp_path, spanish, capsys):
    (tmp_path / "summary.json").write_text('{"model": "frob", "grammar": {"A": 1}, "deviation": {"A": 1}}')
    assert ot("predict", tmp_path, spanish) == 2
    assert "has the model 'frob'" in capsys.readouterr().err
    (tmp_path / "summary.json").write_text("[]")
    assert ot("predict", tmp_path, spanish) == 2
    assert "is not the summary of a grammar" in capsys.readouterr().err


def test_pictures_are_drawn_and_repeatable(spanish, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    odd = tableaux("A$ B$ C", ("x", "a", 5, "010"), ("x", "b", 2, "100"))
    write_tableaux(odd, tmp_path / "odd.tsv")
    assert ot("sample", tmp_path / "odd.tsv", "--output", tmp_path / "run", *SMALL) == 0
    assert ot("maxent", tmp_path / "odd.tsv", "--output", tmp_path / "me", "--quiet") == 0
    for place in ("one", "two"):
        picture = ["--output", tmp_path / place, "--beside", tmp_path / "me", "--quiet"]
        assert ot("plot", tmp_path / "run", *picture) == 0
    for name in ("traces", "densities", "ranking", "fit"):
        first, second = ((tmp_path / place / f"{name}.svg").read_bytes() for place in ("one", "two"))
        assert first == second
        assert re.search(rb"<svg", first)
    assert ot("plot", tmp_path / "run", "--output", tmp_path / "no", "--min-probability", "0.4") == 2
    assert "--min-probability is 0.4" in capsys.readouterr().err


def test_outranking_is_that_of_an_evaluation():
    means = np.array([[1.0, 0.0], [3.0, 0.0]])
    found = outranking(means, np.ones((2, 2)))
    assert_allclose(np.diag(found), 0.5)
    assert_allclose(found + found.T, 1.0)
    assert_allclose(found[0, 1], (0.7602499389 + 0.9830525732) / 2, atol=1e-9)  # Φ(1/√2), Φ(3/√2)


def test_kernel_density_is_scipys(rng):
    draws = rng.normal(1.0, 2.0, 300)
    estimate = stats.gaussian_kde(draws, "silverman")
    points, density = kernel_density(draws)
    assert_allclose(density, estimate(points), rtol=1e-12)
    points, density = kernel_density(draws, bound=2.5)
    mirrored = estimate(5.0 - points) + estimate(-5.0 - points)
    assert_allclose(density, estimate(points) + mirrored, rtol=1e-12)


def test_modes_of_a_mixture_and_at_the_bound(rng):
    mixture = np.concatenate([rng.normal(-2, 0.3, 2000), rng.normal(2, 0.3, 1000)])
    assert_allclose(modes(mixture), [-2, 2], atol=0.15)
    assert_allclose(modes(-mixture), [2, -2], atol=0.15)  # The highest first.
    piled = 6.0 - rng.exponential(0.3, 3000)
    assert_allclose(modes(piled, bound=6.0)[0], 6.0, atol=0.1)
    assert modes(np.full(5, 3.0)) == [3.0]


def test_summary_of_known_draws(rng):
    chains = [rng.normal([0.0, 3.0], [1.0, 2.0], (2000, 2)) for _ in range(3)]
    summary = summarise(chains, ["a", "b"])
    assert_allclose(summary["median"]["b"], 3.0, atol=0.2)
    assert_allclose(summary["sd"]["b"], np.concatenate(chains)[:, 1].std(), rtol=1e-12)
    assert_allclose(summary["interval"]["a"], [-1.96, 1.96], atol=0.2)
    assert summary["rhat"]["a"] < 1.01
    assert summary["ess"]["b"] > 4000


def test_ilokano_reads_percentages(tmp_path, capsys):
    write_tableaux(ILOKANO, tmp_path / "t")
    assert read_tableaux(tmp_path / "t").frequency.tolist() == [0.33] * 3
    assert ot("sample", tmp_path / "t", "--output", tmp_path / "run", *SMALL) == 0
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["tokens"] == 99
