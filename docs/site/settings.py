"""The directive `settings`: a table of the settings in a NamedTuple, and of the options that set them."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from setting_rows import Row, rows_of

__all__ = ["Settings", "setup"]


class Settings(Directive):
    """A class, and below it, if there is one, the command whose options set its fields."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """A table with a row for every field."""
        command = " ".join(self.content).strip()
        rows = rows_of(self.arguments[0], command)
        return [_table(["setting", "option", "default", ""], [_cells(row) for row in rows])]


def _cells(row: Row) -> list[nodes.Node]:
    told = row.text + (f" ({row.choices})" if row.choices else "")
    return [_code(row.name), _code(row.option), nodes.paragraph("", row.default), _told(told)]


def _told(text: str) -> nodes.Node:
    """A text in which what stands between backticks is code."""
    out = nodes.paragraph()
    for at, part in enumerate(text.split("`")):
        out += nodes.literal("", part) if at % 2 else nodes.Text(part)
    return out


def _code(text: str) -> nodes.Node:
    return nodes.paragraph("", "", nodes.literal("", text)) if text else nodes.paragraph("", "–")


def _table(header: list[str], rows: list[list[nodes.Node]]) -> nodes.table:
    group = nodes.tgroup(cols=len(header))
    for width in (2, 2, 1, 6):
        group += nodes.colspec(colwidth=width)
    head = nodes.row()
    for each in header:
        head += nodes.entry("", nodes.paragraph("", each))
    group += nodes.thead("", head)
    body = nodes.tbody()
    for cells in rows:
        made = nodes.row()
        for cell in cells:
            made += nodes.entry("", cell)
        body += made
    group += body
    return nodes.table("", group)


def setup(app: Any) -> dict[str, bool]:
    """Offer the directive."""
    app.add_directive("settings", Settings)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
