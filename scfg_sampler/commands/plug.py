"""`plug`: a directory that another decoder runs as it is."""

from __future__ import annotations

import argparse

from scfg_sampler.core import console
from scfg_sampler.core.wording import counted
from scfg_sampler.formats import DECODERS, FORMATS

__all__ = ["add_parser", "run"]

_EXAMPLE = """\
example:
  scfg-sampler filter grammar.gz --source test.de --output test.grammar.gz
  scfg-sampler plug test.grammar.gz --to moses --lm en.arpa --weights weights.json --output for-moses
  (cd for-moses && moses -f moses.ini) < test.de > test.out"""


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "plug",
        help="make a directory that cdec, Moses, Joshua or Travatar runs as it is",
        description=(
            "Write a rule table, language models and weights, as scfg-decoder tune makes them, into a\n"
            "directory that another decoder runs as it is: table, glue rules, language models,\n"
            "configuration, and weights that rank translations as they do here. The command to type is\n"
            "printed, and stands in DIR/README. Of a large table, give what filter leaves for the text."
        ),
        epilog=_EXAMPLE,
    )
    parser.add_argument("table", metavar="TABLE", help="a rule table in any of the formats; .gz is read too")
    parser.add_argument("--to", choices=DECODERS, required=True, help="the decoder")
    parser.add_argument(
        "--lm",
        metavar="LM.arpa",
        required=True,
        action="append",
        help="language model, an ARPA file; .gz too. May be given several times, as to scfg-decoder tune",
    )
    parser.add_argument(
        "--classes",
        metavar="FILE",
        help="cdec: the classes of words that the last --lm is of, as 'classes --words' writes them",
    )
    parser.add_argument(
        "--weights",
        metavar="W.json",
        required=True,
        help="a JSON object, feature to number, with a weight for every feature of the table",
    )
    parser.add_argument(
        "--output",
        metavar="DIR",
        required=True,
        help="the directory, which can be moved; an older one of this command is replaced, unless it "
        "holds other files, too",
    )
    parser.add_argument(
        "--from",
        dest="origin",
        choices=FORMATS,
        help="the table's format (default: looked up in its rules)",
    )
    parser.add_argument(
        "--pop-limit", metavar="N", type=int, default=1000, help="derivations a span may try, in all decoders"
    )
    parser.add_argument(
        "--max-span",
        metavar="N",
        type=int,
        default=20,
        help="source words a rule may cover, gaps included; in Travatar, that may fill a gap",
    )
    parser.add_argument(
        "--escaped", action="store_true", help="Moses: words are escaped by its tokeniser already"
    )
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Write the directory, and print the command to type."""
    from scfg_sampler.core.files import refuse_stream, require_file
    from scfg_sampler.formats.conversion import Spelling, detect_format, loss_message, read_table
    from scfg_sampler.plugs.plug import Parts, write_plug

    classes = [] if options.classes is None else [options.classes]
    for path in (*options.lm, *classes):
        refuse_stream(path)
    for path in (*options.lm, *classes, options.weights):
        require_file(path)
    origin = options.origin or detect_format(options.table)
    with console.progress("reading lines", None) as advance:
        table, left_out = read_table(
            options.table, origin, Spelling(escaped=options.escaped), advance=advance
        )
    for reason, number in left_out.items():
        console.warn(f"left out: {loss_message(number, reason)}")
    parts = Parts(
        table, options.table, tuple(options.lm), options.weights, options.escaped, origin, options.classes
    )
    with console.progress("writing rules", table.num_rules) as advance:
        report = write_plug(
            parts,
            options.to,
            options.output,
            pop_limit=options.pop_limit,
            max_span=options.max_span,
            advance=advance,
        )
    for warning in report.warnings:
        console.warn(warning)
    for note in report.notes:
        console.say(note)
    if report.constant:
        console.say(f"scores are those of scfg-decoder and {report.constant:+.6f} for each sentence")
    console.say(f"{counted(report.rules, 'rule')} written to {options.output}; to translate:")
    print(report.command)
