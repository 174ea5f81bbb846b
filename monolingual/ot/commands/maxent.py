"""`ot maxent`: the maximum-entropy grammar."""

from __future__ import annotations

import argparse

from monolingual.ot.commands import add_tableaux, load_tableaux, print_predictions, print_table, save_grammar
from scfg_sampler.core import console

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "maxent",
        help="the maximum-entropy grammar",
        description="Fit the weights of a maximum-entropy grammar (Goldwater and Johnson 2003). A weight "
        "is a penalty. Without a prior there may be no finite optimum; it is then said in which "
        "direction weights grow.",
        epilog="example:\n  scfg-monolingual ot maxent tableaux.tsv --prior-variance 10 --output maxent",
    )
    add_tableaux(parser)
    parser.add_argument("--output", metavar="RUN", help="directory for the grammar (default: only print it)")
    parser.add_argument("--overwrite", action="store_true", help="replace an older grammar in that directory")
    parser.add_argument(
        "--prior-variance", metavar="V", type=float, help="of normal priors with mean 0 (default: no prior)"
    )
    parser.add_argument(
        "--non-negative",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="weights must not fall below 0; with --no-non-negative a constraint may reward its violations",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Fit, and print the grammar with its predictions."""
    import numpy as np

    from monolingual.ot.grammar import Grammar
    from monolingual.ot.harmonic import fit_maxent
    from monolingual.ot.tableaux import candidate_name

    tableaux = load_tableaux(options)
    found = fit_maxent(tableaux, prior_variance=options.prior_variance, non_negative=options.non_negative)
    names = tableaux.constraints
    direction = {names[i]: float(x) for i, x in enumerate(found.separation.direction) if x}
    losing = [candidate_name(tableaux, c) for c in found.separation.candidates]
    if direction and options.prior_variance is None:
        growing = ", ".join(f"{'+' if x > 0 else '−'}{name}" for name, x in direction.items())
        console.warn(
            f"no finite optimum (separation): weights grow without end along {growing}, "
            f"and these candidates have probability 0 in the limit: {'; '.join(losing)}"
        )
    grammar = Grammar("maxent", names, found.weight, np.zeros(len(names)))
    more = {
        "prior_variance": options.prior_variance,
        "separation": {"direction": direction, "candidates": losing} if direction else None,
    }
    record = save_grammar(grammar, tableaux, options.output, more, options.overwrite)
    if not options.json:
        ranked = np.argsort(-found.weight, kind="stable")
        print_table([("constraint", "weight"), *((names[i], f"{found.weight[i]:.4f}") for i in ranked)])
        print()
    print_predictions(
        {**record, "weight": dict(zip(names, found.weight.tolist(), strict=True))}, options.json
    )
