"""Examples of `--help`, run as they stand on small files of those names: each ends with status 0."""

from __future__ import annotations

import argparse
import contextlib
import functools
import glob
import importlib
import importlib.util
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scfg_sampler.core import console
from tests.example_files import MAKERS
from tests.test_docs import COMMANDS, PROGRAMS

NOT_OURS = {"(cd for-moses && moses -f moses.ini) < test.de > test.out": "needs Moses"}
NEEDED = {
    r" align ": "eflomal",
    r" explore ": "uvicorn",
    r" curves |--plot| ot plot ": "matplotlib",
    r" prepare (?!.*subwords)": "sacremoses",
}
"""What examples need that is not always there."""
EXPRESSIONS = (
    *("linearise", "train-expressions", "train-ranker", "join-lists", "rank"),
    *("bundle-parser", "parse"),
)
BUSY = ("ot", "tsg", "pcfg", "tune", "report", "prepare")
"""Commands most of whose examples take seconds."""


@functools.cache
def whole_parser(program: str) -> argparse.ArgumentParser:
    return importlib.import_module(f"{PROGRAMS[program]}.cli").build_parser()


def parser_of(program: str, command: str) -> argparse.ArgumentParser:
    parser: Any = whole_parser(program)
    for word in command.split():
        parser = parser._subparsers._group_actions[0].choices[word]
    return parser


def examples_of(program: str, command: str) -> list[str]:
    """The lines of shell below the help of a command, those that go on in the next one joined."""
    told = (parser_of(program, command).epilog or "").replace("\\\n", " ")
    block = re.search(r"^examples?:\n((?:  .*\n?)+)", told, re.MULTILINE)
    assert block is not None, f"{program} {command} has no examples"
    return [" ".join(line.split()) for line in block[1].splitlines()]


EXAMPLES = [(program, command, examples_of(program, command)) for program, command in COMMANDS]


def group_of(program: str, command: str) -> str:
    if program == "scfg-monolingual":
        return command.split()[0]
    return "expressions" if command in EXPRESSIONS else "translation"


def taken(line: str) -> tuple[str, list[str], str | None, str | None]:
    """Program, arguments, and the files of standard input and output of a line of shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|;&<>()")
    lexer.whitespace_split = True
    words = list(lexer)
    files: dict[str, str] = {}
    while len(words) > 2 and words[-2] in "<>":
        files[words[-2]] = words[-1]
        del words[-2:]
    spread: list[str] = []
    for word in words:
        spread += sorted(glob.glob(word)) if "[" in word and glob.glob(word) else [word]
    return spread[0], spread[1:], files.get("<"), files.get(">")


@contextlib.contextmanager
def redirected(stdin: str | None, stdout: str | None) -> Iterator[None]:
    """Standard input from a file, or empty; standard output into one, or into the air."""
    before = sys.stdin
    target = open(stdout, "w", encoding="utf-8") if stdout else io.TextIOWrapper(io.BytesIO(), "utf-8")  # noqa: SIM115
    source = open(stdin, encoding="utf-8") if stdin else io.TextIOWrapper(io.BytesIO(), "utf-8")  # noqa: SIM115
    sys.stdin = source
    try:
        with contextlib.redirect_stdout(target):
            yield
    finally:
        sys.stdin = before
        target.close()
        source.close()


def status_of(line: str) -> int:
    """The exit status of a line that calls one of our programs, run within this process."""
    program, arguments, stdin, stdout = taken(line)
    main = importlib.import_module(f"{PROGRAMS[program]}.cli").main
    with redirected(stdin, stdout):
        try:
            return main(arguments)
        except SystemExit as end:
            return int(end.code or 0)


def ends_at_once(self: Any, sockets: Any = None) -> None:
    """A server whose user presses Ctrl-C when it is ready."""
    raise KeyboardInterrupt


def absent(line: str) -> list[str]:
    """The packages that an example needs and that are not there."""
    needed = [package for pattern, package in NEEDED.items() if re.search(pattern, line)]
    return [package for package in needed if importlib.util.find_spec(package) is None]


def without_what_it_makes(line: str) -> None:
    """Remove what an example is to make: runs are not replaced unasked."""
    for name in re.findall(r"(?:--output|>) (\S+)", line):
        for path in (Path(name), Path(f"{name}.checkpoint.npz")):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


@pytest.mark.parametrize(
    ("program", "command", "lines"),
    [
        pytest.param(*each, marks=[pytest.mark.slow] * (each[1].split()[0] in BUSY), id=" ".join(each[:2]))
        for each in EXAMPLES
    ],
)
def test_examples_of_a_command_end_well(program, command, lines, made, tmp_path, monkeypatch, capsys):
    folder = tmp_path / "here"
    shutil.copytree(made(group_of(program, command)), folder)
    monkeypatch.chdir(folder)
    if command == "explore":
        uvicorn = pytest.importorskip("uvicorn")
        server = importlib.import_module("scfg_sampler.explore.server")
        listen = server.listen
        monkeypatch.setattr(server, "listen", lambda port: listen(0))
        monkeypatch.setattr(uvicorn.Server, "run", ends_at_once)
    missing: list[str] = []
    for line in lines:
        if line in NOT_OURS or absent(line):
            missing += absent(line)
            continue
        without_what_it_makes(line)
        status = status_of(line)
        assert status == 0, f"{line}\n{capsys.readouterr().err}"
        for name in re.findall(r"(?:--output|>) (\S+)", line):
            assert list(Path().glob(f"{name}*")), f"{line} has not made {name}"
    if missing:
        pytest.skip(f"some examples need {', '.join(missing)}")


COUNTED = ("--chains", "--shards", "--seeds", "--threads", "--workers")


def counted_options(program: str, command: str) -> list[str]:
    """Options that say how many of something there are."""
    options = parser_of(program, command)._option_string_actions
    return [option for option in COUNTED if option in options]


@pytest.mark.parametrize(
    ("program", "command", "line", "option"),
    [
        pytest.param(
            *(program, command, lines[0], option),
            marks=[pytest.mark.slow] * (command.split()[0] in BUSY),
            id=f"{program} {command} {option}",
        )
        for program, command, lines in EXAMPLES
        for option in counted_options(program, command)
    ],
)
def test_a_command_asked_for_billions_of_something_refuses(
    program, command, line, option, made, tmp_path, monkeypatch, capsys
):
    shutil.copytree(made(group_of(program, command)), tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    without_what_it_makes(line)
    asked, files = re.fullmatch(r"(.*?)((?: [<>] \S+)*)", line).groups()
    for number in (65537, 10**12):
        assert status_of(f"{asked} {option} {number}{files}") == 2
        assert f"{option} is {number}; it must be from 1 to 65536" in capsys.readouterr().err


LONG = {
    "sample": "sampling",
    "resume": "sampling",
    "extract": "extracting",
    "filter": "reading rules",
    "convert": "writing rules",
    "plug": "writing rules",
    "report": "sections",
    "translate": "translating",
    "consensus": "choosing",
    "tune": "tuning",
    "train-lm": "estimating orders",
    "query-lm": "scoring lines",
    "dmv train": "em",
    "dmv resume": "em",
    "ot sample": "sampling",
    "ot resume": "sampling",
    "ot gla": "learning",
    "pcfg sample": "sampling",
    "pcfg resume": "sampling",
    "pcfg parse": "parsing",
    "pcfg prefix": "reading",
    "pcfg train": "em",
    "tsg train": "sampling",
    "tsg resume": "sampling",
    "tsg parse": "parsing",
}
"""Commands that take long of much text, and what they say that they do."""
WITHOUT_END = ("reading rules", "sections", "scoring lines")
"""What is done with files of any length, and so without a time left."""


@pytest.mark.parametrize(
    ("program", "command", "lines"),
    [
        pytest.param(*each, marks=[pytest.mark.slow] * (each[1].split()[0] in BUSY), id=" ".join(each[:2]))
        for each in EXAMPLES
        if each[1] in LONG
    ],
)
def test_long_commands_tell_a_file_how_far_they_are(
    program, command, lines, made, tmp_path, monkeypatch, capsys
):
    folder = tmp_path / "here"
    shutil.copytree(made(group_of(program, command)), folder)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(console, "SECONDS_BETWEEN_LINES", 0.0)
    for line in lines:
        without_what_it_makes(line)
        assert status_of(line) == 0
        if f" {command} " in line:
            break
    what = LONG[command]
    end = "" if what in WITHOUT_END else r" of [\d,]+, .*\d:\d\d:\d\d left"
    told = capsys.readouterr().err
    assert re.search(rf"^{what}: [\d,]+{end}", told, re.MULTILINE), told
    assert re.search(rf"^{what}: .*, [\d,.]+ a (second|minute)", told, re.MULTILINE), told


def test_a_pipe_hears_how_far_sampling_is(made, tmp_path, root):
    command = (
        "import sys; from scfg_sampler.core import console; console.SECONDS_BETWEEN_LINES = 0.02;"
        "from scfg_sampler.cli import main; sys.exit(main())"
    )
    corpus = ["--source", "train.de", "--target", "train.en", "--alignment", "train.align"]
    done = subprocess.run(
        [sys.executable, "-c", command, "sample", *corpus, "--output", str(tmp_path / "run"), "-n", "200"],
        cwd=made("translation"),
        env={**os.environ, "PYTHONPATH": str(root)},
        stderr=subprocess.PIPE,
        text=True,
        check=True,
    )
    lines = re.findall(
        r"^sampling: \d+ of 200, [\d,.]+ a second, 0:00:\d\d left; log joint -\d+$", done.stderr, re.M
    )
    assert len(lines) > 1, done.stderr


def test_every_line_is_ours_or_has_a_reason():
    """And no reason is left over."""
    others = {line for _, _, lines in EXAMPLES for line in lines if line.split()[0] not in PROGRAMS}
    assert others == set(NOT_OURS)


def test_an_example_that_does_not_run_is_noticed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert status_of("scfg-decoder query-lm none.arpa < /dev/null") == 2
    assert status_of("scfg-decoder query-lm --nothing") == 2


def test_groups_of_files_are_those_of_the_commands():
    assert {group_of(program, command) for program, command in COMMANDS} == set(MAKERS)


NUMBERS = ("-1", "0", "100000000000")
WORK = {
    *("--iterations", "--rounds", "--restarts", "--samples", "--states", "--trials", "--sweeps", "--draws"),
    *("--shifts", "--collapsed", "--pilot", "--truncate"),
}
"""Options that say how much is to be done: so much is what was asked for, if it takes for ever."""


def numeric(program: str, command: str) -> list[argparse.Action]:
    """The options of a command that take a number."""
    actions = parser_of(program, command)._actions
    return [action for action in actions if action.type in (int, float) and action.option_strings]


@pytest.mark.parametrize(
    ("program", "command"), [pytest.param(*each[:2], id=" ".join(each[:2])) for each in EXAMPLES]
)
def test_numbers_that_are_none_or_beyond_64_bits_are_refused(program, command):
    parser = parser_of(program, command)
    for action in numeric(program, command):
        beyond = ("99999999999999999999",) if action.type is int else ("NaN", "inf", "-inf", "1e999")
        for text in ("nan", "1_0", "x", *beyond):
            if action.dest == "seed" and text.isdigit():
                assert parser._get_value(action, text) == int(text)
                continue
            with pytest.raises(argparse.ArgumentError):
                parser._get_value(action, text)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "command", "lines"),
    [pytest.param(*each, id=" ".join(each[:2])) for each in EXAMPLES if each[1] != "explore"],
)
def test_other_numbers_are_taken_or_refused_in_a_line(
    program, command, lines, made, tmp_path, monkeypatch, capsys
):
    shutil.copytree(made(group_of(program, command)), tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    wrong = {}
    for action in numeric(program, command):
        option = action.option_strings[-1]
        for number in NUMBERS:
            if option in COUNTED or (option in WORK and len(number) > 9):
                continue
            line = next((line for line in lines if option in line), lines[0])
            asked, files = re.fullmatch(r"(.*?)((?: [<>] \S+)*)", line).groups()
            without_what_it_makes(line)
            before = set(Path().rglob("*"))
            capsys.readouterr()
            status = status_of(f"{asked} {option} {number}{files}")
            said = [told for told in capsys.readouterr().err.splitlines() if told.startswith(f"{program}")]
            left = set(Path().rglob("*")) - before - set(map(Path, files.split()[1::2]))
            if status not in (0, 2) or (status == 2 and (len(said) != 1 or left)):
                wrong[f"{option} {number}"] = status, said, left
    assert not wrong
