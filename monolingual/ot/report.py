"""The report of a grammar of `ot sample`, `fit`, `gla` or `maxent`: values, ranking, tableaux, fit.

Of a run of `sample` it tells what was run, the chains, and what the posterior says; of the others what there
is. The fact a newcomer would get wrong: predictions are those at the posterior medians, as in `ot predict`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from monolingual.ot.domination import what_keeps_dominated
from monolingual.ot.drawing import draw_fit, draw_ranking
from monolingual.ot.formats import read_tableaux
from monolingual.ot.grammar import (
    Grammar,
    aligned,
    correlation,
    heard,
    log_likelihood,
    predict,
    read_summary,
)
from monolingual.ot.hidden import hidden_problems
from monolingual.ot.orderings import problems
from monolingual.ot.plots import cover_edges
from monolingual.ot.run import Draws, read_draws, read_run
from monolingual.ot.summaries import kernel_density, outranking
from monolingual.ot.tableaux import Tableaux, overt_forms, relative_frequencies
from scfg_sampler.core.chains.chain import read_trace
from scfg_sampler.core.chains.run_directory import RECORD, TRACE, chain_directory
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.json_text import WRONG_RECORD
from scfg_sampler.core.pages.charts import Axes, Curve, legend, line_chart
from scfg_sampler.core.pages.elements import Content, Markup, element, table, words
from scfg_sampler.core.pages.intervals import Interval, interval_chart
from scfg_sampler.core.reports.document import Section, note, write_document
from scfg_sampler.core.reports.records import bar, duration, files, settings_table, spelled, tiles
from scfg_sampler.core.reports.traces import NamedTrace, Traced, tell_disagreement, tell_traces
from scfg_sampler.core.wording import counted, distinct_names
from scfg_sampler.errors import InputError, SettingsError

__all__ = ["ReportInputs", "write_report"]

_NAMED = 10
"""Candidates that are named at the most."""
_CURVES = 23
"""Constraints that have curves of their own."""

_MODELS = {
    "stochastic-ot": "Stochastic OT",
    "noisy-hg": "noisy Harmonic Grammar",
    "maxent": "maximum entropy",
    "exponential-maxent": "exponential maximum entropy",
}


class ReportInputs(NamedTuple):
    """What a report is made of.

    Attributes
    ----------
    run : path
        A directory of `ot sample`, `fit`, `gla` or `maxent`.
    beside : sequence of path
        Others, whose predictions are shown beside.
    inputs : int
        Tableaux shown at the most: of more, those that are predicted worst.
    threshold : float
        The least probability of outranking that is drawn.
    title : str
    """

    run: PathLike
    beside: Sequence[PathLike] = ()
    inputs: int = 40
    threshold: float = 0.95
    title: str = ""


class _Posterior(NamedTuple):
    """What a run of `sample` has besides its grammar."""

    record: dict[str, Any]
    traces: list[dict[str, np.ndarray]]
    draws: Draws


class _Shown(NamedTuple):
    """What all sections tell of."""

    grammar: Grammar
    summary: dict[str, Any]
    tableaux: Tableaux
    predictions: dict[str, np.ndarray]
    """Of all candidates, by the name of the grammar; that of the report first."""
    posterior: _Posterior | None

    @property
    def order(self) -> np.ndarray:
        """Constraints from the highest value to the lowest."""
        return np.argsort(-self.grammar.value, kind="stable")


def write_report(inputs: ReportInputs, output: PathLike) -> int:
    """Write the page; how many bytes it has.

    Raises
    ------
    InputError
        A directory has no grammar, or one that lacks a constraint of the tableaux.
    SettingsError
        An option is out of range.
    """
    if inputs.inputs < 0:
        raise SettingsError(f"--inputs is {inputs.inputs}; it must be at least 0")
    shown = _read(inputs)
    sections = [Section("What was run", "run", _tell_run(inputs, shown))]
    if shown.posterior is not None:
        sections += [
            Section("Traces", "traces", _tell_traces(shown, shown.posterior)),
            Section("Constraints", "constraints", _tell_intervals(shown, shown.posterior)),
        ]
    else:
        sections.append(Section("Constraints", "constraints", _tell_values(shown)))
    if shown.grammar.model == "stochastic-ot":
        sections.append(Section("Ranking", "ranking", _tell_ranking(shown, inputs.threshold)))
    sections += [
        Section("Fit", "fit", _tell_fit(shown)),
        Section("Tableaux", "tableaux", _tell_tableaux(shown, inputs.inputs)),
    ]
    return write_document(inputs.title or f"Optimality Theory: {inputs.run}", sections, output)


def _read(inputs: ReportInputs) -> _Shown:
    place = Path(inputs.run)
    grammar, summary = read_summary(place)
    tableaux = read_tableaux(place / "tableaux.tsv")
    grammar = aligned(grammar, tableaux, place)
    try:
        _tell_bounds(summary)
    except WRONG_RECORD:
        hint = "Learn the grammar again"
        raise InputError(place / "summary.json", None, "is not the summary of a grammar", hint) from None
    own, *others = distinct_names([place, *map(Path, inputs.beside)])
    predictions = {own: predict(grammar, tableaux)}
    for other, name in zip(inputs.beside, others, strict=True):
        beside = aligned(read_summary(other)[0], tableaux, other)
        predictions[name] = predict(beside, tableaux)
    posterior = None
    if "median" in summary and (place / RECORD).exists():
        record = read_run(place)
        chains = range(1, record["run"].chains + 1)
        traces = [read_trace(chain_directory(place, chain) / TRACE) for chain in chains]
        posterior = _Posterior(record, traces, read_draws(place))
    return _Shown(grammar, summary, tableaux, predictions, posterior)


# ---- What was run ----------------------------------------------------------------------------------


def _tell_run(inputs: ReportInputs, shown: _Shown) -> list[Markup]:
    tableaux, posterior = shown.tableaux, shown.posterior
    sizes = [
        (_MODELS.get(shown.grammar.model, shown.grammar.model), "model"),
        (f"{len(tableaux.inputs):,}", "inputs"),
        (f"{len(tableaux.outputs):,}", "candidates"),
        (f"{len(tableaux.constraints):,}", "constraints"),
        (f"{tableaux.frequency.sum():,.6g}", "observed in all"),
    ]
    if posterior is None:
        return [tiles(sizes)]
    record = posterior.record
    run, settings = record["run"], record["settings"]
    priors = {tableaux.constraints[at]: f"N({m:g}, {d:g}²)" for at, (m, d) in settings.priors.items()}
    column = spelled({**settings._asdict(), **run._asdict(), "priors": priors})
    column |= {f"version of {name}": version for name, version in record["versions"].items()}
    chains = f"sweeps of {counted(run.chains, 'chain')}" if run.chains > 1 else "sweeps"
    if record["finished"]:
        sizes.append((f"{run.iterations:,}", f"{chains} each" if run.chains > 1 else chains))
        sizes.append((duration(record["seconds"]), "sampling"))
        column |= {"processor-seconds": f"{record['cpu_seconds']:,.1f}"}
        unfinished = []
    else:  # A run that was killed did not get to say how long it took.
        made = sum(len(trace["sweep"]) for trace in posterior.traces)
        sizes.append((f"{made:,}", f"{chains} together" if run.chains > 1 else chains))
        said = "The run is not finished: medians, intervals and predictions are of before it was prolonged."
        resume = element("code", f"scfg-monolingual ot resume {inputs.run}")
        unfinished = [note(f"{said} To go on: ", resume)]
    return [
        tiles(sizes),
        *unfinished,
        settings_table({str(inputs.run): column}),
        files("Command and files", record["command"], {}, record["corpus"]),
    ]


def _tell_traces(shown: _Shown, posterior: _Posterior) -> list[Markup]:
    chains = len(posterior.traces)
    named = [
        NamedTrace(f"chain {number}" if chains > 1 else "the chain", trace)
        for number, trace in enumerate(posterior.traces, start=1)
    ]
    ordered = [shown.tableaux.constraints[at] for at in shown.order]
    drawn = {"log_joint": "log joint", **{f"mean {name}": name for name in ordered[:_CURVES]}}
    judged = {f"mean {name}": name for name in ordered[_CURVES:]}
    judged |= {f"deviation {name}": f"deviation of {name}" for name in ordered}
    told = tell_traces(named, Traced(drawn, judged), posterior.record["run"].burn_in)
    return _tell_disagreement(shown, chains) + told


def _tell_disagreement(shown: _Shown, chains: int) -> list[Markup]:
    found = {name: each["rhat"] for name, each in shown.summary["constraints"].items()}
    return tell_disagreement(found, ("mean", "means"), chains, "scfg-monolingual ot resume")


# ---- Values ----------------------------------------------------------------------------------------


def _tell_intervals(shown: _Shown, posterior: _Posterior) -> list[Markup]:
    """Intervals of all means, their numbers, and densities."""
    said = (
        "The mean of each constraint in the posterior: the dot is its median, the line holds 95 % of the "
        "draws, short strokes are modes. Single means say little where they move together: who outranks "
        "whom is below."
    )
    names = [shown.tableaux.constraints[at] for at in shown.order]
    found = shown.summary["constraints"]
    intervals = [
        Interval(
            name,
            found[name]["interval"][0],
            found[name]["median"],
            found[name]["interval"][1],
            tuple(found[name]["modes"]),
        )
        for name in names
    ]
    rows = [
        (
            name,
            *(f"{found[name][key]:.2f}".replace("-", "−") for key in ("median", "mean", "sd")),
            " to ".join(f"{end:.2f}" for end in found[name]["interval"]).replace("-", "−"),
            *(_optional(found[name][key], digits) for key, digits in (("rhat", 3), ("ess", 0))),
        )
        for name in names
    ]
    header = ["constraint", "median", "mean", "deviation", "95 % of the draws", "split R̂", "effective size"]
    return [
        *_tell_problems(shown.tableaux, posterior),
        element("p", said),
        interval_chart("means of the constraints with their intervals", "mean of the constraint", intervals),
        element("details", element("summary", "In numbers"), table(header, rows)),
        element("details", element("summary", "Densities"), _densities(names, shown, posterior)),
    ]


def _tell_problems(tableaux: Tableaux, posterior: _Posterior) -> list[Markup]:
    """What the command has warned of: what the data dominate, or say nothing about."""
    if tableaux.overt:
        return [note(f"{problem}.") for problem in hidden_problems(tableaux)]
    settings = posterior.record["settings"]
    dominated = what_keeps_dominated(tableaux, settings.truncate > 0, settings.priors)
    # No capitals: most begin with a form, of which they would make another.
    return [note(f"{problem}.") for problem in (*problems(tableaux), *dominated)]


def _optional(value: float | None, digits: int) -> str:
    return "—" if value is None else f"{value:.{digits}f}"


def _densities(names: Sequence[str], shown: _Shown, posterior: _Posterior) -> Markup:
    bound = posterior.record["settings"].truncate or None
    pooled = np.concatenate(posterior.draws.mean)
    charts = []
    for name in names[:_CURVES]:
        draws = pooled[:, shown.tableaux.constraints.index(name)]
        if np.ptp(draws) > 0:
            charts.append(line_chart(Axes(name, "mean"), [Curve(name, *kernel_density(draws, bound=bound))]))
    return element("div", charts, class_="charts")


def _tell_values(shown: _Shown) -> list[Markup]:
    """The values of a single grammar."""
    what = "mean" if shown.grammar.model == "stochastic-ot" else "weight"
    rows = [
        (
            shown.tableaux.constraints[at],
            f"{shown.grammar.value[at]:.3f}".replace("-", "−"),
            f"{shown.grammar.deviation[at]:.3g}",
        )
        for at in shown.order
    ]
    return [table(["constraint", what, "noise"], rows), *_tell_bounds(shown.summary)]


def _tell_bounds(summary: dict[str, Any]) -> list[Markup]:
    """Where there is no best grammar, as `maxent` and `fit` found: values are where the search ended."""
    said: list[Content] = []
    separation = summary.get("separation")
    if separation and summary.get("prior_variance") is None and "bias" not in summary:
        growing = [f"{'+' if x > 0 else '−'}{name}" for name, x in separation["direction"].items()]
        losing = separation["candidates"]
        said.append(
            (
                "There is no best grammar: weights grow without end along ",
                *_listed(growing),
                ", and in the limit ",
                *_listed(losing[:_NAMED], "; "),
                f", and {len(losing) - _NAMED:,} more" if len(losing) > _NAMED else "",
                " would never occur. The weights above are those where the search ended.",
            )
        )
    for members in summary.get("dominated", []):
        low = "below the others, however far. The means above are those where the search ended."
        said.append(("There is no best grammar: the data put ", *_listed(members), " ", low))
    if at_bound := summary.get("at_bound"):
        said.append(("Only the bound of the means keeps these where they are: ", *_listed(at_bound), "."))
    return [note(each) for each in said]


def _listed(names: Sequence[str], between: str = ", ") -> list[Content]:
    """Names beside each other, which may run from right to left."""
    return [(between if at else "", words(name)) for at, name in enumerate(names)]


def _tell_ranking(shown: _Shown, threshold: float) -> list[Markup]:
    """The Hasse diagram."""
    if shown.posterior is not None:
        draws = shown.posterior.draws
        above = outranking(np.concatenate(draws.mean), np.concatenate(draws.deviation))
    else:
        above = outranking(shown.grammar.value[None], shown.grammar.deviation[None])
    edges = cover_edges(above, threshold)
    said = (
        "A line leads down from a constraint to those that it outranks in at least "
        f"{100 * threshold:g} % of all evaluations"
    )
    said += ", averaged over the posterior" if shown.posterior is not None else ""
    said += "; what follows from two lines has none. Pointing at a line shows the probability."
    picture = Markup(draw_ranking(shown.tableaux.constraints, edges, above, shown.order))
    out = [element("p", said), element("div", picture, class_="scroll")]
    if not edges:
        out.append(note("No constraint is above another that surely."))
    return out


# ---- Fit -------------------------------------------------------------------------------------------


def _tell_fit(shown: _Shown) -> list[Markup]:
    """Predicted over observed shares, and what they come to for each grammar."""
    tableaux = shown.tableaux
    if not tableaux.frequency.any():
        return [note("Nothing was observed, so that there is nothing to compare with.")]
    rows = []
    for name, probs in shown.predictions.items():
        likelihood = log_likelihood(tableaux, probs)
        told = f"{likelihood:,.2f}".replace("-", "−") if np.isfinite(likelihood) else "−∞"
        rows.append((name, told, _optional(_finite(correlation(tableaux, probs)), 4)))
    forms = overt_forms(tableaux)[0]
    index = forms.input_of()
    seen = np.bincount(index, forms.frequency, minlength=len(forms.inputs))[index] > 0
    observed = relative_frequencies(forms)[seen]
    heard_of = {name: heard(tableaux, probs)[1][seen] for name, probs in shown.predictions.items()}
    names = [f"{forms.inputs[index[at]]} → {forms.outputs[at]}" for at in np.flatnonzero(seen)]
    out = [table(["grammar", "log likelihood", "correlation of shares"], rows)]
    if shown.posterior is not None:
        at_medians = "Predictions of a run of 'sample' are those at the medians of its posterior."
        out.append(element("p", at_medians, class_="soft"))
    if any(row[1] == "−∞" for row in rows):
        out.append(element("p", "−∞: something observed is predicted never to occur.", class_="soft"))
    return [*out, legend(list(heard_of)), draw_fit(observed, heard_of, names)]


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _tell_tableaux(shown: _Shown, most: int) -> list[Markup]:
    """A tableau for each input: candidates, violations, observed and predicted shares."""
    tableaux = shown.tableaux
    chosen = _worst(shown, most)
    left = len(tableaux.inputs) - len(chosen)
    said = (
        "Constraints from the highest value to the lowest, without those that nothing there violates, "
        "candidates as in the file; ☞ is the one predicted most. Bars: observed above, predicted below."
    )
    if left:
        said += f" Shown are those that are predicted worst, {len(chosen)} of {len(chosen) + left}."
    return [element("p", said), *[_tableau(shown, index) for index in chosen]]


def _worst(shown: _Shown, most: int) -> list[int]:
    """Which inputs are shown, in their order: all, or those with the largest share predicted wrongly."""
    tableaux = shown.tableaux
    number = len(tableaux.inputs)
    if number <= most:
        return list(range(number))
    forms, probs = heard(tableaux, next(iter(shown.predictions.values())))
    wrong = np.abs(relative_frequencies(forms) - probs) / 2
    index = forms.input_of()
    totals = np.bincount(index, forms.frequency, minlength=number)
    missed = np.where(totals > 0, np.bincount(index, wrong, minlength=number), -1.0)
    return sorted(np.argsort(-missed, kind="stable")[:most].tolist())


def _tableau(shown: _Shown, index: int) -> Markup:
    tableaux = shown.tableaux
    forms, form_of = overt_forms(tableaux)
    shares = relative_frequencies(forms)
    here = tableaux.candidates(index)
    predictions = list(shown.predictions.values())
    best = max(here, key=lambda candidate: predictions[0][candidate])
    telling = [at for at in shown.order if tableaux.violations[here.start : here.stop, at].any()]
    header: list[Content] = ["", *(["heard"] if tableaux.overt else []), "", "observed", *shown.predictions]
    header += [tableaux.constraints[at] for at in telling]
    rows, told = [], set()
    for candidate in here:
        form = form_of[candidate]
        observed = "" if form in told else f"{shares[form]:.3f}"
        told.add(form)
        row: list[Content] = [("☞ " if candidate == best else "", words(tableaux.outputs[candidate]))]
        row += [words(tableaux.overt[candidate])] if tableaux.overt else []
        bars = [bar(float(shares[form])), bar(float(predictions[0][candidate]), 1)]
        row += [element("div", bars, class_="bars"), observed]
        row += [f"{probs[candidate]:.3f}" for probs in predictions]
        row += [_stars(int(tableaux.violations[candidate, at])) for at in telling]
        rows.append(row)
    caption = element("b", words(tableaux.inputs[index]))
    columns = 3 if tableaux.overt else 2
    return table(header, rows, caption=caption, text_columns=columns, short_names=True)


def _stars(number: int) -> str:
    return "*" * number if number < 4 else f"*×{number}"
