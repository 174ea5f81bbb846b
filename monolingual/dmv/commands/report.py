"""`dmv report`: a model on one page."""

from __future__ import annotations

import argparse

from monolingual.dmv.commands import add_treebank_options, read
from monolingual.dmv.commands.parse import DECODER
from monolingual.dmv.punctuation import AUTOMATIC
from scfg_sampler.core import console
from scfg_sampler.core.reports.options import add_report_options
from scfg_sampler.core.wording import file_size
from scfg_sampler.errors import SettingsError

__all__ = ["add_parser", "run"]

_SHOWN = 6


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "report",
        help="write a page that tells what was learnt",
        description="Write a page of HTML about a model: which tags attach to which, traces of its training, "
        "the covariances of a logistic normal, accuracy and parsed sentences of a treebank, if these are "
        "given. The page needs nothing but itself: it can be sent, kept and printed.",
        epilog="example:\n  scfg-monolingual dmv report model.txt --output report.html \\\n"
        "      --treebank test.conllu --trace rounds.tsv --covariances model.npz --head VBD",
    )
    parser.add_argument("model", metavar="MODEL", help="written by dmv train")
    add_report_options(parser, quiet=False)
    parser.add_argument(
        "--treebank",
        metavar="DATA",
        help="sentences to parse: CoNLL-U, CoNLL-X, or three columns: tags, heads, words",
    )
    add_treebank_options(parser)
    parser.add_argument(
        "--shown", dest="sentences", metavar="N", type=int, default=_SHOWN, help="sentences of it to draw"
    )
    parser.add_argument("--decoder", choices=("viterbi", "mbr"), default=DECODER, help="of these sentences")
    parser.add_argument(
        "--trace",
        metavar="FILE",
        nargs="+",
        action="extend",
        default=[],
        help="what 'dmv train --trace' wrote; several are compared, as FILE or NAME=FILE",
    )
    parser.add_argument("--covariances", metavar="FILE", help="what 'dmv train --covariances' wrote")
    parser.add_argument(
        "--head",
        metavar="TAG",
        action="append",
        default=[],
        help="head whose covariances are shown; may be repeated (default: the strongest two)",
    )
    parser.reads("trace", lambda text: [text.rpartition("=")[2]])
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Write the page, and say how large it is."""
    console.say(f"report of {options.model}")
    from pathlib import Path

    from monolingual.dmv.commands.parse import warn_of_unknown
    from monolingual.dmv.model import read_model
    from monolingual.dmv.report import ReportInputs, write_report

    traces: dict[str, str] = {}
    for text in options.trace:
        name, equals, path = text.rpartition("=")
        name = name if equals else Path(text).name.partition(".")[0]
        if name in traces:
            raise SettingsError(f"--trace has two files called {name}; give others names, as in other={path}")
        traces[name] = path
    treebank = None if options.treebank is None else read(options, options.treebank)
    if treebank is not None:
        warn_of_unknown(read_model(options.model), treebank)
    inputs = ReportInputs(
        options.model,
        options.covariances,
        options.head,
        traces,
        treebank,
        options.sentences,
        options.decoder,
        options.title,
    )
    size = write_report(inputs, options.output)
    _warn_of_idle(options)
    console.say(f"{options.output}: {file_size(size)}")


def _warn_of_idle(options: argparse.Namespace) -> None:
    """Warn of what says how a treebank is read and shown, if there is none."""
    if options.treebank is not None:
        return
    plain = {"sentences": _SHOWN, "decoder": DECODER, "tags": "xpos", "punctuation": AUTOMATIC}
    for name, value in plain.items():
        if getattr(options, name) != value:
            console.warn(f"--{'shown' if name == 'sentences' else name} does nothing without --treebank")
