"""`pcfg simulate`: trees drawn from a grammar."""

from __future__ import annotations

import argparse

from monolingual.pcfg.commands import add_grammar_options
from scfg_sampler.core import console

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "simulate",
        help="trees drawn from a grammar",
        description="Draw trees from a grammar, given that they are finite if the grammar is not tight.",
        epilog="example:\n  scfg-monolingual pcfg simulate grammar.txt --samples 1000 --output trees.txt",
    )
    add_grammar_options(parser)
    parser.add_argument("--samples", metavar="N", type=int, default=10, help="how many trees")
    parser.add_argument("--output", metavar="FILE", default="-", help="bracketed trees, one a line")
    parser.add_argument("--yield", dest="words", action="store_true", help="write only the words")
    parser.add_argument(
        "--max-rules", metavar="N", type=int, default=10_000_000, help="give up on trees with more rules"
    )
    parser.add_argument("--seed", metavar="N", type=int, default=1, help="seed of all randomness")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Draw and write."""
    import numpy as np

    from monolingual.pcfg.grammar_text import probabilities, read_grammar
    from monolingual.pcfg.simulate import simulate
    from monolingual.pcfg.tightness import analyse
    from monolingual.pcfg.trees import format_tree, yields
    from scfg_sampler.core.arrays.vocabulary import split_words
    from scfg_sampler.core.files import atomic_output
    from scfg_sampler.core.limits import require_seed
    from scfg_sampler.errors import InputError

    require_seed(options.seed)
    weighted = read_grammar(options.grammar, encoding=options.encoding)
    probs = probabilities(options.grammar, weighted, normalised=options.normalise)
    verdict = analyse(weighted.grammar, probs)
    share = verdict.partition[0]
    if not verdict.tight and share > 0.0:
        console.say(f"the grammar is not tight: trees are drawn from the {share:.6g} that are finite")
    rng = np.random.default_rng(options.seed)
    grammar, trees = simulate(rng, weighted.grammar, probs, options.samples, max_rules=options.max_rules)
    for name in (*grammar.terminals, *grammar.nonterminals):
        if len(split_words(name)) != 1:
            found = f"trees with the symbol {name!r} could not be read again"
            raise InputError(options.grammar, None, found, "Write it without spaces")
    words, start = yields(grammar, trees)
    with atomic_output(options.output) as stream:
        for at in range(options.samples):
            if options.words:
                text = " ".join(grammar.terminals[word] for word in words[start[at] : start[at + 1]])
            else:
                text = format_tree(grammar, trees.rules[trees.start[at] : trees.start[at + 1]])
            stream.write(text + "\n")
