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


@pytest.mark.parametrize("text", ["inf", "-inf", "1e999", "nan"])
def test_no_option_means_anything_by_what_no_number_reaches(capsys, text):
    parser = Parser(prog="prog")
    parser.add_argument("--share", type=float)
    with pytest.raises(SystemExit):
        parser.parse_args([f"--share={text}"])
    assert f"argument --share: '{text}' is not a finite number" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["-1", "-1e-9", "-.5", "-1.", "-1.5E+3"])
def test_negative_numbers_are_values_however_they_are_written(text):
    parser = Parser(prog="prog")
    parser.add_argument("--share", type=float)
    parser.add_argument("files", nargs="*")
    assert parser.parse_args(["--share", text]).share == float(text)
    assert parser.parse_args([text]).files == [text]


def test_values_with_several_numbers_may_begin_with_a_negative_one():
    parser = Parser(prog="prog")
    parser.add_argument("--noise")
    assert parser.parse_args(["--noise", "-2:2"]).noise == "-2:2"
