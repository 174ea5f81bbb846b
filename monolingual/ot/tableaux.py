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
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.files import PathLike
from scfg_sampler.errors import InputError, SettingsError

__all__ = [
    "LARGEST_FREQUENCY",
    "MOST_VIOLATIONS",
    "Row",
    "Tableaux",
    "build_tableaux",
    "candidate_name",
    "identical_candidates",
    "overt_forms",
    "refuse_overt",
    "relative_frequencies",
    "shortest_number",
    "token_counts",
]

MOST_VIOLATIONS = 1_000_000_000
LARGEST_FREQUENCY = 1e15
"""Sums of such lose no single observation."""

_HUNDRED = 100.0  # Probabilities are taken as percentages.


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
            raise InputError(path, 1, f"constraint {column + 1} has no name")
        if name in names[:column]:
            raise InputError(path, 1, f"two constraints are named {name!r}", "Give them different names")
    by_input: dict[str, dict[str, Row]] = {}
    for row in rows:
        candidates = by_input.setdefault(row.input, {})
        first = candidates.setdefault(row.output, row._replace(frequency=0.0))
        if first.violations != row.violations:
            found = f"input {row.input!r} has the candidate {row.output!r} in line {first.line}, with other "
            raise InputError(
                path, row.line, f"{found}violations", "Rename one of them, or mend the violations"
            )
        if first.overt != row.overt:
            found = f"{row.output!r} of input {row.input!r} has the overt form {first.overt!r} in line "
            raise InputError(path, row.line, f"{found}{first.line}, and {row.overt!r} here")
        candidates[row.output] = first._replace(frequency=first.frequency + row.frequency)
    if not by_input:
        raise InputError(path, None, "has no candidate", "Give at least one input with its candidates")
    if not names:
        raise InputError(path, 1, "has no constraint")
    flat = [row for candidates in by_input.values() for row in candidates.values()]
    sizes = [len(candidates) for candidates in by_input.values()]
    return Tableaux(
        names,
        tuple(by_input),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        tuple(row.output for row in flat),
        np.array([row.frequency for row in flat], dtype=np.float64),
        np.array([row.violations for row in flat], dtype=np.int64).reshape(len(flat), len(names)),
        tuple(row.overt for row in flat) if any(row.overt for row in flat) else (),
    )


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


def relative_frequencies(tableaux: Tableaux) -> np.ndarray:
    """The share of every candidate in its input, float64 of shape (C,); 0 where nothing was observed."""
    index = tableaux.input_of()
    totals = np.bincount(index, tableaux.frequency, minlength=len(tableaux.inputs))[index]
    return np.divide(tableaux.frequency, totals, out=np.zeros(len(totals)), where=totals > 0)


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
        Frequencies are neither whole nor probabilities and `tokens` is not given, or it is below 1.
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
        return _largest_remainders(frequency * (tokens / total), tokens)
    if np.all(frequency == np.round(frequency)):
        return frequency.astype(np.int64)
    if np.bincount(tableaux.input_of(), frequency).max() <= 1.0 + 1e-9:
        counts = np.round(frequency * _HUNDRED).astype(np.int64)
        if counts.sum() > 0:
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
