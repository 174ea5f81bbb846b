"""An option that takes several values takes them one by one, too: no value that was given is dropped."""

from __future__ import annotations

import argparse
import copy
import json

import pytest

import decoder.cli
import scfg_sampler.cli
from tests.test_docs import COMMANDS
from tests.test_help_examples import parser_of

VECTORS = {("train-lm", "--prune"): "a threshold for each order: one value, of which the last counts"}
"""Options of several values that are not added up, and why."""
TAKERS = [
    (program, command, action)
    for program, command in COMMANDS
    for action in parser_of(program, command)._actions
    if action.nargs in ("+", "*") and action.option_strings
]
CALLED = [f"{command}{action.option_strings[0]}" for _, command, action in TAKERS]
RULES = "[X] ||| a ||| A ||| F=-1 G=-2\n"


@pytest.mark.parametrize(("program", "command", "action"), TAKERS, ids=CALLED)
def test_values_of_options_that_are_given_again_are_added(program, command, action):
    name = action.option_strings[0]
    given = list(action.choices or ("1", "2", "3"))[:3]
    alone = argparse.ArgumentParser()
    alone._add_action(copy.copy(action))
    once = vars(alone.parse_args([name, *given]))
    again = vars(alone.parse_args([name, given[0], name, *given[1:]]))
    assert once[action.dest] == [action.type(value) if action.type else value for value in given]
    assert (again == once) != ((command, name) in VECTORS)


def test_exceptions_are_options_that_there_are():
    assert set(VECTORS) <= {(command, action.option_strings[0]) for _, command, action in TAKERS}


def test_references_that_are_given_one_by_one_all_count(tmp_path, capsys):
    for name, text in (("out", "a b c d\n"), ("one", "x\n"), ("two", "a b c d\n")):
        (tmp_path / name).write_text(text)
    files = [f"--references={tmp_path}/two", f"--references={tmp_path}/one"]
    metrics = ["--metrics", "exact", "--metrics", "bleu", "--json", "--quiet"]
    assert decoder.cli.main(["evaluate", f"--hypothesis={tmp_path}/out", *files, *metrics]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["exact"]["score"], found["bleu"]["score"]) == (100, pytest.approx(100))
    assert "nrefs:2" in found["bleu"]["signature"]
    assert "ter" not in found


@pytest.mark.parametrize("given", [[], ["--features", "F", "--features", "G"]])
def test_features_that_are_named_one_by_one_are_all_added(tmp_path, given):
    (tmp_path / "table").write_text(RULES)
    (tmp_path / "other").write_text(RULES if given else "[X] ||| a ||| A ||| LogForward=-1\n")
    arguments = [f"{tmp_path}/table", f"{tmp_path}/other", f"--output={tmp_path}/both", "--quiet", *given]
    status = scfg_sampler.cli.main(["annotate", *arguments])
    assert status == (0 if given else 2)  # By default also others than LogForward, which alone is there.
    assert not given or "OtherF=-1 OtherG=-2" in (tmp_path / "both").read_text()


@pytest.mark.parametrize(
    ("given", "shared"),
    [
        ([], {"TargetWords", "LanguageModel"}),
        (["--shared"], set()),
        (["--shared", "TargetWords", "--shared", "Glue"], {"TargetWords", "Glue"}),
    ],
)
def test_features_of_lists_are_shared_by_default_or_as_named(tmp_path, given, shared, capsys):
    (tmp_path / "list").write_text("0 ||| a b ||| TargetWords=2 LanguageModel=-1 Glue=1 ||| -1.0\n")
    lists = [f"One={tmp_path}/list", f"Two={tmp_path}/list"]
    assert decoder.cli.main(["join-lists", *lists, "--quiet", *given]) == 0
    features = {each.partition("=")[0] for each in capsys.readouterr().out.split(" ||| ")[2].split()}
    assert features & {"TargetWords", "LanguageModel", "Glue"} == shared
