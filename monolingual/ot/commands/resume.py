"""`ot resume`: continue a run."""

from __future__ import annotations

import argparse

from monolingual.ot.commands.sample import report
from scfg_sampler.core import console
from scfg_sampler.core.interruption import resumable

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "resume",
        help="continue a run of 'sample' from its checkpoints",
        description="Continue all chains of a run from their checkpoints, as if they had never stopped: bit "
        "for bit.",
        epilog="example:\n  scfg-monolingual ot resume run --iterations 5000",
    )
    parser.add_argument("directory", metavar="RUN", help="run directory")
    parser.add_argument(
        "--iterations",
        metavar="N",
        type=int,
        help="sweeps of each chain in all, those done included (default: as started)",
    )
    parser.add_argument("--check", action="store_true", help="recount the log joint after every sweep")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Resume, and say what came of it."""
    from monolingual.ot.run import read_run, resume_run, sweeps_done

    settings = read_run(options.directory)["run"]
    iterations = options.iterations or settings.iterations
    done = sum(min(sweeps, iterations) for sweeps in sweeps_done(options.directory))
    with (
        resumable("scfg-monolingual ot resume", options.directory),
        console.progress("sampling", settings.chains * iterations - done) as advance,
    ):
        summary = resume_run(options.directory, options.iterations, check=options.check, advance=advance)
    report(summary, options.directory, options.quiet)
