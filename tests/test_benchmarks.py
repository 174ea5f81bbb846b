"""Benchmarks, which run for long and are no part of the packages, find what they import."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
OURS = ("benchmarks", "decoder", "monolingual", "scfg_sampler", "tests")


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").glob("*.py")), ids=lambda path: path.stem)
def test_what_a_benchmark_imports_of_ours_is_there(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in OURS:
            exec(compile(ast.Module([node], type_ignores=[]), path, "exec"), {})
