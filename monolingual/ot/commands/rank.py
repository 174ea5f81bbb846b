"""`ot rank`: a classical ranking."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from monolingual.ot.commands import add_a_priori, add_tableaux, index_of, load_a_priori, named_pair
from scfg_sampler.core import console
from scfg_sampler.errors import SettingsError

if TYPE_CHECKING:
    from monolingual.ot.demotion import Demotion, Pair
    from monolingual.ot.tableaux import Tableaux

__all__ = ["add_parser", "run"]

_METHODS = {
    "rcd": "recursive constraint demotion, every constraint as high as possible",
    "bcd": "biased constraint demotion (Prince and Tesar 2004)",
    "lfcd": "low-faithfulness constraint demotion (Hayes 2004)",
}
_BASES = ("skeletal", "informative")


class _Data(NamedTuple):
    """The pairs of winners and losers, who they are, and all winners."""

    pairs: list[Pair]
    sources: list[tuple[int, int]]
    winners: set[int]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "rank",
        help="strata by constraint demotion, with faithfulness low if wanted; what the data say in short",
        description="Rank the constraints by recursive constraint demotion (Tesar and Smolensky 1995), so "
        "that the most frequent candidate of every input wins, or with --all every observed one. "
        "Two methods keep faithfulness constraints low, for the most restrictive grammar.",
        epilog="example:\n  scfg-monolingual ot rank tableaux.tsv --method bcd --reduce skeletal",
    )
    add_tableaux(parser)
    add_a_priori(parser)
    parser.add_argument("--all", action="store_true", help="every observed candidate is to win")
    said = "; ".join(f"{name}: {text}" for name, text in _METHODS.items())
    parser.add_argument("--method", choices=tuple(_METHODS), default="rcd", help=said)
    parser.add_argument(
        "--faithfulness",
        metavar="NAME",
        action="append",
        default=[],
        help="with bcd and lfcd: a faithfulness constraint; may be given several times (default: those "
        "whose names begin with Max, Dep, Id, Ident, Faith, Linearity, Contiguity, Uniformity, Integrity, "
        "IO, OO, F)",
    )
    parser.add_argument(
        "--specific",
        metavar="NAME<NAME",
        action="append",
        default=[],
        help="with lfcd: the first is a specific version of the second; may be given several times "
        "(default: what the violations show)",
    )
    parser.add_argument(
        "--reduce",
        choices=_BASES,
        help="also print all that the data say of the ranking in as few conditions as possible, by "
        "Fusional Reduction (Brasoveanu and Prince 2011): the skeletal or the most informative basis",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print the strata."""
    from monolingual.ot.biased_demotion import demote_by, r_measure
    from monolingual.ot.reduction import reduced
    from monolingual.ot.tableaux import candidate_name, identical_candidates

    tableaux, above = load_a_priori(options, "rank")
    data, names = _data(tableaux, options.all), tableaux.constraints
    given = [(frozenset({high}), frozenset({low})) for high, low in above]
    faithful = _faithful(options, tableaux)
    specific = _specific(options, tableaux, faithful)
    found = demote_by(options.method, data.pairs, len(names), faithful, specific, given)
    strata = [[names[i] for i in stratum] for stratum in found.strata]
    record: dict[str, object] = {"strata": strata, "consistent": not found.unresolved}
    if above:
        record["a_priori"] = [[names[high], names[low]] for high, low in above]
    record["unresolved"] = _unresolved(tableaux, data, above, found)
    record["ties"] = [
        (candidate_name(tableaux, winner), [tableaux.outputs[other] for other in group if other != winner])
        for group in identical_candidates(tableaux)
        for winner in sorted(data.winners.intersection(group))
    ]
    if options.method != "rcd":
        record["faithfulness"] = [names[i] for i in sorted(faithful)]
        record["r_measure"] = r_measure(found.strata, faithful)
    if options.reduce and found.unresolved:
        given_too = " and the rankings that are given" if above else ""
        console.warn(f"--reduce does nothing, as no ranking satisfies all of the data{given_too}")
    elif options.reduce:
        conditions = reduced(data.pairs, options.reduce)
        record["conditions"] = [[[names[i] for i in sorted(side)] for side in pair] for pair in conditions]
    if options.json:
        print(json.dumps(record, indent=1, ensure_ascii=False))
    else:
        _show(record)


def _data(tableaux: Tableaux, all_observed: bool) -> _Data:
    """What is to win, and over whom."""
    from monolingual.ot.orderings import conjuncts

    data = _Data([], [], set())
    for index in range(len(tableaux.inputs)):
        candidates = tableaux.candidates(index)
        top = max(tableaux.frequency[c] for c in candidates)
        for winner in candidates:
            frequency = tableaux.frequency[winner]
            if frequency > 0 and (all_observed or frequency == top):
                data.winners.add(winner)
                for other, pair in conjuncts(tableaux, winner):
                    data.pairs.append(pair)
                    data.sources.append((winner, other))
    return data


def _faithful(options: argparse.Namespace, tableaux: Tableaux) -> frozenset[int]:
    """The faithfulness constraints, named or recognised; which ones is said if they were recognised."""
    from monolingual.ot.biased_demotion import recognised_faithfulness

    if options.method == "rcd":
        if options.faithfulness:
            raise SettingsError("--faithfulness goes with --method bcd or lfcd")
        return frozenset()
    if options.faithfulness:
        return frozenset(index_of(tableaux, "--faithfulness", name) for name in options.faithfulness)
    found = recognised_faithfulness(tableaux.constraints)
    if not found:
        known = ", ".join(tableaux.constraints)
        raise SettingsError(
            f"no name looks like that of a faithfulness constraint; say with --faithfulness which of {known}"
        )
    console.say(f"faithfulness: {', '.join(tableaux.constraints[i] for i in sorted(found))}")
    return found


def _specific(
    options: argparse.Namespace, tableaux: Tableaux, faithful: frozenset[int]
) -> frozenset[tuple[int, int]]:
    """Which constraint is a specific version of which."""
    from monolingual.ot.biased_demotion import more_specific

    if options.specific and options.method != "lfcd":
        raise SettingsError("--specific goes with --method lfcd")
    if options.method != "lfcd":
        return frozenset()
    if not options.specific:
        pairs = more_specific(tableaux.violations)
        return frozenset(pair for pair in pairs if faithful.issuperset(pair))
    return frozenset(named_pair(tableaux, "--specific", text, "<") for text in options.specific)


def _unresolved(
    tableaux: Tableaux, data: _Data, above: Sequence[tuple[int, int]], found: Demotion
) -> list[str]:
    """Of the pairs, then of the rankings that are given, those that no ranking satisfies together."""
    from monolingual.ot.tableaux import candidate_name

    names = tableaux.constraints
    said = [f"{candidate_name(tableaux, w)} rather than {tableaux.outputs[l]}" for w, l in data.sources]
    said += [f"{names[high]} above {names[low]}, as given" for high, low in above]
    return [said[number] for number in found.unresolved]


def _show(record: dict) -> None:
    """Print what was found as text."""
    for number, stratum in enumerate(record["strata"], start=1):
        print(f"stratum {number}: {', '.join(stratum)}")
    if "r_measure" in record:
        print(f"markedness above faithfulness (r-measure): {record['r_measure']}")
    if record["unresolved"]:
        print("no ranking satisfies all of these together:")
        for text in record["unresolved"]:
            print(f"  {text}")
    if "conditions" in record:
        print("all that the data say of the ranking:" if record["conditions"] else "the data say nothing")
        for winner, loser in record["conditions"]:
            print(f"  {_any_of(winner)} above {', '.join(loser)}")
    for name, others in record["ties"]:
        shown = ", ".join(others)
        print(f"tied under every ranking, their violations being the same: {name}; {shown}")


def _any_of(names: Sequence[str]) -> str:
    return " or ".join(names)
