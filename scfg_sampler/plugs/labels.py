"""What a decoder needs beside a table whose nonterminals have labels other than X.

Glue rules for every label are `formats.glue`'s. The other thing is words that are copied: our decoder takes
them for whatever label a gap asks for, other decoders for one label of their own. So that label is one that
no rule has, and rules of a single gap, in a file of their own, make of it any label that gaps have, and X,
which is glued. Moses takes no rule of a single gap, but has a list of the labels of unknown words.

The fact a newcomer would get wrong: Travatar copies a word where nothing else has made the label of copied
words. As no rule makes it, it may copy any word of a table with labels, of one without those without rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.files import atomic_output
from scfg_sampler.core.wording import counted
from scfg_sampler.formats.glue import start_symbol
from scfg_sampler.rules.labels import gap_labels, left_labels
from scfg_sampler.rules.table import RuleTable
from scfg_sampler.rules.text import escape_label

__all__ = [
    "COPIES",
    "LabelNames",
    "least_pop_limit",
    "names_of_labels",
    "relabelling_warning",
    "taken_label",
    "write_copies",
]

COPIES = "copy-rules"
"""The file with the rules that make other labels of a copied word."""

_COPY_RULES = {
    "cdec": "[{L}] ||| [{C},1] ||| [1] |||\n",
    "moses": "{L} 0\n",
    "joshua": "[{L}] ||| [{C},1] ||| [{C},1] ||| 0\n",
    "travatar": "x0:{C} @ {L} ||| x0:{C} @ {L} ||| \n",
}


class LabelNames(NamedTuple):
    """The labels that a decoder has to know of.

    start : what is glued
    copied : what a copied word is, of no other rule
    left : of left-hand sides, X among them, which are glued
    filled : of gaps, and X: what a copied word may be taken for
    """

    start: str
    copied: str
    left: tuple[str, ...]
    filled: tuple[str, ...]


def names_of_labels(table: RuleTable, decoder: str) -> LabelNames | None:
    """The labels that a decoder has to know of; None if all are X."""
    if table.labels is None:
        return None
    left = left_labels(table.labels)
    filled = ("X", *(label for label in gap_labels(table.labels) if label != "X"))
    start = start_symbol(decoder, (*left, *filled))
    copied = "COPIED"
    while copied in (*left, *filled):
        copied += "'"
    return LabelNames(start, copied, left, filled)


def write_copies(path: Path, decoder: str, names: LabelNames) -> None:
    """Write what makes of a copied word any label that is asked for."""
    with atomic_output(path) as stream:
        stream.writelines(
            _COPY_RULES[decoder].format(L=escape_label(L), C=names.copied) for L in names.filled
        )


def least_pop_limit(names: LabelNames | None, decoder: str) -> int:
    """The derivations of a span that a decoder must try to have a copied word under each of its labels.

    In Moses they are as many as its labels; elsewhere it is one, of which rules make the labels.
    """
    return len(names.filled) if names and decoder == "moses" else 1


def taken_label(names: LabelNames, decoder: str) -> str | None:
    """A label of the table that the decoder has for itself."""
    return "Goal" if decoder == "cdec" and "Goal" in (*names.left, *names.filled) else None


def relabelling_warning(table: RuleTable, decoder: str) -> Iterable[str]:
    """What to say of rules that make a label of another alone, where the decoder does not use them.

    table : without those that lead back to their label
    """
    if decoder != "moses" or table.labels is None:
        return
    first = np.append(table.source, 0)[table.source_start[:-1]]
    used = (np.diff(table.source_start) == 1) & (first < 0)
    if number := int(np.count_nonzero(used)):
        has, make = counted(number, "rule has", "rules have"), "makes" if number == 1 else "make"
        yield f"{has} a source side of one nonterminal and {make} another label of it here, but not in Moses"
