"""`dmv resume`: go on with training that was stopped."""

from __future__ import annotations

import argparse

from monolingual.dmv.commands import add_checkpoint_option
from scfg_sampler.core import parsers

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "resume",
        help="go on with training that was stopped",
        description="Go on with training from the checkpoint beside the model, as if it had never stopped: "
        "bit for bit. The sentences, and whatever other files it needs, must still be where they were; what "
        "was read from standard input is read from there again.",
        epilog="example:\n  scfg-monolingual dmv resume model.txt",
    )
    parser.add_argument("output", metavar="MODEL", help="the model that training was to write")
    add_checkpoint_option(parser)
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Continue, and write the model."""
    from monolingual.dmv.commands.train import add_parser, execute
    from monolingual.dmv.run import read_options

    given = read_options(options.output, parsers.parser_of_command(add_parser, "train"))
    given |= {"output": options.output, "quiet": options.quiet, "checkpoint_every": options.checkpoint_every}
    execute(argparse.Namespace(**given))
