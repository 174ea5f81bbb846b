"""`ot rank`: a classical ranking."""

from __future__ import annotations

import argparse
import json

from monolingual.ot.commands import add_tableaux, load_tableaux

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "rank",
        help="strata by recursive constraint demotion",
        description="Rank the constraints by recursive constraint demotion (Tesar and Smolensky 1995), so "
        "that the most frequent candidate of every input wins, or with --all every observed one.",
        epilog="example:\n  scfg-monolingual ot rank tableaux.tsv",
    )
    add_tableaux(parser)
    parser.add_argument("--all", action="store_true", help="every observed candidate is to win")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print the strata."""
    from monolingual.ot.demotion import demote
    from monolingual.ot.orderings import conjuncts
    from monolingual.ot.tableaux import candidate_name, identical_candidates

    tableaux = load_tableaux(options)
    pairs, sources, winners = [], [], set()
    for index in range(len(tableaux.inputs)):
        candidates = tableaux.candidates(index)
        top = max(tableaux.frequency[c] for c in candidates)
        for winner in candidates:
            frequency = tableaux.frequency[winner]
            if frequency > 0 and (options.all or frequency == top):
                winners.add(winner)
                for other, pair in conjuncts(tableaux, winner):
                    pairs.append(pair)
                    sources.append((winner, other))
    found = demote(pairs, len(tableaux.constraints))
    strata = [[tableaux.constraints[i] for i in stratum] for stratum in found.strata]
    unresolved = [
        f"{candidate_name(tableaux, sources[number][0])} rather than {tableaux.outputs[sources[number][1]]}"
        for number in found.unresolved
    ]
    ties: list[tuple[str, list[str]]] = [
        (candidate_name(tableaux, winner), [tableaux.outputs[other] for other in group if other != winner])
        for group in identical_candidates(tableaux)
        for winner in sorted(winners.intersection(group))
    ]
    if options.json:
        record = {"strata": strata, "consistent": not unresolved, "unresolved": unresolved, "ties": ties}
        print(json.dumps(record, indent=1, ensure_ascii=False))
        return
    for number, stratum in enumerate(strata, start=1):
        print(f"stratum {number}: {', '.join(stratum)}")
    if unresolved:
        print("no ranking satisfies all of these together:")
        for text in unresolved:
            print(f"  {text}")
    for name, others in ties:
        shown = ", ".join(others)
        print(f"tied under every ranking, their violations being the same: {name}; {shown}")
