"""What was run, and how the chains went: settings, what was skipped, traces, diagnostics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from scfg_sampler.core.chains.run_directory import TRACE
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.pages.elements import Markup, element, table
from scfg_sampler.core.reports.document import note
from scfg_sampler.core.reports.records import duration, files, settings_table, spelled, tiles
from scfg_sampler.core.reports.traces import NamedTrace, Traced
from scfg_sampler.core.reports.traces import tell_traces as tell_curves
from scfg_sampler.core.wording import counted
from scfg_sampler.corpus.parallel_text import CorpusFiles
from scfg_sampler.learner.chains import chain_directories, sweeps_done, time_of_all
from scfg_sampler.learner.diagnosis import incomparable, whole_trace
from scfg_sampler.learner.run import read_run

__all__ = ["RunOnPage", "open_run", "tell_runs", "tell_traces"]

_CURVES = {
    "log_joint": "log joint",
    "rules": "rules used",
    "types": "different rules",
    "edges_changed": "edges changed in a sweep",
    "cuts_changed": "cuts changed in a sweep",
    "acceptance": "acceptance",
    "discount": "discount",
    "strength": "strength",
    "mean_length": "mean length",
}


class RunOnPage(NamedTuple):
    """A run directory, as a page shows it."""

    name: str
    directory: Path
    record: dict[str, Any]
    chains: list[Path]
    traces: list[dict[str, np.ndarray]]
    """Of the chains that have one."""
    sweeps: list[int]
    """Done by each chain that has begun."""


def open_run(directory: PathLike) -> RunOnPage:
    """A run with the traces of its chains.

    Raises
    ------
    InputError
        It is not a run directory, or a trace is damaged or cut.
    """
    chains = chain_directories(directory)
    traces = [whole_trace(directory, chain) for chain in chains if (chain / TRACE).exists()]
    record = read_run(directory)
    return RunOnPage(str(directory), Path(directory), record, chains, traces, sweeps_done(directory, record))


# ---- What was run ----------------------------------------------------------------------------------


def tell_runs(runs: Sequence[RunOnPage]) -> list[Markup]:
    """Tiles with the sizes, settings side by side, files and skipped pairs."""
    first = runs[0].record
    corpus = first["corpus"]
    alignments = len(CorpusFiles.from_names(corpus["files"]).alignments)
    pairs = corpus["sentences"] // (alignments if first["settings"].get("choose", "none") == "none" else 1)
    sizes = [
        (f"{pairs:,}", "sentence pairs"),
        *([(f"{alignments}", "alignments of each")] if alignments > 1 else []),
        (f"{corpus['source_words'] // alignments:,}", "source words"),  # The record has them under each.
        (f"{corpus['target_words'] // alignments:,}", "target words"),
        (f"{max(runs[0].sweeps, default=0):,}", _whose_sweeps(runs[0])),
        (duration(_seconds(runs[0])), "sampling"),
    ]
    return [
        tiles(sizes),
        *[_unfinished(run) for run in runs if not run.record["finished"]],
        settings_table({run.name: _flat(run.record) for run in runs}),
        *[_files(run, len(runs) > 1) for run in runs],
        *[_skipped(run, len(runs) > 1) for run in runs],
    ]


def _whose_sweeps(run: RunOnPage) -> str:
    if "chains" not in run.record:
        return "sweeps"
    alike = len(set(run.sweeps)) <= 1
    return f"sweeps of {counted(len(run.sweeps), 'chain')} {'each' if alike else 'at most'}"


def _seconds(run: RunOnPage) -> float:
    """What sampling took; a run that was killed did not get to say it, but for the traces of its chains."""
    if run.record["finished"]:
        return run.record["seconds"]
    traced = [float(trace["seconds"][-1]) for trace in run.traces if len(trace.get("seconds", ()))]
    threads = run.record.get("threads", 1)
    return max(run.record["seconds"], time_of_all(traced, threads if type(threads) is int else 1))


def _unfinished(run: RunOnPage) -> Markup:
    done, wanted = ", ".join(map(str, run.sweeps)) or "0", run.record["run"]["iterations"]
    hint = element("code", f"scfg-sampler resume {run.name}")
    text = f"{run.name} is not finished: {done} of {counted(wanted, 'sweep')}"
    if len(run.sweeps) < run.record.get("chains", 1):
        text += f", {len(run.sweeps)} of {counted(run.record['chains'], 'chain')} begun"
    text += ". To go on: "
    return note(text, hint)


def _flat(record: dict[str, Any]) -> dict[str, str]:
    """Settings, versions and costs by name."""
    found = spelled({**record["settings"], **record["run"]})
    if "chains" in record:
        found["chains"] = str(record["chains"])
    if type(memory := record["run"].get("memory")) is int:
        found["memory"] = f"{memory / 2**20:,.0f} MB"
    found |= {f"version of {name}": version for name, version in record["versions"].items()}
    if record["finished"]:  # Else the record says what they were when the run began.
        found["processor-seconds"] = f"{record['cpu_seconds']:,.1f}"
        found["peak-memory"] = f"{record['peak_memory_mb']:,.0f} MB"
    return found


def _files(run: RunOnPage, several: bool) -> Markup:
    corpus = run.record["corpus"]
    title = "Command and files" + (f" of {run.name}" if several else "")
    digests = {name: corpus["sha256"].get(name, "unknown") for name in corpus["files"]}
    return files(title, run.record["command"], corpus["files"], digests)


def _skipped(run: RunOnPage, several: bool) -> Markup:
    skipped = run.record["skipped"]
    of = f" of {run.name}" if several else ""
    if not skipped:
        return element("p", f"No sentence pair{of} was skipped.")
    reasons = Counter("too long" if "words" in each["reason"] else each["reason"] for each in skipped)
    told = ", ".join(f"{number} ({reason})" for reason, number in reasons.most_common())
    rows = [(str(each["sentence"]), each["reason"]) for each in skipped[:200]]
    listed = table(["pair", "why"], rows, text_columns=2)
    more = element("p", f"… and {len(skipped) - 200} more") if len(skipped) > 200 else None
    return element("details", element("summary", f"Skipped pairs{of}: {told}"), listed, more)


# ---- Traces ----------------------------------------------------------------------------------------


def tell_traces(runs: Sequence[RunOnPage]) -> list[Markup]:
    """Curves of all chains, and whether they agree; before these, why some say nothing together."""
    named = [NamedTrace(_label(runs, run, k), trace) for run in runs for k, trace in enumerate(run.traces, 1)]
    burn_in = max(run.record["run"]["burn_in"] for run in runs)
    traced = [chain for run in runs for chain in run.chains if (chain / TRACE).exists()]
    remarks = [note(f"{reason}.") for reason in incomparable(traced)]
    where = "in averaged counts alone" if any(map(_averages_burn_in, runs)) else "nowhere"
    traced_here = Traced(_CURVES, {"tables": "tables"}, burn_in_counts=where)
    return remarks + tell_curves(named, traced_here, burn_in)


def _averages_burn_in(run: RunOnPage) -> bool:
    """Whether the states that the paper averages, every so many sweeps, begin before the burn-in ends."""
    settings = run.record["run"]  # Of any version: of what it may lack nothing is said.
    every, until = settings.get("average_every", 0), settings.get("average_until", 0)
    return type(every) is type(until) is int and 0 < every <= min(settings["burn_in"], until)


def _label(runs: Sequence[RunOnPage], run: RunOnPage, chain: int) -> str:
    if len(run.traces) == 1:
        return run.name
    return f"{run.name}, chain {chain}" if len(runs) > 1 else f"chain {chain}"
