"""`resume`: continue a run."""

from __future__ import annotations

import argparse

from scfg_sampler.commands.sample import report
from scfg_sampler.core import console
from scfg_sampler.core.elsewhere import add_elsewhere, elsewhere, warn_of_undivided
from scfg_sampler.core.interruption import resumable

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "resume",
        help="continue a run from its checkpoint",
        description="Continue a run from its checkpoint, as if it had never stopped: bit for bit. With more "
        "iterations, burn-in and annealing stay as the run began, whose defaults are shares of its "
        "iterations.",
        epilog="example:\n  scfg-sampler resume run --iterations 200",
    )
    parser.add_argument("directory", metavar="RUN", help="run directory")
    parser.add_argument(
        "--iterations", metavar="N", type=int, help="sweeps in all, those done included (default: as started)"
    )
    parser.add_argument(
        "--threads",
        metavar="N",
        type=int,
        help="shards worked on at a time, or chains (default: as started)",
    )
    add_elsewhere(parser)
    parser.add_argument("--check", action="store_true", help="recount everything after every sweep")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Resume, and say what came of it."""
    from scfg_sampler.learner.chains import resume_chains, sweeps_done
    from scfg_sampler.learner.run import read_run

    record = read_run(options.directory)
    total = (options.iterations or record["run"]["iterations"]) * record.get("chains", 1)
    left = max(total - sum(sweeps_done(options.directory, record)), 0)
    if record["settings"].get("shards", 1) == record.get("chains", 1) == 1:
        warn_of_undivided(options)
    with (
        resumable("scfg-sampler resume", options.directory),
        elsewhere(options) as executor,
        console.progress("sampling", left) as advance,
    ):
        record = resume_chains(
            options.directory,
            options.iterations,
            threads=options.threads,
            check=options.check,
            advance=advance,
            executor=executor,
        )
    report(record, options.directory)
