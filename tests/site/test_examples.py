"""What pages show was made by the program: examples are run in order, pictures made again, names exist."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import re

import pytest

from tests.test_docs import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md") if "```pycon" in path.read_text())


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
