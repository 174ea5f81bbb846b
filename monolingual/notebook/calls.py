"""Commands called with arguments instead of options, so that both do the same, byte for byte.

The fact a newcomer would get wrong: what a command prints is not shown, nor how far it is; its warnings are.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, NoReturn

import numpy as np

from monolingual.cli import build_parser
from scfg_sampler.core import console, parsers
from scfg_sampler.core.arguments import (
    ArgumentError,
    of_arguments,
    require_lines,
    require_switch,
)
from scfg_sampler.core.files import PathLike, atomic_output
from scfg_sampler.errors import InputError, SettingsError

__all__ = ["call", "given_as_lines", "lines_file", "of_lines", "options_of"]


def call(
    model: str,
    command: str,
    positional: Sequence[object],
    options: Mapping[str, Any],
    directory: PathLike | None = None,
) -> None:
    """Do what a command does.

    Parameters
    ----------
    model, command : str
    positional : sequence of paths
    options : mapping
        By the names of options, `_` for `-`. True switches an option on; None and False leave it out; a
        sequence is joined by commas, or given one by one to options that take several.
    directory : path, optional
        What is given to --output, which then is none of the options.

    Raises
    ------
    ArgumentError
        There is no such option, or it does not take the value.
    TypeError
        A switch is neither True nor False, or a value is of a type that no option has.
    ScfgError
        As the command.
    """
    parser = _parser(model, command)
    known = _options(parser)
    former = {_name(old): _name(new) for old, new in parser.old_names.items()}
    given: list[str] = []
    if directory is not None:
        given += _as_options(known.pop("output"), directory)
    for given_name, value in options.items():
        name = former.get(given_name, given_name)
        if name != given_name:
            console.warn(f"{given_name} is now {name}; the old name will go in the next version")
        if name not in known or name == "quiet":
            choose = ", ".join(sorted(known.keys() - {"quiet"}))
            raise ArgumentError(f"there is no setting {given_name!r}; choose from {choose}")
        given += _as_options(known[name], value)

    given += ["--", *map(str, positional)]  # Or a name that begins with a hyphen would be an option.

    def refuse(message: str) -> NoReturn:
        raise SettingsError(
            message.replace("argument --", "").rstrip(".")
        )  # Of options, until `of_arguments`.

    vars(parser)["error"] = refuse
    with of_arguments(), _silent():
        found = parser.parse_args(given)
        found.run(found)


def _parser(model: str, command: str) -> parsers.Parser:
    parser: parsers.Parser = build_parser()
    for name in (model, command):
        commands = next(each for each in parser._actions if isinstance(each, argparse._SubParsersAction))
        parser = commands.choices[name]
    return parser


def options_of(model: str, command: str) -> set[str]:
    """The names of the options of a command."""
    return set(_options(_parser(model, command)))


def _options(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Options by their names, without hyphens."""
    actions = [action for action in parser._actions if action.option_strings]
    return {_name(action.option_strings[0]): action for action in actions if action.dest != "help"}


def _name(option: str) -> str:
    return option.lstrip("-").replace("-", "_")


def _as_options(action: argparse.Action, value: Any) -> list[str]:
    name = action.option_strings[-1]
    is_switch = action.nargs == 0 or isinstance(action, argparse.BooleanOptionalAction)
    if value is not None and (is_switch or isinstance(value, np.bool_)):
        value = require_switch(action.dest, value)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, bool) and not is_switch:
        raise TypeError(f"{action.dest} is {value}; give a number, a text or a path")
    if value is None or value is False:
        switched_off = [each for each in action.option_strings if each.startswith("--no-")]
        return switched_off if value is False else []
    if is_switch:
        return [action.option_strings[0]]
    if isinstance(value, (list, tuple)):
        if isinstance(action, argparse._AppendAction):
            return [part for each in value for part in (name, str(each))]
        return [f"{name}={','.join(map(str, value))}"]
    if isinstance(value, (str, os.PathLike, int, float, np.integer, np.floating)):
        return [f"{name}={value}"]
    raise TypeError(f"{action.dest} is a {type(value).__name__}; give a number, a text or a path")


class _Output:
    """Standard output while commands run: what they print goes nowhere, all else where it went before.

    Commands in several threads share one, and the last of them puts the stream back: if each put back what it
    had found, that could be what another one had put there.
    """

    def __init__(self, stream: Any):
        self.stream, self.calls = stream, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(io.StringIO() if console.is_hushed() else self.stream, name)


_changing = threading.Lock()


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Within, this thread prints and says nothing; others do."""
    with _changing:
        output = sys.stdout if isinstance(sys.stdout, _Output) else _Output(sys.stdout)
        output.calls += 1
        sys.stdout = output
    try:
        with console.hushed():
            yield
    finally:
        with _changing:
            output.calls -= 1
            if not output.calls and sys.stdout is output:
                sys.stdout = output.stream


@contextlib.contextmanager
def of_lines(*texts: tuple[str, object, Path]) -> Iterator[None]:
    """What is wrong with files that `lines_file` has written within, said of the lines that were given.

    Parameters
    ----------
    texts : tuples of a name, what was given, and the place
        Of files that were given nothing is said.
    """
    names = {str(place): name for name, text, place in texts if not isinstance(text, (str, os.PathLike))}
    try:
        yield
    except InputError as error:
        if error.path not in names:
            raise
        name = names[error.path]
        place = name if error.line is None else f"line {error.line} of {name}"
        raise type(error)(None, error.line, f"{place}: {error.found}", error.hint) from None


def given_as_lines(texts: Mapping[str, object]) -> list[str]:
    """The names of those texts that `lines_file` writes: those which are neither paths nor None.

    >>> given_as_lines({"trees": ["(S a)"], "sentences": "sentences.txt", "gold": None})
    ['trees']
    """
    return [name for name, text in texts.items() if not isinstance(text, (str, os.PathLike, NoneType))]


def lines_file(text: PathLike | Sequence[str], place: Path) -> PathLike:
    """The path of a text: as given, or of its lines, which are written to a place.

    Parameters
    ----------
    text : path, or sequence of str
        A str is a path; lines are a list of them.
    place : path
    """
    if isinstance(text, (str, os.PathLike)):
        return text
    lines = require_lines("a text", text)
    with atomic_output(place) as stream:
        stream.writelines(f"{line}\n" for line in lines)
    return place
