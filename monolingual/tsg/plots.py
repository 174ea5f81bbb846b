"""Pictures of a grammar: figure 4 of Cohn et al. (2009), the sizes of its elementary trees.

The fact a newcomer would get wrong: the last bar of a panel stands for its size and all larger ones, so that
a few trees that are whole sentences do not flatten the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scfg_sampler.core.files import PathLike, atomic_path
from scfg_sampler.errors import SettingsError

__all__ = ["FORMATS", "check_plot", "plot_histograms", "save_plot"]

FORMATS = ("svg", "pdf", "png")
_MOST_BARS = 15


def check_plot(path: PathLike) -> str:
    """The format that a file's name asks for.

    Raises
    ------
    SettingsError
        It asks for none of `FORMATS`, or matplotlib is not installed.
    """
    suffix = Path(path).suffix.removeprefix(".")
    if suffix not in FORMATS:
        endings = ", ".join(f".{name}" for name in FORMATS)
        raise SettingsError(f"--plot is {path}; end the name in one of {endings}")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise SettingsError("--plot needs matplotlib: pip install 'scfg-sampler[report]'") from None
    return suffix


def plot_histograms(histograms: Mapping[str, Mapping[int, int]]) -> Any:
    """A matplotlib figure with a panel for each histogram.

    Parameters
    ----------
    histograms : dict from name to dict from size to number
        As `statistics.histograms` makes them.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.0 * len(histograms), 2.6), layout="constrained")
    panels = figure.subplots(1, len(histograms), squeeze=False).ravel().tolist()
    for panel, (name, counts) in zip(panels, histograms.items(), strict=True):
        first = min(counts, default=0)
        last = min(max(counts, default=0), first + _MOST_BARS - 1)
        sizes = range(first, last + 1)
        heights = [counts.get(size, 0) for size in sizes]
        heights[-1] += sum(number for size, number in counts.items() if size > last)
        panel.bar(sizes, heights, color="#4c72b0")
        is_cut = max(counts, default=0) > last
        panel.set_xticks(sizes[::2], [f"{s}+" if is_cut and s == last else str(s) for s in sizes[::2]])
        panel.set_title(name, fontsize=9)
        panel.tick_params(labelsize=7)
    panels[0].set_ylabel("elementary trees", fontsize=8)
    return figure


def save_plot(figure: Any, path: PathLike) -> None:
    """Write a figure under a temporary name, then rename. It has no date: equal grammars give equal files.

    Parameters
    ----------
    figure : matplotlib figure
    path : path
        Its ending is the format, one of `FORMATS`.
    """
    import matplotlib

    suffix = check_plot(path)
    dateless = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(suffix, {})
    with matplotlib.rc_context({"svg.hashsalt": "scfg-sampler"}), atomic_path(path) as temporary:
        figure.savefig(temporary, format=suffix, dpi=150, metadata=dateless)
