"""Binarisation and markovisation: what a treebank grammar conditions on, and the way back.

A constituent of more than two children becomes a chain of `@` constituents, from which one child is split
off at a time:

right   (X a b c d) → (X a (@X b (@X c d)))         from the left edge on
left    (X a b c d) → (X (@X (@X a b) c) d)         from the right edge on
head    what stands before the head from the left edge on, then what stands behind it from the right edge on:
        (X a H c d) → (X a (@X (@X H c) d)); the label names the head, `@X:H`

With horizontal order h the label names the h siblings split off last, the last one first, `@X~b~a` (Klein and
Manning 2003); −1 is all of them. With vertical order v the label of each constituent that has no word among
its children names the v − 1 labels above it, `NP^S`; preterminals stay as they are.

All of it is undone exactly: what follows the first `^` goes, `@` constituents hand their children to the one
above. Labels of the treebank that could be mistaken for either are escaped: a backslash goes before `@` or a
backslash at the beginning, and where v > 1, `^` and `%` are written %5E and %25.

The fact a newcomer would get wrong: labels of siblings carry no ancestors. `@NP^S~DT` and not `@NP^S~DT^NP`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from monolingual.tsg.head_rules import ENGLISH, Search, find_head
from monolingual.tsg.transforms import category
from monolingual.tsg.trees import Tree, fold

__all__ = ["BINARISE", "BINARY_MARK", "PLAIN", "Form", "binarise", "escaped", "plain", "tag_of", "unbinarise"]

BINARISE = ("right", "left", "head", "none")
BINARY_MARK = "@"
"""What the labels of constituents begin with that binarisation makes."""
_ABOVE, _BESIDE, _HEAD = "^", "~", ":"
_ESCAPE = "\\"


class Form(NamedTuple):
    """How trees are made ready.

    Attributes
    ----------
    binarise : str
        One of `BINARISE`.
    horizontal : int
        How many siblings `@` labels name; −1: all.
    vertical : int
        How many labels, from its own upwards, a constituent's label names; at least 1.
    """

    binarise: str = "right"
    horizontal: int = 0
    vertical: int = 1


PLAIN = Form()
"""To the right, and labels name nothing but their own."""


def binarise(tree: Tree, form: Form = PLAIN, heads: Mapping[str, Sequence[Search]] = ENGLISH) -> Tree:
    """The tree in a form, with no more than two children to a constituent unless that is `none`.

    Parameters
    ----------
    tree : Tree
    form : Form
    heads : mapping
        See `find_head`; asked without function tags and indices, a word being its own label.

    >>> binarise(Tree("X", ("a", "b", "c")))
    Tree(label='X', children=('a', Tree(label='@X', children=('b', 'c'))))
    """
    above = _ancestors(tree, form.vertical)
    following = iter(above)

    def combine(label: str, parts: list[tuple[str, Tree | str]]) -> tuple[str, Tree]:
        made = next(following)
        names, children = [part[0] for part in parts], [part[1] for part in parts]
        if form.binarise == "none" or len(children) <= 2:
            return label, Tree(made, tuple(children))
        head = None
        if form.binarise == "head":
            head = find_head(heads, category(label), [category(name) for name in names])
        return label, _chain(made, names, children, form, head)

    return fold(tree, combine, lambda word: (word, word))[1]


def _ancestors(tree: Tree, vertical: int) -> list[str]:
    """The new labels of the constituents, in the order in which `fold` finishes them."""
    found: list[str] = []
    # Constituents, the labels above them, and whether their children have been dealt with.
    pending: list[tuple[Tree, tuple[str, ...], bool]] = [(tree, (), False)]
    while pending:
        node, labels, is_done = pending.pop()
        if not is_done:
            pending.append((node, labels, True))
            below = (node.label, *labels)[: max(vertical - 1, 0)]
            inner = [child for child in node.children if not isinstance(child, str)]
            pending.extend((child, below, False) for child in reversed(inner))
            continue
        name = tag_of(node.label, vertical)
        if vertical > 1 and not any(isinstance(child, str) for child in node.children):
            name += "".join(_ABOVE + _percent(label) for label in labels)
        found.append(name)
    return found


def _chain(name: str, names: list[str], children: list, form: Form, head: int | None) -> Tree:
    """A constituent of more than two children."""
    first, last = 0, len(children)
    taken: list[str] = []
    steps: list[tuple[str, Tree | str, bool]] = []  # Labels, children split off, whether from the left.
    label = name
    while last - first > 2:
        from_left = form.binarise == "right" if head is None else first < head
        at = first if from_left else last - 1
        first, last = first + from_left, last - (not from_left)
        steps.append((label, children[at], from_left))
        taken.insert(0, names[at])
        label = BINARY_MARK + name + ("" if head is None else _HEAD + names[head])
        shown = taken if form.horizontal < 0 else taken[: form.horizontal]
        label += "".join(_BESIDE + sibling for sibling in shown)
    made = Tree(label, tuple(children[first:last]))
    for label, child, from_left in reversed(steps):
        made = Tree(label, (child, made) if from_left else (made, child))
    return made


def _percent(label: str) -> str:
    return label.replace("%", "%25").replace(_ABOVE, "%5E")


def tag_of(label: str, vertical: int) -> str:
    """What `binarise` makes of the label of a constituent that has a word, whatever the form but its order.

    Parameters
    ----------
    label : str
    vertical : int

    >>> tag_of("@", 1), tag_of("^", 2)
    ('\\\\@', '%5E')
    """
    return _percent(escaped(label)) if vertical > 1 else escaped(label)


def escaped(label: str) -> str:
    """A label of the treebank as it stands in binarised trees without vertical order."""
    return _ESCAPE + label if label.startswith((BINARY_MARK, _ESCAPE)) else label


def unbinarise(tree: Tree, form: Form = PLAIN) -> Tree:
    """The tree that `binarise` was given.

    Of trees that a grammar made up, the children of every `@` constituent go to the constituent above.

    Parameters
    ----------
    tree : Tree
    form : Form
        Of which only whether the vertical order is above 1 matters.
    """

    def combine(label: str, parts: list) -> Tree:
        children: list[Tree | str] = []
        for part in parts:
            if not isinstance(part, str) and part.label.startswith(BINARY_MARK):
                children.extend(part.children)
            else:
                children.append(part)
        return Tree(label, tuple(children))

    def unescaped(label: str, parts: list) -> Tree:
        if form.vertical > 1:
            label = label.partition(_ABOVE)[0].replace("%5E", _ABOVE).replace("%25", "%")
        return Tree(label.removeprefix(_ESCAPE), tuple(parts))

    return fold(fold(tree, combine), unescaped)


def plain(tree: Tree, form: Form) -> Tree:
    """The tree as it is with neither order, to the right unless it is not binarised.

    Trees that differ in nothing but what labels name beside their own become the same.
    """
    if form in (PLAIN, Form("none")):
        return tree
    restored = unbinarise(tree, form)
    return binarise(restored, Form("none" if form.binarise == "none" else "right"))
