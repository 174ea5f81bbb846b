"""What pyproject.toml asks for is what the code imports, no more and no less."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

from tests.test_layering import OUTSIDE, imports_of, module_files

# What comes with another package, or is run as a program.
COMES_WITH = {"llvmlite": "numba", "distributed": "dask"}
PROGRAMS = {"eflomal": "eflomal-align"}
TOOLS = ("ruff", "mypy", "pytest")


@pytest.fixture(scope="module")
def project(root) -> dict:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def names(requirements: list[str]) -> set[str]:
    """What the packages of requirements are imported as: here, their names with `_` for `-`."""
    return {re.split(r"[\[<>=!~; ]", each)[0].replace("-", "_") for each in requirements}


def imported(root: Path) -> set[str]:
    """The packages from outside that our packages import."""
    known = module_files(root)
    entries = (each for name, path in known.items() for each in imports_of(name, path, known))
    found = {each.imported.partition(".")[0] for each in entries}
    return {COMES_WITH.get(name, name) for name in found & OUTSIDE.keys()}


def test_code_imports_what_it_asks_for(project, root):
    asked_for = project["optional-dependencies"].items()
    extras = {name: names(each) for name, each in asked_for if name not in ("dev", "docs")}
    asked = names(project["dependencies"]).union(*extras.values())
    assert asked - PROGRAMS.keys() == imported(root)


def test_programs_that_are_asked_for_are_run(project, root):
    extras = set().union(*map(names, project["optional-dependencies"].values()))
    texts = [path.read_text(encoding="utf-8") for path in module_files(root).values()]
    for package, program in PROGRAMS.items():
        assert package in extras
        assert any(f'"{program}"' in text for text in texts), program


def test_development_needs_what_tests_import_or_tools(project, root):
    """And whatever is not always there but has tests: they are skipped without it."""
    found = set()
    for path in (root / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found.update(alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                found.add((node.module or "").partition(".")[0])
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.importorskip":
                found.update(each.value for each in node.args[:1] if isinstance(each, ast.Constant))
    always = names(project["dependencies"])
    for name in names(project["optional-dependencies"]["dev"]) - set(TOOLS):
        assert name in found, f"{name} is in the extra dev, and no test needs it"
        assert name not in always
