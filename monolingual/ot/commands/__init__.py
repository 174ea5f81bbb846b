"""The commands of `scfg-monolingual ot`, one module each, and what several of them share."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scfg_sampler.core import console, parsers
from scfg_sampler.errors import SettingsError

if TYPE_CHECKING:
    from monolingual.ot.grammar import Grammar
    from monolingual.ot.tableaux import Tableaux

__all__ = [
    "COMMANDS",
    "add_a_priori",
    "add_pair_distribution",
    "add_parser",
    "add_tableaux",
    "index_of",
    "load_a_priori",
    "load_tableaux",
    "named_pair",
    "print_predictions",
    "print_table",
    "refuse_saved",
    "save_grammar",
]

COMMANDS: tuple[str, ...] = (
    "orderings",
    "rank",
    "typology",
    "sample",
    "resume",
    "fit",
    "gla",
    "maxent",
    "predict",
    "compare",
    "plot",
    "report",
    "convert",
)
"""Modules of this package, in the order of the help."""


def add_parser(subparsers) -> None:
    """Add the model and its commands."""
    parser: parsers.Parser = subparsers.add_parser(
        "ot",
        help="Stochastic Optimality Theory",
        description="Learn Stochastic OT grammars from tableaux: the posterior by Gibbs sampling (Lin 2005), "
        "the maximum-likelihood grammar, and the older learners beside them.",
        epilog="example:\n  scfg-monolingual ot sample tableaux.tsv --output run\n"
        "  scfg-monolingual ot predict run tableaux.tsv",
    )
    parsers.add_commands(parser, __name__, COMMANDS)


def add_tableaux(parser: parsers.Parser) -> None:
    """Add the tableaux and their frequencies."""
    parser.add_argument(
        "tableaux",
        metavar="TABLEAUX",
        help="text with tabs or commas between columns, OTSoft or Praat OTGrammar; .gz is read too, - is "
        "standard input; sample, fit and gla also learn from an overt column: see the documentation",
    )
    add_pair_distribution(parser)


def add_pair_distribution(parser: parsers.Parser) -> None:
    """Add the file of frequencies that lies beside tableaux of Praat."""
    text = "frequencies: a PairDistribution of Praat"
    parser.add_argument("--pair-distribution", dest="pairs", metavar="FILE", help=text)


def load_tableaux(options: argparse.Namespace, command: str | None = None) -> Tableaux:
    """The tableaux that the options name, to be learnt from; warns of what a file of Praat holds besides.

    With the name of a command, tableaux with overt forms are refused, as that command makes nothing of them.
    """
    tableaux, fixed, _ = _load(options, command)
    if fixed:
        names = tableaux.constraints
        pairs = ", ".join(f"{names[a]} above {names[b]}" for a, b in fixed)
        console.warn(f"{options.tableaux}: its fixed rankings ({pairs}) are not made use of")
    return tableaux


def _load(
    options: argparse.Namespace, command: str | None
) -> tuple[Tableaux, Sequence[tuple[int, int]], tuple[str, ...]]:
    """The tableaux, the fixed rankings of a file of Praat, and the abbreviations of one of OTSoft."""
    from monolingual.ot.formats import read_source
    from monolingual.ot.tableaux import refuse_overt

    source = read_source(options.tableaux, options.pairs)
    if command is not None:
        refuse_overt(source.tableaux, command)
    fixed = () if source.grammar is None else source.grammar.fixed_rankings
    return source.tableaux, fixed, source.abbreviations


def add_a_priori(parser: argparse.ArgumentParser) -> None:
    """Add rankings that hold whatever the data say."""
    parser.add_argument(
        "--a-priori",
        metavar="NAME>NAME",
        action="append",
        default=[],
        help="the first constraint is above the second, whatever the data say; may be given several times "
        "(default: the fixed rankings of an OTGrammar)",
    )
    parser.add_argument(
        "--a-priori-table",
        metavar="FILE",
        help="the same from a table of OTSoft: the constraint of a line is above those of marked columns",
    )


def load_a_priori(
    options: argparse.Namespace, command: str | None = None
) -> tuple[Tableaux, tuple[tuple[int, int], ...]]:
    """The tableaux, as `load_tableaux` has them, and pairs of constraints of which the first is to be above.

    Raises
    ------
    SettingsError
        An option of `add_a_priori` names no two constraints, or no ranking obeys all pairs.
    InputError
        A table of such rankings cannot be read.
    """
    from monolingual.ot.a_priori import read_a_priori
    from monolingual.ot.demotion import demote

    tableaux, fixed, abbreviations = _load(options, command)
    given = [named_pair(tableaux, "--a-priori", text, ">") for text in options.a_priori]
    if options.a_priori_table is not None:
        given += read_a_priori(options.a_priori_table, tableaux.constraints, abbreviations)
    pairs = tuple(given or fixed)
    found = demote([(frozenset({high}), frozenset({low})) for high, low in pairs], len(tableaux.constraints))
    if found.unresolved:
        names = tableaux.constraints
        shown = ", ".join(f"{names[a]} above {names[b]}" for a, b in (pairs[i] for i in found.unresolved))
        raise SettingsError(f"--a-priori: no ranking has {shown}")
    return tableaux, pairs


def named_pair(tableaux: Tableaux, option: str, text: str, sign: str) -> tuple[int, int]:
    """The indices of the two constraints of NAME, a sign, NAME; names may hold that sign."""
    names = tableaux.constraints
    for place, character in enumerate(text):
        if character == sign and text[:place].strip() in names and text[place + 1 :].strip() in names:
            return names.index(text[:place].strip()), names.index(text[place + 1 :].strip())
    raise SettingsError(
        f"{option} {text!r} is not of the form NAME{sign}NAME with two of the constraints {', '.join(names)}"
    )


def index_of(tableaux: Tableaux, option: str, name: str) -> int:
    """The index of the constraint that an option names."""
    if name not in tableaux.constraints:
        known = ", ".join(tableaux.constraints)
        raise SettingsError(f"{option}: there is no constraint {name!r}; choose from {known}")
    return tableaux.constraints.index(name)


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Print rows, the first being the header: the first column to the left, the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [
            row[0].ljust(widths[0]),
            *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True)),
        ]
        print("  ".join(cells).rstrip())


def print_predictions(record: dict[str, Any], as_json: bool) -> None:
    """Print what `grammar.prediction_record` returned."""
    if as_json:
        print(json.dumps(record, indent=1, ensure_ascii=False))
        return
    rows = [("input", "output", "observed", "predicted")]
    for entry in record["inputs"]:
        for number, candidate in enumerate(entry["candidates"]):
            form = "" if number else entry["input"]
            shares = (f"{candidate[key]:.4f}" for key in ("observed", "predicted"))
            rows.append((form, candidate["output"], *shares))
            for parse in candidate.get("parses", ()):
                rows.append(("", f"  {parse['output']}", "", f"{parse['predicted']:.4f}"))
    print_table(rows)
    if not any(candidate["frequency"] for entry in record["inputs"] for candidate in entry["candidates"]):
        return
    likelihood, correlation = record["log_likelihood"], record["correlation"]
    shown = "-inf (something observed is predicted never to occur)"
    print(f"log likelihood {shown if likelihood is None else format(likelihood, '.4f')}")
    if correlation is not None:
        print(f"correlation of observed and predicted {correlation:.4f}")


def refuse_saved(output: str | None, overwrite: bool) -> None:
    """Raise InputError, before anything is learnt, if `save_grammar` may not write there."""
    from monolingual.ot.grammar import refuse_grammar

    if output is not None:
        refuse_grammar(output, overwrite)


def save_grammar(
    grammar: Grammar, tableaux: Tableaux, output: str | None, more: dict[str, Any], overwrite: bool = False
) -> dict[str, Any]:
    """The predictions of a grammar; with an output, written there with the grammar itself."""
    from pathlib import Path

    from monolingual.ot.formats import write_tableaux
    from monolingual.ot.grammar import predict, prediction_record, summary_grammar
    from monolingual.ot.run import RESULTS, TABLEAUX
    from scfg_sampler.core.chains.occupied import clear
    from scfg_sampler.core.chains.owner import owned
    from scfg_sampler.core.chains.run_directory import write_json

    record = prediction_record(tableaux, predict(grammar, tableaux))
    if output is not None:
        directory = Path(output)
        with owned(output):
            refuse_saved(output, overwrite)
            clear(directory, *RESULTS)
            write_tableaux(tableaux, directory / TABLEAUX)
            fit = {"log_likelihood": record["log_likelihood"], "correlation": record["correlation"]}
            write_json(record, directory / "predictions.json")
            # Last, as it says that the grammar is there: who had no room may then just go on.
            write_json({**summary_grammar(grammar), **fit, **more}, directory / "summary.json")
        console.say(f"grammar: {output}")
    return {**record, **more}
