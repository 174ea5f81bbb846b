"""What the traces of runs say together: split R̂ and effective sample sizes of all their chains.

The fact a newcomer would get wrong: the burn-in left out is that of the run that leaves out most, as chains
are compared sweep by sweep.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scfg_sampler.core.chains.chain import read_trace
from scfg_sampler.core.chains.diagnostics import Diagnosis, diagnose_traces
from scfg_sampler.core.files import PathLike
from scfg_sampler.learner.chains import chain_directories
from scfg_sampler.learner.run import read_run

__all__ = ["SCALARS", "diagnose_runs", "read_traces"]

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
    """The traces of all chains of some runs."""
    return [read_trace(chain / "trace.tsv") for run in runs for chain in chain_directories(run)]


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
    """
    chains = [chain for run in runs for chain in chain_directories(run)]
    if burn_in is None:
        burn_in = max(read_run(directory)["run"]["burn_in"] for directory in chains)
    traces = read_traces(runs)
    kept = [{name: trace[name] for name in ("sweep", *SCALARS) if name in trace} for trace in traces]
    return diagnose_traces(kept, burn_in=burn_in)
