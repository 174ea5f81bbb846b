"""Runs beside each other, as in section 9 of Cohen and Johnson (2013).

Of each run the mean F1 of its chains, their mean and standard deviation, rejections in a thousand sweeps (or
proposals: see `summary.rejections_counted_by`), and processor time; of each pair of runs the two-sample
Kolmogorov–Smirnov test of the F1 of their chains; and the densities in one picture.

The fact a newcomer would get wrong: the sample of the test is the chains, one number each. Sweeps of one
chain are not independent.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.chains.run_directory import require_each, require_numbers
from scfg_sampler.core.files import PathLike, atomic_path, read_lines
from scfg_sampler.core.json_text import WRONG_RECORD, parse_json
from scfg_sampler.errors import InputError, SettingsError

__all__ = ["Row", "compare", "plot_densities", "read_summary"]


class Row(NamedTuple):
    """What is to be said of one run.

    Attributes
    ----------
    name : str
    approach : str
    chains : int
    f1 : float64, shape (chains,)
        Empty for runs without gold trees.
    rejections : float64, shape (chains,)
        In a thousand sweeps, or proposals.
    cpu_seconds : float
    """

    name: str
    approach: str
    chains: int
    f1: np.ndarray
    rejections: np.ndarray
    cpu_seconds: float


def read_summary(run: PathLike) -> Row:
    """What the summary of a run directory says.

    Raises
    ------
    InputError
        The directory holds no summary of `pcfg sample`.
    """
    path = Path(run) / "summary.json"
    try:
        found = parse_json("\n".join(read_lines(path)))
        require_each(int, found["chains"])
        scores, rejections = found.get("f1_of_chains", []), found["rejections_per_thousand_of_chains"]
        require_numbers(*scores, *rejections, found["cpu_seconds"])
        return Row(
            str(run),
            found["approach"],
            found["chains"],
            np.array(scores, dtype=float),
            np.array(rejections, dtype=float),
            float(found["cpu_seconds"]),
        )
    except WRONG_RECORD:
        raise InputError(
            path, None, "is not the summary of a run of pcfg sample", "Name its directory"
        ) from None


def compare(rows: list[Row]) -> list[tuple[str, str, float, float]]:
    """Names of each pair of runs with F1, the Kolmogorov–Smirnov statistic of their chains' F1, and its p."""
    from scipy import stats

    results = []
    for a, b in itertools.combinations([row for row in rows if len(row.f1)], 2):
        test = stats.ks_2samp(a.f1, b.f1)
        results.append((a.name, b.name, float(test.statistic), float(test.pvalue)))
    return results


def plot_densities(rows: list[Row], path: PathLike) -> None:
    """Draw the densities of the chains' F1, one curve a run (figure 1 of the paper).

    Raises
    ------
    SettingsError
        matplotlib is not installed, the format is unknown, or no run has three different values of F1.
    """
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise SettingsError("plots need matplotlib: pip install 'scfg-sampler[report]'") from None
    from scipy import stats

    rows = [row for row in rows if len(np.unique(row.f1)) >= 3]
    if not rows:
        raise SettingsError("no run has three chains with F1: use --chains 3 or more and --gold")
    kind = Path(path).suffix.removeprefix(".").lower()
    if kind not in ("svg", "pdf", "png"):
        raise SettingsError(f"--plot {path}: the name must end in .svg, .pdf or .png")
    low, high = min(row.f1.min() for row in rows), max(row.f1.max() for row in rows)
    margin = 0.25 * (high - low)
    at = np.linspace(low - margin, high + margin, 400)
    with matplotlib.rc_context({"svg.hashsalt": "scfg-sampler"}), atomic_path(path) as temporary:
        figure = Figure(figsize=(6.0, 3.6), layout="constrained")
        axes = figure.add_subplot()
        for row, line in zip(rows, itertools.cycle(("-", "--", ":", "-.")), strict=False):
            axes.plot(at, stats.gaussian_kde(row.f1)(at), line, label=row.approach)
        axes.set_xlabel("mean F1 of a chain")
        axes.set_ylabel("density")
        axes.legend(frameon=False)
        metadata = {"Date": None} if kind == "svg" else {"CreationDate": None} if kind == "pdf" else None
        figure.savefig(temporary, format=kind, metadata=metadata)
