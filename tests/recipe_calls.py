"""Recipes called as a user would: by themselves, or with a stand-in for Python in place of the programs.

The stand-in writes down how it was called and makes the files a command would make, so that a whole recipe
runs in a fraction of a second.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = [
    "ALIGNMENTS_TO_BLEU",
    "RECIPES",
    "ROOT",
    "STAND_IN",
    "TABLE2",
    "Finished",
    "assert_refused",
    "bleu_recipe",
    "calls",
    "planned_seconds",
    "run",
    "small_data",
    "unrecorded",
    "up_to",
    "write_stand_in",
]

ROOT = Path(__file__).resolve().parents[1]
RECIPES = ROOT / "recipes"
ALIGNMENTS_TO_BLEU = RECIPES / "alignments-to-bleu.sh"
TABLE2 = RECIPES / "table2.sh"

STAND_IN = r"""#!/usr/bin/env bash
# Notes every `python -m PROGRAM COMMAND …`, and answers `python -c …` and `python FILE` with the real Python,
# but not where it is asked to import what takes a second, or for versions, which nothing here depends on.
set -euo pipefail
case "$1 ${2:-}" in
    "-m "*) ;;
    "-c import decoder, numba"*) exit 0 ;;
    "-c import sys, importlib.metadata"*) echo 3.11.0 && exit 0 ;;
    *) exec REAL_PYTHON "$@" ;;
esac
program=$2 command=$3 more="" given=$* lists=()
if [[ -e HERE/broken && "$command" = "$(<HERE/broken)" && "$*" != */compile/* ]]; then
    echo "it broke on line 7" >&2
    exit 2
fi
echo "${@:2}" >>HERE/calls
while [ $# -gt 0 ]; do
    [[ "$command $1" != consensus\ *.list.gz ]] || lists+=("$1")
    case "$command $1 ${2:-}" in
        "sample --output "*) mkdir -p "$2" && echo '{"seconds": 2000}' >"$2/run.json" ;;
        "translate --input "*) lines=$(wc -l <"$2") ;;
        "translate --output "*) translations=$2 ;;
        "consensus --output "*) translations=$2 ;;
        *" --output "*.gz) gzip >"$2" <<<$'# signature\nrule' ;;
        *" --output "*) echo '{}' >"$2" ;;
    esac
    shift
done
case $program-$command in
    decoder-translate)
        for ((line = 1; line <= lines; line++)); do echo "translation $line"; done >"$translations"
        echo "3 lines translated in 0.1 s, 33.5 a second"
        ;;
    decoder-consensus) cat "${lists[@]}" | sort -u >"$translations" ;;
    decoder-evaluate)
        [[ "$given" != *.txt\ *.txt\ * ]] || more=', "deviation": 0.25'
        printf '{"bleu": {"score": 61.25, "signature": "tok"%s}, ' "$more"
        printf '"difference": 0.5, "p_value": 0}'
        ;;
esac
"""


def assert_refused(directory: Path, script: Path, arguments, complaint: str, **environment) -> None:
    """A recipe called wrongly says so in one line, with status 2, before it has made anything."""
    before = sorted(path.name for path in directory.iterdir())
    outcome = run(script, *arguments, directory=directory, **environment)
    assert outcome.returncode == 2
    assert complaint in outcome.stderr
    assert outcome.stderr.count("\n") == 1
    assert sorted(path.name for path in directory.iterdir()) == before


def run(script, *arguments, directory=ROOT, timeout=300, **environment):
    """What became of a recipe: status, output, complaints."""
    python = Path(environment.get("SCFG_PYTHON", sys.executable))
    if python != Path(sys.executable):  # A stand-in compiles nothing, and must not say that it did.
        environment.setdefault("SCFG_SAMPLER_CACHE", str(python.parent / "cache"))
    return subprocess.run(
        ["bash", str(script), *map(str, arguments)],
        cwd=directory,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def write_stand_in(directory: Path, text: str = STAND_IN) -> Path:
    """A directory with the stand-in `python`, whose calls are noted in `calls`."""
    text = text.replace("REAL_PYTHON", sys.executable).replace("HERE", str(directory))
    text = text.replace("/usr/bin/env bash", shutil.which("bash") or "/bin/bash", 1)  # Looked for once.
    (directory / "python").write_text(text)
    (directory / "python").chmod(0o755)
    return directory


def small_data(directory: Path, test_references=("test.en",), alignments=("train.xx-en.hand",)) -> Path:
    """A corpus of one line, for the stand-in."""
    directory.mkdir()
    for name in ("train.xx", "train.en", "dev.xx", "dev.en", "test.xx", *test_references, *alignments):
        (directory / name).write_text("0-0\n" if name in alignments else "a b c\n")
    return directory


def bleu_recipe(stand_in, data, *options, recipe=ALIGNMENTS_TO_BLEU):
    """What became of a recipe from a corpus to BLEU, into `run dir` beside the stand-in."""
    python = str(stand_in / "python")
    out = ("--output", stand_in / "run dir")
    return run(recipe, data, "xx", "en", *out, *options, SCFG_PYTHON=python)


def calls(stand_in):
    """The commands called since the last time, in order, without those that are there to compile."""
    noted = stand_in / "calls"
    lines = noted.read_text().splitlines() if noted.exists() else []
    noted.unlink(missing_ok=True)
    return without_compiling(lines)


def without_compiling(lines):
    return [line for line in lines if "/compile/" not in line]


def up_to(command, recipe, stand_in, *options):
    """What became of a recipe that ends where it first calls a command, as this one fails.

    For what is decided before; what the recipe does to compile is passed over.
    """
    (stand_in / "broken").write_text(command)
    outcome = recipe(stand_in, *options)
    (stand_in / "broken").unlink()
    assert outcome.returncode == 2, outcome.stderr
    assert "it broke on line 7" in outcome.stderr
    return outcome


class Finished:
    """A recipe that was run to its end, once for all tests of a module that begin there.

    It lies at one place, `stand_in`, as steps depend on the paths of their commands; each test takes it by
    `restored`. `outcome` is what became of the recipe, `calls` are all its calls, those to compile included.
    """

    def __init__(self, stand_in, recipe, *options):
        self.stand_in = stand_in
        self.outcome = recipe(stand_in, *options)
        assert self.outcome.returncode == 0, self.outcome.stderr
        noted = stand_in / "calls"
        self.calls = noted.read_text().splitlines()
        noted.unlink()
        self._kept = stand_in.with_name(f"{stand_in.name} kept")
        shutil.copytree(stand_in, self._kept, symlinks=True)

    def restored(self):
        """The same with all files as the recipe has left them, and no calls since."""
        shutil.rmtree(self.stand_in)
        shutil.copytree(self._kept, self.stand_in, symlinks=True)  # Times are kept, too.
        return self

    @property
    def noted(self):
        """The calls, without those to compile."""
        return without_compiling(self.calls)


def planned_seconds(outcome):
    """What a recipe said at its beginning that it would take."""
    number, unit = re.search(r"this takes about (\d+) (s|min)", outcome.stderr).groups()
    return int(number) * {"s": 1, "min": 60}[unit]


def unrecorded(out: Path) -> set[str]:
    """The files of a run directory that are no step's product, by their names in it, without logs."""
    recorded = {
        line.partition("./")[2]
        for record in (out / "logs").glob("*.products")
        for line in record.read_text().partition("\n\n")[2].splitlines()
    }
    files = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    return {name for name in files - recorded if "logs/" not in name}
