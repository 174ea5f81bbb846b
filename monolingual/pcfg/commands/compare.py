"""`pcfg compare`: runs of different approaches beside each other."""

from __future__ import annotations

import argparse
import json

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "compare",
        help="runs beside each other: F1, rejections, time, Kolmogorov-Smirnov tests",
        description="Say of each run the mean and standard deviation of its chains' F1, the rejections in a "
        "thousand sweeps (of renormalise and collapsed runs in a thousand proposals) and the processor time, "
        "and of each pair of runs whether the F1 of their chains differ (two-sample Kolmogorov-Smirnov "
        "test).",
        epilog="example:\n  scfg-monolingual pcfg compare run.tight run.sink --plot f1.svg",
    )
    parser.add_argument("runs", metavar="RUN", nargs="+", help="run directory")
    parser.add_argument("--plot", metavar="FILE", help="draw the densities of F1 (.svg, .pdf or .png)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.writes("--plot")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print the table, and draw."""
    from monolingual.pcfg.comparison import compare, plot_densities, read_summary

    rows = [read_summary(name) for name in options.runs]
    tests = compare(rows)
    if options.json:
        found = {
            "runs": [
                {**row._asdict(), "f1": row.f1.tolist(), "rejections": row.rejections.tolist()}
                for row in rows
            ],
            "tests": [dict(zip(("first", "second", "statistic", "p"), test, strict=True)) for test in tests],
        }
        print(json.dumps(found, indent=1))
    else:
        width = max(len(row.name) for row in rows)
        print(f"{'run':<{width}}  approach     chains  mean F1     sd  rejected/1000      sd    CPU s")
        for row in rows:
            f1 = f"{row.f1.mean():7.4f} {row.f1.std():6.4f}" if len(row.f1) else "      -      -"
            rejected = f"{row.rejections.mean():13.1f} {row.rejections.std():7.1f}"
            name = f"{row.name:<{width}}  {row.approach:<11}  {row.chains:>6}"
            print(f"{name}  {f1}  {rejected} {row.cpu_seconds:8.1f}")
        for first, second, statistic, p in tests:
            print(f"Kolmogorov-Smirnov {first} / {second}: D = {statistic:.3f}, p = {p:.3f}")
    if options.plot:
        plot_densities(rows, options.plot)
