"""`dmv covariances`: which tags a logistic normal has found to go together."""

from __future__ import annotations

import argparse

from scfg_sampler.core import console

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
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print and draw."""
    import numpy as np

    from monolingual.dmv.plots import child_covariances, correlations, plot_covariances, read_covariances
    from scfg_sampler.errors import SettingsError

    if options.top < 0:
        raise SettingsError(f"--top is {options.top}; it must be at least 0")
    if options.plot and options.plot.rpartition(".")[2] not in ("svg", "pdf", "png"):
        raise SettingsError(f"--plot is {options.plot}; its name must end in .svg, .pdf or .png")
    tags, layout, flat = read_covariances(options.file)
    matrices: dict = {}
    for head in options.head:
        matrices.update(child_covariances(tags, layout, flat, head))
    for name, matrix in matrices.items():
        variances = matrix.diagonal()
        low, high = int(variances.argmin()), int(variances.argmax())
        print(f"{name}: variances {variances[low]:.3f} ({tags[low]}) to {variances[high]:.3f} ({tags[high]})")
        rows, columns = np.triu_indices(len(tags), 1)
        values = correlations(matrix)[rows, columns]
        for at in np.argsort(-np.abs(values))[: options.top]:
            print(f"  {tags[rows[at]]:<6} {tags[columns[at]]:<6} {values[at]:+.3f}")
    if options.plot:
        plot_covariances(options.plot, tags, matrices)
        console.say(f"wrote {options.plot}")
