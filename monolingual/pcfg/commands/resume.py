"""`pcfg resume`: go on with a run that was stopped, or make it longer."""

from __future__ import annotations

import argparse

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "resume",
        help="continue a run, bit for bit as if it had never stopped",
        description="Continue a run of pcfg sample from its checkpoints, or prolong it. The grammar and the "
        "data must still be where they were.",
        epilog="example:\n  scfg-monolingual pcfg resume run --iterations 5000",
    )
    parser.add_argument("output", metavar="RUN", help="run directory")
    parser.add_argument(
        "--iterations", metavar="N", type=int, help="sweeps of each chain (default: the same)"
    )
    parser.add_argument("--threads", metavar="N", type=int, default=1, help="for 256 sentences and more")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Continue, and say what came of it."""
    import json
    from pathlib import Path

    from monolingual.pcfg.commands.sample import execute
    from scfg_sampler.core.files import read_lines
    from scfg_sampler.errors import InputError

    path = Path(options.output) / "run.json"
    try:
        settings = json.loads("\n".join(read_lines(path)))["settings"]
        given = dict(settings["options"])
    except (ValueError, KeyError, TypeError):
        raise InputError(path, None, "is not the record of a run", "Name a run directory") from None
    given |= {name: settings[name] for name in ("iterations", "chains", "block")}
    if options.iterations is not None:
        given["iterations"] = options.iterations
    given |= {"output": options.output, "threads": options.threads, "checkpoint_every": 0, "check": False}
    given |= {"overwrite": True, "quiet": options.quiet}
    execute(given, resume=True)
