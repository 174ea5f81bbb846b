"""How long every command takes to say something: its help, and its example until the first output.

    python benchmarks/startup.py [--commands WORD...] [--only-slow]

Runs the examples of `--help` on small files of their names, as the tests do, each in a process of its own,
and prints the seconds of processor time until `--help` has ended, and until the first byte on standard
output or error or the end of the command, whichever is first, once into a pipe and once on a terminal; the
least of three. Kernels are compiled before: each is run once for nothing. Ends with status 1 where help takes
more than 0.3 s, or a first output more than 1.5 s.
"""

from __future__ import annotations

import argparse
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.example_files import make_files
from tests.test_docs import PROGRAMS
from tests.test_help_examples import EXAMPLES, NOT_OURS, absent, group_of, taken, without_what_it_makes

HELP, FIRST = 0.3, 1.5
TIMES = 3


def cpu_seconds(process: int) -> float:
    """Processor time that a process has taken so far, its threads included; 0 if it is gone."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def until_first_output(words: list[str], stdin: str | None, is_terminal: bool) -> float:
    """Processor time of a command until it writes, or ends; it is then stopped."""
    reading, writing = pty.openpty() if is_terminal else os.pipe()
    source = open(stdin) if stdin else subprocess.DEVNULL  # noqa: SIM115
    child = subprocess.Popen(words, stdin=source, stdout=writing, stderr=writing)
    os.close(writing)
    taken_so_far = 0.0
    while not select.select([reading], [], [], 0.02)[0]:
        taken_so_far = cpu_seconds(child.pid) or taken_so_far
    taken_so_far = max(taken_so_far, cpu_seconds(child.pid))
    child.kill()
    child.wait()
    os.close(reading)
    return taken_so_far


def to_the_end(words: list[str]) -> float:
    """Processor time of a command that ends by itself."""
    before = os.times()
    subprocess.run(words, stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def measured(program: str, command: str, lines: list[str], files: Path) -> tuple[float, float, float]:
    """Seconds of a command's help, and of its first example that can be run here until it says something.

    The latter two are those into a pipe and those on a terminal.
    """
    call = [sys.executable, "-m", PROGRAMS[program]]
    help_seconds = min(to_the_end([*call, *command.split(), "--help"]) for _ in range(TIMES))
    usable = [line for line in lines if line not in NOT_OURS and not absent(line)]
    if not usable:
        return help_seconds, float("nan"), float("nan")
    found: dict[bool, list[float]] = {False: [], True: []}
    for number in range(-1, 2 * TIMES):
        is_terminal = number % 2 == 1
        with tempfile.TemporaryDirectory() as folder:
            here = Path(folder) / "here"
            shutil.copytree(files, here)
            os.chdir(here)
            without_what_it_makes(usable[0])
            _, arguments, stdin, _ = taken(usable[0])
            more = ["--port", "0"] if command == "explore" else []
            seconds = until_first_output([*call, *arguments, *more], stdin, is_terminal)
            os.chdir("/")
            if number >= 0:
                found[is_terminal].append(seconds)
    return help_seconds, min(found[False]), min(found[True])


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--commands", nargs="+", help="only commands that have one of these words")
    parser.add_argument("--only-slow", action="store_true", help="print those that are too slow alone")
    args = parser.parse_args()
    is_slow = False
    os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parents[1])
    print(
        f"{'command':40} {'help':>6} {'first output':>13} {'on a terminal':>14}   seconds of processor time"
    )
    with tempfile.TemporaryDirectory() as folder:
        files: dict[str, Path] = {}
        for program, command, lines in EXAMPLES:
            name = f"{program} {command}"
            if args.commands and not any(re.search(rf"\b{word}\b", name) for word in args.commands):
                continue
            group = group_of(program, command)
            if group not in files:
                files[group] = make_files(group, Path(folder) / group)
            help_seconds, piped, shown = measured(program, command, lines, files[group])
            late = help_seconds > HELP or max(piped, shown) > FIRST
            is_slow |= late
            if late or not args.only_slow:
                mark = "  too slow" if late else ""
                print(f"{name:40} {help_seconds:6.2f} {piped:13.2f} {shown:14.2f}{mark}", flush=True)
    return 1 if is_slow else 0


if __name__ == "__main__":
    began = time.monotonic()
    status = main()
    print(f"{time.monotonic() - began:.0f} s")
    sys.exit(status)
