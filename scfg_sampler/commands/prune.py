"""`prune`: only the rules of a table that are worth their place."""

from __future__ import annotations

import argparse

from scfg_sampler.commands.grammar import add_pruning
from scfg_sampler.core import console
from scfg_sampler.core.wording import counted

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "prune",
        help="keep the rules of a table that are worth their place",
        description="Prune any rule table with counts, the Hiero baseline's too; 'grammar' prunes what it "
        "writes. Features stay as they are.",
        epilog="example:\n  scfg-sampler prune hiero.gz --output small.gz --prune significance --keep 10%",
    )
    parser.add_argument("table", metavar="TABLE", help="rule table in the native format; .gz is read too")
    parser.add_argument("--output", metavar="TABLE", required=True, help="rule table; compressed if .gz")
    add_pruning(parser)
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Write the pruned table, and say how many rules were kept."""
    from scfg_sampler.errors import SettingsError
    from scfg_sampler.learner.grammar import prune_table

    if options.prune is None and options.keep is None:
        raise SettingsError("nothing to prune by; give --prune or --keep")
    rules, kept = prune_table(options.table, options.output, prune=options.prune, keep=options.keep)
    console.say(f"{kept} of {counted(rules, 'rule')} written to {options.output}")
