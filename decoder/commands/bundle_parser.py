"""`scfg-decoder bundle-parser`: everything that parsing takes, in one directory."""

from __future__ import annotations

import argparse

from decoder.commands import add_search_settings, table_option
from scfg_sampler.core.wording import counted

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command to the decoder's parser."""
    parser = subparsers.add_parser(
        "bundle-parser",
        help="gather what parsing questions takes in one directory",
        description=(
            "Compiles the rule table and the language model and puts them into the directory PARSER with\n"
            "the weights, the model of expressions, and the ranker, if there is one. The directory can be\n"
            "moved; parse says so when a part is missing, damaged or of another version. How questions are\n"
            "cut and expressions written, and whether any word may be left out, must be as it was when\n"
            "grammar, weights and ranker were learnt."
        ),
        epilog="example:\n  scfg-decoder bundle-parser --grammar typed.gz --lm lm.arpa --weights w.json \\\n"
        "    --expressions model.json --ranker ranker.json --copy any --letters 5 --output parser\n"
        "  scfg-decoder parse --parser parser < questions.txt",
    )
    parser.add_argument(
        "--grammar",
        required=True,
        type=table_option,
        metavar="TABLE",
        help="a rule table, as for translate, or a compiled one; TABLE,format=F as there",
    )
    parser.add_argument(
        "--lm",
        required=True,
        action="append",
        metavar="LM.arpa",
        help="an ARPA file or a compiled model of expressions in linear form; may be given several times",
    )
    parser.add_argument("--weights", required=True, metavar="W.json", help="of tune --expressions")
    parser.add_argument("--expressions", required=True, metavar="M.json", help="a model of train-expressions")
    parser.add_argument(
        "--ranker", metavar="R.json", help="of train-ranker; without it, the best derivation is taken"
    )
    _add_reading(parser)
    parser.add_argument(
        "--output",
        required=True,
        metavar="PARSER",
        help="the directory; an older parser there is replaced, unless it holds other files, too",
    )
    search = parser.add_argument_group("how the parser will search")
    add_search_settings(search)
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings")
    parser.set_defaults(run=run)


def _add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how questions are read, and among what is chosen."""
    reading = parser.add_argument_group("how questions are read, and expressions written")
    reading.add_argument(
        "--form",
        choices=("funql", "lisp", "sql"),
        help="how expressions are written (default: as the model of expressions says)",
    )
    reading.add_argument(
        "--letters",
        type=int,
        default=0,
        metavar="N",
        help="what words of questions are cut after, but for the ranker; 0: nothing; 5 in recipes/meaning.sh",
    )
    reading.add_argument(
        "--copy", choices=("unknown", "any"), default="unknown", help="which words may be left out"
    )
    reading.add_argument(
        "--candidates",
        type=int,
        metavar="N",
        help="with --ranker: expressions that it chooses among (default: 100)",
    )
    reading.add_argument(
        "--predict",
        type=int,
        default=0,
        metavar="N",
        help="expressions more that no derivation found, as in the lists of translate that the ranker has "
        "learnt of",
    )


def run(options: argparse.Namespace) -> None:
    """Compile the parts and put them together."""
    from decoder.commands import search_settings, table_to_bundle
    from decoder.expressions.parser import Reading
    from decoder.expressions.parser_files import ParserParts, write_parser
    from scfg_sampler.core.console import say
    from scfg_sampler.core.files import require_file
    from scfg_sampler.errors import SettingsError

    if options.candidates is not None and options.ranker is None:
        raise SettingsError("--candidates is what a ranker chooses among; give --ranker beside it")
    for path in (options.grammar.path, *options.lm, options.weights):
        require_file(path)
    table, spelling = table_to_bundle(options.grammar)
    models = (table, options.lm, options.weights)
    parts = ParserParts(*models, options.expressions, options.ranker, spelling, options.grammar.path)
    candidates = 100 if options.candidates is None else options.candidates
    reading = Reading(options.form, options.letters, options.copy == "any", candidates, options.predict)
    record = write_parser(parts, options.output, reading, search_settings(options))
    size = sum(entry["bytes"] for entry in record["files"].values())
    ranked = "a ranker" if record["ranker"] else "no ranker"
    say(f"{options.output}: {counted(record['grammar']['rules'], 'rule')} and {ranked}, {size / 1e6:.1f} MB")
