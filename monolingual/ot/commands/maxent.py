"""`ot maxent`: the maximum-entropy grammar."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from monolingual.ot.commands import (
    add_tableaux,
    index_of,
    load_tableaux,
    print_predictions,
    print_table,
    refuse_saved,
    save_grammar,
)
from scfg_sampler.core import console
from scfg_sampler.core.limits import require_seed
from scfg_sampler.core.numerals import real_number
from scfg_sampler.errors import SettingsError

if TYPE_CHECKING:
    from monolingual.ot.tableaux import Tableaux

__all__ = ["add_parser", "run"]

_SEED = 1


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
        "--bias",
        metavar="FILE",
        help="normal priors of their own: a line 'NAME mean deviation' for each constraint, as of maxent.ot",
    )
    parser.add_argument(
        "--cross-validate",
        metavar="K",
        type=int,
        help="choose the variance of the priors: in K folds, that which best predicts what was left out",
    )
    parser.add_argument(
        "--variances",
        metavar="V,…",
        help="with --cross-validate: those to choose from (default: 0.01,0.1,1,10,100,1000)",
    )
    parser.add_argument(
        "--leave-out",
        choices=("token", "input"),
        help="with --cross-validate: what is dealt into folds, single observations or whole inputs "
        "(default: token)",
    )
    parser.add_argument("--seed", metavar="N", type=int, default=_SEED, help="deals the folds (default: 1)")
    parser.add_argument(
        "--non-negative",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="weights must not fall below 0; with --no-non-negative a constraint may reward its violations",
    )
    parser.add_argument(
        "--without",
        metavar="NAME",
        action="append",
        default=[],
        help="leave this constraint out; may be given several times (a likelihood-ratio test of it: "
        "'ot compare --likelihood-ratio')",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Fit, and print the grammar with its predictions."""
    import numpy as np

    from monolingual.ot.bias import read_bias
    from monolingual.ot.grammar import Grammar
    from monolingual.ot.harmonic import fit_maxent
    from monolingual.ot.tableaux import are_probabilities, candidate_name

    tableaux = _kept(load_tableaux(options, "maxent"), options.without)
    refuse_saved(options.output, options.overwrite)
    variance, validation = _chosen_variance(options, tableaux)
    bias = None if options.bias is None else read_bias(options.bias, tableaux.constraints)
    if are_probabilities(tableaux) and (variance is not None or bias is not None):
        console.warn(
            f"the frequencies of {options.tableaux} are probabilities, so that each input weighs no more "
            "than a single token beside the prior; give counts"
        )
    found = fit_maxent(tableaux, prior_variance=variance, non_negative=options.non_negative, bias=bias)
    names = tableaux.constraints
    direction = {names[i]: float(x) for i, x in enumerate(found.separation.direction) if x}
    losing = [candidate_name(tableaux, c) for c in found.separation.candidates]
    if direction and variance is None and bias is None:
        growing = ", ".join(f"{'+' if x > 0 else '−'}{name}" for name, x in direction.items())
        console.warn(
            f"no finite optimum (separation): weights grow without end along {growing}, "
            f"and these candidates have probability 0 in the limit: {'; '.join(losing)}"
        )
    grammar = Grammar("maxent", names, found.weight, np.zeros(len(names)))
    more = {
        "prior_variance": variance,
        "non_negative": options.non_negative,
        **({} if bias is None else {"bias": [side.tolist() for side in bias]}),
        **({} if validation is None else {"cross_validation": validation}),
        "separation": {"direction": direction, "candidates": losing} if direction else None,
    }
    record = save_grammar(grammar, tableaux, options.output, more, options.overwrite)
    if not options.json and validation is not None:
        print_table(
            [("prior variance", "held out, a token", "standard error"), *_validation_rows(validation)]
        )
        print(f"chosen: {variance:g}\n")
    if not options.json:
        ranked = np.argsort(-found.weight, kind="stable")
        print_table([("constraint", "weight"), *((names[i], f"{found.weight[i]:.4f}") for i in ranked)])
        print()
    print_predictions(
        {**record, "weight": dict(zip(names, found.weight.tolist(), strict=True))}, options.json
    )


def _kept(tableaux: Tableaux, without: list[str]) -> Tableaux:
    """The tableaux without some of their constraints."""
    from monolingual.ot.tableaux import with_constraints

    left_out = {index_of(tableaux, "--without", name) for name in without}
    names = [name for index, name in enumerate(tableaux.constraints) if index not in left_out]
    if not names:
        raise SettingsError("--without leaves no constraint")
    return with_constraints(tableaux, names)


def _chosen_variance(
    options: argparse.Namespace, tableaux: Tableaux
) -> tuple[float | None, list[dict[str, Any]] | None]:
    """The variance of the priors, given or chosen, and what cross-validation found of each."""
    import numpy as np

    from monolingual.ot.validation import UNITS, VARIANCES, cross_validate

    if options.bias is not None and (options.prior_variance, options.cross_validate) != (None, None):
        raise SettingsError("--bias goes without --prior-variance and --cross-validate")
    require_seed(options.seed)
    if options.cross_validate is None:
        if options.variances:
            raise SettingsError("--variances goes with --cross-validate")
        if options.leave_out is not None:
            raise SettingsError("--leave-out goes with --cross-validate")
        if options.seed != _SEED:
            console.warn("--seed does nothing without --cross-validate")
        return options.prior_variance, None
    if options.prior_variance is not None:
        raise SettingsError("give --prior-variance or --cross-validate, not both")
    try:
        variances = (
            [real_number(part) for part in options.variances.split(",")] if options.variances else None
        )
    except ValueError:
        raise SettingsError(
            f"--variances {options.variances!r} are not numbers with commas between"
        ) from None
    found = cross_validate(
        np.random.default_rng(options.seed),
        tableaux,
        VARIANCES if variances is None else variances,
        folds=options.cross_validate,
        by=options.leave_out or UNITS[0],
        non_negative=options.non_negative,
    )
    if len(found.variances) > 1 and found.best in (found.variances[0], found.variances[-1]):
        console.warn(f"the best variance, {found.best:g}, is at the end of those tried: widen --variances")
    columns = zip(found.variances, found.per_token.tolist(), found.error.tolist(), strict=True)
    keys = ("prior_variance", "log_likelihood_per_token", "standard_error")
    return found.best, [dict(zip(keys, column, strict=True)) for column in columns]


def _validation_rows(validation: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [
        (
            f"{row['prior_variance']:g}",
            f"{row['log_likelihood_per_token']:.5f}",
            f"{row['standard_error']:.5f}",
        )
        for row in validation
    ]
