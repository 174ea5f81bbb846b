"""How the time and the memory of `extract` grow with the corpus.

    python benchmarks/extraction.py SOURCE TARGET ALIGNMENT [--pairs N …] [--memory SIZE] [--threads N]

For each N, `extract` runs in a process of its own on N pairs made by `copies.py`. Prints seconds, processor
seconds, peak memory, rules, and the bytes of all files that are there at a time, at the most.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from copies import write_copies


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs=3, type=Path, metavar="FILE", help="source, target, alignment")
    parser.add_argument("--pairs", type=int, nargs="+", default=[12500, 25000, 50000, 100000, 200000])
    parser.add_argument("--memory", default="2G", metavar="SIZE")
    parser.add_argument("--threads", default="1", metavar="N")
    args = parser.parse_args()
    print("pairs\tseconds\tcpu_seconds\tpeak_memory_mb\tdisk_mb\trules")
    for pairs in args.pairs:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            write_copies(args.files, pairs, place)
            measure(place, pairs, ["--memory", args.memory, "--threads", args.threads])


def measure(place: Path, pairs: int, options: list[str]) -> None:
    """Run the command and print a line."""
    names = {"--source": "train.f", "--target": "train.e", "--alignment": "train.a", "--output": "table"}
    files = [text for option, name in names.items() for text in (option, str(place / name))]
    command = [sys.executable, "-m", "scfg_sampler", "extract", *files, *options, "--quiet"]
    given = _size(place)
    began = time.perf_counter()
    child = subprocess.Popen(command)
    most = 0
    while True:
        done, status, usage = os.wait4(child.pid, os.WNOHANG)
        if done:
            break
        most = max(most, _size(place) - given)
        time.sleep(0.2)
    if status:
        raise SystemExit(f"{' '.join(command)}: status {os.waitstatus_to_exitcode(status)}")
    seconds = time.perf_counter() - began
    with open(place / "table", "rb") as stream:
        rules = sum(1 for _ in stream) - 1
    cpu = usage.ru_utime + usage.ru_stime
    print(
        f"{pairs}\t{seconds:.1f}\t{cpu:.1f}\t{usage.ru_maxrss / 1024:.0f}\t{most / 1e6:.0f}\t{rules}",
        flush=True,
    )


def _size(place: Path) -> int:
    """Bytes of all files in a directory that are still there when they are looked at."""
    total = 0
    for path in place.rglob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            continue
    return total


if __name__ == "__main__":
    main()
