"""The commands of `scfg-decoder`, one module each, and the options several of them share."""

from __future__ import annotations

import argparse
import os
import re
from typing import TYPE_CHECKING, NamedTuple

from decoder.translation.settings import SEARCHES, SearchDefaults, check_search_settings
from scfg_sampler.core.elsewhere import add_elsewhere
from scfg_sampler.core.wording import counted
from scfg_sampler.formats import DECODERS, FORMATS

if TYPE_CHECKING:
    from decoder.grammar.trie import Grammar
    from decoder.lm.model import LanguageModels
    from decoder.translation.decoder import Decoder
    from scfg_sampler.rules.table import RuleTable

__all__ = [
    "GrammarOption",
    "TableToBundle",
    "add_search_options",
    "add_search_settings",
    "default_threads",
    "features_for",
    "input_words",
    "load_models",
    "make_decoder",
    "read_any_table",
    "search_settings",
    "table_format",
    "table_option",
    "table_to_bundle",
]

_GRAMMAR_SETTINGS = (
    r"prefix=(?P<prefix>\S+?)|max-span=(?P<max_span>\d{1,9})|"
    rf"format=(?P<file_format>{'|'.join(FORMATS)})"
)


class GrammarOption(NamedTuple):
    """What `--grammar TABLE[,prefix=P][,max-span=N][,format=F]` says."""

    path: str
    prefix: str
    max_span: int | None
    file_format: str | None


class TableToBundle(NamedTuple):
    """The table that is to be bundled.

    table : the path of one that is compiled already
    spelling : the format of the table, whose decoder's language model it may come with
    """

    table: RuleTable | str
    spelling: str


def add_search_options(
    parser: argparse.ArgumentParser,
    *,
    or_system: bool = False,
    defaults: SearchDefaults = SearchDefaults(),  # noqa: B008 - cannot be changed
) -> None:
    """Add the options of every command that translates; with `or_system`, the models may be left out."""
    parser.add_argument(
        "--grammar",
        required=not or_system,
        action="append",
        type=_grammar_option,
        metavar="TABLE",
        help="a rule table, of cdec, Moses, Joshua and Travatar too, or one of compile-grammar; may be given "
        "several times, and as "
        "TABLE,prefix=P to put P before the names of its features, TABLE,max-span=N to give it a span limit "
        f"of its own, TABLE,format=F if its format ({', '.join(FORMATS)}) is not recognised, or was that of "
        "what compile-grammar read",
    )
    parser.add_argument(
        "--lm",
        required=not or_system,
        action="append",
        metavar="LM.arpa",
        help="an ARPA file, may be gzipped, or one of compile-lm; may be given several times, for models "
        "that the weights call LanguageModel, LanguageModel_1, LanguageModel_2 and so on",
    )
    add_search_settings(parser, told_elsewhere=or_system, defaults=defaults)
    parser.add_argument(
        "--copy",
        choices=("unknown", "any"),
        default="unknown",
        help="which words may be copied: those that are no source side by themselves, or, as in cdec and "
        "Joshua, any",
    )
    parser.add_argument(
        "--expressions",
        metavar="M.json",
        help="a model of train-expressions: all translations are well-formed expressions in linear form, and "
        "words that are copied elsewhere are left out",
    )
    parser.add_argument(
        "--input-words",
        choices=("plain", *DECODERS),
        help="how the input, and references, spell brackets, bars and the like: as they are, or escaped for "
        "a decoder (default: as the tables, if all are of one other decoder"
        f"{'; plain with --system' if or_system else ''})",
    )
    parser.add_argument("--threads", type=int, metavar="N", help="sentences at a time (default: all cores)")
    add_elsewhere(parser, any_shards=True)


def add_search_settings(
    parser: argparse._ActionsContainer,
    *,
    told_elsewhere: bool = False,
    defaults: SearchDefaults = SearchDefaults(),  # noqa: B008 - cannot be changed
) -> None:
    """Add the options that say how to search.

    With `told_elsewhere` they are None unless given, for `search_settings`.
    """
    helps = {
        "beam": ("N", "derivations a span of K words may try; 0 for exact search"),
        "widen": (
            "K",
            "let a span of n words try n/K times as many derivations as --beam says, as long spans lose "
            "most; 0 for all spans alike",
        ),
        "max_targets": ("N", "targets tried for a source side; 0 for all"),
        "max_span": ("N", "source words a rule may cover, gaps included"),
        "search": (
            None,
            "cube: cube pruning; boundary: the same, with the language model asked once a sentence what "
            "joining two edges of words costs; guided: of that, what a narrow search finds promising",
        ),
    }
    for name, (metavar, text) in helps.items():
        default = told = getattr(defaults, name)
        if name == "search" and told_elsewhere:
            told = f"{default}; guided if nothing but the best translation is asked for"
        parser.add_argument(
            f"--{name.replace('_', '-')}",
            type=type(default),
            default=None if told_elsewhere else default,
            metavar=metavar,
            choices=SEARCHES if name == "search" else None,
            help=f"{text} (default: {told})" if told_elsewhere else text,
        )


def search_settings(options: argparse.Namespace, defaults: SearchDefaults | None = None) -> SearchDefaults:
    """What the options of `add_search_settings` say, and `defaults` where they say nothing.

    Raises a SettingsError if one is out of range, so that commands can say so before they read anything.
    """
    given = {name: getattr(options, name) for name in SearchDefaults._fields}
    known = SearchDefaults() if defaults is None else defaults
    settings = known._replace(**{name: value for name, value in given.items() if value is not None})
    check_search_settings(settings)
    return settings


def features_for(options: argparse.Namespace, grammar: Grammar, num_models: int) -> tuple[str, ...]:
    """The features that the decoder of the options has weights for."""
    from decoder.expressions.decoder import expression_features
    from decoder.translation.decoder import feature_names

    names = (expression_features if options.expressions else feature_names)(grammar, num_models)
    return (*names, *grammar.sparse_names)


def make_decoder(
    options: argparse.Namespace,
    models: tuple[Grammar, LanguageModels],
    weights: dict[str, float],
    settings: SearchDefaults,
    weights_path: str | None,
) -> Decoder:
    """The decoder of the options."""
    from decoder.expressions.decoder import ExpressionDecoder
    from decoder.expressions.files import read_expressions
    from decoder.translation.decoder import Decoder

    grammar, lms = models
    if options.expressions:
        expressions = read_expressions(options.expressions)
        decoder: Decoder = ExpressionDecoder(expressions, grammar, *lms, weights, settings, weights_path)
    else:
        search = settings._asdict()
        del search["max_span"]  # The grammar's.
        how = search.pop("search")
        decoder = Decoder(grammar, *lms, weights, **search, weights_path=weights_path).searching(how)
    return decoder.copying_any() if options.copy == "any" else decoder


def input_words(options: argparse.Namespace, words: list[str]) -> list[str]:
    """The words of a line of input, spelled as a table is once it has been read."""
    from scfg_sampler.formats.conversion import unescaped

    if options.input_words in (None, "plain"):
        return words
    return [unescaped(word, options.input_words) for word in words]


def default_threads() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def load_models(options: argparse.Namespace) -> tuple[Grammar, LanguageModels]:
    """The grammar and the language models the options name."""
    import time

    from decoder.grammar.file import is_grammar_file, read_grammar_file, with_settings
    from decoder.grammar.trie import GrammarSource, build_grammar
    from decoder.lm.model import load_lms
    from scfg_sampler.core.console import say, warn
    from scfg_sampler.core.files import require_file

    began = time.perf_counter()
    for option in options.grammar:
        require_file(option.path)
    lms = load_lms(options.lm)
    sources = []
    for option in options.grammar:
        max_span = options.max_span if option.max_span is None else option.max_span
        if is_grammar_file(option.path):
            compiled = read_grammar_file(option.path)
            sources.append(GrammarSource(compiled.table, option.prefix, max_span))
        else:
            sources.append(GrammarSource(read_any_table(option), option.prefix, max_span))
    if len(sources) == 1 and is_grammar_file(options.grammar[0].path):
        grammar = with_settings(compiled, *sources[0][1:])
    else:
        grammar = build_grammar(sources)
    for option, each in zip(options.grammar, sources, strict=True):
        if not each.table.num_rules:
            warn(f"{option.path} has no rules; words that no other table knows are copied")
    if grammar.num_unusable:
        unusable = counted(grammar.num_unusable, "rule has", "rules have")
        own = " of their own label, or of one made of it" if grammar.labels else ""
        warn(f"{unusable} a source side without words or other symbols than one nonterminal{own}; not used")
    models = "the language model" if len(lms.models) == 1 else f"{len(lms.models)} language models"
    say(f"{counted(len(grammar.rules), 'rule')} and {models} read in {time.perf_counter() - began:.1f} s")
    spelling = _spelling(options.grammar)
    options.input_words = options.input_words or spelling
    return grammar, lms.spelled(spelling)


def read_any_table(option: GrammarOption) -> RuleTable:
    """The rule table of an option; what other decoders' tables hold beyond rules for X is warned of."""
    from scfg_sampler.core.console import warn
    from scfg_sampler.formats.conversion import loss_message, read_table

    table, left_out = read_table(option.path, table_format(option))
    for reason, number in left_out.items():
        warn(f"{option.path}: left out {loss_message(number, reason)}")
    return table


def table_to_bundle(option: GrammarOption) -> TableToBundle:
    """The table of an option, for `bundle` and the like."""
    from decoder.grammar.file import is_grammar_file

    spelling = table_format(option)
    return TableToBundle(option.path if is_grammar_file(option.path) else read_any_table(option), spelling)


def table_format(option: GrammarOption) -> str:
    """The format of the table of an option, as it says or as the first rule looks."""
    from decoder.grammar.file import is_grammar_file
    from scfg_sampler.core.files import is_stream
    from scfg_sampler.errors import RuleTableError
    from scfg_sampler.formats.conversion import detect_format

    if option.file_format is not None:
        return option.file_format
    if is_stream(option.path) or is_grammar_file(option.path):
        return "native"
    try:
        return detect_format(option.path, "native")
    except RuleTableError:
        return "native"  # The reader of our own format says what is wrong.


def _spelling(options: list[GrammarOption]) -> str:
    """How the input is spelled: as the tables, if all are of one other decoder."""
    formats = {table_format(option) for option in options}
    return formats.pop() if len(formats) == 1 and formats <= set(DECODERS) else "plain"


def table_option(text: str) -> GrammarOption:
    """What `TABLE[,format=F]` says, where no other setting of a table can be."""
    option = _grammar_option(text)
    if option.prefix or option.max_span is not None:
        raise argparse.ArgumentTypeError(f"{text!r} has settings of translate; here TABLE,format=F is all")
    return option


def _grammar_option(text: str) -> GrammarOption:
    path, settings = text, dict[str, str]()
    while match := re.fullmatch(rf"(.+),(?:{_GRAMMAR_SETTINGS})", path):
        path = match[1]
        settings.update((name, value) for name, value in match.groupdict().items() if value)
    max_span = int(settings["max_span"]) if "max_span" in settings else None
    return GrammarOption(path, settings.get("prefix", ""), max_span, settings.get("file_format"))
