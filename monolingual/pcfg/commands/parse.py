"""`pcfg parse`: the best trees of each sentence, their probabilities, how many there are."""

from __future__ import annotations

import argparse

from monolingual.pcfg.commands import add_grammar_options, read_model_grammar
from scfg_sampler.core import console
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import SettingsError

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "parse",
        help="the best trees of each sentence, or how many there are",
        description="Write the most probable tree of each sentence (Viterbi), an empty line for a sentence "
        "that the grammar does not derive and for an empty line. With --probabilities the log probabilities "
        "of the tree and of the sentence stand before it. With --nbest the best K trees follow each other in "
        "lines 'number ||| tree ||| log probability', numbers of lines of the input from 0, which 'tsg train "
        "--nbest-lists' reads; lines without a tree are counted and give none. With --counts the "
        "number of trees is written instead: exact, or 'infinite' where unary rules have a cycle.",
        epilog="examples:\n  scfg-monolingual pcfg parse grammar.txt --sentences text.txt\n"
        "  scfg-monolingual pcfg parse grammar.txt --sentences text.txt --nbest 10",
    )
    add_grammar_options(parser)
    parser.add_argument("--sentences", metavar="FILE", default="-", help="one sentence a line")
    parser.add_argument("--output", metavar="FILE", default="-", help="one bracketed tree a line")
    parser.add_argument("--probabilities", action="store_true", help="write log probabilities as well")
    parser.add_argument("--nbest", metavar="K", type=int, help="write the best K trees of each sentence")
    parser.add_argument("--counts", action="store_true", help="write how many trees each sentence has")
    parser.add_argument("--gold", metavar="TREES", help="gold trees, for unlabelled bracket F1")
    parser.add_argument(
        "--bracket-labels",
        dest="brackets",
        metavar="REGEX",
        default="",
        help="labels of found trees that count",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Parse, write, and score if there is gold."""
    import numpy as np

    if options.brackets and not options.gold:
        raise SettingsError("--bracket-labels chooses what is scored by --gold; give that")
    if options.nbest is not None or options.counts:
        _list_trees(options)
        return
    from monolingual.pcfg.chart import inside_probabilities
    from monolingual.pcfg.chart_grammar import binarise, chart_weights
    from monolingual.pcfg.scores import brackets_of, read_brackets, score
    from monolingual.pcfg.tree_draws import Trees
    from monolingual.pcfg.trees import format_tree, read_sentences
    from monolingual.pcfg.viterbi import best_tree, viterbi_weights
    from scfg_sampler.core.files import atomic_output

    grammar, probs, _, _ = read_model_grammar(options)
    chart = binarise(grammar)
    gold = read_brackets(options.gold, encoding=options.encoding) if options.gold else None
    sentences = read_sentences(options.sentences, grammar, skip_unknown=True, encoding=options.encoding)
    sums = chart_weights(chart, probs)  # Refuses cycles of weight 1 whatever is asked for.
    size = len(sentences.start) - 1
    log_probs = None
    if options.probabilities:  # Their chart takes many times as much memory as best trees do.
        log_probs = inside_probabilities(chart, sums, sentences.words, sentences.start)
    weights = viterbi_weights(chart, probs)
    rules: list[int] = []
    start = [0]
    with (
        console.progress("parsing", size) as advance,
        atomic_output(options.output) as stream,
    ):
        for at in range(size):
            words = sentences.words[sentences.start[at] : sentences.start[at + 1]]
            stream.write("\n" * sentences.blank_lines(at))
            log_weight, tree = best_tree(chart, weights, words)
            before = "" if log_probs is None else f"{log_weight:z.6f}\t{log_probs[at]:.6f}\t"
            stream.write(before + (format_tree(grammar, tree) if tree else "") + "\n")
            rules.extend(tree)
            start.append(len(rules))
            advance(1, "")
        stream.write("\n" * sentences.blank_lines(size))
    failed = int(np.count_nonzero(np.diff(start) == 0))
    if failed:
        console.warn(f"no tree for {failed} of {counted(size, 'sentence')}")
    if gold is not None:
        trees = Trees(np.array(start, np.int64), np.array(rules, np.int32))
        brackets = brackets_of(grammar, trees, options.brackets)
        # Sentences without a tree have no brackets, but words all the same.
        found = score(brackets._replace(lengths=np.diff(sentences.start)), gold)
        console.say(f"precision {found.precision:.4f}, recall {found.recall:.4f}, F1 {found.f1:.4f}")


def _list_trees(options: argparse.Namespace) -> None:
    """Write the best trees of each sentence, or how many it has."""
    from monolingual.pcfg.chart_grammar import binarise
    from monolingual.pcfg.kbest import KBest, count_trees
    from monolingual.pcfg.trees import format_tree, read_sentences
    from scfg_sampler.core.files import atomic_output

    given = (options.nbest is not None, options.counts, options.probabilities, bool(options.gold))
    if sum(given) > 1:
        raise SettingsError("--nbest, --counts, --probabilities and --gold exclude each other")
    grammar, probs, _, _ = read_model_grammar(options)
    chart = binarise(grammar)
    best = None if options.nbest is None else KBest(chart, probs, options.nbest)
    sentences = read_sentences(options.sentences, grammar, skip_unknown=True, encoding=options.encoding)
    failed = 0
    with (
        console.progress("parsing", len(sentences.lines)) as advance,
        atomic_output(options.output) as stream,
    ):
        for at in range(len(sentences.lines)):
            words = sentences.words[sentences.start[at] : sentences.start[at + 1]].tolist()
            if best is None:
                stream.write("\n" * sentences.blank_lines(at))
                count = count_trees(chart, words)
                stream.write(f"{'infinite' if count is None else count}\n")
                failed += count == 0
            else:
                found, number = best.trees(words), sentences.lines[at] - 1
                for log_weight, tree in found:
                    stream.write(f"{number} ||| {format_tree(grammar, tree)} ||| {log_weight:z.6f}\n")
                failed += not found
            advance(1, "")
        if best is None:
            stream.write("\n" * sentences.blank_lines(len(sentences.lines)))
    if failed:
        console.warn(f"no tree for {failed} of {counted(len(sentences.lines), 'sentence')}")
