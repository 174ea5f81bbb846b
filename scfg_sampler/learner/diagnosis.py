"""What the traces of runs say together: split R̂ and effective sample sizes of all their chains.

The fact a newcomer would get wrong: the burn-in left out is that of the run that leaves out most, as chains
are compared sweep by sweep.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from scfg_sampler.core.chains.chain import read_trace
from scfg_sampler.core.chains.diagnostics import Diagnosis, diagnose_traces
from scfg_sampler.core.chains.run_directory import TRACE
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import InputError
from scfg_sampler.learner.chains import chain_directories
from scfg_sampler.learner.run import read_run
from scfg_sampler.learner.settings import LearnerSettings

__all__ = ["SCALARS", "diagnose_runs", "incomparable", "read_traces", "whole_trace"]

_HOW_TO_SAMPLE = (
    "anneal_end",
    "anneal_start",
    "anneal_sweeps",
    "operator",
    "order",
    "schedule",
    "shards",
    "sweeps_per_level",
    "type_moves",
    "types_start",
)
"""Settings that change the way to the posterior, not the posterior."""

SCALARS = (
    "log_joint",
    "rules",
    "types",
    "tables",
    "edges_changed",
    "cuts_changed",
    "acceptance",
    "discount",
    "strength",
    "mean_length",
)
"""The columns of traces that are judged."""


def read_traces(runs: Sequence[PathLike]) -> list[dict[str, np.ndarray]]:
    """The traces of all chains of some runs.

    Raises
    ------
    InputError
        A trace is missing or no trace, or cut: it has fewer rows than sweeps were done.
    """
    return [whole_trace(run, chain) for run in runs for chain in chain_directories(run)]


def incomparable(runs: Sequence[PathLike]) -> list[str]:
    """Why chains of these runs say nothing together, a sentence for each reason; none if they do.

    R̂ is of chains with one posterior, drawn independently: of one corpus and one model, with other seeds.
    """
    chains = [chain for run in runs for chain in chain_directories(run)]
    records = [read_run(chain) for chain in chains]
    models = [_model(record) for record in records]
    reasons = []
    for chain, model in zip(chains[1:], models[1:], strict=True):
        names = [name for name in models[0] if model.get(name) != models[0][name]]
        if names:
            told = ", ".join(name.replace("_", "-") for name in names)
            reasons.append(
                f"{chains[0]} and {chain} differ in {told}: R-hat compares chains of one model and text"
            )
    seen: list[tuple] = []
    for chain, record in zip(chains, records, strict=True):
        drawn = record["settings"], record["corpus"]["sha256"], record["run"]["seed"], record.get("stream", 0)
        if drawn in seen:
            twin = chains[seen.index(drawn)]
            reasons.append(
                f"{twin} and {chain} are one chain twice, of one seed: that they agree says nothing"
            )
        seen.append(drawn)
    return reasons


def _model(record: dict) -> dict[str, object]:
    """What makes the posterior of a run, by name."""
    settings = {**LearnerSettings._field_defaults, **record["settings"]}
    # Where a number is learnt, the setting is where it begins.
    left_out = {*_HOW_TO_SAMPLE, *settings["learned"]}
    model = {name: None if name in left_out else value for name, value in settings.items()}
    return model | {"learned": list(settings["learned"]), "text": record["corpus"]["sha256"]}


def diagnose_runs(runs: Sequence[PathLike], burn_in: int | None = None) -> dict[str, Diagnosis]:
    """The diagnosis of every scalar that all chains of some runs traced.

    Parameters
    ----------
    runs : sequence of path
        Run directories.
    burn_in : int, optional
        Sweeps left out; by default those of the run that leaves out most.

    Raises
    ------
    ChainTooShort
        Too few sweeps are left to judge.
    InputError
        A trace is cut: it has fewer rows than sweeps were done.
    """
    chains = [chain for run in runs for chain in chain_directories(run)]
    if burn_in is None:
        burn_in = max(read_run(directory)["run"]["burn_in"] for directory in chains)
    traces = read_traces(runs)
    kept = [{name: trace[name] for name in ("sweep", *SCALARS) if name in trace} for trace in traces]
    return diagnose_traces(kept, burn_in=burn_in)


def whole_trace(run: PathLike, chain: Path) -> dict[str, np.ndarray]:
    """The trace of a chain of a run; an InputError if it has fewer rows than the record says that there are.

    The run may go on, or begin again, meanwhile. Its rows come before the record that tells of them, so that
    a record that is the same before and behind the trace holds for it; of a run at work, less the last row.
    """
    record = read_run(chain)
    while True:
        trace = read_trace(chain / TRACE)
        rows, sweeps = len(trace["sweep"]), record["sweeps"]
        if rows >= sweeps - (not record["finished"]):
            return trace
        before, record = record, read_run(chain)
        if record == before:
            found = f"has {counted(rows, 'row')}, but {counted(sweeps, 'sweep was', 'sweeps were')} done"
            hint = f"Restore the file, or start the run again; 'scfg-sampler verify {run}' tells more"
            raise InputError(chain / TRACE, None, found, hint)
