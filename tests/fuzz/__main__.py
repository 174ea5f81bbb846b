"""Fuzz readers: `python -m tests.fuzz [READER …] --minutes N [--guided]`.

Each reader gets damaged files for so many minutes. Faults are told of once for each place in the code, the
smallest input found is kept in `tests/fuzz/regressions`, which the ordinary tests read, and the status is 1.

With --guided, inputs that reach new branches of the project are changed further (atheris, which has to be
installed: pip install atheris). What is compiled cannot be watched, so kernels run interpreted then.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.mutate import mutated
from tests.fuzz.readers import READERS
from tests.fuzz.trial import fault

REGRESSIONS = Path(__file__).parent / "regressions"


def main() -> int:
    """Fuzz, and say what was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Damaged files for readers.")
    parser.add_argument(
        "readers", metavar="READER", nargs="*", help=f"of {', '.join(READERS)}; all by default"
    )
    parser.add_argument("--minutes", type=float, default=1.0, help="for each reader (default: 1)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--guided", action="store_true", help="by coverage, with atheris; interpreted")
    options = parser.parse_args()
    names = options.readers or list(READERS)
    if not options.guided:
        return 1 if sum(fuzz(name, options.minutes, options.seed) for name in names) else 0
    if len(names) > 1:  # A process for each, which atheris ends.
        again = [sys.executable, "-m", "tests.fuzz", "--minutes", str(options.minutes), "--guided", "--seed"]
        statuses = [subprocess.call([*again, str(options.seed), name]) for name in names]
        return max(statuses)
    if os.environ.get("NUMBA_DISABLE_JIT") != "1":
        os.environ["NUMBA_DISABLE_JIT"] = "1"
        os.execv(sys.executable, [sys.executable, "-m", "tests.fuzz", *sys.argv[1:]])
    guided(names[0], options.minutes, options.seed)
    return 1


class Found:
    """The faults of a reader: one for each place in the code, with the smallest input that shows it."""

    def __init__(self, name: str):
        self.name, self.reader, self.inputs = name, READERS[name], 0
        self._smallest: dict[str, bytes] = {}

    def __len__(self) -> int:
        return len(self._smallest)

    def give(self, content: bytes) -> None:
        """Give the reader an input; what fails is told and kept."""
        self.inputs += 1
        wrong = fault(self.reader, content)
        if wrong is None:
            return
        place = wrong.split(" (", 1)[0]
        before = self._smallest.get(place)
        if before is None:
            print(f"{self.name}: {wrong}", flush=True)
        elif len(content) >= len(before):
            return
        else:
            self._path(before).unlink(missing_ok=True)
        self._smallest[place] = content
        self._path(content).parent.mkdir(parents=True, exist_ok=True)
        self._path(content).write_bytes(content)

    def _path(self, content: bytes) -> Path:
        return REGRESSIONS / self.name / hashlib.sha256(content).hexdigest()[:12]


def fuzz(name: str, minutes: float, seed: int) -> int:
    """Fuzz one reader; how many faults it has."""
    found, rng = Found(name), random.Random(f"{seed} {name}")
    seeds = found.reader.warm()
    end = time.monotonic() + 60 * minutes
    while time.monotonic() < end:
        content = seeds[found.inputs] if found.inputs < len(seeds) else mutated(rng, seeds)
        found.give(content)
    print(f"{name}: {found.inputs} inputs, {len(found)} faults", flush=True)
    return len(found)


def guided(name: str, minutes: float, seed: int) -> None:
    """Fuzz one reader by coverage. Ends the process."""
    import atheris

    found = Found(name)
    with atheris.instrument_imports(include=["scfg_sampler", "decoder", "monolingual"]):
        seeds = found.reader.warm()
    end = time.monotonic() + 60 * minutes

    def change(content: bytes, size: int, number: int) -> bytes:
        rng = random.Random(number)
        return mutated(rng, (content, *seeds) if rng.random() < 0.3 else (content,))[:size]

    def give(content: bytes) -> None:
        if time.monotonic() > end:
            print(f"{name}: {found.inputs} inputs by coverage, {len(found)} faults", flush=True)
            os._exit(1 if len(found) else 0)
        found.give(content)

    with tempfile.TemporaryDirectory() as corpus:
        for number, content in enumerate(seeds):
            (Path(corpus) / str(number)).write_bytes(content)
        options = [f"-seed={seed}", "-max_len=200000", "-timeout=300", "-rss_limit_mb=0", "-verbosity=0"]
        atheris.Setup([sys.argv[0], *options, corpus], give, custom_mutator=change)
        atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
