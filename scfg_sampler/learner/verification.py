"""Whether a run directory is what a run has left: digests, arrays, and all results against a recount.

What a finished run has written is made anew, in a temporary directory, from its checkpoint and its corpus,
and compared line by line. The checkpoint is compared with the corpus first, as when a run goes on.

The fact a newcomer would get wrong: a run can only be verified beside its corpus; a table, or a system, holds
all it needs.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path

from scfg_sampler import __version__
from scfg_sampler.core.chains.chain import read_trace
from scfg_sampler.core.chains.run_directory import (
    CHECKPOINT,
    RECORD,
    TRACE,
    blaming_changes,
    chain_directory,
    has_checkpoint,
    require_same_files,
)
from scfg_sampler.core.files import PathLike, read_lines
from scfg_sampler.core.leftovers import temporary_directory
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import InputError
from scfg_sampler.learner.chains import pool_results
from scfg_sampler.learner.run import read_run, restored_results

__all__ = ["verify_run"]

_AGAIN = "Restore the file, or start the run again"
_TOLERANCE = 1e-6  # Relative; the trace has ten digits, of a sum that is kept incrementally.


def verify_run(directory: PathLike) -> list[str]:
    """What was found to be right of a run directory, or of every chain in it, in words.

    Parameters
    ----------
    directory : path

    Raises
    ------
    InputError, CheckpointMismatch
        Something is wrong: names the file, and what. Or the run was written to meanwhile.
    """
    place, record = Path(directory), read_run(directory)
    require_same_files(place, record["corpus"]["files"], record["corpus"]["sha256"])
    with temporary_directory("scfg-verify-") as again, blaming_changes(place, record):
        if "chains" not in record:
            return _verify_chain(place, again)
        found = []
        for number in range(1, record["chains"] + 1):
            chain = chain_directory(place, number)
            if not record["finished"] and not any((chain / name).exists() for name in (RECORD, CHECKPOINT)):
                found.append(_not_begun(chain))
                continue
            found += _verify_chain(chain, chain_directory(again, number))
        if record["finished"]:
            pool_results(place, record["chains"], again)
            inside = [path for path in _files(again) if not path.parts[0].startswith("chain-")]
            found += _compared(place, again, inside, record)
        return found


def _verify_chain(place: Path, again: Path) -> list[str]:
    """The same of a single chain; `again` is where its results are made."""
    if not has_checkpoint(place, read_run(place)):
        return [_not_begun(place)]
    record, log_joint = restored_results(place, again)
    sweeps = record["sweeps"]
    found = [f"{place / CHECKPOINT}: sweep {sweeps}, its derivations recounted"]
    if sweeps > 0:
        trace = read_trace(place / TRACE)
        rows = trace["sweep"].tolist()
        if rows[:sweeps] != list(range(sweeps)):
            missing = next((k for k, row in enumerate(rows) if row != k), len(rows))
            raise InputError(
                place / TRACE, None, f"has no row of sweep {missing}, but {sweeps} were done", _AGAIN
            )
        traced = float(trace["log_joint"][sweeps - 1]) if "log_joint" in trace else math.nan
        if not math.isclose(traced, log_joint, rel_tol=_TOLERANCE):
            wrong = f"has the log joint {traced:g} where a recount gives {log_joint:g}"
            raise InputError(place / TRACE, sweeps + 1, wrong, _AGAIN)
        found.append(f"{place / TRACE}: {counted(len(rows), 'row')}, and the log joint of the checkpoint")
    if record["finished"]:
        found += _compared(place, again, _files(again), record)
    return found


def _not_begun(place: Path) -> str:
    """What is said of a chain that was stopped before its first checkpoint."""
    return f"{place}: no sweep was done yet; 'scfg-sampler resume' begins it"


def _files(directory: Path) -> list[Path]:
    """All files in a directory, by their names within it."""
    return sorted(path.relative_to(directory) for path in directory.rglob("*") if path.is_file())


def _compared(place: Path, again: Path, names: list[Path], record: dict) -> list[str]:
    """Raise an InputError for the first line that differs from what was made anew."""
    # The first line of a table names the version that made it.
    is_other_version = record["versions"]["scfg-sampler"] != __version__
    names = [name for name in names if not name.name.startswith(".")]
    for name in names:
        first = 1 if is_other_version and name.suffix == ".gz" and name.parts[0] == "counts" else 0
        pairs = itertools.zip_longest(read_lines(place / name), read_lines(again / name))
        for line, (found, expected) in enumerate(itertools.islice(pairs, first, None), start=first + 1):
            if found != expected:
                raise InputError(place / name, line, "is not what the checkpoint gives", _AGAIN)
    return [f"{place / name}: as its derivations give it" for name in names]
