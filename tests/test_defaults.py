"""What recipes do unless they are told otherwise is what the commands do that they call."""

from __future__ import annotations

import re

import pytest

from scfg_sampler.commands.sample import PAPER_ITERATIONS
from scfg_sampler.learner.settings import RunSettings, default_burn_in
from tests.test_docs import ROOT
from tests.test_help_examples import parser_of

OPTIONS = {
    "--iterations": "scfg-sampler sample",
    "--burn-in": "scfg-sampler sample",
    "--from": "scfg-sampler grammar",
    "--order": "scfg-decoder train-lm",
    "--method": "scfg-decoder tune",
    "--metric": "scfg-decoder tune",
    "--rounds": "scfg-decoder tune",
    "--beam": "scfg-decoder tune",
    "--nbest": "scfg-decoder tune",
    "--max-targets": "scfg-decoder tune",
    "--widen": "scfg-decoder tune",
    "--chrf-beta": "scfg-decoder tune",
    "--copy": "scfg-decoder tune",
    "--pop-limit": "scfg-sampler plug",
    "--case": "scfg-sampler prepare",
    "--seed": "scfg-sampler sample",
    "--aligner": "scfg-sampler align",
}
"""Options of recipes that are those of a command."""

RECIPES = (
    "alignments-to-bleu",
    "cluster-local",
    "from-raw-text",
    "low-resource",
    "meaning",
    "plug-in",
    "segmentations",
    "table2",
)

OTHERS = {
    # Recipes that tune many grammars, or one several times, search less wide, and for fewer rounds.
    ("low-resource", "--rounds"): "6",
    ("segmentations", "--rounds"): "6",
    ("table2", "--rounds"): "6",
    # As in the paper.
    ("table2", "--method"): "pro",
    # What chooses among few questions, and expressions among what the search kept.
    ("meaning", "--beam"): "200",
    ("meaning", "--rounds"): "8",
    # It shows how a cluster is used, in a minute.
    ("cluster-local", "--rounds"): "4",
    ("cluster-local", "--beam"): "50",
    ("cluster-local", "--nbest"): "50",
    # What is translated into is scored so.
    ("low-resource", "--metric"): "chrf",
}
"""Defaults that differ."""


def defaults_of(recipe: str) -> dict[str, str]:
    """What the head of a recipe says of its options."""
    text = (ROOT / "recipes" / f"{recipe}.sh").read_text(encoding="utf-8")
    head = " ".join(line.removeprefix("#").strip() for line in text.splitlines() if line.startswith("#"))
    told = re.split(r" (?=--[a-z-]+ [A-Z])", head)
    found = {each.split()[0]: re.search(r"default: (.+?)(?:[,;.] |\.? ?$| --)", f"{each} ") for each in told}
    return {option: match[1] for option, match in found.items() if match}


@pytest.mark.parametrize("recipe", RECIPES)
def test_defaults_of_recipe_and_command_are_the_same(recipe):
    told = defaults_of(recipe)
    assert {"--seed", "--seeds"} & told.keys()
    for option in sorted(OPTIONS.keys() & told.keys()):
        program, command = OPTIONS[option].split()
        (action,) = [a for a in parser_of(program, command)._actions if option in a.option_strings]
        ours = action.default
        if ours is None:
            ours = re.search(r"\(default: (.*?)[;)]", action.help or "")[1]  # type: ignore[index]
        expected = OTHERS.get((recipe, option), str(ours).removesuffix(".0"))
        if option == "--burn-in":
            assert told[option].startswith("a third of the sweeps")
            expected = told[option]
        assert told[option] == expected, f"{option} of {recipe} and {program} {command}"
        if (recipe, option) in OTHERS:
            assert str(ours).removesuffix(".0") != expected, f"{option} of {recipe} is no exception any more"


def test_every_exception_is_an_option():
    assert all(option in defaults_of(recipe) for recipe, option in OTHERS)


def test_a_third_is_burn_in_everywhere():
    run = RunSettings()
    assert (run.iterations, run.burn_in) == (60, 20)
    assert default_burn_in(run.iterations) == run.burn_in
    assert PAPER_ITERATIONS == 100
    for recipe in RECIPES:
        text = (ROOT / "recipes" / f"{recipe}.sh").read_text(encoding="utf-8")
        for divisor in re.findall(r"BURN_IN:=\$\(\(ITERATIONS / (\d+)\)\)", text):
            assert 60 // int(divisor) == run.burn_in
