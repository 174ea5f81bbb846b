"""`scfg-decoder train-expressions`: a model of functional expressions."""

from __future__ import annotations

import argparse

from scfg_sampler.core.wording import counted

__all__ = ["add_parser", "read_pairs", "run"]


def add_parser(subparsers) -> None:
    """Add the command to the decoder's parser."""
    parser = subparsers.add_parser(
        "train-expressions",
        help="learn which expressions there are",
        description=(
            "Learns from sentences and their expressions, in the linear form of linearise, which symbol\n"
            "takes which arguments, which words of a sentence speak for which symbols, and how likely an\n"
            "expression is, given the words. With such a model, translate and tune give well-formed\n"
            "expressions only, and translate --predict likely ones that no rule writes. Phrases are names\n"
            "and what they stand for: they say where a constant may be, and of which kind a name is."
        ),
        epilog="example:\n  scfg-decoder train-expressions --source train.en --target train.mr "
        "--phrases phrases.en \\\n    --phrase-targets phrases.mr --output model.json",
    )
    parser.add_argument("--source", required=True, metavar="F", help="sentences, tokenised")
    parser.add_argument("--target", required=True, metavar="E", help="their expressions in linear form")
    parser.add_argument("--phrases", metavar="F", help="names, one a line")
    parser.add_argument("--phrase-targets", metavar="E", help="their expressions in linear form")
    parser.add_argument(
        "--form",
        choices=("funql", "lisp", "sql"),
        default="funql",
        help="what the expressions are to be written in; with sql, trees that are no query, or use a table "
        "that their FROM does not have, are left out of what is translated",
    )
    parser.add_argument("--output", required=True, metavar="M.json", help="where the model goes")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Learn and write."""
    from decoder.expressions.files import Expressions, write_expressions
    from decoder.expressions.model import count_arguments
    from decoder.expressions.names import kinds_of_names
    from decoder.expressions.tree_model import train_tree_model
    from decoder.expressions.words import train_lexicon
    from scfg_sampler.core.console import say
    from scfg_sampler.errors import SettingsError

    if (options.phrases is None) != (options.phrase_targets is None):
        raise SettingsError("--phrases and --phrase-targets go together; one of them is missing")
    sources, trees = read_pairs(options.source, options.target, options.form)
    _warn_of_lost_tables(trees, options)
    _warn_of_many_arguments(trees, options)
    phrases: list[list[str]] = []
    phrase_trees: list[list[str]] = []
    if options.phrases is not None:
        phrases, phrase_trees = read_pairs(options.phrases, options.phrase_targets)
    arguments = count_arguments(trees, phrase_trees)
    names = kinds_of_names(phrases, phrase_trees)
    lexicon = train_lexicon(sources, trees, names)
    model = train_tree_model(sources, trees, arguments, names)
    write_expressions(Expressions(arguments, lexicon, options.form, model), options.output)
    symbols = len(arguments.symbols)
    say(
        f"{counted(symbols, 'symbol')} in {counted(len(trees), 'expression')} and "
        f"{counted(len(phrases), 'phrase')}"
    )


def _warn_of_lost_tables(trees: list[list[str]], options: argparse.Namespace) -> None:
    """Queries that use a table of no FROM can be learnt from, but not come out."""
    from decoder.expressions.forms import is_sound
    from scfg_sampler.core.console import warn

    lost = [number for number, words in enumerate(trees, start=1) if not is_sound(words, options.form)]
    if lost:
        warn(
            f"{options.target}: {len(lost)} of {counted(len(trees), 'query', 'queries')}, the first in line "
            f"{lost[0]}, {'uses' if len(lost) == 1 else 'use'} a table that is in no FROM; such queries are "
            "left out of translations"
        )


def _warn_of_many_arguments(trees: list[list[str]], options: argparse.Namespace) -> None:
    """Symbols of more arguments than a shape has room for are in no derivation."""
    from decoder.expressions.forms import arity_of
    from decoder.expressions.intersection import LONGEST
    from scfg_sampler.core.console import warn

    wide = {
        number: word
        for number, words in enumerate(trees, start=1)
        for word in words
        if (arity_of(word) or 0) > LONGEST
    }
    if wide:
        first = min(wide)
        warn(
            f"{options.target}: {len(wide)} of {counted(len(trees), 'expression')}, the first in line "
            f"{first}, {'has' if len(wide) == 1 else 'have'} a symbol of more than {LONGEST} arguments "
            f"({wide[first]}); no derivation has such symbols, only predictions do"
        )


def read_pairs(source: str, target: str, form: str = "funql") -> tuple[list[list[str]], list[list[str]]]:
    """The words of two files, line by line the same; of expressions, an InputError if one is not whole.

    With a form, one of `decoder.expressions.forms.FORMS`, they must be possible to write in it.
    """
    from decoder.expressions.forms import from_linear, write
    from scfg_sampler.core.arrays.vocabulary import split_words
    from scfg_sampler.core.files import read_lines
    from scfg_sampler.errors import InputError

    sources = [split_words(line) for line in read_lines(source)]
    trees = [split_words(line) for line in read_lines(target)]
    if len(sources) != len(trees):
        hint = "Line i of one is the expression of line i of the other"
        raise InputError(
            target, None, f"{counted(len(trees), 'line')}, but {source} has {len(sources)}", hint
        )
    if not trees:
        raise InputError(target, None, "has no lines", "Give at least one expression")
    for number, words in enumerate(trees, start=1):
        expression = from_linear(words)
        if expression is None:
            found = f"not an expression in linear form: {' '.join(words)[:60]}"
            raise InputError(target, number, found, "Make it with scfg-decoder linearise")
        if write(expression, form) is None:
            found = f"not a query in linear form: {' '.join(words)[:60]}"
            raise InputError(target, number, found, f"Make it with scfg-decoder linearise --form {form}")
    return sources, trees
