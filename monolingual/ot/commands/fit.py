"""`ot fit`: the maximum-likelihood grammar."""

from __future__ import annotations

import argparse

from monolingual.ot.commands import (
    add_tableaux,
    load_tableaux,
    print_predictions,
    print_table,
    refuse_saved,
    save_grammar,
)
from scfg_sampler.core import console

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "fit",
        help="the maximum-likelihood grammar",
        description="Maximise the exact likelihood of a Stochastic OT grammar. Where it has no maximum, "
        "because constraints are categorically dominated, says which, and gives the best grammar "
        "within a bound.",
        epilog="example:\n  scfg-monolingual ot fit tableaux.tsv --output ml",
    )
    add_tableaux(parser)
    parser.add_argument("--output", metavar="RUN", help="directory for the grammar (default: only print it)")
    parser.add_argument("--overwrite", action="store_true", help="replace an older grammar in that directory")
    parser.add_argument(
        "--truncate", metavar="K", type=float, default=6.0, help="means lie in [-K, K] before centring"
    )
    parser.add_argument("--noise", metavar="S", type=float, default=1.0, help="deviation of every constraint")
    parser.add_argument(
        "--restarts", dest="starts", metavar="N", type=int, default=10, help="starting points of the search"
    )
    parser.add_argument("--seed", metavar="N", type=int, default=1, help="seed of the starting points")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Fit, and print the grammar with its predictions."""
    import numpy as np

    from monolingual.ot.exact import maximise
    from monolingual.ot.grammar import Grammar
    from monolingual.ot.hidden import hidden_problems
    from monolingual.ot.orderings import problems
    from scfg_sampler.core.limits import require_seed

    require_seed(options.seed)
    tableaux = load_tableaux(options)
    for problem in hidden_problems(tableaux) if tableaux.overt else problems(tableaux):
        console.warn(problem)
    refuse_saved(options.output, options.overwrite)
    found = maximise(
        np.random.default_rng(options.seed),
        tableaux,
        noise=options.noise,
        bound=options.truncate,
        starts=options.starts,
    )
    names = tableaux.constraints
    dominated = [[names[i] for i in sorted(members)] for members in found.dominated]
    for members in dominated:
        console.warn(f"no finite optimum: the data dominate {', '.join(members)} categorically")
    if found.at_bound:
        at_bound = ", ".join(names[i] for i in found.at_bound)
        console.warn(f"at the bound of --truncate {options.truncate:g}: {at_bound}")
    grammar = Grammar("stochastic-ot", names, found.mean, np.full(len(names), options.noise))
    more = {"dominated": dominated, "at_bound": [names[i] for i in found.at_bound]}
    record = save_grammar(grammar, tableaux, options.output, more, options.overwrite)
    if not options.json:
        ranked = np.argsort(-found.mean, kind="stable")
        print_table([("constraint", "mean"), *((names[i], f"{found.mean[i]:.4f}") for i in ranked)])
        print()
    print_predictions({**record, "mean": dict(zip(names, found.mean.tolist(), strict=True))}, options.json)
