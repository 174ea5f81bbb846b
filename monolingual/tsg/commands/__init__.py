"""The commands of `scfg-monolingual tsg`, one module each."""

from __future__ import annotations

from scfg_sampler.core import parsers

__all__ = ["COMMANDS", "add_parser"]

COMMANDS: tuple[str, ...] = ("train", "resume", "parse", "score", "statistics", "report", "convert")
"""Modules of this package, in the order of the help."""


def add_parser(subparsers) -> None:
    """Add the model and its commands."""
    parser: parsers.Parser = subparsers.add_parser(
        "tsg",
        help="tree substitution grammars",
        description="Learn tree substitution grammars from treebanks by Gibbs sampling (Cohn, Goldwater and "
        "Blunsom 2009).",
        epilog="example:\n  scfg-monolingual tsg train trees.mrg --output run",
    )
    parsers.add_commands(parser, __name__, COMMANDS)
