"""A dependency model: its tags and probabilities, as readable text and back.

::

    # scfg-monolingual dmv: 2 tags, method em
    root VB 0.7
    stop VB left adjacent 0.4            go on with the rest, 0.6
    child VB left NN 0.9
    child VB left further NN 0.2         only in models whose children depend on adjacency

Probabilities that are left out are 0, but those of a multinomial of which nothing is given are equal.

The fact a newcomer would get wrong: a model knows the tags it was trained on, and other text has others. What
parses, uses `weights_for`: a new tag is a dependent as often as the rarest one, and has dependents as tags
have on average.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from monolingual.dmv.layout import (
    ADJACENCIES,
    DIRECTIONS,
    Layout,
    num_parameters,
    parameter_families,
)
from monolingual.priors.multinomials import normalise, repeat_per_choice
from scfg_sampler.core.files import PathLike, atomic_output, read_lines
from scfg_sampler.core.numerals import real_number
from scfg_sampler.errors import InputError

__all__ = [
    "SMOOTHING",
    "DmvModel",
    "is_model",
    "parts",
    "read_model",
    "smoothed",
    "weights_for",
    "write_model",
]

SMOOTHING = 1e-6
"""The share of the uniform distribution mixed into every multinomial before it meets new text."""

_SIGNATURE = "# scfg-monolingual dmv"


class DmvModel(NamedTuple):
    """A model.

    Attributes
    ----------
    tags : tuple of str
    layout : Layout
    probs : float64
        In the order of `Layout`.
    """

    tags: tuple[str, ...]
    layout: Layout
    probs: np.ndarray


def parts(layout: Layout, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Views of an array in the order of the parameters.

    Returns
    -------
    (root, stop, child) : shapes (T,), (T, 2, 2, 2) by head, direction, adjacency and (stop, go), and
        (T, 2, V, T) by head, direction, adjacency and dependent.
    """
    tags = layout.num_tags
    root, stop, child = values[:tags], values[tags : 9 * tags], values[9 * tags :]
    return root, stop.reshape(tags, 2, 2, 2), child.reshape(tags, 2, layout.child_valences, tags)


def smoothed(model: DmvModel) -> DmvModel:
    """The model with a crumb of the uniform distribution in every multinomial, so that nothing is
    impossible."""
    families = parameter_families(model.layout)
    sizes = repeat_per_choice(families, np.diff(families.start))
    return model._replace(probs=(1.0 - SMOOTHING) * model.probs + SMOOTHING / sizes)


def weights_for(model: DmvModel, tags: Iterable[str]) -> DmvModel:
    """The model, smoothed, with weights for tags it does not know; these are no longer probabilities."""
    known = set(model.tags)
    new = [tag for tag in dict.fromkeys(tags) if tag not in known]
    model = smoothed(model)
    if not new:
        return model
    old, size = len(model.tags), len(model.tags) + len(new)
    layout = Layout(size, model.layout.child_valences)
    probs = np.zeros(num_parameters(layout))
    root, stop, child = parts(layout, probs)
    old_root, old_stop, old_child = parts(model.layout, model.probs)
    root[:old], root[old:] = old_root, old_root.min()
    stop[:old], stop[old:] = old_stop, old_stop.mean(axis=0)
    child[:old, ..., :old], child[old:, ..., :old] = old_child, old_child.mean(axis=0)
    child[..., old:] = child[..., :old].min(axis=-1, keepdims=True)
    return DmvModel((*model.tags, *new), layout, probs)


def write_model(path: PathLike, model: DmvModel, *, comment: str = "") -> None:
    """Write a model as text; what has the probability 0 is left out."""
    root, stop, child = parts(model.layout, model.probs)
    with atomic_output(path) as stream:
        stream.write(f"{_SIGNATURE}: {len(model.tags)} tags{', ' + comment if comment else ''}\n")
        stream.writelines(f"root {model.tags[i]} {root[i]:.17g}\n" for i in _descending(root))
        for h, head in enumerate(model.tags):
            for d, direction in enumerate(DIRECTIONS):
                for v, adjacency in enumerate(ADJACENCIES):
                    stream.write(f"stop {head} {direction} {adjacency} {stop[h, d, v, 0]:.17g}\n")
                for v in range(model.layout.child_valences):
                    place = direction
                    if model.layout.child_valences == 2:
                        place += f" {ADJACENCIES[v]}"
                    stream.writelines(
                        f"child {head} {place} {model.tags[i]} {child[h, d, v, i]:.17g}\n"
                        for i in _descending(child[h, d, v])
                    )


def is_model(path: PathLike) -> bool:
    """Whether a file begins as a model does."""
    return next(iter(read_lines(path)), "").startswith(_SIGNATURE)


def read_model(path: PathLike) -> DmvModel:
    """Read a model.

    Raises
    ------
    InputError
        Names the line that is no parameter, or whose number is no probability, or the multinomial that
        does not sum to 1.
    """
    rows: list[tuple[int, list[str], float]] = []
    for number, line in enumerate(read_lines(path), start=1):
        fields = line.split()
        if not fields or line.startswith("#"):
            continue
        if not _is_parameter(fields):
            hint = "Write 'root TAG P', 'stop TAG left adjacent P' or 'child TAG left TAG P'"
            raise InputError(path, number, f"{line.strip()!r} is no parameter of a dependency model", hint)
        try:
            value = real_number(fields[-1])
        except ValueError:
            value = np.nan
        if not 0.0 <= value <= 1.0:
            raise InputError(path, number, f"{fields[-1]!r} is no probability", "Give a number from 0 to 1")
        rows.append((number, fields, value))
    tags = tuple(sorted({tag for _, fields, _ in rows for tag in _tags_of(fields)}))
    if not tags:
        raise InputError(path, None, "holds no parameter of a dependency model", "Train one with dmv train")
    layout = Layout(len(tags), 1 + any(fields[0] == "child" and len(fields) == 6 for _, fields, _ in rows))
    probs = np.zeros(num_parameters(layout))
    _place(path, rows, {tag: at for at, tag in enumerate(tags)}, layout, probs)
    families = parameter_families(layout)
    sums = np.add.reduceat(probs, families.start[:-1])
    wrong = np.flatnonzero((np.abs(sums - 1.0) > 1e-6) & (sums > 0.0))
    if len(wrong):
        found = f"the probabilities of {_family_name(tags, layout, int(wrong[0]))} sum to {sums[wrong[0]]:g}"
        raise InputError(path, None, found, "They must sum to 1")
    return DmvModel(tags, layout, normalise(families, probs))


def _is_parameter(fields: Sequence[str]) -> bool:
    kind, size = fields[0], len(fields)
    if kind == "root":
        return size == 3
    if kind == "stop":
        return size == 5 and fields[2] in DIRECTIONS and fields[3] in ADJACENCIES
    right = kind == "child" and size in (5, 6) and fields[2] in DIRECTIONS
    return right and (size == 5 or fields[3] in ADJACENCIES)


def _tags_of(fields: Sequence[str]) -> list[str]:
    return [fields[1], fields[-2]] if fields[0] == "child" else [fields[1]]


def _place(path: PathLike, rows, number_of: dict[str, int], layout: Layout, probs: np.ndarray) -> None:
    """Put the numbers of a file where they belong."""
    root, stop, child = parts(layout, probs)
    for number, fields, value in rows:
        tag = number_of[fields[1]]
        if fields[0] == "root":
            root[tag] = value
            continue
        d = DIRECTIONS.index(fields[2])
        if fields[0] == "stop":
            stop[tag, d, ADJACENCIES.index(fields[3])] = value, 1.0 - value
        elif len(fields) - 4 == layout.child_valences:
            v = ADJACENCIES.index(fields[3]) if len(fields) == 6 else 0
            child[tag, d, v, number_of[fields[-2]]] = value
        else:
            raise InputError(path, number, "a child without adjacency beside others with", "Give it to all")


def _family_name(tags: Sequence[str], layout: Layout, family: int) -> str:
    """What a multinomial is called in messages."""
    if family == 0:
        return "root"
    family -= 1
    size = len(tags)
    if family < 4 * size:
        return f"stop {tags[family // 4]} {DIRECTIONS[family // 2 % 2]} {ADJACENCIES[family % 2]}"
    head, rest = divmod(family - 4 * size, 2 * layout.child_valences)
    direction, v = divmod(rest, layout.child_valences)
    extra = f" {ADJACENCIES[v]}" if layout.child_valences == 2 else ""
    return f"child {tags[head]} {DIRECTIONS[direction]}{extra}"


def _descending(values: np.ndarray) -> list[int]:
    """Indices of positive values, the largest first."""
    return [int(i) for i in np.argsort(-values, kind="stable") if values[i] > 0.0]
