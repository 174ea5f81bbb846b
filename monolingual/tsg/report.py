"""The report of runs of `tsg train`: settings, traces, elementary trees, how sure cuts are.

The fact a newcomer would get wrong: several runs are several chains, compared in their traces; the elementary
trees are those of the first run's last state, one draw of many.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from monolingual.tsg.derivations import SplitTree
from monolingual.tsg.drawing import draw_fragment, draw_split
from monolingual.tsg.fragments import CountedFragment, format_fragment
from monolingual.tsg.learnt import LearntGrammar, read_grammar, read_record
from monolingual.tsg.run import read_derivations
from monolingual.tsg.statistics import Shape, most_frequent, shape_of
from scfg_sampler.core.chains.chain import read_trace
from scfg_sampler.core.chains.checkpoint import sweeps_kept
from scfg_sampler.core.chains.run_directory import CHECKPOINT, TRACE
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.json_text import WRONG_RECORD
from scfg_sampler.core.pages.elements import Content, Markup, element, table
from scfg_sampler.core.reports.document import Section, note, read_json, require_runs, write_document
from scfg_sampler.core.reports.records import bar, duration, files, settings_table, spelled, tiles
from scfg_sampler.core.reports.traces import NamedTrace, Traced, tell_traces
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import InputError, SettingsError

__all__ = ["write_report"]

_CURVES = {
    "log_joint": "log joint",
    "types": "different elementary trees",
    "fragments": "elementary trees in use",
    "cuts_changed": "cuts changed in a sweep",
    "edges_changed": "edges changed in a sweep",
    "acceptance": "acceptance of block moves",
    "strength": "mean concentration",
    "stop": "mean stop probability",
    "temperature": "temperature",
}
_SIZES = {"depth": "depth", "nodes": "nodes", "terminals": "words", "frontier": "open nonterminals"}
_MOST_BARS = 12
_DRAWN, _OF_EACH_DEPTH, _DEPTHS, _LISTED, _LABELS = 12, 4, 4, 10, 6
_FEWEST_WORDS, _MOST_WORDS = 5, 14
"""Of whole trees that are drawn."""
_WIDEST = 25
"""Nodes of a tree that is drawn at the most; larger ones are spelled."""
_OF_SEVERAL = (
    "; of a sentence with several trees, in what share of those sweeps in whose tree it was, and it counts "
    "for the share of all sweeps that these are"
)


class _Opened(NamedTuple):
    name: str
    directory: Path
    record: dict[str, Any]
    trace: dict[str, np.ndarray] | None

    @property
    def is_chain(self) -> bool:
        """Whether there are sweeps: Double-DOP has none, nor a burn-in, whatever its settings say."""
        return self.record["run"].method == "gibbs"


def write_report(runs: Sequence[PathLike], output: PathLike, title: str = "", shown: int = 6) -> int:
    """Write a page about runs; how many bytes it has.

    Parameters
    ----------
    runs : sequence of path
        Run directories. The elementary trees of the first one are shown.
    output : path
    title : str
    shown : int
        How many whole trees are drawn.

    Raises
    ------
    InputError
        A directory is no run of `tsg train`, or is named twice.
    SettingsError
        `shown` is negative.
    """
    require_runs(runs)
    if shown < 0:
        raise SettingsError(f"--shown is {shown}; it must be at least 0")
    opened = [_open(directory) for directory in runs]
    sections = [Section("What was run", "run", _tell_runs(opened))]
    if chains := [run for run in opened if run.is_chain]:
        sections.append(Section("Traces", "traces", _tell_traces(chains)))
    first = opened[0]
    try:
        grammar = read_grammar(first.directory)
    except InputError as error:
        if first.record["finished"]:
            raise
        sections.append(Section("Elementary trees", "trees", [note(f"{error}.")]))
    else:
        sections += [
            Section("Sizes", "sizes", _tell_sizes(grammar)),
            Section("Elementary trees used most", "trees", _tell_trees(grammar.fragments)),
            Section("By root", "roots", _tell_roots(grammar)),
        ]
        splits = _chosen(read_derivations(first.directory), shown)
        if splits:
            sections.append(Section("Whole trees", "whole", _tell_splits(splits)))
    if (first.directory / "marginals.json").exists():
        sections.append(Section("How sure cuts are", "cuts", _tell_cuts(first.directory)))
    names = ", ".join(run.name for run in opened)
    return write_document(title or f"Tree substitution grammar: {names}", sections, output)


def _open(directory: PathLike) -> _Opened:
    place = Path(directory)
    record = read_record(place)
    path = place / TRACE
    return _Opened(str(directory), place, record, read_trace(path) if path.exists() else None)


# ---- What was run ----------------------------------------------------------------------------------


def _tell_runs(runs: Sequence[_Opened]) -> list[Markup]:
    record = runs[0].record
    sizes = [
        (f"{record['sentences']:,}", "sentences"),
        (f"{record['nodes']:,}", "constituents"),
        (f"{record['productions']:,}", "productions of the treebank"),
    ]
    if runs[0].is_chain:
        sizes.append((f"{_sweeps(runs[0]):,}", "sweeps"))
        # A run that was killed did not get to say how long it took.
        sizes += [(duration(record["seconds"]), "sampling")] if record["finished"] else []
    unfinished = [run for run in runs if not run.record["finished"]]
    return [
        tiles(sizes),
        *[note(f"{run.name} is not finished. To go on: ", _resume(run.name)) for run in unfinished],
        settings_table({run.name: _flat(run.record) for run in runs}),
        *[_files(run, len(runs) > 1) for run in runs],
    ]


def _sweeps(run: _Opened) -> int:
    """How many sweeps have been made; of a run that was stopped, those of its checkpoint."""
    sweeps = int(run.record["sweeps"])
    return sweeps if run.record["finished"] else sweeps_kept(run.directory / CHECKPOINT, sweeps)


def _resume(name: str) -> Markup:
    return element("code", f"scfg-monolingual tsg resume {name}")


def _flat(record: dict[str, Any]) -> dict[str, str]:
    preparation = record["preparation"]._asdict()
    del preparation["known"]
    found = spelled({**record["settings"]._asdict(), **record["run"]._asdict(), **preparation})
    for name in ("concentration", "stop"):
        if record["settings"]._asdict()[name] is None:
            found[name] = "learnt"
    found |= {f"version of {name}": version for name, version in record["versions"].items()}
    if record["finished"]:
        found["processor-seconds"] = f"{record['cpu_seconds']:,.1f}"
    return found


def _files(run: _Opened, several: bool) -> Markup:
    title = "Command and files" + (f" of {run.name}" if several else "")
    return files(title, run.record["command"], {}, run.record["corpus"])


def _tell_traces(runs: Sequence[_Opened]) -> list[Markup]:
    named = [NamedTrace(run.name, run.trace) for run in runs if run.trace is not None]
    burn_in = max(run.record["run"].burn_in for run in runs)
    told = tell_traces(named, Traced(_CURVES), burn_in)
    if len(runs) == 1:
        said = (
            "Whether another chain would find the same is known only from several: train again with another "
            "--seed, and name both runs."
        )
        told.append(element("p", said, class_="soft"))
    return told


# ---- The grammar -----------------------------------------------------------------------------------


def _tell_sizes(grammar: LearntGrammar) -> list[Markup]:
    """Histograms of the elementary trees, and of their uses."""
    shapes = [shape_of(tree) for tree, _ in grammar.fragments]
    counts = [count for _, count in grammar.fragments]
    deep = sum(shape.depth > 1 for shape in shapes)
    uses = sum(counts)
    share = sum(count for shape, count in zip(shapes, counts, strict=True) if shape.depth > 1) / uses
    said = (
        f"{counted(len(shapes), 'different elementary tree', spec=',')}, used "
        f"{counted(round(uses), 'time', spec=',')}. "
        f"{deep:,} {'is' if deep == 1 else 'are'} deeper than a production of the treebank; "
        f"{100 * share:.1f} % of the uses are of such. The treebank has "
        f"{counted(len(grammar.productions), 'production', spec=',')}."
    )
    cards = [_histogram(field, title, shapes, counts) for field, title in _SIZES.items()]
    return [element("p", said), element("div", cards, class_="cards")]


def _histogram(field: str, title: str, shapes: Sequence[Shape], counts: Sequence[float]) -> Markup:
    types: Counter[int] = Counter()
    uses: Counter[int] = Counter()
    smallest = min(getattr(shape, field) for shape in shapes)
    last = smallest + _MOST_BARS - 1
    for shape, count in zip(shapes, counts, strict=True):
        size = min(getattr(shape, field), last)
        types[size] += 1
        uses[size] += count  # type: ignore[assignment]
    is_cut = any(getattr(shape, field) > last for shape in shapes)
    rows = []
    for size in sorted(types):
        share = types[size] / len(shapes)
        label = f"{size}–" if is_cut and size == last else str(size)
        bars = element("div", bar(share), class_="bars")
        rows.append((label, bars, f"{types[size]:,}", f"{100 * uses[size] / sum(counts):.1f}"))
    header = ["", "share of the trees", "trees", "uses %"]
    return table(header, rows, caption=element("b", title), text_columns=2, short_names=True)


def _tell_trees(fragments: Sequence[CountedFragment]) -> list[Markup]:
    """Pictures of the trees used most, of all that are deeper than a production and of each depth."""
    deep = [each for each in fragments if shape_of(each.fragment).depth > 1]
    if not deep:
        return [note("No elementary tree is deeper than a production of the treebank.")]
    out = [
        element("p", "Boxes are open: other elementary trees go there. Below each, how often it is used."),
        element("h3", "Deeper than a production"),
        _pictures(most_frequent(deep, None, _DRAWN)),
    ]
    by_depth = sorted({shape_of(each.fragment).depth for each in deep})
    for depth in by_depth[1 : _DEPTHS + 1]:
        here = [each for each in deep if shape_of(each.fragment).depth == depth]
        chosen = most_frequent(here, None, _OF_EACH_DEPTH)
        out += [element("h3", f"Depth {depth}: {len(here):,} different"), _pictures(chosen)]
    words = most_frequent(deep, None, _DRAWN, lexical=True)
    if words:
        out += [element("h3", "With words"), _pictures(words)]
    return out


def _pictures(fragments: Sequence[CountedFragment]) -> Markup:
    return element("div", [_picture(*each) for each in fragments], class_="pictures")


def _picture(fragment: Any, count: float) -> Markup:
    spelt = format_fragment(fragment)
    shown: Content = element("code", spelt)
    if shape_of(fragment).nodes <= _WIDEST:
        shown = Markup(draw_fragment(fragment, name=spelt))
    return element("figure", shown, element("figcaption", "once" if count == 1.0 else f"{count:,.6g} times"))


def _tell_roots(grammar: LearntGrammar) -> list[Markup]:
    """What is known of each label, and the trees used most under those used most."""
    uses: Counter[str] = Counter()
    types: Counter[str] = Counter()
    for tree, count in grammar.fragments:
        uses[tree.label] += count  # type: ignore[assignment]
        types[tree.label] += 1
    rows = [
        (
            label,
            f"{types[label]:,}",
            f"{number:,.0f}",
            f"{grammar.concentration[label]:.4g}",
            f"{grammar.stop[label]:.3f}",
        )
        for label, number in uses.most_common()
    ]
    header = ["root", "different trees", "uses", "concentration", "stop probability"]
    shown, rest = table(header, rows[:15]), rows[15:]
    more = element("details", element("summary", f"{len(rest)} more"), table(header, rest)) if rest else None
    cards = [_trees_of(grammar.fragments, label) for label, _ in uses.most_common(_LABELS)]
    return [shown, *([more] if more else []), element("div", cards, class_="cards")]


def _trees_of(fragments: Sequence[CountedFragment], label: str) -> Markup:
    rows = [
        (element("span", format_fragment(tree), class_="rule"), f"{count:,.6g}")
        for tree, count in most_frequent(fragments, label, _LISTED)
    ]
    return table(["elementary tree", "uses"], rows, caption=element("b", label))


def _chosen(splits: Sequence[SplitTree], number: int) -> list[tuple[int, SplitTree]]:
    """So many trees that fit on a page, from all over the treebank, with their numbers."""
    fitting = [
        (at, split) for at, split in enumerate(splits, 1) if _FEWEST_WORDS <= len(split.words) <= _MOST_WORDS
    ]
    fitting = fitting or [
        (at, split) for at, split in enumerate(splits, 1) if len(split.words) <= _MOST_WORDS
    ]
    if len(fitting) <= number:
        return fitting
    return [fitting[k * len(fitting) // number] for k in range(number)]


def _tell_splits(splits: Sequence[tuple[int, SplitTree]]) -> list[Markup]:
    """Pictures of whole trees, cut into elementary ones."""
    said = (
        "Trees as the last state has split them. Boxes are cut: there one elementary tree ends and another "
        "begins. Lines of one colour make up an elementary tree that is deeper than a production; those of "
        "productions are grey."
    )
    figures = [
        element(
            "figure",
            element("div", Markup(draw_split(split, name=" ".join(split.words))), class_="scroll"),
            element("figcaption", f"tree {at:,}"),
        )
        for at, split in splits
    ]
    return [element("p", said), *figures]


def _tell_cuts(directory: Path) -> list[Markup]:
    """In what share of the sweeps each constituent was cut: how many are nearly sure."""
    found = read_json(directory / "marginals.json", "Run 'tsg train' again")
    try:
        nodes = [node for tree in found["trees"] for node in tree["nodes"]]
        cuts = np.array([node["cut"] for node in nodes], np.float64)
        # Of sentences with several trees most nodes are in few of them, or in none.
        present = np.array([node.get("present", 1.0) for node in nodes], np.float64)
        sweeps = int(found["sweeps"])
        # Tenths as they are read: a bound of np.linspace is 0.6000000000000001.
        counts = np.histogram(cuts, bins=np.arange(11) / 10, weights=present)[0].tolist()
    except WRONG_RECORD:
        hint = "Run 'tsg train' again"
        raise InputError(directory / "marginals.json", None, "is not that of a run", hint) from None
    if not present.any():
        return [note("No tree has a constituent below its root.")]
    rows = []
    for (low, high), number in zip(itertools.pairwise(range(0, 101, 10)), counts, strict=True):
        share = number / present.sum()
        bars = element("div", bar(share), class_="bars")
        rows.append((f"{low}–{high} %", bars, f"{number:,.0f}", f"{100 * share:.1f}"))
    several = "" if (present == 1.0).all() else _OF_SEVERAL
    said = (
        f"In what share of {counted(sweeps, 'sweep', spec=',')} a constituent was where an elementary "
        f"tree ends and another begins{several}. What is near 0 % lies nearly always inside a tree, what is "
        "near 100 % is nearly always its root; what is between is not decided by the treebank."
    )
    header = ["cut in", "share of the constituents", "constituents", "%"]
    return [element("p", said), table(header, rows, text_columns=2, short_names=True)]
