"""Fuzz readers: `python -m tests.fuzz [READER …] --minutes N [--keep DIRECTORY]`.

Each reader gets damaged files until it has had so many minutes of the processor, in rounds, those first that
have had least. Inputs that reach new steps of the project's Python are changed further. Faults are told of
once for each place in the code, the smallest input found is kept in `tests/fuzz/regressions`, which the
ordinary tests read, and the status is 1.

With --keep, a later call goes on with the inputs and the minutes there. With NUMBA_DISABLE_JIT=1 in the
environment kernels run interpreted, and their steps count too.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.fuzz.readers import READERS
from tests.fuzz.rounds import play, record_of


def main() -> int:
    """Fuzz, and say what was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Damaged files for readers.")
    parser.add_argument(
        "readers", metavar="READER", nargs="*", help=f"of {', '.join(READERS)}; all by default"
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=1.0,
        help="of the processor, for each reader, those of earlier calls among them (default: 1)",
    )
    parser.add_argument("--round", type=float, default=2.0, help="minutes of a round (default: 2)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, metavar="DIRECTORY", help="of what is kept for a later call")
    options = parser.parse_args()
    names = options.readers or list(READERS)
    if wrong := set(names) - set(READERS):
        parser.error(f"no such reader: {', '.join(sorted(wrong))}")
    with tempfile.TemporaryDirectory(prefix="scfg-fuzz-") as place:
        keep = (options.keep or Path(place)).resolve()
        while True:
            had = {name: record_of(keep, name)["minutes"] for name in names}
            name = min(names, key=lambda name: had[name])
            left = options.minutes - had[name]
            if left <= 0.001:
                break
            play(name, min(left, options.round), options.seed, keep)
            print(line(keep, name), flush=True)
        print()
        for name in names:
            print(line(keep, name), flush=True)
        return 1 if any(record_of(keep, name)["faults"] for name in names) else 0


def line(keep: Path, name: str) -> str:
    """What is known of a reader."""
    record = record_of(keep, name)
    kept = len(list((keep / name / "corpus").glob("*")))
    return (
        f"{name}: {record['minutes']:.1f} minutes, {record['inputs']} inputs, {kept} kept, "
        f"{record['steps']} steps reached, {len(record['faults'])} faults"
    )


if __name__ == "__main__":
    sys.exit(main())
