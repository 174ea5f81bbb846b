"""`dmv covariances`: which tags a logistic normal has found to go together."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scfg_sampler.core import console

if TYPE_CHECKING:
    import numpy as np

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "covariances",
        help="the covariances a logistic normal has learnt",
        description="Print, for the children of some heads, the variances that differ most from one another "
        "and the strongest correlations; draw them with --plot.",
        epilog="example:\n  scfg-monolingual dmv covariances model.npz --head VBD --head NN --plot heat.svg",
    )
    parser.add_argument("file", metavar="FILE", help="written by dmv train --covariances")
    parser.add_argument("--head", metavar="TAG", action="append", required=True, help="may be repeated")
    parser.add_argument("--top", metavar="N", type=int, default=5, help="correlations to print")
    parser.add_argument("--plot", metavar="FILE", help="heat maps (.svg, .pdf, .png; needs matplotlib)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.writes("--plot")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print and draw."""
    from monolingual.dmv.plots import child_covariances, plot_covariances, read_covariances
    from scfg_sampler.errors import SettingsError

    if options.top < 0:
        raise SettingsError(f"--top is {options.top}; it must be at least 0")
    if options.plot and options.plot.rpartition(".")[2] not in ("svg", "pdf", "png"):
        raise SettingsError(f"--plot is {options.plot}; its name must end in .svg, .pdf or .png")
    tags, layout, flat = read_covariances(options.file)
    matrices: dict = {}
    for head in options.head:
        matrices.update(child_covariances(tags, layout, flat, head))
    found = _described(matrices, tags, options.top)
    if options.json:
        print(json.dumps(found, indent=1, ensure_ascii=False))
    for name, each in () if options.json else found.items():
        variances = each["variances"]
        low, high = min(variances, key=variances.get), max(variances, key=variances.get)
        print(f"{name}: variances {variances[low]:.3f} ({low}) to {variances[high]:.3f} ({high})")
        for pair in each["correlations"]:
            print(f"  {pair['tags'][0]:<6} {pair['tags'][1]:<6} {pair['correlation']:+.3f}")
    if options.plot:
        plot_covariances(options.plot, tags, matrices)
        console.say(f"wrote {options.plot}")


def _described(matrices: Mapping[str, np.ndarray], tags: Sequence[str], top: int) -> dict[str, Any]:
    """Of each matrix the variances by tag, and the strongest correlations."""
    import numpy as np

    from monolingual.dmv.plots import correlations

    found = {}
    for name, matrix in matrices.items():
        rows, columns = np.triu_indices(len(tags), 1)
        values = correlations(matrix)[rows, columns]
        strongest = np.argsort(-np.abs(values))[:top].tolist()
        found[name] = {
            "variances": dict(zip(tags, matrix.diagonal().tolist(), strict=True)),
            "correlations": [
                {"tags": [tags[rows[at]], tags[columns[at]]], "correlation": float(values[at])}
                for at in strongest
            ],
        }
    return found
