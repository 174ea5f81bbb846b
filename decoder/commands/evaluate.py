"""`scfg-decoder evaluate`: BLEU, chrF, TER and exact match."""

from __future__ import annotations

import argparse
import math
import statistics
from typing import Any

from decoder.scoring import TOKENIZERS
from scfg_sampler.core.wording import counted

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command to the decoder's parser."""
    parser = subparsers.add_parser(
        "evaluate",
        help="score translations",
        description=(
            "BLEU, chrF and TER (lower is better) by sacrebleu, with the signatures that reproduce them;\n"
            "for expressions, exact match: the share of lines that are one of their references, both as\n"
            "linearise, with or without --undo, writes them. An empty line is never right.\n"
            "With --against, also the difference to other translations and its p-value by sacrebleu's\n"
            "paired bootstrap, which is close to a one-sided test. Of a system tuned several times, give\n"
            "all translations: their means are compared by a two-sided bootstrap over sentences and tunings."
        ),
        epilog="example:\n  scfg-decoder evaluate --hypothesis out.en --references test.en --against old.en\n"
        "  scfg-decoder evaluate --hypothesis new-[123].en --references test.en --against old-[123].en",
    )
    parser.add_argument(
        "--hypothesis",
        required=True,
        nargs="+",
        action="extend",
        metavar="H",
        help="translations, one a line; several are tunings of one system",
    )
    parser.add_argument(
        "--references",
        required=True,
        nargs="+",
        action="extend",
        metavar="E",
        help="reference translations; an empty line in a second or later file means no further reference",
    )
    parser.add_argument(
        "--against", nargs="+", action="extend", metavar="H2", help="translations to compare with"
    )
    parser.add_argument(
        "--tokenize",
        default="none",
        choices=TOKENIZERS,
        help="how BLEU tokenises; none is for tokenised text, 13a the standard for raw text",
    )
    parser.add_argument(
        "--metrics",
        nargs="+",
        action="extend",
        choices=("bleu", "chrf", "ter", "exact"),
        metavar="METRIC",
        help="which of bleu, chrf, ter, exact (default: the first three)",
    )
    _add_bootstrap(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings")
    parser.set_defaults(run=run)


def _add_bootstrap(parser: argparse.ArgumentParser) -> None:
    """Add the options of the bootstrap."""
    parser.add_argument(
        "--intervals",
        action="store_true",
        help="also where 95 %% of the scores of bootstrap samples lie; of a single hypothesis",
    )
    parser.add_argument(
        "--samples",
        metavar="N",
        type=int,
        default=1000,
        help="samples of the bootstrap, for --against and --intervals; no effect without either",
    )
    parser.add_argument(
        "--seed",
        metavar="N",
        type=int,
        default=12345,
        help="of the bootstrap, for --against and --intervals; by default sacrebleu's, for equal p values",
    )


def run(options: argparse.Namespace) -> None:
    """Score the translations and print a table or a JSON object."""
    import json

    from decoder.scoring.evaluate import compare, compare_tunings, evaluate, read_references, read_same_length
    from scfg_sampler.core.files import read_lines
    from scfg_sampler.errors import SettingsError

    first, *more = options.hypothesis
    if options.intervals and more:
        raise SettingsError("--intervals is for one --hypothesis; of several, their deviation is given")
    hypotheses = [list(read_lines(first))]
    lines = len(hypotheses[0])
    references = read_references(options.references, lines, first)
    hypotheses += [read_same_length(path, lines, first) for path in more]
    against = [read_same_length(path, lines, first) for path in options.against or []]
    how = _how(options)
    drawn = {"samples": options.samples, "seed": options.seed}
    intervals = drawn if options.intervals else {}
    scores = [evaluate(text, references, **how, **intervals) for text in hypotheses]
    others = [evaluate(text, references, **how) for text in against]
    one_each = len(hypotheses) == len(against) == 1
    test = "paired bootstrap" if one_each else "two-sided bootstrap over sentences and tunings"
    comparisons = {}
    if against:
        how |= drawn
        if one_each:
            comparisons = compare(hypotheses[0], against[0], references, **how)
        else:
            comparisons = compare_tunings(hypotheses, against, references, **how)
    if options.json:
        report: dict[str, Any] = {}
        for name, score in scores[0].items():
            mean, deviation, values = _spread(scores, name)
            report[name] = dict(score)
            if more:
                report[name].update(score=mean, deviation=deviation, scores=values)
                report[name].pop("verbose_score", None)
        for name, comparison in comparisons.items():
            report[name].update(comparison._asdict(), against=_spread(others, name)[0], test=test)
        if comparisons:
            shown = next(iter(comparisons.values()))
            report.update(difference=shown.difference, p_value=shown.p_value)
        print(json.dumps(report, ensure_ascii=False))
        return
    for name, score in scores[0].items():
        print(f"{score['name']:6} {_shown(scores, name, 6)}  {score['signature']}")
        if options.intervals:
            middle, half = score["confidence_mean"], score["confidence_var"]
            # Half of the interval's length about the mean: of few sentences that may be beyond all scores.
            most = math.inf if name == "ter" else 100.0
            print(
                f"       {max(0.0, middle - half):.2f} to {min(most, middle + half):.2f} in 95 % of "
                f"{counted(options.samples, 'sample')}"
            )
        if name in comparisons:
            found = comparisons[name]
            print(
                f"       {found.difference:+6.2f}  against {_shown(others, name)}, "
                f"p = {found.p_value:.4f} ({test}, {counted(options.samples, 'sample')}, seed {options.seed})"
            )


def _how(options: argparse.Namespace) -> dict[str, Any]:
    """How translations are scored; by the metrics that are usual unless others are named."""
    named = {"metrics": list(dict.fromkeys(options.metrics))} if options.metrics else {}
    return {"tokenize": options.tokenize, **named}


def _spread(scores: list[dict[str, dict[str, Any]]], name: str) -> tuple[float, float, list[float]]:
    """Mean, standard deviation (0 of one) and values of a metric."""
    values = [score[name]["score"] for score in scores]
    return statistics.mean(values), statistics.stdev(values) if len(values) > 1 else 0.0, values


def _shown(scores: list[dict[str, dict[str, Any]]], name: str, width: int = 0) -> str:
    """A score, or the mean of several with their standard deviation."""
    mean, deviation, values = _spread(scores, name)
    spread = f" ({deviation:.2f}, mean of {len(values)})" if len(values) > 1 else ""
    return f"{mean:{width}.2f}{spread}"
