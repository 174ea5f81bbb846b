"""`scfg-decoder evaluate`: BLEU, chrF and TER."""

from __future__ import annotations

import argparse
from typing import Any

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command to the decoder's parser."""
    parser = subparsers.add_parser(
        "evaluate",
        help="score translations",
        description=(
            "BLEU, chrF and TER (lower is better) by sacrebleu, with the signatures that reproduce them.\n"
            "With --against, also the difference to other translations and its p-value by paired bootstrap\n"
            "resampling."
        ),
        epilog="example:\n  scfg-decoder evaluate --hypothesis out.en --references test.en --against old.en",
    )
    parser.add_argument("--hypothesis", required=True, metavar="H", help="translations, one a line")
    parser.add_argument(
        "--references",
        required=True,
        nargs="+",
        metavar="E",
        help="reference translations; an empty line in a second or later file means no further reference",
    )
    parser.add_argument("--against", metavar="H2", help="translations to compare with")
    parser.add_argument(
        "--tokenize",
        default="none",
        choices=("none", "13a", "intl", "char", "zh"),
        help="how BLEU tokenises; the texts are taken to be tokenised",
    )
    parser.add_argument(
        "--metrics",
        nargs="+",
        default=["bleu", "chrf", "ter"],
        choices=("bleu", "chrf", "ter"),
        metavar="METRIC",
        help="which of bleu, chrf, ter",
    )
    parser.add_argument("--samples", type=int, default=1000, help="samples of the bootstrap")
    parser.add_argument("--seed", type=int, default=12345, help="of the bootstrap")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Score the translations and print a table or a JSON object."""
    import json

    from decoder.evaluate import compare, evaluate, read_references, read_same_length
    from scfg_sampler.core.files import read_lines

    hypotheses = list(read_lines(args.hypothesis))
    references = read_references(args.references, len(hypotheses), args.hypothesis)
    against = read_same_length(args.against, len(hypotheses), args.hypothesis) if args.against else None
    metrics = list(dict.fromkeys(args.metrics))
    scores = evaluate(hypotheses, references, tokenize=args.tokenize, metrics=metrics)
    others, comparisons = {}, {}
    if against is not None:
        others = evaluate(against, references, tokenize=args.tokenize, metrics=metrics)
        comparisons = compare(
            hypotheses,
            against,
            references,
            tokenize=args.tokenize,
            metrics=metrics,
            samples=args.samples,
            seed=args.seed,
        )
    if args.json:
        report: dict[str, Any] = {name: dict(score) for name, score in scores.items()}
        for name, comparison in comparisons.items():
            report[name].update(comparison._asdict(), against=others[name]["score"])
        if comparisons:
            first = next(iter(comparisons.values()))
            report.update(difference=first.difference, p_value=first.p_value)
        print(json.dumps(report, ensure_ascii=False))
        return
    for name, score in scores.items():
        print(f"{score['name']:6} {score['score']:6.2f}  {score['signature']}")
        if name in comparisons:
            found = comparisons[name]
            print(
                f"       {found.difference:+6.2f}  against {others[name]['score']:.2f}, "
                f"p = {found.p_value:.4f} (paired bootstrap, {args.samples} samples, seed {args.seed})"
            )
