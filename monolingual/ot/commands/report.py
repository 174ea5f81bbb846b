"""`ot report`: a grammar on one page."""

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
        description="Write a page of HTML about a run of 'sample', or a grammar of 'fit', 'gla' or "
        "'maxent': settings, traces, whether chains agree, the intervals of all constraints, the ranking "
        "as a Hasse diagram, and tableaux with observed and predicted frequencies. The page needs nothing "
        "but itself: it can be sent, kept and printed.",
        epilog="example:\n  scfg-monolingual ot report run --output report.html --beside gla --beside maxent",
    )
    parser.add_argument("grammar", metavar="RUN", help="directory of 'sample', 'fit', 'gla' or 'maxent'")
    add_report_options(parser)
    parser.add_argument(
        "--beside",
        metavar="RUN",
        action="append",
        default=[],
        help="another grammar, whose predictions are shown beside; may be repeated",
    )
    parser.add_argument(
        "--inputs", metavar="N", type=int, default=40, help="tableaux to show; of more, those predicted worst"
    )
    parser.add_argument(
        "--min-probability",
        dest="threshold",
        metavar="P",
        type=float,
        default=0.95,
        help="least probability of outranking that is drawn",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Write the page, and say how large it is."""
    console.say(f"report of {options.grammar}")
    from monolingual.ot.report import ReportInputs, write_report

    inputs = ReportInputs(options.grammar, options.beside, options.inputs, options.threshold, options.title)
    size = write_report(inputs, options.output)
    console.say(f"{options.output}: {file_size(size)}")
