"""The page of promises names tests that exist, and promises nothing without one."""

from __future__ import annotations

import ast
import re

from tests.test_docs import ROOT

PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")


def rows() -> list[list[str]]:
    """The cells of the rows of all tables, without their heads."""
    lines = [line for line in PAGE.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [row for row in cells if row != ["promise", "kept by"] and not row[0].startswith("---")]


def test_every_promise_names_its_tests():
    assert len(rows()) > 3
    for row in rows():
        assert len(row) == 2, row
        assert re.fullmatch(r"`tests/[\w/]+\.py::test_\w+`(, `tests/[\w/]+\.py::test_\w+`)*", row[1]), row


def test_the_tests_that_are_named_exist():
    for path, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE):
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, (path, name)
