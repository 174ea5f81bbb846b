"""`tsg resume`: more sweeps of a run, or those that are missing."""

from __future__ import annotations

import argparse

from scfg_sampler.core import console
from scfg_sampler.core.elsewhere import add_elsewhere, elsewhere, warn_of_undivided
from scfg_sampler.core.interruption import resumable

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "resume",
        help="continue a run",
        description="Continue a run of 'tsg train' from its checkpoint; the result is that of one that was "
        "never interrupted. With more iterations, burn-in and annealing stay as the run began, whose "
        "defaults are shares of its iterations, and of the states that a run of so many keeps it has those "
        "that came later.",
        epilog="example:\n  scfg-monolingual tsg resume run --iterations 2000",
    )
    parser.add_argument("directory", metavar="RUN", help="run directory")
    parser.add_argument("--iterations", metavar="N", type=int, help="sweeps in all (default: the run's own)")
    parser.add_argument(
        "--threads", metavar="N", type=int, help="shards worked on at a time (default: as started)"
    )
    add_elsewhere(parser)
    parser.add_argument("--check", action="store_true", help="recount the log joint after every sweep")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Continue, and say what came of it."""
    from monolingual.tsg.commands.train import report
    from monolingual.tsg.learnt import read_record
    from monolingual.tsg.run import Conduct, resume_run, sweeps_done

    record = read_record(options.directory)
    total = options.iterations or record["run"].iterations
    left = max(total - sweeps_done(options.directory, record), 0)
    if record["settings"].shards == 1:
        warn_of_undivided(options)
    with (
        resumable("scfg-monolingual tsg resume", options.directory),
        elsewhere(options) as executor,
        console.progress("sampling", left) as advance,
    ):
        record = resume_run(
            options.directory,
            options.iterations,
            threads=options.threads,
            conduct=Conduct(options.check, advance, executor),
        )
    report(options.directory, record)
