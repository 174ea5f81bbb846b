"""`verify`: is a run, a table, a system or a parser what was written?"""

from __future__ import annotations

import argparse
from pathlib import Path

from scfg_sampler.core import console
from scfg_sampler.core.wording import counted

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "verify",
        help="say what is wrong with a run, a table, a system or a parser, or nothing",
        description="Check all that can be checked: digests, checksums, every number that is an index, and "
        "all that a run has left against a recount from its checkpoint, for which its corpus must still be "
        "where it was. Changes nothing. Ends with status 2 and one line if something is wrong.",
        epilog="examples:\n  scfg-sampler verify run\n  scfg-sampler verify grammar.gz\n"
        "  scfg-sampler verify runs/fr-en/system",
    )
    parser.add_argument(
        "path", metavar="PATH", help="run directory, rule table (compiled or not), system or parser"
    )
    parser.add_argument("--quiet", action="store_true", help="say nothing but what is wrong")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Say what was found to be right."""
    for line in _verified(options.path):
        console.say(line)


def _verified(path: str) -> list[str]:
    from decoder.expressions.parser_files import is_parser, verify_parser
    from decoder.system.verification import (
        is_compiled,
        is_system,
        require_record,
        verify_compiled,
        verify_system,
    )
    from scfg_sampler.core.files import require_file
    from scfg_sampler.learner.verification import verify_run
    from scfg_sampler.rules.table import read_rule_table

    if is_system(path):
        return verify_system(path)
    if is_parser(path):
        return verify_parser(path)
    if Path(path).is_dir():
        require_record(path)
        return verify_run(path)
    require_file(path)
    if is_compiled(path):
        return verify_compiled(path)
    return [f"{path}: {counted(read_rule_table(path, labels=True).num_rules, 'rule')}"]
