"""How fast trees of a treebank are sampled, and sentences parsed.

    python benchmarks/tsg.py trees.mrg

Prints processor time of one thread, kernels compiled before: node updates per second of single-site sweeps
with fixed and with learnt hyperparameters, of a round of type-based moves and of whole-tree proposals;
sentences of at most --max-length words per second with mpd; the most memory taken.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from monolingual.tsg.corpus import gather
from monolingual.tsg.fragments import production_fragments, seated_fragments
from monolingual.tsg.grammar import flatten, fragment_weights
from monolingual.tsg.parser import Parser
from monolingual.tsg.preparation import Preparation
from monolingual.tsg.sampler import TsgStart, TsgState, tsg_kernel
from monolingual.tsg.settings import Sources, TsgSettings
from monolingual.tsg.treebank import Treebank, build_treebank
from monolingual.tsg.trees import leaves


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trees", metavar="TREES", help="bracketed trees")
    parser.add_argument("--sweeps", type=int, default=20, help="before and during each measurement")
    parser.add_argument("--sentences", type=int, default=200, help="to parse")
    parser.add_argument("--max-length", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = np.random.default_rng(args.seed)
    (trees, _, _), _ = gather(Sources(args.trees), Preparation())
    treebank = build_treebank(trees)
    print(f"{len(trees)} trees, {len(treebank.label)} nodes, {len(treebank.productions.lhs)} productions")
    fixed = {"concentration": 100.0, "stop": 0.5}
    state = measure(rng, treebank, "single-site", args.sweeps, TsgSettings(moves=("single",), **fixed))
    state = measure(rng, treebank, "single-site, learnt", args.sweeps, TsgSettings(moves=("single",)))
    measure(rng, treebank, "type-based", 2, TsgSettings(moves=("type",), type_every=1, **fixed), state)
    measure(rng, treebank, "whole trees", 2, TsgSettings(moves=("block",), **fixed), state)
    measure_parsing(rng, treebank, state, [s for s in map(leaves, trees) if len(s) <= args.max_length], args)
    print(f"memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def measure(
    rng: np.random.Generator,
    treebank: Treebank,
    name: str,
    sweeps: int,
    settings: TsgSettings,
    start: TsgState | None = None,
) -> TsgState:
    """Print the node updates per second of some sweeps; the state after them."""
    kernel = tsg_kernel(treebank, settings)
    state = kernel.init(rng, None if start is None else TsgStart(start.trees.copy(), start.expand))
    state, _ = kernel.step(rng, state)
    for _ in range(sweeps if start is None else 0):
        state, _ = kernel.step(rng, state)
    began = time.process_time()
    for _ in range(sweeps):
        state, _ = kernel.step(rng, state)
    seconds = (time.process_time() - began) / sweeps
    rate = len(treebank.label) / seconds / 1e6
    print(f"{name:22}{seconds:8.3f} s a sweep, {rate:6.2f} million nodes a second")
    return state


def measure_parsing(
    rng: np.random.Generator,
    treebank: Treebank,
    state: TsgState,
    sentences: list[list[str]],
    args: argparse.Namespace,
) -> None:
    """Print the sentences parsed per second."""
    found, _ = seated_fragments(treebank, state.restaurants, state.trees)
    labels = treebank.productions.labels
    concentration = dict(zip(labels, state.restaurants.strength.tolist(), strict=True))
    stop = dict(zip(labels, (1.0 - state.expand).tolist(), strict=True))
    trees, weights = fragment_weights(found, production_fragments(treebank), "pcfg", concentration, stop)
    roots = {labels[label]: 1.0 for label in set(treebank.label[treebank.node_start[:-1]].tolist())}
    ready = Parser(flatten(trees, weights), trees, weights, concentration, roots)
    ready.parse(rng, sentences[0], "mpd")
    chosen = [sentences[k] for k in rng.permutation(len(sentences))[: args.sentences]]
    began = time.process_time()
    for words in chosen:
        ready.parse(rng, words, "mpd")
    seconds = time.process_time() - began
    print(f"parsing, mpd          {len(chosen) / seconds:8.1f} sentences a second")


if __name__ == "__main__":
    main()
