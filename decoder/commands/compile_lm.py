"""`scfg-decoder compile-lm`: a language model in the form it has in memory."""

from __future__ import annotations

import argparse

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command to the decoder's parser."""
    parser = subparsers.add_parser(
        "compile-lm",
        help="turn an ARPA file into one that loads at once",
        description=(
            "Every command that takes an ARPA file takes the result instead. It is mapped into memory and\n"
            "shared between processes; it belongs to this version of the program and this kind of machine.\n"
            "With --classes, a model of classes of words takes text: each word counts as its class."
        ),
        epilog="examples:\n  scfg-decoder compile-lm en.arpa --output en.bin\n"
        "  scfg-decoder compile-lm classes.arpa --classes en.classes --output classes.bin",
    )
    parser.add_argument("lm", metavar="LM.arpa", help="an ARPA file, may be gzipped; - for standard input")
    parser.add_argument("--output", required=True, metavar="LM.bin")
    parser.add_argument(
        "--classes",
        metavar="FILE",
        help="the class of each word, a line for each: the word and, behind a space or tab, its class, as "
        "scfg-sampler classes --words writes them; the words of the model are these classes",
    )
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Read the model and write it."""
    from decoder.lm.model import load_lm
    from decoder.lm.table import write_lm_file
    from scfg_sampler.core.console import say, set_quiet

    set_quiet(options.quiet)
    lm, vocabulary = load_lm(options.lm, options.classes)
    write_lm_file(lm, vocabulary, options.output)
    say(f"order {lm.order}, {vocabulary.described()}, {lm.keys.nbytes / 1e6:.1f} MB")
