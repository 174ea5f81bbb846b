"""Reports as whole pages: a title, links to the sections, the sections, and who has written it.

The fact a newcomer would get wrong: a page has no date, so that the same inputs give the same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from scfg_sampler import __version__
from scfg_sampler.core.files import PathLike, atomic_output, read_lines
from scfg_sampler.core.json_text import parse_json
from scfg_sampler.core.pages.elements import Content, Markup, element, page
from scfg_sampler.core.pages.style import STYLE
from scfg_sampler.errors import InputError

__all__ = ["Section", "note", "read_json", "require_runs", "write_document"]


class Section(NamedTuple):
    """A part of a report with a title of its own."""

    title: str
    name: str
    """What links call it."""
    content: Sequence[Markup]


def write_document(title: str, sections: Sequence[Section], output: PathLike) -> int:
    """Write a report; how many bytes it has.

    Parameters
    ----------
    title : str
    sections : sequence of Section
    output : path
    """
    links = [element("li", element("a", each.title, href=f"#{each.name}")) for each in sections]
    text = page(
        title,
        STYLE,
        element("header", element("h1", title), element("nav", element("ul", links), aria_label="Sections")),
        element(
            "main",
            [element("section", element("h2", each.title), each.content, id=each.name) for each in sections],
        ),
        element("footer", f"Written by scfg-sampler {__version__}."),
    )
    with atomic_output(output) as stream:
        stream.write(text)
    return len(text.encode())


def note(*content: Content) -> Markup:
    """A remark that is not to be overlooked."""
    return element("p", content, class_="note")


def require_runs(runs: Sequence[PathLike]) -> None:
    """Raise an InputError if a run is named twice, be it by two names of its directory."""
    places = [os.path.realpath(run) for run in runs]
    for at, run in enumerate(runs):
        if places[at] in places[:at]:
            raise InputError(run, None, "is named twice", "Name each run once")


def read_json(path: PathLike, hint: str = "Name what 'evaluate --json' wrote") -> Any:
    """What a JSON file says.

    Raises
    ------
    InputError
        As `read_lines`, or it is not JSON.
    """
    try:
        return parse_json("\n".join(read_lines(path)))
    except ValueError:
        raise InputError(path, None, "is not JSON", hint) from None
