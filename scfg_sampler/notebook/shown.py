"""What the objects for notebooks share: tables of HTML, settings by name."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence

from scfg_sampler.errors import SettingsError

__all__ = ["SHOWN", "check_names", "html_table"]

SHOWN = 20
"""Rows of a table that are shown unasked."""


def html_table(caption: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of HTML, everything in it escaped."""

    def cells(row: Sequence[object], kind: str) -> str:
        return "<tr>" + "".join(f"<{kind}>{html.escape(str(cell))}</{kind}>" for cell in row) + "</tr>"

    body = "".join(cells(row, "td") for row in rows)
    return f"<table><caption>{html.escape(caption)}</caption>{cells(header, 'th')}{body}</table>"


def check_names(settings: Mapping[str, object], known: Sequence[str]) -> None:
    """Raise a SettingsError that lists what is known if a setting has another name."""
    for name in settings:
        if name not in known:
            raise SettingsError(f"there is no setting {name!r}; there are {', '.join(sorted(known))}")
