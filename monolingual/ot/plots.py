"""Pictures of a posterior: traces, marginal densities, who outranks whom, predicted against observed.

The ranking is drawn as a Hasse diagram: constraint i stands above k if it does so in an evaluation with at
least a given probability, averaged over the posterior; a line is left out where it follows from two others.
Heights are the posterior medians, so that the picture is a scale as well as an order.

The fact a newcomer would get wrong: the pictures are made without a display and are the same, byte for
byte, for the same run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from monolingual.ot.summaries import kernel_density, modes
from monolingual.ot.tableaux import Tableaux, relative_frequencies
from scfg_sampler.core.files import PathLike, atomic_path
from scfg_sampler.errors import SettingsError

__all__ = [
    "FORMATS",
    "cover_edges",
    "plot_densities",
    "plot_fit",
    "plot_ranking",
    "plot_traces",
    "save_figure",
]

FORMATS = ("svg", "pdf", "png")
_COLUMNS = 3
_MOST_POINTS = 2000  # Of a trace.


def _figure(width: float, height: float) -> Any:
    """An empty figure that needs no display."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise SettingsError("plots need matplotlib: pip install 'scfg-sampler[report]'") from None
    return Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: Any, path: PathLike, format: str) -> None:
    """Write a figure under a temporary name, then rename. It has no date: equal runs give equal files.

    Parameters
    ----------
    figure : matplotlib figure
    path : path
    format : str
        One of `FORMATS`.
    """
    import matplotlib

    dateless = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(format, {})
    with matplotlib.rc_context({"svg.hashsalt": "scfg-sampler"}), atomic_path(path) as temporary:
        figure.savefig(temporary, format=format, dpi=150, metadata=dateless)


def _panels(names: Sequence[str], height: float) -> tuple[Any, list[Any]]:
    """A figure with a panel for each name."""
    rows = -(-len(names) // _COLUMNS)
    figure = _figure(3.2 * _COLUMNS, height * rows)
    axes = figure.subplots(rows, _COLUMNS, squeeze=False).ravel().tolist()
    for axis in axes[len(names) :]:
        axis.set_axis_off()
    for axis, name in zip(axes, names, strict=False):
        axis.set_title(_plain(name), fontsize=9)
        axis.tick_params(labelsize=7)
    return figure, axes


def _plain(text: str) -> str:
    """The text with nothing that matplotlib would take for mathematics."""
    return text.replace("$", r"\$")


def _in_legend(text: str) -> str:
    """The text as `_plain` has it, and so that matplotlib does not leave it out, as what begins with `_`."""
    return " " * text.startswith("_") + _plain(text)


def plot_traces(chains: Sequence[np.ndarray], names: Sequence[str], first: int = 0) -> Any:
    """A panel for each constraint, a line for each chain.

    Parameters
    ----------
    chains : sequence of float64 arrays (draws, N)
    names : sequence of N str
    first : int
        The sweep of the first draw.
    """
    figure, axes = _panels(names, 1.6)
    for column, axis in enumerate(axes[: len(names)]):
        for chain in chains:
            step = max(1, len(chain) // _MOST_POINTS)
            axis.plot(first + np.arange(0, len(chain), step), chain[::step, column], linewidth=0.4)
    return figure


def plot_densities(chains: Sequence[np.ndarray], names: Sequence[str], bound: float | None = None) -> Any:
    """A panel for each constraint: histogram, kernel density, modes and median of the pooled draws.

    Parameters
    ----------
    chains : sequence of float64 arrays (draws, N)
    names : sequence of N str
    bound : float, optional
        The truncation.
    """
    figure, axes = _panels(names, 1.9)
    pooled = np.concatenate(list(chains))
    for column, axis in enumerate(axes[: len(names)]):
        draws = pooled[:, column]
        axis.hist(draws, bins=60, density=True, color="0.85")
        axis.axvline(float(np.median(draws)), color="0.4", linestyle=":", linewidth=1)
        if np.ptp(draws) > 0:
            axis.plot(*kernel_density(draws, bound=bound), linewidth=1.2)
            for mode in modes(draws, bound=bound):
                axis.axvline(mode, color="C3", linewidth=0.6)
        axis.set_yticks([])
    return figure


def cover_edges(outranking: np.ndarray, threshold: float) -> list[tuple[int, int]]:
    """The lines of the Hasse diagram: pairs of constraints, the upper one first.

    Parameters
    ----------
    outranking : float64, shape (N, N)
        As `summaries.outranking` returns it.
    threshold : float
        The least probability for being above, more than ½.

    Raises
    ------
    SettingsError
        The threshold is not between ½ and 1.
    """
    if not 0.5 < threshold < 1.0:
        raise SettingsError(f"--min-probability is {threshold:g}; it must be above 0.5 and below 1")
    above = outranking >= threshold
    # The relation need not be transitive by itself: close it along the order of mean outranking, then reduce.
    order = np.argsort(-outranking.sum(axis=1), kind="stable")
    place = np.argsort(order)
    above &= place[:, None] < place[None, :]
    for middle in order:
        above |= np.outer(above[:, middle], above[middle])
    implied = (above.astype(int) @ above.astype(int)) > 0
    return [(int(i), int(k)) for i, k in np.argwhere(above & ~implied)]


def plot_ranking(
    median: np.ndarray, outranking: np.ndarray, names: Sequence[str], threshold: float = 0.95
) -> Any:
    """The Hasse diagram of constraints, at the heights of their medians.

    Parameters
    ----------
    median : float64, shape (N,)
    outranking : float64, shape (N, N)
    names : sequence of N str
    threshold : float
    """
    edges = cover_edges(outranking, threshold)
    across = _spread(median)
    figure = _figure(8.0, 6.0)
    axis = figure.subplots()
    for upper, lower in edges:
        axis.plot(across[[upper, lower]], median[[upper, lower]], color="0.6", linewidth=0.8, zorder=1)
        middle = 0.5 * (across[upper] + across[lower]), 0.5 * (median[upper] + median[lower])
        label = f"{outranking[upper, lower]:.2f}"
        axis.text(*middle, label, fontsize=6, color="0.4", ha="center", va="center")
    for place, name in enumerate(names):
        frame = {"boxstyle": "round", "facecolor": "white", "edgecolor": "0.3", "linewidth": 0.8}
        axis.text(
            across[place],
            median[place],
            _plain(name),
            fontsize=8,
            ha="center",
            va="center",
            bbox=frame,
            zorder=2,
        )
    margin = 0.1 * max(float(np.ptp(median)), 1.0)
    axis.set(xlim=(-0.2, 1.2), ylim=(float(median.min()) - margin, float(median.max()) + margin), xticks=[])
    axis.set_ylabel("posterior median")
    axis.set_title(f"above with a probability of at least {threshold:g}", fontsize=9)
    return figure


def _spread(median: np.ndarray) -> np.ndarray:
    """Horizontal places in [0, 1] that keep neighbours in height apart."""
    across = np.full(len(median), 0.5)
    ladder = (0.5, 0.1, 0.9, 0.3, 0.7)
    for number, place in enumerate(np.argsort(-median, kind="stable")):
        across[place] = ladder[number % len(ladder)]
    return across


def plot_fit(tableaux: Tableaux, predictions: Mapping[str, np.ndarray]) -> Any:
    """Predicted against observed shares of all candidates, one kind of mark for each grammar.

    Parameters
    ----------
    tableaux : Tableaux
    predictions : mapping from names to float64 arrays of shape (C,)
    """
    index = tableaux.input_of()
    seen = np.bincount(index, tableaux.frequency, minlength=len(tableaux.inputs))[index] > 0
    observed = relative_frequencies(tableaux)[seen]
    figure = _figure(5.0, 5.0)
    axis = figure.subplots()
    axis.plot([0, 1], [0, 1], color="0.7", linewidth=0.8)
    for (name, probs), mark in zip(predictions.items(), "ox+s^vDP" * len(predictions), strict=False):
        face = {"facecolors": "none"} if mark in "os^vDP" else {}
        edge = f"C{list(predictions).index(name) % 10}"
        colour = {"edgecolors": edge} if face else {"color": edge}
        axis.scatter(
            observed, probs[seen], s=22, marker=mark, linewidths=0.9, label=_in_legend(name), **face, **colour
        )
    axis.set(xlabel="observed share", ylabel="predicted probability", xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    if len(predictions) > 1:
        axis.legend(fontsize=8, frameon=False)
    return figure
