"""How fast the sampler of Stochastic OT is: truncated normals, sweeps, exact likelihoods, learners.

    python benchmarks/ot.py [TABLEAUX]

Prints millions of truncated-normal draws per second of processor time, alone (one-sided at several cuts,
and in an interval) and as updates of values within whole sweeps, their bounds included; then exact
likelihoods with and without gradients, and trials of the Gradual Learning Algorithm. Kernels are compiled
before anything is timed. Without tableaux, an invented grammar with 20 inputs and 10 constraints is used.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable

import numpy as np

from monolingual.ot.exact import OrderingModel
from monolingual.ot.formats import read_tableaux
from monolingual.ot.gibbs import ot_kernel
from monolingual.ot.gla import GlaSettings, learn
from monolingual.ot.orderings import derive_orderings
from monolingual.ot.settings import OtSettings
from monolingual.ot.tableaux import Row, Tableaux, build_tableaux, token_counts
from scfg_sampler.core import normal_draws
from scfg_sampler.core.jit import kernel


@kernel
def draw_many(rng, low, high, size):
    """The sum of many draws, so that none is left out."""
    total = 0.0
    for _ in range(size):
        total += normal_draws.truncated_normal(rng, 0.0, 1.0, low, high)
    return total


def invented(rng: np.random.Generator) -> Tableaux:
    """Twenty inputs with two or three candidates and ten constraints, 200 tokens each."""
    rows = []
    for form in range(20):
        for output in range(2 + form % 2):
            violations = tuple(rng.integers(0, 2, 10).tolist())
            rows.append(Row(1, str(form), str(output), 100.0, violations))
    return build_tableaux("invented", [f"C{i}" for i in range(10)], rows)


def seconds(function: Callable[[], object]) -> float:
    """Processor time of a call, after one that compiles."""
    function()
    began = time.process_time()
    function()
    return time.process_time() - began


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tableaux", nargs="?", metavar="TABLEAUX")
    parser.add_argument("--draws", type=int, default=5_000_000, metavar="N")
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    for low, high in ((0.0, math.inf), (3.0, math.inf), (8.0, math.inf), (-math.inf, -1.0), (0.5, 1.5)):
        taken = seconds(lambda low=low, high=high: draw_many(rng, low, high, options.draws))
        rate = options.draws / taken / 1e6
        print(f"truncated to ({low:g}, {high:g}): {rate:.1f} million draws per CPU second")

    tableaux = read_tableaux(options.tableaux) if options.tableaux else invented(rng)
    orderings = derive_orderings(tableaux, token_counts(tableaux))
    for name, settings in (
        ("values and means", OtSettings(shifts=0, collapsed=0)),
        ("with two shifts", OtSettings(shifts=2, collapsed=0)),
        ("with fifty collapsed moves", OtSettings(pilot=0)),
    ):
        chain = ot_kernel(orderings, settings)
        state = chain.init(rng, None)

        def sweeps(chain=chain, state=state) -> None:
            for _ in range(200):
                chain.step(rng, state)

        taken = seconds(sweeps)
        rate = 200 * len(state.values) / taken / 1e6
        print(f"sweeps, {name}: {rate:.1f} million updates per CPU second, {taken * 5:.2f} ms a sweep")

    model, size = OrderingModel(tableaux), len(tableaux.constraints)
    mean, deviation = rng.normal(0, 2, size), np.ones(size)
    for name, function in (("probabilities", model.probs), ("with gradient", model.gradient)):
        taken = seconds(lambda function=function: [function(mean, deviation) for _ in range(200)])
        print(f"exact {name} of {len(tableaux.outputs)} candidates: {taken * 5:.3f} ms")
    taken = seconds(lambda: learn(tableaux, GlaSettings(trials=500_000)))
    print(f"Gradual Learning Algorithm: {0.5 / taken:.2f} million trials per CPU second")


if __name__ == "__main__":
    main()
