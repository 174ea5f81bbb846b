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
    """What was found to be right, in words; loads what its kind needs, and nothing of the others."""
    from decoder.system.recognition import is_compiled, is_parser, is_system, require_record
    from scfg_sampler.core.files import require_file

    if is_system(path):
        from decoder.system.verification import verify_system

        return verify_system(path)
    if is_parser(path):
        from decoder.expressions.parser_files import verify_parser

        return verify_parser(path)
    if Path(path).is_dir():
        from scfg_sampler.learner.verification import verify_run

        require_record(path)
        return verify_run(path)
    require_file(path)
    if is_compiled(path):
        from decoder.system.verification import verify_compiled

        return verify_compiled(path)
    from scfg_sampler.rules.table import read_rule_table

    return [f"{path}: {counted(read_rule_table(path, labels=True).num_rules, 'rule')}"]
