"""The report as a whole: reads what there is, and puts the sections together.

The fact a newcomer would get wrong: whatever is not there costs a section, not the page. A run that is not
finished, or whose corpus has moved, has a report all the same, which says what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from scfg_sampler.core.chains.run_directory import require_unchanged
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.reports.document import Section, note, require_runs, write_document
from scfg_sampler.errors import CheckpointMismatch, InputError
from scfg_sampler.learner.pair_posteriors import LastState, read_last_state
from scfg_sampler.report.grammar import (
    NamedTable,
    counted_table,
    named_table,
    tell_comparison,
    tell_grammar,
    tell_rules,
)
from scfg_sampler.report.pairs import choose_pairs, tell_pairs
from scfg_sampler.report.runs import (
    RunOnPage,
    open_run,
    tell_runs,
    tell_traces,
)
from scfg_sampler.report.translations import (
    Outputs,
    read_outputs,
    read_rounds,
    read_scores,
    read_written,
    tell_changes,
    tell_scores,
    tell_tuning,
)

__all__ = ["ReportInputs", "write_report"]


class ReportInputs(NamedTuple):
    """What a report is made of; all but the runs may be missing."""

    runs: Sequence[PathLike]
    """The first one's grammar and pairs are shown."""
    grammar: PathLike | None = None
    """A table made of the first run, in the place of its counts."""
    baseline: PathLike | None = None
    """Hiero's table."""
    pairs: int = 12
    """How many sentence pairs are shown."""
    sweeps: int = 100
    """States of them that certainty is judged by."""
    seed: int = 1
    tunings: Mapping[str, PathLike] = {}
    """Rounds, by the name of the system."""
    scores: Mapping[str, PathLike] = {}
    """Of `evaluate --json`, by the name of the system."""
    source: PathLike | None = None
    """Of the test set."""
    references: Sequence[PathLike] = ()
    translations: Mapping[str, PathLike] = {}
    """Of the test set, by the name of the system."""
    derivations: Mapping[str, PathLike] = {}
    title: str = ""


def write_report(
    inputs: ReportInputs, output: PathLike, advance: Callable[[int, str], Any] = lambda steps, note: None
) -> int:
    """Write the page; how many bytes it has.

    Parameters
    ----------
    inputs : ReportInputs
    output : path
    advance : callable
        Told of every section: 1 and what comes next.

    Raises
    ------
    InputError
        A directory is no run, or a file cannot be used; or a run was written to meanwhile.
    """
    require_runs(inputs.runs)
    runs = [open_run(directory) for directory in inputs.runs]
    outputs = _outputs(inputs)
    sections = []
    with ThreadPoolExecutor(2) as pool:
        for section in _sections(inputs, runs, outputs, _read(pool, inputs, runs[0])):
            sections.append(section)
            advance(1, section.title)
    for run in runs:
        require_unchanged(run.directory, run.record)
    title = inputs.title or f"Report of {', '.join(run.name for run in runs)}"
    return write_document(title, sections, output)


def _outputs(inputs: ReportInputs) -> Outputs | None:
    """The test set, read at first, so that what is wrong with it is told at once."""
    if not inputs.translations:
        if inputs.source is not None or inputs.references:
            raise InputError(
                None,
                None,
                "--source and --references are shown beside translations",
                "Name these too, with --translations",
            )
        return None
    if inputs.source is None or not inputs.references:
        raise InputError(
            None,
            None,
            "--translations are shown beside source and reference",
            "Name these too, with --source and --references",
        )
    return read_outputs(inputs.source, inputs.references, inputs.translations, inputs.derivations)


class _Reading(NamedTuple):
    """What is read beside the sections that do not need it."""

    grammar: Future[tuple[NamedTable | None, str]]
    baseline: Future[NamedTable | None]
    last: Future[tuple[LastState | None, str]]


def _read(pool: ThreadPoolExecutor, inputs: ReportInputs, run: RunOnPage) -> _Reading:
    """Begin to read what takes long; compiled readers run side by side."""
    baseline = inputs.baseline
    return _Reading(
        pool.submit(_grammar, inputs, run),
        pool.submit(lambda: None if baseline is None else named_table("the baseline", baseline)),
        pool.submit(_last_state, run),
    )


def _sections(
    inputs: ReportInputs, runs: Sequence[RunOnPage], outputs: Outputs | None, read: _Reading
) -> Iterator[Section]:
    """The sections as they are made."""
    scores = {name: read_scores(path) for name, path in inputs.scores.items()}
    tunings = {name: read_rounds(path) for name, path in inputs.tunings.items()}
    written = {name: read_written(path) for name, path in inputs.tunings.items()}
    yield Section("What was run", "run", tell_runs(runs))
    yield Section("Traces", "traces", tell_traces(runs))
    if scores:
        yield Section("Scores", "scores", tell_scores(scores))
    last, reason = read.last.result()
    found, missing = read.grammar.result()
    if found is None:
        yield Section("Grammar", "grammar", [note(missing)])
    else:
        yield from _grammar_sections(found, read.baseline.result(), last)
    if last is None:
        yield Section("Sentence pairs", "pairs", [note(reason)])
    elif inputs.pairs:
        chosen = choose_pairs(last, inputs.pairs)
        told = tell_pairs(np.random.default_rng(inputs.seed), last, chosen, inputs.sweeps)
        yield Section("Sentence pairs", "pairs", told)
    if tunings:
        yield Section("Tuning", "tuning", tell_tuning(tunings, written))
    if outputs is not None:
        title = "Translations that changed most" if len(outputs.systems) > 1 else "Translations"
        yield Section(title, "translations", tell_changes(outputs))


def _grammar(inputs: ReportInputs, run: RunOnPage) -> tuple[NamedTable | None, str]:
    """The table of a run, or why there is none to be shown."""
    if inputs.grammar is not None:
        return named_table("the sample", inputs.grammar), ""
    if run.record["settings"].get("types", 1) > 1 or "labels" in run.record["corpus"]["files"]:
        return None, "Rules of this run have nonterminals other than X, which are not told of here."
    # Until a run that is resumed ends, there are counts of a state that it has left behind.
    found = counted_table(run.directory) if run.record["finished"] else None
    remark = "The run has no counts yet; they are written when its last sweep is done."
    return found, "" if found is not None else remark


def _grammar_sections(
    found: NamedTable, baseline: NamedTable | None, last: LastState | None
) -> Iterator[Section]:
    if baseline is None:
        yield Section("Grammar", "grammar", tell_grammar([found]))
        yield Section("Frequent rules", "rules", tell_rules(found))
        return
    yield Section("Grammar", "grammar", tell_grammar([found, baseline]))
    yield Section("Frequent rules", "rules", tell_rules(found))
    yield Section("Beside the baseline", "baseline", tell_comparison(found, baseline, last))


def _last_state(run: RunOnPage) -> tuple[LastState | None, str]:
    """Where the first chain of a run stands, or why that cannot be told."""
    chain = run.chains[0]
    if not (Path(chain) / "checkpoint.npz").exists():
        return None, "The run has no checkpoint yet, and so no derivations to show."
    try:
        return read_last_state(chain), ""
    except (InputError, CheckpointMismatch) as error:
        return None, f"No derivations can be shown: {error}."
