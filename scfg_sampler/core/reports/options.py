"""The options that the commands that write reports share."""

from __future__ import annotations

import argparse

__all__ = ["add_report_options"]


def add_report_options(parser: argparse.ArgumentParser, *, quiet: bool = True) -> None:
    """Add --output, --title and, unless the command has it already, --quiet."""
    parser.add_argument("--output", metavar="FILE", required=True, help="the page, as in report.html")
    parser.add_argument("--title", metavar="TEXT", default="", help="above it (default: names the runs)")
    if quiet:
        parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
