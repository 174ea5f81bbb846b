"""`scfg-decoder query-lm`: the probability of text under a language model."""

from __future__ import annotations

import argparse

from scfg_sampler.core.wording import counted

__all__ = ["add_parser", "run"]

_BLOCK = 20_000  # Lines scored at a time.


def add_parser(subparsers) -> None:
    """Add the command to the decoder's parser."""
    parser = subparsers.add_parser(
        "query-lm",
        help="score text with a language model",
        description=(
            "Prints the log10 probability of each line, its end included and its unknown words with the\n"
            "probability of <unk>, and last, after '#', the perplexity per token with and without the\n"
            "unknown words."
        ),
        epilog="example:\n  scfg-decoder query-lm en.arpa < test.en",
    )
    parser.add_argument("lm", metavar="LM.arpa", help="an ARPA file, may be gzipped, or one of compile-lm")
    parser.add_argument("--json", action="store_true", help="print only the totals, as a JSON object")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Score the text and print the results."""
    import itertools
    import json
    import math
    import sys

    from decoder.lm.model import load_lm, score_text
    from scfg_sampler.core.console import progress, set_quiet, warn
    from scfg_sampler.core.files import read_lines

    set_quiet(options.quiet or sys.stdout.isatty())  # On a terminal the scores show the progress.
    lm, vocabulary = load_lm(options.lm)
    lines = read_lines("-")
    total = total_unknown = 0.0
    tokens = unknown = reserved = 0
    with progress("scoring lines", None) as advance:
        while block := list(itertools.islice(lines, _BLOCK)):
            scores = score_text(lm, vocabulary, block)
            if not options.json:
                sys.stdout.writelines(f"{log_prob / math.log(10):.6f}\n" for log_prob in scores.log_probs)
            total += math.fsum(scores.log_probs)
            total_unknown += math.fsum(scores.unknown_log_probs)
            tokens += scores.num_tokens
            unknown += scores.num_unknown
            reserved += scores.num_reserved
            advance(len(block), "")
    if reserved:
        warn(f"words of the text that are <s>, </s> or <unk>, and count as unknown words: {reserved}")
    perplexity = math.exp(-total / tokens) if tokens else None
    without = math.exp((total_unknown - total) / (tokens - unknown)) if tokens else None
    if options.json:
        result = {
            "perplexity": perplexity,
            "perplexity_without_unknown": without,
            "unknown": unknown,
            "tokens": tokens,
            "log10_probability": total / math.log(10),
        }
        print(json.dumps(result))
    elif tokens:
        print(
            f"# perplexity {perplexity:.3f}, {without:.3f} without {unknown} unknown of "
            f"{counted(tokens, 'token')}"
        )
