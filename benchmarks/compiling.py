"""What compiling costs: processor seconds of kernels and of commands, from an empty cache.

    SCFG_SAMPLER_CACHE=DIR python benchmarks/compiling.py [TREE [OTHER]] [--kernels N]

Runs the ten commands of `tests/test_kernel_cache.py` on three sentence pairs, in one process, and prints the
processor seconds for which each of them compiled, those of the N dearest kernels, and how many functions
numba typed and lowered for how many different ones. A kernel's seconds hold those of what it calls, unless
another had it compiled before; so a command's are what those before it have left. Machine code goes to a
directory made in DIR, and is removed. TREE is a copy of the repository, this one if none is said. With a
second one both are measured side by side, in turns of half a second, so that whatever else the machine does
burdens them alike; the ratio is OTHER's seconds over TREE's.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from tests.test_kernel_cache import PIPELINE

HERE = Path(__file__).resolve().parents[1]
TURN = 0.5  # Seconds by the clock.

# Runs the commands and writes down what was compiled: the command, the function, whether it is a kernel,
# seconds of the function with all that was compiled for it, and whether it was compiled for nothing else.
CHILD = """
import json, sys, threading, time
import decoder.cli, scfg_sampler.cli
from scfg_sampler.core import whole

found, command, below = [], [None], threading.local()

def noting(kind):
    plain = kind.compile
    def compile(self, signature):
        known, began, depth = len(self.overloads), time.thread_time(), getattr(below, "depth", 0)
        below.depth = depth + 1
        try:
            return plain(self, signature)
        finally:
            below.depth = depth
            if len(self.overloads) > known:
                name = f"{self.py_func.__module__}.{self.py_func.__qualname__}"
                seconds = time.thread_time() - began
                found.append([command[0], name, kind is whole.KernelDispatcher, seconds, depth == 0])
    kind.compile = compile

def naming(module):
    plain = module.main
    def main(words):
        command[0] = words[0]
        return plain(words)
    module.main = main

noting(whole.KernelDispatcher)
noting(whole.PartDispatcher)
naming(decoder.cli)
naming(scfg_sampler.cli)
namespace = {}
exec(sys.argv[1], namespace)
assert set(namespace["result"]) == {0}, namespace["result"]
with open(sys.argv[2], "w") as file:
    json.dump(found, file)
"""


class Cost(NamedTuple):
    """What a tree compiles: seconds by command and by kernel, functions typed, and different ones of them."""

    commands: Counter
    kernels: Counter
    num_typed: int
    num_different: int


def measured(trees: list[Path]) -> list[Cost]:
    """The cost of compiling the kernels of each tree, in turns."""
    above = os.environ.get("SCFG_SAMPLER_CACHE")
    if above:
        Path(above).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=above) as folder:
        places = [Path(folder) / str(number) for number in range(len(trees))]
        children = [_started(tree, place) for tree, place in zip(trees, places, strict=True)]
        try:
            _take_turns(children)
        finally:
            for child in children:
                child.kill()
                child.wait()
        for child, tree, place in zip(children, trees, places, strict=True):
            if child.returncode != 0:
                sys.exit(f"the commands failed in {tree}: {(place / 'log').read_text()}")
        return [_cost(json.loads((place / "found").read_text())) for place in places]


def _started(tree: Path, place: Path) -> subprocess.Popen:
    place.mkdir()
    words = [sys.executable, "-c", CHILD, textwrap.dedent(PIPELINE), "found"]
    places = {"PYTHONPATH": str(tree), "SCFG_SAMPLER_CACHE": str(place / "cache")}
    with (place / "log").open("wb") as log:
        return subprocess.Popen(
            words, cwd=place, env={**os.environ, **places}, stdout=subprocess.DEVNULL, stderr=log
        )


def _take_turns(children: list[subprocess.Popen]) -> None:
    for child in children[1:]:
        child.send_signal(signal.SIGSTOP)
    running = list(children)
    while running:
        child = running.pop(0)
        child.send_signal(signal.SIGCONT)
        try:
            child.wait(TURN)
        except subprocess.TimeoutExpired:
            if running:
                child.send_signal(signal.SIGSTOP)
            running.append(child)


def _cost(found: list[list]) -> Cost:
    commands: Counter = Counter()
    kernels: Counter = Counter()
    typed: Counter = Counter()
    for command, name, is_kernel, seconds, is_outermost in found:
        if is_outermost:
            commands[command] += seconds
        if is_kernel:
            kernels[name] += seconds
        typed[name] += 1
    return Cost(commands, kernels, typed.total(), len(typed))


def print_costs(costs: list[Cost], num_kernels: int) -> None:
    """Commands in the order in which they ran, then kernels, the dearest first."""
    heads = ["s"] if len(costs) == 1 else ["s", "other s", "ratio"]
    for kind in ("commands", "kernels"):
        seconds: list[Counter] = [getattr(cost, kind) for cost in costs]
        names = (
            list(seconds[0]) if kind == "commands" else [n for n, _ in seconds[0].most_common(num_kernels)]
        )
        print(f"{kind:56}" + "".join(f"{head:>9}" for head in heads))
        for name in names:
            _print_row(name, [each[name] for each in seconds])
    _print_row("all", [cost.commands.total() for cost in costs])
    for cost in costs:
        typed = f"{cost.num_typed} functions typed and lowered, {cost.num_different} different ones"
        print(f"{len(cost.kernels)} kernels; {typed}")


def _print_row(name: str, seconds: list[float]) -> None:
    ratio = f"{seconds[-1] / seconds[0]:9.2f}" if len(seconds) > 1 and seconds[0] else ""
    print(f"{name:56}" + "".join(f"{each:9.2f}" for each in seconds) + ratio)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "trees", nargs="*", type=Path, metavar="TREE", help="copies of the repository, two at most"
    )
    parser.add_argument("--kernels", type=int, default=20, metavar="N", help="print the N dearest ones")
    args = parser.parse_args()
    if len(args.trees) > 2:
        parser.error("two trees at most can be compared")
    began = time.monotonic()
    print_costs(measured([tree.resolve() for tree in args.trees] or [HERE]), args.kernels)
    print(f"{time.monotonic() - began:.0f} s by the clock")


if __name__ == "__main__":
    main()
