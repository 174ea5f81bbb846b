"""`scfg-decoder linearise`: functional expressions as text that grammars can be learnt of, and back."""

from __future__ import annotations

import argparse

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command to the decoder's parser."""
    parser = subparsers.add_parser(
        "linearise",
        help="write functional expressions as words, or back",
        description=(
            "Reads expressions, one a line, and writes the symbols of each in preorder, with their number\n"
            "of arguments: answer(city(loc_2(stateid('new york')))) becomes\n"
            "  answer@1 city@1 loc_2@1 stateid@1 'new_york'@0\n"
            "A name in quotes is a constant, one symbol whatever blanks it has. With --undo, back; a line\n"
            "that is not a whole expression, or no query, becomes an empty line. Empty lines stay empty."
        ),
        epilog="examples:\n  scfg-decoder linearise train.funql > train.mr\n"
        "  scfg-decoder linearise --undo < out.mr > out.funql",
    )
    parser.add_argument("input", nargs="?", default="-", metavar="FILE", help="expressions; .gz is read too")
    parser.add_argument(
        "--form",
        choices=("funql", "lisp", "sql"),
        default="funql",
        help="how expressions are written: f(a, b), (f a b), or as queries of SQL, of which a part is read: "
        "SELECT with joins, conditions, groups, queries within queries",
    )
    parser.add_argument("--undo", action="store_true", help="from linear forms to expressions")
    parser.add_argument("--output", default="-", metavar="FILE", help="where the result goes")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Turn each line."""
    from decoder.expressions.forms import from_linear, parse, to_linear, write
    from scfg_sampler.core.arrays.vocabulary import split_words
    from scfg_sampler.core.console import warn
    from scfg_sampler.core.files import atomic_output, read_lines

    broken = 0
    with atomic_output(options.output) as out:
        for number, line in enumerate(read_lines(options.input), start=1):
            text = ""
            if options.undo:
                expression = from_linear(split_words(line))
                text = (expression and write(expression, options.form)) or ""
                broken += not text and bool(line.strip())
            elif line.strip():
                text = " ".join(to_linear(parse(line, options.form, options.input, number)))
            out.write(text + "\n")
    if broken:
        warn(f"{options.input}: lines left empty, as they are no whole expressions: {broken}")
