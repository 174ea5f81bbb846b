"""What was run, told: tiles with sizes, settings side by side, histograms.

The fact a newcomer would get wrong: settings of several runs are one table, in which what they differ in is
bold; a setting that a run does not have is a dash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scfg_sampler.core.pages.elements import Content, Markup, element, table

__all__ = ["bar", "duration", "files", "plain", "settings_table", "spelled", "tiles"]


def tiles(entries: Sequence[tuple[str, str]]) -> Markup:
    """Numbers with their names below, side by side.

    Parameters
    ----------
    entries : sequence of (value, name)
    """
    made = [
        element("div", element("b", value), element("span", name), class_="tile") for value, name in entries
    ]
    return element("div", made, class_="tiles")


def duration(seconds: float) -> str:
    """A time in the unit it is told in.

    >>> duration(12.34), duration(300), duration(7200)
    ('12.3 s', '5.0 min', '2.0 h')
    """
    if seconds < 90:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def plain(value: Any) -> str:
    """A setting for people.

    >>> plain(True), plain(None), plain(""), plain((1, "b")), plain([]), plain(0.5)
    ('yes', '—', '—', '1, b', 'none', '0.5')
    """
    if value is None or value == "":
        return "—"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(plain, value)) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {plain(each)}" for key, each in value.items()) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def spelled(settings: Mapping[str, Any]) -> dict[str, str]:
    """Settings by the names of options, their values for people.

    >>> spelled({"max_cut_span": 7})
    {'max-cut-span': '7'}
    """
    return {name.replace("_", "-"): plain(value) for name, value in settings.items()}


def settings_table(columns: Mapping[str, Mapping[str, str]], title: str = "Settings and versions") -> Markup:
    """A column for every run, folded away; settings in which runs differ are marked.

    Parameters
    ----------
    columns : mapping
        The settings by the names of runs.
    title : str
    """
    names = list(dict.fromkeys(name for column in columns.values() for name in column))
    rows = []
    for name in names:
        values = [column.get(name, "—") for column in columns.values()]
        differs = len(set(values)) > 1
        rows.append([name, *(element("b", value) if differs else value for value in values)])
    header: list[Content] = ["setting", *columns]
    remark = "What runs differ in is bold." if len(columns) > 1 else None
    shown = table(header, rows, text_columns=1 + len(columns))
    return element("details", element("summary", title), remark, shown)


def files(title: str, command: Sequence[str], paths: Mapping[str, str], digests: Mapping[str, str]) -> Markup:
    """The command and what it read, folded away.

    Parameters
    ----------
    title : str
    command : sequence of str
    paths : mapping
        Files by what they are.
    digests : mapping
        SHA-256 by what was read, which may have no file.
    """
    entries: list[Content] = [element("dt", "command"), element("dd", element("code", " ".join(command)))]
    for name in dict.fromkeys((*paths, *digests)):
        told: list[Content] = [paths[name], element("br")] if name in paths else []
        if name in digests:
            told += ["SHA-256 ", element("code", digests[name], class_="soft")]
        entries += [element("dt", name), element("dd", told)]
    return element("details", element("summary", title), element("dl", entries))


def bar(share: float, number: int = 0) -> Markup:
    """A bar that is so much of its cell wide, in the colour of the first or second of what is compared."""
    kind = "bar second" if number else "bar"
    return element("span", class_=kind, style=f"inline-size:{100 * share:.1f}%")
