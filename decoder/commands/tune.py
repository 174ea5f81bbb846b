"""`scfg-decoder tune`: weights that translate a development set well."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from decoder.commands import (
    add_search_options,
    default_threads,
    features_for,
    input_words,
    load_models,
    make_decoder,
    search_settings,
)
from decoder.tuning.settings import (
    METHODS,
    METRICS,
    SEARCH,
    TuneSettings,
    check_settings,
    interpolation_of,
    resolved,
    within_of,
)
from scfg_sampler.core.elsewhere import check_elsewhere, elsewhere

if TYPE_CHECKING:
    import numpy as np

    from decoder.grammar.trie import Grammar
    from decoder.translation.decoder import Decoder
    from decoder.tuning.tune import Round

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command to the decoder's parser."""
    parser = subparsers.add_parser(
        "tune",
        help="tune weights on a development set",
        description=(
            "Batch MIRA (Cherry and Foster 2012), or pairwise ranking optimisation (Hopkins and May 2011).\n"
            "Prints a row for each round: the BLEU (chrF) of the development set, words (characters) for\n"
            "one of the reference, translations not seen before, and the weights that changed most. Last\n"
            "comes the mean of the rounds with nearly the highest score (--within), and its weights are\n"
            "written; with PRO, those of the round with the highest score. A table of all rounds goes\n"
            "beside them (W.json.rounds.tsv). Rounds are saved in the directory W.json.state, so that an\n"
            "interrupted run goes on where it was. A guided search adds what it finds without guidance, too."
        ),
        epilog="example:\n  scfg-decoder tune --grammar grammar.gz --lm en.arpa --source dev.de "
        "--references dev.en --output weights.json",
    )
    add_search_options(parser, defaults=SEARCH)
    parser.add_argument("--source", required=True, metavar="F", help="tokenised source sentences")
    parser.add_argument(
        "--references",
        required=True,
        nargs="+",
        action="extend",
        metavar="E",
        help="their translations; an empty line in a second or later file means no further reference",
    )
    parser.add_argument("--output", required=True, metavar="W.json", help="where the weights go")
    parser.add_argument("--initial", metavar="W.json", help="weights to begin with")
    parser.add_argument(
        "--soft-labels",
        action="store_true",
        help="let every label of the grammar fill every gap, and find a weight of LabelMismatch, which "
        "counts gaps filled by another label than theirs; with such weights translate has soft labels, too",
    )
    _add_settings(parser)
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="forget the rounds an earlier run has saved, and begin again",
    )
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings")
    parser.set_defaults(run=run)


def _add_settings(parser: argparse.ArgumentParser) -> None:
    """Add the options that become `TuneSettings`."""
    settings = TuneSettings()
    parser.add_argument(
        "--method",
        choices=METHODS,
        help=f"how weights are optimised (default: {resolved(settings).method}; pro for another --metric)",
    )
    parser.add_argument(
        "--metric",
        choices=METRICS,
        default=settings.metric,
        help="what weights are good for: BLEU of the words given; chrF of their characters, which has "
        "more to go by where hardly a word comes out right; or exact, the share of translations that are a "
        "reference, as for expressions; the last two with PRO alone",
    )
    shares = f"{interpolation_of('mira'):g}; {interpolation_of('pro'):g} with PRO"
    parser.add_argument(
        "--interpolation",
        type=float,
        metavar="SHARE",
        help=f"share of the new weights after each round (default: {shares})",
    )
    points = f"{within_of('mira'):g}; {within_of('pro'):g} with PRO"
    parser.add_argument(
        "--within",
        type=float,
        metavar="POINTS",
        help="write the mean of the weights of all rounds within so many points of the highest score, and a "
        f"sixth of it; 0: the weights of the best round (default: {points})",
    )
    helps = {
        "rounds": (None, "how often weights are optimised"),
        "nbest": (None, "translations of a sentence a round adds"),
        "candidates": (None, "PRO: pairs drawn from a sentence's list"),
        "kept": (None, "PRO: pairs of a sentence that are used"),
        "threshold": (None, "PRO: least difference in BLEU+1 (chrF), 0 to 1, between the two of a pair"),
        "random_starts": (
            "N",
            "optimise N times more in each round, from weights changed at random, and take the best",
        ),
        "passes": (None, "MIRA: passes over the lists in a round"),
        "largest_step": ("C", "MIRA: limit of a step's size"),
        "chrf_beta": (
            "B",
            "with --metric chrf: how much more recall counts than precision; 1 for translations less long",
        ),
        "l2": (None, "PRO: strength of the prior that keeps weights small"),
        "seed": (None, "of the pairs that PRO draws, of the order in which MIRA goes over the lists"),
    }
    for name, (metavar, text) in helps.items():
        default = getattr(settings, name)
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=type(default), default=default, metavar=metavar, help=text)
    parser.add_argument(
        "--plain-brevity",
        dest="smooth_brevity",
        action="store_false",
        help="PRO: compare lengths in BLEU+1 as published, which favours short translations, instead of "
        "counting references as one word longer",
    )


def run(options: argparse.Namespace) -> None:
    """Tune, print a row per round, and write the best weights."""
    import shutil
    from pathlib import Path

    from decoder.scoring.evaluate import read_references
    from decoder.translation.weights import write_weights
    from decoder.tuning.decoding import passes_left
    from decoder.tuning.metrics import metric_of
    from decoder.tuning.tune import best_round, tune
    from scfg_sampler.core.arrays.vocabulary import split_words
    from scfg_sampler.core.chains.owner import owned
    from scfg_sampler.core.console import progress, say
    from scfg_sampler.core.files import read_lines
    from scfg_sampler.core.interruption import repeatable
    from scfg_sampler.errors import InputError

    _check(options)
    lines = list(read_lines(options.source))
    if not lines:
        raise InputError(options.source, None, "has no lines", "Tuning needs a development set")
    texts = read_references(options.references, len(lines), options.source)
    references = [[split_words(text) for text in row if text is not None] for row in zip(*texts, strict=True)]
    _require_words(lines, references, options)
    identity = _identity(options)
    state = Path(f"{options.output}.state")
    decoder = _decoder(options)
    names, before = decoder.weight_names, decoder.weights
    sources = [input_words(options, split_words(line)) for line in lines]
    references = [[input_words(options, words) for words in row] for row in references]
    _warn_of_unknown_words(decoder.grammar, sources, references, options)
    rounds, metric = [], metric_of(_settings(options)).name
    left = passes_left(_settings(options), None if options.overwrite else state)
    say(f"round   {metric}  length     new  weights that changed most")
    threads = default_threads() if options.threads is None else options.threads
    with (
        owned(state.parent, f"{state.name}.lock", options.output),
        repeatable(str(state), overwrite=options.overwrite),
        elsewhere(options) as executor,
        progress("tuning", left * len(sources)) as advance,
    ):
        if options.overwrite and state.is_dir():
            shutil.rmtree(state)
        for found in tune(
            decoder,
            sources,
            references,
            _settings(options),
            where=executor or threads,
            state=state,
            identity=identity,
            advance=lambda: advance(1, ""),
        ):
            rounds.append(found)
            say(_row(found, before, names))
            if not found.of:
                _write_rounds(rounds, names, f"{options.output}.rounds.tsv")
            before = found.weights
    best = best_round(rounds)
    write_weights(dict(zip(names, best.weights.tolist(), strict=True)), options.output)
    weights = f"the {'mean ' if best.of else ''}weights of {best.name}"
    say(f"{options.output}: {weights}, {metric} {best.score:.2f} (tokenize none)")


def _check(options: argparse.Namespace) -> None:
    """Raise a SettingsError if an option cannot be; warn of what does nothing."""
    check_settings(_settings(options))
    _warn_of_idle(_settings(options))
    search_settings(options)
    check_elsewhere(options)
    _require_place(options.output)


def _require_place(output: str) -> None:
    """Refuse standard output, pipes and devices."""
    from scfg_sampler.core.files import is_device, is_stream
    from scfg_sampler.errors import SettingsError

    if is_stream(output) or is_device(output):
        raise SettingsError(
            f"--output is {output}, but rounds are kept beside the weights; name a file for them"
        )


def _decoder(options: argparse.Namespace) -> Decoder:
    """The decoder with the weights that tuning begins with."""
    from decoder.grammar.labels import MISMATCH
    from decoder.grammar.weighted import as_weighted
    from decoder.translation.weights import initial_weights, read_weights
    from scfg_sampler.errors import SettingsError

    weights = read_weights(options.initial) if options.initial else None
    grammar, lms = load_models(options)
    if options.soft_labels and grammar.labels is None:
        raise SettingsError("--soft-labels: the grammar has no labels but X")
    soft = initial_weights([MISMATCH]) if options.soft_labels else {}
    if weights is not None:
        weights = soft | weights
    grammar = as_weighted(grammar, lms.vocabularies, soft if weights is None else weights)
    if weights is None:
        names = features_for(options, grammar, len(lms.models))
        weights = initial_weights(names, [each.prefix for each in options.grammar])
    return make_decoder(options, (grammar, lms), weights, search_settings(options), options.initial)


def _require_words(
    lines: Sequence[str], references: Sequence[Sequence[Sequence[str]]], options: argparse.Namespace
) -> None:
    """An InputError if no line of the source, or of the references, has a word: nothing could be learnt."""
    from scfg_sampler.errors import InputError

    hint = "Tuning needs sentences and their translations"
    if not any(map(any, references)):
        raise InputError(", ".join(options.references), None, "has no words", hint)
    if not any(line.strip() for line in lines):
        raise InputError(options.source, None, "has no words", hint)


def _warn_of_unknown_words(
    grammar: Grammar,
    sources: Sequence[Sequence[str]],
    references: Sequence[Sequence[Sequence[str]]],
    options: argparse.Namespace,
) -> None:
    """Warn if more than half of the words of the source, or of the references, are in no rule."""
    from scfg_sampler.core.console import warn

    texts = (
        (options.source, grammar.source_vocabulary, [word for words in sources for word in words]),
        (
            ", ".join(options.references),
            grammar.target_vocabulary,
            [word for each in references for words in each for word in words],
        ),
    )
    for path, vocabulary, words in texts:
        unknown = sum(vocabulary.id(word) < 0 for word in words)
        if 2 * unknown > len(words):
            hint = "are the languages swapped, or is the table another text's?"
            warn(f"{path}: {unknown} of {len(words)} words are in no rule; {hint}")


def _identity(options: argparse.Namespace) -> dict:
    """What a saved round must have been made with to go on from it."""
    from scfg_sampler.core.files import file_digest

    digests = [file_digest(path) for path in options.lm]
    return {
        "grammar": [
            # States of before there were formats name none.
            [file_digest(each.path), each.prefix, each.max_span, *filter(None, [each.file_format])]
            for each in options.grammar
        ],
        # A list where there are several, so that states of before there were stay as they are.
        "lm": digests[0] if len(digests) == 1 else digests,
        "source": file_digest(options.source),
        "references": [file_digest(path) for path in options.references],
        "beam": options.beam,
        "max-targets": options.max_targets,
        "max-span": options.max_span,
        "widen": options.widen,
        # What is new and not asked for leaves rounds as they were.
        **({"search": options.search} if options.search != "boundary" else {}),
        **({"soft-labels": True} if options.soft_labels else {}),
        **({"copy": options.copy} if options.copy != "unknown" else {}),
        **({"expressions": file_digest(options.expressions)} if options.expressions else {}),
        **({"input-words": options.input_words} if options.input_words else {}),
    }


def _settings(options: argparse.Namespace) -> TuneSettings:
    return resolved(TuneSettings(**{name: getattr(options, name) for name in TuneSettings._fields}))


def _warn_of_idle(settings: TuneSettings) -> None:
    """Warn of what was given, but does nothing with the method or the metric."""
    from scfg_sampler.core.console import warn

    of_method = {
        "mira": ("candidates", "kept", "threshold", "l2", "smooth_brevity"),
        "pro": ("passes", "largest_step"),
    }
    idle = dict.fromkeys(of_method[str(settings.method)], f"with --method {settings.method}")
    if settings.metric != "bleu":
        idle["smooth_brevity"] = f"with --metric {settings.metric}"
    if settings.metric != "chrf":
        idle["chrf_beta"] = "without --metric chrf"
    for name, why in idle.items():
        if getattr(settings, name) != TuneSettings._field_defaults[name]:
            option = "plain-brevity" if name == "smooth_brevity" else name.replace("_", "-")
            warn(f"--{option} does nothing {why}")


def _write_rounds(rounds: Sequence[Round], names: Sequence[str], path: str) -> None:
    """Write the rounds so far, a row for each, with all weights; tab-separated."""
    from scfg_sampler.core.files import atomic_output

    with atomic_output(path) as stream:
        stream.write("\t".join(["round", "score", "length", "new", *names]) + "\n")
        for each in rounds:
            weights = "".join(f"\t{weight:.6g}" for weight in each.weights)
            stream.write(
                f"{each.number}\t{each.score:.4f}\t{each.length_ratio:.4f}\t{each.num_new}{weights}\n"
            )


def _row(found: Round, before: np.ndarray, names: Sequence[str]) -> str:
    """What is printed of a round; `before` are the weights of the round before it."""
    changes = abs(found.weights - before)
    most = [i for i in (-changes).argsort(kind="stable")[:4] if changes[i] > 0]
    changed = " ".join(f"{names[i]} {found.weights[i]:+.3f}" for i in most)
    number = " mean" if found.of else f"{found.number:5d}"
    row = f"{number}  {found.score:5.2f}  {found.length_ratio:6.3f}  {found.num_new:6d}"
    return f"{row}  {changed}".rstrip()
