"""Options that a file holds are those of the command, of the kinds that its command line gives."""

from __future__ import annotations

import argparse

import pytest

from scfg_sampler.core.chains.stored_options import require_options
from scfg_sampler.errors import CheckpointMismatch, InputError

GIVEN = {"text": "here", "number": 7, "share": 0.5, "quick": True, "way": "up", "several": ["a", "b"]}


@pytest.fixture
def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser()
    made.add_argument("text")
    made.add_argument("--number", type=int)
    made.add_argument("--share", type=float, default=0.25)
    made.add_argument("--quick", action="store_true")
    made.add_argument("--way", choices=("up", "down"), default="up")
    made.add_argument("--several", nargs="+", default=[])
    made.add_argument("--free", action="store_true")
    return made


@pytest.mark.parametrize(
    ("name", "value"),
    [("number", None), ("share", 1), ("share", 0.25), ("quick", False), ("way", "down"), ("several", [])],
)
def test_what_a_command_line_can_give_is_taken(parser, name, value):
    require_options(parser, {**GIVEN, name: value}, ["free"], "run.json", "1.0")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("text", 1),
        ("text", None),
        ("number", 7.5),
        ("number", True),
        ("number", "7"),
        ("share", float("inf")),
        ("share", None),
        ("quick", 1),
        ("way", "left"),
        ("way", ["up"]),
        ("several", "a"),
        ("several", ["a", 2]),
    ],
)
def test_what_it_cannot_give_is_refused(parser, name, value):
    with pytest.raises(InputError, match=f"run.json: is damaged: {name} is "):
        require_options(parser, {**GIVEN, name: value}, ["free"], "run.json", "1.0")


def test_options_that_are_not_known_or_missing_are_told(parser):
    stored = {**GIVEN, "cleverness": 7}
    del stored["way"]
    with pytest.raises(CheckpointMismatch, match=r"cleverness is not known, way is missing"):
        require_options(parser, stored, ["free"], "run.json", "1.0")
