"""The site builds without warnings, has every page, command and exported name, and loads nothing."""

from __future__ import annotations

import argparse
import doctest
import html
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_docs import COMMANDS, PROGRAMS, ROOT

DOCS = ROOT / "docs"
_ABSENT = "what makes the site is not installed; pip install '.[docs]'"


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site, made as a user makes it; any warning fails."""
    pytest.importorskip("sphinx", reason=_ABSENT)
    pytest.importorskip("myst_parser", reason=_ABSENT)
    pytest.importorskip("furo", reason=_ABSENT)
    folder = tmp_path_factory.mktemp("site") / "html"
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", str(DOCS), str(folder)]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return folder


def test_pages_ask_for_nothing_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for tag in re.findall(r"<(?:link|script|img|iframe|source)\b[^>]*>", text):
            assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", tag), (page.name, tag)
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(?:https?:)?//|@import", sheet.read_text(encoding="utf-8")), sheet


def test_links_to_sections_and_pages_lead_somewhere(site):
    ids = {page: set(re.findall(r' id="([^"]+)"', page.read_text())) for page in site.rglob("*.html")}
    for page in ids:
        article = page.read_text(encoding="utf-8").partition("<article")[2].partition("</article>")[0]
        for link in re.findall(r'<a [^>]*href="([^"]*)"', article):
            link = html.unescape(link)
            if not re.match(r"https?:|mailto:", link):
                path, _, fragment = link.partition("#")
                target = (page.parent / path).resolve() if path else page
                assert target.exists(), (page.name, link)
                assert not fragment or target not in ids or fragment in ids[target], (page.name, link)


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_command_has_a_section_with_every_option(site, program):
    text = (site / "look-up" / f"{program}.html").read_text(encoding="utf-8")
    for name in [name for other, name in COMMANDS if other == program]:
        section = text.partition(f'<section id="{program}-{name.replace(" ", "-")}">')[2].partition(
            "</section>"
        )[0]
        assert section, name
        shown = set(re.findall(r"--[a-z][\w-]*", html.unescape(re.sub("<[^>]*>", " ", section))))
        parser = importlib.import_module(f"{PROGRAMS[program]}.cli").build_parser()
        for word in name.split():
            parser = parser._subparsers._group_actions[0].choices[word]
        told = [action for action in parser._actions if action.help != argparse.SUPPRESS]
        asked = {name for action in told for name in action.option_strings if name.startswith("--")}
        asked.discard("--help")
        assert asked <= shown, name
        assert re.search(rf"<pre>(?:(?!</pre>).)*{program}(?:<[^>]*>|\s)+{name}", section, re.DOTALL), name


def test_every_exported_name_is_on_the_page_about_python(site):
    page = (site / "look-up" / "python.html").read_text(encoding="utf-8")
    for package in PROGRAMS.values():
        for name in getattr(importlib.import_module(package), "__all__", []):
            assert f'id="{package}.{name}"' in page, f"{package}.{name} is not on docs/look-up/python.md"


def test_formulas_are_mathml(site):
    pages = [page for page in DOCS.rglob("*.md") if re.search(r"^\$\$$", page.read_text(), re.MULTILINE)]
    for page in pages:
        made = (site / page.relative_to(DOCS).with_suffix(".html")).read_text(encoding="utf-8")
        assert "<math" in made
        assert "$$" not in made


@pytest.mark.parametrize("module", sorted((DOCS / "site").glob("*.py")), ids=lambda path: path.stem)
def test_examples_of_the_extensions_run(module, monkeypatch):
    pytest.importorskip("sphinx", reason=_ABSENT)
    monkeypatch.syspath_prepend(str(DOCS / "site"))
    failures, _ = doctest.testmod(importlib.import_module(module.stem))
    assert failures == 0
