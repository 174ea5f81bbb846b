"""How what a sweep takes grows with the corpus and with the number of shards.

    python benchmarks/scaling.py SOURCE TARGET ALIGNMENT [--pairs N …] [--shards P …] [--sweeps K]
        [--threads T …] [--workers W …]

For each N, a process of its own samples K sweeps of N pairs made by `copies.py`, in one shard, and then one
more sweep in each number of shards, from the same state. The tasks of the shards are done one after the other
here, as workers would do them; what goes to and fro is counted, not sent. Prints, per sweep,

    sweep_s      processor seconds of all tasks; of one shard, of the sweep
    driver_s     those of the command itself: snapshot, merging, the log joint
    merge_s      of these, adding the changes up
    snapshot_mb  the counts, which go to every worker
    out_mb       derivations, which go to the workers, each its part
    back_mb      derivations and changes, which come back

with what the command holds: all that it has in memory after the sweeps, and of that the derivations, the
restaurants and the corpus. With `--threads` and `--workers`, elapsed seconds of a sweep in four shards on so
many threads or processes, medians of five rounds in turn, as other work on the machine has its ups and downs.
At last the fits q = a N^b by least squares of logarithms.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from copies import write_copies

from scfg_sampler.core.chains.kernel import Kernel
from scfg_sampler.core.cluster import dask_executor
from scfg_sampler.core.executors import InProcess, Result, threads
from scfg_sampler.core.fragments.restaurant import LIVE
from scfg_sampler.core.fragments.shards import Snapshot, merged, restored
from scfg_sampler.corpus.parallel_text import read_corpus
from scfg_sampler.learner.chain import LearnerState, learner_kernel
from scfg_sampler.learner.division import divided
from scfg_sampler.learner.forest_bank import ForestBank, forest_bank
from scfg_sampler.learner.settings import LearnerSettings
from scfg_sampler.learner.shards import ShardResult

_MB = 1e6
_ROUNDS = 5


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs=3, type=Path, metavar="FILE", help="source, target, alignment")
    parser.add_argument("--pairs", type=int, nargs="+", default=[10_000, 25_000, 50_000, 100_000])
    parser.add_argument("--shards", type=int, nargs="+", default=[4, 16, 64, 256])
    parser.add_argument("--threads", type=int, nargs="*", default=[])
    parser.add_argument("--workers", type=int, nargs="*", default=[])
    parser.add_argument("--sweeps", type=int, default=10, metavar="K")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one is not None:
        print(json.dumps(_measured(args)))
        return
    found = []
    for pairs in args.pairs:
        with tempfile.TemporaryDirectory() as folder:
            write_copies(args.files, pairs, Path(folder))
            command = [sys.executable, __file__, *sys.argv[1:], "--one", folder]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found.append(json.loads(done.stdout))
        _print_one(found[-1])
    if len(found) > 1:
        _print_fits(found)


def _print_one(one: dict[str, Any]) -> None:
    """What was found of a corpus."""
    held = ", ".join(f"{name} {one[name] / _MB:.0f} MB" for name in ("corpus", "derivations", "restaurants"))
    print(f"\n{one['pairs']} pairs, {one['types']} rule types: {one['memory'] / _MB:.0f} MB held ({held})")
    names = ("sweep_s", "driver_s", "merge_s", "snapshot_mb", "out_mb", "back_mb")
    print("\t".join(["shards", *names]))
    for shards, row in one["shards"].items():
        print("\t".join([shards, *(f"{row[name]:.3g}" for name in names)]))
    for who, seconds in one["elapsed"].items():
        print(f"{who}: {seconds:.2f} s a sweep, elapsed")
    sys.stdout.flush()


def _print_fits(found: list[dict[str, Any]]) -> None:
    """The growth of everything with the number of pairs."""
    pairs = np.log([one["pairs"] for one in found])
    quantities = {name: [one[name] for one in found] for name in ("types", "memory", "restaurants")}
    for shards, row in found[0]["shards"].items():
        for name in row:
            quantities[f"{name} of {shards} shards"] = [one["shards"][shards][name] for one in found]
    print("\nfit\ta\tb\tat 1 million pairs")
    for name, values in quantities.items():
        if min(values) > 0:
            slope, constant = np.polyfit(pairs, np.log(values), 1)
            at_million = np.exp(constant + slope * np.log(1e6))
            print(f"{name}\t{np.exp(constant):.3g}\t{slope:.3f}\t{at_million:.3g}")


def _measured(args: argparse.Namespace) -> dict[str, Any]:
    """What is found of the corpus in a directory."""
    corpus = read_corpus(args.one / "train.f", args.one / "train.e", args.one / "train.a")
    bank = forest_bank(corpus, LearnerSettings().max_length)
    kernel = learner_kernel(bank, LearnerSettings())
    state, seconds = _swept(kernel, args.sweeps)
    found = {
        "pairs": corpus.num_sentences,
        "types": int(state.restaurants.totals[LIVE]),
        "memory": _memory(),
        "corpus": _size(tuple(getattr(corpus, name) for name in ("source", "target", "links"))),
        "derivations": state.trees.nbytes,
        "restaurants": _size(tuple(state.restaurants)),
        "shards": {"1": dict.fromkeys(("driver_s", "merge_s", "snapshot_mb", "out_mb", "back_mb"), 0.0)},
        "elapsed": _elapsed(bank, state, args.threads, args.workers),
    }
    found["shards"]["1"]["sweep_s"] = seconds
    for shards in args.shards:
        found["shards"][str(shards)] = _in_shards(bank, _copied(state), shards)
    return found


def _swept(kernel: Kernel, sweeps: int) -> tuple[LearnerState, float]:
    """The state after some sweeps, and the processor seconds of the last one."""
    rng = np.random.default_rng(1)
    state, seconds = kernel.init(rng, None), 0.0
    for _ in range(sweeps):
        began = time.process_time()
        state, _ = kernel.step(rng, state)
        seconds = time.process_time() - began
    return state, seconds


class _Counting(InProcess):
    """Does tasks here, and notes their seconds and what would go over a wire for them."""

    is_elsewhere = True

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.seconds, self.shared, self.out, self.back = 0.0, 0, 0, 0
        self.before: list[Snapshot] = []
        self.results: list[ShardResult] = []

    def share(self, value: Any) -> Any:
        self.shared += _size(value)
        if isinstance(value, Snapshot):
            self.before.append(value)
        return value

    def submit(self, function: Callable, /, *arguments: Any) -> Result:
        self.out += sum(_size(each) for each in arguments if isinstance(each, np.ndarray))
        began = time.process_time()
        task = super().submit(function, *arguments)
        self.seconds += time.process_time() - began
        self.back += _size(task.result())
        self.results.append(task.result())
        return task


def _in_shards(bank: ForestBank, state: LearnerState, shards: int) -> dict[str, float]:
    """What a sweep takes in so many shards."""
    executor = _Counting()
    settings = LearnerSettings(shards=shards)
    kernel = learner_kernel(bank, settings, divided(bank, settings, executor))
    executor.clear()  # Of what is shared once.
    rng = np.random.default_rng(2)
    began = time.process_time()
    kernel.step(rng, state)
    whole = time.process_time() - began
    before = restored(executor.before)
    began = time.process_time()
    merged(rng, before, [result.changes for result in executor.results])
    return {
        "sweep_s": executor.seconds,
        "driver_s": whole - executor.seconds,
        "merge_s": time.process_time() - began,
        "snapshot_mb": executor.shared / _MB,
        "out_mb": executor.out / _MB,
        "back_mb": executor.back / _MB,
    }


def _elapsed(
    bank: ForestBank, state: LearnerState, thread_counts: list[int], worker_counts: list[int]
) -> dict[str, float]:
    """Elapsed seconds of a sweep by each number of threads and of workers; medians of rounds in turn."""
    settings = LearnerSettings(shards=4)
    with contextlib.ExitStack() as stack:
        executors = {f"{n} threads": stack.enter_context(threads(n)) for n in thread_counts}
        executors |= {f"{n} workers": stack.enter_context(dask_executor(n, None)) for n in worker_counts}
        kernels = {
            who: learner_kernel(bank, settings, divided(bank, settings, each))
            for who, each in executors.items()
        }
        seconds: dict[str, list[float]] = {who: [] for who in kernels}
        for _ in range(1 + _ROUNDS):
            for who, kernel in kernels.items():
                copied = _copied(state)
                began = time.perf_counter()
                kernel.step(np.random.default_rng(3), copied)
                seconds[who].append(time.perf_counter() - began)
    # In the first round workers load what they run.
    return {who: float(np.median(each[1:])) for who, each in seconds.items()}


def _copied(state: LearnerState) -> LearnerState:
    """A state that shares nothing with another."""
    restaurants = type(state.restaurants)(*(array.copy() for array in state.restaurants))
    return state._replace(trees=state.trees.copy(), restaurants=restaurants)


def _size(value: Any) -> int:
    """Bytes of the arrays of a value."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    return sum(map(_size, value)) if isinstance(value, tuple | list) else 0


def _memory() -> int:
    """Resident bytes, now."""
    with open("/proc/self/statm") as stream:
        return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
