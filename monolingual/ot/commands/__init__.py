"""The commands of `scfg-monolingual ot`, one module each."""

from __future__ import annotations

import importlib

from scfg_sampler.core import console

__all__ = ["COMMANDS", "add_parser"]

COMMANDS: tuple[str, ...] = ()
"""Modules of this package, in the order of the help."""


def add_parser(subparsers) -> None:
    """Add the model and its commands."""
    parser: console.Parser = subparsers.add_parser(
        "ot",
        help="Stochastic Optimality Theory",
        description="Learn Stochastic OT grammars from tableaux: the posterior by Gibbs sampling (Lin 2005), "
        "the maximum-likelihood grammar, and the older learners beside them.",
        epilog="example:\n  scfg-monolingual ot sample tableaux.tsv --output run\n"
        "  scfg-monolingual ot predict run tableaux.tsv",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS:
        importlib.import_module(f"monolingual.ot.commands.{name}").add_parser(commands)
