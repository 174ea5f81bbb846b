"""A dependency model: its tags and probabilities, as readable text and back.

::

    # scfg-monolingual dmv: 2 tags, method em
    root VB 0.7
    stop VB left adjacent 0.4            go on with the rest, 0.6
    child VB left NN 0.9
    child VB left further NN 0.2         only in models whose children depend on adjacency

Probabilities that are left out are 0, but those of a multinomial of which nothing is given are equal. A file
is known for a model by its first parameter, not by the comment; those of JDAGEEM are too (`jdageem.py`).
Numbers with few digits sum to 1 as nearly as they can.

The fact a newcomer would get wrong: a model knows the tags it was trained on, and other text has others. What
parses, uses `weights_for`: a new tag is a dependent as often as the rarest one, and has dependents as tags
have on average.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from monolingual.dmv.jdageem import is_weight, parse_weight
from monolingual.dmv.layout import (
    ADJACENCIES,
    DIRECTIONS,
    Layout,
    num_parameters,
    parameter_families,
)
from monolingual.priors.multinomials import normalise, repeat_per_choice
from scfg_sampler.core.arrays.vocabulary import Vocabulary
from scfg_sampler.core.files import PathLike, atomic_output, read_lines
from scfg_sampler.core.numerals import real_number
from scfg_sampler.core.wording import counted
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
_COMMENTS = ("#", "//")
_KINDS = ("root", "stop", "continue", "child")

_EXACT, _ROUNDED = 1e-6, 1e-3
"""How far sums may be from 1: at the least, and at the most where numbers have few digits."""


class DmvModel(NamedTuple):
    """A model.

    Attributes
    ----------
    tags : tuple of str
    layout : Layout
    probs : float64
        In the order of `Layout`. Those of JDAGEEM's variational files are weights, which sum to less than 1.
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
        stream.write(f"{_SIGNATURE}: {counted(len(model.tags), 'tag')}{', ' + comment if comment else ''}\n")
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
    """Whether the first line of a file that is no comment is a parameter, ours or JDAGEEM's."""
    for line in read_lines(path):
        if line.strip() and not line.startswith(_COMMENTS):
            return "\t" not in line.strip() and (_is_parameter(line.split()) or is_weight(line))
        if line.startswith(_SIGNATURE):
            return True
    return False


def read_model(path: PathLike) -> DmvModel:
    """Read a model, ours or JDAGEEM's.

    Raises
    ------
    InputError
        Names the line that is no parameter, or whose number is no probability, or the multinomial that
        does not sum to 1.
    """
    is_theirs, words, found = _columns(path)
    if not words:
        raise InputError(path, None, "holds no parameter of a dependency model", "Train one with dmv train")
    tags = tuple(sorted(words))
    rank = {tag: at for at, tag in enumerate(tags)}
    number_of = np.array([rank[tag] for tag in words])
    is_child = found.kind == _KINDS.index("child")
    layout = Layout(len(tags), 1 + bool(np.any(is_child & (found.adjacency >= 0))))
    probs, errors = np.zeros(num_parameters(layout)), np.zeros(num_parameters(layout))
    places = _places(path, found, number_of, layout)
    if not is_theirs:
        _refuse_repeated(path, places, found.number)
    probs[places], errors[places] = found.value, found.error
    families = parameter_families(layout)
    sums, slack = (np.add.reduceat(values, families.start[:-1]) for values in (probs, errors))
    allowed = np.clip(slack, _EXACT, _ROUNDED)
    wrong = np.flatnonzero((np.abs(sums - 1.0) > allowed) & (sums > 0.0))
    if not len(wrong):
        return DmvModel(tags, layout, normalise(families, probs))
    if is_theirs:
        given = repeat_per_choice(families, sums) > 0.0
        return DmvModel(tags, layout, np.where(given, probs, normalise(families, probs)))
    text = f"the probabilities of {_family_name(tags, layout, int(wrong[0]))} sum to {sums[wrong[0]]:g}"
    raise InputError(path, None, text, "They must sum to 1")


class _Columns(NamedTuple):
    """All rows of a file in flat arrays.

    Attributes
    ----------
    number : uint32
        Lines.
    kind, direction, adjacency : int8
        Indices of `_KINDS`, `DIRECTIONS` and `ADJACENCIES`; −1 where there is none.
    head, dependent : int32
        Tags in the order in which they were met; −1 where there is none.
    value, error : float64
    """

    number: np.ndarray
    kind: np.ndarray
    direction: np.ndarray
    adjacency: np.ndarray
    head: np.ndarray
    dependent: np.ndarray
    value: np.ndarray
    error: np.ndarray


def _columns(path: PathLike) -> tuple[bool, list[str], _Columns]:
    """Whether a file is JDAGEEM's, its tags, and its rows."""
    tags = Vocabulary()
    columns: list[Any] = [array(code) for code in "Ibbbiidd"]
    is_theirs = None
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip() or line.startswith(_COMMENTS):
            continue
        if is_theirs is None:
            is_theirs = is_weight(line)
        for row in [_weight_row(path, number, line)] if is_theirs else _rows(path, number, line):
            kind, head, *rest = row.fields
            places = (
                DIRECTIONS.index(rest[0]) if rest else -1,
                ADJACENCIES.index(rest[1]) if len(rest) > 1 and (kind != "child" or len(rest) == 3) else -1,
            )
            numbers = tags.add(head), tags.add(rest[-1]) if kind == "child" else -1
            values = number, _KINDS.index(kind), *places, *numbers, row.value, row.error
            for column, value in zip(columns, values, strict=True):
                column.append(value)
    found = _Columns(*(np.frombuffer(column, column.typecode) for column in columns))
    return bool(is_theirs), tags.words, found


class _Row(NamedTuple):
    """A line: what it is about, its number, and how far that is from what was rounded."""

    fields: tuple[str, ...]
    value: float
    error: float


def _rows(path: PathLike, number: int, line: str) -> list[_Row]:
    """A line of our own format; going on has the rest of what stopping has."""
    *fields, text = line.split()
    if not _is_parameter([*fields, text]):
        hint = "Write 'root TAG P', 'stop TAG left adjacent P' or 'child TAG left TAG P'"
        raise InputError(path, number, f"{line.strip()!r} is no parameter of a dependency model", hint)
    try:
        value = real_number(text)
    except ValueError:
        value = np.nan
    if not 0.0 <= value <= 1.0:
        raise InputError(path, number, f"{text!r} is no probability", "Give a number from 0 to 1")
    row = _Row(tuple(fields), value, _half_unit(text))
    rest = row._replace(fields=("continue", *fields[1:]), value=1.0 - value)
    return [row, rest] if fields[0] == "stop" else [row]


def _weight_row(path: PathLike, number: int, line: str) -> _Row:
    """A line of JDAGEEM's."""
    found = parse_weight(line)
    if found is None:
        hint = "Expected lines such as 'leftattach NN <- VB : -1.5', with the logarithm of a weight"
        raise InputError(path, number, f"{line.strip()!r} is no weight of a model of JDAGEEM", hint)
    return _Row(found.fields, found.value, found.value * _half_unit(line.split()[-1]))


def _half_unit(text: str) -> float:
    """Half a unit of the last digit of a number."""
    digits, _, power = text.lower().partition("e")
    places = len(digits.partition(".")[2])
    return 0.5 * 10.0 ** min(max(int(power or 0), -400) - places, 0)


def _is_parameter(fields: Sequence[str]) -> bool:
    kind, size = fields[0], len(fields)
    if kind == "root":
        return size == 3
    if kind == "stop":
        return size == 5 and fields[2] in DIRECTIONS and fields[3] in ADJACENCIES
    right = kind == "child" and size in (5, 6) and fields[2] in DIRECTIONS
    return right and (size == 5 or fields[3] in ADJACENCIES)


def _places(path: PathLike, found: _Columns, number_of: np.ndarray, layout: Layout) -> np.ndarray:
    """Where the numbers of rows belong among the parameters."""
    root, stop, child = parts(layout, np.arange(num_parameters(layout)))
    is_root, is_child = (found.kind == _KINDS.index(kind) for kind in ("root", "child"))
    is_stop = ~(is_root | is_child)
    if layout.child_valences == 2 and np.any(is_odd := is_child & (found.adjacency < 0)):
        line = int(found.number[np.argmax(is_odd)])
        raise InputError(path, line, "a child without adjacency beside others with", "Give it to all")
    head, direction, adjacency = number_of[found.head], found.direction, np.maximum(found.adjacency, 0)
    places = np.empty(len(head), dtype=np.int64)
    places[is_root] = root[head[is_root]]
    goes_on = (found.kind == _KINDS.index("continue")).astype(np.int8)
    places[is_stop] = stop[tuple(index[is_stop] for index in (head, direction, adjacency, goes_on))]
    dependent = number_of[found.dependent[is_child]]
    places[is_child] = child[head[is_child], direction[is_child], adjacency[is_child], dependent]
    return places


def _refuse_repeated(path: PathLike, places: np.ndarray, number: np.ndarray) -> None:
    """Raise InputError if a line gives a parameter that one before it has given."""
    order = np.argsort(places, kind="stable")
    is_again = places[order][1:] == places[order][:-1]
    if np.any(is_again):
        at = int(np.argmin(np.where(is_again, order[1:], len(order))))
        first, again = number[order[at]], number[order[at + 1]]
        raise InputError(path, int(again), f"gives what line {first} has given", "Keep one of them")


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
