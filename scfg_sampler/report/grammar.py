"""The grammar of a run: histograms, frequent rules of each shape, and what Hiero's table has instead."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.files import PathLike
from scfg_sampler.core.pages.elements import Content, Markup, element, table, words
from scfg_sampler.core.reports.records import bar
from scfg_sampler.core.wording import counted
from scfg_sampler.learner.derivations import Derivation
from scfg_sampler.learner.drawing import readable
from scfg_sampler.learner.pair_posteriors import LastState, last_derivation
from scfg_sampler.learner.settings import ORIGINS
from scfg_sampler.report.comparison import Overlap, compare_tables, find_occurrence, standing_in
from scfg_sampler.report.shapes import (
    Histogram,
    Shape,
    forward_probabilities,
    histograms,
    shapes,
)
from scfg_sampler.rules.counts import require_counts
from scfg_sampler.rules.table import RuleTable, read_rule_table, rule
from scfg_sampler.rules.text import format_rule

__all__ = ["NamedTable", "counted_table", "spelled_rule", "tell_comparison", "tell_grammar", "tell_rules"]

_SHAPES = 12
_OF_EACH = 5
_EXAMPLES = 12


class NamedTable(NamedTuple):
    """A rule table and what the page calls it."""

    name: str
    origin: str
    """Where it is from."""
    table: RuleTable
    shares: np.ndarray
    """float64 (R,): P(target | source), by counts."""


def counted_table(directory: Path) -> NamedTable | None:
    """The rules a run has counted: expected counts, or what else there is; None if there is nothing.

    Parameters
    ----------
    directory : Path
        A run directory.
    """
    titles = {"marginal": "expected counts", "average": "averaged counts", "last": "counts of the last state"}
    for origin in sorted(ORIGINS, key=list(titles).index):
        path = directory / "counts" / f"{origin}.gz"
        if path.exists():
            return named_table("the sample", path, titles[origin])
    return None


def named_table(name: str, path: PathLike, origin: str = "") -> NamedTable:
    """A table from a file."""
    found = read_rule_table(path)
    require_counts(found.count, path)
    return NamedTable(name, origin or str(path), found, forward_probabilities(found))


# ---- Numbers ---------------------------------------------------------------------------------------


def tell_grammar(tables: Sequence[NamedTable]) -> list[Markup]:
    """Histograms of one or two tables, a bar for each of them in every row.

    Parameters
    ----------
    tables : sequence of NamedTable
    """
    out: list[Markup] = []
    for number, each in enumerate(tables):
        uses = float(each.table.count.sum())
        swatch = element("span", style=f"background:var(--c{number + 1})")
        said = (
            f"{each.name} ({each.origin}): {counted(each.table.num_rules, 'rule', spec=',')}, used "
            f"{counted(round(uses), 'time', spec=',')}"
        )
        out.append(element("p", swatch, said, class_="legend"))
    cards = []
    for several in zip(*(histograms(each.table, each.shares) for each in tables), strict=True):
        cards.append(_histogram(several))
    return [*out, element("div", cards, class_="cards")]


def _histogram(several: Sequence[Histogram]) -> Markup:
    """One property of all tables."""
    labels = _in_order([each.labels for each in several])
    totals = [(max(1, each.rules.sum()), each.uses.sum() or 1.0) for each in several]
    header: list[Content] = ["", "share of the rules", *["rules", "uses %"] * len(several)]
    rows = []
    for label in labels:
        row: list[Content] = []
        shares = []
        for each, (rules, uses) in zip(several, totals, strict=True):
            at = each.labels.index(label) if label in each.labels else -1
            number, used = (int(each.rules[at]), float(each.uses[at])) if at >= 0 else (0, 0.0)
            shares.append(number / rules)
            row += [f"{number:,}", f"{100 * used / uses:.1f}"]
        bars = element("div", [bar(share, k) for k, share in enumerate(shares)], class_="bars")
        rows.append([label, bars, *row])
    return table(header, rows, caption=element("b", several[0].name), text_columns=2, short_names=True)


def _in_order(lists: Sequence[Sequence[str]]) -> list[str]:
    """All labels in an order that each of the lists follows."""
    longest = max(lists, key=len)
    merged = list(longest)
    for labels in lists:
        for at, label in enumerate(labels):
            if label not in merged:
                before = [merged.index(each) for each in labels[:at] if each in merged]
                merged.insert(max(before) + 1 if before else 0, label)
    return merged


# ---- Rules -----------------------------------------------------------------------------------------


def tell_rules(found: NamedTable) -> list[Markup]:
    """The most frequent rules of each of the most frequent shapes."""
    grammar = found.table
    cards = [_rules_of_shape(found, shape) for shape in shapes(grammar, _SHAPES)]
    if not cards:
        return [element("p", "The table has no rules.", class_="note")]
    note = "w stands for one word or more, ① and ② for gaps that other rules fill; P is P(target | source)."
    return [element("p", note), element("div", cards, class_="cards")]


def _rules_of_shape(found: NamedTable, shape: Shape) -> Markup:
    grammar = found.table
    rows = [
        (spelled_rule(rule_text(grammar, row)), f"{grammar.count[row]:,.1f}", f"{found.shares[row]:.3f}")
        for row in shape.rows[:_OF_EACH].tolist()
    ]
    share = 100 * shape.uses / max(float(grammar.count.sum()), 1e-300)
    number = counted(len(shape.rows), "rule", spec=",")
    caption = element("b", shape.text), f": {number}, {share:.1f} % of the uses"
    return table(["rule", "count", "P"], rows, caption=caption)


def rule_text(grammar: RuleTable, row: int) -> str:
    """The two sides of a rule as tables spell them."""
    return " ||| ".join(format_rule(rule(grammar, row)).split(" ||| ")[1:3])


def spelled_rule(text: str) -> Markup:
    """The sides of a rule for people, each in its own direction."""
    source, _, target = readable(text).partition(" → ")
    return element("span", words(source), " → ", words(target), class_="rule")


# ---- Beside the baseline ---------------------------------------------------------------------------


def tell_comparison(sample: NamedTable, baseline: NamedTable, last: LastState | None) -> list[Markup]:
    """What both tables have, what one has alone, and what stands in for the baseline's most frequent ones.

    Parameters
    ----------
    sample, baseline : NamedTable
    last : LastState, optional
        Of the run; without it, examples are shown without what stands in for them.
    """
    overlap = compare_tables(sample.table, baseline.table)
    ours, theirs = sample.table.count, baseline.table.count
    rows = [
        ("in both", overlap.shared, overlap.shared_in_other),
        (f"in {sample.name} alone", overlap.only, None),
        (f"in {baseline.name} alone", None, overlap.only_other),
    ]
    shown = [[name, *_part(ours, one), *_part(theirs, other)] for name, one, other in rows]
    header = [
        "",
        *(f"{what} of {each.name}" for each in (sample, baseline) for what in ("rules", "% of the uses")),
    ]
    return [
        table(header, shown),
        *_only_here(sample, overlap),
        *_only_there(baseline, overlap, last),
    ]


def _part(count: np.ndarray, rows: np.ndarray | None) -> tuple[str, str]:
    if rows is None:
        return "–", "–"
    return f"{len(rows):,}", f"{100 * count[rows].sum() / max(count.sum(), 1e-300):.1f}"


def _only_here(sample: NamedTable, overlap: Overlap) -> list[Markup]:
    rows = overlap.only[:_EXAMPLES].tolist()
    if not rows:
        return []
    shown = [[spelled_rule(rule_text(sample.table, row)), f"{sample.table.count[row]:,.1f}"] for row in rows]
    return [element("h3", f"The most frequent rules in {sample.name} alone"), table(["rule", "count"], shown)]


def _only_there(baseline: NamedTable, overlap: Overlap, last: LastState | None) -> list[Markup]:
    grammar = baseline.table
    rows = []
    for row in overlap.only_other[:_EXAMPLES].tolist():
        text = rule_text(grammar, row)
        instead = _instead(grammar, row, last) if last is not None else []
        rows.append([spelled_rule(text), instead, f"{grammar.count[row]:,.1f}"])
    if not rows:
        return []
    note = (
        "The sample could have had these rules too. It builds what they translate of other rules; beside "
        "each is how, at the first place of the corpus where the rule matches."
    )
    return [
        element("h3", f"The most frequent rules in {baseline.name} alone"),
        element("p", note),
        table(["rule", "what the sample has instead", "count"], rows, text_columns=2),
    ]


def _instead(grammar: RuleTable, row: int, last: LastState) -> Content:
    place = find_occurrence(last.bank.corpus, rule(grammar, row))
    if place is not None:
        # Where alignments are chosen, a pair stands in the corpus once under each.
        place = place._replace(sentence=place.sentence % last.bank.num_sentences)
    if place is None:
        return element("span", "no place found where it matches", class_="soft")
    derivation = last_derivation(last, place.sentence)
    if derivation is None:
        return element("span", f"pair {place.sentence}, where it matches, was skipped", class_="soft")
    found = standing_in(derivation, place)
    return [
        [_line(node) for node in found],
        element(
            "span", f"pair {place.sentence}, source words {place.source[0]}–{place.source[1]}", class_="soft"
        ),
    ]


def _line(node: Derivation) -> Markup:
    return element("div", spelled_rule(node.rule))
