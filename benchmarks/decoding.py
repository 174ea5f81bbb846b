"""How fast the decoder is, and what a narrow beam loses.

    python benchmarks/decoding.py --grammar grammar.gz --lm lm.arpa --weights w.json --input test.ja

Prints what loading takes (kernels compiled before), and for every beam and either search sentences and
language-model queries per second of processor time on one thread, the mean model score, and how much of the
best score is lost; then how many times as many sentences a search translates at the score that cube pruning
has with that beam, between two beams by the logarithm of the speed. The searches take turns, sentence by
sentence, so that what else the machine does burdens them alike. Last, by the clock, how much faster two
threads are than one, and the peak memory. A query is a word whose probability a search asks a model for; cube
pruning's of rules' first words, asked for when rules are ranked, are not counted.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from decoder.commands import add_search_options, load_models
from decoder.translation.decoder import Decoder
from decoder.translation.settings import SEARCHES
from decoder.translation.weights import read_weights
from scfg_sampler.core.arrays.vocabulary import split_words
from scfg_sampler.core.files import read_lines
from scfg_sampler.core.streams import in_order


class Row(NamedTuple):
    """A search with a beam: sentences and queries per second of processor time, and the mean score."""

    beam: int
    speed: float
    queries: float
    score: float


def curves(decoders: dict[str, Decoder], sentences: Sequence[list[str]]) -> dict[str, Row]:
    """What each decoder, of one beam, does with the sentences, one after the other and in turns."""
    seconds, scores, queries = (dict.fromkeys(decoders, 0.0) for _ in range(3))
    for words in sentences:
        for name, decoder in decoders.items():
            cpu = time.process_time()
            found = decoder.search(words)
            scores[name] += decoder.best(found).score
            seconds[name] += time.process_time() - cpu
            queries[name] += found.forest.num_queries
    number = len(sentences)
    return {
        name: Row(decoder.beam, number / seconds[name], queries[name] / seconds[name], scores[name] / number)
        for name, decoder in decoders.items()
    }


def speed_at(score: float, rows: Sequence[Row]) -> float:
    """Sentences per second with the beam that has this mean score, between the beams that were tried."""
    ordered = sorted(rows, key=lambda row: row.score)
    log_speeds = np.log([row.speed for row in ordered])
    return float(np.exp(np.interp(score, [row.score for row in ordered], log_speeds)))


def main() -> None:
    """Load, translate with each beam, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_search_options(parser)
    parser.add_argument("--weights", required=True, metavar="W.json")
    parser.add_argument("--input", required=True, metavar="FILE", help="tokenised sentences")
    parser.add_argument("--beams", type=int, nargs="+", default=[50, 100, 200, 400, 2000])
    parser.add_argument("--nbest", type=int, default=100, help="also time lists of so many translations")
    args = parser.parse_args()
    sentences = [words for line in read_lines(args.input) if (words := split_words(line))]
    weights = read_weights(args.weights)

    began, cpu = time.perf_counter(), time.process_time()
    grammar, lms = load_models(args)
    models = (grammar, *lms)
    print(f"loading {time.perf_counter() - began:.2f} s, {time.process_time() - cpu:.2f} s of processor time")
    began = time.perf_counter()
    decoder = Decoder(*models, weights, max_targets=args.max_targets)
    print(f"ranking {time.perf_counter() - began:.2f} s (for every weight vector)")
    began = time.perf_counter()
    decoder.k_best(decoder.search(sentences[0]), 2)
    decoder.translate(sentences[0])
    print(f"first sentence {time.perf_counter() - began:.2f} s (with compilation, if the cache is empty)")

    rows: dict[str, list[Row]] = {name: [] for name in SEARCHES}
    for beam in sorted(args.beams):
        decoder = Decoder(*models, weights, beam=beam, max_targets=args.max_targets, widen=args.widen)
        decoders = {name: decoder.searching(name) for name in SEARCHES}
        for each in decoders.values():
            each.search(sentences[0])
        for name, row in curves(decoders, sentences).items():
            rows[name].append(row)
    best = max(row.score for each in rows.values() for row in each)
    print("search    beam  sentences/s  queries/s  mean score     loss  speed at cube's score")
    for at in range(len(args.beams)):
        for name in SEARCHES:
            row, target = rows[name][at], rows["cube"][at]
            loss = f"{100 * (best - row.score) / abs(best):6.2f} %"
            times = speed_at(target.score, rows[name]) / target.speed
            print(
                f"{name:8s}  {row.beam:4d}  {row.speed:11.1f}  {row.queries / 1e6:7.1f} M  {row.score:10.4f}"
                f"  {loss}  {times:.2f} times cube's"
            )
    decoder = Decoder(*models, weights, beam=args.beam, max_targets=args.max_targets, widen=args.widen)
    decoder = decoder.searching(args.search)
    cpu = time.process_time()
    for words in sentences:
        decoder.k_best(decoder.search(words), args.nbest)
    speed = len(sentences) / (time.process_time() - cpu)
    print(f"lists of {args.nbest} translations at beam {args.beam}: {speed:.1f} sentences/s")
    elapsed = []
    for threads in (1, 2):
        began = time.perf_counter()
        for _ in in_order(decoder.translate, sentences, threads):
            pass
        elapsed.append(time.perf_counter() - began)
    ratio = elapsed[0] / elapsed[1]
    print(f"one thread {elapsed[0]:.2f} s, two threads {elapsed[1]:.2f} s: {ratio:.2f} times as fast")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
