"""Fuzz readers: `python -m tests.fuzz [READER …] --minutes N`.

Each reader gets damaged files for so many minutes. Faults are told of once for each place in the code, the
smallest input found is kept in `tests/fuzz/regressions`, which the ordinary tests read, and the status is 1.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
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
    options = parser.parse_args()
    failed = 0
    for name in options.readers or READERS:
        failed += fuzz(name, options.minutes, options.seed)
    return 1 if failed else 0


def fuzz(name: str, minutes: float, seed: int) -> int:
    """Fuzz one reader; how many faults it has."""
    reader = READERS[name]
    rng = random.Random(f"{seed} {name}")
    found: dict[str, bytes] = {}
    number, end = 0, time.monotonic() + 60 * minutes
    while time.monotonic() < end:
        content = reader.seeds[number] if number < len(reader.seeds) else mutated(rng, reader.seeds)
        number += 1
        wrong = fault(reader, content)
        if wrong is not None:
            place = wrong.split(" (", 1)[0]
            if place not in found:
                print(f"{name}: {wrong}", flush=True)
            if place not in found or len(content) < len(found[place]):
                found[place] = content
    for content in found.values():
        digest = hashlib.sha256(content).hexdigest()[:12]
        path = REGRESSIONS / name / digest
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    print(f"{name}: {number} inputs, {len(found)} faults", flush=True)
    return len(found)


if __name__ == "__main__":
    sys.exit(main())
