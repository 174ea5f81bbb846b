"""`scfg-decoder parse`: the expressions that questions mean."""

from __future__ import annotations

import argparse
import contextlib
import functools
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from decoder.commands import default_threads
from scfg_sampler.core.wording import counted

if TYPE_CHECKING:
    from decoder.expressions.parser import Parser

__all__ = ["add_parser", "run"]

_MOST_NAMED = 10  # Words that are in no rule.


def add_parser(subparsers) -> None:
    """Add the command to the decoder's parser."""
    parser = subparsers.add_parser(
        "parse",
        help="find the expressions that questions mean",
        description=(
            "Reads questions, one a line, words between spaces, and prints their expressions in the same\n"
            "order, each as soon as it is found. Capitals, and marks around words, say nothing. A line\n"
            "stays empty where there is no expression. With --nbest K, up to K different expressions, the\n"
            "best first:\n"
            "  LINE ||| expression ||| Feature=value ... ||| score\n"
            "where LINE counts from 0 and the score, of which only those of one question compare, is the\n"
            "ranker's, if the parser has one; a question without an expression has one line without words."
        ),
        epilog="examples:\n  scfg-decoder parse --parser parser < questions.txt > expressions.txt\n"
        "  scfg-decoder parse --parser parser --nbest 3 < questions.txt",
    )
    parser.add_argument(
        "--parser", required=True, metavar="PARSER", help="a directory that bundle-parser made"
    )
    parser.add_argument("--nbest", type=int, metavar="K", help="print lists of up to K expressions")
    parser.add_argument(
        "--linear", action="store_true", help="print linear forms, as grammars write them, not expressions"
    )
    parser.add_argument("--threads", type=int, metavar="N", help="questions at a time (default: all cores)")
    parser.add_argument("--input", default="-", metavar="FILE", help="questions; .gz is read too")
    parser.add_argument("--output", default="-", metavar="FILE", help="where the expressions go")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings")
    parser.set_defaults(run=run)


class _Parsed(NamedTuple):
    """What is written of a line; how many words it has, and which are in no rule."""

    text: str
    exists: bool
    words: int
    unknown: list[str]


def run(options: argparse.Namespace) -> None:
    """Parse the input and print the results in order."""
    import time

    from decoder.commands._progress import Done, progress_of, say_done
    from decoder.expressions.parser import LONGEST
    from decoder.expressions.parser_files import load_parser
    from scfg_sampler.core.console import say, warn
    from scfg_sampler.core.files import atomic_output, read_lines, require_file
    from scfg_sampler.core.streams import in_order
    from scfg_sampler.errors import SettingsError

    if options.nbest is not None and options.nbest < 1:
        raise SettingsError(f"--nbest is {options.nbest}; it is at least 1")
    threads = default_threads() if options.threads is None else options.threads
    require_file(options.input)
    parser = load_parser(options.parser)
    lines = words = asked = there = too_long = 0
    unknown: list[str] = []
    with contextlib.ExitStack() as stack:
        began = time.perf_counter()
        out = stack.enter_context(atomic_output(options.output))
        advance = stack.enter_context(progress_of(options.input, options.output, "parsing"))
        task = functools.partial(_parse, parser, options)
        for found in in_order(task, enumerate(read_lines(options.input)), threads):
            out.write(found.text)
            out.flush()
            lines, words = lines + 1, words + found.words
            asked, there = asked + (found.words > 0), there + found.exists
            too_long += found.words > LONGEST
            unknown += found.unknown
            advance(1, "")
    done = Done(lines, words, len(unknown), time.perf_counter() - began)
    say_done(options.input, done, "parsed", "are they of another language, or another field?")
    if unknown:
        often = [word for word, _ in Counter(unknown).most_common(_MOST_NAMED)]
        say(f"in no rule: {', '.join(often)}{', …' if len(set(unknown)) > _MOST_NAMED else ''}")
    if there < asked:
        say(f"{counted(asked - there, 'question')} without an expression")
    if too_long:
        longer = f"of more than {counted(LONGEST, 'word')}"
        warn(f"{options.input}: {counted(too_long, 'question')} {longer} left empty")


def _parse(parser: Parser, options: argparse.Namespace, numbered: tuple[int, str]) -> _Parsed:
    """The output of a line with its number."""
    from decoder.expressions.lists import list_lines
    from decoder.expressions.ranker import Candidate

    number, line = numbered
    found = parser.n_best(line, options.nbest or 1)
    texts = [" ".join(each.words) if options.linear else each.expression for each in found]
    if options.nbest is None:
        text = (texts[0] if texts else "") + "\n"
    else:
        listed = [
            (Candidate([spelled], each.features), each.score)
            for spelled, each in zip(texts, found, strict=True)
        ]
        text = "".join(list_lines(number, listed))
    words, unknown = parser.words(line)
    return _Parsed(text, bool(found), len(words), unknown)
