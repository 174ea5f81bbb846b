"""`tsg parse`: sentences to trees with the grammar of a run."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from scfg_sampler.core import console
from scfg_sampler.core.limits import require_number, require_seed
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import SettingsError

if TYPE_CHECKING:
    from monolingual.tsg.learnt import LearntGrammar
    from monolingual.tsg.parser import Parser

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "parse",
        help="parse sentences with a learnt grammar",
        description="Write a tree for every sentence of standard input, words separated by spaces, on a line "
        "of its own; a sentence without words gives an empty line, with --nbest none. Brackets in words are "
        "written -LRB- and -RRB-, as in treebanks.",
        epilog="examples:\n  scfg-monolingual tsg parse run --method mer < sentences.txt > trees.mrg\n"
        "  scfg-monolingual tsg parse run --method mpd --format trees --gold-tags < gold.mrg > trees.mrg",
    )
    parser.add_argument("directory", metavar="RUN", help="run directory of 'tsg train'")
    parser.add_argument("--input", metavar="FILE", default="-", help="instead of standard input; .gz is read")
    parser.add_argument("--output", metavar="FILE", default="-", help="instead of standard output")
    parser.add_argument(
        "--format",
        choices=("words", "trees"),
        default="words",
        help="of the input; of trees, the words count",
    )
    parser.add_argument("--gold-tags", action="store_true", help="take the words' labels from --format trees")
    parser.add_argument(
        "--method",
        choices=("mpd", "mpp", "mer"),
        default="mpd",
        help="most probable derivation, most probable tree, or most expected rules right",
    )
    parser.add_argument("--samples", metavar="N", type=int, default=1000, help="derivations, for mpp and mer")
    parser.add_argument(
        "--nbest",
        metavar="K",
        type=int,
        help="for mpp: up to K trees a sentence, as 'number ||| tree ||| share', numbers of lines, or of "
        "--format trees, from 0, those without words counted",
    )
    parser.add_argument(
        "--average",
        metavar="K",
        type=int,
        help="mean counts of the run's K latest --states; 0: the last state alone (default: all it has kept)",
    )
    parser.add_argument(
        "--model",
        dest="grammar",
        choices=("tsg", "pcfg"),
        default="tsg",
        help="pcfg: the treebank's own productions by relative frequency, as a baseline",
    )
    parser.add_argument("--max-length", metavar="N", type=int, help="give longer sentences flat trees")
    parser.add_argument(
        "--min-share",
        dest="beam",
        metavar="B",
        type=float,
        default=0.0,
        help="leave out what is less probable than this share of the best of its span",
    )
    parser.add_argument("--threads", metavar="N", type=int, default=1, help="sentences at a time")
    parser.add_argument("--seed", metavar="N", type=int, default=1, help="seed of all randomness")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Parse, write, and say how fast."""
    import time
    from concurrent.futures import ThreadPoolExecutor

    import numpy as np

    from monolingual.tsg.learnt import read_grammar
    from monolingual.tsg.preparation import plain_tree, restore_tree, without_orders
    from monolingual.tsg.trees import format_tree
    from scfg_sampler.core.files import atomic_output

    _check(options)
    learnt = read_grammar(options.directory, 0 if options.grammar == "pcfg" else options.average)
    parser = _parser(learnt, options.grammar, options.beam)
    sentences = list(_sentences(options, learnt.preparation.keep_annotation))
    longest = max((len(words) for words, _ in sentences), default=0)
    limit = longest if options.max_length is None else options.max_length
    seeds = np.random.SeedSequence(options.seed).spawn(len(sentences))

    def parse(number: int) -> tuple[list[str], bool]:
        words, tags = sentences[number]
        if not words:
            return [""] if options.nbest is None else [], False
        known = learnt.preparation.words(words)
        tags = learnt.preparation.tags(tags) if tags is not None and options.gold_tags else None
        if len(words) > limit:
            flat = plain_tree(parser.flat_tree(known, tags), learnt.preparation)
            trees, is_flat = [(flat, 0.0)], True
        else:
            trees, is_flat, _ = parser.parse(
                np.random.default_rng(seeds[number]),
                known,
                options.method,
                tags=tags,
                samples=options.samples,
                nbest=options.nbest or 1,
                plain=lambda tree: plain_tree(tree, learnt.preparation),
            )
        lines = []
        for tree, share in trees:
            text = format_tree(restore_tree(tree, without_orders(learnt.preparation), words))
            lines.append(text if options.nbest is None else f"{number} ||| {text} ||| {share:.6g}")
        return lines, is_flat

    began, num_flat = time.process_time(), 0
    with (
        console.progress("parsing", len(sentences)) as advance,
        ThreadPoolExecutor(options.threads) as pool,
        atomic_output(options.output) as stream,
    ):
        for lines, is_flat in pool.map(parse, range(len(sentences))):
            stream.writelines(line + "\n" for line in lines)
            num_flat += is_flat
            advance(1, "")
    seconds = time.process_time() - began
    if num_flat:
        console.warn(f"flat trees of {counted(num_flat, 'sentence')} without a derivation, or too long")
    console.say(
        f"{counted(len(sentences), 'sentence')} in {seconds:.1f} CPU seconds, "
        f"{len(sentences) / max(seconds, 1e-9):.1f} a second"
    )


def _check(options: argparse.Namespace) -> None:
    require_number("threads", options.threads)
    require_seed(options.seed)
    if options.samples < 1:
        raise SettingsError(f"--samples is {options.samples}; it must be at least 1")
    if options.average is not None and options.average < 0:
        raise SettingsError(f"--average is {options.average}; it must be at least 0")
    if options.nbest is not None and options.nbest < 1:
        raise SettingsError(f"--nbest is {options.nbest}; it must be at least 1")
    if options.nbest is not None and options.method != "mpp":
        method = options.method
        raise SettingsError(
            f"--nbest goes with --method mpp, which counts the trees that it draws, and not with {method}"
        )
    if options.average is not None and options.grammar == "pcfg":
        console.warn("--average does nothing with --model pcfg")
    if options.gold_tags and options.format != "trees":
        raise SettingsError("--gold-tags needs --format trees")
    if not 0.0 <= options.beam < 1.0:
        raise SettingsError(f"--min-share is {options.beam:g}; it must be at least 0 and below 1")


def _sentences(
    options: argparse.Namespace, keep_annotation: bool
) -> Iterator[tuple[list[str], list[str] | None]]:
    """Words, and their tags where the input has them; trees are cleaned as those of the training were."""
    from monolingual.tsg.transforms import clean
    from monolingual.tsg.treebank_files import escaped
    from monolingual.tsg.trees import leaves, preterminals, read_trees
    from scfg_sampler.core.arrays.vocabulary import split_words
    from scfg_sampler.core.files import read_lines

    if options.format == "trees":
        for tree, _ in read_trees(options.input):
            kept = tree if keep_annotation else clean(tree)
            yield ([], []) if kept is None else (leaves(kept), preterminals(kept))
        return
    for line in read_lines(options.input):
        yield list(map(escaped, split_words(line))), None


def _parser(learnt: LearntGrammar, grammar: str, beam: float) -> Parser:
    from monolingual.tsg.grammar import flatten, fragment_weights
    from monolingual.tsg.learnt import predictive_counts
    from monolingual.tsg.parser import Parser

    fragments, concentration = predictive_counts(learnt)
    if grammar == "pcfg":
        # With every production as often as in the treebank, next to nothing is left to the base.
        fragments, concentration = [*learnt.productions], dict.fromkeys(concentration, 1e-9)
    trees, weights = fragment_weights(
        fragments, learnt.productions, learnt.settings.base, concentration, learnt.stop
    )
    total = sum(learnt.roots.values())
    roots = {name: count / total for name, count in learnt.roots.items()}
    return Parser(flatten(trees, weights), trees, weights, concentration, roots, beam)
