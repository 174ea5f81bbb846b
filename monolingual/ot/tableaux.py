"""Tableaux: inputs, their candidates, how often each was observed, and the constraints each violates.

Read from text with the header `input output frequency CONSTRAINT …` between tabs or commas, from the files of
OTSoft, and from Praat's OTGrammar with a PairDistribution; which of these a file is, its beginning tells.
See `formats.py` and `praat.py` for how each is spelled.

Where candidates are whole analyses of which only a part is heard (a foot structure of which one hears the
stress), an `overt` column says what; candidates of an input with the same overt form are its parses.

The fact a newcomer would get wrong: frequencies may be counts or probabilities, and need not be whole. What a
learner makes of them is its own affair; `token_counts` says what the sampler does.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.vocabulary import Vocabulary
from scfg_sampler.core.files import PathLike
from scfg_sampler.errors import InputError, SettingsError

__all__ = [
    "LARGEST_FREQUENCY",
    "LARGEST_VALUE",
    "MOST_VIOLATIONS",
    "Row",
    "Tableaux",
    "are_probabilities",
    "build_tableaux",
    "candidate_name",
    "identical_candidates",
    "overt_forms",
    "refuse_overt",
    "relative_frequencies",
    "shortest_number",
    "token_counts",
    "with_constraints",
]

MOST_VIOLATIONS = 1_000_000_000
LARGEST_FREQUENCY = 1e15
"""Sums of such lose no single observation."""
LARGEST_VALUE = 1e100
"""Of a constraint: times numbers of violations, and added up, such are numbers still."""

_HUNDRED = 100.0  # Probabilities are taken as percentages.
_MOST_TOKENS = 50_000_000  # Each has values of its own: beyond it, more than a gigabyte.


class Tableaux(NamedTuple):
    """All tableaux of an analysis.

    Attributes
    ----------
    constraints : tuple of N str
    inputs : tuple of I str
    start : int64, shape (I + 1,)
        The candidates of input i are start[i], …, start[i + 1] − 1.
    outputs : tuple of C str
    frequency : float64, shape (C,)
        Counts or probabilities, not negative.
    violations : int64, shape (C, N)
        Not negative.
    overt : tuple of C str
        What is heard of each candidate; empty if all of it is.
    """

    constraints: tuple[str, ...]
    inputs: tuple[str, ...]
    start: np.ndarray
    outputs: tuple[str, ...]
    frequency: np.ndarray
    violations: np.ndarray
    overt: tuple[str, ...] = ()

    def candidates(self, index: int) -> range:
        """The candidates of an input."""
        return range(int(self.start[index]), int(self.start[index + 1]))

    def input_of(self) -> np.ndarray:
        """The input of every candidate, int64 of shape (C,)."""
        return np.repeat(np.arange(len(self.inputs)), np.diff(self.start))


class Row(NamedTuple):
    """A candidate as it stands in a file."""

    line: int
    input: str
    output: str
    frequency: float
    violations: tuple[int, ...]
    overt: str = ""


def build_tableaux(path: PathLike, constraints: Sequence[str], rows: Iterable[Row]) -> Tableaux:
    """The tableaux of rows in any order; inputs and candidates keep the order of their first appearance.

    A candidate that stands again with the same violations, as in a file with a line for each observation, is
    the same one; its frequencies are summed.

    Parameters
    ----------
    path : path
        For messages.
    constraints : sequence of str
    rows : iterable of Row

    Raises
    ------
    InputError
        A constraint has no name or that of another, there is no candidate, or one stands again
        with other violations.
    """
    names = tuple(constraints)
    for column, name in enumerate(names):
        if not name.strip():
            raise InputError(path, 1, f"constraint {column + 1} has no name", "Give it one")
        if name in names[:column]:
            raise InputError(path, 1, f"two constraints are named {name!r}", "Give them different names")
    found = _listed(rows)
    if not found.inputs:
        raise InputError(path, None, "has no candidate", "Give at least one input with its candidates")
    if not names:
        raise InputError(path, 1, "has no constraint", "Name at least one, and count its violations")
    violations = found.violations.reshape(len(found.line), len(names))
    first, candidate = _distinct(found)
    _refuse_two_kinds(path, found, violations, first[candidate])
    order = np.lexsort((first, found.input[first])).astype(np.int32)
    kept = first[order]
    return Tableaux(
        names,
        tuple(found.inputs),
        np.concatenate([[0], np.cumsum(np.bincount(found.input[kept]))]).astype(np.int64),
        tuple(map(found.outputs.__getitem__, found.output[kept])),
        np.bincount(candidate, found.frequency)[order],
        np.stack([column[kept] for column in violations.T], axis=1, dtype=np.int64),
        tuple(map(found.forms.__getitem__, found.form[kept])) if any(found.forms) else (),
    )


class _Listed(NamedTuple):
    """Rows as numbers, each name kept once: what stands in row r is inputs[input[r]], and so on."""

    inputs: list[str]
    outputs: list[str]
    forms: list[str]
    input: np.ndarray
    output: np.ndarray
    form: np.ndarray
    line: np.ndarray
    frequency: np.ndarray
    violations: np.ndarray


def _listed(rows: Iterable[Row]) -> _Listed:
    inputs, outputs, forms = Vocabulary(), Vocabulary(), Vocabulary()
    numbers = array("i"), array("i"), array("i"), array("I"), array("d"), array("i")
    for row in rows:
        numbers[0].append(inputs.add(row.input))
        numbers[1].append(outputs.add(row.output))
        numbers[2].append(forms.add(row.overt))
        numbers[3].append(row.line)
        numbers[4].append(row.frequency)
        numbers[5].extend(row.violations)
    columns = (np.frombuffer(column, column.typecode) for column in numbers)
    return _Listed(inputs.words, outputs.words, forms.words, *columns)


def _distinct(found: _Listed) -> tuple[np.ndarray, np.ndarray]:
    """The row in which each candidate first stands, and the candidate of each row."""
    key = found.input * np.int64(len(found.outputs)) + found.output
    _, first, candidate = np.unique(key, return_index=True, return_inverse=True)
    return first.astype(np.int32), candidate.astype(np.int32)


def _refuse_two_kinds(path: PathLike, found: _Listed, violations: np.ndarray, first: np.ndarray) -> None:
    """Refuse a row that has other violations, or another overt form, than the first of the same candidate."""
    has_others = np.zeros(len(first), dtype=np.bool_)
    for column in violations.T:  # One after the other, which takes less room.
        has_others |= column != column[first]
    is_other = has_others | (found.form != found.form[first])
    if not is_other.any():
        return
    row = int(np.argmax(is_other))
    form, output = found.inputs[found.input[row]], found.outputs[found.output[row]]
    line, before = int(found.line[row]), int(found.line[first[row]])
    if has_others[row]:
        text = f"input {form!r} has the candidate {output!r} in line {before}, with other violations"
        raise InputError(path, line, text, "Rename one of them, or mend the violations")
    overt, other = (found.forms[found.form[at]] for at in (first[row], row))
    text = f"{output!r} of input {form!r} has the overt form {overt!r} in line {before}, and {other!r} here"
    raise InputError(path, line, text, "Spell it alike, or rename one of the two outputs")


def overt_forms(tableaux: Tableaux) -> tuple[Tableaux, np.ndarray]:
    """What is heard: tableaux with an output for each overt form, and the form of each candidate.

    Returns
    -------
    (Tableaux, int64 of shape (C,))
        The frequency of a form is the sum of those of its parses, wherever a file has them. It has no
        violations. Without overt forms, the tableaux themselves.
    """
    if not tableaux.overt:
        return tableaux, np.arange(len(tableaux.outputs))
    place: dict[tuple[int, str], int] = {}
    form_of = np.array(
        [
            place.setdefault((int(index), form), len(place))
            for index, form in zip(tableaux.input_of(), tableaux.overt, strict=True)
        ]
    )
    sizes = np.bincount([index for index, _ in place], minlength=len(tableaux.inputs))
    heard = tableaux._replace(
        start=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        outputs=tuple(form for _, form in place),
        frequency=np.bincount(form_of, tableaux.frequency, minlength=len(place)),
        violations=np.zeros((len(place), len(tableaux.constraints)), dtype=np.int64),
        overt=(),
    )
    return heard, form_of


def refuse_overt(tableaux: Tableaux, command: str) -> None:
    """Raise SettingsError if the tableaux have overt forms, which a command makes nothing of."""
    if tableaux.overt:
        raise SettingsError(
            f"ot {command} needs to know the winners, and the tableaux have a column of overt forms; "
            "ot sample, fit and gla learn from these"
        )


def shortest_number(value: float) -> str:
    """A number in the shortest form that reads back the same."""
    return str(int(value)) if value == int(value) else repr(float(value))


def candidate_name(tableaux: Tableaux, candidate: int) -> str:
    """How messages name a candidate: input → output."""
    index = int(np.searchsorted(tableaux.start, candidate, side="right")) - 1
    return f"{tableaux.inputs[index]} → {tableaux.outputs[candidate]}"


def identical_candidates(tableaux: Tableaux) -> list[tuple[int, ...]]:
    """Groups of candidates of one input with equal violations, which no grammar tells apart.

    A grammar gives each member the same share of the group's probability.
    """
    groups: dict[tuple[int, bytes], list[int]] = {}
    for candidate, index in enumerate(tableaux.input_of()):
        key = (int(index), tableaux.violations[candidate].tobytes())
        groups.setdefault(key, []).append(candidate)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def with_constraints(tableaux: Tableaux, names: Sequence[str]) -> Tableaux:
    """The tableaux with these of their constraints alone, in this order."""
    order = [tableaux.constraints.index(name) for name in names]
    return tableaux._replace(constraints=tuple(names), violations=tableaux.violations[:, order])


def relative_frequencies(tableaux: Tableaux) -> np.ndarray:
    """The share of every candidate in its input, float64 of shape (C,); 0 where nothing was observed."""
    index = tableaux.input_of()
    totals = np.bincount(index, tableaux.frequency, minlength=len(tableaux.inputs))[index]
    return np.divide(tableaux.frequency, totals, out=np.zeros(len(totals)), where=totals > 0)


def are_probabilities(tableaux: Tableaux) -> bool:
    """Whether frequencies are not whole, and at most 1 in each input: they tell no number of tokens."""
    frequency = tableaux.frequency
    is_small = np.bincount(tableaux.input_of(), frequency).max() <= 1.0 + 1e-9
    return bool(is_small and np.any(frequency != np.round(frequency)))


def token_counts(tableaux: Tableaux, tokens: int | None = None) -> np.ndarray:
    """How often every candidate counts as observed, int64 of shape (C,).

    Whole frequencies are counts. Where the frequencies of every input sum to at most 1 they are
    probabilities and read as percentages (.33 is 33 tokens). Given `tokens`, frequencies are scaled to that
    total and rounded by largest remainders: Lin (2005), section 4, calls it M.

    Parameters
    ----------
    tableaux : Tableaux
    tokens : int, optional
        The total, at least 1.

    Raises
    ------
    InputError
        Nothing was observed.
    SettingsError
        `tokens` is not given, and frequencies are neither whole nor probabilities, or a probability is so
        small that it would count as never observed; `tokens` is below 1; or there are more tokens than memory
        is for.
    """
    frequency = tableaux.frequency
    total = float(frequency.sum())
    if total <= 0:
        raise InputError(
            None, None, "no candidate has a frequency above 0, so there is nothing to learn from"
        )
    if tokens is not None:
        if tokens < 1:
            raise SettingsError(f"--tokens is {tokens}; it must be at least 1")
        if tokens > _MOST_TOKENS:
            raise SettingsError(f"--tokens is {tokens}; it must be at most {_MOST_TOKENS}")
        return _largest_remainders(frequency * (tokens / total), tokens)
    if np.all(frequency == np.round(frequency)):
        if total > _MOST_TOKENS:
            raise SettingsError(f"the frequencies sum to {total:.6g}; scale them with --tokens, to fewer")
        return frequency.astype(np.int64)
    if are_probabilities(tableaux):
        counts = np.round(frequency * _HUNDRED).astype(np.int64)
        for lost in np.flatnonzero((frequency > 0) & (counts == 0))[:1]:
            raise SettingsError(
                f"{candidate_name(tableaux, lost)} has the frequency {frequency[lost]:g}, which in percent "
                "rounds to no token; say with --tokens how many all are"
            )
        return counts
    raise SettingsError(
        "frequencies are neither whole nor probabilities; say with --tokens how many they are"
    )


def _largest_remainders(shares: np.ndarray, total: int) -> np.ndarray:
    """Whole numbers near `shares` that sum to `total`."""
    counts = np.floor(shares + 1e-9).astype(np.int64)
    missing = int(total - math.floor(counts.sum()))
    order = np.argsort(-(shares - counts), kind="stable")
    counts[order[:missing]] += 1
    return counts
