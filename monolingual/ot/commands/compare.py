"""`ot compare`: several grammars beside each other."""

from __future__ import annotations

import argparse
import json
import math
from typing import TYPE_CHECKING

from monolingual.ot.commands import add_tableaux, load_tableaux, print_table
from scfg_sampler.core import console

if TYPE_CHECKING:
    from monolingual.ot.tableaux import Tableaux

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "compare",
        help="likelihood and information criteria of several grammars",
        description="Log likelihood and correlation of several grammars on the same tableaux, AIC, AICc "
        "and BIC of fitted grammars, WAIC and leave-one-out of posteriors. AIC, WAIC and leave-one-out "
        "estimate -2 times the log likelihood of new data: smaller is better. Tokens that some grammar gives "
        "no chance are left out for all, so that the figures are of the same data; it is said which. "
        "--likelihood-ratio asks of two maximum-entropy grammars, one with some of the constraints of the "
        "other, how likely it is that those added gain so much by chance.",
        epilog="examples:\n  scfg-monolingual ot compare tableaux.tsv run ml gla maxent\n"
        "  scfg-monolingual ot compare tableaux.tsv smaller maxent --likelihood-ratio",
    )
    add_tableaux(parser)
    parser.add_argument(
        "runs", metavar="RUN", nargs="+", help="directory of 'sample', 'fit', 'gla' or 'maxent', or OTGrammar"
    )
    parser.add_argument(
        "--likelihood-ratio",
        action="store_true",
        help="a likelihood-ratio test of two nested grammars of 'maxent', fitted without a prior",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print the comparison."""
    import numpy as np

    from monolingual.ot.comparison import compare, comparison_record, other_data
    from monolingual.ot.tableaux import are_probabilities, candidate_name

    tableaux = load_tableaux(options, "compare")
    if options.likelihood_ratio:
        _test(options, tableaux)
        return
    if are_probabilities(tableaux):
        console.warn(
            f"the frequencies of {options.tableaux} are probabilities, which tell no number of tokens, so "
            "that there are no AIC, AICc, BIC, WAIC and leave-one-out; give counts"
        )
    entries, impossible = compare(options.runs, tableaux)
    for name in options.runs:
        if other_data(name, tableaux):
            console.warn(
                f"{name} was learnt from other candidates or frequencies than {options.tableaux} has"
            )
    _name_missing(options, tableaux)
    left_out = [
        {"candidate": candidate_name(tableaux, c), "frequency": float(tableaux.frequency[c])}
        for c in np.flatnonzero(impossible).tolist()
    ]
    if options.json:
        record = {"grammars": [comparison_record(entry) for entry in entries], "left_out": left_out}
        print(json.dumps(record, indent=1, ensure_ascii=False))
        return
    rows: list[tuple[str, ...]] = [
        ("grammar", "model", "values", "log likelihood", "correlation", "AIC", "AICc", "BIC", "WAIC", "LOO")
    ]
    for entry in entries:
        criteria = entry.aic, entry.aicc, entry.bic, entry.waic, entry.loo
        numbers = (entry.log_likelihood, entry.correlation, *criteria)
        digits = (2, 4, 2, 2, 2, 2, 2)
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


def _name_missing(options: argparse.Namespace, tableaux: Tableaux) -> None:
    """Say which grammars have not all constraints of the tableaux."""
    from monolingual.ot.grammar import read_any

    for name in options.runs:
        known = read_any(name)[0].constraints
        if missing := [constraint for constraint in tableaux.constraints if constraint not in known]:
            console.warn(f"{name} is compared without what it has not: {', '.join(missing)}")


def _test(options: argparse.Namespace, tableaux: Tableaux) -> None:
    """Print a likelihood-ratio test."""
    from monolingual.ot.nested import ratio_test
    from scfg_sampler.errors import SettingsError

    if len(options.runs) != 2:
        raise SettingsError(f"--likelihood-ratio is of two grammars, not of {len(options.runs)}")
    found = ratio_test(options.runs[0], options.runs[1], tableaux)
    if (tableaux.frequency % 1.0).any():
        raise SettingsError(
            f"--likelihood-ratio needs counts, and the frequencies of {options.tableaux} are not whole"
        )
    if found.idle:
        console.warn(
            f"of the constraints added ({', '.join(found.added)}) {found.idle} have violations that are "
            "combinations of those of the others"
        )
    if found.has_no_optimum:
        console.warn("weights grow without end (separation), so that p is no more than a rough guess")
    if options.json:
        print(json.dumps(found._asdict(), indent=1, ensure_ascii=False))
        return
    print(f"{found.large} against {found.small}, which lacks {', '.join(found.added)}")
    print(f"chi-squared {found.statistic:.4f}, degrees of freedom {found.df}, p {found.p:.4g}")
    if found.p_bounded is not None:
        print(f"p {found.p_bounded:.4g}, given that the weight added must not fall below 0")
