"""`diagnose`: have the chains mixed?"""

from __future__ import annotations

import argparse
import json
import math
import textwrap

from scfg_sampler.core import console

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "diagnose",
        help="split R-hat and effective sample size of one or more runs",
        description="Split R-hat and effective sample size of the traced scalars. Give runs that differ in "
        "nothing but --seed, or one with several --chains; R-hat below 1.01 says that they agree. A single "
        "chain is compared with itself. acceptance: share of proposed trees taken (--operator rejection).",
        epilog="example:\n  scfg-sampler diagnose run1 run2 run3 --json",
    )
    parser.add_argument("runs", metavar="RUN", nargs="+", help="run directory")
    parser.add_argument("--burn-in", metavar="B", type=int, help="sweeps left out (default: the run's own)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print the diagnosis of every scalar."""
    from scfg_sampler.core.chains.diagnostics import verdict
    from scfg_sampler.learner.diagnosis import diagnose_runs, incomparable

    found = diagnose_runs(options.runs, options.burn_in)
    for reason in incomparable(options.runs):
        console.warn(reason)
    if options.json:
        plain = {
            name: {key: _finite(value) for key, value in diagnosis._asdict().items()}
            for name, diagnosis in found.items()
        }
        print(json.dumps(plain, indent=1))
        return
    print(f"{'scalar':<14}{'R-hat':>8}{'ESS':>9}{'mean':>16}{'deviation':>13}")
    for name, diagnosis in found.items():
        digits = 1 if abs(diagnosis.mean) >= 100.0 else 4
        judged = f"{diagnosis.rhat:>8.3f}{diagnosis.ess:>9.1f}"
        print(f"{name:<14}{judged}{diagnosis.mean:>16.{digits}f}{diagnosis.deviation:>13.{digits}f}")
    print("", *textwrap.wrap(verdict(found), 79), sep="\n")


def _finite(value: float) -> float | None:
    return value if not isinstance(value, float) or math.isfinite(value) else None
