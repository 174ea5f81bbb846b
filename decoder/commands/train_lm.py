"""`scfg-decoder train-lm`: a language model from text."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterator

from scfg_sampler.core.elsewhere import add_elsewhere, elsewhere

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command to the decoder's parser."""
    parser = subparsers.add_parser(
        "train-lm",
        help="estimate a language model from text",
        description=(
            "Interpolated modified Kneser-Ney estimation; the model is written as ARPA text. The words of\n"
            "TEXT are separated by spaces, one sentence a line; an empty line is a sentence of no words.\n"
            "If a text is too small or too artificial for an order's discounts, fixed ones are used."
        ),
        epilog="example:\n  scfg-decoder train-lm train.en --order 3 --output en.arpa",
    )
    parser.add_argument("text", metavar="TEXT", help="tokenised text, may be gzipped; - for standard input")
    parser.add_argument("--order", type=int, default=3, help="length of the longest n-grams, 1 to 6")
    parser.add_argument("--output", required=True, metavar="LM.arpa", help="gzipped if it ends in .gz")
    parser.add_argument(
        "--prune",
        type=int,
        nargs="+",
        metavar="N",
        help="leave out n-grams seen N times or less: one threshold per order, not decreasing, the first 0; "
        "the last holds for all higher orders (0 0 1 drops trigrams seen once)",
    )
    parser.add_argument(
        "--interpolate-unigrams",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="mix the unigrams with the uniform distribution; otherwise <unk> gets all of that mass",
    )
    parser.add_argument(
        "--memory",
        default="1G",
        metavar="SIZE",
        help="memory for sorting, as in 500M or 4G, beside the vocabulary; what exceeds it is sorted on disk",
    )
    parser.add_argument(
        "--temporary", metavar="DIR", help="where to put files while it works, if not the system's place"
    )
    parser.add_argument(
        "--threads", metavar="N", type=int, default=1, help="parts sorted at a time, of what exceeds --memory"
    )
    add_elsewhere(parser, any_shards=True)
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Estimate the model and write it."""
    from decoder.lm.arpa import write_arpa
    from decoder.lm.counts import encode_text
    from decoder.lm.estimation import estimate_tables, pruning_thresholds
    from scfg_sampler.core.arrays.external import Scratch
    from scfg_sampler.core.console import memory_size, progress, say, set_quiet, warn
    from scfg_sampler.core.executors import threads
    from scfg_sampler.core.files import read_lines

    set_quiet(options.quiet)
    prune = pruning_thresholds(options.order, options.prune or ())
    with contextlib.ExitStack() as stack:
        executor = stack.enter_context(elsewhere(options)) or stack.enter_context(threads(options.threads))
        scratch = stack.enter_context(Scratch(memory_size(options.memory), options.temporary, executor))
        with progress("reading lines", None) as advance:
            text = encode_text(_counted(read_lines(options.text), advance), options.text, scratch)
        if text.num_reserved:
            warn(
                "words of the text that are <s>, </s> or <unk>, and count as unknown words: "
                f"{text.num_reserved}"
            )
        with progress("estimating orders", options.order) as advance:
            model, discounts = estimate_tables(
                text, options.order, scratch, prune=prune, interpolate_unigrams=options.interpolate_unigrams
            )
            advance(options.order, "")
        for n, (ngrams, discount) in enumerate(zip(model.ngrams, discounts, strict=True), start=1):
            amounts = " ".join(f"{amount:.4f}" for amount in discount.amounts)
            say(f"{n}-grams: {len(ngrams)}, discounts {amounts}{' (fixed)' if discount.reason else ''}")
        write_arpa(model, options.output)


def _counted(lines: Iterator[str], advance: Callable[[float, str], None]) -> Iterator[str]:
    """The lines, reported by the thousand."""
    for number, line in enumerate(lines, start=1):
        if number % 1000 == 0:
            advance(1000, "")
        yield line
