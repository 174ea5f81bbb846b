"""Numbers in text are those that every program would read."""

from __future__ import annotations

import math

import pytest

from scfg_sampler.core.numerals import real_number, whole_number
from scfg_sampler.core.parsers import Parser

FOREIGN = ["1_0", "1٠", "٣", "１２", "१"]


@pytest.mark.parametrize("text", [*FOREIGN, "", "x", "1.5", "0x10", "1 0"])
def test_what_is_no_whole_number_is_refused(text):
    with pytest.raises(ValueError, match=r"number|invalid literal"):
        whole_number(text)


@pytest.mark.parametrize("text", [*FOREIGN, "1_0.5", "1e1_0", "٣.٥", "", "x", "1,5"])
def test_what_is_no_number_is_refused(text):
    with pytest.raises(ValueError, match=r"number|could not convert"):
        real_number(text)


def test_numbers_are_read():
    assert [whole_number(text) for text in ("0", "-12", "+7", " 8", "007")] == [0, -12, 7, 8, 7]
    assert [real_number(text) for text in ("0", "-1.5", "1e-3", ".5", "-inf")] == [
        0,
        -1.5,
        1e-3,
        0.5,
        -math.inf,
    ]
    assert math.isnan(real_number("nan"))


@pytest.mark.parametrize("text", FOREIGN)
def test_options_take_such_numbers_only(capsys, text):
    parser = Parser(prog="prog")
    sub = parser.add_subparsers().add_parser("sub")
    sub.add_argument("--beam", type=int)
    sub.add_argument("--share", type=float)
    assert vars(parser.parse_args(["sub", "--beam", "3", "--share", "0.5"])) == {"beam": 3, "share": 0.5}
    for option, kind in (("--beam", "int"), ("--share", "float")):
        with pytest.raises(SystemExit) as end:
            parser.parse_args(["sub", option, text])
        assert end.value.code == 2
        assert f"argument {option}: invalid {kind} value: '{text}'" in capsys.readouterr().err
