"""The directive `cell`: code of a notebook in a page, and what it shows; see `sessions`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sessions import EXPECTED, Session

__all__ = ["Cell", "setup"]


class Cell(Directive):
    """A cell, and what it shows below it."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """The code as it stands, but for what it says of its outcome, and the outcome."""
        env = self.state.document.settings.env
        if "session" not in env.temp_data:
            env.temp_data["folder"] = tempfile.TemporaryDirectory()
            env.temp_data["session"] = Session(Path(env.temp_data["folder"].name))
        cell = "\n".join(self.content)
        shown = env.temp_data["session"].run(cell)
        code = EXPECTED.sub("", cell)
        out: list[nodes.Node] = [nodes.literal_block(code, code, language="python")]
        if shown.text:
            out.append(nodes.literal_block(shown.text, shown.text, language="text", classes=["shown"]))
        if shown.markup:
            held = f'<div class="shown">{shown.markup}</div>'
            out.append(nodes.raw("", held, format="html"))
        return out


def setup(app: Any) -> dict[str, bool]:
    """Add the directive `cell`. Pages are read one after the other, since cells change the directory."""
    app.add_directive("cell", Cell)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
