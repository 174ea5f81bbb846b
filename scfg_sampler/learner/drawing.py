"""What the learner sees of a sentence pair, as pictures: the alignment, the forest, a derivation.

In the picture of a forest, every phrase is a box over the source words it covers, higher the more is below
it; every edge is a dot under the box it builds, with lines to the phrases it is built of. Pointing at a dot
shows the minimal rule, pointing at a box the spans. The stronger its colour, the more of the trees have the
phrase, or, of a run that has counted them, the more of its states. Of a large forest, the edges of a phrase
are seen when it is pointed at or clicked. The fact a newcomer would get wrong: rows are chosen so that boxes
do not overlap; they are not the levels of the paper, which the tips show.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Sequence

from scfg_sampler.core.svg import LINE, Box, Joint, circled, document, safe, span_diagram, text, text_width
from scfg_sampler.core.wording import counted
from scfg_sampler.forest.explicit import PhraseForest, forest_edges
from scfg_sampler.learner.derivations import Derivation
from scfg_sampler.rules.text import unescape

__all__ = ["draw_alignment", "draw_derivation", "draw_forest", "readable"]

_CELL, _INSET = 22, 2.5
_FILL, _SHADED = "#e8f1fb", "#9cc3ee"
_LEAST = 0.1
"""Of its colour, for a phrase that hardly any tree has."""
_FOLDED = 30
"""A forest with more phrases shows the edges of one at a time."""


def draw_alignment(
    source: Sequence[str],
    target: Sequence[str],
    links: Iterable[tuple[int, int]],
    name: str = "alignment",
    phrases: Iterable[tuple[int, int, int, int]] = (),
) -> str:
    """A grid, source words on top, target words at the left, a filled square for each link; SVG.

    Parameters
    ----------
    source, target : sequence of str
    links : (source position, target position)
    name : str
        What a viewer shows as the name of the picture.
    phrases : (source begin, end, target begin, end)
        Drawn as frames, half-open spans.
    """
    left = max(map(text_width, target), default=0.0) + LINE
    top = max(map(text_width, source), default=0.0) + LINE / 2
    linked = set(links)
    out = []
    for i, word in enumerate(source):
        x, y = left + (i + 0.7) * _CELL, top - LINE / 3
        out.append(
            f'<text class="source" x="{x:.1f}" y="{y:.1f}" transform="rotate(-90 {x:.1f} {y:.1f})" '
            f'style="text-anchor:start">{safe(word)}</text>'
        )
    for j, word in enumerate(target):
        y = top + j * _CELL
        out.append(text(left / 2, y + LINE * 0.9, "target", word))
        for i in range(len(source)):
            fill = "#446688" if (i, j) in linked else "#ffffff"
            out.append(
                f"<g><title>{safe(f'{source[i]} – {word}  ({i}-{j})')}</title>"
                f'<rect x="{left + i * _CELL:.1f}" y="{y:.1f}" width="{_CELL}" height="{_CELL}" '
                f'fill="{fill}"/></g>'
            )
    for begin, end, first, last in phrases:
        width, height = (end - begin) * _CELL - 2 * _INSET, (last - first) * _CELL - 2 * _INSET
        out.append(
            f'<rect x="{left + begin * _CELL + _INSET:.1f}" y="{top + first * _CELL + _INSET:.1f}" rx="4" '
            f'width="{width:.1f}" height="{height:.1f}" fill="none" style="stroke:#c05a1a;stroke-width:2"/>'
        )
    return document(left + len(source) * _CELL + 1, top + len(target) * _CELL + 1, name, out)


def draw_forest(
    source: Sequence[str],
    target: Sequence[str],
    forest: PhraseForest,
    name: str = "forest",
    of: int | None = None,
    shares: Sequence[float] | None = None,
) -> str:
    """All phrases and edges of a sentence pair's forest, or those of one phrase alone; SVG.

    Parameters
    ----------
    source, target : sequences of str
    forest : PhraseForest
    name : str
    of : int, optional
        A phrase, by its number: it, its own edges, and the phrases these build it of are drawn.
    shares : sequence of float, optional
        Of the states of a run, those that have each phrase; by them phrases are shaded, and not by how many
        of all trees have them.
    """
    if of is not None:
        return _draw_phrase(source, target, forest, name, of, shares)
    heights = _heights(forest)
    folded = len(forest.trees) > _FOLDED
    boxes = []
    for at, share in enumerate(_shares(forest) if shares is None else shares):
        box = _phrase_box(target, forest, at, max(heights) - heights[at])
        box = _shaded(box, share, "all trees" if shares is None else "the states of the run")
        lines = box.lines[:1] if folded else box.lines
        boxes.append(box._replace(lines=lines, tip=f"{box.lines[0][1]}\n{box.tip}"))
    joints = [Joint(head, tuple(tails), readable(rule)) for head, tails, rule in forest_edges(forest)]
    title = (
        f"{counted(forest.trees[-1], 'tree')}, {counted(len(boxes), 'phrase')}, "
        f"{counted(len(joints), 'edge')}"
    )
    if folded:
        title += "; point at a phrase to see its edges"
    return span_diagram(source, boxes, name=name, title=title, joints=joints, folded=folded)


def _shaded(box: Box, share: float, of: str) -> Box:
    """A box whose colour and tip say which share of something has it."""
    tip = f"{box.tip}, in {share:.1%} of {of}"
    return box._replace(tip=tip, fill=_SHADED, shade=max(_LEAST, share))


def _shares(forest: PhraseForest) -> list[float]:
    """Of all trees of the goal, the share that has each phrase: exact products of numbers of trees."""
    around = [0] * len(forest.trees)  # Trees of all that is outside the phrase.
    around[-1] = 1
    for head, tails, _ in reversed(list(forest_edges(forest))):
        ways = around[head] * math.prod(forest.trees[tail] for tail in tails)
        for tail in tails:
            around[tail] += ways // forest.trees[tail]
    return [ways * trees / forest.trees[-1] for ways, trees in zip(around, forest.trees, strict=True)]


def _draw_phrase(
    source: Sequence[str],
    target: Sequence[str],
    forest: PhraseForest,
    name: str,
    of: int,
    shares: Sequence[float] | None,
) -> str:
    """A phrase over the words it covers, and below it those that its edges have, edge by edge."""
    edges = [(tails, rule) for head, tails, rule in forest_edges(forest) if head == of]
    begin, end = forest.spans[of, :2].tolist()

    def drawn(at: int, row: int) -> Box:
        box = _phrase_box(target, forest, at, row, begin)
        return box if shares is None else _shaded(box, shares[at], "the states of the run")

    boxes, joints = [drawn(of, 0)], []
    for row, (tails, rule) in enumerate(edges, start=1):
        below = tuple(range(len(boxes), len(boxes) + len(tails)))
        boxes += [drawn(tail, row) for tail in tails]
        joints.append(Joint(0, below, readable(rule)))
    title = counted(len(edges), "edge")
    return span_diagram(source[begin:end], boxes, name=name, title=title, joints=joints)


def _phrase_box(target: Sequence[str], forest: PhraseForest, at: int, row: int, before: int = 0) -> Box:
    """A phrase in a row of a picture that begins at word `before`."""
    begin, end, target_begin, target_end = forest.spans[at].tolist()
    words = " ".join(target[target_begin:target_end])
    count = counted(forest.trees[at], "tree")
    tip = f"source {begin}–{end}, target {target_begin}–{target_end}, level {forest.level[at]}, {count}"
    lines = (("target", words), ("score", count))
    return Box(begin - before, end - before, row, lines, tip, _FILL)


def draw_derivation(
    source: Sequence[str], target: Sequence[str], derivation: Derivation, name: str = "derivation"
) -> str:
    """Every rule of a derivation as a box over the source words it covers; SVG."""
    boxes: list[Box] = []
    stack = [(derivation, 0)]
    while stack:
        node, depth = stack.pop()
        one, other = _sides(node.rule)
        tip = f"source {node.source[0]}–{node.source[1]}, target {node.target[0]}–{node.target[1]}"
        boxes.append(Box(*node.source, depth, (("source", one), ("target", other)), tip, _FILL))
        stack.extend((part, depth + 1) for part in reversed(node.parts))
    return span_diagram(source, boxes, name=name, title=" ".join(target))


def readable(rule: str) -> str:
    """The sides of a rule for people: nonterminals as circled numbers, words as they are in the text.

    A left-hand side with a label comes before them, and labels other than X before the numbers.

    >>> readable("[X,1] &#91;b&#93; ||| B [X,1]")
    '① [b] → B ①'
    >>> readable("[NP] ||| das [N,1] ||| the [N,1]")
    'NP: das N① → the N①'
    """
    head = _LEFT.match(rule)
    return (f"{unescape(head[1])}: " if head else "") + " → ".join(_sides(rule))


_LEFT = re.compile(r"\[([^],\s]+)\] \|\|\| ")
_GAP = re.compile(r"\[(.+),([0-9]+)\]")


def _sides(rule: str) -> list[str]:
    sides = _LEFT.sub("", rule, count=1).split(" ||| ")[:2]
    return [" ".join(map(_readable_symbol, side.split(" "))) for side in sides]


def _readable_symbol(symbol: str) -> str:
    gap = _GAP.fullmatch(symbol)
    if gap is None:
        return unescape(symbol)
    return ("" if gap[1] == "X" else unescape(gap[1])) + circled(int(gap[2]))


def _heights(forest: PhraseForest) -> list[int]:
    """The row of each node, from below: over its tails, and beside none that overlaps it."""
    lowest = [0] * len(forest.trees)
    edges = itertools.groupby(forest_edges(forest), key=lambda edge: edge[0])
    rows: list[list[tuple[int, int]]] = []
    heights: list[int] = []
    for (head, group), (begin, end, _, _) in zip(edges, forest.spans.tolist(), strict=True):
        for _, tails, _ in group:
            lowest[head] = max([lowest[head], *(heights[tail] + 1 for tail in tails)])
        row = lowest[head]
        while row < len(rows) and any(begin < other and first < end for first, other in rows[row]):
            row += 1
        rows += [[] for _ in range(row + 1 - len(rows))]
        rows[row].append((begin, end))
        heights.append(row)
    return heights
