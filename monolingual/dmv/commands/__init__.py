"""The commands of `scfg-monolingual dmv`, one module each."""

from __future__ import annotations

import argparse

from scfg_sampler.core import console

__all__ = ["COMMANDS", "add_checkpoint_option", "add_parser", "add_treebank_options", "read"]

COMMANDS: tuple[str, ...] = ("train", "resume", "parse", "evaluate", "covariances")
"""Modules of this package, in the order of the help."""


def add_parser(subparsers) -> None:
    """Add the model and its commands."""
    parser: console.Parser = subparsers.add_parser(
        "dmv",
        help="dependency trees over tags, learnt without trees",
        description="The dependency model with valence, with logistic normal priors (Cohen, Gimpel and Smith "
        "2008) and others: learnt from tagged sentences, used to parse, and evaluated.",
        epilog="example:\n  scfg-monolingual dmv train train.conllu --output model.txt\n"
        "  scfg-monolingual dmv evaluate model.txt test.conllu",
    )
    console.add_commands(parser, __name__, COMMANDS)


def add_treebank_options(parser: argparse.ArgumentParser) -> None:
    """Add how treebanks are read, and --quiet."""
    parser.add_argument(
        "--tags", choices=("xpos", "upos"), default="xpos", help="which column of CoNLL files"
    )
    parser.add_argument(
        "--punctuation",
        metavar="TAGS",
        default="PUNCT",
        help="tags, of either column, of words to be removed from CoNLL files, separated by commas",
    )
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")


def add_checkpoint_option(parser: argparse.ArgumentParser) -> None:
    """Add --checkpoint-every."""
    parser.add_argument(
        "--checkpoint-every",
        metavar="K",
        type=int,
        help="rounds; 0: only when stopped (default: by the clock, about once a minute)",
    )


def read(options: argparse.Namespace, path: str):
    """The sentences of a treebank, read as the options say."""
    from monolingual.dmv.treebank import read_treebank

    removed = [tag for tag in options.punctuation.split(",") if tag]
    return read_treebank(path, column=options.tags, punctuation=removed)
