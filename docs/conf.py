"""How Sphinx makes the site out of this directory: `sphinx-build -W docs DIRECTORY`.

The pages work from disk, without a network: formulas are MathML, which browsers draw themselves, and the
theme brings its scripts along. What the commands are is read from their parsers (`site/commands.py`).
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE / "site")]

import scfg_sampler  # noqa: E402

project = "scfg-sampler"
author = "The scfg-sampler developers"
version = release = scfg_sampler.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "cells",
    "commands",
    "docstrings",
    "mathml",
    "outside",
    "settings",
]
exclude_patterns = ["site"]
source_suffix = {".md": "markdown"}
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

smartquotes = False  # Or --option would be a dash.

html_theme = "furo"
html_title = f"scfg-sampler {release}"
html_static_path = ["site/static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_math_renderer = "mathml"

default_role = "code"  # What docstrings put between backticks.
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_type_aliases = {"PathLike": "str | Path"}
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = False
nitpicky = False
