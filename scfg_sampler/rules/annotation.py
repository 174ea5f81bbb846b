"""What another table says of the same rules, as further features.

A table of few rules has probabilities of its own; those that the same rules have in a larger table, such as
all of Hiero's, are estimated from other occurrences, and weights for both can be tuned.

The fact a newcomer would get wrong: a rule that the other table lacks has 0 for its logarithms there, as if
it were certain. The feature that counts such rules has a weight of its own, which takes that back.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scfg_sampler.core.arrays.ragged import group_rows
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.wording import legible
from scfg_sampler.errors import InputError, SettingsError
from scfg_sampler.rules.mixing import joined_sides
from scfg_sampler.rules.table import RuleTable, read_rule_table, write_rule_table

__all__ = ["MISSING", "annotate_table", "annotated", "feature_values", "rows_of_same_rules"]

MISSING = "Missing"
"""The feature that is 1 where the other table lacks the rule, without its prefix."""


def annotate_table(
    path: PathLike, other: PathLike, output: PathLike, *, prefix: str, features: Sequence[str]
) -> tuple[int, int]:
    """Write a table with features of another; how many rules it has, and how many the other has, too.

    Parameters
    ----------
    path, other, output : path
        Rule tables in the native format.
    prefix : str
        Before the names of the new features.
    features : sequence of str
        Names of features of the other table.

    Raises
    ------
    InputError
        A table cannot be read, has other labels than X, the first has no rules, or the other lacks a feature.
    SettingsError
        A feature is named twice, the table has one of that name already, or the prefix would make none that
        can be written.
    """
    tables = [read_rule_table(each) for each in (path, other)]
    if not tables[0].num_rules:
        raise InputError(path, None, "has no rules", "Is it the table that was meant?")
    there = (*tables[1].feature_names, *tables[1].sparse_names)
    lacking = [name for name in features if name not in there]
    if lacking:
        raise InputError(other, None, f"has no feature {lacking[0]}", "Name others with --features")
    twice = [name for place, name in enumerate(features) if name in features[:place]]
    if twice:
        raise SettingsError(f"--features names {twice[0]} twice; leave one out")
    names = [prefix + name for name in (*features, MISSING)]
    if not prefix or any(character.isspace() or character in "=|" for character in "".join(names)):
        raise SettingsError(f"--prefix is {prefix!r}; it is a word without =, | and blanks, such as Hiero")
    known = [name for name in names if name in (*tables[0].feature_names, *tables[0].sparse_names)]
    if known or len(set(names)) < len(names):
        name = known[0] if known else "the same feature"
        raise SettingsError(f"--prefix is {prefix}; with it {name} would be there twice, so choose another")
    row = rows_of_same_rules(*tables)
    made = annotated(tables[0], tables[1], row, names, features)
    written = f"{tables[0].signature}|features_of:{legible(str(other))}"
    write_rule_table(made._replace(signature=written), output)
    return len(row), int((row >= 0).sum())


def rows_of_same_rules(table: RuleTable, other: RuleTable) -> np.ndarray:
    """For each rule of a table the row of the same rule in another, the first of several; −1 if none.

    int64, shape (R,). Rules are the same if both sides are, as text; labels must all be X.
    """
    _, (source_start, source, target_start, target) = joined_sides([table, other])
    sources = group_rows(source_start, source)[0].astype(np.int64)
    targets = group_rows(target_start, target)[0].astype(np.int64)
    both = sources * (1 + targets.max(initial=0)) + targets
    wanted, there = both[: table.num_rules], both[table.num_rules :]
    if not len(there):
        return np.full(len(wanted), -1)
    order = np.argsort(there, kind="stable")
    place = np.searchsorted(there, wanted, sorter=order)
    found = order[np.minimum(place, len(order) - 1)]
    return np.where(there[found] == wanted, found, -1)


def annotated(
    table: RuleTable, other: RuleTable, row: np.ndarray, names: Sequence[str], features: Sequence[str]
) -> RuleTable:
    """The table with the features of the rows of another, 0 for row −1, and last whether it is −1.

    row : int64, shape (R,); names : of the new features, one more than `features`
    """
    lacks = row < 0
    values = np.zeros((table.num_rules, len(features) + 1), np.float32)
    for column, name in enumerate(features):
        values[~lacks, column] = feature_values(other, name)[row[~lacks]]
    values[:, -1] = lacks
    joined = np.concatenate([table.features, values], axis=1)
    return table._replace(features=joined, feature_names=(*table.feature_names, *names))


def feature_values(table: RuleTable, name: str) -> np.ndarray:
    """A feature of all rules, whether it has a column or few rules have it; float32 (R,)."""
    if name in table.feature_names:
        return table.features[:, table.feature_names.index(name)]
    assert table.sparse is not None
    names, rows = table.sparse
    has = rows.column == names.index(name)
    values = np.zeros(table.num_rules, np.float32)
    values[np.repeat(np.arange(table.num_rules), np.diff(rows.start))[has]] = rows.values[has]
    return values
