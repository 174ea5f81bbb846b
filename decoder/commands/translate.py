"""`scfg-decoder translate`: translations of the lines of a text."""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from decoder.commands import (
    add_search_options,
    default_threads,
    input_words,
    load_models,
    make_decoder,
    search_settings,
)
from decoder.translation.settings import SEARCHES, SearchDefaults
from scfg_sampler.core.elsewhere import check_elsewhere, elsewhere
from scfg_sampler.core.wording import counted

if TYPE_CHECKING:
    from decoder.commands._forced import Derived
    from decoder.system.system import System
    from decoder.translation.decoder import Decoder
    from decoder.translation.results import SearchResult

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command to the decoder's parser."""
    parser = subparsers.add_parser(
        "translate",
        help="translate text, line by line",
        description=(
            "Reads sentences, one a line, and prints their translations in the same order, each as soon as\n"
            "it is found; an empty line stays empty. With --system, the text is what the system takes: raw\n"
            "text, if it was bundled with a preparation. Lines of more than a hundred words are cut then,\n"
            "but not with --nbest, --mbr, --derivations or --hypergraph, where memory grows with the line.\n"
            "With several --system, each translates every line, and the translation most like what all of\n"
            "them say is printed. With --grammar, --lm and --weights the text is tokenised.\n"
            "With --nbest K, up to K different translations of a line, best first:\n"
            "  LINE ||| translation ||| Feature=value ... ||| score\n"
            "where LINE counts from 0, features are natural logarithms or counts, and the score is the sum\n"
            "of weight times value. With --reference, such rows for the best derivation of each given\n"
            "translation (with --nbest K, of its K best), or\n"
            "  LINE ||| no derivation: which words are to blame"
        ),
        epilog="examples:\n  scfg-decoder translate --grammar grammar.gz --lm en.arpa --weights weights.json "
        "< test.de > test.en\n  scfg-decoder translate --system system < raw.de > raw.en\n"
        "  scfg-decoder translate --system system-sampled --system system-hiero < raw.de > raw.en",
    )
    parser.add_argument(
        "--system",
        action="append",
        metavar="SYSTEM",
        help="a directory that bundle made, instead of the next three; may be given several times, for "
        "systems that agree on a translation",
    )
    parser.add_argument(
        "--agree-scale",
        type=float,
        metavar="A",
        help="with several --system: each has one vote, which it divides among its 50 best translations by "
        "exp(A · score) (default: 0.3)",
    )
    add_search_options(parser, or_system=True)
    parser.add_argument("--weights", metavar="W.json", help="a JSON object, feature to number")
    _add_choices(parser)
    _add_files(parser)
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings")
    parser.writes("--derivations", "--hypergraph")
    parser.writes_within("--hypergraph", r"[0-9]+\.json")
    parser.set_defaults(run=run)


def _add_choices(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which translations are printed."""
    parser.add_argument("--nbest", type=int, metavar="K", help="print lists of up to K translations")
    parser.add_argument(
        "--not-unique",
        action="store_true",
        help="with --nbest, list derivations, even if they spell the same translation",
    )
    parser.add_argument(
        "--predict",
        type=int,
        metavar="N",
        help="with --nbest and --expressions, list up to N expressions more that no derivation found, likely "
        "given the words of the line, and how likely all of them are",
    )
    parser.add_argument(
        "--mbr",
        type=int,
        nargs="?",
        const=100,
        metavar="K",
        help="print the translation most like the K best ones (100 if K is left out): minimum Bayes risk "
        "for BLEU; comparing takes time that grows with K squared",
    )
    parser.add_argument(
        "--markup",
        choices=("xml",),
        help='read <n translation="the house">das haus</n> as words with that translation and no other',
    )
    parser.add_argument(
        "--mbr-scale",
        type=float,
        metavar="A",
        help="with --mbr: probabilities are exp(A · score) (default: 1)",
    )


def _add_files(parser: argparse.ArgumentParser) -> None:
    """Add the options that name files."""
    parser.add_argument(
        "--reference",
        nargs="+",
        action="extend",
        metavar="E",
        help="translations of the input: print the best derivation of each, or why the grammar has none",
    )
    parser.add_argument(
        "--derivations", metavar="FILE", help="write how each best translation was built, as JSON lines"
    )
    parser.add_argument(
        "--hypergraph",
        metavar="FILE",
        help="write all that the search kept, or with --reference all derivations of the translation, a JSON "
        "object a line; in a directory (DIR/), one file a line, and none of further lines, of an older text, "
        "stays",
    )
    parser.add_argument("--input", default="-", metavar="FILE", help="text to translate")
    parser.add_argument("--output", default="-", metavar="FILE", help="where the translations go")


def run(options: argparse.Namespace) -> None:
    """Translate the input and print the results in order."""
    import time

    from decoder.commands._forced import summary
    from decoder.commands._progress import Done, progress_of, say_done
    from scfg_sampler.core.console import say
    from scfg_sampler.core.files import atomic_output, require_file
    from scfg_sampler.core.streams import ordered

    _check(options)
    check_elsewhere(options)
    require_file(options.input)
    task, lines = _task(options)
    threads = default_threads() if options.threads is None else options.threads
    exist: list[bool] = []
    words = unknown = 0
    with contextlib.ExitStack() as stack:
        executor = stack.enter_context(elsewhere(options))
        results = stack.enter_context(ordered(task, executor or threads))
        began = time.perf_counter()
        out = stack.enter_context(atomic_output(options.output))
        trees = stack.enter_context(atomic_output(options.derivations)) if options.derivations else None
        graphs = stack.enter_context(_hypergraphs(options.hypergraph))
        advance = stack.enter_context(progress_of(options.input, options.output, "translating"))
        for found in results(lines):
            out.write(found.text)
            out.flush()
            if trees is not None:
                trees.write(found.tree)
            graphs(len(exist), found.graph)
            exist.append(found.exists)
            words, unknown = words + found.words, unknown + found.unknown
            advance(1, "")
    if options.reference:
        say(summary(exist))
        return
    done = Done(len(exist), words, unknown, time.perf_counter() - began)
    hint = "are the languages swapped, or is the table another text's?"
    say_done(options.input, done, "translated", hint)
    if options.expressions and not all(exist):
        say(f"{counted(exist.count(False), 'line')} without a well-formed expression")


@contextlib.contextmanager
def _hypergraphs(path: str | None) -> Iterator[Callable[[int, str], None]]:
    """What writes the hypergraph of a line with its number: into a file, or files of a directory.

    Those of further lines, of a longer text before, are then removed from the directory.
    """
    import os

    from scfg_sampler.core.files import atomic_output

    if path is None:
        yield lambda number, graph: None
    elif path.endswith("/") or os.path.isdir(path):
        written = 0

        def write(number: int, graph: str) -> None:
            nonlocal written
            written = number + 1
            with atomic_output(os.path.join(path, f"{number}.json")) as out:
                out.write(graph)

        yield write
        _remove_further(path, written)
    else:
        with atomic_output(path) as out:
            yield lambda number, graph: print(graph, end="", file=out)


def _remove_further(directory: str, first: int) -> None:
    """Remove the hypergraphs of lines from `first` on; whatever else is called so, and links, stay."""
    import os
    import re

    from scfg_sampler.core.files import naming

    for entry in os.scandir(directory) if os.path.isdir(directory) else ():
        name = re.fullmatch(r"(0|[1-9][0-9]{0,17})\.json", entry.name)
        if name is None or int(name[1]) < first or not entry.is_file(follow_symlinks=False):
            continue
        with naming(entry.path, None):
            begins = f'{{"sentence": {name[1]}, "source": ['.encode()
            with open(entry.path, "rb") as stream:
                is_ours = stream.read(len(begins)) == begins
            if is_ours:
                os.unlink(entry.path)


def _check(options: argparse.Namespace) -> None:
    """A SettingsError if options have impossible values or do not go together."""
    from decoder.commands._agreeing import check_agreement
    from decoder.search.mbr import check_scale
    from scfg_sampler.errors import SettingsError

    check_agreement(options)
    sizes = (("--nbest", options.nbest), ("--mbr", options.mbr), ("--predict", options.predict))
    for name, size in sizes:
        if size is not None and size < 1:
            raise SettingsError(f"{name} is {size}; it is at least 1")
    if options.nbest is not None and options.mbr is not None:
        raise SettingsError("--mbr gives one translation of a line, so --nbest cannot be given beside it")
    if options.reference and options.mbr is not None:
        raise SettingsError("--reference gives the translations, so --mbr cannot be given beside it")
    if options.reference and options.markup:
        raise SettingsError("--reference gives the translations, so --markup cannot be given beside it")
    if options.expressions:
        for name in ("system", "reference", "derivations", "hypergraph", "markup"):
            if getattr(options, name):
                raise SettingsError(f"--{name} does not go with --expressions; leave out one of them")
    if options.predict is not None and not (options.nbest and options.expressions):
        raise SettingsError("--predict is of lists of expressions; give --nbest and --expressions beside it")
    if options.not_unique and options.nbest is None:
        raise SettingsError("--not-unique is of lists; give --nbest beside it")
    if options.mbr_scale is not None:
        if options.mbr is None:
            raise SettingsError("--mbr-scale goes with --mbr")
        check_scale(options.mbr_scale)


def _parts(options: argparse.Namespace) -> dict[str, object]:
    """The options that name parts of a system, and what each says."""
    return {"--grammar": options.grammar, "--lm": options.lm, "--weights": options.weights}


def _loaded(options: argparse.Namespace) -> list[System]:
    """The systems that the options name."""
    import time

    from decoder.system.bundle import read_system_record
    from decoder.system.system import System, load_system
    from scfg_sampler.core.console import say
    from scfg_sampler.errors import SettingsError

    given = [name for name, value in _parts(options).items() if value is not None]
    if given:
        raise SettingsError(f"--system has all its parts, so {given[0]} cannot be given beside it")
    began = time.perf_counter()
    records = [read_system_record(directory) for directory in options.system]
    systems = []
    for directory, record in zip(options.system, records, strict=True):
        known = SearchDefaults(**record["settings"])
        system = load_system(directory, _search_settings(options, known))
        if options.copy == "any":
            system = System(system.decoder.copying_any(), system.preparation, system.record)
        if system.preparation is not None and options.input_words is not None:
            told = f"--input-words is of words between spaces, but {directory} takes raw text"
            raise SettingsError(f"{told}; leave it out")
        systems.append(system)
    rules = sum(len(system.decoder.grammar.rules) for system in systems)
    of_several = f" of {len(systems)} systems" if len(systems) > 1 else ""
    say(f"{counted(rules, 'rule')}{of_several} loaded in {time.perf_counter() - began:.1f} s")
    return systems


def _system(options: argparse.Namespace) -> System:
    """The system the options are the parts of."""
    from decoder.expressions.decoder import ExpressionDecoder
    from decoder.grammar.weighted import as_weighted
    from decoder.system.system import System
    from decoder.translation.weights import read_weights
    from scfg_sampler.errors import SettingsError

    missing = [name for name, value in _parts(options).items() if value is None]
    if missing:
        raise SettingsError(f"give --system, or --grammar, --lm and --weights; {missing[0]} is missing")
    settings = _search_settings(options)
    weights = read_weights(options.weights)
    options.max_span = settings.max_span
    grammar, lms = load_models(options)
    grammar = as_weighted(grammar, lms.vocabularies, weights)
    decoder = make_decoder(options, (grammar, lms), weights, settings, options.weights)
    if options.predict is not None and isinstance(decoder, ExpressionDecoder):
        decoder = decoder.predicting(options.predict)
    return System(decoder, None, {})


def _search_settings(options: argparse.Namespace, known: SearchDefaults | None = None) -> SearchDefaults:
    """As the options and the system say; guided where both leave it open and the best translation is enough.

    The guided search finds it in less than half the time, but leaves out what lists and forests are made of.
    """
    settings = search_settings(options, known)
    asked_for_more = (
        options.nbest,
        options.mbr,
        options.derivations,
        options.hypergraph,
        options.expressions,
    )
    if options.search is None and settings.search == SEARCHES[0] and not any(asked_for_more):
        return settings._replace(search="guided")
    return settings


def _task(options: argparse.Namespace) -> tuple[Callable, Iterable[tuple[int, str]]]:
    """What is done with a numbered line, and the lines."""
    from decoder.commands._agreeing import agreement_of, translate_agreed
    from decoder.commands._forced import derive_line, reference_task
    from scfg_sampler.core.files import read_lines
    from scfg_sampler.errors import SettingsError

    systems = [_system(options)] if options.system is None else _loaded(options)
    if len(systems) > 1:
        task = functools.partial(translate_agreed, agreement_of(systems, options), options)
        return task, enumerate(read_lines(options.input))
    system = systems[0]
    if options.markup is not None and system.preparation is not None:
        raise SettingsError("--markup takes prepared text; give --grammar, --lm and --weights instead")
    if not options.reference:
        return functools.partial(_translate, system, options), enumerate(read_lines(options.input))
    if system.preparation is not None:
        raise SettingsError("--reference takes prepared text; give --grammar, --lm and --weights instead")
    lines = list(read_lines(options.input))
    return functools.partial(derive_line, reference_task(system.decoder, options, len(lines))), enumerate(
        lines
    )


def _translate(system: System, options: argparse.Namespace, numbered: tuple[int, str]) -> Derived:
    """The output, the derivation and the hypergraph of a line with its number."""
    from decoder.commands._forced import Derived
    from decoder.translation.derivations import derivation_record
    from decoder.translation.hypergraph import hypergraph_record
    from decoder.translation.nbest import nbest_lines

    number, line = numbered
    asked = (options.nbest, options.mbr, options.derivations, options.hypergraph)
    decoder = system.decoder
    prepared = system.prepare(line)
    if system.preparation is None:
        prepared = prepared._replace(words=input_words(options, prepared.words))
    if options.system is not None and not any(each is not None for each in (*asked, options.markup)):
        text = system.translate_prepared(line, prepared).text + "\n"
        return Derived(text, "", True, "", *_count(decoder, prepared.words))
    if options.markup is not None:
        result = _search_marked(decoder, options, line, number)
    else:
        keep_states = options.hypergraph is not None
        result = system.search(prepared, keep_states=keep_states) if prepared.words else None
    if result is None:
        found = [decoder.translate([])]
    elif options.nbest is not None:
        found = decoder.translations(result, options.nbest, unique=not options.not_unique)
    elif options.mbr is not None:
        scale = 1.0 if options.mbr_scale is None else options.mbr_scale
        found = [decoder.minimum_risk(result, options.mbr, scale)]
    else:
        found = [decoder.best(result)]
    texts = [each.text for each in found]
    if system.preparation is not None and result is not None:
        if options.not_unique:
            texts = [system.finish(line, prepared, result, each).text for each in found]
        else:
            listed = system.finish_list(line, prepared, result, found)
            found, texts = [each for each, _ in listed], [finished.text for _, finished in listed]
    if options.nbest is None:
        text = texts[0] + "\n"
    else:
        text = "".join(row + "\n" for row in nbest_lines(number, found, decoder.feature_names, texts))
    tree = graph = ""
    if options.derivations is not None:
        tree = _json_line(derivation_record(decoder, result, found[0], number))
    if options.hypergraph is not None:
        graph = _json_line(hypergraph_record(decoder, result, number))
    exists = bool(found and found[0].words) or not prepared.words
    # Words of a line with markup are not told apart from its tags here.
    return Derived(text, tree, exists, graph, *_count(decoder, [] if options.markup else prepared.words))


def _count(decoder: Decoder, words: list[str]) -> tuple[int, int]:
    """How many words there are, and how many of them are in no rule."""
    vocabulary = decoder.grammar.source_vocabulary
    return len(words), sum(vocabulary.id(word) < 0 for word in words)


def _search_marked(
    decoder: Decoder, options: argparse.Namespace, line: str, number: int
) -> SearchResult | None:
    """The forest of a line with markup; None if it has no words."""
    from decoder.translation.markup import read_marked

    marked = read_marked(line, options.input, number + 1)
    if not marked.words:
        return None
    words, copies = list(marked.words), list(marked.copies)
    for at, word in enumerate(input_words(options, marked.words)):
        if at not in marked.fixed:
            words[at] = copies[at] = word
    keep_states = options.hypergraph is not None
    return decoder.search(words, copies, fixed=marked.fixed, keep_states=keep_states)


def _json_line(record: dict) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"
