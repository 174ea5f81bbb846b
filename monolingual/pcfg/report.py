"""The report of a run of `pcfg sample`: settings, traces, rule probabilities, tightness, trees.

The fact a newcomer would get wrong: the grammar of posterior means may be tight while most draws are not, and
the other way round; both are told.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from monolingual.pcfg.grammar import Grammar, num_rules
from monolingual.pcfg.grammar_text import grammar_of_names
from monolingual.pcfg.partition import build_system, newton_partition
from monolingual.pcfg.summary import LONGEST_DIAGNOSED, require_summary
from monolingual.pcfg.tightness import analyse, moments
from scfg_sampler.core.archives import read_arrays
from scfg_sampler.core.chains.chain import read_trace
from scfg_sampler.core.chains.run_directory import read_record, require_each
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.json_text import WRONG_RECORD
from scfg_sampler.core.pages.charts import Axes, Curve, line_chart
from scfg_sampler.core.pages.elements import Content, Markup, element, table
from scfg_sampler.core.pages.intervals import Interval, interval_chart
from scfg_sampler.core.reports.document import Section, note, read_json, write_document
from scfg_sampler.core.reports.records import bar, duration, files, settings_table, spelled, tiles
from scfg_sampler.core.reports.traces import NamedTrace, Traced, tell_disagreement, tell_traces
from scfg_sampler.core.tree_svg import draw_tree, tree_of_brackets
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import InputError

__all__ = ["write_report"]

_CURVES = {
    "log_joint": "log joint",
    "rejections": "rejected draws in a block",
    "log_partition": "log of the partition function",
}
_OF_EACH, _MOST_RULES, _DENSITIES, _TREES = 8, 200, 24, 12
_LARGEST_TREE = 60
"""Brackets of a tree that is drawn at the most."""
_DRAWS = 400
"""Draws whose partition functions are computed."""
_WORK = 1_000_000
"""Draws times rules that this may come to."""

_APPROACHES = {
    "sink": "what finite trees do not sum to goes to a sink: draws may be anything",
    "renormalise": "the probabilities of trees are divided by their sum",
    "only-tight": "only tight grammars are allowed",
}


class _Run(NamedTuple):
    name: str
    directory: Path
    record: dict[str, Any]
    summary: dict[str, Any] | None
    traces: list[dict[str, np.ndarray]]


class _Draws(NamedTuple):
    rules: list[str]
    probs: np.ndarray
    """float64 (draws, rules)."""
    chain: np.ndarray
    """int64 (draws,): which chain drew each."""
    log_joint: np.ndarray
    log_partition: np.ndarray
    """float64 (draws,): NaN where it is not known."""


def write_report(run: PathLike, output: PathLike, title: str = "") -> int:
    """Write a page about a run; how many bytes it has.

    Parameters
    ----------
    run : path
        A run directory.
    output : path
    title : str

    Raises
    ------
    InputError
        It is no run of `pcfg sample`, or a file in it is damaged.
    """
    opened = _open(Path(run))
    has_draws = opened.summary is not None and opened.summary["draws"]
    draws = _read_draws(opened.directory) if has_draws else None
    sections = [
        Section("What was run", "run", _tell_run(opened)),
        Section("Traces", "traces", _tell_traces(opened, draws)),
    ]
    if opened.summary is None or draws is None:
        remark = "The run has no draws yet; they are written when its chains end, or are stopped."
        sections.append(Section("Rule probabilities", "rules", [note(remark)]))
    else:
        sections += [
            Section("Rule probabilities", "rules", _tell_rules(draws, opened.summary)),
            Section("Tightness", "tightness", _tell_tightness(draws, opened.summary.get("tight"))),
        ]
        if "tree_frequencies" in opened.summary:
            sections.append(Section("Trees", "trees", _tell_trees(opened.summary)))
    return write_document(title or f"Probabilistic grammar: {run}", sections, output)


def _open(place: Path) -> _Run:
    def restored(record: dict) -> dict:
        settings = record["settings"]
        require_each(str, settings["approach"], *settings["digests"].values())
        require_each(int, settings["burn_in"])
        require_each(dict, settings["options"])
        require_each(bool, record["finished"])
        return record

    record = read_record(place, "pcfg sample", restored)
    summary = None
    if (place / "summary.json").exists():
        summary = read_json(place / "summary.json", "Continue the run with 'pcfg resume'")
        try:
            require_summary(summary)
        except WRONG_RECORD:
            hint = "Run 'pcfg sample' again"
            raise InputError(place / "summary.json", None, "is not the summary of a run", hint) from None
    paths = sorted(place.glob("trace.*.tsv"), key=lambda path: (len(path.name), path.name))
    return _Run(str(place), place, record, summary, [read_trace(path) for path in paths])


def _read_draws(place: Path) -> _Draws:
    kinds = {"probabilities": ("f", 2), "rules": ("U", 1), "chain": ("i", 1)}
    kinds |= dict.fromkeys(("log_joint", "log_partition"), ("f", 1))
    found, hint = "holds no draws", "Run 'pcfg sample' again"
    arrays = read_arrays(place / "samples.npz", kinds, found, hint)
    rules, probs = arrays["rules"].tolist(), arrays["probabilities"]
    if probs.shape[1] != len(rules) or not len(probs) or not np.isfinite(probs).all():
        raise InputError(place / "samples.npz", None, found, hint)
    each = [arrays[name] for name in ("chain", "log_joint", "log_partition")]
    if any(len(array) != len(probs) for array in each):
        raise InputError(place / "samples.npz", None, found, hint)
    return _Draws(rules, probs, *each)


# ---- What was run ----------------------------------------------------------------------------------


def _tell_run(run: _Run) -> list[Markup]:
    settings, summary = run.record["settings"], run.summary
    sizes = [(settings["approach"], _APPROACHES.get(settings["approach"], "approach"))]
    if summary is not None:
        sizes += [
            (f"{summary['trees']:,}", "trees"),
            (f"{summary['sentences']:,}", "sentences"),
            (f"{summary['draws']:,}", f"draws of {counted(summary['chains'], 'chain')}"),
            (f"{100 * summary['acceptance']:.1f} %", "of all proposals accepted"),
        ]
        if "f1" in summary:
            sizes.append((f"{summary['f1']:.4f}", "F1 of the trees"))
    if run.record["finished"]:  # A run that was killed did not get to say how long it took.
        sizes.append((duration(run.record["seconds"]), "sampling"))
    options = {name: value for name, value in settings["options"].items() if value not in (None, False, "")}
    own = {name: value for name, value in settings.items() if name not in ("options", "digests")}
    column = spelled({**options, **own})
    column |= {f"version of {name}": version for name, version in run.record["versions"].items()}
    unfinished = element("code", f"scfg-monolingual pcfg resume {run.name}")
    paths = {name: str(options[name]) for name in settings["digests"] if name in options}
    return [
        tiles(sizes),
        *([] if run.record["finished"] else [note("The run is not finished. To go on: ", unfinished)]),
        settings_table({run.name: column}),
        files("Command and files", run.record["command"], paths, settings["digests"]),
    ]


def _tell_traces(run: _Run, draws: _Draws | None) -> list[Markup]:
    several = len(run.traces) > 1
    named = []
    for number, trace in enumerate(run.traces, start=1):
        # A row stands for a block of sweeps, and is called by the last of them.
        columns = {**trace, "sweep": trace["sweeps"] - 1.0} if "sweeps" in trace else trace
        named.append(NamedTrace(f"chain {number}" if several else "the chain", columns))
    burn_in = run.record["settings"]["burn_in"]
    if draws is None or run.summary is None:
        return tell_traces(named, Traced(_CURVES), burn_in)
    found = run.summary["convergence"]
    rhat = {rule: found[rule].get("rhat") for rule in draws.rules if rule in found}
    resume = f"scfg-monolingual pcfg resume {run.name}"
    apart = tell_disagreement(rhat, ("probability", "probabilities"), len(run.traces), resume)
    return apart + tell_traces(named, Traced(_CURVES), burn_in, _by_chain(draws))


def _by_chain(draws: _Draws) -> list[dict[str, np.ndarray]]:
    """All draws of each chain, where a row of a trace is the last of a block; of long chains some."""
    columns = {"log_joint": draws.log_joint}
    if np.isfinite(draws.log_partition).all():
        columns["log_partition"] = draws.log_partition
    rows = [np.flatnonzero(draws.chain == chain) for chain in np.unique(draws.chain)]
    stride = -(-min(map(len, rows)) // LONGEST_DIAGNOSED)
    return [{name: column[each[::stride]] for name, column in columns.items()} for each in rows]


# ---- Rule probabilities ----------------------------------------------------------------------------


def _tell_rules(draws: _Draws, summary: dict[str, Any]) -> list[Markup]:
    """Intervals of the probabilities of rules, nonterminal by nonterminal; their densities."""
    groups: dict[str, list[int]] = {}
    for rule, name in enumerate(draws.rules):
        groups.setdefault(name.partition(" -> ")[0], []).append(rule)
    mean = draws.probs.mean(axis=0)
    low, median, high = np.percentile(draws.probs, (2.5, 50.0, 97.5), axis=0)
    cards, shown, rows = [], 0, []
    for head, rules in groups.items():
        chosen = sorted(rules, key=lambda rule: -mean[rule])[:_OF_EACH]
        if shown + len(chosen) > _MOST_RULES:
            break
        shown += len(chosen)
        intervals = [
            Interval(draws.rules[rule], float(low[rule]), float(median[rule]), float(high[rule]))
            for rule in chosen
        ]
        left = len(rules) - len(chosen)
        more = element("p", f"… and {counted(left, 'more rule')} of {head}", class_="soft") if left else None
        chart = interval_chart(f"probabilities of the rules of {head}", "probability", intervals)
        cards.append(element("div", chart, more))
        for rule in chosen:
            judged = summary["convergence"].get(draws.rules[rule]) or {}
            numbers = (mean[rule], draws.probs[:, rule].std(), low[rule], high[rule])
            judged_by = (_optional(judged.get("rhat"), 3), _optional(judged.get("ess"), 0))
            rows.append((draws.rules[rule], *(f"{number:.4f}" for number in numbers), *judged_by))
    others = len(groups) - len(cards)
    left_out = f", and none of {counted(others, 'further nonterminal', spec=',')}" if others else ""
    said = (
        f"{counted(len(draws.probs), 'draw', spec=',')}: dots are medians, lines hold 95 % of the draws. "
        f"{shown} of {counted(len(draws.rules), 'rule', spec=',')} are shown, of each nonterminal the "
        f"most probable{left_out}."
    )
    header: list[Content] = ["rule", "mean", "deviation", "2.5 %", "97.5 %", "split R̂", "effective size"]
    return [
        element("p", said),
        element("div", cards, class_="cards"),
        element("details", element("summary", "In numbers"), table(header, rows)),
        element("details", element("summary", "Densities"), _densities(draws)),
    ]


def _optional(value: float | None, digits: int) -> str:
    return "—" if value is None else f"{value:.{digits}f}"


def _densities(draws: _Draws) -> Markup:
    """Of the rules that vary most."""
    charts = []
    for rule in np.argsort(-draws.probs.std(axis=0), kind="stable")[:_DENSITIES].tolist():
        column = draws.probs[:, rule]
        if np.ptp(column) > 0:
            density, ends = np.histogram(column, bins=30, density=True)
            curve = Curve(draws.rules[rule], (ends[:-1] + ends[1:]) / 2, density)
            charts.append(line_chart(Axes(draws.rules[rule], "probability"), [curve]))
    return element("div", charts, class_="charts")


# ---- Tightness -------------------------------------------------------------------------------------


def _tell_tightness(draws: _Draws, share: float | None) -> list[Markup]:
    """The partition function at the means, and over the draws, whose tight `share` is given."""
    try:
        grammar = grammar_of_names(draws.rules)
    except InputError:
        return [note("The names of the rules cannot be read back, so that nothing is said of tightness.")]
    mean = draws.probs.mean(axis=0)
    verdict = analyse(grammar, mean)
    means = moments(grammar, mean, verdict)
    some = draws.probs[:: -(-len(draws.probs) // min(_DRAWS, max(20, _WORK // num_rules(grammar))))]
    partitions = _partitions(grammar, some)
    tight = float(np.mean(partitions[:, 0] == 1.0)) if share is None else share
    said = (
        "The grammar of the posterior means is tight: its finite trees have probability 1 together."
        if verdict.tight
        else "The grammar of the posterior means is not tight: its finite trees have probability "
        f"{verdict.partition[0]:.6g} together; the rest is lost in trees without end."
    )
    judged = len(some) if share is None else len(draws.probs)
    over = f"Of {counted(judged, 'draw', spec=',')}, {100 * tight:.1f} % are tight."
    if len(some) < len(draws.probs):
        over += f" What follows is of {counted(len(some), 'draw', spec=',')} of them, evenly spaced."
    sizes = [
        ("tight" if verdict.tight else "not tight", "at the means"),
        (f"{verdict.spectral_radius:.4f}", "spectral radius there"),
        (f"{means.length:.4g}".replace("inf", "∞"), "expected length of a finite tree"),
        (
            f"{100 * tight:.1f} %",
            "of the draws are tight" if judged == len(draws.probs) else "of some draws are tight",
        ),
    ]
    return [
        tiles(sizes),
        element("p", f"{said} {over}"),
        _partition_table(grammar, verdict, partitions),
        _histogram(partitions[:, 0], grammar.nonterminals[0]),
    ]


def _partitions(grammar: Grammar, probs: np.ndarray) -> np.ndarray:
    """The partition function of every nonterminal in every draw: float64, shape (draws, N)."""
    system = build_system(grammar)
    return np.array([newton_partition(system, np.ascontiguousarray(row))[0] for row in probs])


def _partition_table(grammar: Grammar, verdict: Any, partitions: np.ndarray) -> Markup:
    low, middle, high = np.percentile(partitions, (2.5, 50.0, 97.5), axis=0)
    # Those that lose most come first.
    order = sorted(range(len(grammar.nonterminals)), key=lambda at: (low[at], verdict.partition[at], at))
    rows = [
        (
            grammar.nonterminals[at],
            f"{verdict.partition[at]:.6f}",
            f"{middle[at]:.6f}",
            f"{low[at]:.6f} to {high[at]:.6f}",
            f"{verdict.radii[verdict.system.component[at]]:.4f}",
        )
        for at in order
    ]
    header: list[Content] = ["nonterminal", "at the means", "median", "95 % of the draws", "spectral radius"]
    caption = element("b", "Probability of finite trees, by nonterminal")
    first = table(header, rows[:15], caption=caption)
    if len(rows) <= 15:
        return first
    rest = element("details", element("summary", f"{len(rows) - 15} more"), table(header, rows[15:]))
    return element("div", first, rest)


def _histogram(values: np.ndarray, name: str) -> Markup:
    """How many draws lose how much."""
    counts, ends = np.histogram(values, bins=np.arange(11) / 10)
    rows = []
    for number, begin, end in zip(counts.tolist(), ends[:-1], ends[1:], strict=True):
        share = number / len(values)
        bars = element("div", bar(share), class_="bars")
        rows.append((f"{begin:.1f}–{end:.1f}", bars, f"{number:,}", f"{100 * share:.1f}"))
    caption = element("b", f"Probability of the finite trees of {name}, in the draws")
    header: list[Content] = ["", "share of the draws", "draws", "%"]
    return table(header, rows, caption=caption, text_columns=2, short_names=True)


# ---- Trees -----------------------------------------------------------------------------------------


def _tell_trees(summary: dict[str, Any]) -> list[Markup]:
    """The most frequent trees drawn, each with its share, and those of the other approaches if there are."""
    shares: dict[str, float] = summary["tree_frequencies"]
    errors = summary.get("tree_frequency_errors", {})
    frequent = sorted(shares, key=lambda tree: -shares[tree])[:_TREES]
    others = {
        approach: found["tree_frequencies"]
        for approach, found in summary.get("reweighted", {}).items()
        if "tree_frequencies" in found
    }
    figures = []
    for text in frequent:
        told = f"{100 * shares[text]:.2f} %"
        told += f" ± {100 * errors[text]:.2f}" if text in errors else ""
        told += "".join(f"; {name} {100 * each.get(text, 0.0):.2f} %" for name, each in others.items())
        figures.append(element("figure", _picture(text), element("figcaption", told)))
    said = (
        f"The {len(frequent)} most frequent of {counted(len(shares), 'different tree', spec=',')}, "
        "each with its share of the trees drawn of its sentence"
        + (", ± its standard error." if errors else ".")
    )
    return [element("p", said), element("div", figures, class_="pictures")]


def _picture(text: str) -> Content:
    if text.count("(") <= _LARGEST_TREE:
        try:
            return Markup(draw_tree(tree_of_brackets(text), name=text))
        except ValueError:  # A word is a bracket.
            pass
    return element("code", text)
