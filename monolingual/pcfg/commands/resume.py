"""`pcfg resume`: go on with a run that was stopped, or make it longer."""

from __future__ import annotations

import argparse
from pathlib import Path

from monolingual.pcfg.commands import add_handling
from scfg_sampler.core import parsers

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "resume",
        help="continue a run, bit for bit as if it had never stopped",
        description="Continue a run of pcfg sample from its checkpoints, or prolong it. The grammar and the "
        "data must still be where they were; what came from standard input has to come from there again.",
        epilog="example:\n  scfg-monolingual pcfg resume run --iterations 5000",
    )
    parser.add_argument("output", metavar="RUN", help="run directory")
    parser.add_argument(
        "--iterations", metavar="N", type=int, help="sweeps of each chain (default: the same)"
    )
    add_handling(parser)
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Continue, and say what came of it."""
    from monolingual.pcfg.commands.sample import NOT_DECISIVE, add_parser, execute
    from scfg_sampler.core.chains.checkpoint import sweeps_kept
    from scfg_sampler.core.chains.run_directory import RECORD, read_record, require_each, require_sweeps_left
    from scfg_sampler.core.chains.stored_options import require_options

    def restored(record: dict) -> dict:
        settings = record["settings"]
        require_each(int, settings["iterations"], settings["chains"], settings["block"])
        require_each(bool, record["finished"])
        require_each(dict, settings["options"], settings["digests"])
        require_each(str, *settings["digests"].values())
        return record

    record = read_record(options.output, "pcfg sample", restored)
    settings = record["settings"]
    place, version = Path(options.output) / RECORD, record["versions"]["scfg-sampler"]
    parser = parsers.parser_of_command(add_parser, "sample")
    require_options(parser, settings["options"], NOT_DECISIVE, place, version)
    given = settings["options"] | {name: settings[name] for name in ("iterations", "chains", "block")}
    if options.iterations is not None:
        given["iterations"] = options.iterations
    blocks = [sweeps_kept(path, 0) for path in Path(options.output).glob("checkpoint.*.npz")]
    sweeps = [settings["block"] * max(blocks, default=0)]
    if record["finished"]:
        sweeps.append(settings["iterations"])
    require_sweeps_left(options.output, max(sweeps), given["iterations"], is_finished=record["finished"])
    done = sum(min(settings["block"] * each, given["iterations"]) for each in blocks)
    given |= {name: getattr(options, name) for name in ("output", "threads", "check", "checkpoint_every")}
    execute({**given, "overwrite": True, "quiet": options.quiet}, settings["digests"], done)
