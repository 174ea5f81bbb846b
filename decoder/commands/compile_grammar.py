"""`scfg-decoder compile-grammar`: a rule table in the form it has in memory."""

from __future__ import annotations

import argparse

from decoder.commands import table_option
from scfg_sampler.core.wording import counted
from scfg_sampler.formats import DECODERS

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command to the decoder's parser."""
    parser = subparsers.add_parser(
        "compile-grammar",
        help="turn a rule table into one that loads at once",
        description=(
            "Every command that translates takes the result instead of the table. It is mapped into memory\n"
            "and shared between processes; it belongs to this version of the program and this kind of\n"
            "machine."
        ),
        epilog="example:\n  scfg-decoder compile-grammar grammar.gz --output grammar.bin",
    )
    parser.add_argument(
        "grammar",
        type=table_option,
        metavar="TABLE",
        help="a rule table, of cdec, Moses, Joshua and Travatar too; may be gzipped; TABLE,format=F if its "
        "format is not recognised",
    )
    parser.add_argument("--output", required=True, metavar="TABLE.bin")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Read the table and write it."""
    from decoder.commands import read_any_table, table_format
    from decoder.grammar.file import write_grammar_file
    from scfg_sampler.core.console import say
    from scfg_sampler.core.files import require_file

    option = options.grammar
    require_file(option.path)
    # A standard input that is read once is of our own format; so is what is compiled already.
    file_format = table_format(option)
    num_rules = write_grammar_file(read_any_table(option), options.output, option.path)
    say(counted(num_rules, "rule"))
    if file_format in DECODERS:
        spelled = "where the input and the language model are spelled as for that decoder"
        say(f"name it {options.output},format={file_format} {spelled}")
