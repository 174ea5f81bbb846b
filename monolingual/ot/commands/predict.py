"""`ot predict`: how often each candidate wins."""

from __future__ import annotations

import argparse

from monolingual.ot.commands import add_tableaux, load_tableaux, print_predictions
from scfg_sampler.errors import SettingsError

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "predict",
        help="predicted beside observed frequencies",
        description="The exact probability of every candidate under the grammar of a run of 'sample' (at the "
        "medians of the posterior), 'fit', 'gla' or 'maxent', beside what was observed.",
        epilog="example:\n  scfg-monolingual ot predict run tableaux.tsv --json",
    )
    parser.add_argument("grammar", metavar="RUN", help="run directory, or its summary.json")
    add_tableaux(parser)
    parser.add_argument(
        "--at",
        choices=("median", "mean", "mode", "draws"),
        default="median",
        help="of the posterior of 'sample'; draws: the predictions themselves, averaged",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print the predictions."""
    import numpy as np

    from monolingual.ot.comparison import mean_prediction
    from monolingual.ot.grammar import aligned, predict, prediction_record, read_summary

    tableaux = load_tableaux(options)
    grammar, summary = read_summary(options.grammar)
    if options.at != "median" and "median" not in summary:
        raise SettingsError(
            f"--at {options.at} needs a run of 'ot sample'; {options.grammar} is a single grammar"
        )
    if options.at == "draws":
        record = prediction_record(tableaux, mean_prediction(options.grammar, tableaux))
    else:
        if options.at != "median":
            key = "modes" if options.at == "mode" else "mean"
            points = [summary[key][name] for name in grammar.constraints]
            grammar = grammar._replace(value=np.array([p[0] if key == "modes" else p for p in points]))
        grammar = aligned(grammar, tableaux, options.grammar)
        record = prediction_record(tableaux, predict(grammar, tableaux))
    print_predictions(record, options.json)
