"""`scfg-decoder tune`: weights that translate a development set well."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from decoder.commands import add_search_options, default_threads, input_words, load_models

if TYPE_CHECKING:
    import numpy as np

    from decoder.tuning.tune import Round, TuneSettings

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command to the decoder's parser."""
    parser = subparsers.add_parser(
        "tune",
        help="tune weights on a development set",
        description=(
            "Pairwise ranking optimisation (Hopkins and May 2011), or batch MIRA (Cherry and Foster 2012).\n"
            "Prints a row for each round: the BLEU of the development set, words per reference word,\n"
            "translations not seen before, and the weights that changed most. The weights of the round\n"
            "with the highest BLEU are written. Rounds are saved in the directory W.json.state, so that an\n"
            "interrupted run goes on where it was."
        ),
        epilog="example:\n  scfg-decoder tune --grammar grammar.gz --lm en.arpa --source dev.de "
        "--references dev.en --output weights.json",
    )
    add_search_options(parser)
    parser.add_argument("--source", required=True, metavar="F", help="tokenised source sentences")
    parser.add_argument(
        "--references",
        required=True,
        nargs="+",
        metavar="E",
        help="their translations; an empty line in a second or later file means no further reference",
    )
    parser.add_argument("--output", required=True, metavar="W.json", help="where the weights go")
    parser.add_argument("--initial", metavar="W.json", help="weights to begin with")
    _add_settings(parser)
    parser.add_argument("--restart", action="store_true", help="forget the rounds an earlier run has saved")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings")
    parser.set_defaults(run=run)


def _add_settings(parser: argparse.ArgumentParser) -> None:
    """Add the options that become `TuneSettings`."""
    parser.add_argument("--method", choices=("pro", "mira"), default="pro", help="how weights are optimised")
    parser.add_argument("--rounds", type=int, default=10, help="how often weights are optimised")
    parser.add_argument("--nbest", type=int, default=100, help="translations of a sentence a round adds")
    parser.add_argument("--candidates", type=int, default=5000, help="pairs drawn from a sentence's list")
    parser.add_argument("--kept", type=int, default=50, help="pairs of a sentence that are used")
    parser.add_argument(
        "--threshold", type=float, default=0.05, help="least difference in BLEU+1 between the two of a pair"
    )
    parser.add_argument(
        "--interpolation",
        type=float,
        metavar="SHARE",
        help="share of the new weights after each round (default: 0.5; 1 with MIRA)",
    )
    parser.add_argument(
        "--random-starts",
        type=int,
        default=0,
        metavar="N",
        help="optimise N times more in each round, from weights changed at random, and take the best",
    )
    parser.add_argument("--passes", type=int, default=60, help="MIRA: passes over the lists in a round")
    parser.add_argument(
        "--largest-step", type=float, default=0.01, metavar="C", help="MIRA: limit of a step's size"
    )
    parser.add_argument(
        "--l2", type=float, default=1.0, help="strength of the prior that keeps weights small"
    )
    parser.add_argument(
        "--plain-brevity",
        action="store_true",
        help="compare lengths in BLEU+1 as published, which favours short translations, instead of counting "
        "references as one word longer",
    )
    parser.add_argument("--seed", type=int, default=1, help="of the pairs that are drawn")


def run(args: argparse.Namespace) -> None:
    """Tune, print a row per round, and write the best weights."""
    import shutil
    from pathlib import Path

    from decoder.grammar.trie import UNKNOWN_FEATURE, with_unknown_words
    from decoder.scoring.evaluate import read_references
    from decoder.translation.decoder import Decoder, feature_names
    from decoder.translation.weights import initial_weights, read_weights, write_weights
    from decoder.tuning.tune import best_round, tune
    from scfg_sampler.core.arrays.vocabulary import split_words
    from scfg_sampler.core.console import progress, say
    from scfg_sampler.core.files import read_lines
    from scfg_sampler.errors import InputError

    lines = list(read_lines(args.source))
    if not lines:
        raise InputError(args.source, None, "has no lines", "Tuning needs a development set")
    texts = read_references(args.references, len(lines), args.source)
    references = [[split_words(text) for text in row if text is not None] for row in zip(*texts, strict=True)]
    identity = _identity(args)
    state = Path(f"{args.output}.state")
    if args.restart and state.is_dir():
        shutil.rmtree(state)
    weights = read_weights(args.initial) if args.initial else None
    grammar, lm, lm_vocabulary = load_models(args)
    if weights is not None and UNKNOWN_FEATURE in weights:
        grammar = with_unknown_words(grammar, lm_vocabulary)
    sources = [input_words(args, split_words(line)) for line in lines]
    names = feature_names(grammar)
    decoder = Decoder(
        grammar,
        lm,
        lm_vocabulary,
        initial_weights(names) if weights is None else weights,
        beam=args.beam,
        max_targets=args.max_targets,
        widen=args.widen,
        weights_path=args.initial,
    )
    if args.copy == "any":
        decoder = decoder.copying_any()
    rounds = []
    say("round   BLEU  length     new  weights that changed most")
    before = decoder.weights
    with progress("tuning", (args.rounds + 1) * len(sources)) as advance:
        for found in tune(
            decoder,
            sources,
            references,
            _settings(args),
            threads=default_threads() if args.threads is None else args.threads,
            state=state,
            identity=identity,
            advance=lambda: advance(1, ""),
        ):
            rounds.append(found)
            say(_row(found, before, names))
            before = found.weights
    best = best_round(rounds)
    write_weights(dict(zip(names, best.weights.tolist(), strict=True)), args.output)
    say(f"{args.output}: the weights of round {best.number}, BLEU {best.bleu:.2f} (tokenize none)")


def _identity(args: argparse.Namespace) -> dict:
    """What a saved round must have been made with to go on from it."""
    from scfg_sampler.core.files import file_digest

    return {
        "grammar": [
            [file_digest(option.path), *option[1:3], *filter(None, option[3:])] for option in args.grammar
        ],
        "lm": file_digest(args.lm),
        "source": file_digest(args.source),
        "references": [file_digest(path) for path in args.references],
        "beam": args.beam,
        "max-targets": args.max_targets,
        "max-span": args.max_span,
        "widen": args.widen,
        # What is new and not asked for leaves rounds as they were.
        **({"copy": args.copy} if args.copy != "unknown" else {}),
        **({"input-words": args.input_words} if args.input_words else {}),
    }


def _settings(args: argparse.Namespace) -> TuneSettings:
    from decoder.tuning.tune import TuneSettings

    interpolation = args.interpolation
    if interpolation is None:
        interpolation = 1.0 if args.method == "mira" else 0.5
    return TuneSettings(
        rounds=args.rounds,
        nbest=args.nbest,
        candidates=args.candidates,
        kept=args.kept,
        threshold=args.threshold,
        interpolation=interpolation,
        l2=args.l2,
        seed=args.seed,
        smooth_brevity=not args.plain_brevity,
        method=args.method,
        random_starts=args.random_starts,
        passes=args.passes,
        largest_step=args.largest_step,
    )


def _row(found: Round, before: np.ndarray, names: Sequence[str]) -> str:
    """What is printed of a round; `before` are the weights of the round before it."""
    changes = abs(found.weights - before)
    most = [i for i in (-changes).argsort(kind="stable")[:4] if changes[i] > 0]
    changed = " ".join(f"{names[i]} {found.weights[i]:+.3f}" for i in most)
    row = f"{found.number:5d}  {found.bleu:5.2f}  {found.length_ratio:6.3f}  {found.num_new:6d}"
    return f"{row}  {changed}".rstrip()
