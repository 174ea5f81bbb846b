"""`ot compare`: several grammars beside each other."""

from __future__ import annotations

import argparse
import json
import math

from monolingual.ot.commands import add_tableaux, load_tableaux, print_table

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "compare",
        help="likelihood and information criteria of several grammars",
        description="Log likelihood and correlation of several grammars on the same tableaux, AIC of fitted "
        "grammars, WAIC and leave-one-out of posteriors. The last three estimate -2 times the "
        "log likelihood of new data: smaller is better.",
        epilog="example:\n  scfg-monolingual ot compare tableaux.tsv run ml gla maxent",
    )
    add_tableaux(parser)
    parser.add_argument(
        "runs", metavar="RUN", nargs="+", help="directory of 'sample', 'fit', 'gla' or 'maxent'"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print the comparison."""
    from monolingual.ot.comparison import compare, comparison_record

    tableaux = load_tableaux(options)
    entries = [compare(name, tableaux) for name in options.runs]
    if options.json:
        record = {"grammars": [comparison_record(entry) for entry in entries]}
        print(json.dumps(record, indent=1, ensure_ascii=False))
        return
    rows: list[tuple[str, ...]] = [
        ("grammar", "model", "values", "log likelihood", "correlation", "AIC", "WAIC", "LOO")
    ]
    for entry in entries:
        numbers = (entry.log_likelihood, entry.correlation, entry.aic, entry.waic, entry.loo)
        digits = (2, 4, 2, 2, 2)
        cells = ("-" if math.isnan(x) else f"{x:.{d}f}" for x, d in zip(numbers, digits, strict=True))
        rows.append((entry.name, entry.model, str(entry.parameters), *cells))
    print_table(rows)
