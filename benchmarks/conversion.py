"""How long `convert` takes, and how long it would if every rule were spelled by itself.

    python benchmarks/conversion.py TABLE [--formats FORMAT...] [--times N]

TABLE is a table in the native format. Prints, for each decoder's format, seconds of processor time: of the
whole command in a process of its own; of that, in this process, reading the table and writing it; and of
writing it rule by rule, as for a single rule, which gives the same lines. The least of N times, in turns.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from scfg_sampler.formats import DECODERS
from scfg_sampler.formats.conversion import PLAIN, _writer, read_table, write_table
from scfg_sampler.formats.tables import iterate_rules
from scfg_sampler.rules.table import RuleTable


def cpu(function: Callable[[], object]) -> float:
    """Seconds of processor time, children included, that a function takes."""
    before = os.times()
    function()
    after = os.times()
    return sum(after[:4]) - sum(before[:4])


def one_by_one(table: RuleTable, file_format: str, place: Path) -> None:
    """Write the lines of a table, each made by itself."""
    writer = _writer(table.feature_names, file_format, PLAIN, Counter())
    with open(place, "w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(writer.format(rule) + "\n" for rule in iterate_rules(table, writer.order(table)))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", metavar="TABLE")
    parser.add_argument("--formats", nargs="+", choices=DECODERS, default=list(DECODERS))
    parser.add_argument("--times", type=int, default=3, metavar="N")
    args = parser.parse_args()
    began = time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    print("format      command    read   write   rule by rule: write   times as fast")
    with tempfile.TemporaryDirectory() as folder:
        many, single, whole = (Path(folder) / name for name in ("many", "single", "whole"))
        table, _ = read_table(args.table, "native")
        for file_format in args.formats:
            call = [sys.executable, "-m", "scfg_sampler", "convert", args.table, "--to", file_format]
            call += ["--output", str(whole), "--quiet"]
            taken = [
                (
                    cpu(lambda call=call: subprocess.run(call, env=environment, check=True)),
                    cpu(lambda: read_table(args.table, "native")),
                    cpu(lambda to=file_format: write_table(table, many, to)),
                    cpu(lambda to=file_format: one_by_one(table, to, single)),
                )
                for _ in range(args.times)
            ]
            command, read, write, each = (min(column) for column in zip(*taken, strict=True))
            same = sorted(many.read_bytes().splitlines()) == sorted(single.read_bytes().splitlines())
            print(
                f"{file_format:10s} {command:8.2f} {read:7.2f} {write:7.2f} {each:21.2f} {each / write:15.2f}"
                + ("" if same else "   and the lines differ"),
                flush=True,
            )
    print(f"{table.num_rules} rules; {time.perf_counter() - began:.0f} s by the clock")


if __name__ == "__main__":
    main()
