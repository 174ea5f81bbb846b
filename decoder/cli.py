"""The command line `scfg-decoder`: one module per command in `decoder.commands`."""

from __future__ import annotations

from collections.abc import Sequence

from scfg_sampler import __version__
from scfg_sampler.core import console, parsers
from scfg_sampler.core.command_line import CommandParser, needed
from scfg_sampler.core.startup import begin_program

__all__ = ["COMMANDS", "build_parser", "main"]

COMMANDS = (
    "train-lm",
    "compile-lm",
    "query-lm",
    "compile-grammar",
    "bundle",
    "translate",
    "consensus",
    "tune",
    "evaluate",
    "show",
    "import-weights",
    "linearise",
    "train-expressions",
    "train-ranker",
    "join-lists",
    "rank",
    "bundle-parser",
    "parse",
)


def build_parser(commands: Sequence[str] = COMMANDS) -> CommandParser:
    """The parser of all commands, or of some."""
    parser = CommandParser(
        prog="scfg-decoder",
        description="Translate with synchronous grammars: language models, search, tuning, evaluation.",
        epilog="example:\n  scfg-decoder train-lm train.en --output en.arpa\n"
        "  scfg-decoder tune --grammar grammar.gz --lm en.arpa --source dev.de --references dev.en \\\n"
        "    --output weights.json\n"
        "  scfg-decoder translate --grammar grammar.gz --lm en.arpa --weights weights.json < test.de \\\n"
        "    > out.en\n"
        "  scfg-decoder evaluate --hypothesis out.en --references test.en",
    )
    parser.add_program_options(__version__)
    parsers.add_commands(parser, "decoder.commands", commands)
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
    return console.run_parser("scfg-decoder", lambda: build_parser(commands), arguments)
