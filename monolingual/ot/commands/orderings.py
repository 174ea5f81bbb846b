"""`ot orderings`: what the observed winners say of the constraints."""

from __future__ import annotations

import argparse
import json

from monolingual.ot.commands import add_tableaux, load_tableaux
from scfg_sampler.core.wording import counted

__all__ = ["add_parser", "run"]

_MOST_BOUNDED = 20
"""Candidates that win under no ranking and are named one by one: with footings there are thousands."""


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "orderings",
        help="the ordering relations of the observed winners",
        description="List the ordering relation of every observed winner with its share of all tokens (Lin "
        "2005, table 3), and what is wrong with the tableaux: winners that are harmonically "
        "bounded, candidates that nothing tells apart, idle constraints, sets of constraints that "
        "are categorically dominated.",
        epilog="example:\n  scfg-monolingual ot orderings tableaux.tsv",
    )
    add_tableaux(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print the orderings."""
    import numpy as np

    from monolingual.ot.domination import dominated_sets, smallest_sets
    from monolingual.ot.orderings import bounded_candidates, conjunct_texts, derive_orderings, problems

    tableaux = load_tableaux(options, "orderings")
    inputs, total = tableaux.input_of(), float(tableaux.frequency.sum())
    observed = np.flatnonzero(tableaux.frequency)
    entries = [
        {
            "input": tableaux.inputs[inputs[c]],
            "output": tableaux.outputs[c],
            "share": float(tableaux.frequency[c]) / total,
            "conjuncts": conjunct_texts(tableaux, int(c)),
        }
        for c in observed
    ]
    orderings = derive_orderings(tableaux, (tableaux.frequency > 0).astype(np.int64))
    dominated = smallest_sets(dominated_sets(orderings)) if len(orderings.count) else []
    names = [[tableaux.constraints[i] for i in sorted(members)] for members in dominated]
    impossible = bounded_candidates(tableaux)
    warnings = problems(tableaux, impossible)
    bounded = [[tableaux.inputs[inputs[c]], tableaux.outputs[c]] for c in impossible]
    if options.json:
        record = {"orderings": entries, "problems": warnings, "bounded": bounded, "dominated": names}
        print(json.dumps(record, indent=1, ensure_ascii=False))
        return
    for entry in entries:
        print(f"{entry['share']:.4f}  {entry['input']} → {entry['output']}")
        for conjunct in entry["conjuncts"]:
            print(f"        {conjunct}")
    for warning in warnings:
        print(f"note: {warning}")
    seen = {(entry["input"], entry["output"]) for entry in entries}
    unseen = [(form, output) for form, output in bounded if (form, output) not in seen]
    for form, output in unseen[:_MOST_BOUNDED]:
        print(f"note: {form} → {output} wins under no ranking (harmonically bounded)")
    if len(unseen) > _MOST_BOUNDED:
        more = counted(len(unseen) - _MOST_BOUNDED, "other candidate wins", "other candidates win", ",")
        print(f"note: {more} under no ranking; --json names all")
    for members in names:
        print(f"note: categorically dominated, so that there is no finite optimum: {', '.join(members)}")
