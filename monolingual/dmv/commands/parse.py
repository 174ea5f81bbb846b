"""`dmv parse`: the best tree of each sentence."""

from __future__ import annotations

import argparse

from monolingual.dmv.commands import add_treebank_options, read
from scfg_sampler.core import console
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import SettingsError

__all__ = ["DECODER", "add_parser", "run", "some_of", "warn_of_unknown"]

DECODER = "mbr"

_MOST_NAMED = 12
"""Tags that a warning names; treebanks with morphology in their tags have hundreds."""


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "parse",
        help="the best tree of each sentence",
        description="Write sentences in the format they are in, with the heads a model gives them: those of "
        "the "
        "most probable tree, or of the tree with the most right heads to be expected (minimum Bayes risk). "
        "Punctuation is attached to the root. Of three columns, an empty line gives an empty line. Log "
        "probabilities are of the model mixed with a millionth of the uniform distribution.",
        epilog="example:\n  scfg-monolingual dmv parse model.txt test.conllu --output parsed.conllu",
    )
    parser.add_argument("model", metavar="MODEL", help="written by dmv train")
    parser.add_argument("data", metavar="DATA", help="CoNLL-U, CoNLL-X, or three columns: tags, heads, words")
    add_treebank_options(parser)
    parser.add_argument("--decoder", choices=("viterbi", "mbr"), default=DECODER, help="which tree is best")
    parser.add_argument("--output", metavar="FILE", default="-", help="the sentences with their heads")
    parser.add_argument(
        "--posteriors",
        metavar="FILE",
        help="also write, for each sentence, a line of JSON: its log probability, and for each of its words "
        "(punctuation left out) the posterior probability of every head, the root first",
    )
    parser.add_argument(
        "--nbest",
        metavar="K",
        type=int,
        help="write the best K trees of each sentence instead: lines 'number ||| heads ||| log probability', "
        "numbers from 0 of sentences, or of lines of three columns, empty ones counted, "
        "heads among the words that are no punctuation",
    )
    parser.add_argument("--picture", metavar="FILE", help="also draw the tree of a sentence, as SVG")
    parser.add_argument(
        "--sentence", metavar="N", type=int, help="with --picture: which one, from 1 (default: 1)"
    )
    parser.writes("--posteriors", "--picture")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Parse and write."""
    from monolingual.dmv.model import read_model
    from monolingual.dmv.parsing import parse
    from monolingual.dmv.treebank import write_treebank

    if options.sentence is not None and not options.picture:
        raise SettingsError("--sentence says which one --picture draws; give that")
    if options.decoder != DECODER and options.nbest is not None and not options.picture:
        console.warn("--decoder does nothing with --nbest")
    model = read_model(options.model)
    sentences = read(options, options.data)
    warn_of_unknown(model, sentences)
    shown = 1 if options.sentence is None else options.sentence
    if not 1 <= shown <= len(sentences):
        raise SettingsError(f"--sentence is {shown}; there are {len(sentences)}")
    heads = parse(model, sentences, options.decoder)
    if options.nbest is None:
        write_treebank(options.output, sentences, heads)
    else:
        _write_nbest(options, model, sentences)
    if options.picture:
        _draw(options.picture, model, sentences[shown - 1], heads[shown - 1], shown)
    if options.posteriors:
        _write_posteriors(options.posteriors, model, sentences)
    console.say(
        f"{counted(len(sentences), 'sentence')}, {counted(sum(len(s.tags) for s in sentences), 'word')}"
    )


def _write_nbest(options: argparse.Namespace, model, sentences) -> None:
    """The best trees of each sentence, a line each."""
    from monolingual.dmv.parsing import nbest
    from scfg_sampler.core.files import atomic_output

    with (
        console.progress("parsing", len(sentences)) as advance,
        atomic_output(options.output) as stream,
    ):
        for at, trees in enumerate(nbest(model, sentences, options.nbest)):
            number = sentences.number_in_file(at)
            for log_prob, heads in trees:
                stream.write(f"{number} ||| {' '.join(map(str, heads))} ||| {log_prob:z.6f}\n")
            advance(1, "")


def _draw(path: str, model, sentence, heads: list[int], number: int) -> None:
    """Draw the tree of one sentence, with its posteriors."""
    from monolingual.dmv.drawing import draw_arcs
    from monolingual.dmv.parsing import posteriors
    from monolingual.dmv.treebank import shown_words
    from scfg_sampler.core.files import atomic_output

    ((log_prob, arcs),) = posteriors(model, [sentence])
    name = f"sentence {number}, log probability {log_prob:.3f}"
    with atomic_output(path) as stream:
        stream.write(draw_arcs(shown_words(sentence), heads, name=name, posteriors=arcs))


def _write_posteriors(path: str, model, sentences) -> None:
    """A line of JSON for each sentence."""
    import json

    from monolingual.dmv.parsing import posteriors
    from scfg_sampler.core.files import atomic_output

    with atomic_output(path) as stream:
        for sentence, (log_prob, arcs) in zip(sentences, posteriors(model, sentences), strict=True):
            record = {"tags": sentence.tags, "log_probability": log_prob, "heads": arcs.round(9).tolist()}
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")


def warn_of_unknown(model, sentences) -> None:
    """Warn if the model does not know all tags."""
    from monolingual.dmv.parsing import unknown_tags

    if unknown := unknown_tags(model.tags, sentences):
        console.warn(f"the model does not know the tags {some_of(unknown)}; they are parsed as average ones")


def some_of(tags: list[str]) -> str:
    """The first of some tags, and how many others there are."""
    more = f" and {len(tags) - _MOST_NAMED} others" if len(tags) > _MOST_NAMED + 1 else ""
    return ", ".join(tags[:_MOST_NAMED] if more else tags) + more
