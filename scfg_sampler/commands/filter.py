"""`filter`: only the rules of a table that can match a text."""

from __future__ import annotations

import argparse

from scfg_sampler.core import console
from scfg_sampler.core.elsewhere import add_elsewhere, elsewhere
from scfg_sampler.core.wording import counted

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "filter",
        help="keep the rules of a table that can match a text",
        description="Keep only the rules whose source words occur in a sentence of a text in order.",
        epilog="example:\n  scfg-sampler filter grammar.gz --source test.de --output test.grammar.gz\n"
        "  scfg-sampler filter grammar.gz --source test.de --per-sentence test.grammars",
    )
    parser.add_argument("table", metavar="TABLE", help="rule table, native or cdec's; .gz is read too")
    parser.add_argument(
        "--source",
        metavar="TEXT",
        help="tokenised text to translate, one sentence a line; may be left out with --max-targets",
    )
    parser.add_argument("--output", metavar="TABLE", help="rules that match any sentence; compressed if .gz")
    parser.add_argument(
        "--per-sentence",
        metavar="DIR",
        help="one table a sentence (grammar.0.gz, …), and input.sgm, which names them for cdec",
    )
    parser.add_argument(
        "--max-targets", metavar="N", type=int, help="the N most probable targets per source side"
    )
    parser.add_argument("--threads", metavar="N", type=int, default=1, help="parts matched at a time")
    add_elsewhere(parser, any_shards=True)
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.writes_within("--per-sentence", r"grammar\.[0-9]+\.gz|grammar\.json|input\.sgm")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Write the filtered tables, and say how many rules were kept."""
    from scfg_sampler.core.arrays.vocabulary import split_words
    from scfg_sampler.core.files import is_stream, read_lines
    from scfg_sampler.rules.text_filter import filter_table

    file_format = _known_format(options.table)
    with elsewhere(options) as executor, console.progress("reading rules", None) as advance:
        report = filter_table(
            options.table,
            source=options.source,
            output=options.output,
            per_sentence=options.per_sentence,
            max_targets=options.max_targets,
            file_format=file_format,
            where=executor or options.threads,
            advance=advance,
        )
    places = [place for place in (options.output, options.per_sentence) if place is not None]
    if options.source is not None and not is_stream(options.source):
        words = {word for line in read_lines(options.source) for word in split_words(line)}
        if 2 * report.kept < len(words):
            found = (
                f"{counted(report.kept, 'rule matches', 'rules match')} a text of {len(words)} "
                "different words"
            )
            console.warn(f"{options.source}: {found}; is it the source language, and the table's text?")
    console.say(f"{report.kept} of {counted(report.read, 'rule')} written to {' and '.join(places)}")


def _known_format(table: str) -> str | None:
    """native or cdec, or None if features do not tell; an InputError for Moses', Joshua's or Travatar's."""
    from scfg_sampler.core.files import is_stream
    from scfg_sampler.errors import InputError, RuleTableError
    from scfg_sampler.formats.conversion import detect_format

    if is_stream(table):
        return None
    try:
        file_format = detect_format(table, "either")
    except RuleTableError:
        return None  # The filter says what is wrong.
    if file_format not in ("native", "cdec", "either"):
        hint = "Filter the native table, and convert what is left; 'convert --to native' makes one"
        raise InputError(table, None, f"is a table for {file_format.capitalize()}", hint)
    return None if file_format == "either" else file_format
