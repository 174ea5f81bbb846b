"""`symmetrise`: one word alignment out of the two directions of an aligner."""

from __future__ import annotations

import argparse

from scfg_sampler.core import console
from scfg_sampler.core.wording import counted

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "symmetrise",
        help="combine two directional word alignments",
        description="Combine two directional word alignments in Pharaoh format, both written source-target, "
        "into one on standard output.",
        epilog="example:\n  scfg-sampler symmetrise --forward train.fwd --reverse train.rev > train.gdfa",
    )
    parser.add_argument("--forward", metavar="A", required=True, help="one direction, i-j from 0")
    parser.add_argument("--reverse", metavar="B", required=True, help="the other direction, also i-j")
    parser.add_argument(
        "--method",
        choices=("intersect", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"),
        default="grow-diag-final-and",
        help="how to combine them",
    )
    parser.add_argument("--output", metavar="FILE", default="-", help="where to write it")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Write the symmetrised alignment."""
    from scfg_sampler.core.files import atomic_output
    from scfg_sampler.corpus.symmetrise import symmetrise_files

    lines = 0
    with atomic_output(options.output) as stream:
        for line in symmetrise_files(options.forward, options.reverse, options.method):
            stream.write(line + "\n")
            lines += 1
    console.say(f"{counted(lines, 'line')} symmetrised by {options.method}")
