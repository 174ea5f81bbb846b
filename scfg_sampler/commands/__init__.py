"""The commands of `scfg-sampler`, one module each: `add_parser` and `run`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scfg_sampler.corpus import CorpusFiles

__all__ = ["add_corpus", "corpus_files"]


def add_corpus(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add the options that name a word-aligned corpus; the group, for more of them."""
    corpus = parser.add_argument_group("corpus (tokenised, one sentence a line; .gz is read too)")
    corpus.add_argument("--source", metavar="FILE", required=True, help="source text")
    corpus.add_argument("--target", metavar="FILE", required=True, help="target text")
    corpus.add_argument(
        "--alignment",
        metavar="FILE",
        nargs="+",
        required=True,
        help="word alignment, i-j from 0; given several, every pair counts once under each",
    )
    return corpus


def corpus_files(options: argparse.Namespace) -> CorpusFiles:
    """What the options of `add_corpus` name."""
    from scfg_sampler.corpus import CorpusFiles

    return CorpusFiles(options.source, options.target, tuple(options.alignment))
