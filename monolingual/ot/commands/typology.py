"""`ot typology`: the languages of all rankings."""

from __future__ import annotations

import argparse
import json

from monolingual.ot.commands import add_a_priori, add_tableaux, load_a_priori, print_table
from scfg_sampler.core.wording import counted

__all__ = ["add_parser", "run"]

_SHOWN = 20


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "typology",
        help="every language that some ranking of the constraints gives",
        description="List the factorial typology: every choice of one output for each input that some "
        "ranking gives, with its share of all rankings, the outputs that win under none, and which outputs "
        "imply which. The language of the most frequent outputs is marked *.",
        epilog="example:\n  scfg-monolingual ot typology tableaux.tsv --implications",
    )
    add_tableaux(parser)
    add_a_priori(parser)
    parser.add_argument("--all", action="store_true", help=f"list all languages, not only {_SHOWN}")
    parser.add_argument(
        "--implications", action="store_true", help="also say which outputs win wherever others do (T-orders)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print the languages."""
    from monolingual.ot.tableaux import candidate_name
    from monolingual.ot.typology import factorial_typology

    tableaux, above = load_a_priori(options, "typology")
    found = factorial_typology(tableaux, above=above)
    observed = _observed(tableaux, [language.winners for language in found.languages])
    never = [candidate_name(tableaux, candidate) for candidate in found.never]
    implied = [(candidate_name(tableaux, a), candidate_name(tableaux, b)) for a, b in found.implications]
    if options.json:
        languages = [
            {
                "outputs": [tableaux.outputs[winner] for winner in language.winners],
                "share": None if language.share is None else float(language.share),
                "rankings": None if language.share is None else str(language.share),
                "observed": seen,
            }
            for language, seen in zip(found.languages, observed, strict=True)
        ]
        record = {
            "inputs": list(tableaux.inputs),
            **({"a_priori": [[tableaux.constraints[i] for i in pair] for pair in above]} if above else {}),
            "languages": languages,
            "never": never,
            "implications": implied,
        }
        print(json.dumps(record, indent=1, ensure_ascii=False))
        return
    print(counted(len(found.languages), "language"))
    numbered = enumerate(zip(found.languages, observed, strict=True), start=1)
    shown = [
        (f"{number}{'*' * mark}", language)
        for number, (language, mark) in numbered
        if options.all or number <= _SHOWN or mark
    ]
    columns = [("input", *(name for name, _ in shown))]
    shares = ["-" if language.share is None else f"{float(language.share):.4f}" for _, language in shown]
    columns.append(("share of rankings", *shares))
    for place, form in enumerate(tableaux.inputs):
        columns.append((form, *(tableaux.outputs[language.winners[place]] for _, language in shown)))
    print_table([tuple(row) for row in zip(*columns, strict=True)])
    if len(shown) < len(found.languages):
        print(f"and {len(found.languages) - len(shown)} more; --all lists them")
    if never:
        print(f"never winning: {', '.join(never)}")
    if options.implications:
        print("wherever the first wins, so does the second:")
        for a, b in implied:
            print(f"  {a}  ⇒  {b}")


def _observed(tableaux, languages: list[tuple[int, ...]]) -> list[bool]:
    """Of each language, whether the winner of each input is as frequent as any, and something was observed.

    Candidates with equal violations are one output, of which languages name the first: together they have
    the tokens of all.
    """
    import numpy as np

    from monolingual.ot.tableaux import identical_candidates

    total = tableaux.frequency.copy()
    for group in identical_candidates(tableaux):
        total[list(group)] = total[list(group)].sum()
    most = np.maximum.reduceat(total, tableaux.start[:-1])
    least = most * (1.0 - 1e-9)  # As .1 and .2 are more than .3 by rounding.
    return [bool(total.any() and np.all(total[list(winners)] >= least)) for winners in languages]
