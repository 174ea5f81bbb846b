"""`scfg-decoder bundle`: everything that translating needs, in one directory."""

from __future__ import annotations

import argparse

from decoder.commands import add_search_settings, table_option
from scfg_sampler.core.wording import counted

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command to the decoder's parser."""
    parser = subparsers.add_parser(
        "bundle",
        help="gather what translating needs in one directory",
        description=(
            "Compiles the rule table and the language model and puts them into the directory SYSTEM with\n"
            "the weights and, to translate raw text, what scfg-sampler prepare has learnt of it. The\n"
            "directory can be moved; translate --system says so when a part is missing, damaged or of\n"
            "another version."
        ),
        epilog="example:\n  scfg-decoder bundle --grammar grammar.gz --lm en.arpa --weights weights.json "
        "--preparation data --output system\n  scfg-decoder translate --system system < raw.txt",
    )
    parser.add_argument(
        "--grammar",
        required=True,
        type=table_option,
        metavar="TABLE",
        help="a rule table, as for translate, or a compiled one; TABLE,format=F as there",
    )
    parser.add_argument(
        "--lm",
        required=True,
        action="append",
        metavar="LM.arpa",
        help="an ARPA file or a compiled model; may be given several times",
    )
    parser.add_argument("--weights", required=True, metavar="W.json", help="a JSON object, feature to number")
    parser.add_argument(
        "--preparation",
        metavar="DIR",
        help="the data directory that prepare made; without it, the system takes text whose words stand "
        "between spaces",
    )
    parser.add_argument(
        "--output",
        required=True,
        metavar="SYSTEM",
        help="the directory; an older system there is replaced, unless it holds other files, too",
    )
    search = parser.add_argument_group("how the system will search, unless translate is told otherwise")
    add_search_settings(search)
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Compile the parts and put them together."""
    from decoder.commands import search_settings, table_to_bundle
    from decoder.system.bundle import write_system
    from scfg_sampler.core.console import say
    from scfg_sampler.core.files import require_file

    for path in (options.grammar.path, *options.lm, options.weights):
        require_file(path)
    table, spelling = table_to_bundle(options.grammar)
    parts = (table, options.lm, options.weights, options.preparation)
    record = write_system(*parts, options.output, search_settings(options), spelling, options.grammar.path)
    size = sum(entry["bytes"] for entry in record["files"].values())
    takes = "takes raw text" if record["languages"] else "takes text whose words stand between spaces"
    say(f"{options.output}: {counted(record['grammar']['rules'], 'rule')}, {size / 1e6:.1f} MB; {takes}")
