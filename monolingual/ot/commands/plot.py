"""`ot plot`: pictures of a run."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scfg_sampler.core import console
from scfg_sampler.core.wording import distinct_names

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "plot",
        help="traces, densities, ranking and fit of a run",
        description="Draw the traces, marginal densities, ranking (a Hasse diagram) and predicted "
        "against observed frequencies of a run of 'sample'; of other grammars the last one only. "
        "Needs matplotlib.",
        epilog="example:\n  scfg-monolingual ot plot run --output pictures --format pdf --beside gla",
    )
    parser.add_argument("grammar", metavar="RUN", help="directory of 'sample', 'fit', 'gla' or 'maxent'")
    parser.add_argument("--output", metavar="DIR", required=True, help="directory for the pictures")
    parser.add_argument("--format", choices=("svg", "pdf", "png"), default="svg", help="of the pictures")
    parser.add_argument(
        "--beside",
        metavar="RUN",
        action="append",
        default=[],
        help="another grammar to show in the fit; may be repeated",
    )
    parser.add_argument(
        "--min-probability",
        dest="threshold",
        metavar="P",
        type=float,
        default=0.95,
        help="least probability of outranking that is drawn",
    )
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Draw."""
    import numpy as np

    from monolingual.ot import plots
    from monolingual.ot.formats import read_tableaux
    from monolingual.ot.grammar import aligned, heard, predict, read_summary
    from monolingual.ot.run import read_draws, read_run
    from monolingual.ot.summaries import outranking
    from monolingual.ot.tableaux import overt_forms

    grammar, summary = read_summary(options.grammar)
    tableaux = read_tableaux(Path(options.grammar) / "tableaux.tsv")
    predictions = {}
    grammars = [options.grammar, *options.beside]
    for path, name in zip(grammars, distinct_names(grammars), strict=True):
        beside = aligned(read_summary(path)[0], tableaux, path)
        predictions[name] = heard(tableaux, predict(beside, tableaux))[1]
    pictures: dict[str, Callable[[], Any]] = {}
    if "median" in summary:
        names, record = grammar.constraints, read_run(options.grammar)
        draws = read_draws(options.grammar)
        bound = record["settings"].truncate or None
        above = outranking(np.concatenate(draws.mean), np.concatenate(draws.deviation))
        median = np.array([summary["median"][name] for name in names])
        # The first may refuse the threshold: nothing is written then.
        pictures["ranking"] = lambda: plots.plot_ranking(median, above, names, options.threshold)
        pictures["traces"] = lambda: plots.plot_traces(draws.mean, names, record["run"].burn_in)
        pictures["densities"] = lambda: plots.plot_densities(draws.mean, names, bound)
    pictures["fit"] = lambda: plots.plot_fit(overt_forms(tableaux)[0], predictions)
    for name, draw in pictures.items():
        path = Path(options.output) / f"{name}.{options.format}"
        plots.save_figure(draw(), path, options.format)
        console.say(f"{path}")
