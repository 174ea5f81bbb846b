"""Trees that show themselves: parses, and elementary trees with their counts."""

from __future__ import annotations

from typing import NamedTuple

from scfg_sampler.core.tree_svg import DrawnTree, draw_tree, tree_of_brackets

__all__ = ["ShownTree"]


class ShownTree(NamedTuple):
    """A tree as brackets, drawn in a notebook.

    Attributes
    ----------
    brackets : str
        As in `(S (NP dogs) (VP bark))`; `(NP )` is open: another elementary tree goes there. Empty where a
        sentence without words was parsed.
    value : float
        What the tree has been asked for: a count, a share of draws, a log probability.

    >>> import monolingual
    >>> tree = monolingual.ShownTree("(S (NP dogs) (VP ))", 3.0)
    >>> tree.words, tree.svg().startswith("<svg")
    (('dogs',), True)
    """

    brackets: str
    value: float

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the tree."""
        found, pending = [], [self._tree()] if self.brackets else []
        while pending:
            node = pending.pop()
            found += [node.label] if node.kind == "word" else []
            pending.extend(reversed(node.children))
        return tuple(found)

    def svg(self) -> str:
        """The picture, as a whole SVG document."""
        return draw_tree(self._tree(), name=self.brackets)

    def _tree(self) -> DrawnTree:
        """The brackets as a tree; of none, as a line without words has, a node without a label."""
        return tree_of_brackets(self.brackets) if self.brackets else DrawnTree("")

    def _repr_svg_(self) -> str:
        return self.svg()
