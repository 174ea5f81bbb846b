"""How fast charts and partition functions are.

    python benchmarks/pcfg.py --sentences tags.txt

Prints processor time of one thread, kernels compiled before: inside, inside and outside, and sampling trees
of all sentences, with a grammar of --nonterminals that has every binary rule, and lexical rules up to --rules
altogether; and the partition function of a random grammar with --partition nonterminals, most of them in one
component. Without --sentences, 5,386 random ones of at most ten words.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from monolingual.pcfg.chart import inside_probabilities
from monolingual.pcfg.chart_grammar import binarise, chart_weights
from monolingual.pcfg.grammar import Grammar, build_grammar, families, num_rules
from monolingual.pcfg.lanes import expected_uses_in_lanes
from monolingual.pcfg.model import Data
from monolingual.pcfg.outside import expected_uses
from monolingual.pcfg.tightness import analyse
from monolingual.pcfg.training import different_strings
from monolingual.pcfg.tree_draws import draw_trees
from monolingual.priors.multinomials import normalise
from scfg_sampler.core.arrays.vocabulary import split_words
from scfg_sampler.core.files import read_lines


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sentences", metavar="FILE", help="sentences, or tags before the first tab")
    parser.add_argument("--max-length", type=int, default=10, help="leave out longer ones")
    parser.add_argument("--nonterminals", type=int, default=10)
    parser.add_argument("--rules", type=int, default=1300)
    parser.add_argument("--partition", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = np.random.default_rng(args.seed)
    rows = read(args, rng)
    grammar = dense_grammar(args.nonterminals, args.rules, sorted({word for row in rows for word in row}))
    ids = {name: at for at, name in enumerate(grammar.terminals)}
    words = np.array([ids[word] for row in rows for word in row], dtype=np.int32)
    start = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    probs = normalise(families(grammar), rng.exponential(size=num_rules(grammar)))
    chart = binarise(grammar)
    weights = chart_weights(chart, probs)
    size = len(start) - 1
    counts = np.zeros(len(probs))
    print(
        f"{size} sentences, {len(words)} words; {len(grammar.nonterminals)} nonterminals, {len(probs)} rules"
    )
    text = different_strings(Data(words, start, counts, 0))
    jobs = {
        "inside": lambda: inside_probabilities(chart, weights, words, start),
        "inside and outside": lambda: expected_uses(chart, weights, text, 0, len(text.times), counts),
        "the same in lanes": lambda: expected_uses_in_lanes(chart, weights, text, 0, len(text.times), counts),
        "sampling": lambda: draw_trees(rng, chart, weights, words, start, 0, size),
    }
    for name, job in jobs.items():
        job()
        print(f"{name:<20}{measured(job):8.3f} CPU s")
    large, large_probs = large_grammar(rng, args.partition)
    analyse(*large_grammar(rng, 100))
    print(f"partition function  {measured(lambda: analyse(large, large_probs)):8.3f} CPU s")


def measured(job) -> float:
    """Processor time of a job."""
    began = time.process_time()
    job()
    return time.process_time() - began


def read(args, rng: np.random.Generator) -> list[list[str]]:
    """The words of every sentence."""
    if not args.sentences:
        lengths = rng.integers(1, args.max_length + 1, size=5386)
        return [[f"t{word}" for word in rng.integers(30, size=length)] for length in lengths]
    rows = [split_words(line.partition("\t")[0]) for line in read_lines(args.sentences)]
    return [row for row in rows if 0 < len(row) <= args.max_length]


def dense_grammar(size: int, rules: int, words: list[str]) -> Grammar:
    """Every binary rule, then for each word in turn one nonterminal after the other that spells it."""
    names = [f"N{a}" for a in range(size)]
    found = [(a, [(b, False), (c, False)]) for a in names for b in names for c in names]
    lexical = [(names[(at + k) % size], [(word, True)]) for k in range(size) for at, word in enumerate(words)]
    return build_grammar(names[0], found + lexical[: max(rules - len(found), len(words))])[0]


def large_grammar(rng: np.random.Generator, size: int) -> tuple[Grammar, np.ndarray]:
    """A random grammar that is not tight, most of it one component."""
    rules = [
        (f"N{a}", [(f"N{b}", False), (f"N{c}", False), (f"t{k}", True)])
        for a in range(size)
        for k, (b, c) in enumerate(rng.integers(size, size=(3, 2)))
    ]
    rules += [(f"N{a}", [("t", True)]) for a in range(size)]
    grammar, _ = build_grammar("N0", rules)
    return grammar, normalise(families(grammar), rng.gamma(0.7, size=len(rules)))


if __name__ == "__main__":
    main()
