"""`report`: a run on one page."""

from __future__ import annotations

import argparse
from typing import Any

from scfg_sampler.core import console
from scfg_sampler.core.reports.options import add_report_options
from scfg_sampler.core.wording import file_size
from scfg_sampler.errors import SettingsError

__all__ = ["add_parser", "run"]

_NAMED = ("tunings", "scores", "translations", "derivations")


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "report",
        help="write a page that tells what was run and what came of it",
        description="Write a page of HTML about one or several runs: settings, traces and convergence, the "
        "grammar in numbers, frequent rules, sentence pairs with their derivations and how certain they are; "
        "beside another table, with scores and translations, if these are given. The page needs nothing but "
        "itself: it can be sent, kept and printed.",
        epilog="example:\n  scfg-sampler report run --output report.html\n"
        "  scfg-sampler report run --output report.html --baseline hiero.gz \\\n"
        "      --scores sampled.json hiero.json --source test.de --references test.en \\\n"
        "      --translations sampled=out.en hiero=other.en",
    )
    parser.add_argument("runs", metavar="RUN", nargs="+", help="run directory")
    add_report_options(parser)
    group = parser.add_argument_group("the grammar")
    group.add_argument("--grammar", metavar="TABLE", help="a table of the run (default: its own counts)")
    group.add_argument("--baseline", metavar="TABLE", help="a table to set beside it, of 'extract'")
    group.add_argument("--pairs", metavar="N", type=int, default=12, help="sentence pairs to show")
    group.add_argument(
        "--states",
        dest="sweeps",
        metavar="N",
        type=int,
        default=100,
        help="states of them that certainty is judged by",
    )
    group.add_argument("--seed", metavar="N", type=int, default=1, help="of these states")
    group = parser.add_argument_group(
        "what came of it", "files are called by their names up to the first dot, or as in NAME=FILE"
    )
    texts = {
        "--scores": "what 'scfg-decoder evaluate --json' printed",
        "--tunings": "rounds of tuning, W.json.rounds.tsv of 'scfg-decoder tune'",
        "--translations": "translations of a test set; of several systems, those that the first two differ "
        "in most are shown",
        "--derivations": "their derivations, of 'scfg-decoder translate --derivations'",
    }
    for option, text in texts.items():
        group.add_argument(option, metavar="FILE", nargs="+", action="extend", help=text)
        parser.reads(option.removeprefix("--"), lambda text: [text, text.partition("=")[2] or text])
    group.add_argument("--source", metavar="FILE", help="the test set")
    group.add_argument(
        "--references",
        metavar="FILE",
        nargs="+",
        action="extend",
        default=[],
        help="its reference translations",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Write the page, and say how large it is."""
    console.say(f"report of {', '.join(options.runs)}")
    from scfg_sampler.report.page import ReportInputs, write_report

    if options.seed < 0:
        raise SettingsError(f"--seed is {options.seed}; it must be at least 0")
    given: dict[str, Any] = {
        name: getattr(options, name) for name in ReportInputs._fields if name not in _NAMED
    }
    named: dict[str, Any] = {name: _named(f"--{name}", getattr(options, name) or []) for name in _NAMED}
    for name in named["derivations"]:
        if name not in named["translations"]:
            raise SettingsError(f"--derivations {name} is of no system that --translations names")
    with console.progress("sections", None) as advance:
        size = write_report(ReportInputs(**given, **named), options.output, advance)
    console.say(f"{options.output}: {file_size(size)}")


def _named(option: str, texts: list[str]) -> dict[str, str]:
    """Files by the names of systems."""
    from scfg_sampler.report.translations import name_and_path

    found: dict[str, str] = {}
    for name, path in map(name_and_path, texts):
        if name in found:
            raise SettingsError(
                f"{option} has two files called {name}; give others names, as in other={path}"
            )
        found[name] = path
    return found
