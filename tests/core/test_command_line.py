"""Parsers of command lines: help that fits, and what somebody may have meant."""

from __future__ import annotations

import argparse
import importlib
import re
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scfg_sampler.core.command_line import CommandParser, _continued, meant
from tests.test_docs import COMMANDS, PROGRAMS

KINDS = ("first", "second", "third", "fourth")


def program() -> CommandParser:
    parser = CommandParser(prog="prog", description="A program.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    sample = commands.add_parser("sample", epilog="example:\n  prog sample")
    sample.add_argument("--iterations", type=int, default=100, help="sweeps")
    sample.add_argument("--needed", required=True, help="a file")
    sample.add_argument("--format", choices=("cdec", "moses"), default="cdec", help="which")
    commands.add_parser("grammar")
    return parser


def refused(capsys, *arguments: str) -> str:
    with pytest.raises(SystemExit) as end:
        program().parse_args(arguments)
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["smaple"], "prog: there is no command 'smaple'; did you mean 'sample'? Try 'prog --help'.\n"),
        (["zzz"], "prog: there is no command 'zzz'. Try 'prog --help'.\n"),
        (
            ["sample", "--itertions", "5"],
            "prog sample: there is no option --itertions; did you mean '--iterations'? "
            "Try 'prog sample --help'.\n",
        ),
        (
            ["sample", "--iter=5"],
            "prog sample: there is no option --iter; did you mean '--iterations'? "
            "Try 'prog sample --help'.\n",
        ),
        (
            ["sample", "--needed", "x", "y"],
            "prog sample: 'y' is more than it takes. Try 'prog sample --help'.\n",
        ),
        (
            ["sample", "--needed", "x", "--format", "mosse"],
            "prog sample: argument --format: 'mosse' is none of its values; did you mean 'moses'? "
            "Try 'prog sample --help'.\n",
        ),
        (
            ["sample", "--needed", "x", "--format", "???"],
            "prog sample: argument --format: '???' is none of its values; choose from cdec, moses. "
            "Try 'prog sample --help'.\n",
        ),
    ],
)
def test_what_is_not_known_is_answered_with_what_may_be_meant(capsys, arguments, message):
    assert refused(capsys, *arguments) == message


def test_beginning_of_one_name_alone_is_taken_for_it():
    assert meant("--ne", ["--needed-for-all-that-follows", "--other"]).endswith(
        "'--needed-for-all-that-follows'?"
    )
    assert meant("--ne", ["--needed-for-all-that-follows", "--needless-to-say-so"]) == ""


def test_values_that_look_like_options_behind_two_hyphens_are_values():
    parser = CommandParser(prog="prog")
    parser.add_argument("files", nargs="*")
    assert parser.parse_args(["--", "--odd"]).files == ["--odd"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_without_arguments_shows_its_help(name, capsys):
    main = importlib.import_module(f"{PROGRAMS[name]}.cli").main
    with pytest.raises(SystemExit) as end:
        main([])
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: {name} ")
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert re.fullmatch(rf"{name} \d+\.\d+\.\d+(\.dev\d+)?\n", capsys.readouterr().out)


@pytest.mark.parametrize("columns", ["80", "100"])
@pytest.mark.parametrize(("name", "command"), COMMANDS)
def test_help_fits_the_screen(name, command, columns, capsys, monkeypatch):
    """But for what nothing divides: a word, an option within its brackets."""
    monkeypatch.setenv("COLUMNS", columns)
    main = importlib.import_module(f"{PROGRAMS[name]}.cli").main
    with pytest.raises(SystemExit):
        main([*command.split(), "--help"])
    for line in capsys.readouterr().out.splitlines():
        is_one_piece = re.fullmatch(r" *(\S+|\[[^\]]*\])( \\)?", line)
        assert len(line) <= int(columns) or is_one_piece, line
        assert "(default: [])" not in line
        assert "(default: )" not in line
        assert "%%" not in line


def test_defaults_are_written_as_people_do(capsys):
    parser = CommandParser(prog="prog")
    parser.add_argument("--share", type=float, default=0.5, help="a number")
    parser.add_argument("--many", nargs="+", default=["a", "b"], help="some")
    parser.add_argument("--none", nargs="+", default=[], help="nothing")
    parser.add_argument("--told", default=1, help="a thing (default: one)")
    parser.add_argument("--percent", default="5%", help="of it")
    parser.add_argument(
        "--kind", choices=("first", "second", "third", "fourth"), default="first", help="a kind"
    )
    parser.add_argument("--off", dest="on", action="store_false", default=True, help="a switch")
    with pytest.raises(SystemExit):
        parser.parse_args(["--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "a number (default: 0.5)" in said
    assert "some (default: a b)" in said
    assert "of it (default: 5%)" in said
    assert "--kind KIND a kind; one of first, second, third, fourth (default: first)" in said
    assert said.count("(default") == 5
    assert "a thing (default: one)" in said


def test_descriptions_are_filled_and_examples_kept(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    long = "A sentence that is\nbroken somewhere, and goes on for much longer than any screen is wide."
    parser = CommandParser(prog="prog", description=long, epilog="example:\n  prog 'a  b'\n\nThe end.")
    with pytest.raises(SystemExit):
        parser.parse_args(["--help"])
    shown = capsys.readouterr().out
    assert "A sentence that is broken somewhere, and goes on for much" in shown
    assert "example:\n  prog 'a  b'\n\nThe end.\n" in shown


def test_broken_commands_are_broken_anew(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    parser = CommandParser(
        prog="prog", epilog="example:\n  prog --first a --second b \\\n    --third c < d\n  prog"
    )
    with pytest.raises(SystemExit):
        parser.parse_args(["--help"])
    assert "  prog --first a --second b --third c < d\n  prog\n" in capsys.readouterr().out


@given(st.lists(st.sampled_from(["prog", "--option", "'a b  c'", '"x y"', "long" * 9, "|", "<"]), min_size=1))
def test_continued_commands_are_the_same_to_a_shell(words):
    line = "  " + " ".join(words)
    lines = _continued(line, 40)
    assert all(each.endswith(" \\") for each in lines[:-1])
    assert shlex.split("\n".join(lines).replace("\\\n", " ")) == shlex.split(line)


def test_required_options_are_still_missed(capsys):
    assert "the following arguments are required: --needed" in refused(capsys, "sample")


def renaming() -> CommandParser:
    parser = CommandParser(prog="prog")
    parser.add_argument("--overwrite", action="store_true", help="again")
    parser.add_argument("--visit-order", dest="order", help="which first")
    parser.add_argument("words", nargs="*")
    parser.renamed("--restart", "--overwrite")
    parser.renamed("--order", "--visit-order")
    return parser


@pytest.mark.parametrize(
    ("given", "order", "warned"),
    [
        (["--restart", "--restart"], None, ["--restart is now --overwrite"]),
        (["--overwrite", "--order=random"], "random", ["--order is now --visit-order"]),
        (["--overwrite", "--visit-order", "random"], "random", []),
    ],
)
def test_former_names_of_options_are_taken_with_one_line_of_warning(capsys, given, order, warned):
    options = renaming().parse_args(given)
    assert (options.overwrite, options.order) == (True, order)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"warning: {text}; the old name will go in the next version" for text in warned]


def test_former_names_behind_two_hyphens_are_words_and_are_not_in_the_help(capsys):
    assert renaming().parse_args(["--", "--restart"]).words == ["--restart"]
    assert capsys.readouterr().err == ""
    assert "--restart" not in renaming().format_help()


OF_SEVERAL_KINDS = {
    "--noise": "a deviation; one for each end of `ot gla`",
    "--prune": "rules by what is said, n-grams by numbers: both are well known by that name",
    "--start": "where it starts: a way of finding it, or a value",
}


def parser_of(name: str, command: str) -> CommandParser:
    parser = importlib.import_module(f"{PROGRAMS[name]}.cli").build_parser()
    for word in command.split():
        parser = parser._subparsers._group_actions[0].choices[word]
    return parser


def test_former_names_lead_to_options_that_are_there():
    for name, command in COMMANDS:
        parser = parser_of(name, command)
        known = parser._option_string_actions
        assert known.keys().isdisjoint(parser.old_names)
        assert known.keys() >= set(parser.old_names.values())


def kind_of(action: argparse.Action) -> str:
    if action.nargs == 0:
        return "a switch"
    return "a number" if action.type in (int, float) else "a text"


def test_an_option_is_of_one_kind_in_all_commands():
    """A switch, a number or a text: options of one name that differ in this cannot mean the same."""
    kinds: dict[str, dict[str, str]] = {}
    for name, command in COMMANDS:
        for option, action in parser_of(name, command)._option_string_actions.items():
            kinds.setdefault(option, {}).setdefault(kind_of(action), f"{name} {command}")
    several = {option: where for option, where in kinds.items() if len(where) > 1}
    assert several.keys() == OF_SEVERAL_KINDS.keys(), several


def test_names_of_the_contract_stay_and_are_taken_without_a_warning(capsys):
    given = ["--source", "f", "--target", "e", "--alignment", "a", "--output", "run"]
    options = parser_of("scfg-sampler", "sample").parse_args([*given, "--order", "breadth-first"])
    assert options.order == "breadth-first"
    assert capsys.readouterr().err == ""


def test_usual_options_have_the_same_letter_in_all_commands():
    letters: dict[str, str] = {}
    for name, command in COMMANDS:
        parser = parser_of(name, command)
        for letter, action in parser._option_string_actions.items():
            if re.fullmatch("-[a-z]", letter) and letter != "-h":
                long = action.option_strings[0]
                assert letters.setdefault(letter, long) == long
                assert f"{letter}, {long}" in parser.format_help()
        if "--output" in parser._option_string_actions:
            assert "-o" in parser._option_string_actions
    assert {"-o", "-q", "-s", "-t", "-a", "-n", "-j"} <= set(letters)


def test_letters_are_taken_as_the_options_are(tmp_path):
    parser = parser_of("scfg-decoder", "tune")
    given = ["-g", "g.gz", "-l", "lm", "-s", "dev.s", "--references", "dev.t", "-o", "w.json", "-q", "-j4"]
    options = parser.parse_args(given)
    assert (options.source, options.output, options.quiet, options.threads) == ("dev.s", "w.json", True, 4)


def test_defaults_are_shown_as_people_write_them():
    parser = CommandParser(prog="prog")
    parser.add_argument("--strength", type=float, default=5.0, help="of the prior")
    parser.add_argument("--shares", type=float, nargs=2, default=[0.5, 1e-6], help="of both")
    shown = parser.format_help()
    assert "(default: 5)" in shown
    assert "(default: 0.5 1e-06)" in shown
