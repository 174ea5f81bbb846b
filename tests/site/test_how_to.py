"""The how-tos, followed to the letter: their blocks of shell are run in order, in a directory with data."""

from __future__ import annotations

import gzip
import importlib.util
import os
import re
import subprocess
import sys

import pytest

from tests.test_docs import PROGRAMS, ROOT

PAGES = sorted(path.name for path in (ROOT / "docs" / "do").glob("*.md"))
DATA = ROOT / "data" / "novish-en"

# What a page begins with that others tell how to make: the systems that agree, and raw text.
BEFORE = {
    "consensus.md": """
scfg-sampler prepare --source train.fr --target train.en --dev 20 --test 10 --output mydata
scfg-decoder train-lm train.en --output en.arpa
scfg-sampler extract --source train.fr --target train.en --alignment train.fr-en.gdfa --output hiero.gz
scfg-sampler sample --source train.fr --target train.en --alignment train.fr-en.gdfa --output run \\
    --iterations 4 --burn-in 2
scfg-sampler grammar run --output ours.gz
for kind in sampled hiero; do
    name=${kind/sampled/ours}
    scfg-decoder tune --grammar $name.gz --lm en.arpa --source dev.fr --references dev.en --rounds 1 \\
        --output $name.json
    scfg-decoder bundle --grammar $name.gz --lm en.arpa --weights $name.json --preparation mydata \\
        --output system-$kind
done
cp test.fr raw.fr
"""
}


@pytest.fixture
def folder(tmp_path):
    """A directory with small texts under the names that the pages have, and the programs on its path."""
    for part, pairs in (("train", 150), ("dev", 15), ("test", 10)):
        for name, as_named in (("novish", "fr"), ("en", "en"), ("novish-en.gold", "fr-en.gdfa")):
            lines = gzip.decompress((DATA / f"{part}.{name}.gz").read_bytes()).decode().splitlines()[:pairs]
            (tmp_path / f"{part}.{as_named}").write_text("".join(f"{line}\n" for line in lines))
    # Another aligner, which misses the last link of every pair.
    links = (tmp_path / "train.fr-en.gdfa").read_text().splitlines()
    (tmp_path / "train.fr-en.other").write_text("".join(line.rpartition(" ")[0] + "\n" for line in links))
    (tmp_path / "bin").mkdir()
    for program, package in PROGRAMS.items():
        script = tmp_path / "bin" / program
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {package} "$@"\n')
        script.chmod(0o755)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_a_how_to_does_what_it_says(page, folder):
    text = (ROOT / "docs" / "do" / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```bash\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert blocks
    if "scfg-sampler align " in "".join(blocks) and importlib.util.find_spec("eflomal") is None:
        pytest.skip("needs eflomal: pip install 'scfg-sampler[align]'")
    environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    script = "set -euo pipefail\n" + BEFORE.get(page, "") + "".join(blocks)
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert [name for name in made_by("".join(blocks)) if not (folder / name).exists()] == []


def made_by(script: str) -> list[str]:
    """What a script says it makes; of the names that `align` begins, the usual one."""
    lines = script.replace("\\\n", " ").splitlines()
    places = [(line, name) for line in lines for name in re.findall(r"(?:--output|(?<!-)>) +([\w.-]+)", line)]
    ending = {True: ".phrases", False: ".gdfa"}
    return [
        name + ending["--aligner phrases" in line] if "scfg-sampler align " in line else name
        for line, name in places
    ]
