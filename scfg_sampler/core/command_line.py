"""Parsers of the project's command lines: help that fits the screen, and what somebody may have meant.

Descriptions and examples are written as long lines. The help fills them to the width of the terminal;
indented lines, which are commands, are continued by a backslash, so that they can be copied as they are.

The fact a newcomer would get wrong: a command's own parser refuses an unknown option before it misses a
required one, since the first is often the second misspelt.
"""

from __future__ import annotations

import argparse
import itertools
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from scfg_sampler.core.completion import SHELLS, CompletionAction
from scfg_sampler.core.console import warn
from scfg_sampler.core.parsers import Parser

__all__ = ["CommandParser", "meant", "needed"]

_WIDEST, _NARROWEST = 100, 40
_MOST_CHOICES = 24
"""Letters of choices that are written out beside an option."""


def meant(word: str, known: Iterable[str]) -> str:
    """What to say of a word that is not known: the known one it may have been meant for, or nothing.

    >>> meant("smaple", ["sample", "grammar"]), meant("--iter", ["--iterations"]), meant("x", ["sample"])
    ("; did you mean 'sample'?", "; did you mean '--iterations'?", '')
    """
    names = list(known)
    begun = [name for name in names if len(word) > 3 and name.startswith(word)]
    import difflib

    found = begun[:1] if len(begun) == 1 else difflib.get_close_matches(word, names, 1)
    return f"; did you mean '{found[0]}'?" if found else ""


def needed(arguments: Sequence[str] | None, commands: Sequence[str]) -> list[str]:
    """The commands that a command line needs the parsers of: the one it begins with, else all.

    Parameters
    ----------
    arguments : sequence of str or None
        None: those of the process.
    commands : sequence of str

    >>> needed(["tsg", "--help"], ["tsg", "ot"]), needed(["--help"], ["tsg", "ot"]), needed(["gst"], ["tsg"])
    (['tsg'], ['tsg', 'ot'], ['tsg'])
    """
    given = sys.argv[1:2] if arguments is None else arguments[:1]
    return [name for name in commands if name in given] or list(commands)


class CommandParser(Parser):
    """The parser of a program, of a group of its commands, or of a command."""

    def __init__(self, *args: Any, **kwargs: Any):
        kwargs.setdefault("formatter_class", _Help)
        super().__init__(*args, **kwargs)

    def add_program_options(self, version: str) -> None:
        """Add what the programs have in common, beside their commands."""
        self.add_argument("--version", action="version", version=f"{self.prog} {version}")
        self.add_argument(
            "--completion",
            choices=SHELLS,
            action=CompletionAction,
            default=argparse.SUPPRESS,  # Or it would be among the options that runs are stored with.
            help=f'print what a shell completes by, as in eval "$({self.prog} --completion bash)"',
        )

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does; without a command shows the help, and refuses what is not known in one line."""
        given = sys.argv[1:] if args is None else list(args)
        if self._takes_commands():
            if not given:
                self.print_help()
                self.exit(0)
            return super().parse_known_args(given, namespace)
        given = self._present_names(given)
        for word in itertools.takewhile(lambda word: word != "--", given):
            name = word.partition("=")[0]
            if name.startswith("--") and name not in self._option_string_actions:
                self.error(f"there is no option {name}{meant(name, self._option_string_actions)}")
        found, rest = super().parse_known_args(given, namespace)
        if rest:
            self.error(f"'{rest[0]}' is more than it takes")
        if wrong := self.collision(found) or self.misplaced(found):
            self.error(wrong)
        return found, rest

    def _present_names(self, given: list[str]) -> list[str]:
        """The same arguments, options by the names that they have now; warns of each old one, once."""
        end = given.index("--") if "--" in given else len(given)
        found = []
        for word in given[:end]:
            name, equals, value = word.partition("=")
            present = self.other_names.get(name) or self.old_names.get(name, name)
            found.append(f"{present}{equals}{value}")
        for old in dict.fromkeys(word.partition("=")[0] for word in given[:end]):
            if old in self.old_names:
                warn(f"{old} is now {self.old_names[old]}; the old name will go in the next version")
        return found + given[end:]

    def _takes_commands(self) -> bool:
        return any(isinstance(action, argparse._SubParsersAction) for action in self._actions)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse what is none of the choices, with what may have been meant."""
        if action.choices is None or value in action.choices:
            return
        names = [str(choice) for choice in action.choices]
        if isinstance(action, argparse._SubParsersAction):
            self.error(f"there is no command '{value}'{meant(str(value), names)}")
        hint = meant(str(value), names) or f"; choose from {', '.join(names)}"
        raise argparse.ArgumentError(action, f"'{value}' is none of its values{hint}")

    def error(self, message: str) -> NoReturn:
        """One line, and status 2."""
        end = "" if message.endswith("?") else "."
        self.exit(2, f"{self.prog}: {message}{end} Try '{self.prog} --help'.\n")
        raise AssertionError


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help that fits the screen, with defaults as people write them."""

    def __init__(self, prog: str):
        columns = shutil.get_terminal_size((80, 24)).columns
        width = max(_NARROWEST, min(_WIDEST, columns)) - 2
        super().__init__(prog, max_help_position=min(28, width // 3), width=width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines: list[str] = []
        text = re.sub(r" \\\n +", " ", text)  # Commands are broken anew, where the screen wants it.
        for is_code, group in itertools.groupby(text.splitlines(), key=lambda line: line[:1] in (" ", "")):
            if is_code:
                for line in group:
                    lines += _continued(line, width)
            else:
                lines += _wrapped(" ".join(group), width)
        return "\n".join(indent + line if line else line for line in lines)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return _wrapped(" ".join(text.split()), width)

    def _metavar_formatter(self, action: argparse.Action, default_metavar: str) -> Any:
        """Choices in braces, or the name of what is chosen where they are too long for a line."""
        if _has_many(action):
            return lambda size: (default_metavar,) * size
        return super()._metavar_formatter(action, default_metavar)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        """`-o, --output FILE`."""
        short = getattr(action, "short", None)
        if not action.option_strings or action.nargs == 0:
            told = super()._format_action_invocation(action)
        else:
            value = self._format_args(action, self._get_default_metavar_for_optional(action))
            told = f"{', '.join(action.option_strings)} {value}"
        return f"{short}, {told}" if short else told

    def _get_help_string(self, action: argparse.Action) -> str:
        text = action.help or ""
        if _has_many(action):
            text += f"; one of {', '.join(map(str, action.choices or ()))}"
        default = _shown(action.default)
        is_switch = action.const is False  # What switches something off says so.
        is_told = "(default" in text or "%(default)" in text
        if not default or not action.option_strings or is_switch or is_told:
            return text
        return f"{text} (default: {default.replace('%', '%%')})"


def _has_many(action: argparse.Action) -> bool:
    """Whether an option has more choices than fit beside its name."""
    has_choices = action.choices is not None and action.metavar is None
    return has_choices and len(",".join(map(str, action.choices or ()))) > _MOST_CHOICES


def _shown(value: Any) -> str:
    """A default for people; empty for those that say nothing."""
    if value is None or value is False or value is argparse.SUPPRESS:
        return ""
    if isinstance(value, (list, tuple)):
        return " ".join(map(_shown, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _continued(line: str, width: int) -> list[str]:
    """A command in lines that a shell reads as one: broken between words, but not within quotes."""
    lines = []
    indent = line[: len(line) - len(line.lstrip())]
    while len(line) > width and (at := _last_break(line, len(indent), width - 2)):
        lines.append(f"{line[:at]} \\")
        line = f"{indent}    {line[at + 1 :]}"
        if len(lines) > 50:
            break
    return [*lines, line]


def _last_break(line: str, first: int, last: int) -> int:
    """The last blank outside quotes between two places; 0 if there is none."""
    found, quote = 0, ""
    for at, letter in enumerate(line[: last + 1]):
        if letter in "'\"" and quote in ("", letter):
            quote = "" if quote else letter
        elif letter == " " and not quote and at > first + 4:
            found = at
    return found
