"""`dmv evaluate`: attachment accuracy of a model, or of trees, against gold trees."""

from __future__ import annotations

import argparse
import math

from monolingual.dmv.commands import add_treebank_options, read
from scfg_sampler.core.wording import counted

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "evaluate",
        help="attachment accuracy against gold trees",
        description="The share of words with the right head, in percent, for sentences of at most 10, at "
        "most "
        "20, and any number of words, punctuation left out, beside the baselines of attaching each word to "
        "the "
        "next (attach_right) or to the one before (attach_left). The first file is a model, whose parses by "
        "both decoders are evaluated, or a treebank with the same sentences.",
        epilog="examples:\n  scfg-monolingual dmv evaluate model.txt test.conllu\n"
        "  scfg-monolingual dmv evaluate parsed.conllu test.conllu --json",
    )
    parser.add_argument("model", metavar="MODEL|TREES", help="written by dmv train; or trees to evaluate")
    parser.add_argument("data", metavar="GOLD", help="CoNLL-U, CoNLL-X, or three columns: tags, heads, words")
    add_treebank_options(parser)
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object; null is the share of no words"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Evaluate and print."""
    import json

    from monolingual.dmv.commands.parse import warn_of_unknown
    from monolingual.dmv.evaluation import attach_left, attach_right, evaluate
    from monolingual.dmv.model import is_model, read_model
    from monolingual.dmv.parsing import parse
    from scfg_sampler.errors import InputError

    sentences = read(options, options.data)
    gold = [sentence.heads for sentence in sentences]
    if any(len(s.heads) != len(s.tags) for s in sentences):
        raise InputError(options.data, None, "has sentences without heads", "Name a treebank with gold trees")
    trees: dict[str, list] = {}
    if is_model(options.model):
        model = read_model(options.model)
        warn_of_unknown(model, sentences)
        trees = {decoder: parse(model, sentences, decoder) for decoder in ("viterbi", "mbr")}
    else:
        trees["predicted"] = predicted(options, sentences)
    trees["attach_right"] = [attach_right(len(heads)) for heads in gold]
    trees["attach_left"] = [attach_left(len(heads)) for heads in gold]
    found = {name: evaluate(heads, gold) for name, heads in trees.items()}
    if options.json:
        print(json.dumps({name: _plain(rows) for name, rows in found.items()}))
        return
    print(f"{'':<14}{'sentences':<12}{'words':>8}{'directed':>10}{'undirected':>12}{'root':>8}")
    for name, rows in found.items():
        for length, row in rows.items():
            title = length if length == "all" else f"≤ {length}"
            scores = f"{row['directed']:>10.1f}{row['undirected']:>12.1f}{row['root']:>8.1f}"
            print(f"{name:<14}{title:<12}{row['words']:>8}{scores}")


def _plain(rows: dict[str, dict[str, float]]) -> dict[str, dict[str, float | None]]:
    """The accuracies as JSON has them, which knows no NaN: None for shares of no words."""
    return {
        length: {name: None if math.isnan(value) else value for name, value in row.items()}
        for length, row in rows.items()
    }


def predicted(options: argparse.Namespace, sentences) -> list:
    """The heads of another treebank, checked to have the same sentences."""
    from scfg_sampler.errors import InputError

    others = read(options, options.model)
    if len(others) != len(sentences):
        found = f"has {counted(len(others), 'sentence')}, {options.data} has {len(sentences)}"
        raise InputError(options.model, None, found, "Give a parse of the same sentences")
    for number, (other, sentence) in enumerate(zip(others, sentences, strict=True), start=1):
        if len(other.heads) != len(sentence.heads):
            found = (
                f"sentence {number} has {counted(len(other.heads), 'word')} with heads, that of "
                f"{options.data} "
            )
            raise InputError(options.model, None, f"{found}{len(sentence.heads)}", "Do they differ in tags?")
    return [other.heads for other in others]
