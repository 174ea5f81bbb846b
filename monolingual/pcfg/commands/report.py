"""`pcfg report`: a run on one page."""

from __future__ import annotations

import argparse

from scfg_sampler.core import console
from scfg_sampler.core.reports.options import add_report_options
from scfg_sampler.core.wording import file_size

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "report",
        help="write a page that tells what was run and what was learnt",
        description="Write a page of HTML about a run of 'pcfg sample': settings, traces, whether chains "
        "agree, the posterior of the rule probabilities, the partition function and tightness at its means "
        "and over its draws, and the most frequent trees. The page needs nothing but itself: it can be "
        "sent, kept and printed.",
        epilog="example:\n  scfg-monolingual pcfg report run --output report.html",
    )
    parser.add_argument("directory", metavar="RUN", help="run directory of 'pcfg sample'")
    add_report_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Write the page, and say how large it is."""
    console.say(f"report of {options.directory}")
    from monolingual.pcfg.report import write_report

    size = write_report(options.directory, options.output, options.title)
    console.say(f"{options.output}: {file_size(size)}")
