"""Elements of HTML, nested as function calls; what is not `Markup` yet is escaped.

    element("p", "1 < 2, says ", element("b", name), class_="note")

The fact a newcomer would get wrong: a page is XML as well. Void elements are closed, attributes quoted, and
control characters, which XML cannot hold, shown as U+FFFD; so a strict XML parser reads whatever corpus a
page shows, and the first text that was not escaped stops it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from scfg_sampler.core.svg import safe

__all__ = ["Content", "Markup", "element", "page", "table", "words"]

_VOID = frozenset(("br", "col", "hr", "img", "meta"))
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""What a browser may load for a page: nothing. Even a script that was not escaped would not run."""


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Content: TypeAlias = "str | int | float | Iterable[Content] | None"
"""What an element holds: markup, text and numbers, which are escaped, sequences of these, or nothing."""


def element(tag: str, /, *content: Content, **attributes: str | int | bool | None) -> Markup:
    """An element with its content.

    Parameters
    ----------
    tag : str
    content : Content
    attributes : str, int, bool or None
        An underscore at the end is dropped, others are hyphens. None and False leave the attribute out.

    >>> element("p", "a < b", element("br"), [1, 2], class_="note", aria_label='"', hidden=None)
    '<p class="note" aria-label="&quot;">a &lt; b<br/>12</p>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{safe(key.rstrip("_") if value is True else str(value))}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if tag in _VOID:
        return Markup(f"<{tag}{given}/>")
    return Markup(f"<{tag}{given}>{_joined(content)}</{tag}>")


def _joined(content: Content) -> str:
    if content is None:
        return ""
    if isinstance(content, Markup):
        return content
    if isinstance(content, (str, int, float)):
        return safe(str(content))
    return "".join(map(_joined, content))


def words(text: str, name: str = "bdi") -> Markup:
    """Words of some language, which may run from right to left: they do not turn what stands beside them."""
    return element(name, text, dir="auto")


def table(
    header: Sequence[Content],
    rows: Iterable[Sequence[Content]],
    *,
    caption: Content = None,
    text_columns: int = 1,
    short_names: bool = False,
) -> Markup:
    """A table that scrolls by itself where the screen is too narrow for it.

    Parameters
    ----------
    header : sequence of Content
    rows : sequences of Content
        The first cell of each is its name.
    caption : Content
    text_columns : int
        So many columns are aligned as text, those behind as numbers.
    short_names : bool
        Whether the name of a row stays on one line.
    """

    def cells(row: Sequence[Content], kind: str) -> list[Markup]:
        shown = []
        for column, cell in enumerate(row):
            is_name = kind == "td" and column == 0
            scope = "row" if is_name else "col" if kind == "th" else None
            look = "number" if column >= text_columns else "short" if is_name and short_names else None
            shown.append(element("th" if is_name else kind, cell, scope=scope, class_=look))
        return shown

    body = [element("tr", cells(row, "td")) for row in rows]
    head = element("thead", element("tr", cells(header, "th")))
    above = element("caption", caption) if caption else None
    return element("div", element("table", above, head, element("tbody", body)), class_="scroll")


def page(title: str, style: str, *content: Content) -> str:
    """A whole page that loads nothing from anywhere.

    Parameters
    ----------
    title : str
    style : str
        A style sheet, without `<` and `&`.
    content : Content
        Of the body.
    """
    assert not set("<&") & set(style), "style sheets stand in the page as they are"
    head = (
        Markup('<meta charset="utf-8"/>'),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("title", title),
        element("style", Markup(style)),
    )
    root = element(
        "html",
        element("head", head),
        element("body", content),
        xmlns="http://www.w3.org/1999/xhtml",
        lang="en",
    )
    return f"<!DOCTYPE html>\n{root}\n"
