"""`segment`: new text prepared as a data directory was, or restored."""

from __future__ import annotations

import argparse

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "segment",
        help="segment new text as prepare did, or undo it",
        description="Print raw text, line by line, in the case and the words of a data directory that "
        "prepare made; or, with --undo, words such as translations as plain text again. An empty line "
        "stays empty.",
        epilog="examples:\n  scfg-sampler segment data < new.de > new.words.de\n"
        "  scfg-sampler segment data --language en --undo < translations.words > translations.txt",
    )
    parser.add_argument("directory", metavar="DIR", help="a directory with a preparation.json")
    parser.add_argument(
        "--language", metavar="XX", help="one of the two (default: the source; with --undo, the target)"
    )
    parser.add_argument("--undo", action="store_true", help="from words back to text")
    parser.add_argument("--input", default="-", metavar="FILE", help="the text; .gz is read too")
    parser.add_argument("--output", default="-", metavar="FILE", help="where it goes")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Segment, or undo it."""
    from scfg_sampler.core.arrays.vocabulary import split_words
    from scfg_sampler.core.files import atomic_output, read_lines, require_file
    from scfg_sampler.preparation.preparation import load_preparation

    require_file(options.input)
    preparation = load_preparation(options.directory)
    side = preparation.target if options.undo else preparation.source
    if options.language is not None:
        side = preparation.of(options.language)
    with atomic_output(options.output) as out:
        for line in read_lines(options.input):
            out.write(
                (side.restore(split_words(line)) if options.undo else " ".join(side.segment(line))) + "\n"
            )
