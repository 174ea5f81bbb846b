"""`tsg report`: runs on one page."""

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
        description="Write a page of HTML about one or several runs of 'tsg train': settings, traces, "
        "whether chains agree, the sizes of elementary trees, pictures of those used most, whole trees "
        "split into them, and, of runs with --marginals, how sure cuts are. The page needs nothing but "
        "itself: it can be sent, kept and printed.",
        epilog="example:\n  scfg-monolingual tsg report run --output report.html\n"
        "  scfg-monolingual tsg report seed1 seed2 seed3 --output report.html",
    )
    parser.add_argument(
        "runs", metavar="RUN", nargs="+", help="run directory; the trees of the first one are shown"
    )
    add_report_options(parser)
    parser.add_argument("--shown", metavar="N", type=int, default=6, help="whole trees to draw")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Write the page, and say how large it is."""
    console.say(f"report of {', '.join(options.runs)}")
    from monolingual.tsg.report import write_report

    size = write_report(options.runs, options.output, options.title, options.shown)
    console.say(f"{options.output}: {file_size(size)}")
