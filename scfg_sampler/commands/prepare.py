"""`prepare`: a data directory from raw parallel text."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any

from scfg_sampler.core import console
from scfg_sampler.core.limits import require_seed
from scfg_sampler.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scfg_sampler.preparation.cleaning import Limits
    from scfg_sampler.preparation.directory import GivenSets, Report
    from scfg_sampler.preparation.learning import SegmentationSettings
    from scfg_sampler.preparation.readers import Pair

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "prepare",
        help="make a data directory from raw parallel text",
        description="Read raw parallel text, leave out what cannot be used, split off a development and a "
        "test set that share no sentence with the training text, and segment everything. DIR gets train.xx, "
        "train.yy, dev.xx, …, the sets as they were in raw/, and preparation.json, which keeps what is "
        "needed to do the same to new text and to undo it on translations.",
        epilog="examples:\n  scfg-sampler prepare --source corpus.de --target corpus.en --output data\n"
        "  scfg-sampler prepare --tsv pairs.tsv --columns 2,1 --languages zh,en --segment subwords:4000 "
        "--output data\n  scfg-sampler prepare --tmx memory.tmx.gz --languages fr,en --output data",
    )
    _add_input(parser)
    parser.add_argument("--output", metavar="DIR", required=True, help="the data directory")
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="replace an older preparation there, and remove what align wrote beside another training text",
    )
    _add_sets(parser)
    _add_segmentation(parser)
    _add_limits(parser)
    parser.add_argument("--seed", type=int, default=1, help="of the split")
    parser.add_argument("--verbose", action="store_true", help="show examples of what is left out")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def _add_input(parser: argparse.ArgumentParser) -> None:
    text = parser.add_argument_group("raw text (.gz is read too)")
    text.add_argument("--source", metavar="F", help="source sentences, one a line")
    text.add_argument("--target", metavar="E", help="their translations, line by line")
    text.add_argument("--tsv", metavar="FILE", help="both in one file, in columns between tabs")
    text.add_argument(
        "--columns",
        metavar="I,J",
        help="source and target column, from 1, or as the first line calls them (default: 1,2)",
    )
    text.add_argument("--tmx", metavar="FILE", help="both in a translation memory; needs --languages")
    text.add_argument(
        "--languages", metavar="XX,YY", help="source and target language; by default the files' suffixes"
    )
    text.add_argument("--source-language", metavar="XX", help="the same, one by one")
    text.add_argument("--target-language", metavar="YY")
    text.add_argument(
        "--monolingual",
        metavar="FILE",
        nargs="+",
        action="extend",
        default=[],
        help="more text in the target language, for the language model: monolingual.yy",
    )


def _add_sets(parser: argparse.ArgumentParser) -> None:
    sets = parser.add_argument_group("development and test set")
    for name in ("dev", "test"):
        sets.add_argument(
            f"--{name}",
            type=int,
            metavar="N",
            help="how many source sentences; 0 for none (default: a tenth, at most 500, and at most a "
            "quarter of those that may be drawn)",
        )
        sets.add_argument(f"--{name}-source", metavar="F", help="or a set of your own, …")
        sets.add_argument(
            f"--{name}-target", metavar="E", nargs="+", action="extend", help="… and its references"
        )


def _add_segmentation(parser: argparse.ArgumentParser) -> None:
    ways = parser.add_argument_group("segmentation, learnt from the training part alone")
    ways.add_argument(
        "--segment",
        metavar="HOW",
        default="words",
        help="words, by sacremoses; subwords:N, N pieces by sentencepiece, or subwords:N,M for another "
        "number on the target side; none, for text whose words stand between spaces; or two of them for "
        "source and target, as in words,subwords:4000. Scripts without spaces get subwords where "
        "words are asked for",
    )
    ways.add_argument("--joint", action="store_true", help="one set of subwords for both languages")
    ways.add_argument(
        "--subword-model", choices=("unigram", "bpe"), help="of sentencepiece (default: unigram)"
    )
    ways.add_argument(
        "--rules",
        metavar="XX=YY",
        action="append",
        default=[],
        help="tell words of language XX apart by sacremoses's rules for YY",
    )
    ways.add_argument(
        "--apostrophes",
        metavar="XX",
        action="append",
        default=[],
        help="in language XX an apostrophe between two letters, or before a word where none closes, is a "
        "letter: ng'ombe, p'isi, м'ята, 'yan",
    )
    ways.add_argument(
        "--case",
        choices=("lower", "true", "keep"),
        default="true",
        help="small letters; at the beginning of sentences, the form a word has elsewhere; or as it is",
    )


def _add_limits(parser: argparse.ArgumentParser) -> None:
    limits = parser.add_argument_group("what is left out of the training text")
    limits.add_argument("--max-characters", type=int, default=600, metavar="N", help="longer sides; 0: none")
    limits.add_argument(
        "--max-words",
        type=int,
        default=100,
        metavar="N",
        help="the same, in words, or pieces of them; 0: none",
    )
    limits.add_argument(
        "--max-ratio",
        type=float,
        default=4.0,
        metavar="R",
        help="pairs whose lengths, in relation to those of all text, differ by more; 0: none",
    )
    limits.add_argument("--keep-same", action="store_true", help="not: pairs whose sides are the same")
    limits.add_argument("--keep-doubled", action="store_true", help="not: pairs that were there before")


def run(options: argparse.Namespace) -> None:
    """Prepare, and say how many pairs were left out for which reason."""
    from scfg_sampler.preparation.directory import (
        SplitSettings,
        prepare,
        refuse_file,
        refuse_occupied,
        refuse_own_files,
    )

    require_seed(options.seed)
    settings = _settings(options)
    _warn_of_idle(settings)
    refuse_file(options.output)
    refuse_own_files(options.output, settings.languages, _files_read(options))
    if not options.overwrite:
        refuse_occupied(options.output, [f"train.{language}" for language in settings.languages])
    given, limits = _given_sets(options), _limits(options)
    pairs, origin = _input(options, settings.languages)
    splitting = SplitSettings(options.dev, options.test, options.seed)
    report = prepare(
        pairs, options.output, settings, limits, splitting, given, origin, overwrite=options.overwrite
    )
    cut = [side.segmenter.record()["kind"] for side in (report.preparation.source, report.preparation.target)]
    if options.subword_model is not None and "subwords" not in cut:
        console.warn("--subword-model does nothing: no side is cut into subwords")
    _warn_of_subwords(settings, cut)
    _say(report, options)


def _files_read(options: argparse.Namespace) -> list[str]:
    """All files that the options name."""
    lists = (options.dev_target, options.test_target, options.monolingual)
    single = (
        options.source,
        options.target,
        options.tsv,
        options.tmx,
        options.dev_source,
        options.test_source,
    )
    return [
        path for path in (*single, *(path for paths in lists for path in paths or ())) if path is not None
    ]


def _settings(options: argparse.Namespace) -> SegmentationSettings:
    from scfg_sampler.preparation.learning import SegmentationSettings, parse_segmentation

    rules = _rules(options.rules)
    segment = parse_segmentation(options.segment)
    if options.subword_model is not None and all(side.kind == "none" for side in segment):
        raise SettingsError("--subword-model is for --segment subwords:N, or words")
    return SegmentationSettings(
        _languages(options),
        segment,
        options.joint,
        options.subword_model or "unigram",
        options.case,
        rules,
        tuple(options.apostrophes),
    )


def _said_of_languages(settings: SegmentationSettings) -> list[tuple[str, str]]:
    """Options that say how words of one language are told apart, with it."""
    said = [("--rules", language) for language in settings.rules]
    return said + [("--apostrophes", language) for language in settings.apostrophes]


def _warn_of_idle(settings: SegmentationSettings) -> None:
    """Warn of what is said of a language whose words are told apart otherwise, or that is not there."""
    cut = dict(zip(settings.languages, settings.segment, strict=True))
    for option, language in _said_of_languages(settings):
        if language not in cut:
            known = " and ".join(settings.languages)
            console.warn(f"{option} of {language!r} does nothing: the languages are {known}")
        elif cut[language].kind != "words":
            console.warn(f"{option} of {language!r} does nothing without --segment words")


def _warn_of_subwords(settings: SegmentationSettings, cut: list[str]) -> None:
    """Warn of what is said of a language that got subwords instead of words.

    cut : what the text of each side was cut into
    """
    pieces = {
        language
        for language, asked, found in zip(settings.languages, settings.segment, cut, strict=True)
        if asked.kind == "words" and found == "subwords"
    }
    for option, language in _said_of_languages(settings):
        if language in pieces:
            why = "its script has no spaces, and it is cut into subwords"
            console.warn(f"{option} of {language!r} does nothing: {why}")


def _limits(options: argparse.Namespace) -> Limits:
    from scfg_sampler.preparation.cleaning import Limits

    return Limits(
        options.max_characters, options.max_words, options.max_ratio, options.keep_same, options.keep_doubled
    )


def _rules(texts: list[str]) -> dict[str, str]:
    """Whose rules tell the words of a language apart, by language."""
    found: dict[str, str] = {}
    for text in texts:
        language, equals, rules = text.partition("=")
        if not language or not equals or not rules:
            raise SettingsError(f"--rules is {text!r}, but must name two languages, such as --rules nn=sv")
        if found.setdefault(language, rules) != rules:
            twice = f"as {found[language]!r} and as {rules!r}"
            raise SettingsError(f"--rules names {language!r} twice, {twice}: leave one out")
    return found


def _languages(options: argparse.Namespace) -> tuple[str, str]:
    """The languages the options name, or the suffixes of the files."""
    found = [options.source_language, options.target_language]
    if options.languages is not None:
        parts = options.languages.split(",")
        if len(parts) != 2 or any(found):
            raise SettingsError(
                "--languages names two languages, such as --languages fr,en, and stands for itself"
            )
        found = parts
    for side, path in enumerate((options.source, options.target)):
        if found[side] is None and path is not None:
            suffix = re.search(r"\.([A-Za-z][\w-]*)$", str(path).removesuffix(".gz"))
            found[side] = suffix[1] if suffix and suffix[1] != "txt" else None
    if None in found:
        raise SettingsError("the languages are not clear from the files: name them, as in --languages fr,en")
    if found[0] == found[1]:
        raise SettingsError(
            f"both languages are called {found[0]!r}: give them different names, as in --languages fr,en"
        )
    for language in found:
        if not re.fullmatch(r"[\w-]+", language):
            raise SettingsError(f"a language is called {language!r}, but must be letters, digits and hyphens")
    return found[0], found[1]


def _input(options: argparse.Namespace, languages: tuple[str, str]) -> tuple[Iterable[Pair], dict[str, Any]]:
    """The pairs, and what to remember of where they come from."""
    from scfg_sampler.preparation.readers import check_columns, read_pairs, read_tmx, read_tsv

    both = (options.source is not None) + (options.target is not None)
    ways = [both > 0, options.tsv is not None, options.tmx is not None]
    if sum(ways) != 1 or both == 1:
        raise SettingsError("give --source and --target, or --tsv, or --tmx")
    if options.columns is not None and not ways[1]:
        raise SettingsError("--columns is for --tsv")
    if ways[0]:
        pairs: Iterable[Pair] = read_pairs(options.source, options.target)
        return pairs, {"source": str(options.source), "target": str(options.target)}
    if ways[1]:
        columns = check_columns("1,2" if options.columns is None else options.columns)
        return read_tsv(options.tsv, columns), {"source": str(options.tsv), "columns": list(columns)}
    return read_tmx(options.tmx, languages), {"source": str(options.tmx)}


def _given_sets(options: argparse.Namespace) -> GivenSets:
    """The sets that are given as files."""
    from scfg_sampler.core.files import require_file
    from scfg_sampler.preparation.directory import GivenSets, read_set

    sets = []
    for name in ("dev", "test"):
        size = getattr(options, name)
        files = [getattr(options, f"{name}_source"), getattr(options, f"{name}_target")]
        if (files[0] is None) != (files[1] is None):
            raise SettingsError(f"--{name}-source and --{name}-target are given together")
        if files[0] is not None and size is not None:
            raise SettingsError(f"--{name} draws a set, so --{name}-source cannot be given beside it")
        if size is not None and size < 0:
            raise SettingsError(f"--{name} is {size}; it is at least 0")
        sets.append(read_set(files[0], files[1]) if files[0] is not None else None)
    for path in options.monolingual:
        require_file(path)
    return GivenSets(sets[0], sets[1], tuple(options.monolingual))


def _say(report: Report, options: argparse.Namespace) -> None:
    from scfg_sampler.preparation.cleaning import REASONS

    console.say(f"{report.read:9,d}  pairs read")
    for reason, number in report.cleaned.counts.items():
        if number:
            console.say(f"{-number:9,d}  {REASONS[reason]}")
        for pair in report.cleaned.examples[reason] if options.verbose else ():
            console.say(f"{'':11}line {pair.line}: {_shown(pair.source)} ||| {_shown(pair.target)}")
    for name, lines in report.sizes.items():
        if not name.startswith("raw/"):
            console.say(f"{lines:9,d}  {options.output}/{name}")
    for name in report.removed:
        console.warn(f"{options.output}/{name} is removed: it aligned text that was there before")


def _shown(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "…"
