"""The commands of `scfg-monolingual pcfg`, one module each."""

from __future__ import annotations

import argparse

from monolingual.pcfg.settings import Handling
from scfg_sampler.core import console, parsers
from scfg_sampler.core.wording import counted

__all__ = [
    "COMMANDS",
    "add_encoding",
    "add_grammar_options",
    "add_handling",
    "add_parser",
    "encoding_of",
    "read_model_grammar",
]

COMMANDS: tuple[str, ...] = (
    "check",
    "sample",
    "resume",
    "compare",
    "report",
    "train",
    "parse",
    "prefix",
    "remove_empty",
    "simulate",
    "induce",
    "dependencies",
)
"""Modules of this package, in the order of the help."""


def add_parser(subparsers) -> None:
    """Add the model and its commands."""
    parser: parsers.Parser = subparsers.add_parser(
        "pcfg",
        help="probabilistic context-free grammars that need not be tight",
        description="PCFGs that need not be tight (Cohen and Johnson 2013): whether a grammar is tight, and "
        "its rule probabilities and trees learnt from trees or sentences, the Bayesian way or by EM.",
        epilog="example:\n  scfg-monolingual pcfg check grammar.txt\n"
        "  scfg-monolingual pcfg sample grammar.txt --sentences text.txt --output run",
    )
    parsers.add_commands(parser, __name__, COMMANDS)


def add_grammar_options(parser: argparse.ArgumentParser) -> None:
    """Add the grammar and how its weights are read, and --quiet."""
    parser.add_argument("grammar", metavar="GRAMMAR", help="NLTK's format (S -> S S [0.4]) or Johnson's")
    parser.add_argument("--normalise", action="store_true", help="divide the weights by their sums")
    add_encoding(parser)
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")


def add_encoding(parser: argparse.ArgumentParser) -> None:
    """Add --encoding."""
    parser.add_argument(
        "--encoding",
        metavar="NAME",
        default="utf-8",
        help="of the grammar, and of sentences and trees where they are read, e.g. latin-1",
    )


def encoding_of(options: argparse.Namespace) -> str:
    """--encoding; runs of versions without it are in UTF-8."""
    return getattr(options, "encoding", "utf-8")


def add_handling(parser: argparse.ArgumentParser) -> None:
    """Add how a run of a sampler is done: what changes nothing of what it samples."""
    handling = Handling()
    parser.add_argument(
        "--threads", metavar="N", type=int, default=handling.threads, help="for 256 sentences and more"
    )
    parser.add_argument(
        "--checkpoint-every",
        metavar="K",
        type=int,
        help="blocks of sweeps; 0: at the end (default: by the clock, about once a minute)",
    )
    parser.add_argument("--check", action="store_true", help="recompute the log joint after every block")


def read_model_grammar(options: argparse.Namespace):
    """The grammar of a command line without useless rules, its probabilities and pseudo-counts.

    Returns
    -------
    (grammar, probs, pseudo_counts, has_weights) : pseudo_counts may be None
    """
    import numpy as np

    from monolingual.pcfg.grammar import families, num_rules, rule_name
    from monolingual.pcfg.grammar_text import probabilities, read_grammar
    from monolingual.pcfg.graph import productive, useful_rules, without_useless
    from monolingual.priors.multinomials import normalise
    from scfg_sampler.errors import InputError

    weighted = read_grammar(options.grammar, encoding=encoding_of(options))
    probs = probabilities(options.grammar, weighted, normalised=options.normalise)
    grammar, pseudo_counts = weighted.grammar, weighted.pseudo_counts
    if not productive(grammar)[0]:
        found = f"no finite tree grows from the start symbol {grammar.nonterminals[0]}"
        raise InputError(options.grammar, None, found, "Give it a rule that ends")
    useful = useful_rules(grammar)
    if not useful.all():
        names = [rule_name(grammar, int(rule)) for rule in np.flatnonzero(~useful)]
        shown = "; ".join(names[:5]) + "; …" * (len(names) > 5)
        console.warn(f"{counted(len(names), 'useless rule is', 'useless rules are')} left out: {shown}")
        grammar, numbers = without_useless(grammar)
        probs = normalise(families(grammar), probs[numbers])
        pseudo_counts = None if pseudo_counts is None else pseudo_counts[numbers]
    assert len(probs) == num_rules(grammar)
    return grammar, probs, pseudo_counts, weighted.weights is not None
