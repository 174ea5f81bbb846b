"""Traces as curves: the log joint by sweep and by processor seconds.

The fact a newcomer would get wrong: log joints compare only under one model. Two bases, or two strengths, are
two models; and tracked seating counts the seats, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.chains.chain import read_trace
from scfg_sampler.core.files import PathLike, atomic_output, atomic_path
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import InputError, SettingsError
from scfg_sampler.learner.chains import chain_directories

__all__ = ["Curve", "draw_curves", "picture_ending", "read_curves", "write_curves"]


class Curve(NamedTuple):
    """The log joint of some runs, sweep by sweep."""

    sweep: np.ndarray
    """float64 (N,): from 0."""
    seconds: np.ndarray
    """float64 (N,): mean processor seconds after each sweep."""
    mean: np.ndarray
    """float64 (N,): of the log joints."""
    low: np.ndarray
    """float64 (N,): the lowest."""
    high: np.ndarray
    """float64 (N,): the highest."""
    num_runs: int


def read_curves(labels: Mapping[str, Sequence[PathLike]], *, first: int = 0) -> dict[str, Curve]:
    """The curve of every label; runs of several chains count as so many runs.

    Parameters
    ----------
    labels : mapping from str to run directories
    first : int
        Sweeps before it are left out.

    Raises
    ------
    InputError
        A run has no trace, or that of another program.
    SettingsError
        No sweeps are left, or `first` is negative.
    """
    if first < 0:
        raise SettingsError(f"--first is {first}; it must be at least 0")
    curves = {}
    for label, directories in labels.items():
        runs = [chain for directory in directories for chain in chain_directories(directory)]
        traces = [_trace(run / "trace.tsv") for run in runs]
        length = min(len(trace["sweep"]) for trace in traces)
        if length <= first:
            raise SettingsError(
                f"--first is {first}; the shortest run of {label} has {counted(length, 'sweep')}"
            )
        rows = slice(first, length)
        joint = np.array([trace["log_joint"][rows] for trace in traces])
        seconds = np.mean([trace["cpu_seconds"][rows] for trace in traces], axis=0)
        curves[label] = Curve(
            traces[0]["sweep"][rows],
            seconds,
            joint.mean(axis=0),
            joint.min(axis=0),
            joint.max(axis=0),
            len(runs),
        )
    return curves


def _trace(path: Path) -> dict[str, np.ndarray]:
    """The columns of a trace that has those that are drawn."""
    trace, hint = read_trace(path), "Name runs of 'scfg-sampler sample'"
    for name in ("log_joint", "cpu_seconds"):
        if name not in trace:
            raise InputError(path, 1, f"has no column {name!r}", hint)
    if not np.isfinite(trace["sweep"]).all():
        raise InputError(path, None, "has a sweep that is no number", hint)
    return trace


def picture_ending(path: PathLike) -> str:
    """The format that a picture's name asks for: svg, pdf or png.

    Raises
    ------
    SettingsError
        It asks for none of these.
    """
    ending = Path(path).suffix.removeprefix(".")
    if ending not in ("svg", "pdf", "png"):
        raise SettingsError(f"--output is {path}; its name must end in .svg, .pdf or .png")
    return ending


def draw_curves(curves: Mapping[str, Curve], path: PathLike, *, title: str = "") -> None:
    """Draw the curves, by sweep on the left and by processor seconds on the right.

    Parameters
    ----------
    curves : mapping from label to Curve
    path : path
        A picture in the format of its ending.
    title : str

    Raises
    ------
    SettingsError
        matplotlib is not there, or the name ends in something else.
    """
    ending = picture_ending(path)
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise SettingsError("pictures need matplotlib: pip install 'scfg-sampler[report]'") from None
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for panel, name in zip(panels, ("sweep", "seconds"), strict=True):
        for label, curve in curves.items():
            x = getattr(curve, name)
            (line,) = panel.plot(x, curve.mean / 1e3, label=label, linewidth=1.3)
            panel.fill_between(x, curve.low / 1e3, curve.high / 1e3, color=line.get_color(), alpha=0.2)
        panel.grid(alpha=0.3)
    panels[0].set(xlabel="sweep", ylabel="log joint / 1000")
    panels[1].set(xlabel="processor seconds")
    panels[1].legend(loc="lower right")
    if title:
        figure.suptitle(title)
    # Text as text, and nothing that differs from one time to the next.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "curves"}), atomic_path(path) as temporary:
        dateless = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(ending)
        figure.savefig(temporary, dpi=150, format=ending, metadata=dateless)


def write_curves(curves: Mapping[str, Curve], path: PathLike) -> None:
    """Write the numbers, a row for every label and sweep, tab-separated.

    Parameters
    ----------
    curves : mapping from label to Curve
    path : path
    """
    with atomic_output(path) as stream:
        stream.write("label\tsweep\tcpu_seconds\tlog_joint\tlowest\thighest\truns\n")
        for label, curve in curves.items():
            columns = curve.sweep, curve.seconds, curve.mean, curve.low, curve.high
            for sweep, seconds, mean, low, high in zip(*columns, strict=True):
                stream.write(
                    f"{label}\t{int(sweep)}\t{seconds:.3f}\t{mean:.2f}\t{low:.2f}\t{high:.2f}\t{curve.num_runs}\n"
                )
