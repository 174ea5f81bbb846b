"""`pcfg check`: is a grammar tight, is it linear, how likely and how long are its trees?"""

from __future__ import annotations

import argparse
import json
import math
from typing import TYPE_CHECKING

from monolingual.pcfg.commands import add_grammar_options
from scfg_sampler.core import console
from scfg_sampler.core.wording import counted

if TYPE_CHECKING:
    from monolingual.pcfg.grammar import Grammar
    from monolingual.pcfg.tightness import Tightness

__all__ = ["add_parser", "run"]

_MOST = 10
"""Nonterminals that are listed without --all."""


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "check",
        help="partition function, spectral radius; tight or not; linear or not",
        description="Say of a grammar whether it is tight (decided component by component from the spectral "
        "radius) and whether it is linear, hence tight under almost all weights; the partition function of "
        "every nonterminal; the expected length and entropy of its finite trees; and what is useless in it.",
        epilog="examples:\n  scfg-monolingual pcfg check grammar.txt --json\n"
        "  scfg-monolingual pcfg check grammar.txt --tighten tight.txt",
    )
    add_grammar_options(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--all", action="store_true", help=f"list all nonterminals, not the {_MOST} with the least partition"
    )
    parser.add_argument("--tighten", metavar="FILE", help="write the tight grammar of the same trees")
    parser.add_argument("--format", choices=("nltk", "johnson"), default="nltk", help="of that grammar")
    parser.add_argument(
        "--compare", action="store_true", help="also solve by the plain iteration, and count its rounds"
    )
    parser.writes("--tighten")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print what there is to say."""
    from monolingual.pcfg.grammar_text import probabilities, read_grammar, write_grammar
    from monolingual.pcfg.tightness import analyse, tighten
    from scfg_sampler.errors import SettingsError

    if options.json and options.tighten == "-":
        raise SettingsError("--json and --tighten - would both go to standard output: give --tighten a file")
    if options.format != "nltk" and not options.tighten:
        console.warn("--format does nothing without --tighten")
    weighted = read_grammar(options.grammar, encoding=options.encoding)
    probs = probabilities(options.grammar, weighted, normalised=options.normalise)
    if weighted.weights is None:
        console.say("the grammar has no weights: every rule of a nonterminal gets the same probability")
    found = report(weighted.grammar, probs, compare=options.compare)
    if found["rough"]:
        console.warn(
            f"the component of {found['rough'][0]} is so near to criticality, and so large, that its "
            "partition and what is expected are rough, and may be wrong altogether"
        )
    if options.json:
        print(json.dumps(found, indent=1, ensure_ascii=False))
    elif options.tighten != "-":
        print_report(found, None if options.all else _MOST)
    if options.tighten:
        tight, new, _ = tighten(weighted.grammar, probs)
        if not analyse(tight, new).tight:
            console.warn("the tight grammar is so near to criticality that its digits do not make it tight")
        write_grammar(options.tighten, tight, new, style=options.format)
        if options.tighten != "-":
            console.say(f"the tight grammar of the same trees: {options.tighten}")


def report(grammar, probs, *, compare: bool = False) -> dict:
    """Everything about a grammar, of values that JSON can hold; null is infinite.

    Without finite trees it stands, too, for what is expected of them.
    """
    import numpy as np

    from monolingual.pcfg.grammar import num_rules, rule_name
    from monolingual.pcfg.graph import nonlinear_rules, productive, reachable, useful_rules
    from monolingual.pcfg.partition import iterate_partition
    from monolingual.pcfg.tightness import analyse, moments

    verdict = analyse(grammar, probs)
    means = moments(grammar, probs, verdict)
    names = np.array(grammar.nonterminals)
    system = verdict.system
    nonlinear = nonlinear_rules(grammar)
    has_trees = verdict.partition[0] > 0.0
    expected_length, expected_rules, entropy = (
        value if has_trees and math.isfinite(value) else None
        for value in (means.length, means.rules, means.entropy)
    )
    found = {
        "tight": verdict.tight,
        "linear": len(nonlinear) == 0,
        "spectral_radius": verdict.spectral_radius,
        "spectral_radius_of_finite_trees": _radius_of_finite(grammar, verdict),
        "infinite_trees": _infinite_trees(verdict),
        "partition": dict(zip(grammar.nonterminals, verdict.partition.tolist(), strict=True)),
        "expected_length": expected_length,
        "expected_rules": expected_rules,
        "entropy": entropy,
        "newton_rounds": verdict.rounds,
        "nonterminals": len(names),
        "rules": num_rules(grammar),
        "components": [
            {
                "nonterminals": names[system.members[system.start[c] : system.start[c + 1]]].tolist(),
                "spectral_radius": float(verdict.radii[c]),
                "tight": bool(verdict.tight_components[c]),
            }
            for c in range(len(verdict.radii))
        ],
        "rough": names[verdict.rough[system.component]].tolist(),
        "unproductive": names[~productive(grammar)].tolist(),
        "unreachable": names[~reachable(grammar)].tolist(),
        "useless_rules": [rule_name(grammar, int(rule)) for rule in np.flatnonzero(~useful_rules(grammar))],
        "nonlinear_rules": [rule_name(grammar, int(rule)) for rule in nonlinear],
    }
    if compare:
        values, rounds = iterate_partition(system, probs)
        found["plain_iteration"] = {"rounds": rounds, "start": float(values[0])}
    return found


def _radius_of_finite(grammar: Grammar, verdict: Tightness) -> float:
    """The largest radius of the components that the start symbol leads to by rules that finite trees have."""
    from monolingual.pcfg.graph import reachable

    reached = reachable(grammar, verdict.system.use)
    return float(verdict.radii[verdict.system.component[reached]].max())


def _infinite_trees(verdict: Tightness) -> float:
    """1 − Z of the start symbol, right where that is too small for Z to differ from 1."""
    precise = verdict.precise
    return float(1 - precise.values[0]) if precise is not None else 1.0 - float(verdict.partition[0])


def _shown(value: float, more: float) -> str:
    """A number with ten digits, or as far from 1 as it is where these make no difference."""
    shown = f"{value:.10g}"
    return shown if shown != "1" or more == 0.0 else f"1 {'+' if more > 0 else '-'} {abs(more):.6g}"


def print_report(found: dict, most: int | None = None) -> None:
    """The report for people, with so many nonterminals: the smallest partitions, then the largest radii."""
    start, value = next(iter(found["partition"].items()))
    radius_of_all, lost = found["spectral_radius"], found["infinite_trees"]
    yes = {True: "yes", False: "no"}
    tight = yes[found["tight"]]
    if not found["tight"]:
        tight += f": the finite trees of {start} have probability {_shown(value, -lost)}"
    linear = yes[found["linear"]]
    if found["nonlinear_rules"]:
        linear += f": {found['nonlinear_rules'][0]} leads back to its left side twice"
    print(f"tight            {tight}")
    print(f"linear           {linear}")
    without = found["spectral_radius_of_finite_trees"]
    radii = _shown(radius_of_all, round(radius_of_all - 1.0, 15))
    if not math.isclose(without, radius_of_all, rel_tol=1e-9):
        radii += ", with rules that no finite tree has"
        radii += "" if value == 0.0 else f"; {_shown(without, round(without - 1.0, 15))} without them"
    print(f"spectral radius  {radii}")
    for name, label in (("expected_length", "expected length"), ("entropy", "entropy")):
        shown = "none, as there is no finite tree" if value == 0.0 else "infinite"
        if found[name] is not None:
            shown = f"{found[name]:.6g}" + " nats" * (name == "entropy")
        print(f"{label:<17}{shown}")
    if "plain_iteration" in found:
        plain = found["plain_iteration"]
        rounds = f"{counted(plain['rounds'], 'round')}; Newton {found['newton_rounds']}"
        print(f"plain iteration  {plain['start']:.10g} after {rounds}")
    lists = {"unproductive": "no finite tree", "unreachable": "unreachable", "useless_rules": "useless"}
    for name, label in lists.items():
        if found[name]:
            print(f"{label:<17}{'; '.join(found[name][:8])}" + "; …" * (len(found[name]) > 8))
    home = {name: at for at, c in enumerate(found["components"]) for name in c["nonterminals"]}
    radius = {name: found["components"][home[name]]["spectral_radius"] for name in home}
    listed = list(found["partition"])
    if most is not None and len(listed) > most:
        listed = sorted(listed, key=lambda name: (found["partition"][name], -radius[name]))[:most]
    print("\nnonterminal                partition  component  its radius  tight")
    for name in listed:
        # A nonterminal without finite trees is a component without rules.
        shown = f"{radius[name]:.6g}" if found["partition"][name] else "none"
        numbers = f"{found['partition'][name]:>12.8f}{home[name] + 1:>11}{shown:>12}"
        print(f"{name:<24}{numbers}  {yes[found['components'][home[name]]['tight']]}")
    if len(listed) < len(found["partition"]):
        loose = sum(not c["tight"] for c in found["components"])
        parts = f"{counted(len(found['components']), 'component')}, {loose} of them not tight"
        print(f"… of {counted(len(found['partition']), 'nonterminal')} in {parts}; --all lists them")
