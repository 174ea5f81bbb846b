"""`ot convert`: tableaux in another format."""

from __future__ import annotations

import argparse

from monolingual.ot.commands import add_tableaux, load_tableaux
from scfg_sampler.core import console
from scfg_sampler.errors import SettingsError

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "convert",
        help="tableaux in the format of OTSoft or Praat, or back",
        description="Write tableaux as tab-separated text, for OTSoft, or as an OTGrammar and a "
        "PairDistribution of Praat. What is read is recognised by its content.",
        epilog="example:\n  scfg-monolingual ot convert tableaux.tsv --to praat --output my.OTGrammar \\\n"
        "    --output-pairs my.PairDistribution --values gla",
    )
    add_tableaux(parser)
    parser.add_argument("--to", choices=("tsv", "otsoft", "praat"), required=True, help="format")
    parser.add_argument("--output", metavar="FILE", default="-", help="where to; - is standard output")
    parser.add_argument("--output-pairs", metavar="FILE", help="with praat: the frequencies")
    parser.add_argument(
        "--values", dest="grammar", metavar="RUN", help="with praat: the grammar whose values are written"
    )
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.renamed("--grammar", "--values")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Convert."""
    from monolingual.ot.formats import write_tableaux
    from monolingual.ot.grammar import aligned, read_summary
    from monolingual.ot.praat import STRATEGIES, write_pairs

    for name in ("output_pairs", "grammar"):
        if getattr(options, name) and options.to != "praat":
            raise SettingsError(f"--{name.replace('_', '-')} goes with --to praat")
    tableaux = load_tableaux(options, "convert")
    ranking, strategy = None, "OptimalityTheory"
    if options.grammar:
        grammar, _ = read_summary(options.grammar)
        ranking = aligned(grammar, tableaux, options.grammar).value.tolist()
        strategy = next(name for name, model in STRATEGIES.items() if model == grammar.model)
    write_tableaux(tableaux, options.output, options.to, ranking, strategy)
    if options.output_pairs:
        write_pairs(tableaux, options.output_pairs)
    elif options.to == "praat" and tableaux.frequency.any():
        console.warn("an OTGrammar holds no frequencies; give --output-pairs to keep them")
