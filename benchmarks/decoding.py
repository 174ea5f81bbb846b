"""How fast the decoder is, and what a narrow beam loses.

    python benchmarks/decoding.py --grammar grammar.gz --lm lm.arpa --weights w.json --input test.ja

Prints what loading takes (kernels compiled before), and for every beam sentences and language-model queries
per second of processor time on one thread, the mean model score, and how much of the widest beam's score is
lost; then, by the clock, how much faster two threads are than one, and the peak memory. A query is a word
whose probability the search asks for; those of rules' first words, asked for when rules are ranked, are not
counted.
"""

from __future__ import annotations

import argparse
import resource
import time

from decoder.commands import add_search_options, load_models
from decoder.translation.decoder import Decoder, in_order
from decoder.translation.weights import read_weights
from scfg_sampler.core.arrays.vocabulary import split_words
from scfg_sampler.core.files import read_lines


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

    rows = []
    for beam in sorted(args.beams):
        decoder = Decoder(*models, weights, beam=beam, max_targets=args.max_targets, widen=args.widen)
        cpu = time.process_time()
        score, queries = 0.0, 0
        for words in sentences:
            found = decoder.search(words)
            score += decoder.best(found).score
            queries += found.forest.num_queries
        seconds = time.process_time() - cpu
        rows.append((beam, len(sentences) / seconds, queries / seconds, score / len(sentences)))
    best = rows[-1][3]
    print("beam  sentences/s  queries/s  mean score     loss")
    for beam, speed, rate, score in rows:
        loss = f"{100 * (best - score) / abs(best):6.2f} %"
        print(f"{beam:4d}  {speed:11.1f}  {rate / 1e6:7.1f} M  {score:10.4f}  {loss}")
    decoder = Decoder(*models, weights, beam=args.beam, max_targets=args.max_targets, widen=args.widen)
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
