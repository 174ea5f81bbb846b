"""`align`: word alignments of parallel text."""

from __future__ import annotations

import argparse

from scfg_sampler.core import console
from scfg_sampler.core.interruption import telling
from scfg_sampler.core.wording import counted

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "align",
        help="align the words of parallel text",
        description="Align the words of tokenised parallel text in both directions with eflomal (install it "
        "with pip install 'scfg-sampler[align]'), and combine the two: PREFIX.fwd, PREFIX.rev and "
        "PREFIX.gdfa, in Pharaoh format. eflomal draws its own seed: two draws differ in some links. "
        "'sample' and 'extract' take several together, which brings some texts better translations.",
        epilog="examples:\n  scfg-sampler align --source train.de --target train.en --output train.de-en\n"
        "  scfg-sampler align --source train.de --target train.en --output train.de-en --draws 3\n"
        "  scfg-sampler sample --source train.de --target train.en --output run \\\n"
        "      --alignment train.de-en.gdfa train.de-en.2.gdfa train.de-en.3.gdfa",
    )
    parser.add_argument(
        "--source", metavar="F", required=True, help="source text, tokenised; .gz is read too"
    )
    parser.add_argument("--target", metavar="E", required=True, help="target text, line by line the same")
    parser.add_argument("--output", metavar="PREFIX", required=True, help="what the files' names begin with")
    parser.add_argument(
        "--symmetrise",
        choices=("intersect", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"),
        default="grow-diag-final-and",
        help="how to combine the directions; others than the default are written to PREFIX.METHOD",
    )
    parser.add_argument(
        "--parts",
        type=int,
        default=1,
        metavar="K",
        help="give eflomal the text in K parts, which takes less memory: the first alone, the others with "
        "priors from its alignment (default: 1)",
    )
    parser.add_argument(
        "--draws",
        type=int,
        default=1,
        metavar="N",
        help="align N times; the files of draw 2 are PREFIX.2.fwd and so on (default: 1)",
    )
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.writes_beginning("--output", _suffixes)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Align, and say where the links are."""
    import itertools

    from scfg_sampler.core.files import is_stream, read_lines
    from scfg_sampler.corpus.sanity import warn_of_untokenised_text
    from scfg_sampler.corpus.word_alignment import align_texts, prefixes

    for path in (options.source, options.target):
        if not is_stream(path):
            warn_of_untokenised_text(itertools.islice(read_lines(path), 2000), path)
    done = 0

    def count(draws: int) -> None:
        nonlocal done
        done += draws
        advance(draws, "")

    with (
        telling(lambda: _what_is_there(options, done)),
        console.progress("aligning", options.draws if options.draws > 1 else None) as advance,
    ):
        report = align_texts(
            options.source,
            options.target,
            options.output,
            method=options.symmetrise,
            parts=options.parts,
            draws=options.draws,
            advance=count,
        )
    if report.too_long:
        console.warn(f"no links for {counted(report.too_long, 'pair')} with more than 1023 words on a side")
    times = "" if options.draws == 1 else f" {options.draws} times,"
    endings = _endings(options)
    names = [f"{name}.{ending}" for name in prefixes(options.output, options.draws) for ending in endings]
    console.say(
        f"{counted(report.sentences, 'pair')} aligned{times} by {counted(report.links, 'link')}: "
        f"{', '.join(names)}"
    )


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


def _endings(options: argparse.Namespace) -> tuple[str, str, str]:
    """How the names of the files of a draw end."""
    from scfg_sampler.corpus.word_alignment import suffix

    return "fwd", "rev", suffix(options.symmetrise)
