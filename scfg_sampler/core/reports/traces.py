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
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import ChainTooShort

__all__ = ["NamedTrace", "Traced", "tell_disagreement", "tell_traces"]

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
    burn_in_counts: str = "nowhere"
    """Where sweeps of the burn-in count."""


def tell_traces(
    named: Sequence[NamedTrace],
    traced: Traced,
    burn_in: int,
    draws: Sequence[Mapping[str, np.ndarray]] | None = None,
) -> list[Markup]:
    """Curves of all chains, and whether they agree.

    Parameters
    ----------
    named : sequence of NamedTrace
        Those without a single row are left out.
    traced : Traced
    burn_in : int
        What is left of it is shaded, and not judged.
    draws : sequence of mappings, optional
        What is judged instead, all after the burn-in, where traces have only some of the draws of each chain.
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
        said = f"Sweeps before {burn_in:,}, shaded, are burn-in: they count {traced.burn_in_counts}."
        out.append(element("p", said, class_="soft"))
    titles = {**traced.drawn, **traced.judged}
    chosen = [each.columns for each in named] if draws is None else draws
    return out + _diagnosis(chosen, titles, burn_in if draws is None else 0)


def tell_disagreement(
    rhat: Mapping[str, float | None], kind: tuple[str, str], chains: int, resume: str
) -> list[Markup]:
    """Which quantity has the highest R̂, if that is too high: the log joint may agree where others do not.

    Parameters
    ----------
    rhat : mapping from names to float or None
        Those without one are left out.
    kind : (str, str)
        What they are, one and several.
    chains : int
    resume : str
        The command that goes on sampling.
    """
    known = {name: value for name, value in rhat.items() if value is not None}
    apart = [name for name, value in known.items() if value > _AGREE]
    if not apart:
        return []
    worst = max(apart, key=known.__getitem__)
    who = "The chains" if chains > 1 else "The halves of the chain"
    said = (
        f"{who} have not come to agree on {len(apart)} of {counted(len(known), *kind)}: split R̂ is above "
        f"{_AGREE}, for {worst} {known[worst]:.3f}. More sweeps may change all that is told below: "
    )
    return [note(said, element("code", resume))]


def _finite(trace: NamedTrace, name: str) -> tuple[np.ndarray, np.ndarray]:
    rows = np.isfinite(trace.columns[name])
    return trace.columns["sweep"][rows], trace.columns[name][rows]


def _diagnosis(
    traces: Sequence[Mapping[str, np.ndarray]], titles: Mapping[str, str], burn_in: int
) -> list[Markup]:
    chosen = [{name: each[name] for name in titles if name in each} for each in traces]
    # A row may stand for several sweeps; burn-in is counted in sweeps.
    rows = max(int(np.searchsorted(each["sweep"], burn_in)) for each in traces) if burn_in else 0
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
    return [element("p", _verdict(moving, titles, len(traces))), table(header, shown)]


def _number(value: float) -> str:
    return compact(value) if abs(value) < 1e3 else f"{value:,.0f}".replace("-", "−")


def _verdict(found: Mapping[str, Diagnosis], titles: Mapping[str, str], chains: int) -> str:
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
    told += f"{who} agree on it"
    worst = max(found, key=lambda name: found[name].rhat)
    if found[worst].rhat > _AGREE:
        told += f", but not on all that is traced ({titles[worst]}: {found[worst].rhat:.3f})"
    if judged.ess < _ENOUGH:
        told += ", but so few independent draws give rough averages"
    return f"{told}."
