"""`ot compare`: several grammars beside each other."""

from __future__ import annotations

import argparse
import json
import math

from monolingual.ot.commands import add_tableaux, load_tableaux, print_table
from scfg_sampler.core import console

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "compare",
        help="likelihood and information criteria of several grammars",
        description="Log likelihood and correlation of several grammars on the same tableaux, AIC and "
        "BIC of fitted grammars, WAIC and leave-one-out of posteriors. AIC, WAIC and leave-one-out estimate "
        "-2 times the log likelihood of new data: smaller is better. Tokens that some grammar gives no "
        "chance are left out for all, so that the figures are of the same data; it is said which.",
        epilog="example:\n  scfg-monolingual ot compare tableaux.tsv run ml gla maxent",
    )
    add_tableaux(parser)
    parser.add_argument(
        "runs", metavar="RUN", nargs="+", help="directory of 'sample', 'fit', 'gla' or 'maxent', or OTGrammar"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print the comparison."""
    import numpy as np

    from monolingual.ot.comparison import compare, comparison_record, other_data
    from monolingual.ot.tableaux import candidate_name

    tableaux = load_tableaux(options, "compare")
    for name in options.runs:
        if other_data(name, tableaux):
            console.warn(
                f"{name} was learnt from other candidates or frequencies than {options.tableaux} has"
            )
    entries, impossible = compare(options.runs, tableaux)
    left_out = [
        {"candidate": candidate_name(tableaux, c), "frequency": float(tableaux.frequency[c])}
        for c in np.flatnonzero(impossible).tolist()
    ]
    if options.json:
        record = {"grammars": [comparison_record(entry) for entry in entries], "left_out": left_out}
        print(json.dumps(record, indent=1, ensure_ascii=False))
        return
    rows: list[tuple[str, ...]] = [
        ("grammar", "model", "values", "log likelihood", "correlation", "AIC", "BIC", "WAIC", "LOO")
    ]
    for entry in entries:
        numbers = (entry.log_likelihood, entry.correlation, entry.aic, entry.bic, entry.waic, entry.loo)
        digits = (2, 4, 2, 2, 2, 2)
        cells = ("-" if math.isnan(x) else f"{x:.{d}f}" for x, d in zip(numbers, digits, strict=True))
        rows.append((entry.name, entry.model, str(entry.parameters), *cells))
    print_table(rows)
    for candidate in left_out:
        print(
            f"left out for all, as some grammar gives it no chance: {candidate['candidate']} "
            f"(frequency {candidate['frequency']:g})"
        )
    for entry in entries:
        if entry.excluded:
            print(f"{entry.name} gives {entry.excluded:g} of {tableaux.frequency.sum():g} tokens no chance")
