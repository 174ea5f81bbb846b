"""What was run, and how the chains went: settings, what was skipped, traces, diagnostics."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from scfg_sampler.core.chains.chain import read_trace
from scfg_sampler.core.chains.diagnostics import Diagnosis, diagnose_traces
from scfg_sampler.core.chains.run_directory import TRACE
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.pages.charts import Axes, Curve, compact, legend, line_chart
from scfg_sampler.core.pages.elements import Content, Markup, element, table
from scfg_sampler.errors import ChainTooShort, InputError
from scfg_sampler.learner.chains import chain_directories
from scfg_sampler.learner.run import read_run

__all__ = ["RunOnPage", "open_run", "tell_runs", "tell_traces"]

_CURVES = (
    ("log_joint", "log joint"),
    ("rules", "rules used"),
    ("types", "different rules"),
    ("edges_changed", "edges changed in a sweep"),
    ("cuts_changed", "cuts changed in a sweep"),
    ("acceptance", "acceptance"),
    ("discount", "discount"),
    ("strength", "strength"),
    ("mean_length", "mean length"),
)
_JUDGED = (*(name for name, _ in _CURVES), "tables")
_AGREE = 1.01
_ENOUGH = 100


class RunOnPage(NamedTuple):
    """A run directory, as a page shows it."""

    name: str
    directory: Path
    record: dict[str, Any]
    chains: list[Path]
    traces: list[dict[str, np.ndarray]]
    """Of the chains that have one."""


def open_run(directory: PathLike) -> RunOnPage:
    """A run with the traces of its chains.

    Raises
    ------
    InputError
        It is not a run directory, or a trace is damaged.
    """
    chains = chain_directories(directory)
    traces = [read_trace(chain / TRACE) for chain in chains if (chain / TRACE).exists()]
    return RunOnPage(str(directory), Path(directory), read_run(directory), chains, traces)


# ---- What was run ----------------------------------------------------------------------------------


def tell_runs(runs: Sequence[RunOnPage]) -> list[Markup]:
    """Tiles with the sizes, settings side by side, files and skipped pairs."""
    first = runs[0].record
    corpus = first["corpus"]
    tiles = [
        (f"{corpus['sentences']:,}", "sentence pairs"),
        (f"{corpus['source_words']:,}", "source words"),
        (f"{corpus['target_words']:,}", "target words"),
        (
            f"{first['sweeps']:,}",
            "sweeps" + (f" of {len(runs[0].chains)} chains each" if "chains" in first else ""),
        ),
        (_duration(first["seconds"]), "sampling"),
    ]
    return [
        element("div", [_tile(*tile) for tile in tiles], class_="tiles"),
        *[_unfinished(run) for run in runs if not run.record["finished"]],
        _settings(runs),
        *[_files(run, len(runs) > 1) for run in runs],
        *[_skipped(run, len(runs) > 1) for run in runs],
    ]


def _tile(value: str, name: str) -> Markup:
    return element("div", element("b", value), element("span", name), class_="tile")


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _unfinished(run: RunOnPage) -> Markup:
    done, wanted = run.record["sweeps"], run.record["run"]["iterations"]
    hint = element("code", f"scfg-sampler resume {run.name}")
    text = f"{run.name} is not finished: {done} of {wanted} sweeps. To go on: "
    return element("p", text, hint, class_="note")


def _settings(runs: Sequence[RunOnPage]) -> Markup:
    """A column for every run; settings in which runs differ are marked."""
    columns = [_flat(run.record) for run in runs]
    names = list(dict.fromkeys(name for column in columns for name in column))
    rows = []
    for name in names:
        values = [column.get(name, "—") for column in columns]
        differs = len(set(values)) > 1
        rows.append([name, *(element("b", value) if differs else value for value in values)])
    shown = table(["setting", *(run.name for run in runs)], rows, text_columns=1 + len(runs))
    note = "What runs differ in is bold." if len(runs) > 1 else None
    return element("details", element("summary", "Settings and versions"), note, shown)


def _flat(record: dict[str, Any]) -> dict[str, str]:
    """Settings, versions and costs by name."""
    found = {name: _plain(value) for group in ("settings", "run") for name, value in record[group].items()}
    if "chains" in record:
        found["chains"] = _plain(record["chains"])
    found |= {f"version of {name}": version for name, version in record["versions"].items()}
    found["processor seconds"] = f"{record['cpu_seconds']:,.1f}"
    found["peak memory"] = f"{record['peak_memory_mb']:,.0f} MB"
    return {name.replace("_", "-"): value for name, value in found.items()}


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _files(run: RunOnPage, several: bool) -> Markup:
    corpus = run.record["corpus"]
    entries: list[Content] = [
        element("dt", "command"),
        element("dd", element("code", " ".join(run.record["command"]))),
    ]
    for name, path in corpus["files"].items():
        digest = element("code", corpus["sha256"].get(name, "unknown"), class_="soft")
        entries += [element("dt", name), element("dd", path, element("br"), "SHA-256 ", digest)]
    title = "Command and files" + (f" of {run.name}" if several else "")
    return element("details", element("summary", title), element("dl", entries))


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
    """Curves of all chains, and whether they agree."""
    named = [(_label(runs, run, k), trace) for run in runs for k, trace in enumerate(run.traces, 1)]
    named = [(label, trace) for label, trace in named if len(trace["sweep"])]
    if not named:
        return [element("p", "There is no trace yet: not a single sweep is done.", class_="note")]
    burn_in = max(run.record["run"]["burn_in"] for run in runs)
    out: list[Markup] = [legend([label for label, _ in named])]
    charts = []
    for name, title in _CURVES:
        curves = [Curve(label, *_finite(trace, name)) for label, trace in named if name in trace]
        moves = any(np.ptp(curve.y) > 0 for curve in curves if len(curve.y))
        if moves or name == "log_joint":
            charts.append(line_chart(Axes(title, "sweep", before=burn_in), curves))
    out.append(element("div", charts, class_="charts"))
    out.append(
        element("p", f"Sweeps before {burn_in}, shaded, are burn-in: they count nowhere.", class_="soft")
    )
    return out + _diagnosis([trace for _, trace in named], burn_in)


def _label(runs: Sequence[RunOnPage], run: RunOnPage, chain: int) -> str:
    if len(run.traces) == 1:
        return run.name
    return f"{run.name}, chain {chain}" if len(runs) > 1 else f"chain {chain}"


def _finite(trace: dict[str, np.ndarray], name: str) -> tuple[np.ndarray, np.ndarray]:
    rows = np.isfinite(trace[name])
    return trace["sweep"][rows], trace[name][rows]


def _diagnosis(traces: Sequence[dict[str, np.ndarray]], burn_in: int) -> list[Markup]:
    chosen = [{name: trace[name] for name in ("sweep", *_JUDGED) if name in trace} for trace in traces]
    try:
        found = diagnose_traces(chosen, burn_in=burn_in)
    except ChainTooShort as error:
        return [element("p", f"Too short to be judged: {error}.", class_="note")]
    titles = {**dict(_CURVES), "tables": "tables"}
    moving = {name: each for name, each in found.items() if not math.isnan(each.rhat)}
    rows = [
        (titles[name], f"{each.rhat:.3f}", f"{each.ess:.1f}", _number(each.mean), _number(each.deviation))
        for name, each in moving.items()
    ]
    shown = table(["", "split R̂", "effective sample size", "mean", "deviation"], rows)
    return [element("p", _verdict(moving, len(traces))), shown]


def _number(value: float) -> str:
    return compact(value) if abs(value) < 1e3 else f"{value:,.0f}".replace("-", "−")


def _verdict(found: dict[str, Diagnosis], chains: int) -> str:
    """What R̂ and the effective sample sizes say, in words."""
    judged = found.get("log_joint")
    if judged is None:
        return "The log joint does not move: nothing can be said of convergence."
    told = f"R̂ of the log joint is {judged.rhat:.3f}, its effective sample size {judged.ess:.0f}: "
    who = "the chains" if chains > 1 else "the halves of the chain"
    if judged.rhat > _AGREE:
        return (
            f"{told}{who} have not come to agree (R̂ is above {_AGREE}). Averages over chains and sweeps are "
            "useful, but longer chains would still change them."
        )
    if judged.ess < _ENOUGH:
        return f"{told}{who} agree, but so few independent draws give rough averages."
    return f"{told}{who} agree."


def require_runs(runs: Sequence[PathLike]) -> None:
    """Raise an InputError if a run is named twice."""
    for run in runs:
        if list(runs).count(run) > 1:
            raise InputError(run, None, "is named twice", "Name each run once")


def read_json(path: PathLike) -> Any:
    """What a JSON file says.

    Raises
    ------
    InputError
        It cannot be read, or is not JSON.
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(path, None, f"cannot be read ({error.strerror})", "Check the name") from None
    except ValueError:
        raise InputError(path, None, "is not JSON", "Name what 'evaluate --json' wrote") from None
