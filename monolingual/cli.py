"""The command line `scfg-monolingual`: one module per model, each with commands of its own."""

from __future__ import annotations

from collections.abc import Sequence

from scfg_sampler import __version__
from scfg_sampler.core import console, parsers
from scfg_sampler.core.command_line import CommandParser, needed
from scfg_sampler.core.startup import begin_program

__all__ = ["MODELS", "build_parser", "main"]

MODELS: tuple[str, ...] = ("tsg", "pcfg", "ot", "dmv")
"""Packages in `monolingual`, each with the commands of one model, in the order of the help."""


def build_parser(models: Sequence[str] = MODELS) -> CommandParser:
    """The parser of all models, or of some."""
    parser = CommandParser(
        prog="scfg-monolingual",
        description="Grammar induction from one language on the core of scfg-sampler.",
        epilog="example:\n  scfg-monolingual ot --help",
    )
    parser.add_program_options(__version__)
    parsers.add_commands(parser, "monolingual", [f"{name}.commands" for name in models], "MODEL")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status (0 done, 2 the user can mend it, 128 + its number on a signal).

    Parameters
    ----------
    arguments : sequence of str, optional
        By default those of the process.
    """
    begin_program()
    commands = needed(arguments, MODELS)
    return console.run_parser("scfg-monolingual", lambda: build_parser(commands), arguments)
