"""The commands of `scfg-monolingual dmv`, one module each."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from monolingual.dmv.punctuation import AUTOMATIC, TAG_SETS, named_tags, recognise
from scfg_sampler.core import console, parsers
from scfg_sampler.core.files import PathLike

__all__ = ["COMMANDS", "add_checkpoint_option", "add_parser", "add_treebank_options", "read"]

COMMANDS: tuple[str, ...] = ("train", "resume", "parse", "evaluate", "simulate", "covariances", "report")
"""Modules of this package, in the order of the help."""
_COLUMN = "xpos"


def add_parser(subparsers) -> None:
    """Add the model and its commands."""
    parser: parsers.Parser = subparsers.add_parser(
        "dmv",
        help="dependency trees over tags, learnt without trees",
        description="The dependency model with valence, with logistic normal priors (Cohen, Gimpel and Smith "
        "2008) and others: learnt from tagged sentences, used to parse, and evaluated.",
        epilog="example:\n  scfg-monolingual dmv train train.conllu --output model.txt\n"
        "  scfg-monolingual dmv evaluate model.txt test.conllu",
    )
    parsers.add_commands(parser, __name__, COMMANDS)


def add_treebank_options(parser: argparse.ArgumentParser) -> None:
    """Add how treebanks are read, and --quiet."""
    parser.add_argument(
        "--tags", choices=("xpos", "upos"), default=_COLUMN, help="which column of CoNLL files"
    )
    parser.add_argument(
        "--punctuation",
        metavar="TAGS",
        default=AUTOMATIC,
        help="tags, of either column, of words to be removed from CoNLL files, separated by commas, or by "
        f"spaces if the comma is one of them; or a tag set ({', '.join(TAG_SETS)}); '' for none (default: "
        "the tag set is recognised)",
    )
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")


def add_checkpoint_option(parser: argparse.ArgumentParser) -> None:
    """Add --checkpoint-every."""
    parser.add_argument(
        "--checkpoint-every",
        metavar="K",
        type=int,
        help="rounds; 0: only when stopped (default: by the clock, about once a minute)",
    )


def read(options: argparse.Namespace, path: PathLike, name: str | None = None):
    """The sentences of a treebank, read as the options say; says which tags were taken for punctuation.

    What is said of them begins with a name, which is the path by default.
    """
    from monolingual.dmv.treebank import is_block, read_treebank

    name = str(path) if name is None else name

    def choose(pairs: Sequence[tuple[str, str]]) -> Sequence[str]:
        return _punctuation(options.punctuation, name, pairs)

    sentences = read_treebank(path, column=options.tags, punctuation=choose)
    if not is_block(sentences[0]):
        _warn_of_idle(options, name)
        _warn_of_columns(name, sentences)
    return sentences


def _punctuation(option: str, name: str, pairs: Sequence[tuple[str, str]]) -> Sequence[str]:
    """The tags of punctuation in a file of ten columns."""
    if option != AUTOMATIC:
        named = named_tags(option)
        occurring = {tag for pair in pairs for tag in pair}
        if named and not occurring.intersection(named):
            console.warn(
                f"{name}: no word has a tag of --punctuation ({' '.join(named)}), so that none is left out"
            )
        return named
    found = recognise(pairs)
    if found.punctuation:
        title = f"{found.title} tags" if found.title else "tags of no set that is known"
        console.say(f"{name}: {title}; punctuation, left out: {' '.join(found.punctuation)}")
    elif found.title:
        console.say(f"{name}: {found.title} tags, none of them punctuation")
    elif pairs:
        console.warn(
            f"{name}: no tag is recognised as punctuation, so that none is left out; "
            "name them with --punctuation"
        )
    return found.punctuation


def _warn_of_idle(options: argparse.Namespace, name: str) -> None:
    """Warn of what is said of ten columns where there are three."""
    for option, is_given in (
        ("--tags", options.tags != _COLUMN),
        ("--punctuation", options.punctuation != AUTOMATIC),
    ):
        if is_given:
            console.warn(f"{name}: {option} does nothing with three columns, which are taken as they are")


def _warn_of_columns(name: str, sentences) -> None:
    """Warn of punctuation in three columns, where it stays."""
    found = recognise([(tag, tag) for sentence in sentences for tag in sentence.tags])
    if found.punctuation:
        console.warn(
            f"{name}: the tags {' '.join(found.punctuation)} look like punctuation, which is left out of "
            "CoNLL files alone; three columns are taken as they are"
        )
