"""`convert`: rule tables of other decoders, there and back."""

from __future__ import annotations

import argparse

from scfg_sampler.core import console

__all__ = ["add_parser", "run"]

_FORMATS = ("native", "cdec", "moses", "joshua", "travatar")


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "convert",
        help="rewrite a rule table for cdec, Moses, Joshua or Travatar, or back",
        description="Rewrite a rule table in the format and with the features that a decoder expects.",
        epilog="example:\n  scfg-sampler convert grammar.gz --to moses --output rule-table.gz "
        "--glue glue-grammar",
    )
    parser.add_argument("table", metavar="TABLE", help="a rule table in any of the formats; .gz is read too")
    parser.add_argument("--to", choices=_FORMATS, required=True, help="the format to write")
    parser.add_argument(
        "--output",
        metavar="OUT",
        required=True,
        help="where to; compressed if .gz. What the table was made with goes to OUT.json, as only native "
        "tables have comments",
    )
    parser.add_argument(
        "--from", dest="origin", choices=_FORMATS, help="the table's format (default: looked up in its rules)"
    )
    parser.add_argument(
        "--escaped", action="store_true", help="Moses: words are escaped by its tokeniser already"
    )
    parser.add_argument(
        "--glue", metavar="FILE", help="also write the glue rules that Moses, Joshua and Travatar want"
    )
    parser.add_argument("--dense", action="store_true", help="Joshua: features without names, in fixed order")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Convert the table, and warn of what was lost."""
    from scfg_sampler.formats.conversion import Spelling, read_table, write_glue, write_table

    spelling = Spelling(options.escaped, options.dense)
    if options.glue:
        write_glue(options.glue, options.to)
    with console.progress("reading lines", None) as advance:
        table, left_out = read_table(options.table, options.origin, spelling, advance=advance)
    with console.progress("writing rules", table.num_rules) as advance:
        lost = write_table(table, options.output, options.to, spelling, advance=advance)
    for reason, number in left_out.items():
        console.warn(f"left out: {number} {reason}")
    for reason, number in lost.items():
        console.warn(f"{number} {reason}")
    console.say(f"{table.num_rules} rules written to {options.output}")
