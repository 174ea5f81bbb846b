"""`align`: word alignments of parallel text."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from scfg_sampler.core import console
from scfg_sampler.core.interruption import telling
from scfg_sampler.core.wording import counted

if TYPE_CHECKING:
    from scfg_sampler.corpus.word_alignment import AlignmentReport

__all__ = ["add_parser", "run"]

_METHOD = "grow-diag-final-and"
_OF_WORDS = ("symmetrise", "parts")
_OF_PHRASES = ("iterations", "longest", "seed")


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "align",
        help="align the words of parallel text",
        description="Align the words of tokenised parallel text, in Pharaoh format. With --aligner eflomal "
        "(install it with pip install 'scfg-sampler[align]'), each direction by itself, and the two "
        "combined: PREFIX.fwd, PREFIX.rev and PREFIX.gdfa; it draws its own seed, so that two draws differ "
        "in some links. With --aligner phrases, phrases of both sides sampled together (Neubig et al. "
        "2011): PREFIX.phrases. 'sample' and 'extract' take several alignments together, which brings some "
        "texts better translations.",
        epilog="examples:\n  scfg-sampler align --source train.de --target train.en --output train.de-en\n"
        "  scfg-sampler align --source train.de --target train.en --output train.de-en --draws 3\n"
        "  scfg-sampler align --source train.de --target train.en --output train.de-en --aligner phrases\n"
        "  scfg-sampler sample --source train.de --target train.en --output run \\\n"
        "      --alignment train.de-en.gdfa train.de-en.2.gdfa train.de-en.3.gdfa",
    )
    parser.add_argument(
        "--source", metavar="F", required=True, help="source text, tokenised; .gz is read too"
    )
    parser.add_argument("--target", metavar="E", required=True, help="target text, line by line the same")
    parser.add_argument("--output", metavar="PREFIX", required=True, help="what the files' names begin with")
    parser.add_argument(
        "--aligner",
        choices=("eflomal", "phrases"),
        default="eflomal",
        help="eflomal links word by word, phrases blocks of words (default: eflomal)",
    )
    parser.add_argument(
        "--draws",
        type=int,
        default=1,
        metavar="N",
        help="align N times; the files of draw 2 are PREFIX.2.fwd and so on (default: 1)",
    )
    _add_of_aligners(parser)
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.writes_beginning("--output", _suffixes)
    parser.set_defaults(run=run)


def _add_of_aligners(parser: argparse.ArgumentParser) -> None:
    """Options that are those of one of the aligners."""
    words = parser.add_argument_group("with --aligner eflomal")
    words.add_argument(
        "--symmetrise",
        choices=("intersect", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"),
        help=f"how to combine the directions; others than the default are written to PREFIX.METHOD "
        f"(default: {_METHOD})",
    )
    words.add_argument(
        "--parts",
        type=int,
        metavar="K",
        help="give eflomal the text in K parts, which takes less memory: the first alone, the others with "
        "priors from its alignment (default: 1)",
    )
    phrases = parser.add_argument_group("with --aligner phrases")
    phrases.add_argument("--iterations", type=int, metavar="N", help="sweeps over the corpus (default: 12)")
    phrases.add_argument(
        "--longest",
        type=int,
        metavar="WORDS",
        help="pairs with more words on a side get no links; at most 120 (default: 60)",
    )
    phrases.add_argument(
        "--seed", type=int, metavar="N", help="of the first draw, the next one has the next (default: 1)"
    )


def run(options: argparse.Namespace) -> None:
    """Align, and say where the links are."""
    import itertools

    from scfg_sampler.core.files import is_stream, read_lines
    from scfg_sampler.corpus.sanity import warn_of_untokenised_text
    from scfg_sampler.corpus.word_alignment import prefixes

    _warn_of_idle_options(options)
    for path in (options.source, options.target):
        if not is_stream(path):
            warn_of_untokenised_text(itertools.islice(read_lines(path), 2000), path)
    done = 0

    def count(draws: int) -> None:
        nonlocal done
        done += draws

    with telling(lambda: _what_is_there(options, done)):
        report, left_out = (_align_words if options.aligner == "eflomal" else _align_phrases)(options, count)
    if report.too_long:
        pairs = counted(report.too_long, "pair")
        console.warn(f"no links for {pairs} with more than {counted(left_out, 'word')} on a side")
    if report.coarse:
        pairs = counted(report.coarse, "long pair")
        console.warn(f"{pairs} aligned coarsely: hardly any of the words seem to translate each other")
    times = "" if options.draws == 1 else f" {options.draws} times,"
    endings = _endings(options)
    names = [f"{name}.{ending}" for name in prefixes(options.output, options.draws) for ending in endings]
    console.say(
        f"{counted(report.sentences, 'pair')} aligned{times} by {counted(report.links, 'link')}: "
        f"{', '.join(names)}"
    )


def _align_words(options: argparse.Namespace, count: Callable[[int], None]) -> tuple[AlignmentReport, int]:
    """What came of eflomal, and how many words it takes on a side."""
    from scfg_sampler.corpus.word_alignment import MOST_WORDS, align_texts

    def note(draws: int) -> None:
        count(draws)
        advance(draws, "")

    with console.progress("aligning", options.draws if options.draws > 1 else None) as advance:
        report = align_texts(
            options.source,
            options.target,
            options.output,
            method=options.symmetrise or _METHOD,
            parts=1 if options.parts is None else options.parts,
            draws=options.draws,
            advance=note,
        )
    return report, MOST_WORDS


def _align_phrases(options: argparse.Namespace, count: Callable[[int], None]) -> tuple[AlignmentReport, int]:
    """What came of sampling phrases, and how many words it takes on a side."""
    from scfg_sampler.aligner.texts import DEFAULT_ITERATIONS, DEFAULT_LONGEST, align_phrases

    given = {name: getattr(options, name) for name in _OF_PHRASES if getattr(options, name) is not None}
    sweeps = given.get("iterations", DEFAULT_ITERATIONS) * options.draws

    def note(share: float, draws: int) -> None:
        count(draws)
        advance(share, "")

    with console.progress("sweeps", sweeps) as advance:
        report = align_phrases(
            options.source, options.target, options.output, draws=options.draws, advance=note, **given
        )
    return report, given.get("longest", DEFAULT_LONGEST)


def _warn_of_idle_options(options: argparse.Namespace) -> None:
    """Warn of what is told to the other aligner."""
    idle, aligner = (_OF_PHRASES, "phrases") if options.aligner == "eflomal" else (_OF_WORDS, "eflomal")
    for name in idle:
        if getattr(options, name) is not None:
            console.warn(f"--{name} does nothing without --aligner {aligner}")


def _what_is_there(options: argparse.Namespace, done: int) -> str:
    """What a command that was stopped leaves: the files of whole draws."""
    from scfg_sampler.corpus.word_alignment import prefixes

    if done == 0:
        return ""
    ending = _endings(options)[-1]
    names = ", ".join(f"{name}.{ending}" for name in prefixes(options.output, done))
    found = f"{counted(done, 'draw')} of {options.draws} can be used: {names}"
    return f"{found}; the same command again makes all anew"


def _suffixes(options: argparse.Namespace) -> list[str]:
    """What follows PREFIX in the names of all files."""
    from scfg_sampler.core.limits import MOST
    from scfg_sampler.corpus.word_alignment import prefixes

    draws = prefixes("", min(options.draws, MOST))
    return [f"{draw}.{ending}" for draw in draws for ending in _endings(options)]


def _endings(options: argparse.Namespace) -> tuple[str, ...]:
    """How the names of the files of a draw end."""
    if options.aligner == "phrases":
        return ("phrases",)
    from scfg_sampler.corpus.word_alignment import suffix

    return "fwd", "rev", suffix(options.symmetrise or _METHOD)
