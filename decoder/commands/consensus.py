"""`scfg-decoder consensus`: of what several systems say, the translation that is most like all of it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from decoder.scoring import TOKENIZERS

if TYPE_CHECKING:
    from decoder.translation.nbest import Listed

__all__ = ["add_parser", "run"]

_END = 1 << 16  # Bytes that have the last line of a file.


def add_parser(subparsers) -> None:
    """Add the command to the decoder's parser."""
    parser = subparsers.add_parser(
        "consensus",
        help="the translation most like what several systems say",
        description=(
            "Reads lists of the same sentences, of systems that learnt, were tuned or search otherwise, and\n"
            "prints, a line each, the translation of all lists that is most like what the systems say\n"
            "(minimum Bayes risk, Kumar and Byrne 2004). Each system has one vote, which it divides among\n"
            "the translations of its list by exp(A · score); the one with the highest BLEU+1 to be expected\n"
            "by these votes is chosen. A list that is given twice has two votes. Lists may be those of\n"
            "Moses, cdec, Joshua and Travatar, too. A line stays empty where no list has a translation."
        ),
        epilog="examples:\n"
        "  scfg-decoder consensus ours.list hiero.list > test.out\n"
        "  scfg-decoder consensus run1.list run2.list run3.list --scale 1 --size 20 --output test.out\n"
        "  scfg-decoder consensus raw1.list raw2.list --tokenize 13a --output test.out",
    )
    parser.add_argument(
        "lists", nargs="+", metavar="LIST", help="lists of translate --nbest K, or of other decoders"
    )
    parser.add_argument(
        "--scale",
        type=float,
        metavar="A",
        help="a large A gives a system's vote to its best translation, a small one as much to each of its "
        "list (default: 0.3)",
    )
    parser.add_argument(
        "--size", type=int, metavar="K", help="read the first K translations of each list (default: all)"
    )
    parser.add_argument(
        "--tokenize",
        default="none",
        choices=TOKENIZERS,
        help="how translations that are raw text are parted into words to be compared, as sacrebleu does: "
        f"{', '.join(TOKENIZERS)} (default: none, words stand between blanks)",
    )
    parser.add_argument("--output", default="-", metavar="FILE", help="where the translations go")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Read, choose, and write."""
    from decoder.scoring.evaluate import tokenizer
    from decoder.search.mbr import check_scale
    from decoder.translation.consensus import SCALE, consensus, sentences_of
    from decoder.translation.nbest import read_nbest
    from scfg_sampler.core.console import progress, say, warn
    from scfg_sampler.core.files import atomic_output
    from scfg_sampler.core.wording import counted
    from scfg_sampler.errors import SettingsError

    scale = SCALE if options.scale is None else check_scale(options.scale, "--scale")
    if options.size is not None and options.size < 1:
        raise SettingsError(f"--size is {options.size}; it is 1 or more")
    parted = None if options.tokenize == "none" else tokenizer(options.tokenize)
    systems = [_Counted(path, read_nbest(path)) for path in options.lists]
    agreed = [False] * len(systems)
    sentences = translations = 0
    known = {path: number for path in options.lists if (number := _num_sentences(path)) is not None}
    _check_ends(known)
    in_all = max(known.values(), default=None)
    with atomic_output(options.output) as out, progress("choosing", in_all) as advance:
        for lists in sentences_of(systems, options.size):
            out.write(" ".join(consensus(lists, scale, parted)) + "\n")
            _note_agreement(lists, agreed)
            if sentences == 0 and not any(lists):
                warn("no list has a translation of sentence 0, the first: do they number sentences from 1?")
            sentences += 1
            translations += sum(map(len, lists))
            advance(1, "")
        _check_ends({each.path: each.sentences for each in systems})
    if translations:
        _warn_of_strangers(options.lists, agreed)
    of_lists = f"{counted(translations, 'translation', spec=',')} of {counted(len(systems), 'list')}"
    say(f"{counted(sentences, 'sentence', spec=',')}, chosen among {of_lists}")


def _num_sentences(path: str) -> int | None:
    """Of how many sentences a file has lists, by its last line; None where it is packed, or no file."""
    from decoder.translation.nbest import parsed_line

    if not os.path.isfile(path):
        return None
    with open(path, "rb") as stream:
        stream.seek(max(0, os.path.getsize(path) - _END))
        end = stream.read().decode(errors="replace").removesuffix("\n")
    last = parsed_line(end.rpartition("\n")[2]) if end else None
    return None if last is None else last.number + 1


class _Counted:
    """The lists of a system, and, as they pass by, of how many sentences: the last one's number and 1."""

    def __init__(self, path: str, lists: Iterable[tuple[int, list[Listed]]]):
        self.path, self.sentences = path, 0
        self._lists = lists

    def __iter__(self) -> Iterator[tuple[int, list[Listed]]]:
        for number, listed in self._lists:
            self.sentences = number + 1
            yield number, listed


def _check_ends(sentences: dict[str, int]) -> None:
    """An InputError if the last sentences are missing in a list: it is one of another text, or is cut off.

    sentences : by the list's path, of how many it is
    """
    from scfg_sampler.core.wording import counted
    from scfg_sampler.errors import InputError

    most = max(sentences.values(), default=0)
    for path, number in sentences.items():
        if number < most:
            longest = next(other for other in sentences if sentences[other] == most)
            found = f"lists of {counted(number, 'sentence')}, but {longest} has {most}"
            nothing = f"{most - 1} ||| ||| ||| 0"
            hint = f"Give lists of the same sentences; if it has none of the last, end it with '{nothing}'"
            raise InputError(path, None, found, hint)


def _note_agreement(lists: list[list[Listed]], agreed: list[bool]) -> None:
    """Note which systems have some translation in common with another one."""
    if all(agreed):
        return
    for at, listed in enumerate(lists):
        own = {one.words for one in listed}
        for other, theirs in enumerate(lists[:at]):
            if not (agreed[at] and agreed[other]) and any(one.words in own for one in theirs):
                agreed[at] = agreed[other] = True


def _warn_of_strangers(paths: list[str], agreed: list[bool]) -> None:
    """Warn of systems that never say what another one says, which are likely of other sentences."""
    from scfg_sampler.core.console import warn

    if len(paths) > 1:
        for path, agrees in zip(paths, agreed, strict=True):
            if not agrees:
                warn(f"{path} and the others have no translation in common: are they of the same sentences?")
