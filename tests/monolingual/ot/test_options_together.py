"""Two options of one command, or two names of one grammar: neither is passed over without a word."""

from __future__ import annotations

import json

import pytest

from monolingual.cli import main

TABLEAUX = "input\toutput\tfrequency\tMax\t*Coda\npat\tpa\t60\t1\t0\npat\tpat\t40\t0\t1\n"
SMALL = ("--chains", "2", "--iterations", "8", "--pilot", "8", "--collapsed", "0", "--quiet")


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.tsv").write_text(TABLEAUX)
    (tmp_path / "fewer.tsv").write_text(TABLEAUX.replace("60", "6"))
    return tmp_path


def ot(*arguments):
    return main(["ot", *arguments])


def refused(capsys, *arguments):
    capsys.readouterr()
    assert ot(*arguments) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("priors", [("*=0:1", "Max=-3:2"), ("Max=-3:2", "*=0:1")])
def test_a_prior_of_one_constraint_goes_before_that_of_all(place, priors):
    given = [part for prior in priors for part in ("--prior", prior)]
    assert ot("sample", "t.tsv", "--output", "run", *given, *SMALL) == 0
    settings = json.loads((place / "run" / "run.json").read_text())["settings"]
    assert settings["priors"] == {"0": [-3.0, 2.0], "1": [0.0, 1.0]}


@pytest.mark.parametrize("name", ["Max", "*"])
def test_two_priors_of_one_constraint_are_refused(place, name, capsys):
    given = ("--prior", f"{name}=-3:2", "--prior", f"{name}=0:1")
    said = refused(capsys, "sample", "t.tsv", "--output", "run", *given, *SMALL)
    assert f"--prior names {name} twice; leave one out" in said
    assert not (place / "run").exists()


@pytest.mark.parametrize("moves", [("--shifts", "5"), ("--collapsed", "9"), ("--shifts", "-1")])
def test_moves_that_are_not_the_papers_are_refused_beside_it(place, moves, capsys):
    said = refused(capsys, "sample", "t.tsv", "--output", "run", "--iterations", "8", "--paper", *moves)
    assert f"--paper is --shifts 0 --collapsed 0, and goes without {' '.join(moves)}" in said
    given = ("--iterations", "8", "--paper", "--shifts", "0", "--collapsed", "0", "--quiet")
    assert ot("sample", "t.tsv", "--output", "run", *given) == 0


@pytest.mark.parametrize("option", ["--noise", "--plasticity"])
def test_one_stage_has_one_value(place, option, capsys):
    small = ("t.tsv", "--stages", "1", "--trials", "10", "--seeds", "1")
    said = refused(capsys, "gla", *small, option, "2:9")
    assert f"{option} is 2:9, but there is one stage; give one number" in said
    assert ot("gla", *small, option, "2") == 0
    assert ot("gla", *small, option, "2:2") == 0
    assert ot("gla", *small) == 0


def test_grammars_named_by_their_summaries_were_learnt_from_the_same_data(place, capsys):
    assert ot("maxent", "t.tsv", "--output", "large", "--quiet") == 0
    assert ot("maxent", "t.tsv", "--without", "Max", "--output", "small", "--quiet") == 0
    capsys.readouterr()
    assert ot("compare", "fewer.tsv", "large/summary.json") == 0
    other = "was learnt from other candidates or frequencies"
    assert f"large/summary.json {other} than fewer.tsv has" in capsys.readouterr().err
    both = ("large/summary.json", "small/summary.json", "--likelihood-ratio")
    assert other in refused(capsys, "compare", "fewer.tsv", *both)
    assert ot("compare", "t.tsv", *both) == 0


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_data_without_a_ranking_that_were_to_be_reduced_are_warned_of(place, form, capsys):
    assert ot("rank", "t.tsv", "--reduce", "skeletal", *form) == 0
    assert "--reduce" not in capsys.readouterr().err
    assert ot("rank", "t.tsv", "--all", "--reduce", "skeletal", *form) == 0
    said = "warning: --reduce does nothing, as no ranking satisfies all of the data"
    assert capsys.readouterr().err.splitlines() == [said]
    against = ("--a-priori", "Max>*Coda", "--reduce", "informative")
    assert ot("rank", "t.tsv", *against, *form) == 0
    assert capsys.readouterr().err.splitlines() == [f"{said} and the rankings that are given"]


def test_the_draws_of_a_grammar_named_by_its_summary_lie_beside_it(place, capsys):
    assert ot("sample", "t.tsv", "--output", "run", *SMALL) == 0
    capsys.readouterr()
    printed = []
    for name in ("run", "run/summary.json"):
        assert ot("predict", name, "t.tsv", "--at", "draws") == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    assert ot("compare", "t.tsv", "run/summary.json") == 0
    (place / "copied").mkdir()
    (place / "run" / "summary.json").rename(place / "copied" / "summary.json")
    said = refused(capsys, "predict", "copied/summary.json", "t.tsv", "--at", "draws")
    assert "copied: is not a run directory" in said
    assert "Name a directory that 'ot sample' has written" in said
