"""Language models beside KenLM: estimating, compiling and querying, paired in one run.

    python benchmarks/language_models.py TRAIN TEXT --kenlm DIR [--order N] [--times N]

TRAIN is the text that models of the order (3) are estimated from, TEXT the one that is scored; DIR holds
KenLM's lmplz, build_binary and query. Prints for each step the seconds of processor time of our command and
of KenLM's program, each in a process of its own, the least of N times in turns, and how many times as long
ours takes; in brackets without what it takes to say `--version`, Python's own start and the command line's.
Last, how far the scores of the two are apart, which differ where discounts do.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OURS = [sys.executable, "-m", "decoder"]


def cpu(command: list[str], stdin: Path | None = None, stdout: Path | None = None) -> float:
    """Seconds of processor time of a program that succeeds."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    before = os.times()
    with open(stdin or os.devnull, "rb") as source, open(stdout or os.devnull, "wb") as target:
        subprocess.run(
            command, stdin=source, stdout=target, stderr=subprocess.DEVNULL, check=True, env=environment
        )
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("train", type=Path, metavar="TRAIN")
    parser.add_argument("text", type=Path, metavar="TEXT")
    parser.add_argument("--kenlm", type=Path, required=True, metavar="DIR")
    parser.add_argument("--order", default="3", metavar="N")
    parser.add_argument("--times", type=int, default=5, metavar="N")
    args = parser.parse_args()
    train, text = args.train.resolve(), args.text.resolve()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        ours, theirs = place / "ours", place / "theirs"
        lmplz = [str(args.kenlm / "lmplz"), "-o", args.order, "-S", "500M", "-T", folder]
        query = [str(args.kenlm / "query"), "-v", "sentence"]
        steps = {
            "estimate": (
                ([*OURS, "train-lm", str(train), "--order", args.order, "--output", f"{ours}.arpa"],),
                (lmplz, train, Path(f"{theirs}.arpa")),
            ),
            "compile": (
                ([*OURS, "compile-lm", f"{ours}.arpa", "--output", f"{ours}.bin"],),
                ([str(args.kenlm / "build_binary"), f"{theirs}.arpa", f"{theirs}.bin"],),
            ),
            "query the ARPA file": (
                ([*OURS, "query-lm", f"{ours}.arpa"], text, ours),
                ([*query, f"{theirs}.arpa"], text, theirs),
            ),
            "query the compiled file": (
                ([*OURS, "query-lm", f"{ours}.bin"], text, ours),
                ([*query, f"{theirs}.bin"], text, theirs),
            ),
        }
        cpu([*OURS, "--version"])
        start = min(cpu([*OURS, "--version"]) for _ in range(args.times))
        print(f"{'':24} {'ours':>7} {'KenLM':>7}   times KenLM's (without our start)")
        for name, (own, other) in steps.items():
            cpu(*own)  # Kernels are compiled.
            taken = [(cpu(*own), cpu(*other)) for _ in range(args.times)]
            mine, peer = (min(column) for column in zip(*taken, strict=True))
            ratios = f"{mine / max(peer, 0.01):6.1f} ({(mine - start) / max(peer, 0.01):.1f})"
            print(f"{name:24} {mine:7.2f} {peer:7.2f}   {ratios}", flush=True)
        scores = [float(line) for line in ours.read_text().splitlines() if not line.startswith("#")]
        told = [line for line in theirs.read_text().splitlines() if "Total: " in line]
        peers = [float(line.split("Total: ")[1].split()[0]) for line in told[: len(scores)]]
    apart = max(abs(one - other) for one, other in zip(scores, peers, strict=True))
    print(f"scores differ by {apart:.6f} at most; {time.perf_counter() - began:.0f} s by the clock")


if __name__ == "__main__":
    main()
