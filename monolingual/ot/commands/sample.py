"""`ot sample`: the posterior of a Stochastic OT grammar, into a run directory."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from monolingual.ot.commands import add_tableaux, index_of, load_tableaux, print_table
from monolingual.ot.settings import OtSettings, RunSettings, default_burn_in
from scfg_sampler.core import console
from scfg_sampler.core.interruption import resumable
from scfg_sampler.core.numerals import real_number
from scfg_sampler.errors import SettingsError

if TYPE_CHECKING:
    from monolingual.ot.tableaux import Tableaux

__all__ = ["add_parser", "report", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "sample",
        help="sample the posterior of a grammar",
        description="Sample the posterior of the constraints' means by data augmentation (Lin 2005), in "
        "several chains from dispersed starting points; summary.json has medians, intervals, "
        "modes and convergence.",
        epilog="example:\n  scfg-monolingual ot sample tableaux.tsv --output run\n"
        "  scfg-monolingual ot sample tableaux.tsv --output low --prior DEP-IO=-3:2 --prior MAX-IO=-3:2",
    )
    add_tableaux(parser)
    parser.add_argument("--output", metavar="RUN", required=True, help="run directory")
    parser.add_argument("--overwrite", action="store_true", help="replace an older run in that directory")

    _add_model(parser.add_argument_group("model"), OtSettings())
    _add_chains(parser.add_argument_group("chains"), OtSettings(), RunSettings())
    parser.add_argument("--check", action="store_true", help="recount the log joint after every sweep")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.writes_within(
        "--output",
        r"(?:run|summary|predictions)\.json|tableaux\.tsv|chain-[0-9]+/.*",
    )
    parser.set_defaults(run=run)


def _add_model(model: argparse._ArgumentGroup, settings: OtSettings) -> None:
    model.add_argument(
        "--truncate",
        metavar="K",
        type=float,
        default=settings.truncate,
        help="means lie in (-K, K); 0: no bound",
    )
    model.add_argument(
        "--noise",
        metavar="S",
        type=float,
        default=settings.noise,
        help="deviation of every constraint",
    )
    model.add_argument(
        "--tokens",
        metavar="M",
        type=int,
        help="scale the frequencies to M tokens (default: counts; probabilities as percent)",
    )
    model.add_argument(
        "--prior",
        metavar="NAME=M:S",
        action="append",
        default=[],
        help="normal prior of a constraint's mean, or with NAME * of all others; may be repeated (default: "
        "flat)",
    )
    model.add_argument(
        "--learn-variances", action="store_true", help="each constraint has an unknown variance of its own"
    )
    model.add_argument(
        "--variance-shape",
        metavar="A",
        type=float,
        help="with --learn-variances: of the inverse gamma prior of the variances "
        f"(default: {settings.variance_shape:g})",
    )


def _add_chains(chain: argparse._ArgumentGroup, settings: OtSettings, run: RunSettings) -> None:
    chain.add_argument(
        "--chains", metavar="N", type=int, default=run.chains, help="from dispersed starting points"
    )
    chain.add_argument(
        "--iterations", metavar="N", type=int, default=run.iterations, help="sweeps of each chain"
    )
    chain.add_argument("--burn-in", metavar="B", type=int, help="sweeps left out (default: a quarter)")
    chain.add_argument("--seed", metavar="N", type=int, default=run.seed, help="seed of all randomness")
    chain.add_argument(
        "--shifts",
        metavar="N",
        type=int,
        default=settings.shifts,
        help="sets of constraints shifted in a sweep; -1: all",
    )
    chain.add_argument(
        "--collapsed", metavar="N", type=int, help="collapsed moves in a sweep (default: six a constraint)"
    )
    chain.add_argument(
        "--pilot",
        metavar="N",
        type=int,
        default=settings.pilot,
        help="sweeps of the pilot runs that tune these",
    )
    chain.add_argument(
        "--paper", action="store_true", help="the moves of Lin (2005) alone: --shifts 0 --collapsed 0"
    )
    chain.add_argument(
        "--checkpoint-every",
        metavar="K",
        type=int,
        default=run.checkpoint_every,
        help="sweeps; 0: at the end",
    )


def run(options: argparse.Namespace) -> None:
    """Sample, and say what came of it."""
    from monolingual.ot.run import start_run

    if options.variance_shape is not None and not options.learn_variances:
        raise SettingsError("--variance-shape goes with --learn-variances")
    _refuse_other_moves(options)
    tableaux = load_tableaux(options)
    shape = OtSettings().variance_shape if options.variance_shape is None else options.variance_shape
    collapsed = OtSettings().collapsed if options.collapsed is None else options.collapsed
    settings = OtSettings(
        truncate=options.truncate,
        noise=options.noise,
        priors=_priors(options.prior, tableaux),
        learn_variances=options.learn_variances,
        variance_shape=shape,
        shifts=0 if options.paper else options.shifts,
        collapsed=0 if options.paper else collapsed,
        pilot=options.pilot,
    )
    given = {name: getattr(options, name) for name in RunSettings._fields}
    if options.burn_in is None:
        given["burn_in"] = default_burn_in(options.iterations)
    kept = RunSettings(**given)
    with (
        resumable("scfg-monolingual ot resume", options.output),
        console.progress("sampling", options.chains * options.iterations) as advance,
    ):
        summary = start_run(
            tableaux,
            options.output,
            settings,
            kept,
            overwrite=options.overwrite,
            check=options.check,
            advance=advance,
        )
    report(summary, options.output, options.quiet)


def _refuse_other_moves(options: argparse.Namespace) -> None:
    """Raise SettingsError if --paper stands beside moves that are not the paper's."""
    for name, plain in (("shifts", OtSettings().shifts), ("collapsed", None)):
        number = getattr(options, name)
        if options.paper and number not in (0, plain):
            raise SettingsError(f"--paper is --shifts 0 --collapsed 0, and goes without --{name} {number}")


def _priors(options: list[str], tableaux: Tableaux) -> dict[int, tuple[float, float]]:
    """What `--prior NAME=M:S` says, * of the constraints without their own; names may hold any character."""
    given: dict[str, tuple[float, float]] = {}
    for option in options:
        name, _, numbers = option.rpartition("=")
        parts = numbers.split(":")
        try:
            mean, deviation = (real_number(part) for part in parts)
        except ValueError:
            found = f"--prior {option!r} is not of the form NAME=MEAN:DEVIATION, e.g. 'DEP-IO=-3:2'"
            raise SettingsError(found) from None
        if name in given:
            raise SettingsError(f"--prior names {name} twice; leave one out")
        given[name] = mean, deviation
    priors = dict.fromkeys(range(len(tableaux.constraints)), given.pop("*")) if "*" in given else {}
    return priors | {index_of(tableaux, "--prior", name): prior for name, prior in given.items()}


def report(summary: dict[str, Any], output: str, quiet: bool) -> None:
    """Print the constraints, the highest first, and warn if the chains disagree."""
    if not quiet:
        rows = [("constraint", "median", "95 % interval", "R-hat", "ESS")]
        ranked = sorted(summary["constraints"].items(), key=lambda entry: -entry[1]["median"])
        for name, entry in ranked:
            low, high = entry["interval"]
            rhat = "-" if entry["rhat"] is None else f"{entry['rhat']:.3f}"
            ess = "-" if entry["ess"] is None else f"{entry['ess']:.0f}"
            rows.append((name, f"{entry['median']:.3f}", f"{low:.2f} … {high:.2f}", rhat, ess))
        print_table(rows)
    worst = summary["worst_rhat"]
    if worst is None or worst > 1.01:
        shown = "cannot be judged" if worst is None else f"have an R-hat of {worst:.3f}, above 1.01"
        console.warn(f"the chains {shown}: go on with 'scfg-monolingual ot resume {output} --iterations N'")
    console.say(f"run directory: {output}")
