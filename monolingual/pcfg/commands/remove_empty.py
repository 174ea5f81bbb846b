"""`pcfg remove-empty`: a grammar without its empty productions."""

from __future__ import annotations

import argparse

from monolingual.pcfg.commands import add_encoding
from scfg_sampler.core import console

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "remove-empty",
        help="the same distribution over sentences without empty productions",
        description="Take the empty productions out of a grammar, exactly: every sentence with words keeps "
        "its probability, divided by that of having any; that of none is printed. The other commands read no "
        "empty productions. Write them as S -> [0.1], S -> '' [0.1], or with nothing after Johnson's -->.",
        epilog="example:\n  scfg-monolingual pcfg remove-empty grammar.txt --output without.txt",
    )
    parser.add_argument("grammar", metavar="GRAMMAR", help="NLTK's format or Johnson's")
    parser.add_argument("--normalise", action="store_true", help="divide the weights by their sums")
    add_encoding(parser)
    parser.add_argument("--output", metavar="FILE", default="-", help="where to, in NLTK's format")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Read, take out, write."""
    from monolingual.pcfg.empty_rules import without_empty
    from monolingual.pcfg.grammar_text import probabilities, read_grammar, write_grammar

    weighted = read_grammar(options.grammar, empty=True, encoding=options.encoding)
    probs = probabilities(options.grammar, weighted, normalised=options.normalise)
    grammar, kept, nothing = without_empty(options.grammar, weighted.grammar, probs)
    write_grammar(options.output, grammar, kept)
    console.say(f"probability of the sentence without words: {nothing:.10g}")
