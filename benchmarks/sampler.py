"""How fast the learner's sampler is, and how much memory it takes, in processor seconds.

    python benchmarks/sampler.py DATA_DIR SOURCE TARGET [--alignment FILE] [--sweeps N]

DATA_DIR holds train.SOURCE.gz, train.TARGET.gz and the alignment. Kernels are compiled, or loaded, before
anything is timed. Settings are the paper's but for the schedule where it says "full". Prints rule
evaluations, forests, stratified iterations and full sweeps per second, what tracked seating costs, what a
second thread gains (elapsed seconds, the only ones here), and the memory used beyond the corpus.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from scfg_sampler.core.chains.kernel import Kernel
from scfg_sampler.core.executors import threads
from scfg_sampler.corpus.parallel_text import ParallelCorpus, read_corpus
from scfg_sampler.learner.chain import LearnerState, learner_kernel
from scfg_sampler.learner.division import divided
from scfg_sampler.learner.forest_bank import forest_bank
from scfg_sampler.learner.passes import build_forests
from scfg_sampler.learner.settings import LearnerSettings


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path, metavar="DATA_DIR")
    parser.add_argument("source", metavar="SOURCE")
    parser.add_argument("target", metavar="TARGET")
    parser.add_argument("--alignment", metavar="FILE")
    parser.add_argument("--sweeps", type=int, default=100, metavar="N", help="of each long measurement")
    args = parser.parse_args()
    names = args.source, args.target
    alignment = args.alignment or args.directory / f"train.{'-'.join(names)}.eflomal-gdfa.gz"
    corpus = read_corpus(*(args.directory / f"train.{name}.gz" for name in names), alignment)
    print(f"{corpus.num_sentences} sentence pairs, {len(corpus.target)} target words")
    for warm_up in (LearnerSettings(), LearnerSettings(tables="exact"), LearnerSettings(shards=2)):
        _run(corpus, warm_up, 1)

    before = _memory()
    bank = forest_bank(corpus, LearnerSettings().max_length)
    seconds = _seconds(lambda: build_forests(bank.walk), repeats=5)
    print(f"forests per second            {corpus.num_sentences / seconds:12,.0f}")
    kernel = _kernel(corpus, LearnerSettings())
    state, times, evaluations = _chain(kernel, args.sweeps)
    print(f"peak memory beyond the corpus {_memory() - before:12,.0f} MB")
    print(f"{args.sweeps} full sweeps               {sum(times):12.1f} s")
    settled = slice(min(10, args.sweeps // 2), None)
    print(f"one full sweep, median        {1e3 * np.median(times[settled]):12,.0f} ms")
    print(f"a rule evaluation             {1e9 * sum(times[settled]) / sum(evaluations[settled]):12.0f} ns")

    stratified = _run(corpus, LearnerSettings(schedule="stratified"), args.sweeps)
    print(f"{args.sweeps} stratified iterations     {stratified:12.1f} s")

    few = max(3, args.sweeps // 10)
    exact = _kernel(corpus, LearnerSettings(tables="exact"))
    exact_state, _, _ = _chain(exact, few)
    state, estimated_seconds = _next_sweeps(kernel, state, few)
    exact_state, exact_seconds = _next_sweeps(exact, exact_state, few)
    print(f"exact over estimated tables   {exact_seconds / estimated_seconds:12.2f}")

    with threads(2) as executor:
        halves = LearnerSettings(shards=2)
        bank = forest_bank(corpus, halves.max_length)
        shared = learner_kernel(bank, halves, divided(bank, halves, executor))
        shared_state, _, _ = _chain(shared, few)
        began = time.perf_counter()
        _next_sweeps(kernel, state, few)
        middle = time.perf_counter()
        _next_sweeps(shared, shared_state, few)
        print(f"two threads over one          {(middle - began) / (time.perf_counter() - middle):12.2f}")


def _kernel(corpus: ParallelCorpus, settings: LearnerSettings) -> Kernel:
    return learner_kernel(forest_bank(corpus, settings.max_length), settings)


def _chain(kernel: Kernel, sweeps: int) -> tuple[LearnerState, list[float], list[int]]:
    """The state after some sweeps, and each sweep's processor seconds and evaluations."""
    rng = np.random.default_rng(1)
    state = kernel.init(rng, None)
    times, evaluations = [], []
    for _ in range(sweeps):
        began = time.process_time()
        state, info = kernel.step(rng, state)
        times.append(time.process_time() - began)
        evaluations.append(info.evaluations)
    return state, times, evaluations


def _run(corpus: ParallelCorpus, settings: LearnerSettings, sweeps: int) -> float:
    return sum(_chain(_kernel(corpus, settings), sweeps)[1])


def _next_sweeps(kernel: Kernel, state: LearnerState, sweeps: int) -> tuple[LearnerState, float]:
    rng = np.random.default_rng(2)
    began = time.process_time()
    for _ in range(sweeps):
        state, _ = kernel.step(rng, state)
    return state, time.process_time() - began


def _seconds(action: Callable[[], object], repeats: int) -> float:
    action()
    began = time.process_time()
    for _ in range(repeats):
        action()
    return (time.process_time() - began) / repeats


def _memory() -> float:
    """Resident memory in MB, now."""
    with open("/proc/self/statm") as stream:
        return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1024**2


if __name__ == "__main__":
    main()
