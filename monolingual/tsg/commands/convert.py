"""`tsg convert`: treebanks as brackets."""

from __future__ import annotations

import argparse

from scfg_sampler.core import console
from scfg_sampler.core.wording import counted

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "convert",
        help="treebanks in other formats as brackets",
        description="Write the trees of a treebank as brackets, one a line. Read are brackets, NeGra's "
        "export format (3 and 4), Tiger XML and discbracket, recognised by their beginning. Discontinuous "
        "trees are refused unless --raise makes them continuous: what is cut off from the head of a "
        "constituent goes to the one above.",
        epilog="example:\n  scfg-monolingual tsg convert negra.export --raise --output negra.mrg",
    )
    parser.add_argument("trees", metavar="TREES", help="a treebank; .gz is read, - is standard input")
    parser.add_argument(
        "--raise", dest="raising", action="store_true", help="make discontinuous trees continuous"
    )
    parser.add_argument("--output", metavar="FILE", default="-", help="where to")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Read and write."""
    from monolingual.tsg.trees import format_tree, read_trees
    from scfg_sampler.core.files import atomic_output

    number = 0
    with atomic_output(options.output) as stream:
        for tree, _ in read_trees(options.trees, raising=options.raising):
            stream.write(format_tree(tree) + "\n")
            number += 1
    console.say(counted(number, "tree"))
