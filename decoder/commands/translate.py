"""`scfg-decoder translate`: translations of the lines of a text."""

from __future__ import annotations

import argparse
import functools
import json
from typing import TYPE_CHECKING

from decoder.commands import add_search_options, default_threads, load_models, search_settings

if TYPE_CHECKING:
    from decoder.system.system import System

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command to the decoder's parser."""
    parser = subparsers.add_parser(
        "translate",
        help="translate text, line by line",
        description=(
            "Reads sentences, one a line, and prints their translations in the same order, each as soon as\n"
            "it is found; an empty line stays empty. With --system, the text is what the system takes: raw\n"
            "text, if it was bundled with a preparation. With --grammar, --lm and --weights it is "
            "tokenised.\nWith --nbest K, up to K different translations of a line, best first:\n"
            "  LINE ||| translation ||| Feature=value ... ||| score\n"
            "where LINE counts from 0, features are natural logarithms or counts, and the score is the sum\n"
            "of weight times value."
        ),
        epilog="examples:\n  scfg-decoder translate --grammar grammar.gz --lm en.arpa --weights weights.json "
        "< test.de > test.en\n  scfg-decoder translate --system system < raw.de > raw.en",
    )
    parser.add_argument(
        "--system", metavar="SYSTEM", help="a directory that bundle made, instead of the next three"
    )
    add_search_options(parser, or_system=True)
    parser.add_argument("--weights", metavar="W.json", help="a JSON object, feature to number")
    parser.add_argument("--nbest", type=int, metavar="K", help="print lists of up to K translations")
    parser.add_argument(
        "--not-unique",
        action="store_true",
        help="with --nbest, list derivations, even if they spell the same translation",
    )
    parser.add_argument(
        "--mbr",
        type=int,
        nargs="?",
        const=100,
        metavar="K",
        help="print the translation most like the K best ones (100 if K is left out): minimum Bayes risk "
        "for BLEU",
    )
    parser.add_argument(
        "--mbr-scale", type=float, default=1.0, metavar="A", help="probabilities are exp(A · score)"
    )
    parser.add_argument(
        "--derivations", metavar="FILE", help="write how each best translation was built, as JSON lines"
    )
    parser.add_argument("--input", default="-", metavar="FILE", help="text to translate")
    parser.add_argument("--output", default="-", metavar="FILE", help="where the translations go")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Translate the input and print the results in order."""
    import contextlib
    import sys
    import time

    from decoder.search.mbr import check_scale
    from decoder.translation.decoder import in_order
    from scfg_sampler.core.console import say
    from scfg_sampler.core.files import atomic_output, read_lines, require_file
    from scfg_sampler.errors import SettingsError

    for name, size in (("--nbest", args.nbest), ("--mbr", args.mbr)):
        if size is not None and size < 1:
            raise SettingsError(f"{name} is {size}; it is at least 1")
    if args.nbest is not None and args.mbr is not None:
        raise SettingsError("--mbr gives one translation of a line, so --nbest cannot be given beside it")
    check_scale(args.mbr_scale)
    require_file(args.input)
    system = _system(args)
    threads = default_threads() if args.threads is None else args.threads
    began = time.perf_counter()
    lines = 0
    with contextlib.ExitStack() as stack:
        if args.output == "-" and hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(encoding="utf-8", newline="\n")
        out = stack.enter_context(atomic_output(args.output))
        trees = stack.enter_context(atomic_output(args.derivations)) if args.derivations else None
        translate = functools.partial(_translate, system, args)
        for text, tree in in_order(translate, enumerate(read_lines(args.input)), threads):
            out.write(text)
            out.flush()
            if trees is not None:
                trees.write(tree)
            lines += 1
    seconds = time.perf_counter() - began
    say(f"{lines} lines translated in {seconds:.1f} s, {lines / max(seconds, 1e-9):.1f} a second")


def _system(args: argparse.Namespace) -> System:
    """The system the options name, or are the parts of."""
    import time

    from decoder.system.bundle import read_system_record
    from decoder.system.settings import SearchDefaults
    from decoder.system.system import System, load_system
    from decoder.translation.decoder import Decoder
    from decoder.translation.weights import read_weights
    from scfg_sampler.core.console import say
    from scfg_sampler.errors import SettingsError

    parts = {"--grammar": args.grammar, "--lm": args.lm, "--weights": args.weights}
    if args.system is not None:
        given = [name for name, value in parts.items() if value is not None]
        if given:
            raise SettingsError(f"--system has all its parts, so {given[0]} cannot be given beside it")
        began = time.perf_counter()
        known = SearchDefaults(**read_system_record(args.system)["settings"])
        system = load_system(args.system, search_settings(args, known))
        say(f"{len(system.decoder.grammar.rules)} rules loaded in {time.perf_counter() - began:.1f} s")
        return system
    missing = [name for name, value in parts.items() if value is None]
    if missing:
        raise SettingsError(f"give --system, or --grammar, --lm and --weights; {missing[0]} is missing")
    weights = read_weights(args.weights)
    settings = search_settings(args)
    args.max_span = settings.max_span
    decoder = Decoder(
        *load_models(args),
        weights,
        beam=settings.beam,
        max_targets=settings.max_targets,
        widen=settings.widen,
        weights_path=args.weights,
    )
    return System(decoder, None, {})


def _translate(system: System, args: argparse.Namespace, numbered: tuple[int, str]) -> tuple[str, str]:
    """The output and the derivation of a line with its number, each with its line ends."""
    from decoder.translation.decoder import nbest_lines
    from decoder.translation.derivations import derivation_record

    number, line = numbered
    if system.preparation is not None and args.nbest is args.mbr is args.derivations is None:
        return system.translate_line(line).text + "\n", ""
    decoder = system.decoder
    prepared = system.prepare(line)
    result = system.search(prepared) if prepared.words else None
    if result is None:
        found = [decoder.translate([])]
    elif args.nbest is not None:
        found = decoder.translations(result, args.nbest, unique=not args.not_unique)
    elif args.mbr is not None:
        found = [decoder.minimum_risk(result, args.mbr, args.mbr_scale)]
    else:
        found = [decoder.best(result)]
    texts = [each.text for each in found]
    if system.preparation is not None and result is not None:
        texts = [system.finish(line, prepared, result, each).text for each in found]
    if args.nbest is None:
        text = texts[0] + "\n"
    else:
        text = "".join(row + "\n" for row in nbest_lines(number, found, decoder.feature_names, texts))
    if args.derivations is None:
        return text, ""
    record = derivation_record(decoder, result, found[0], number)
    return text, json.dumps(record, ensure_ascii=False) + "\n"
