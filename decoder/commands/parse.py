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
    from decoder.expressions.parser import Parse, Parser

__all__ = ["add_parser", "run"]

_MOST_NAMED = 10  # Words that are in no rule.
_LONGEST_NAMED = 40  # Characters of one.


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
            "ranker's, if the parser has one; a question without an expression has one line without words.\n"
            "\n"
            "A ranker also knows how probable it is that an expression is the right one, if one of those\n"
            "that it chooses among is. With --probabilities each line has the probability and a tab before\n"
            "the expression, and each line of a list has it behind the score. With --min-probability P,\n"
            "only expressions that are at least so probable are printed."
        ),
        epilog="examples:\n  scfg-decoder parse --parser parser < questions.txt > expressions.txt\n"
        "  scfg-decoder parse --parser parser --nbest 3 < questions.txt\n"
        "  scfg-decoder parse --parser parser --min-probability 0.7 --probabilities < questions.txt",
    )
    parser.add_argument(
        "--parser", required=True, metavar="PARSER", help="a directory that bundle-parser made"
    )
    parser.add_argument("--nbest", type=int, metavar="K", help="print lists of up to K expressions")
    parser.add_argument("--probabilities", action="store_true", help="print probabilities of expressions")
    parser.add_argument(
        "--min-probability", type=float, metavar="P", help="print none that is less probable, 0 to 1"
    )
    parser.add_argument(
        "--linear", action="store_true", help="print linear forms, as grammars write them, not expressions"
    )
    parser.add_argument("--threads", type=int, metavar="N", help="questions at a time (default: all cores)")
    parser.add_argument("--input", default="-", metavar="FILE", help="questions; .gz is read too")
    parser.add_argument("--output", default="-", metavar="FILE", help="where the expressions go")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings")
    parser.set_defaults(run=run)


class _Parsed(NamedTuple):
    """What is written of a line; whether it has an expression, and one that is probable enough.

    words, unknown : how many it has, and which of them are in no rule
    """

    text: str
    exists: bool
    probable: bool
    words: int
    unknown: list[str]


def run(options: argparse.Namespace) -> None:
    """Parse the input and print the results in order."""
    import time

    from decoder.commands._progress import Done, progress_of, say_done
    from decoder.expressions.parser import LONGEST
    from decoder.expressions.parser_files import load_parser
    from decoder.expressions.tree import shortened
    from scfg_sampler.core.console import say, warn
    from scfg_sampler.core.files import atomic_output, read_lines, require_file
    from scfg_sampler.core.streams import in_order
    from scfg_sampler.errors import SettingsError

    if options.nbest is not None and options.nbest < 1:
        raise SettingsError(f"--nbest is {options.nbest}; it is at least 1")
    least = options.min_probability
    if least is not None and not 0.0 <= least <= 1.0:
        raise SettingsError(f"--min-probability is {least:g}; it is from 0 to 1")
    threads = default_threads() if options.threads is None else options.threads
    require_file(options.input)
    parser = load_parser(options.parser)
    if parser.ranker is None and (options.probabilities or least is not None):
        raise SettingsError(
            f"{options.parser} has no ranker, which knows probabilities; bundle-parser --ranker adds one"
        )
    lines = words = asked = there = probable = too_long = 0
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
            probable += found.probable
            too_long += found.words > LONGEST
            unknown += found.unknown
            advance(1, "")
    done = Done(lines, words, len(unknown), time.perf_counter() - began)
    say_done(options.input, done, "parsed", "are they of another language, or another field?")
    if unknown:
        often = [shortened(word, _LONGEST_NAMED) for word, _ in Counter(unknown).most_common(_MOST_NAMED)]
        say(f"in no rule: {', '.join(often)}{', …' if len(set(unknown)) > _MOST_NAMED else ''}")
    if there < asked:
        say(f"{counted(asked - there, 'question')} without an expression")
    if probable < there:
        say(f"{counted(there - probable, 'question')} without one of a probability of {least:g}")
    if too_long:
        longer = f"of more than {counted(LONGEST, 'word')}"
        warn(f"{options.input}: {counted(too_long, 'question')} {longer} left empty")


def _parse(parser: Parser, options: argparse.Namespace, numbered: tuple[int, str]) -> _Parsed:
    """The output of a line with its number."""
    number, line = numbered
    best = parser.n_best(line, options.nbest or 1)
    found = [each for each in best if (each.probability or 0.0) >= (options.min_probability or 0.0)]
    text = _line_of(found, options) if options.nbest is None else _list_of(number, found, options)
    words, unknown = parser.words(line)
    return _Parsed(text, bool(best), bool(found), len(words), unknown)


def _line_of(found: list[Parse], options: argparse.Namespace) -> str:
    """The line of the best expression, or of none."""
    spelled = _spelled(found[0], options) if found else ""
    likely = found[0].probability if found else 0.0
    return (f"{likely:.4f}\t" if options.probabilities else "") + spelled + "\n"


def _list_of(number: int, found: list[Parse], options: argparse.Namespace) -> str:
    """The lines of a question's list."""
    from decoder.expressions.lists import list_lines
    from decoder.expressions.ranker import Candidate

    listed = [(Candidate(_spelled(each, options).split(" "), each.features), each.score) for each in found]
    lines = list_lines(number, listed)
    if not options.probabilities:
        return "".join(lines)
    likely = [each.probability for each in found] or [0.0]
    return "".join(f"{line[:-1]} ||| {each:.4f}\n" for line, each in zip(lines, likely, strict=True))


def _spelled(found: Parse, options: argparse.Namespace) -> str:
    return " ".join(found.words) if options.linear else found.expression
