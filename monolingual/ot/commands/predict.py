"""`ot predict`: how often each candidate wins."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from monolingual.ot.commands import add_pair_distribution, load_tableaux, print_predictions
from scfg_sampler.core import console
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import SettingsError

if TYPE_CHECKING:
    import numpy as np

    from monolingual.ot.praat import PraatGrammar
    from monolingual.ot.tableaux import Tableaux

__all__ = ["add_parser", "praat_source", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "predict",
        help="predicted beside observed frequencies",
        description="The exact probability of every candidate under the grammar of a run of 'sample' (at the "
        "medians of the posterior), 'fit', 'gla' or 'maxent', or of Praat, beside what was observed. A "
        "grammar of Praat is evaluated as Praat does, by its decision strategy, but without sampling; "
        "TABLEAUX may then be left out.",
        epilog="examples:\n  scfg-monolingual ot predict run tableaux.tsv --json\n"
        "  scfg-monolingual ot predict learnt.OTGrammar --noise 2 --pair-distribution heard.PairDistribution",
    )
    parser.add_argument(
        "grammar", metavar="RUN", help="run directory, or its summary.json, or an OTGrammar of Praat"
    )
    parser.add_argument(
        "tableaux",
        metavar="TABLEAUX",
        nargs="?",
        help="as in the other commands; by default those of Praat's",
    )
    add_pair_distribution(parser)
    group = parser.add_argument_group("grammars of Praat")
    group.add_argument(
        "--noise", metavar="S", type=float, help="evaluation noise (default: 2; 0 for maximum entropy)"
    )
    group.add_argument(
        "--given-fixed-rankings",
        action="store_true",
        help="the probabilities given that the fixed rankings hold in the evaluation; without it they bind "
        "learning alone, as in Praat",
    )
    parser.add_argument(
        "--at",
        choices=("median", "mean", "mode", "draws"),
        default="median",
        help="of the posterior of 'sample'; draws: the predictions themselves, averaged",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print the predictions."""
    from monolingual.ot.grammar import prediction_record

    praat = praat_source(options.grammar)
    if praat is None and (options.noise is not None or options.given_fixed_rankings):
        raise SettingsError("--noise and --given-fixed-rankings are for grammars of Praat")
    if praat is None and options.tableaux is None:
        raise SettingsError("TABLEAUX is missing; only a grammar of Praat has its own")
    probs, tableaux = _of_run(options) if praat is None else _of_praat(options, praat)
    print_predictions(prediction_record(tableaux, probs), options.json)


def praat_source(path: str) -> PraatGrammar | None:
    """The grammar in a file of Praat; None if the path is a run directory or another file."""
    from pathlib import Path

    from monolingual.ot.praat import parse_grammar, read_text

    if not Path(path).is_file():
        return None
    text = read_text(path)
    return parse_grammar(path, text.lines) if text.is_praat else None


def _of_praat(options: argparse.Namespace, source: PraatGrammar) -> tuple[np.ndarray, Tableaux]:
    """The probabilities of the candidates under a grammar of Praat, and the tableaux."""
    from monolingual.ot.formats import read_tableaux
    from monolingual.ot.grammar import aligned, praat_grammar, predict
    from monolingual.ot.praat import with_pairs

    if options.at != "median":
        raise SettingsError(
            f"--at {options.at} needs a run of 'ot sample'; {options.grammar} is a single grammar"
        )
    tableaux = source.tableaux
    if options.tableaux is not None:
        tableaux = read_tableaux(options.tableaux, options.pairs)
    elif options.pairs is not None:
        tableaux = with_pairs(tableaux, options.pairs)
    grammar = aligned(praat_grammar(source, options.noise, options.grammar), tableaux, options.grammar)
    given = []
    if options.given_fixed_rankings:
        if grammar.model != "stochastic-ot":
            raise SettingsError(f"--given-fixed-rankings is for OptimalityTheory, not {source.strategy}")
        names = [source.tableaux.constraints[at] for pair in source.fixed_rankings for at in pair]
        places = [tableaux.constraints.index(name) for name in names if name in tableaux.constraints]
        if len(places) < len(names):
            raise SettingsError("--given-fixed-rankings: the tableaux lack a constraint of a fixed ranking")
        given = [(frozenset([a]), frozenset([b])) for a, b in zip(places[::2], places[1::2], strict=True)]
    elif source.fixed_rankings:
        number = len(source.fixed_rankings)
        bind = f"{counted(number, 'fixed ranking')} {'binds' if number == 1 else 'bind'}"
        console.say(f"{bind} learning alone, as in Praat; see --given-fixed-rankings")
    console.say(f"decision strategy {source.strategy}, evaluation noise {grammar.deviation.max():g}")
    return predict(grammar, tableaux, given), tableaux


def _of_run(options: argparse.Namespace) -> tuple[np.ndarray, Tableaux]:
    """The probabilities of the candidates under the grammar of a run, and the tableaux."""
    import numpy as np

    from monolingual.ot.comparison import mean_prediction
    from monolingual.ot.grammar import aligned, predict, read_summary

    tableaux = load_tableaux(options)
    grammar, summary = read_summary(options.grammar)
    if options.at != "median" and "median" not in summary:
        raise SettingsError(
            f"--at {options.at} needs a run of 'ot sample'; {options.grammar} is a single grammar"
        )
    if options.at == "draws":
        return mean_prediction(options.grammar, tableaux), tableaux
    if options.at != "median":
        key = "modes" if options.at == "mode" else "mean"
        points = [summary[key][name] for name in grammar.constraints]
        grammar = grammar._replace(value=np.array([p[0] if key == "modes" else p for p in points]))
    return predict(aligned(grammar, tableaux, options.grammar), tableaux), tableaux
