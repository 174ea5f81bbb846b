"""What shells complete, asked of the shells themselves."""

from __future__ import annotations

import argparse
import importlib
import shutil
import subprocess

import pytest

from scfg_sampler.core.command_line import CommandParser
from scfg_sampler.core.completion import script
from tests.test_docs import COMMANDS, PROGRAMS


def program() -> CommandParser:
    parser = CommandParser(prog="a-program")
    parser.add_program_options("1.0")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    sample = commands.add_parser("sample", help="learn it's rules")
    sample.add_argument("--model", choices=("first", "second"), help="a model; or none")
    sample.add_argument("--mode")
    sample.add_argument("--hidden", help=argparse.SUPPRESS)
    group = commands.add_parser("group").add_subparsers(metavar="COMMAND", required=True)
    group.add_parser("train").add_argument("--rounds")
    group.add_parser("sample").add_argument("--draws")
    return parser


def by_bash(text: str, *words: str, cwd=None) -> list[str]:
    """What bash offers for the last word."""
    ask = 'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _a_program; printf "%s\\n" "${COMPREPLY[@]}"'
    line = f"source /dev/stdin; {ask}"
    shell = ["bash", "-c", line, "bash", *words]
    found = subprocess.run(shell, input=text, capture_output=True, text=True, check=True, cwd=cwd)
    assert found.stderr == ""
    return [line for line in found.stdout.splitlines() if line]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["sa"], ["sample"]),
        ([""], ["sample", "group", "-h", "--help", "--version", "--completion"]),
        (["--completion", ""], ["bash", "zsh", "fish"]),
        (["sample", "--mod"], ["--model", "--mode"]),
        (["sample", "--h"], ["--help"]),
        (["sample", "--model", "s"], ["second"]),
        (["sample", "x", "--model", ""], ["first", "second"]),
        (["group", ""], ["train", "sample", "-h", "--help"]),
        (["group", "sample", "--d"], ["--draws"]),
        (["group", "train", "--d"], []),
        (["sample", "--mode", "fil"], ["file.gz"]),
        (["sample", "--mode", "tw"], ["two words"]),
        (["sample", "--model", "="], ["first", "second"]),
        (["sample", "--model", "=", "s"], ["second"]),
        (["sample", "--mode", "=", "fil"], ["file.gz"]),
        (["sample", "group", "--mo"], ["--model", "--mode"]),
    ],
)
def test_bash_completes_commands_options_values_and_files(tmp_path, words, offered):
    (tmp_path / "file.gz").touch()
    (tmp_path / "two words").touch()
    assert by_bash(script(program(), "bash"), "a-program", *words, cwd=tmp_path) == offered


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("sa", {"sample"}),
        ("", {"sample", "group"}),
        ("sample --mod", {"--model", "--mode"}),
        ("sample --model s", {"second"}),
        ("group tr", {"train"}),
        ("group train --r", {"--rounds"}),
    ],
)
def test_fish_completes_commands_options_and_values(tmp_path, line, offered):
    (tmp_path / "script").write_text(script(program(), "fish"))
    command = f"source {tmp_path}/script; complete -C 'a-program {line}'"
    found = subprocess.run(
        ["fish", "--no-config", "-c", command],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert {each.split("\t")[0] for each in found.stdout.splitlines()} == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_scripts_are_read_by_their_shells_and_name_every_command(name, shell, capsys, tmp_path):
    main = importlib.import_module(f"{PROGRAMS[name]}.cli").main
    with pytest.raises(SystemExit) as end:
        main(["--completion", shell])
    assert end.value.code == 0
    text = capsys.readouterr().out
    for other, command in COMMANDS:
        if other == name:
            assert command.split()[-1] in text.replace("'", " ").split(), command
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    path = tmp_path / "script"
    path.write_text(text)
    outcome = subprocess.run([shell, "-n", str(path)], capture_output=True, text=True, check=False)
    assert (outcome.returncode, outcome.stderr) == (0, "")
