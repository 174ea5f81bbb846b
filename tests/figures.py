"""Figures that a document prints: made by a command, stamped with commit and date, compared with new ones.

    python -m tests.figures DIRECTORY [--write]

compares the table of README.md with `table.txt` of a run of `recipes/quickstart.sh --output DIRECTORY`, or
with --write puts that table there, with the commit and the day. What is said of time is not compared: it is
the machine's. Everything else is the same on every machine.
"""

from __future__ import annotations

import argparse
import datetime
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
_STAMP = "Made by `recipes/quickstart.sh` at {commit}, {day}."
_BLOCK = re.compile(
    r"```\n(?P<table>grammar +rules .*?)```\n\n"
    + re.escape(_STAMP)
    .replace(r"\{commit\}", "(?P<commit>[0-9a-f]{7,})")
    .replace(r"\{day\}", r"(?P<day>[0-9-]{10})"),
    re.DOTALL,
)
_TIMES = ("learning s", "decoding sent/s")


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
    block = f"```\n{shown}\n```\n\n" + _STAMP.format(commit=commit, day=day)
    return document[: found.start()] + block + document[found.end() :]


def main() -> int:
    """Compare, or write."""
    parser = argparse.ArgumentParser(prog="python -m tests.figures")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    table = (options.directory / "table.txt").read_text(encoding="utf-8")
    document = README.read_text(encoding="utf-8")
    if options.write:
        command = ["git", "rev-parse", "--short", "HEAD"]
        commit = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
        README.write_text(
            written(document, table, commit, datetime.date.today().isoformat()), encoding="utf-8"
        )
        return 0
    found = _BLOCK.search(document)
    if found is None:
        raise SystemExit("README.md has no table of figures with a stamp")
    wrong = differences(figures(found["table"]), figures(table))
    for line in wrong:
        print(f"README.md: {line}", file=sys.stderr)
    print(f"figures of README.md, of {found['day']} at {found['commit']}: {len(wrong)} differ", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
