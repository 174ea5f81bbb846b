"""`classes`: classes of the words of a text, as labels that need no tagger."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from scfg_sampler.core import console
from scfg_sampler.core.wording import counted

if TYPE_CHECKING:
    from scfg_sampler.corpus.word_classes import WordClasses

__all__ = ["add_parser", "run"]

_SHOWN = 8  # Words of a class.


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "classes",
        help="learn classes of words, to label spans with, or for a language model",
        description="Learn classes of the words of a text from which words stand beside which, and write the "
        "class of each word in place of it, as --labels of 'sample' and 'extract' takes them. An empty line "
        "stays empty. The same text has the same classes. --words writes the class of each word besides, for "
        "'scfg-decoder compile-lm'.",
        epilog="example:\n  scfg-sampler classes train.en --number 4 --output train.classes.en\n"
        "  scfg-sampler sample --source train.de --target train.en --alignment train.align --output run \\\n"
        "      --labels train.classes.en --labels-form classes\n"
        "  scfg-sampler classes train.en --number 200 --output train.classes.en --words en.classes",
    )
    parser.add_argument("text", metavar="TEXT", help="tokenised text, one sentence a line; .gz is read too")
    parser.add_argument(
        "--output", metavar="FILE", required=True, help="the classes, a line for each line of the text"
    )
    parser.add_argument(
        "--words", metavar="FILE", help="each word and, behind a tab, its class; the most frequent first"
    )
    parser.writes("--words")
    parser.add_argument(
        "--number",
        metavar="K",
        type=int,
        default=4,
        help="how many classes; spans have up to K·K + K labels then (default: %(default)s)",
    )
    parser.add_argument(
        "--passes",
        metavar="N",
        type=int,
        default=30,
        help="how often every word may move (default: %(default)s)",
    )
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Write the classes, and say which words they have."""
    from scfg_sampler.core.arrays.vocabulary import split_words
    from scfg_sampler.core.files import atomic_output, read_lines, refuse_stream
    from scfg_sampler.corpus.word_classes import learn_classes

    refuse_stream(options.text)
    with console.progress("moving words", None) as advance:
        found = learn_classes(
            map(split_words, read_lines(options.text)),
            options.number,
            passes=options.passes,
            tell=lambda words, moved: advance(words, ""),
            name=str(options.text),
        )
    names = found.names
    with atomic_output(options.output) as out:
        for line in read_lines(options.text):
            out.write(" ".join(names[word] for word in split_words(line)) + "\n")
    if options.words is not None:
        with atomic_output(options.words) as out:
            out.writelines(f"{word}\t{name}\n" for word, name in names.items())
    for line in _table(found):
        console.say(line)
    classes, words = counted(found.number, "class", "classes"), counted(len(found.words), "word")
    console.say(f"{classes} of {words} written to {options.output}")


def _table(found: WordClasses) -> list[str]:
    """A line for each class: its name, how many words it has and how often, and the most frequent ones."""
    rows = [("class", "words", "uses", "such as")]
    for label in range(found.number):
        own = (found.label == label).nonzero()[0]
        words = " ".join(found.words[word] for word in own[:_SHOWN].tolist())
        rows.append((f"C{label + 1}", str(len(own)), str(int(found.uses[own].sum())), words))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return [
        f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]}".rstrip()
        for row in rows
    ]
