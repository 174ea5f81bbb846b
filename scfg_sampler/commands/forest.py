"""`forest`: phrase decomposition forests as JSON."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from scfg_sampler.commands import add_corpus, corpus_files
from scfg_sampler.core import console
from scfg_sampler.core.files import atomic_output
from scfg_sampler.core.wording import counted
from scfg_sampler.learner.settings import CHOICES, LONGEST_SENTENCE, LearnerSettings

if TYPE_CHECKING:
    from scfg_sampler.corpus.parallel_text import CorpusFiles, ParallelCorpus
    from scfg_sampler.forest.explicit import ForestBuilder
    from scfg_sampler.learner.pair_posteriors import LastState

__all__ = ["add_parser", "run"]

_MANY_EDGES = 1_000_000
"""Of forests with more, those who wait are told."""
_BYTES_OF_AN_EDGE = 650


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "forest",
        help="write phrase decomposition forests",
        description="Write the phrase decomposition forest of each sentence pair, one JSON object a line: "
        "nodes with their spans, level and number of trees, edges with their minimal rules.",
        epilog="examples:\n  scfg-sampler forest --source train.de --target train.en --alignment train.align "
        "--sentence 0\n  scfg-sampler forest --source train.de --target train.en --alignment train.align "
        "--sentence 0 --format svg --output forest.svg\n  scfg-sampler forest --source train.de --target "
        "train.en --alignment train.align --run run --sentence 0 --format svg --output shaded.svg",
    )
    add_corpus(parser)
    parser.add_argument(
        "--choose",
        choices=CHOICES,
        default=CHOICES[0],
        help="of several alignments one forest, as sample has it, or one for each (none)",
    )
    parser.add_argument(
        "--max-length",
        metavar="N",
        type=int,
        default=LearnerSettings().max_length,
        help="no forests of pairs with more words on a side: they grow with the third power of the length",
    )
    parser.add_argument("--sentence", metavar="K", type=int, help="only this one, counted from 0")
    parser.add_argument(
        "--format", choices=("jsonl", "svg"), default="jsonl", help="JSON, or a picture of one forest"
    )
    parser.add_argument(
        "--phrase",
        metavar="K",
        type=int,
        help="with --format svg, draw this phrase and its own edges alone: the number of a node in the JSON",
    )
    parser.add_argument(
        "--run",
        dest="shades",
        metavar="RUN",
        help="with --format svg, shade phrases by how often this run had them, made of the same texts with "
        "--marginals, and not by the share of all trees",
    )
    parser.add_argument("--output", metavar="FILE", default="-", help="where to; - is standard output")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Write the forests."""
    from scfg_sampler.corpus.parallel_text import read_corpus
    from scfg_sampler.errors import SettingsError
    from scfg_sampler.forest.choice import chosen
    from scfg_sampler.forest.explicit import ForestBuilder, forest_json

    if not 1 <= options.max_length <= LONGEST_SENTENCE:
        legal = f"from 1 to {LONGEST_SENTENCE}"
        raise SettingsError(f"--max-length is {options.max_length}; it must be {legal}")
    files = corpus_files(options)
    corpus = read_corpus(files.source, files.target, *files.alignments)
    if options.shades is not None and options.choose != "none":
        console.warn("--choose does nothing with --run, whose own choice is taken")
    choice = chosen(options.choose, len(files.alignments))
    builder = ForestBuilder(corpus, choice, options.max_length)
    last = None
    if options.shades is not None:
        last = _last_state(files, options)
        builder = ForestBuilder(corpus := last.bank.corpus, last.bank.choice, options.max_length)
    sentences = range(builder.num_sentences)
    if options.sentence is not None:
        if options.sentence not in sentences:
            legal = f"the corpus has sentences 0 to {builder.num_sentences - 1}"
            raise SettingsError(f"--sentence is {options.sentence}; {legal}")
        sentences = range(options.sentence, options.sentence + 1)
    if options.format == "svg":
        _draw(corpus, builder, sentences, options, last)
        return
    if options.phrase is not None:
        raise SettingsError("--phrase is for a picture; add --format svg")
    with (
        atomic_output(options.output) as stream,
        console.progress("forests", len(sentences)) as advance,
    ):
        for sentence in sentences:
            _tell_if_large(builder, sentence)
            reason = builder.skipped(sentence) or "no links"
            stream.write(forest_json(sentence, builder.build(sentence), reason) + "\n")
            advance(1, "")
    if too_long := sum(builder.skipped(sentence) is not None for sentence in sentences):
        has = "has" if too_long == 1 else "have"
        most = f"more than {counted(options.max_length, 'word')} on a side"
        console.warn(
            f"{counted(too_long, 'pair')} {has} {most}, and no forest here; raise --max-length for it"
        )


def _tell_if_large(builder: ForestBuilder, sentence: int) -> None:
    """Say of a forest that takes long, and much memory, how large it is before it is made."""
    edges = builder.count_edges(sentence)
    if edges > _MANY_EDGES:
        room = f"{edges * _BYTES_OF_AN_EDGE / 1e9:,.1f} GB"
        console.warn(
            f"the forest of sentence {sentence} has {edges:,} edges, which take about {room} of memory"
        )


def _last_state(files: CorpusFiles, options: argparse.Namespace) -> LastState:
    """What the run of --run has counted, if it was made of these texts."""
    from scfg_sampler.core.chains.run_directory import require_same_files
    from scfg_sampler.errors import SettingsError
    from scfg_sampler.learner.chains import chain_directories
    from scfg_sampler.learner.pair_posteriors import read_last_state
    from scfg_sampler.learner.run import read_run

    if options.format != "svg":
        raise SettingsError("--run shades a picture; add --format svg")
    chain = chain_directories(options.shades)[0]
    require_same_files(options.shades, files.by_name(), read_run(chain)["corpus"]["sha256"])
    return read_last_state(chain)


def _draw(
    corpus: ParallelCorpus,
    builder: ForestBuilder,
    sentences: range,
    options: argparse.Namespace,
    last: LastState | None,
) -> None:
    """Write the picture of one forest."""
    from scfg_sampler.corpus.parallel_text import pair_words
    from scfg_sampler.errors import InputError, SettingsError
    from scfg_sampler.learner.drawing import draw_forest
    from scfg_sampler.learner.pair_posteriors import tree_shares

    if len(sentences) != 1:
        raise SettingsError("--format svg draws one forest; say which with --sentence, counted from 0")
    sentence = sentences[0]
    if reason := builder.skipped(sentence):
        raise InputError(
            None, None, f"sentence {sentence} has {reason}", "Raise --max-length, or choose another"
        )
    _tell_if_large(builder, sentence)
    forest = builder.build(sentence)
    if forest is None:
        raise InputError(None, None, f"sentence {sentence} has no links, and so no forest", "Choose another")
    if options.phrase is not None and not 0 <= options.phrase < len(forest.trees):
        legal = f"the forest has phrases 0 to {len(forest.trees) - 1}"
        raise SettingsError(f"--phrase is {options.phrase}; {legal}")
    name = f"sentence {sentence}"
    shares = None if last is None else tree_shares(options.shades, last, sentence, forest)
    with atomic_output(options.output) as stream:
        stream.write(draw_forest(*pair_words(corpus, sentence), forest, name, options.phrase, shares))
