"""Links of pages to files beside `docs`: to the pages that hold these, as a site is all there is."""

from __future__ import annotations

import posixpath
import re
from typing import Any

__all__ = ["PAGES", "inside", "setup"]

PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "know/contributing.md",
    "CHANGELOG.md": "know/changes.md",
}


def inside(page: str, text: str) -> str:
    """The text of a page, its links to files outside of `docs` leading to pages.

    >>> inside("do/tune", "[style](../../CONTRIBUTING.md#style)")
    '[style](../know/contributing.md#style)'
    """
    folder = posixpath.dirname(page)

    def led(match: re.Match[str]) -> str:
        found = posixpath.normpath(posixpath.join("docs", folder, match[1]))
        return f"]({posixpath.relpath(PAGES[found], folder or '.')}" if found in PAGES else match[0]

    return re.sub(r"\]\((\.\./[\w./-]*)", led, text)


def setup(app: Any) -> dict[str, bool]:
    """Change what pages say when they are read."""

    def change(app: Any, page: str, source: list[str]) -> None:
        source[0] = inside(page, source[0])

    app.connect("source-read", change)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
