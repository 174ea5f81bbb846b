"""From a run directory to a rule table: choose counts, add others, filter rules, prune them, add features.

A table that is neither pruned nor mixed with others is gone through in parts, each with all rules of its
source sides, so that its size does not matter; see `rules.parts`.

The fact a newcomer would get wrong: filtering comes after counting. Rules that are dropped still count in the
denominators of the phrase probabilities, since the derivations did use them.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from scfg_sampler.core.arrays.external import Scratch
from scfg_sampler.core.chains.run_directory import blaming_changes, require_unchanged
from scfg_sampler.core.elementary import exp_each
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.numerals import real_number
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import InputError, SettingsError
from scfg_sampler.learner.chains import sweeps_done
from scfg_sampler.learner.labels import score_sampled
from scfg_sampler.learner.run import read_run
from scfg_sampler.learner.settings import FILTERS, ORIGINS, GrammarSettings
from scfg_sampler.learner.signature import grammar_fields
from scfg_sampler.rules.counts import RuleCounts, require_counts, select_rules
from scfg_sampler.rules.features import score_rules
from scfg_sampler.rules.filters import best_targets, hiero_rules, narrow_rules
from scfg_sampler.rules.lexical import LexicalTables, read_lexical
from scfg_sampler.rules.mixing import mix_tables
from scfg_sampler.rules.parts import TargetTotals, read_parts
from scfg_sampler.rules.pruning import keep_best, prune_rules
from scfg_sampler.rules.table import (
    RuleTable,
    read_rule_table,
    select_rows,
    write_rule_table,
    write_rule_tables,
)
from scfg_sampler.rules.text import signature

__all__ = ["prune_table", "pruned_table", "tables_added", "write_grammar"]

_LEAST_WEIGHT, _LARGEST_WEIGHT = 1e-100, 1e100
_SCRATCH = 1 << 28  # Bytes, for adding up the counts of target sides.


def write_grammar(directory: PathLike, output: PathLike, settings: GrammarSettings) -> tuple[int, int]:
    """Write the rules of a run with their features; how many it has, and how many were written.

    Parameters
    ----------
    directory : path
        A run directory.
    output : path
    settings : GrammarSettings

    Raises
    ------
    InputError
        The run has no such counts, or was written to meanwhile; what was in the output stays.
    SettingsError
        A setting is out of range.
    """
    settings = _checked(settings)
    record = read_run(directory)
    with blaming_changes(directory, record):
        return _write_grammar(directory, record, output, settings)


def tables_added(settings: GrammarSettings) -> list[str]:
    """The files of the tables that are added to a run's rules, without their weights.

    Raises
    ------
    SettingsError, TypeError
        A setting is out of range, or of another kind.
    """
    return [name for name, _ in _added(_checked(settings))]


def _write_grammar(
    directory: PathLike, record: dict, output: PathLike, settings: GrammarSettings
) -> tuple[int, int]:
    """`write_grammar` of a run with such a record."""
    path = _counts_of(directory, record, settings)
    made = signature(_fields(record, settings))
    if "labels" in record["corpus"]["files"] or record["settings"].get("types", 1) > 1:
        table = read_rule_table(path, labels=True)
        if table.labels is not None:
            return _write_labelled(table, directory, record, output, settings, made)
    if not settings.more and settings.prune is None and settings.keep is None:
        parts = list(itertools.islice(read_parts(path), 2))
        if len(parts) > 1:
            del parts
            return _write_in_parts(directory, record, path, output, settings, made)
        table = parts[0]
    else:
        table = _counted(path, settings)
    scored = _scored(table, table.rules, _read_lexical(directory, record, table), settings, made)
    scored = select_rows(scored, _worth_keeping(scored, table.rules, settings.prune, settings.keep))
    write_rule_table(scored, output)
    return table.num_rules, scored.num_rules


def _checked(settings: GrammarSettings) -> GrammarSettings:
    """The settings, a number to keep as a string: 0 is a number, too.

    Raises a SettingsError for what is none of the choices, a TypeError for tables that are not named.
    """
    for option, value, legal in (
        ("origin", settings.origin, ORIGINS),
        ("rule-filter", settings.rule_filter, FILTERS),
    ):
        if value not in legal:
            raise SettingsError(f"--{option} is {value}; choose one of {', '.join(legal)}")
    more, paths = settings.more, (str, os.PathLike)
    if isinstance(more, paths) or not all(isinstance(each, paths) for each in more):
        raise TypeError(f"more is {more!r}; give a list of strings, each TABLE or TABLE:W, or of paths")
    return settings if settings.keep is None else settings._replace(keep=str(settings.keep))


def _write_labelled(
    table: RuleTable,
    directory: PathLike,
    record: dict,
    output: PathLike,
    settings: GrammarSettings,
    made: str,
) -> tuple[int, int]:
    """`write_grammar` of a run of a corpus whose spans have labels."""
    for option, value in (("add", settings.more or None), ("prune", settings.prune), ("keep", settings.keep)):
        if value is not None:
            raise SettingsError(f"rules with labels have no --{option}; leave it out")
    kept = _filtered(table.rules, settings._replace(max_targets=None))
    scored = score_sampled(table, kept, _read_lexical(directory, record, table), settings, made)
    write_rule_table(scored, output)
    return table.num_rules, scored.num_rules


def _write_in_parts(
    directory: PathLike, record: dict, path: Path, output: PathLike, settings: GrammarSettings, made: str
) -> tuple[int, int]:
    """`write_grammar` of a table that is not held whole: it is read twice."""
    with Scratch(_SCRATCH) as scratch:
        counted = TargetTotals(scratch)
        for table in read_parts(path):
            counted.add(table.rules)
        totals, lexical = counted.totals(), _read_lexical(directory, record, table)
        changed = InputError(path, None, "has changed while it was read", "Start again")

        def parts() -> Iterator[RuleTable]:
            done = 0
            for part in read_parts(path, like=table):
                of_targets = totals[done : done + part.num_rules]
                done += part.num_rules
                if done > counted.num_rules:
                    raise changed
                yield _scored(part, part.rules, lexical, settings, made, of_targets)
            if done != counted.num_rules:
                raise changed
            require_unchanged(directory, record)

        kept = write_rule_tables(parts(), output)
    return counted.num_rules, kept


def _read_lexical(directory: PathLike, record: dict, table: RuleTable) -> LexicalTables:
    """The lexical tables of a run, if what was read of it before is of the same."""
    found = read_lexical(Path(directory) / "lex", table.source_vocabulary, table.target_vocabulary)
    require_unchanged(directory, record)
    return found


def _scored(
    table: RuleTable,
    everything: RuleCounts,
    lexical: LexicalTables,
    settings: GrammarSettings,
    made: str,
    target_totals: np.ndarray | None = None,
) -> RuleTable:
    """The rules that the filter leaves, with their features; totals are those of all rules of the table."""
    kept = np.flatnonzero(_filtered(everything, settings))
    return score_rules(
        select_rules(everything, kept),
        lexical,
        table.source_vocabulary,
        table.target_vocabulary,
        denominators=everything,
        target_totals=None if target_totals is None else target_totals[kept],
        more_features={"LogPosterior": table.features[kept, table.feature_names.index("LogPosterior")]},
        signature=made,
    )


def _counts_of(directory: PathLike, record: dict, settings: GrammarSettings) -> Path:
    """The table of the counts of a run."""
    if not record["finished"]:
        hint = "Finish it with 'scfg-sampler resume'"
        done = sweeps_done(directory, record)
        told = f"{', '.join(map(str, done))} of {counted(record['run']['iterations'], 'sweep')}"
        found = f"is not finished: {told}"
        if "chains" in record:
            found = f"stopped before all of its {record['chains']} chains were done"
            found += f": those begun have {told}" if done else ""
        raise InputError(directory, None, found, hint)
    path = Path(directory) / "counts" / f"{settings.origin}.gz"
    if not path.exists():
        there = [origin for origin in ORIGINS if path.with_name(f"{origin}.gz").exists()]
        hint = f"It has {' and '.join(there)}" if there else "Sample again: it has none"
        raise InputError(directory, None, f"has no counts '{settings.origin}'", hint)
    if settings.max_scope < 0:
        raise SettingsError(f"--max-scope is {settings.max_scope}; it must be at least 0")
    return path


def _counted(path: Path, settings: GrammarSettings) -> RuleTable:
    """The counts of a run, those of other tables added."""
    table = read_rule_table(path)
    if not settings.more:
        return table
    others = _added(settings)
    tables = [table, *(read_rule_table(each) for each, _ in others)]
    for (each, _), other in zip(others, tables[1:], strict=True):
        _require_rules(other, each)
        _require_counts(other, each)
    return mix_tables(tables, [1.0, *(weight for _, weight in others)], table.signature)


def _filtered(rules: RuleCounts, settings: GrammarSettings) -> np.ndarray:
    """Which rules the filter leaves; bool (R,)."""
    if settings.rule_filter == "scope":
        kept = narrow_rules(rules, max_scope=settings.max_scope)
    elif settings.rule_filter == "hiero":
        kept = hiero_rules(rules)
    else:
        kept = np.ones(rules.num_rules, bool)
    if settings.max_targets is not None:
        kept &= best_targets(rules, np.where(kept, rules.count, -1.0), settings.max_targets)
    return kept


def _fields(record: dict, settings: GrammarSettings) -> list[tuple[str, object]]:
    """What makes the table, as names and values of its signature."""
    name = settings.rule_filter + (str(settings.max_scope) if settings.rule_filter == "scope" else "")
    fields = grammar_fields(record, settings.origin)
    fields += [("add", text) for text in settings.more]
    fields.append(("filter", name))
    for option in ("max_targets", "prune", "keep"):
        if getattr(settings, option):
            fields.append((option, getattr(settings, option)))
    return fields


def prune_table(
    path: PathLike, output: PathLike, *, prune: str | None = None, keep: str | None = None
) -> tuple[int, int]:
    """Write the rules of any table with counts that are worth their place; how many it has, and are written.

    Parameters
    ----------
    path : path
        A rule table with the features LogCount and LogForward. Features stay as they are.
    output : path
    prune, keep : str, optional
        As in `GrammarSettings`.

    Raises
    ------
    InputError
        The table has no rules, or lacks a feature.
    SettingsError
        A setting is out of range.
    """
    table = read_rule_table(path)
    _require_rules(table, path)
    pruned = pruned_table(table, path, prune=prune, keep=keep)
    write_rule_table(pruned, output)
    return table.num_rules, pruned.num_rules


def pruned_table(
    table: RuleTable, path: PathLike, *, prune: str | None = None, keep: str | None = None
) -> RuleTable:
    """The rules of a table that are worth their place, its signature saying so; see `prune_table`.

    path : what errors call the table
    """
    if table.labels is not None:
        found = "has nonterminals other than X, of which pruning does not know what fits together"
        raise InputError(path, None, found, "Take the best of its rules, or only those that a text can use")
    given = (("prune", prune), ("keep", keep))  # Empty ones, too, which are no settings.
    fields = [f"{option}:{value}" for option, value in given if value is not None]
    if not fields:
        return table
    _require_counts(table, path)
    if prune is not None:
        _require_feature(table, path, "LogForward")
    # Counts as text has them, so that a table in memory keeps the rules that its file would.
    counts = exp_each(table.features[:, table.feature_names.index("LogCount")].astype(np.float64))
    written = table._replace(count=counts)
    pruned = select_rows(table, _worth_keeping(written, written.rules, prune, keep))
    return pruned._replace(signature="|".join([table.signature, *fields]))


def _worth_keeping(
    table: RuleTable, everything: RuleCounts, prune: str | None, keep: str | int | None
) -> np.ndarray:
    """The rows of the rules that pruning leaves, or of the best of them; int64."""
    rows, worth = np.arange(table.num_rules), table.count
    if prune is not None:
        forward = table.features[:, table.feature_names.index("LogForward")]
        pruned = prune_rules(table.rules, forward, everything, prune)
        rows, worth = np.flatnonzero(pruned.kept), pruned.worth[pruned.kept]
    if keep is not None:
        rows = rows[keep_best(select_rules(table.rules, rows), worth, str(keep))]
    return rows


def _added(settings: GrammarSettings) -> list[tuple[str, float]]:
    """The tables that are added, and their weights."""
    return [_weighted(os.fspath(each)) for each in settings.more]


def _weighted(text: str) -> tuple[str, float]:
    """The parts of TABLE:W; a name that holds a colon and no number behind it is a name."""
    name, _, number = text.rpartition(":")
    try:
        weight = real_number(number)
    except ValueError:
        return text, 1.0
    if not name:
        return text, 1.0
    if not _LEAST_WEIGHT <= weight <= _LARGEST_WEIGHT:
        limits = f"positive, from {_LEAST_WEIGHT:g} to {_LARGEST_WEIGHT:g}"
        raise SettingsError(f"--add is {text}; the number behind the colon must be {limits}")
    return name, weight


def _require_rules(table: RuleTable, path: PathLike) -> None:
    if not table.num_rules:
        raise InputError(path, None, "has no rules", "Is it the table that was meant?")


def _require_counts(table: RuleTable, path: PathLike) -> None:
    _require_feature(table, path, "LogCount")
    require_counts(table.count, path)


def _require_feature(table: RuleTable, path: PathLike, name: str) -> None:
    if name not in table.feature_names:
        hint = "Give a table that 'extract' or 'grammar' wrote"
        raise InputError(path, None, f"has no feature {name}", hint)
