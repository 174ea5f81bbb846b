"""Plants faults, one at a time, and says which of them no test finds.

    python -m tests.mutation                        all faults of tests/faults (most of an hour)
    python -m tests.mutation --changed main         those in modules that differ from a commit
    python -m tests.mutation decoder/tuning         those in a file or below a folder
    python -m tests.mutation decoder/tuning/mira.py:3   the third of a file

Works in a copy of the tree, with a kernel cache of its own on top of the usual one. The lists are text:

    == decoder/tuning/mira.py                       the file of the faults below
    tests: tests/decoder/tuning/test_tune.py        what should find them: arguments of pytest
    plain: tests/exact/test_restaurant.py           the same, with kernels as plain Python
    @ def mira(                                     the next fault is in the block that begins with this line
    - _DECAY = 0.999                                a piece of one line
    + _DECAY = 1.0                                  what stands there instead; nothing for nothing
    = reason                                        why no test can find this one

A piece that occurs nowhere in its file, or twice (in its block, if one is named), is an error, so that the
lists keep up with the code. The status is 0 if tests found all faults but those with a reason, 1 if one
survived, and 2 if something is wrong with the lists or the tests fail without a fault.

The tests that find a fault are remembered beside the kernel cache and come first the next time, so that a
second run takes a fraction of the first. At the end they are run without the faults, and have to pass.

A fault whose tests do not end counts as found. They are given ten times as long as they take without it: at
least a minute where kernels are plain Python, else five, in which everything above the fault is compiled.

The fact a newcomer would get wrong: a fault that leaves no test to run is an error of the list.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["Fault", "ListError", "changed_files", "main", "plant", "read_faults", "run_faults"]

ROOT = Path(__file__).resolve().parents[1]
LISTS = ROOT / "tests" / "faults"
PACKAGES = ("scfg_sampler", "decoder", "monolingual")
_SHORTEST_LIMITS = {True: 60.0, False: 300.0}  # seconds, of plain Python and of what has to be compiled
_LIMIT_TIMES = 10.0  # as long as tests take without a fault
ENDLESS = "found (did not end)"
UNTESTED = "untested"
KINDS = ("found", ENDLESS, "survived", "explained", UNTESTED)

# A fault may ask for all the memory there is. A job in the background ignores Ctrl-C, and its children would
# too; some tests need the usual answer.
_MOST_MEMORY = 8 << 30
_RUN = f"""
import contextlib, resource, signal, sys
with contextlib.suppress(ValueError, OSError):
    resource.setrlimit(resource.RLIMIT_AS, ({_MOST_MEMORY}, {_MOST_MEMORY}))
import pytest
signal.signal(signal.SIGINT, signal.default_int_handler)

class Failures:
    def pytest_runtest_logreport(self, report):
        if report.failed:
            with open(sys.argv[1], "a", encoding="utf-8") as names:
                print(report.nodeid, file=names)

sys.exit(pytest.main(sys.argv[2:], plugins=[Failures()]))
"""


class ListError(Exception):
    """What is wrong with a list of faults, and where."""


class Fault(NamedTuple):
    """One line that is made wrong.

    where : the list and line that name it
    path : the file, from the root
    number : its number among the faults of the file, from 1
    block : a line that begins the block it is in; empty for the whole file
    text, replacement : a piece of a line, and what stands there instead
    tests : arguments of pytest
    plain : whether kernels are plain Python
    reason : why no test can find it; empty if one has to
    """

    where: str
    path: str
    number: int
    block: str
    text: str
    replacement: str
    tests: tuple[str, ...]
    plain: bool
    reason: str

    @property
    def name(self) -> str:
        return f"{self.path}:{self.number}"


def read_faults(lists: Sequence[Path]) -> list[Fault]:
    """The faults of some lists.

    Raises
    ------
    ListError
        A line is not of the form that the head of this module shows.
    """
    faults: list[Fault] = []
    numbers: dict[str, int] = {}
    for path in lists:
        file, tests, plain, block, text = "", (), False, "", None
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            where = f"{path.name}:{number}"
            mark, _, rest = line.partition(" ")
            if not line.strip() or mark == "#":
                continue
            if mark == "==":
                file, tests, block = rest.strip(), (), ""
            elif mark in ("tests:", "plain:"):
                tests, plain = tuple(shlex.split(rest)), mark == "plain:"
            elif mark == "@":
                block = rest.strip()
            elif mark == "-" and rest and text is None:
                text = rest
            elif mark == "+" and text is not None and file and tests:
                numbers[file] = numbers.get(file, 0) + 1
                faults.append(Fault(where, file, numbers[file], block, text, rest, tests, plain, ""))
                block, text = "", None
            elif mark == "=" and rest and text is None and faults:
                faults[-1] = faults[-1]._replace(reason=rest)
            else:
                raise ListError(f"{where}: {line!r} does not belong here")
        if text is not None:
            raise ListError(f"{path.name}: the last fault has no + line")
    return faults


def plant(source: str, fault: Fault) -> str:
    """The source with the fault.

    Raises
    ------
    ListError
        The text does not occur just once.
    """
    begin, end = 0, len(source)
    if fault.block:
        begin, end = _block(source, fault)
    found = source.count(fault.text, begin, end)
    if found != 1:
        place = f"the block {fault.block!r} of {fault.path}" if fault.block else fault.path
        raise ListError(f"{fault.where}: {fault.text!r} occurs {found} times in {place}, not once")
    if fault.text == fault.replacement:
        raise ListError(f"{fault.where}: the fault changes nothing")
    at = source.index(fault.text, begin, end)
    return source[:at] + fault.replacement + source[at + len(fault.text) :]


def _block(source: str, fault: Fault) -> tuple[int, int]:
    """Where the lines begin and end that are indented below the fault's block line, itself included."""
    lines = source.splitlines(keepends=True)
    heads = [i for i, line in enumerate(lines) if line.strip().startswith(fault.block)]
    if len(heads) != 1:
        raise ListError(
            f"{fault.where}: {len(heads)} lines of {fault.path} begin with {fault.block!r}, not one"
        )
    (head,) = heads
    indent = len(lines[head]) - len(lines[head].lstrip())
    stop = head + 1
    while stop < len(lines):
        text = lines[stop].lstrip()
        # The end of a signature of several lines stands where the block began.
        if text and len(lines[stop]) - len(text) <= indent and not text.startswith(")"):
            break
        stop += 1
    return sum(map(len, lines[:head])), sum(map(len, lines[:stop]))


def changed_files(root: Path, base: str) -> set[str]:
    """The files that differ from a commit, or are new, from the root."""
    found: set[str] = set()
    for command in (["diff", "--name-only", base], ["ls-files", "--others", "--exclude-standard"]):
        done = subprocess.run(["git", *command], cwd=root, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ListError(f"--changed {base}: {done.stderr.strip()}")
        found.update(done.stdout.splitlines())
    return found


class _Done(NamedTuple):
    """A run of pytest: its status, None if it was too slow; the tests that failed; its output; seconds."""

    status: int | None
    failed: tuple[str, ...]
    output: str
    seconds: float

    @property
    def untested(self) -> str:
        """That tests fail which should not, and how; nothing if they pass."""
        return f"{UNTESTED}\nstatus {self.status}:\n{self.output[-3000:]}" if self.status != 0 else ""


def run_faults(
    faults: Sequence[Fault], root: Path, *, time_limit: float | None = None
) -> Iterator[tuple[Fault, str, float]]:
    """Each fault, what became of it, and the seconds that took.

    `found`, perhaps as it did not end, or `survived` and which tests were skipped; or `untested` and what
    pytest says, if its tests fail without it. What is said of a fault again, after all others, holds: the
    tests that found one are run without it together.

    Parameters
    ----------
    faults : sequence of Fault
    root : path
        The tree; it is copied and not changed.
    time_limit : float, optional
        Seconds for each; by default what the head of this module says.

    Raises
    ------
    ListError
        A fault cannot be planted.
    """
    with tempfile.TemporaryDirectory(prefix="faults-") as scratch:
        copy = Path(scratch) / root.name
        ignored = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", "runs", "build", "dist")
        shutil.copytree(root, copy, ignore=ignored, symlinks=True)
        environment = _environment(Path(scratch), copy)
        found: dict[bool, dict[str, list[Fault]]] = {False: {}, True: {}}  # By the test that found it.

        longest = 10.0 * (time_limit or max(_SHORTEST_LIMITS.values()))
        limits: dict[tuple[tuple[str, ...], bool], float] = {}  # Of tests that did not end in the shortest.

        @functools.cache
        def without_fault(tests: tuple[str, ...], plain: bool) -> _Done:
            return _pytest(["-x", *tests], plain, copy, environment, longest)

        for fault in faults:
            began = time.perf_counter()
            called = fault.tests, fault.plain
            limit = time_limit or limits.get(called, _SHORTEST_LIMITS[fault.plain])
            done = _with_fault(fault, copy, environment, limit)
            if done.status is None and time_limit is None and called not in limits:
                limits[called] = max(limit, _LIMIT_TIMES * without_fault(*called).seconds)
                if limits[called] > limit:
                    done = _with_fault(fault, copy, environment, limits[called])
            seconds = time.perf_counter() - began
            if done.status == 0:
                skipped = [line for line in done.output.splitlines() if line.startswith("SKIPPED")]
                yield fault, "\n".join(["survived", *skipped]), seconds
            elif done.status == 1 and done.failed:
                found[fault.plain].setdefault(done.failed[0], []).append(fault)
                yield fault, "found", seconds
            else:
                # Tests are too slow, there are none, a module could not be imported, or the process died.
                untested = without_fault(*called).untested
                yield fault, untested or (ENDLESS if done.status is None else "found"), seconds
        for plain, finders in found.items():
            done = _pytest([*finders], plain, copy, environment, longest) if finders else None
            if done is not None and done.status != 0:
                for test in done.failed or finders:
                    yield from ((fault, done.untested, 0.0) for fault in finders.get(test, []))


def _with_fault(fault: Fault, copy: Path, environment: dict[str, str], time_limit: float) -> _Done:
    """A run of the fault's tests while it is in the copy."""
    path = copy / fault.path
    source = path.read_text(encoding="utf-8")
    path.write_text(plant(source, fault), encoding="utf-8")
    _forget_bytecode(path)
    options = ["-x", "--failed-first", "-o", f"cache_dir={_memories() / _digest(fault)}"]
    try:
        return _pytest([*options, *fault.tests], fault.plain, copy, environment, time_limit)
    finally:
        path.write_text(source, encoding="utf-8")
        _forget_bytecode(path)


def _memories() -> Path:
    """Where pytest remembers which tests found which faults."""
    from scfg_sampler.core import jit

    return jit.cache_directory("scfg_sampler").parent / "faults"


def _digest(fault: Fault) -> str:
    """Another one for other code or other tests."""
    told = [fault.path, fault.block, fault.text, fault.replacement, str(fault.plain), *fault.tests]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]


def _environment(scratch: Path, copy: Path) -> dict[str, str]:
    """For the tests: the code is the copy's, and new kernels are cached in the scratch directory."""
    from scfg_sampler.core import jit

    cache = scratch / "cache"
    cache.mkdir()
    for directory in jit.cache_directory("scfg_sampler").parent.iterdir():
        (cache / directory.name).symlink_to(directory)
    path = os.pathsep.join([str(copy), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, "SCFG_SAMPLER_CACHE": str(cache)}


def _pytest(
    arguments: Sequence[str], plain: bool, copy: Path, environment: dict[str, str], time_limit: float
) -> _Done:
    """A run of pytest."""
    began = time.perf_counter()
    names, log = copy.parent / "failed", copy.parent / "log"
    names.write_text("")
    options = ["-q", "-rs", "--tb=short", *arguments]
    if not any(option.startswith("cache_dir=") for option in options):
        options += ["-p", "no:cacheprovider"]
    with open(log, "wb") as out:
        child = subprocess.Popen(
            [sys.executable, "-c", _RUN, str(names), *options],
            cwd=copy,
            env={**environment, "NUMBA_DISABLE_JIT": "1" if plain else "0"},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status: int | None = child.wait(time_limit)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
    failed = tuple(names.read_text(encoding="utf-8").splitlines())
    seconds = time.perf_counter() - began
    return _Done(status, failed, log.read_text(encoding="utf-8", errors="replace"), seconds)


def _forget_bytecode(path: Path) -> None:
    """What is compiled is known by size and second: two faults may agree in both."""
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()


def _chosen(faults: list[Fault], names: Sequence[str], base: str | None) -> list[Fault]:
    if base is not None:
        changed = changed_files(ROOT, base)
        # Changed tests are to find what they found before.
        faults = [
            fault
            for fault in faults
            if fault.path in changed or any(test.partition("::")[0] in changed for test in fault.tests)
        ]
    for name in names:
        if not any(_is_in(fault, name) for fault in faults) and base is None:
            raise ListError(f"{name}: there is no fault in it; the lists are in {LISTS.relative_to(ROOT)}")
    return [fault for fault in faults if not names or any(_is_in(fault, name) for name in names)]


def _is_in(fault: Fault, name: str) -> bool:
    name = name.rstrip("/")
    return fault.path == name or fault.path.startswith(f"{name}/") or fault.name == name


def main(arguments: Sequence[str] | None = None) -> int:
    """Plant the faults that are asked for; the status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutation", description="Plant faults one at a time; say which no test finds."
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="a file, a folder, or FILE:NUMBER; all by default"
    )
    parser.add_argument("--changed", metavar="BASE", help="only modules and tests that differ from a commit")
    parser.add_argument("--list", action="store_true", help="print the faults and plant none")
    parser.add_argument(
        "--time-limit",
        metavar="S",
        type=float,
        help="seconds for each (default: ten times what its tests take without it, at least 60 where kernels "
        "are plain Python, else 300)",
    )
    options = parser.parse_args(arguments)
    results: dict[Fault, str] = {}
    try:
        faults = _chosen(read_faults(sorted(LISTS.glob("*.txt"))), options.names, options.changed)
        for fault in faults:
            plant((ROOT / fault.path).read_text(encoding="utf-8"), fault)
        if options.list:
            for fault in faults:
                print(f"{fault.name:50}  {fault.text}  →  {fault.replacement}")
            return 0
        for fault, result, seconds in run_faults(faults, ROOT, time_limit=options.time_limit):
            result, _, output = result.partition("\n")
            if fault.reason and result == "survived":
                result = "explained"
            results[fault] = result
            print(f"{result:9} {seconds:6.1f} s  {fault.name}", output, flush=True)
    except (ListError, OSError) as error:
        print(f"tests.mutation: {error}", file=sys.stderr)
        return 2
    counts = [f"{list(results.values()).count(kind)} {kind}" for kind in KINDS]
    print(f"{len(faults)} faults: " + ", ".join(counts))
    wrong = 0
    for fault, result in results.items():
        if result == "survived" or (fault.reason and result in ("found", ENDLESS)):
            wrong = 1
            what = "has a reason to survive, but was found" if fault.reason else "survived"
            print(f"{fault.where}: {fault.name} {what}\n  - {fault.text}\n  + {fault.replacement}")
    return 2 if UNTESTED in results.values() else wrong


if __name__ == "__main__":
    # Whoever ends this also ends the tests it started, and leaves no copy of the tree behind.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    sys.exit(main())
