"""Cells of notebooks in pages: code that is run when the site is made, and what a notebook would show of it.

    ```{cell}
    tree = run.parse(["a cat sleeps"])[0]
    tree
    ```

The cells of a page share their names, and a directory of their own in which `data` is that of the project. Of
the last expression the picture or table is shown that it draws of itself, or else its text. A last line
`# → text` says what the text is: the build fails if it is another one.

The fact a newcomer would get wrong: an error in a cell fails the build; a page cannot show what does not run.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
from pathlib import Path
from typing import NamedTuple

__all__ = ["EXPECTED", "Session", "Shown", "cells_of"]

ROOT = Path(__file__).resolve().parents[2]
EXPECTED = re.compile(r"\n# → (.*)\s*$")
_CELL = re.compile(r"^```\{cell\}\n(.*?)^```", re.MULTILINE | re.DOTALL)


class Shown(NamedTuple):
    """What a cell shows."""

    text: str
    """What it printed, and its value if that draws nothing."""
    markup: str
    """The value as HTML or SVG; empty if it draws nothing."""


def cells_of(page: str) -> list[str]:
    """The cells of a page's text.

    >>> cells_of("# A page\\n\\n```{cell}\\n1 + 1\\n# → 2\\n```\\n")
    ['1 + 1\\n# → 2\\n']
    """
    return _CELL.findall(page)


class Session:
    """The cells of a page, run one after the other.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     session = Session(Path(folder))
    ...     _ = session.run("a = 1")
    ...     session.run("a + 1\\n# → 2").text
    '2'
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self._names: dict[str, object] = {"__name__": "__main__"}
        if not (folder / "data").exists():
            (folder / "data").symlink_to(ROOT / "data")

    def run(self, cell: str) -> Shown:
        """What a cell shows.

        Raises
        ------
        ValueError
            Its text is not the one that it says.
        """
        tree = ast.parse(cell)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        printed, before, value = io.StringIO(), os.getcwd(), None
        os.chdir(self.folder)
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile(tree, "<cell>", "exec"), self._names)
                if last is not None:
                    value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), self._names)
        finally:
            os.chdir(before)
        markup = _markup(value)
        text = printed.getvalue() + (repr(value) if value is not None and not markup else "")
        expected = EXPECTED.search(cell)
        if expected is not None and expected[1] != text.strip():
            raise ValueError(f"a cell says {expected[1]!r}, but shows {text.strip()!r}:\n{cell}")
        return Shown(text.strip(), markup)


def _markup(value: object) -> str:
    """What an object draws of itself, as notebooks ask it to."""
    if isinstance(value, str) and value.startswith("<svg"):
        return value
    for name in ("_repr_html_", "_repr_svg_"):
        draw = getattr(value, name, None)
        if draw is not None:
            return str(draw())
    return ""
