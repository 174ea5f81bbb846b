"""`scfg-decoder query-lm`: the probability of text under a language model."""

from __future__ import annotations

import argparse
import math

from scfg_sampler.core.wording import counted

__all__ = ["add_parser", "run"]

_SUMMED = 20_000  # Lines whose scores are added up exactly, which then are added up.


def add_parser(subparsers) -> None:
    """Add the command to the decoder's parser."""
    parser = subparsers.add_parser(
        "query-lm",
        help="score text with a language model",
        description=(
            "Prints the log10 probability of each line, its end included and its unknown words with the\n"
            "probability of <unk>, and last, after '#', the perplexity per token with and without the\n"
            "unknown words; inf (null in JSON) where that is beyond all numbers."
        ),
        epilog="example:\n  scfg-decoder query-lm en.arpa < test.en",
    )
    parser.add_argument("lm", metavar="LM.arpa", help="an ARPA file, may be gzipped, or one of compile-lm")
    parser.add_argument("--json", action="store_true", help="print only the totals, as a JSON object")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Score the text and print the results."""
    import json
    import sys

    from decoder.lm.model import load_lm, perplexity_of
    from decoder.lm.text_blocks import score_file
    from scfg_sampler.core.console import progress, set_quiet, warn

    set_quiet(options.quiet or sys.stdout.isatty())  # On a terminal the scores show the progress.
    lm, vocabulary = load_lm(options.lm)
    totals = _Total(), _Total()
    tokens = unknown = reserved = 0
    with progress("scoring lines", None) as advance:
        for scores in score_file(lm, vocabulary, "-"):
            if not options.json:
                in_tens = (scores.log_probs / math.log(10)).tolist()
                sys.stdout.write("".join([f"{log_prob:.6f}\n" for log_prob in in_tens]))
            for each, part in zip(totals, (scores.log_probs, scores.unknown_log_probs), strict=True):
                each.add(part.tolist())
            tokens += scores.num_tokens
            unknown += scores.num_unknown
            reserved += scores.num_reserved
            advance(len(scores.log_probs), "")
    total, total_unknown = totals[0].sum(), totals[1].sum()
    if reserved:
        warn(f"words of the text that are <s>, </s> or <unk>, and count as unknown words: {reserved}")
    perplexity = perplexity_of(total, tokens) if tokens else math.nan
    without = perplexity_of(total - total_unknown, tokens - unknown) if tokens else math.nan
    if options.json:
        result = {
            "perplexity": perplexity if math.isfinite(perplexity) else None,
            "perplexity_without_unknown": without if math.isfinite(without) else None,
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


class _Total:
    """A sum of many numbers, in parts of `_SUMMED` that are exact."""

    def __init__(self) -> None:
        self._sum = 0.0
        self._waiting: list[float] = []

    def add(self, numbers: list[float]) -> None:
        """Add more of them."""
        self._waiting += numbers
        while len(self._waiting) >= _SUMMED:
            self._sum += math.fsum(self._waiting[:_SUMMED])
            del self._waiting[:_SUMMED]

    def sum(self) -> float:
        """What all of them come to."""
        return self._sum + math.fsum(self._waiting)
