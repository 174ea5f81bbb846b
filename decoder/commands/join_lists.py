"""`scfg-decoder join-lists`: one list of what several systems say of the same sentences."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from decoder.expressions.ranker import Candidate

__all__ = ["add_parser", "run"]

_SHARED = ["LanguageModel", "TargetWords", "ExpressionModel", "SymbolLexicon", "TreeModel"]


def add_parser(subparsers) -> None:
    """Add the command to the decoder's parser."""
    parser = subparsers.add_parser(
        "join-lists",
        help="join lists of several systems, for a ranker",
        description=(
            "Joins lists of the same sentences: each translation is there once, with what every list says\n"
            "of it, the name of the list before the features. Where a list lacks it, its features are the\n"
            "lowest that they are in that list, and NAMEMissing is 1. The order, and the score, is by\n"
            "reciprocal ranks, the sum of 1/(60 + rank) over the lists (Cormack, Clarke and Büttcher 2009).\n"
            "Rankers that learn of joined lists choose among joined lists."
        ),
        epilog="example:\n  scfg-decoder join-lists Ours=test.list Hiero=hiero.list --output both.list",
    )
    parser.add_argument("lists", nargs="+", metavar="NAME=LIST", help="lists of translate --nbest K")
    parser.add_argument(
        "--shared",
        nargs="*",
        action="extend",
        metavar="FEATURE",
        help="features that are the same in all lists, as they are of the words alone, and need no name "
        f"(default: {' '.join(_SHARED)})",
    )
    parser.add_argument("--output", default="-", metavar="FILE", help="where the list goes")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings")
    parser.reads("lists", lambda text: [text.partition("=")[2]])
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Read, join, and write."""
    from decoder.expressions.joining import join_lists
    from decoder.expressions.lists import list_lines, read_numbered_lists
    from scfg_sampler.core.console import say
    from scfg_sampler.core.files import atomic_output
    from scfg_sampler.core.wording import counted

    names, paths = _named_paths(options.lists)
    lists = [read_numbered_lists(path) for path in paths]
    shared = _SHARED if options.shared is None else options.shared  # None at all may be asked for.
    _check_sentences(paths, lists)
    _check_features(names, lists, shared)
    total, numbers = 0, sorted(lists[0])
    with atomic_output(options.output) as out:
        for number in numbers:
            joined = join_lists(names, [each[number] for each in lists], shared)
            total += len(joined)
            out.writelines(list_lines(number, joined))
    say(f"{counted(total, 'translation')} of {counted(len(numbers), 'sentence')}")


def _check_sentences(paths: list[str], lists: list[dict[int, list[Candidate]]]) -> None:
    """An InputError unless all are lists of the same sentences; a warning if they do not look like it."""
    from scfg_sampler.core.console import warn
    from scfg_sampler.core.wording import counted
    from scfg_sampler.errors import InputError

    for path, each in zip(paths, lists, strict=True):
        if each.keys() != lists[0].keys():
            found = f"lists of {counted(len(each), 'sentence')}, but {paths[0]} has others, {len(lists[0])}"
            raise InputError(path, None, found, "Join lists of the same sentences")
    first, *others = ({(at, *one.words) for at, found in each.items() for one in found} for each in lists)
    for path, other in zip(paths[1:], others, strict=True):
        if first and other and not first & other:
            warn(f"{paths[0]} and {path} have no translation in common: are they of the same sentences?")


def _check_features(
    names: list[str], lists: list[dict[int, list[Candidate]]], shared: Collection[str]
) -> None:
    """A SettingsError if two features would have one name, as those of AB and C, and of A and BC."""
    from decoder.expressions.joining import joined_names
    from scfg_sampler.errors import SettingsError

    of_lists = [{name for found in each.values() for one in found for name in one.features} for each in lists]
    known = set(shared).intersection(set[str]().union(*of_lists))
    for name, own in zip(names, of_lists, strict=True):
        joined = joined_names(name, own, shared)
        if twice := sorted(known & joined):
            raise SettingsError(f"two features would be called {twice[0]}; give the list {name} another name")
        known |= joined


def _named_paths(texts: list[str]) -> tuple[list[str], list[str]]:
    """The names of the lists, and where they are; a SettingsError unless each has a name of its own."""
    from scfg_sampler.errors import SettingsError

    names: list[str] = []
    paths = []
    for text in texts:
        name, equals, path = text.partition("=")
        if not equals or not name or "|||" in name or name.split() != [name]:
            raise SettingsError(f"'{text}' is not NAME=LIST, such as Hiero=hiero.list")
        if name in names:
            raise SettingsError(f"two lists are called {name}; give each a name of its own")
        names.append(name)
        paths.append(path)
    return names, paths
