"""Traces of one or several chains: their curves, split R̂ and effective sample sizes, and what these mean.

The fact a newcomer would get wrong: a scalar that does not move is neither drawn nor judged, but the log
joint is always drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.chains.diagnostics import Diagnosis, diagnose_traces
from scfg_sampler.core.pages.charts import Axes, Curve, compact, legend, line_chart
from scfg_sampler.core.pages.elements import Markup, element, table
from scfg_sampler.core.reports.document import note
from scfg_sampler.errors import ChainTooShort

__all__ = ["NamedTrace", "Traced", "tell_traces"]

_AGREE = 1.01
_ENOUGH = 100


class NamedTrace(NamedTuple):
    """The trace of a chain."""

    label: str
    columns: Mapping[str, np.ndarray]
    """float64 (sweeps,) each; `sweep` is what curves are drawn over."""


class Traced(NamedTuple):
    """Which columns are told, and how."""

    drawn: Mapping[str, str]
    """Columns that have a curve each, with their titles; `log_joint` is what the verdict speaks of."""
    judged: Mapping[str, str] = {}
    """Columns that are judged besides these."""
    unit: str = "sweep"
    """What curves are drawn over."""


def tell_traces(named: Sequence[NamedTrace], traced: Traced, burn_in: int) -> list[Markup]:
    """Curves of all chains, and whether they agree.

    Parameters
    ----------
    named : sequence of NamedTrace
        Those without a single row are left out.
    traced : Traced
    burn_in : int
        What is left of it is shaded, and not judged.
    """
    named = [each for each in named if len(each.columns["sweep"])]
    if not named:
        return [note("There is no trace yet: not a single sweep is done.")]
    out: list[Markup] = [legend([each.label for each in named])]
    charts = []
    for name, title in traced.drawn.items():
        curves = [Curve(each.label, *_finite(each, name)) for each in named if name in each.columns]
        moves = any(np.ptp(curve.y) > 0 for curve in curves if len(curve.y))
        if moves or name == "log_joint":
            charts.append(line_chart(Axes(title, traced.unit, before=burn_in), curves))
    out.append(element("div", charts, class_="charts"))
    if burn_in > 0:
        said = f"Sweeps before {burn_in:,}, shaded, are burn-in: they count nowhere."
        out.append(element("p", said, class_="soft"))
    return out + _diagnosis(named, {**traced.drawn, **traced.judged}, burn_in)


def _finite(trace: NamedTrace, name: str) -> tuple[np.ndarray, np.ndarray]:
    rows = np.isfinite(trace.columns[name])
    return trace.columns["sweep"][rows], trace.columns[name][rows]


def _diagnosis(named: Sequence[NamedTrace], titles: Mapping[str, str], burn_in: int) -> list[Markup]:
    names = ("sweep", *titles)
    chosen = [{name: each.columns[name] for name in names if name in each.columns} for each in named]
    # A row may stand for several sweeps; burn-in is counted in sweeps.
    rows = max(int(np.searchsorted(each["sweep"], burn_in)) for each in chosen)
    try:
        found = diagnose_traces(chosen, burn_in=rows)
    except ChainTooShort as error:
        return [note(f"Too short to be judged: {error}.")]
    moving = {name: each for name, each in found.items() if not math.isnan(each.rhat)}
    shown = [
        (titles[name], f"{each.rhat:.3f}", f"{each.ess:.1f}", _number(each.mean), _number(each.deviation))
        for name, each in moving.items()
    ]
    header = ["", "split R̂", "effective sample size", "mean", "deviation"]
    return [element("p", _verdict(moving, len(named))), table(header, shown)]


def _number(value: float) -> str:
    return compact(value) if abs(value) < 1e3 else f"{value:,.0f}".replace("-", "−")


def _verdict(found: Mapping[str, Diagnosis], chains: int) -> str:
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
