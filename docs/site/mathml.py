"""Formulas as MathML, by docutils: browsers draw it themselves, so pages load no script."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml

__all__ = ["setup"]


def _inline(writer: Any, node: nodes.Element) -> None:
    writer.body.append(latex2mathml.tex2mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.Element) -> None:
    mathml = latex2mathml.tex2mathml(node.astext(), as_block=True)
    writer.body.append(f'<div class="math">{mathml}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Offer the renderer under the name `mathml`."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
