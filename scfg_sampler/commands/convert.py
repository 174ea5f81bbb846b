"""`convert`: rule tables of other decoders, there and back."""

from __future__ import annotations

import argparse

from scfg_sampler.core import console
from scfg_sampler.core.wording import counted
from scfg_sampler.formats import FORMATS

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "convert",
        help="rewrite a rule table for cdec, Moses, Joshua or Travatar, or back",
        description="Rewrite a rule table in the format and with the features that a decoder expects.",
        epilog="example:\n  scfg-sampler convert grammar.gz --to moses --output rule-table.gz "
        "--glue glue-grammar --text test.de test.moses.de",
    )
    parser.add_argument(
        "table", metavar="TABLE", nargs="?", help="a rule table in any of the formats; .gz is read too"
    )
    parser.add_argument("--to", choices=FORMATS, required=True, help="the format to write")
    parser.add_argument(
        "--output",
        metavar="OUT",
        help="where to; compressed if .gz. What the table was made with goes to OUT.json, as only native "
        "tables have comments",
    )
    parser.add_argument(
        "--from",
        dest="origin",
        choices=FORMATS,
        help="the table's format (default: looked up in its rules), and the texts' (default: native)",
    )
    parser.add_argument(
        "--text",
        metavar=("IN", "OUT"),
        nargs=2,
        action="append",
        default=[],
        help="also write a text with its words spelled as in the tables of that decoder: input, or what a "
        "language model is trained on; with --from and --to native, a translation back; may be repeated",
    )
    parser.add_argument(
        "--escaped", action="store_true", help="Moses: words are escaped by its tokeniser already"
    )
    parser.add_argument(
        "--glue",
        metavar="FILE",
        help="also write the glue rules that Moses, Joshua and Travatar want, and cdec for labels other "
        "than X",
    )
    parser.add_argument("--dense", action="store_true", help="Joshua: features without names, in fixed order")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.writes("--glue", "--text")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Convert the table and the texts, and warn of what was lost or is spelled otherwise."""
    from scfg_sampler.errors import SettingsError
    from scfg_sampler.formats.glue import write_glue
    from scfg_sampler.formats.words import convert_text

    if options.table is None and not options.text:
        raise SettingsError("neither TABLE nor --text says what to convert")
    if (options.table is None) != (options.output is None):
        raise SettingsError("TABLE and --output go together: what to convert, and where to")
    _check_spelling(options)
    if options.table is not None:
        _convert_table(options)
    elif options.glue:
        write_glue(options.glue, options.to)
    for text, output in options.text:
        convert_text(text, output, options.to, options.origin or "native", escaped=options.escaped)
        console.say(f"{text} written to {output}")


def _check_spelling(options: argparse.Namespace) -> None:
    """Raise a SettingsError if neither what is read nor what is written can be spelled as the options say."""
    from scfg_sampler.errors import SettingsError
    from scfg_sampler.formats.conversion import detect_format

    if not options.dense and not options.escaped:
        return
    origin = options.origin or ("native" if options.table is None else detect_format(options.table))
    if options.dense and "joshua" not in (origin, options.to):
        raise SettingsError(f"--dense is for Joshua; what is given is {origin}, and --to is {options.to}")
    if options.escaped and "moses" not in (origin, options.to):
        raise SettingsError("--escaped is for Moses, whose tokeniser escapes words")


def _convert_table(options: argparse.Namespace) -> None:
    import numpy as np

    from scfg_sampler.formats.bracketed import TOO_LARGE, too_large
    from scfg_sampler.formats.conversion import (
        Spelling,
        detect_format,
        loss_message,
        read_table,
        write_table,
    )
    from scfg_sampler.formats.glue import start_symbol, write_glue
    from scfg_sampler.formats.travatar import circular
    from scfg_sampler.formats.words import spelling_note
    from scfg_sampler.rules.columns import FEATURE_NAMES
    from scfg_sampler.rules.labels import gap_labels, left_labels
    from scfg_sampler.rules.text import signature

    spelling = Spelling(options.escaped, options.dense)
    with console.progress("reading lines", None) as advance:
        table, left_out = read_table(options.table, options.origin, spelling, advance=advance)
    nameless = options.to == "native" and not table.signature
    if nameless and (options.origin or detect_format(options.table)) != "native":  # What others made.
        table = table._replace(signature=signature([("table", options.table)]))
    labels = left_labels(table.labels)
    if options.glue:
        own = start_symbol(options.to)
        start = start_symbol(options.to, (*labels, *gap_labels(table.labels)))
        write_glue(options.glue, options.to, labels, None if table.labels is None else start)
        if start != own:
            console.warn(f"{options.glue}: the start symbol is called {start}, as {own} is one of the labels")
    with console.progress("writing rules", table.num_rules) as advance:
        lost = write_table(table, options.output, options.to, spelling, advance=advance)
    if options.to == "travatar" and (number := int(np.count_nonzero(circular(table)))):
        has = counted(number, "rule has", "rules have")
        own = "one nonterminal of their own label, or of one made of it"
        console.warn(f"{has} a source side of {own}: Travatar ends where it reads one")
    if options.to == "cdec" and (number := int(np.count_nonzero(too_large(table)))):
        has = counted(number, "rule has", "rules have")
        console.warn(f"{has} {TOO_LARGE}: cdec crashes where it reads one")
    if options.dense and options.to == "joshua":
        names = [name for name in table.feature_names if name not in FEATURE_NAMES]
        if names:
            lacking = counted(len(names), "feature stands", "features stand")
            console.warn(
                f"{lacking} without a name, behind the {len(FEATURE_NAMES)} usual ones: {', '.join(names)}"
            )
    for reason, number in left_out.items():
        console.warn(f"left out: {loss_message(number, reason)}")
    for reason, number in lost.items():
        console.warn(f"{loss_message(number, reason)}")
    if note := spelling_note(table, options.to, spelling.escaped):
        console.warn(note)
    console.say(f"{counted(table.num_rules, 'rule')} written to {options.output}")
