"""`ot convert`: tableaux in another format."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from monolingual.ot.commands import add_tableaux, load_tableaux
from scfg_sampler.core import console
from scfg_sampler.errors import SettingsError

if TYPE_CHECKING:
    from monolingual.ot.grammar import Grammar
    from monolingual.ot.tableaux import Tableaux

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
        "--values",
        dest="grammar",
        metavar="RUN",
        help="with praat: the grammar whose values are written (default: those of an OTGrammar, or 100)",
    )
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Convert."""
    from monolingual.ot.formats import write_tableaux
    from monolingual.ot.praat import write_pairs

    for name in ("output_pairs", "grammar"):
        if getattr(options, name) and options.to != "praat":
            raise SettingsError(f"--{name.replace('_', '-')} goes with --to praat")
    if options.to != "praat":
        write_tableaux(load_tableaux(options, "convert"), options.output, options.to)
        return
    tableaux = _write_grammar(options)
    if options.output_pairs:
        write_pairs(tableaux, options.output_pairs)
    elif tableaux.frequency.any():
        console.warn("an OTGrammar holds no frequencies; give --output-pairs to keep them")


def _write_grammar(options: argparse.Namespace) -> Tableaux:
    """Write an OTGrammar; its tableaux."""
    from monolingual.ot.formats import read_source, write_tableaux
    from monolingual.ot.grammar import aligned, read_any
    from monolingual.ot.praat import STRATEGIES
    from monolingual.ot.tableaux import refuse_overt

    source = read_source(options.tableaux, options.pairs)
    refuse_overt(source.tableaux, "convert")
    ranking, strategy = None, "OptimalityTheory"
    fixed: tuple[tuple[int, int], ...] = ()
    if source.grammar is not None:
        ranking, strategy, fixed = source.grammar[1:]
    if options.grammar:
        grammar, _ = read_any(options.grammar)
        grammar = aligned(grammar, source.tableaux, options.grammar)
        ranking = grammar.value
        strategy = next(name for name, model in STRATEGIES.items() if model == grammar.model)
        _warn_of_noise(grammar)
    values = None if ranking is None else ranking.tolist()
    write_tableaux(source.tableaux, options.output, "praat", values, strategy, fixed)
    return source.tableaux


def _warn_of_noise(grammar: Grammar) -> None:
    """Say which evaluation noise the values need, if it is another one than Praat suggests."""
    from monolingual.ot.grammar import PRAATS_NOISE

    least, most = grammar.deviation.min(), grammar.deviation.max()
    if least < most:
        console.warn(
            f"Praat has one evaluation noise for all constraints; these have their own, from {least:g} to "
            f"{most:g}, so that it will predict otherwise"
        )
    elif most not in (0.0, PRAATS_NOISE):
        console.warn(
            f"an OTGrammar holds no noise: evaluate it with {most:g}, not with the {PRAATS_NOISE:g} that "
            "Praat suggests"
        )
