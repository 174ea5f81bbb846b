"""The commands of `scfg-sampler`, one module each: `add_parser` and `run`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from scfg_sampler.core import console
from scfg_sampler.core.wording import counted
from scfg_sampler.corpus.span_forms import FORMS, SIDES

if TYPE_CHECKING:
    from scfg_sampler.corpus.parallel_text import CorpusFiles

__all__ = ["add_corpus", "add_labels", "corpus_files"]


def add_corpus(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add the options that name a word-aligned corpus; the group, for more of them."""
    corpus = parser.add_argument_group("corpus (tokenised, one sentence a line; .gz is read too)")
    corpus.add_argument("--source", metavar="FILE", required=True, help="source text")
    corpus.add_argument("--target", metavar="FILE", required=True, help="target text")
    corpus.add_argument(
        "--alignment",
        metavar="FILE",
        nargs="+",
        action="extend",
        required=True,
        help="word alignment, i-j from 0; given several, every pair counts once under each, and sentences "
        "are numbered on: all pairs under the first alignment, then all under the second, …",
    )
    return corpus


def add_labels(corpus: argparse._ArgumentGroup) -> None:
    """Add the options that name labels of the spans of a corpus."""
    corpus.add_argument(
        "--labels",
        metavar="FILE",
        help="labels of spans, a line for each pair: nonterminals are called by the labels of what they "
        "cover, X where there is none",
    )
    corpus.add_argument(
        "--labels-form",
        choices=FORMS,
        default="spans",
        help="of the lines: 0-2:NP 2-5:VP …; a class for every word, whose first and last make the label; or "
        "a tree in brackets, whose constituents make labels as in SAMT (default: spans)",
    )
    corpus.add_argument(
        "--labels-side", choices=SIDES, default="target", help="whose spans they are (default: target)"
    )


def corpus_files(options: argparse.Namespace) -> CorpusFiles:
    """What the options of `add_corpus` name; warns of what is named twice, and of labels that are missing."""
    from scfg_sampler.corpus.parallel_text import CorpusFiles

    of_labels = (getattr(options, "labels_form", "spans"), getattr(options, "labels_side", "target"))
    if of_labels != ("spans", "target") and not options.labels:
        console.warn("--labels-form and --labels-side do nothing without --labels: all are X")
    for path in dict.fromkeys(path for path in options.alignment if options.alignment.count(path) > 1):
        console.warn(f"{path} is named {counted(options.alignment.count(path), 'time')}, and counts as often")
    return CorpusFiles(options.source, options.target, tuple(options.alignment))
