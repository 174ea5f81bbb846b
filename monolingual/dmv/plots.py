"""Pictures of learnt covariances; the only import of matplotlib for dependency models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from monolingual.dmv.layout import ADJACENCIES, DIRECTIONS, Layout, parameter_families
from monolingual.priors.covariances import covariances
from scfg_sampler.core.archives import read_arrays
from scfg_sampler.core.files import PathLike, atomic_path
from scfg_sampler.errors import InputError, SettingsError

__all__ = ["child_covariances", "correlations", "plot_covariances", "read_covariances"]


def read_covariances(path: PathLike) -> tuple[tuple[str, ...], Layout, np.ndarray]:
    """The tags, the layout and the covariances, row by row, that `dmv train --covariances` wrote.

    Raises
    ------
    InputError
        The file is missing or something else.
    """
    found, hint = "holds no covariances", "Write it with dmv train --covariances"
    kinds = {"tags": ("U", 1), "child_valences": ("iu", 0), "covariance": ("f", 1)}
    arrays = read_arrays(path, kinds, found, hint)
    tags, valences, flat = tuple(arrays["tags"].tolist()), int(arrays["child_valences"]), arrays["covariance"]
    if not tags or valences not in (1, 2):
        raise InputError(path, None, found, hint)
    layout = Layout(len(tags), valences)
    numbers = int((np.diff(parameter_families(layout).start) ** 2).sum())
    if len(flat) != numbers or not np.isfinite(flat).all():
        wrong = f"{found}: {len(flat)} numbers where {numbers} finite ones should be"
        raise InputError(path, None, wrong, hint)
    return tags, layout, flat


def child_covariances(
    tags: Sequence[str], layout: Layout, flat: np.ndarray, head: str
) -> dict[str, np.ndarray]:
    """The covariance matrix of each child distribution of a head, by what the distribution is called.

    Raises
    ------
    SettingsError
        The head is not one of the tags.
    """
    if head not in tags:
        raise SettingsError(f"--head is {head}, which is not a tag of the model: {', '.join(tags)}")
    matrices = covariances(parameter_families(layout), flat)
    first = 1 + 4 * layout.num_tags + 2 * layout.child_valences * list(tags).index(head)
    found = {}
    for d, direction in enumerate(DIRECTIONS):
        for v in range(layout.child_valences):
            name = f"{head} {direction}" + (f" {ADJACENCIES[v]}" if layout.child_valences == 2 else "")
            found[name] = matrices[first + d * layout.child_valences + v]
    return found


def correlations(matrix: np.ndarray) -> np.ndarray:
    """A covariance matrix as correlations."""
    deviations = np.sqrt(matrix.diagonal())
    return matrix / np.outer(deviations, deviations)


def plot_covariances(path: PathLike, tags: Sequence[str], matrices: dict[str, np.ndarray]) -> None:
    """Draw correlations as heat maps beside each other, those of tags with themselves left out.

    The file has no date: equal covariances give equal files.

    Raises
    ------
    SettingsError
        matplotlib is not installed.
    """
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise SettingsError("--plot needs matplotlib: pip install 'scfg-sampler[report]'") from None

    figure = Figure(figsize=(6.0 * len(matrices), 6.0), layout="constrained")
    grid: Any = figure.subplots(1, len(matrices), squeeze=False)
    for axes, (name, matrix) in zip(grid[0], matrices.items(), strict=True):
        shown = correlations(matrix)
        np.fill_diagonal(shown, np.nan)
        top = max(float(np.nanmax(np.abs(shown))), 1e-6) if len(tags) > 1 else 1.0
        image = axes.imshow(shown, cmap="RdBu_r", vmin=-top, vmax=top)
        axes.set_xticks(range(len(tags)), tags, rotation=90, fontsize=6)
        axes.set_yticks(range(len(tags)), tags, fontsize=6)
        axes.set_title(f"{name}: correlations")
        figure.colorbar(image, ax=axes, shrink=0.7)
    ending = str(path).rpartition(".")[2]
    dateless = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(ending, {})
    with matplotlib.rc_context({"svg.hashsalt": "scfg-sampler"}), atomic_path(path) as temporary:
        figure.savefig(temporary, format=ending, metadata=dateless)
