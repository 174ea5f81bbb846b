"""The command line `scfg-sampler`: one module per command in `scfg_sampler.commands`."""

from __future__ import annotations

from collections.abc import Sequence

from scfg_sampler import __version__
from scfg_sampler.core import console, parsers
from scfg_sampler.core.command_line import CommandParser, needed
from scfg_sampler.core.startup import begin_program

__all__ = ["COMMANDS", "build_parser", "main"]

COMMANDS = (
    "prepare",
    "segment",
    "align",
    "symmetrise",
    "classes",
    "forest",
    "sample",
    "resume",
    "grammar",
    "extract",
    "convert",
    "plug",
    "filter",
    "prune",
    "annotate",
    "diagnose",
    "curves",
    "verify",
    "report",
    "explore",
    "doctor",
)


def build_parser(commands: Sequence[str] = COMMANDS) -> CommandParser:
    """The parser of all commands, or of some."""
    parser = CommandParser(
        prog="scfg-sampler",
        description="Learn small, readable translation grammars from word-aligned text.",
        epilog="example:\n  scfg-sampler sample --source train.de --target train.en "
        "--alignment train.align --output run\n  scfg-sampler grammar run --output grammar.gz",
    )
    parser.add_program_options(__version__)
    parsers.add_commands(parser, "scfg_sampler.commands", commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status (0 done, 2 the user can mend it, 128 + its number on a signal).

    Parameters
    ----------
    arguments : sequence of str, optional
        By default those of the process.
    """
    begin_program()
    commands = needed(arguments, COMMANDS)
    return console.run_parser("scfg-sampler", lambda: build_parser(commands), arguments)
