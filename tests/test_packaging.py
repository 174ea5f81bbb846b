"""What is installed: annotations for type checkers, hooks that fetch nothing, names that editors can see."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
WHEEL = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"][
    "targets"
]["wheel"]


@pytest.mark.parametrize("package", ["scfg_sampler", "decoder", "monolingual"])
def test_every_package_of_the_wheel_is_marked_as_typed(package):
    assert package in WHEEL["packages"]
    assert (ROOT / package / "py.typed").is_file()


def test_the_wheel_leaves_no_file_of_its_packages_out():
    assert set(WHEEL) == {"packages"}, "exclude, include and only-include may lose py.typed"
    patterns = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    assert not [pattern for pattern in patterns if Path("py.typed").match(pattern.strip("/"))]


def test_what_is_tracked_is_text_pictures_or_the_bundled_corpus():
    if not (ROOT / ".git").exists():
        pytest.skip("no clone")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True)
    tracked = [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    assert len(tracked) > 500
    for path in tracked:
        assert path.stat().st_size < 250_000, f"{path} is too large to be written by hand"
        of_bytes = path.suffix in (".gz", ".png") or "regressions" in path.parts
        assert of_bytes or b"\0" not in path.read_bytes(), f"{path} is no text"


def test_a_wheel_holds_the_marks_of_all_packages(tmp_path):
    hatchling = pytest.importorskip(
        "hatchling.build", reason="hatchling is not installed; .ci/run builds a wheel"
    )
    import zipfile

    script = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    assert hatchling
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], cwd=ROOT, check=True, capture_output=True)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        names = wheel.namelist()
    assert {f"{package}/py.typed" for package in WHEEL["packages"]} <= set(names)


def test_the_hooks_for_commits_fetch_nothing():
    text = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert set(re.findall(r"^\s*- repo: (.*)$", text, re.MULTILINE)) == {"local"}
    assert set(re.findall(r"^\s*language: (.*)$", text, re.MULTILINE)) == {"system"}
    tools = {entry.split()[0] for entry in re.findall(r"^\s*entry: (.*)$", text, re.MULTILINE)}
    assert tools == {"ruff", "mypy"}


@pytest.mark.parametrize("package", ["scfg_sampler", "decoder", "monolingual"])
def test_editors_see_what_a_package_loads_lazily(package):
    loaded = importlib.import_module(package)
    tree = ast.parse((ROOT / package / "__init__.py").read_text(encoding="utf-8"))
    guarded = [
        node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    seen = {
        (name.name, node.module)
        for block in guarded
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    home = {(name, f"{package}.{module}") for name, module in loaded._HOME.items()}
    assert seen == home
    assert {name for name, _ in home} == set(loaded.__all__)
