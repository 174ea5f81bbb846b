"""`scfg-decoder train-ranker`: what chooses among the expressions of a list."""

from __future__ import annotations

import argparse

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command to the decoder's parser."""
    parser = subparsers.add_parser(
        "train-ranker",
        help="learn to choose among the expressions of a list",
        description=(
            "Learns weights for the features of a list's expressions, and of nine more: how likely the\n"
            "words of the sentence, or pieces of them, are, given the expression's symbols, and given its\n"
            "pairs of parent and child; and how likely the symbols are, given the words. Give it whole\n"
            "words, where those of grammars are cut.\n"
            "The lists are made of the training text itself, in parts: of K lists, the first has sentences\n"
            "1, K+1, 2K+1, … by a grammar that was learnt without these, the second 2, K+2, …, and so on,\n"
            "each numbered from 0. So what is learnt of is no better known than what comes later."
        ),
        epilog="example:\n  scfg-decoder train-ranker --source train.en --target train.mr "
        "--expressions model.json \\\n    --lists part.1 part.2 part.3 part.4 part.5 --output ranker.json",
    )
    parser.add_argument("--source", required=True, metavar="F", help="sentences, tokenised")
    parser.add_argument("--target", required=True, metavar="E", help="their expressions in linear form")
    parser.add_argument(
        "--expressions", required=True, metavar="M.json", help="of train-expressions: which names there are"
    )
    parser.add_argument(
        "--lists",
        required=True,
        nargs="+",
        action="extend",
        metavar="L",
        help="two or more lists of translate --nbest",
    )
    parser.add_argument("--output", required=True, metavar="R.json", help="where the ranker goes")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Learn and write."""
    from decoder.commands.train_expressions import read_pairs
    from decoder.expressions.files import read_expressions
    from decoder.expressions.lists import check_features, read_lists, write_ranker
    from decoder.expressions.ranker import train_ranker
    from scfg_sampler.core.console import say, warn
    from scfg_sampler.errors import SettingsError

    number = len(options.lists)
    if number < 2:
        raise SettingsError("--lists has two or more, each of sentences that its grammar was learnt without")
    sources, trees = read_pairs(options.source, options.target)
    names = read_expressions(options.expressions).lexicon.names
    sizes = [len(range(k, len(trees), number)) for k in range(number)]
    lists = [read_lists(path, size) for path, size in zip(options.lists, sizes, strict=True)]
    learnt = {name for each in lists for found in each for one in found for name in one.features}
    for path, found in zip(options.lists, lists, strict=True):
        check_features(path, found, learnt)
    there = 0
    for part, found in enumerate(lists):
        for tree, candidates in zip(trees[part::number], found, strict=True):
            there += any(one.words == tree for one in candidates)
    if there == 0:
        warn("no list has the right expression of its sentence, so the ranker takes the first of each list")
    write_ranker(train_ranker(sources, trees, lists, names), options.output)
    say(f"{there} of {len(trees)} lists have the right expression")
