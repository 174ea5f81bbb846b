"""`annotate`: a rule table with features that another table has for the same rules."""

from __future__ import annotations

import argparse

from scfg_sampler.core import console
from scfg_sampler.core.wording import counted

__all__ = ["add_parser", "run"]

_FEATURES = ("LogForward", "LogBackward", "LogCount")


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "annotate",
        help="add features that another table has for the same rules",
        description="Add to each rule of a table what another table says of it: by default the phrase "
        "probabilities and the count, such as a larger table of Hiero's has them. Where that lacks the rule, "
        "they are 0, and the feature PREFIXMissing is 1. Tune the result: the new features need weights.",
        epilog="example:\n  scfg-sampler annotate grammar.gz hiero.gz --output both.gz --prefix Hiero",
    )
    parser.add_argument("table", metavar="TABLE", help="rule table in the native format; .gz is read too")
    parser.add_argument("other", metavar="OTHER", help="rule table whose features are added")
    parser.add_argument("--output", metavar="TABLE", required=True, help="rule table; compressed if .gz")
    parser.add_argument("--prefix", default="Other", help="before the names of the new features")
    parser.add_argument(
        "--features",
        nargs="+",
        action="extend",
        metavar="NAME",
        help=f"which features of OTHER (default: {' '.join(_FEATURES)})",
    )
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Write the table, and say how many rules the other has, too."""
    from scfg_sampler.rules.annotation import annotate_table

    features = options.features or _FEATURES
    rules, known = annotate_table(
        options.table, options.other, options.output, prefix=options.prefix, features=features
    )
    written = f"{counted(rules, 'rule')} written to {options.output}"
    console.say(f"{written}, {known} with features of {options.other}")
