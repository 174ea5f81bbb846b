"""What the elementary trees of a grammar look like: their sizes, and which are the most frequent.

The four histograms are those of figure 4 of Cohn et al. (2009): depth (edges on the longest way down), nodes,
terminals and frontier nonterminals, of types. A tree of depth one is a context-free rule.

The fact a newcomer would get wrong: nodes are labels and words together, the root included.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from monolingual.tsg.fragments import CountedFragment
from monolingual.tsg.trees import Tree, fold

__all__ = ["Shape", "histograms", "most_frequent", "rules_and_lexicon", "shape_of"]


class Shape(NamedTuple):
    """Sizes of an elementary tree."""

    depth: int
    nodes: int
    terminals: int
    frontier: int


def shape_of(fragment: Tree) -> Shape:
    """The sizes of an elementary tree.

    >>> shape_of(Tree("VP", (Tree("VBZ", ("gives",)), Tree("NP", ()))))
    Shape(depth=2, nodes=4, terminals=1, frontier=1)
    """

    def combine(label: str, parts: list[Shape]) -> Shape:
        if not parts:
            return Shape(0, 1, 0, 1)
        return Shape(
            1 + max(part.depth for part in parts),
            1 + sum(part.nodes for part in parts),
            sum(part.terminals for part in parts),
            sum(part.frontier for part in parts),
        )

    return fold(fragment, combine, lambda word: Shape(0, 1, 1, 0))


def histograms(fragments: Sequence[CountedFragment]) -> dict[str, dict[int, int]]:
    """How many different elementary trees have each depth, and so on.

    Parameters
    ----------
    fragments : sequence of CountedFragment
    """
    shapes = [shape_of(tree) for tree, _ in fragments]
    return {
        name: dict(sorted(Counter(getattr(shape, name) for shape in shapes).items()))
        for name in Shape._fields
    }


def most_frequent(
    fragments: Sequence[CountedFragment], label: str | None, number: int, *, lexical: bool = False
) -> list[CountedFragment]:
    """The elementary trees with the largest counts, the first first; ties in order of appearance.

    Parameters
    ----------
    fragments : sequence of CountedFragment
    label : str, optional
        Of their roots.
    number : int
    lexical : bool
        Only those with a word.
    """
    chosen = [
        fragment
        for fragment in fragments
        if (label is None or fragment.fragment.label == label)
        and (not lexical or shape_of(fragment.fragment).terminals > 0)
    ]
    return sorted(chosen, key=lambda fragment: -fragment.count)[:number]


def rules_and_lexicon(fragments: Sequence[CountedFragment]) -> tuple[list[str], list[str]]:
    """The grammar as the lines of a rules file and of a lexicon, which disco-dop and bitpar read.

    A rule is its count and its symbols; a line of the lexicon a word and, after a tab, the
    labels above it with their counts. The inner nodes of the elementary tree on line 12 of the grammar are
    symbols `NP{12.1}`, `VP{12.2}`, …; words beside constituents get `{word}`.

    Parameters
    ----------
    fragments : sequence of CountedFragment
    """
    rules: list[str] = []
    lexicon: dict[str, Counter[str]] = {}

    def tag(word: str, label: str, count: float) -> None:
        lexicon.setdefault(word, Counter())[label] += count  # type: ignore[assignment]

    for number, (fragment, count) in enumerate(fragments, start=1):
        inner = 0
        pending = [(fragment, fragment.label)]
        while pending:
            node, name = pending.pop()
            if len(node.children) == 1 and isinstance(node.children[0], str):
                tag(node.children[0], name, count)
                continue
            symbols = []
            for child in node.children:
                if isinstance(child, str):
                    symbols.append("{" + child + "}")
                    tag(child, symbols[-1], count)
                elif not child.children:
                    symbols.append(child.label)
                else:
                    inner += 1
                    symbols.append(f"{child.label}{{{number}.{inner}}}")
                    pending.append((child, symbols[-1]))
            rules.append(f"{count:.12g} {name} " + " ".join(symbols))
    lines = []
    for word, tags in sorted(lexicon.items()):
        lines.append(word + "\t" + "\t".join(f"{label} {count:.12g}" for label, count in tags.items()))
    return rules, lines
