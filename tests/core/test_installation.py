"""Whether the installation is in order, and what is said where it is not."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from importlib import metadata

import pytest

from scfg_sampler.cli import main
from scfg_sampler.core import installation
from scfg_sampler.core.installation import NEEDED, OPTIONAL, findings


def by_name() -> dict[str, installation.Finding]:
    return {each.name: each for each in findings()}


def without(monkeypatch, name: str) -> None:
    """As if a distribution were not installed."""
    version = metadata.version

    def found(asked: str) -> str:
        if asked == name:
            raise metadata.PackageNotFoundError(asked)
        return version(asked)

    monkeypatch.setattr(installation.metadata, "version", found)


def test_what_is_needed_and_optional_is_what_the_project_asks_for(root):
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert {each.split(">=")[0] for each in project["dependencies"]} == set(NEEDED)
    extras = {
        each.split(">=")[0].split("[")[0]: extra
        for extra, names in project["optional-dependencies"].items()
        if extra not in ("dev", "docs")
        for each in names
    }
    assert extras == {name: extra for name, (extra, _) in OPTIONAL.items()}


def test_working_installation_is_in_order(capsys):
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert metadata.version("numba") in said
    assert "!!" not in said
    assert main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in found] == [each.name for each in findings()]


def test_missing_package_is_named_with_what_to_do(monkeypatch, capsys):
    without(monkeypatch, "scipy")
    assert main(["doctor", "--quiet"]) == 2
    said = capsys.readouterr()
    assert "!!  scipy" in said.out
    assert "pip install scipy" in said.out
    assert "Python" not in said.out
    assert said.err == "scfg-sampler: commands cannot work before this is mended: scipy\n"


def test_optional_package_that_is_missing_is_not_wrong(monkeypatch):
    without(monkeypatch, "matplotlib")
    found = by_name()["matplotlib (optional)"]
    assert not found.is_wrong
    assert found.advice.endswith("pip install 'scfg-sampler[report]'")


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT", "0") == "1", reason="compiles")
def test_place_of_compiled_code_is_told_and_judged(monkeypatch, tmp_path):
    from scfg_sampler.core.jit import cache_directory

    for name, value in (
        ("SCFG_SAMPLER_CACHE", str(tmp_path / "kept")),
        ("XDG_CACHE_HOME", str(tmp_path / "x")),
    ):
        monkeypatch.setenv(name, value)
    cache_directory.cache_clear()
    try:
        found = by_name()["compiled code"]
        assert found.found.startswith(f"{tmp_path / 'kept'}, 0 kernels")
        assert "the first use of each command takes longer, once" in found.advice
        (tmp_path / "kept" / "module-1").mkdir()
        (tmp_path / "kept" / "module-1" / "f.nbc").write_bytes(b"x" * 3_000_000)
        assert by_name()["compiled code"].found.endswith("1 kernel, 3 MB")
        monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
        assert "Unset it" in by_name()["compiled code"].advice
    finally:
        cache_directory.cache_clear()


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT", "0") == "1", reason="compiles")
def test_place_that_was_asked_for_and_is_not_taken_is_told(monkeypatch, tmp_path):
    from scfg_sampler.core.jit import cache_directory

    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SCFG_SAMPLER_CACHE", str(tmp_path / "file"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    cache_directory.cache_clear()
    try:
        found = by_name()["compiled code"]
        assert found.found.startswith(f"{tmp_path / 'x' / 'scfg-sampler'}, ")
        assert found.advice.startswith(f"SCFG_SAMPLER_CACHE is {tmp_path / 'file'}, which cannot be written")
    finally:
        cache_directory.cache_clear()


@pytest.mark.parametrize(("name", "is_fine"), [("UTF-8", True), ("ISO-8859-1", False)])
def test_encoding_of_the_terminal_is_that_of_the_locale(monkeypatch, name, is_fine):
    monkeypatch.setattr(installation.sys, "flags", type("Flags", (), {"utf8_mode": 0}))
    monkeypatch.setattr(installation.locale, "getencoding", lambda: name)
    found = by_name()["encoding of the terminal"]
    assert found.found == name.lower()
    assert ("locale with UTF-8" not in found.advice) == is_fine
    monkeypatch.setattr(installation.sys, "flags", type("Flags", (), {"utf8_mode": 1}))
    assert by_name()["encoding of the terminal"].found == "utf-8"


def test_old_python_and_little_room_are_told(monkeypatch):
    monkeypatch.setattr(installation.sys, "version_info", (3, 10, 2))
    assert by_name()["Python"].is_wrong
    monkeypatch.setattr(installation.sys, "version_info", sys.version_info)
    usage = type("Usage", (), {"free": 5 << 20})
    monkeypatch.setattr(installation.shutil, "disk_usage", lambda place: usage)
    assert "TMPDIR" in by_name()["temporary files"].advice


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT", "0") == "1", reason="compiles")
@pytest.mark.parametrize("is_usable", [True, False])
def test_a_home_in_the_temporary_directory_is_not_the_temporary_directory(monkeypatch, tmp_path, is_usable):
    from scfg_sampler.core.jit import cache_directory

    monkeypatch.setattr(installation.tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("SCFG_SAMPLER_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    if not is_usable:
        (tmp_path / "home").write_text("a file, not a directory")
    cache_directory.cache_clear()
    try:
        found = by_name()["compiled code"]
        assert found.found.startswith(str(tmp_path))
        assert ("The usual place cannot be written" in found.advice) == (not is_usable)
    finally:
        cache_directory.cache_clear()
