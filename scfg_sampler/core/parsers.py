"""Parsers of command lines: help with examples, numbers that are numbers, short and former names of options.

The fact a newcomer would get wrong: an option whose `type` is `int` or `float` is not read by Python's, which
take "1_0", "nan", "inf" and twenty digits.
"""

from __future__ import annotations

import argparse
import importlib
import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from scfg_sampler.core.console import positive_number
from scfg_sampler.core.needed import is_lost
from scfg_sampler.core.numerals import real_number, whole_number

__all__ = ["Parser", "add_commands", "parser_of_command"]

_SHORT = {
    "--source": "-s",
    "--target": "-t",
    "--alignment": "-a",
    "--grammar": "-g",
    "--lm": "-l",
    "--weights": "-w",
    "--input": "-i",
    "--output": "-o",
    "--iterations": "-n",
    "--threads": "-j",
    "--quiet": "-q",
    "--verbose": "-v",
}
"""Options that every command with them takes by a letter, too."""


_PLACES = ("output", "per_sentence")
"""Options that name what is written: an empty name would be the directory where one is."""

_SEVERAL_FILES = ("DIR", "PARSER", "PREFIX", "RUN", "SYSTEM")
"""What the help calls a directory that is written, or how the names of several files begin."""
_NO_FILES = ("output", "title")
_REPLACED = ("table", "initial", "init")
"""What `--output` may write over: it becomes of these."""


def _is_device(path: str) -> bool:
    """Whether something is there that is no file, as /dev/null, which takes everything."""
    return os.path.exists(path) and not os.path.isfile(path)


def _called(action: argparse.Action) -> str:
    """What the help calls an option, or an argument."""
    return (action.option_strings or [str(action.metavar)])[0]


def _is_within(path: str, directory: str, files: re.Pattern[str]) -> bool:
    """Whether a file, or what it is a link to, lies in a directory and is called there as some are."""
    place = os.path.realpath(directory) + os.sep
    for each in (path, os.path.realpath(path)):
        found = os.path.join(os.path.realpath(os.path.dirname(each)), os.path.basename(each))
        if found.startswith(place) and files.fullmatch(found.removeprefix(place)):
            return True
    return False


def _real(text: str) -> float:
    """A number that is one: no option means anything by `nan`, or by more than any number."""
    value = real_number(text)
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number")
    return value


class Parser(argparse.ArgumentParser):
    """An argument parser whose help keeps the examples' line breaks and shows defaults."""

    def __init__(self, *args, **kwargs):
        kwargs.setdefault("formatter_class", _HelpFormatter)
        kwargs.setdefault("allow_abbrev", False)
        super().__init__(*args, **kwargs)
        self.register("type", int, whole_number)
        self.register("type", float, _real)
        # Before 3.14, "-1e-9" and "-2:2" are options to Python, and what they belong to lacks a value.
        self._negative_number_matcher = re.compile(r"-\.?\d")
        self.old_names: dict[str, str] = {}
        """Names that options had in earlier versions, with those that they have now."""
        self.other_names: dict[str, str] = {}
        """Names that options have beside those of the help."""
        self.written = ["--output"]
        """Options that name a file which is written, or pairs of one that is read and one that is written."""
        self.written_suffixes: dict[str, Callable[[argparse.Namespace], Sequence[str]]] = {}
        """Options that name what files which are written begin with, and how these go on."""
        self.files_named: dict[str, Callable[[str], Sequence[str]]] = {}
        """Where values hold the name of a file and more: what may be that name, by an option's `dest`."""
        self.written_within: dict[str, re.Pattern[str]] = {}
        """Options that name a directory in which files are written, with what these are called."""

    def renamed(self, old: str, new: str) -> None:
        """Take an option by the name that it had in earlier versions, too, with a warning."""
        self.old_names[old] = new

    def also(self, other: str, name: str) -> None:
        """Take an option by another name, too, which stays and which the help does not tell."""
        self.other_names[other] = name

    def writes(self, *names: str) -> None:
        """Say that options name files which are written, as `--output` always does."""
        self.written += names

    def writes_beginning(
        self, name: str, suffixes: Sequence[str] | Callable[[argparse.Namespace], Sequence[str]]
    ) -> None:
        """Say that files are written whose names begin with what an option says, and end with these.

        name : of the option
        suffixes : or what they are by all options
        """
        self.written_suffixes[name] = suffixes if callable(suffixes) else lambda options: suffixes
        self.written = [each for each in self.written if each != name]

    def reads(self, dest: str, named: Callable[[str], Sequence[str]]) -> None:
        """Say that the values of an option are no mere names of files: `named` says which it may be."""
        self.files_named[dest] = named

    def writes_within(self, name: str, files: str) -> None:
        """Say that an option may name a directory, and that files are written there with names of a form.

        name : of the option
        files : a regular expression of the whole names, seen from the directory
        """
        self.written_within[name] = re.compile(files)

    def give_short_names(self) -> None:
        """Take the usual options by a letter, too; the letter is `short` of the option."""
        for action in self._actions:
            for name in action.option_strings:
                short = _SHORT.get(name)
                if short is not None:
                    self._option_string_actions[short] = action
                    action.short = short  # type: ignore[attr-defined]

    def collision(self, options: argparse.Namespace) -> str:
        """Why a file cannot be written: something else of the command reads or writes it; empty if it can."""
        writers: dict[str, str] = {}
        for name, path, own in self._outputs(options):
            if path == "-":
                if path in writers:
                    return f"{name} is -, standard output, as {writers[path]} is; name a file for one of them"
                writers[path] = name
            if path == "-" or _is_device(path):
                continue
            told = f"{name} {'writes' if name in self.written_suffixes else 'is'} {path}"
            if (place := os.path.realpath(path)) in writers:
                return f"{told}, which {writers[place]} writes, too; name another file"
            writers[place] = name
            if reader := self._reader(options, name, path, own):
                return f"{told}, which {reader} reads, and would be lost; name another file"
        return self._collision_within(options)

    def misplaced(self, options: argparse.Namespace) -> str:
        """Why something cannot be written: its name is that of a directory; empty if it can."""
        for name, path, _ in self._outputs(options):
            metavar = self._option_string_actions[name].metavar
            several = name in self.written_suffixes or name in self.written_within
            if several or metavar in _SEVERAL_FILES or path == "-":
                continue
            if os.path.isdir(path) or path.endswith(os.sep):
                return f"{name} is {path}, a directory; name a file"
        return ""

    def _outputs(self, options: argparse.Namespace) -> Iterator[tuple[str, str, str | None]]:
        """An option, a file that it has written, and of a pair what that is made of."""
        for name in (*self.written, *self.written_suffixes):
            action = self._option_string_actions.get(name)
            value = getattr(options, action.dest, None) if action else None
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, list):
                    yield name, each[1], each[0]
                elif isinstance(each, str):
                    of_options = self.written_suffixes.get(name)
                    ends = of_options(options) if of_options else ("",)
                    yield from ((name, each + end, None) for end in ends)

    def _paths(self, options: argparse.Namespace, action: argparse.Action) -> list[str]:
        """What may be names of files that are read among an option's values: of pairs, the first ones."""
        value = getattr(options, action.dest, None)
        found = [getattr(each, "path", each) for each in (value if isinstance(value, list) else [value])]
        read = (each[0] if isinstance(each, list) else each for each in found)
        named = self.files_named.get(action.dest, lambda text: [text])
        return [path for text in read if isinstance(text, str) for path in named(text)]

    def _collision_within(self, options: argparse.Namespace) -> str:
        """As `collision`, of the files in directories that options name."""
        for name, files in self.written_within.items():
            own = self._option_string_actions[name]
            directory = getattr(options, own.dest, None) or ""
            others = [action for action in self._actions if action is not own and not action.choices]
            for action in others if directory else []:
                for path in self._paths(options, action):
                    if not _is_within(path, directory, files):
                        continue
                    told = f"{_called(action)} is {path}, which {name} writes"
                    if _called(action) in self.written:
                        return f"{told}, too; name another file"
                    if os.path.isfile(path):
                        return f"{told}, and would be lost; name another directory"
        return ""

    def _reader(self, options: argparse.Namespace, name: str, output: str, own: str | None) -> str:
        """What reads a file that an option would replace, as the help calls it; empty if nothing does.

        own : what the file is made of, and may replace
        """
        outputs = (*self.written, *self.written_suffixes)
        written = [action for each in outputs if (action := self._option_string_actions.get(each))]
        others = (*_NO_FILES, *_REPLACED) if name == "--output" else _NO_FILES
        for action in self._actions:
            is_input = action.dest not in others and not action.choices
            if not is_input or (action in written and action.nargs is None):
                continue
            if any(is_lost(path, output) for path in self._paths(options, action) if path != own):
                return _called(action)
        return ""

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        if not arg_string and action.dest in _PLACES:
            raise argparse.ArgumentError(action, "is empty, and names no place; is a variable not set?")
        if arg_string == "-" and action.dest in _PLACES and action.metavar in _SEVERAL_FILES:
            found = "- is standard output, but several files are written; name a place for them"
            raise argparse.ArgumentError(action, found)
        # Beyond 64 bits there is no number of anything; seeds alone may be of any size.
        value = super()._get_value(action, arg_string)
        if isinstance(value, int) and abs(value) >= 2**63 and action.dest != "seed":
            raise argparse.ArgumentError(action, f"{arg_string} is too large")
        return value

    def _print_message(self, message: str, file=None) -> None:
        # As argparse does, but help that cannot be printed is not passed over in silence.
        if message:
            (file or sys.stderr).write(message)

    def error(self, message: str):
        self.exit(2, f"{self.prog}: {message}. Try '{self.prog} --help'.\n")


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str):
        super().__init__(prog, max_help_position=30, width=min(100, positive_number("COLUMNS") or 100))

    def _get_help_string(self, action: argparse.Action) -> str:
        text = action.help or ""
        shown = action.default not in (None, False, argparse.SUPPRESS) and "%(default)" not in text
        is_switch = action.const is False  # What switches something off says so.
        return text + " (default: %(default)s)" if shown and action.option_strings and not is_switch else text


def add_commands(
    parser: argparse.ArgumentParser, package: str, names: Sequence[str], metavar: str = "COMMAND"
) -> None:
    """Add commands to a parser, each by the function `add_parser` of a module of the package.

    Parameters
    ----------
    parser : ArgumentParser
    package : str
        As in `decoder.commands`.
    names : sequence of str
        Hyphens are underscores in the modules' names.
    metavar : str
        What the help calls them.
    """
    subparsers = parser.add_subparsers(dest=metavar.lower(), metavar=metavar, required=True)
    for name in names:
        importlib.import_module(f"{package}.{name.replace('-', '_')}").add_parser(subparsers)
    for command in subparsers.choices.values():
        if isinstance(command, Parser):
            command.give_short_names()


def parser_of_command(add_parser: Callable[[Any], None], name: str) -> argparse.ArgumentParser:
    """The parser of a command by itself, for what it says of the command's options.

    Parameters
    ----------
    add_parser : callable
        Adds the command to subparsers.
    name : str
        Of the command.
    """
    subparsers = argparse.ArgumentParser().add_subparsers(parser_class=Parser)
    add_parser(subparsers)
    return subparsers.choices[name]
