"""The report of a dependency model: what attaches to what, traces, covariances, accuracy, parsed sentences.

A model is a file, not a run directory; what else there is to tell is named beside it. The fact a newcomer
would get wrong: how sure an arc is, is said by the model itself. A model that is wrong may be very sure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from monolingual.dmv.drawing import draw_arcs
from monolingual.dmv.evaluation import LENGTHS, attach_left, attach_right, evaluate
from monolingual.dmv.layout import ADJACENCIES, DIRECTIONS
from monolingual.dmv.model import DmvModel, parts, read_model
from monolingual.dmv.parsing import parse, posteriors
from monolingual.dmv.plots import child_covariances, correlations, read_covariances
from monolingual.dmv.treebank import Sentence, shown_words
from scfg_sampler.core.chains.chain import read_trace
from scfg_sampler.core.files import PathLike, read_lines
from scfg_sampler.core.pages.charts import Axes, Curve, legend, line_chart
from scfg_sampler.core.pages.elements import Content, Markup, element, table, words
from scfg_sampler.core.pages.heat_map import heat_map
from scfg_sampler.core.reports.document import Section, note, write_document
from scfg_sampler.core.reports.records import tiles
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import InputError, SettingsError

__all__ = ["ReportInputs", "write_report"]

_CHILDREN, _ROWS = 4, 15
_HEADS, _STRONGEST = 2, 12
_LARGEST_MAP = 60
"""Tags of a model whose matrices are drawn."""
_SHORTEST, _LONGEST = 5, 15
"""Words of the sentences that are drawn, if there are such."""


class ReportInputs(NamedTuple):
    """What a report is made of; all but the model may be missing.

    Attributes
    ----------
    model : path
    covariances : path, optional
        Of `dmv train --covariances`.
    heads : sequence of str
        Heads whose covariances are shown; by default those with the strongest correlations.
    traces : mapping from names to paths
        Of `dmv train --trace`.
    treebank : list of Sentence, optional
        Parsed, drawn and, if it has heads, compared.
    sentences : int
        How many are drawn.
    decoder : str
        "viterbi" or "mbr".
    title : str
    """

    model: PathLike
    covariances: PathLike | None = None
    heads: Sequence[str] = ()
    traces: Mapping[str, PathLike] = {}
    treebank: Sequence[Sentence] | None = None
    sentences: int = 6
    decoder: str = "mbr"
    title: str = ""


def write_report(inputs: ReportInputs, output: PathLike) -> int:
    """Write the page; how many bytes it has.

    Raises
    ------
    InputError
        A file cannot be used.
    SettingsError
        A head is no tag of the model, or a number is out of range.
    """
    if inputs.sentences < 0:
        raise SettingsError(f"--shown is {inputs.sentences}; it must be at least 0")
    if inputs.heads and inputs.covariances is None:
        raise SettingsError("--head is of --covariances; give them")
    model = read_model(inputs.model)
    traces = {name: _read_trace(path) for name, path in inputs.traces.items()}
    sections = [Section("The model", "model", _tell_model(inputs, model))]
    if traces:
        sections.append(Section("Traces", "traces", _tell_traces(traces)))
    if inputs.treebank is not None and _has_heads(inputs.treebank):
        sections.append(Section("Accuracy", "accuracy", _tell_accuracy(model, inputs.treebank)))
    sections.append(Section("Attachment by tag", "tags", _tell_tags(model)))
    if inputs.covariances is not None:
        told = _tell_covariances(inputs.covariances, inputs.heads)
        sections.append(Section("Covariances", "covariances", told))
    if inputs.treebank is not None and inputs.sentences:
        told = _tell_sentences(model, inputs.treebank, inputs.sentences, inputs.decoder)
        sections.append(Section("Parsed sentences", "sentences", told))
    return write_document(inputs.title or f"Dependency model: {inputs.model}", sections, output)


def _has_heads(sentences: Sequence[Sentence]) -> bool:
    return all(len(sentence.heads) == len(sentence.tags) for sentence in sentences)


# ---- The model -------------------------------------------------------------------------------------


def _tell_model(inputs: ReportInputs, model: DmvModel) -> list[Markup]:
    root, _, child = parts(model.layout, model.probs)
    sizes = [
        (f"{len(model.tags):,}", "tags"),
        (f"{int((model.probs > 0).sum()):,}", "probabilities above 0"),
        ("yes" if model.layout.child_valences == 2 else "no", "children depend on adjacency"),
        (f"{np.exp(_entropy(root)):.1f}", "roots in effect"),
        (f"{np.exp(_entropy(child).mean()):.1f}", "children of a head in effect, on average"),
    ]
    first = next(iter(read_lines(inputs.model)), "").removesuffix("\r")
    remark = element("p", element("code", first.lstrip("# "))) if first.startswith("#") else None
    said = "In effect: as many equally frequent ones would have the same entropy."
    return [tiles(sizes), *([remark] if remark else []), element("p", said, class_="soft")]


def _entropy(probs: np.ndarray) -> np.ndarray:
    """In nats, of the last axis."""
    safe = np.where(probs > 0.0, probs, 1.0)
    return -(probs * np.log(safe)).sum(axis=-1)


def _read_trace(path: PathLike) -> dict[str, np.ndarray]:
    trace = read_trace(path)
    if missing := [name for name in ("job", "log_joint", "heldout") if name not in trace]:
        hint = "Name what 'dmv train --trace' wrote"
        raise InputError(path, 1, f"has no column {missing[0]!r}", hint)
    return trace


def _tell_traces(traces: Mapping[str, Mapping[str, np.ndarray]]) -> list[Markup]:
    """The objective and the held-out likelihood of every round, a curve for each job."""
    curves: dict[str, list[Curve]] = {"log_joint": [], "heldout": []}
    rows, labels = [], []
    for name, trace in traces.items():
        jobs = np.unique(trace["job"])
        for job in jobs:
            here = trace["job"] == job
            label = f"{name}, start or prior {int(job) + 1}" if len(jobs) > 1 else name
            labels.append(label)
            told = []
            for column in curves:
                y = trace[column][here]
                x = np.arange(1.0, len(y) + 1)
                # The objective of the start is so low that nothing else would be seen.
                seen = np.isfinite(y) & ((x > 1) | (len(y) < 3))
                curves[column].append(Curve(label, x[seen], y[seen]))
                best = np.nanmax(y) if np.isfinite(y).any() else np.nan
                told.append(f"{best:,.2f}".replace("-", "−") if np.isfinite(best) else "—")
            rows.append((label, f"{int(here.sum()):,}", *told))
    titles = {"log_joint": "objective, from round 2 on", "heldout": "held-out log likelihood"}
    charts = [line_chart(Axes(titles[column], "round"), each) for column, each in curves.items()]
    header: list[Content] = ["training", "rounds", "highest objective", "highest held-out log likelihood"]
    return [legend(labels), element("div", charts, class_="charts"), table(header, rows)]


def _tell_accuracy(model: DmvModel, sentences: Sequence[Sentence]) -> list[Markup]:
    """Attachment accuracy by length, beside the baselines."""
    gold = [sentence.heads for sentence in sentences]
    trees: dict[str, Sequence[Sequence[int]]] = {
        "minimum Bayes risk": parse(model, sentences, "mbr"),
        "Viterbi": parse(model, sentences, "viterbi"),
        "each word attached to the next": [attach_right(len(heads)) for heads in gold],
        "each word attached to the one before": [attach_left(len(heads)) for heads in gold],
    }
    rows = []
    for name, heads in trees.items():
        found = evaluate(heads, gold)
        rows.append((name, *(f"{found[length]['directed']:.1f}" for length, _ in LENGTHS)))
    header: list[Content] = ["heads by", "at most 10 words", "at most 20 words", "all"]
    said = f"Words with the right head, in per cent, in {counted(len(sentences), 'sentence', spec=',')}."
    return [element("p", said), table(header, rows)]


# ---- Probabilities ---------------------------------------------------------------------------------


def _tell_tags(model: DmvModel) -> list[Markup]:
    """Root, stop and child probabilities: a row for every tag, and what attaches to what as a picture."""
    root, stop, child = parts(model.layout, model.probs)
    attached = child[:, :, 0, :]
    rows = []
    for at in np.argsort(-root, kind="stable").tolist():
        stops = [f"{stop[at, d, v, 0]:.3f}" for d in range(2) for v in range(2)]
        frequent = [_frequent(model.tags, attached[at, d]) for d in range(2)]
        rows.append((model.tags[at], *frequent, f"{root[at]:.3f}", *stops))
    ends = [f"stop {direction}, {adjacency}" for direction in DIRECTIONS for adjacency in ADJACENCIES]
    header: list[Content] = ["head", "left children", "right children", "root", *ends]
    said = (
        "Stop probabilities are those of having no child on that side (adjacent), and of having no more "
        "after one (further)."
    )
    if model.layout.child_valences == 2:
        said += " Of children, which depend on adjacency, those next to the head are shown."
    out = [element("p", said), table(header, rows[:_ROWS], text_columns=3)]
    if rest := rows[_ROWS:]:
        summary = element("summary", f"{len(rest)} more")
        out.append(element("details", summary, table(header, rest, text_columns=3)))
    if len(model.tags) <= _LARGEST_MAP:
        maps = [
            heat_map(f"children on the {direction}: heads by rows", model.tags, model.tags, attached[:, d])
            for d, direction in enumerate(DIRECTIONS)
        ]
        out.append(element("div", maps, class_="pictures"))
    return out


def _frequent(tags: Sequence[str], probs: np.ndarray) -> list[Content]:
    """The most probable tags, with their probabilities."""
    order = np.argsort(-probs, kind="stable")[:_CHILDREN]
    shown = [at for at in order if probs[at] >= 0.005]
    return [(", " if k else "", words(tags[at]), f" {probs[at]:.2f}") for k, at in enumerate(shown)]


def _tell_covariances(path: PathLike, heads: Sequence[str]) -> list[Markup]:
    """Correlations that a logistic normal has learnt among the children of some heads."""
    tags, layout, flat = read_covariances(path)
    matrices = {head: child_covariances(tags, layout, flat, head) for head in (heads or tags)}
    related = {
        head: {name: _related(matrix) for name, matrix in found.items()} for head, found in matrices.items()
    }
    strength = {head: max(float(np.abs(each).max()) for each in related[head].values()) for head in related}
    chosen = list(heads) or sorted(strength, key=lambda head: -strength[head])[:_HEADS]
    said = (
        "Two tags are correlated where sentences in which a head has one as a child more than usual also "
        "have the other more (or, in the other colour, less)."
    )
    said += "" if heads else " Shown are the heads with the strongest correlations; --head names others."
    out = [element("p", said)]
    for head in chosen:
        for name, matrix in related[head].items():
            variances = matrices[head][name].diagonal()
            told = f"{name}: variances from {variances.min():.3f} to {variances.max():.3f}"
            shown = [_strongest(tags, matrix)]
            top = float(np.abs(matrix).max())
            if len(tags) <= _LARGEST_MAP and top > 0.0:
                title = f"{name}: the strongest colour is {top:.3g}"
                shown.insert(0, heat_map(title, tags, tags, matrix, top))
            out += [element("h3", told), element("div", shown, class_="pictures")]
    return out


def _related(matrix: np.ndarray) -> np.ndarray:
    """Correlations with zeros on the diagonal."""
    found = correlations(matrix).copy()
    np.fill_diagonal(found, 0.0)
    return np.nan_to_num(found)


def _strongest(tags: Sequence[str], matrix: np.ndarray) -> Markup:
    rows, columns = np.triu_indices(len(tags), 1)
    values = matrix[rows, columns]
    order = np.argsort(-np.abs(values), kind="stable")[:_STRONGEST]
    shown = [
        ((words(tags[rows[at]]), ", ", words(tags[columns[at]])), f"{values[at]:+.2g}".replace("-", "−"))
        for at in order
    ]
    return table(["strongest correlations", ""], shown, short_names=True)


# ---- Sentences -------------------------------------------------------------------------------------


def _tell_sentences(
    model: DmvModel, sentences: Sequence[Sentence], number: int, decoder: str
) -> list[Markup]:
    """Some sentences with their arcs, the stronger the surer."""
    chosen = _choose(sentences, number)
    if not chosen:
        return [note("The treebank has no sentence with words.")]
    some = [sentences[at] for at in chosen]
    heads = parse(model, some, decoder)
    out = [element("p", "Arcs are the stronger the surer they are; pointing at one shows how sure.")]
    for at, sentence, found, (log_prob, arcs) in zip(
        chosen, some, heads, posteriors(model, some), strict=True
    ):
        words = shown_words(sentence)
        name = f"sentence {at + 1}"
        said = f"Sentence {at + 1}, log probability {log_prob:.2f}".replace("-", "−")
        if len(sentence.heads) == len(sentence.tags):
            wrong = [k for k, (p, g) in enumerate(zip(found, sentence.heads, strict=True)) if p != g]
            said += f", {len(words) - len(wrong)} of {counted(len(words), 'head')} right"
        picture = Markup(draw_arcs(words, found, name=name, posteriors=arcs))
        out += [element("h3", said), element("div", picture, class_="scroll")]
    return out


def _choose(sentences: Sequence[Sentence], number: int) -> list[int]:
    """Sentences from all of the treebank, of a length that can be looked at where there are such."""
    usable = [at for at, sentence in enumerate(sentences) if sentence.tags]
    short = [at for at in usable if _SHORTEST <= len(sentences[at].tags) <= _LONGEST]
    usable = short if len(short) >= number else usable
    step = max(1, len(usable) // max(1, number))
    return usable[::step][:number]
