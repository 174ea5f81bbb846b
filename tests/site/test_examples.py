"""What pages show was made by the program: examples are run in order, pictures made again, names exist."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import re
from xml.etree import ElementTree

import pytest

from tests.test_docs import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md") if "```pycon" in path.read_text())

WITH_CELLS = [str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md") if "```{cell}" in path.read_text()]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("page", PAGES)
def test_examples_of_a_page_are_what_happens(page, tmp_path, monkeypatch):
    text = (DOCS / page).read_text(encoding="utf-8")
    examples = "\n".join(re.findall(r"^```pycon\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(examples, {}, page, page, 0)
    said: list[str] = []
    doctest.DocTestRunner().run(test, out=said.append)
    assert not said, "".join(said)


def test_pages_followed_one_after_another_do_not_meet():
    """Runs are not replaced unasked, so that in one directory no two pages may make the same."""
    pages = [*(DOCS / "learn").glob("*.md"), *(DOCS / "do").glob("*.md"), DOCS / "notebook.md"]
    made: dict[str, list[str]] = {}
    for page in pages:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        for name in re.findall(r"\b(?:sampler|ot|pcfg|tsg) (?:sample|train) [^\n|`]*--output (\S+)", text):
            made.setdefault(name, []).append(page.name)
        for name in re.findall(r"\bsample\([^\n]*?, \"([^\"]+)\"", text):
            made.setdefault(name, []).append(page.name)
    assert {"run", "runs/notebook", "union.run", "run.tsg"} <= set(made)
    assert {name: pages for name, pages in made.items() if len(pages) > 1} == {}


@pytest.mark.parametrize("page", WITH_CELLS)
def test_cells_of_a_page_show_what_they_say(page, tmp_path, monkeypatch):
    cells = loaded_cells(monkeypatch)
    found = cells.cells_of((DOCS / page).read_text(encoding="utf-8"))
    session = cells.Session(tmp_path)
    shown = [session.run(cell) for cell in found]
    pictures = [ElementTree.fromstring(each.markup) for each in shown if each.markup.startswith("<svg")]
    assert len(pictures) >= 4
    for picture in pictures:
        # A colour of the page around, be it dark, or a box of their own below them.
        loose = [each for each in picture.findall(f"{SVG}text") if each.get("fill") or each.get("style")]
        assert not loose
        assert "fill:currentColor" in picture.find(f"{SVG}style").text


def test_cell_that_shows_something_else_than_it_says_is_refused(tmp_path, monkeypatch):
    session = loaded_cells(monkeypatch).Session(tmp_path)
    assert session.run("1 + 1\n# → 2") == ("2", "")
    with pytest.raises(ValueError, match="a cell says '3', but shows '2'"):
        session.run("1 + 1\n# → 3")
    with pytest.raises(NameError):
        session.run("nobody")


def loaded_cells(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "site"))
    return importlib.import_module("sessions")


def test_pictures_of_the_pages_are_those_that_the_program_makes(tmp_path):
    spec = importlib.util.spec_from_file_location("make_figures", DOCS / "figures" / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = module.make(tmp_path)
    assert set(made) == {path.name for path in (DOCS / "figures").glob("learn-*")}
    for name, svg in made.items():
        same = (DOCS / "figures" / name).read_text(encoding="utf-8") == svg
        assert same, f"{name} is another picture now: python docs/figures/make.py"


def test_pictures_are_shown():
    shown = {
        name for page in DOCS.rglob("*.md") for name in re.findall(r"figures/([\w.-]+)\)", page.read_text())
    }
    assert {path.name for path in (DOCS / "figures").glob("*.*g")} <= shown


@pytest.mark.parametrize("page", sorted(path.name for path in (DOCS / "learn").glob("*.md")))
def test_functions_that_pages_name_exist(page):
    text = (DOCS / "learn" / page).read_text(encoding="utf-8")
    for name in re.findall(r"`((?:scfg_sampler|decoder)\.[\w.]+)`", text):
        module, _, attribute = name.rpartition(".")
        try:
            found = importlib.import_module(name)
        except ModuleNotFoundError:
            found = getattr(importlib.import_module(module), attribute)
        assert found
