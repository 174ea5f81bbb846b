"""`curves`: how the log joint of runs grows, by sweep and by processor seconds."""

from __future__ import annotations

import argparse

from scfg_sampler.core import console
from scfg_sampler.errors import SettingsError

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "curves",
        help="plot the log joint of runs by sweep and by processor seconds",
        description="Plot the log joint of runs, mean and range over the runs of a label, by sweep and by "
        "processor seconds, and write the numbers beside the picture (FILE.tsv). Needs matplotlib "
        "(pip install 'scfg-sampler[report]').",
        epilog="example:\n  scfg-sampler curves top-down=run1,run2 rejection=run3,run4 --output curves.svg",
    )
    parser.add_argument("labels", metavar="LABEL=RUN[,RUN…]", nargs="+", help="runs to be averaged")
    parser.add_argument("--output", metavar="FILE", required=True, help="picture; .png, .svg or .pdf")
    parser.add_argument("--first", metavar="N", type=int, default=0, help="leave out the sweeps before N")
    parser.add_argument("--title", metavar="TEXT", default="", help="above the picture")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Draw, write, and print the last values."""
    from scfg_sampler.learner.curves import draw_curves, picture_ending, read_curves, write_curves

    picture_ending(options.output)
    labels: dict[str, list[str]] = {}
    for text in options.labels:
        label, _, runs = text.partition("=")
        if not label or "" in runs.split(","):
            raise SettingsError(f"{text} is not LABEL=RUN[,RUN…]")
        if label in labels:
            raise SettingsError(f"the label {label} is given twice; put its runs into one, as in a=run1,run2")
        labels[label] = runs.split(",")
    curves = read_curves(labels, first=options.first)
    draw_curves(curves, options.output, title=options.title)
    write_curves(curves, f"{options.output}.tsv")
    width = max(map(len, labels))
    console.say(f"{'':<{width}}  runs  sweeps  seconds     log joint    lowest   highest")
    for label, curve in curves.items():
        console.say(
            f"{label:<{width}}  {curve.num_runs:4d}  {int(curve.sweep[-1]) + 1:6d}  {curve.seconds[-1]:7.1f}"
            f"  {curve.mean[-1]:12.0f}  {curve.low[-1]:8.0f}  {curve.high[-1]:8.0f}"
        )
    console.say(f"picture: {options.output}")
