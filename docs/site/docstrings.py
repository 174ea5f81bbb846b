"""Docstrings as napoleon reads them: examples get a heading, which ours do without."""

from __future__ import annotations

from typing import Any

__all__ = ["setup", "with_headings"]


def with_headings(lines: list[str]) -> list[str]:
    """The lines of a docstring, the first example below a heading of its own if it has none.

    >>> with_headings(["One.", "", ">>> 1", "1"])
    ['One.', '', 'Examples', '--------', '>>> 1', '1']
    """
    if "Examples" in lines:
        return lines
    for at, line in enumerate(lines):
        if line.startswith(">>>"):
            return [*lines[:at], "Examples", "--------", *lines[at:]]
    return lines


def setup(app: Any) -> dict[str, bool]:
    """Change docstrings before napoleon sees them, and its dashes afterwards."""

    def before(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
        lines[:] = with_headings(lines)

    def after(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
        lines[:] = [line.replace("** -- ", "**: ", 1).replace("*) -- ", "*): ", 1) for line in lines]

    app.connect("autodoc-process-docstring", before, priority=400)
    app.connect("autodoc-process-docstring", after, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
