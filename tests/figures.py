"""Figures that documents print: made by a command, stamped with commit and day, compared with new ones.

    python -m tests.figures [DIRECTORY] [--all] [--data DATA] [--write]

Three kinds of figures are made again:

- consoles: blocks of `console` with a stamp, whose lines after `$` are run, one after the other, in an empty
  directory, and must print what follows them. Where one names `$DATA`, it needs the data sets of --data, and
  is run with --all only;
- the table of README.md, compared with `table.txt` of a run of `recipes/quickstart.sh --output DIRECTORY`;
- the rules of docs/bundled-corpus.md with their expected counts, compared with `sampled.gz` of that run.

With --all and without DIRECTORY, the quickstart is run. --write puts what was made, the commit and the day
into the documents. What is said of time is not compared: it is the machine's. All else is so everywhere.

Tables of experiments take hours, and data that the repository does not have, to make again. They say which
commit wrote them, and when (`Figures of …`); their pages say with which commands.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import gzip
import importlib
import io
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
RULES = ROOT / "docs" / "bundled-corpus.md"
_AT = "at {commit}, {day}."
_AT_PATTERN = r"at (?P<commit>[0-9a-f]{7,}), (?P<day>\d{4}-\d\d-\d\d)\."
_QUICKSTART = "Made by `recipes/quickstart.sh` "
_BLOCK = re.compile(
    r"```\n(?P<table>grammar +rules .*?)```\n\n" + re.escape(_QUICKSTART) + _AT_PATTERN, re.DOTALL
)
_CONSOLE = re.compile(r"```console\n(?P<text>.*?)```\n\nMade " + _AT_PATTERN, re.DOTALL)
_RULE = re.compile(r"^\| `(?P<rule>[^`]+ → [^`]+)` \| (?P<count>[0-9.]+) \|", re.MULTILINE)
_RULES_STAMP = re.compile(re.escape(_QUICKSTART) + _AT_PATTERN)
OF_COMMIT = re.compile(r"Figures of (?P<commit>[0-9a-f]{7,}), \d{4}-\d\d-\d\d\.")
_TIMES = ("learning s", "decoding sent/s")
_PROGRAMS = {
    "scfg-sampler": "scfg_sampler",
    "scfg-decoder": "decoder",
    "scfg-monolingual": "monolingual",
}
_TIME = re.compile(r"\b[0-9][0-9.,:]*( CPU)? (s|ms|seconds|minutes)\b")


def figures(table: str) -> dict[str, dict[str, str]]:
    """The figures of a table by row and column, and those of the comparisons below it; without times.

    >>> figures("grammar  rules  learning s\\n-------  -----  ----------\\nhiero       12         1.8\\n")
    {'hiero': {'rules': '12'}}
    """
    head, ruler, *rest = table.splitlines()
    spans = [match.span() for match in re.finditer("-+", ruler)]
    names = [head[begin:end].strip() for begin, end in spans]
    found: dict[str, dict[str, str]] = {}
    rows = rest[: rest.index("")] if "" in rest else rest
    for row in rows:
        cells = [row[begin:end].strip() for begin, end in spans]
        kept = zip(names[1:], cells[1:], strict=True)
        found[cells[0]] = {name: cell for name, cell in kept if name not in _TIMES}
    for line in rest[len(rows) :]:
        if match := re.fullmatch(r"(.+ − .+): (\S+) BLEU, p = (\S+) .*", line):
            found[match[1]] = {"BLEU": match[2], "p": match[3]}
    return found


def differences(printed: dict[str, dict[str, str]], made: dict[str, dict[str, str]]) -> list[str]:
    """What differs, in words."""
    wrong = [f"{row} is only in one of them" for row in sorted(printed.keys() ^ made.keys())]
    for row in printed.keys() & made.keys():
        for name in sorted(printed[row].keys() | made[row].keys()):
            one, other = printed[row].get(name), made[row].get(name)
            if one != other:
                wrong.append(f"{row}, {name}: {one} is printed, {other} was made")
    return sorted(wrong)


def written(document: str, table: str, commit: str, day: str) -> str:
    """The document with another table and stamp."""
    found = _BLOCK.search(document)
    if found is None:
        raise SystemExit("README.md has no table of figures with a stamp")
    shown = table.partition("\nBLEU: ")[0].rstrip()  # What follows says how it was made, at length.
    block = f"```\n{shown}\n```\n\n" + _QUICKSTART + _AT.format(commit=commit, day=day)
    return document[: found.start()] + block + document[found.end() :]


def rule_counts(document: str) -> dict[str, dict[str, str]]:
    """The expected counts of rules that a document prints."""
    return {match["rule"]: {"count": match["count"]} for match in _RULE.finditer(document)}


def counted(table: Path, rules: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """The expected counts that a table of rules has for some of them, as they are printed."""
    found = {}
    with gzip.open(table, "rt", encoding="utf-8") as stream:
        for line in stream:
            source, target, features = (*line.split(" ||| "), "", "", "")[1:4]
            if (rule := f"{source} → {target}") in rules:
                count = math.exp(float(features.split("LogCount=")[1].split()[0]))
                found[rule] = {"count": f"{count:.1f}"}
    return found


def console(text: str, place: Path, data: Path | None = None) -> str:
    """A console block with what its commands print now, in an empty directory."""
    before, lines = Path.cwd(), []
    os.chdir(place)
    try:
        for line in text.splitlines():
            if not line.startswith("$ "):
                continue
            words = shlex.split(line[2:].replace("$DATA", str(data)))
            said = io.StringIO()
            if words[0] in _PROGRAMS:
                with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
                    status = importlib.import_module(f"{_PROGRAMS[words[0]]}.cli").main(words[1:])
                if status:
                    raise SystemExit(f"{line[2:]}: status {status}")
            else:
                subprocess.run(line[2:], shell=True, check=True)  # It writes an input.
            lines += [line, *said.getvalue().splitlines()]
    finally:
        os.chdir(before)
    return "".join(f"{line}\n" for line in lines)


def other_lines(printed: str, made: str) -> list[str]:
    """Lines that are not what they were, times apart."""
    one, other = (_TIME.sub("…", text).splitlines() for text in (printed, made))
    return [f"- {line}" for line in one if line not in other] + [
        f"+ {line}" for line in other if line not in one
    ]


class Stamp:
    """The commit and the day of what is made now."""

    def __init__(self) -> None:
        command = ["git", "rev-parse", "--short", "HEAD"]
        found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        self.commit, self.day = found.stdout.strip(), datetime.date.today().isoformat()

    def __str__(self) -> str:
        return _AT.format(commit=self.commit, day=self.day)


def check_consoles(data: Path | None, write: bool) -> list[str]:
    """Run the consoles of all documents; those that need data only if there is some."""
    wrong = []
    for path in [README, *sorted((ROOT / "docs").rglob("*.md"))]:
        document = path.read_text(encoding="utf-8")
        for match in _CONSOLE.finditer(document):
            if "$DATA" in match["text"] and data is None:
                continue
            with tempfile.TemporaryDirectory() as place:
                made = console(match["text"], Path(place), data)
            if other := other_lines(match["text"], made):
                wrong += [f"{path.name}: {line}" for line in other]
                if write:
                    document = document.replace(match[0], f"```console\n{made}```\n\nMade {Stamp()}")
                    path.write_text(document, encoding="utf-8")
    return wrong


def check_run(directory: Path, write: bool) -> list[str]:
    """Compare what documents print of the quickstart with a run of it."""
    table = (directory / "table.txt").read_text(encoding="utf-8")
    readme, page = (path.read_text(encoding="utf-8") for path in (README, RULES))
    if (found := _BLOCK.search(readme)) is None or _RULES_STAMP.search(page) is None:
        raise SystemExit("README.md has no table of figures with a stamp, or bundled-corpus.md none")
    rules = rule_counts(page)
    made = counted(directory / "sampled.gz", rules)
    wrong = [f"README.md: {line}" for line in differences(figures(found["table"]), figures(table))]
    wrong += [f"bundled-corpus.md: {line}" for line in differences(rules, made)]
    if write:
        stamp = Stamp()
        README.write_text(written(readme, table, stamp.commit, stamp.day), encoding="utf-8")
        page = _RULE.sub(
            lambda match: (
                f"| `{match['rule']}` | {made[match['rule']]['count']} |"
                if match["rule"] in made
                else match[0]
            ),
            page,
        )
        RULES.write_text(_RULES_STAMP.sub(f"{_QUICKSTART}{stamp}", page), encoding="utf-8")
    return wrong


def main() -> int:
    """Make figures again, and compare or write them."""
    parser = argparse.ArgumentParser(prog="python -m tests.figures")
    parser.add_argument("directory", type=Path, nargs="?", help="of a run of the quickstart")
    parser.add_argument("--all", action="store_true", help="what takes long, too")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--write", action="store_true", help="into the documents")
    options = parser.parse_args()
    checks: list[Callable[[], list[str]]] = [
        lambda: check_consoles(options.data if options.all else None, options.write)
    ]
    with tempfile.TemporaryDirectory() as place:
        directory = options.directory
        if options.all and directory is None:
            directory = Path(place) / "run"
            subprocess.run([ROOT / "recipes" / "quickstart.sh", "--output", directory], check=True)
        if directory is not None:
            checks.append(lambda: check_run(directory, options.write))
        wrong = [line for check in checks for line in check()]
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"figures of documents: {len(wrong)} differ", flush=True)
    return 1 if wrong and not options.write else 0


if __name__ == "__main__":
    sys.exit(main())
