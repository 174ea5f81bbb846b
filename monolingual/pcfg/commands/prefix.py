"""`pcfg prefix`: probabilities of beginnings, the surprise of each word, words anywhere."""

from __future__ import annotations

import argparse

from monolingual.pcfg.commands import add_grammar_options, read_model_grammar
from scfg_sampler.core import console
from scfg_sampler.errors import SettingsError

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "prefix",
        help="probabilities of beginnings of sentences, surprisal, and words anywhere in them",
        description="Write for each word of each sentence the log probability that a sentence begins so "
        "(Jelinek and Lafferty 1991), and its surprisal in bits, -log2 P(word | words before it); then "
        "the same of the end of the sentence. Columns: sentence and position from 1, word, log probability, "
        "surprisal. With --infix, one number a line: the log probability that the words stand "
        "anywhere in a sentence (Nederhof and Satta 2011), and an empty line for an empty line. All is given "
        "that sentences are finite.",
        epilog="example:\n  scfg-monolingual pcfg prefix grammar.txt --sentences text.txt",
    )
    add_grammar_options(parser)
    parser.add_argument(
        "--sentences", metavar="FILE", default="-", help="one sentence, or part of one, a line"
    )
    parser.add_argument("--output", metavar="FILE", default="-", help="where to")
    parser.add_argument("--next", metavar="N", type=int, help="write the N likeliest next words of each line")
    parser.add_argument(
        "--infix", action="store_true", help="the words stand anywhere, and follow each other"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Compute and write."""
    from monolingual.pcfg.chart_grammar import binarise, chart_weights
    from monolingual.pcfg.prefixes import Prefixes, infix_log_prob
    from monolingual.pcfg.trees import read_sentences
    from scfg_sampler.core.files import atomic_output

    if options.next is not None and (options.next < 1 or options.infix):
        raise SettingsError(f"--next {options.next} must be at least 1, and goes without --infix")
    grammar, probs, _, _ = read_model_grammar(options)
    chart = binarise(grammar)
    weights = chart_weights(chart, probs)
    sentences = read_sentences(options.sentences, grammar, skip_unknown=True, encoding=options.encoding)
    prefixes = Prefixes(grammar, chart, weights, probs)
    if prefixes.log_finite < -1e-9:
        console.say(f"the grammar is not tight: all is divided by exp({prefixes.log_finite:.6f})")
    names = (*grammar.terminals, "?")
    with (
        console.progress("reading", len(sentences.lines)) as advance,
        atomic_output(options.output) as stream,
    ):
        for at in range(len(sentences.lines)):
            words = sentences.words[sentences.start[at] : sentences.start[at + 1]].tolist()
            if options.infix:
                stream.write("\n" * sentences.blank_lines(at))
                stream.write(f"{infix_log_prob(grammar, chart, weights, probs, words):z.6f}\n")
            elif options.next is not None:
                stream.writelines(_next_words(prefixes, words, names, at + 1, options.next))
            else:
                stream.writelines(_surprise(prefixes, words, names, at + 1))
            advance(1, "")
        if options.infix:
            stream.write("\n" * sentences.blank_lines(len(sentences.lines)))


def _surprise(prefixes, words: list[int], names: tuple[str, ...], number: int) -> list[str]:
    """A line for each word of a sentence, and one for its end."""
    import itertools
    import math

    log_probs = [*prefixes.log_probs(words).tolist(), prefixes.log_sentence_prob(words)]
    lines = []
    for at, (before, here) in enumerate(itertools.pairwise(log_probs)):
        bits = (before - here) / math.log(2.0) if before > -math.inf else math.nan
        word = names[words[at]] if at < len(words) else "</s>"
        lines.append(f"{number}\t{at + 1}\t{word}\t{here:z.6f}\t{bits:z.6f}\n")
    return lines


def _next_words(prefixes, words: list[int], names: tuple[str, ...], number: int, most: int) -> list[str]:
    """The likeliest words after a beginning, with their probabilities; the end of the sentence is one."""
    import math

    given = prefixes.log_prob(words)
    if given == -math.inf:
        return []
    log_probs = [(prefixes.log_prob([*words, word]), names[word]) for word in range(len(names) - 1)]
    log_probs.append((prefixes.log_sentence_prob(words), "</s>"))
    ranked = sorted(log_probs, key=lambda entry: (-entry[0], entry[1]))[:most]
    return [
        f"{number}\t{word}\t{math.exp(value - given):.6g}\n" for value, word in ranked if value > -math.inf
    ]
