"""The command line `scfg-monolingual`: one module per model, each with commands of its own."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence

from scfg_sampler import __version__
from scfg_sampler.core import console
from scfg_sampler.errors import SettingsError

__all__ = ["MODELS", "build_parser", "main"]

MODELS: tuple[str, ...] = ()
"""Modules of `monolingual.commands`, in the order of the help."""


def build_parser() -> console.Parser:
    """The parser of all models."""
    parser = console.Parser(
        prog="scfg-monolingual",
        description="Grammar induction from one language on the core of scfg-sampler. "
        + ("" if MODELS else "This version has no model yet."),
        epilog="example:\n  scfg-monolingual --version",
    )
    parser.add_argument("--version", action="version", version=f"scfg-monolingual {__version__}")
    parser.set_defaults(run=_no_model)
    if MODELS:
        subparsers = parser.add_subparsers(dest="model", metavar="MODEL", required=True)
        for name in MODELS:
            importlib.import_module(f"monolingual.commands.{name}").add_parser(subparsers)
    return parser


def _no_model(options: argparse.Namespace) -> None:
    raise SettingsError(f"version {__version__} has no model yet; see scfg-monolingual --help")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status (0 done, 2 the user can mend it, 130 on Ctrl-C).

    Parameters
    ----------
    arguments : sequence of str, optional
        By default those of the process.
    """
    return console.run_parser("scfg-monolingual", build_parser, arguments)
