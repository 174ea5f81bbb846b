"""`ot gla`: the Gradual Learning Algorithm, from many seeds."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from monolingual.ot.commands import (
    add_a_priori,
    add_tableaux,
    load_a_priori,
    print_table,
    refuse_saved,
    save_grammar,
)
from scfg_sampler.core import console
from scfg_sampler.core.numerals import real_number
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import SettingsError

if TYPE_CHECKING:
    import numpy as np

    from monolingual.ot.tableaux import Tableaux

__all__ = ["add_parser", "run"]

_PLASTICITY = "2:0.002"


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "gla",
        help="the Gradual Learning Algorithm, from many seeds",
        description="Learn by the Gradual Learning Algorithm (Boersma and Hayes 2001), with several seeds. "
        "Shows, for every candidate, the mean and the scatter of its exact predicted "
        "probability. The grammar that is written has the means of all learners' values.",
        epilog="example:\n  scfg-monolingual ot gla tableaux.tsv --seeds 100 --output gla",
    )
    add_tableaux(parser)
    parser.add_argument("--output", metavar="RUN", help="directory for the grammar (default: only print it)")
    parser.add_argument("--overwrite", action="store_true", help="replace an older grammar in that directory")
    parser.add_argument(
        "--model",
        dest="grammar",
        choices=("ot", "hg"),
        default="ot",
        help="Stochastic OT or noisy Harmonic Grammar",
    )
    rules = ("symmetric", "weighted", "demotion", "edcd", "calibrated")
    parser.add_argument("--rule", choices=rules, default="symmetric", help="what an error changes")
    parser.add_argument(
        "--interpret",
        choices=("rip", "rrip"),
        default="rip",
        help="how overt forms are parsed: by the values of the evaluation, or with new noise",
    )
    parser.add_argument("--trials", metavar="N", type=int, default=200_000, help="forms each learner hears")
    parser.add_argument("--stages", metavar="N", type=int, default=4, help="of equal length")
    parser.add_argument(
        "--plasticity", metavar="P:Q", default=_PLASTICITY, help="in the first and the last stage"
    )
    parser.add_argument("--noise", metavar="S:T", default="2:2", help="in the first and the last stage")
    parser.add_argument("--start", metavar="X", type=float, help="first value (default: 100; 1 with hg)")
    add_a_priori(parser)
    parser.add_argument(
        "--distance",
        metavar="X",
        type=float,
        help="by how much the first of --a-priori stays above the second (default: 20; 0 with hg)",
    )
    parser.add_argument("--seeds", metavar="N", type=int, default=10, help="how many learners")
    parser.add_argument("--seed", metavar="N", type=int, default=1, help="seed of all randomness")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Learn, and print the scatter of the predictions."""
    import numpy as np

    from monolingual.ot.gla import GlaSettings, learn
    from monolingual.ot.grammar import Grammar, correlation, finite, heard, log_likelihood, predict
    from monolingual.ot.tableaux import overt_forms, relative_frequencies

    tableaux, above = load_a_priori(options)
    if options.distance is not None and not above:
        raise SettingsError("--distance goes with --a-priori or --a-priori-table")
    if options.interpret != GlaSettings().interpretation and not tableaux.overt:
        console.warn("--interpret does nothing without an overt column: what is heard has one parse then")
    is_harmonic = options.grammar == "hg"
    settings = GlaSettings(
        rule=options.rule,
        interpretation=options.interpret,
        is_harmonic=is_harmonic,
        trials=options.trials,
        stages=options.stages,
        plasticity=_ends("--plasticity", options.plasticity, options.stages),
        noise=_ends("--noise", options.noise, options.stages),
        start=options.start if options.start is not None else 1.0 if is_harmonic else 100.0,
        above=above,
        distance=options.distance if options.distance is not None else 0.0 if is_harmonic else 20.0,
    )
    refuse_saved(options.output, options.overwrite)
    with console.progress("learning", options.seeds * options.stages) as advance:
        values = learn(tableaux, settings, seeds=options.seeds, seed=options.seed, advance=advance)
    names, model = tableaux.constraints, "noisy-hg" if is_harmonic else "stochastic-ot"
    noise = np.full(len(names), settings.noise[1])
    probs = np.array([predict(Grammar(model, names, row, noise), tableaux) for row in values])
    forms, _ = overt_forms(tableaux)
    likelihoods = [log_likelihood(tableaux, row) for row in probs]
    more: dict[str, Any] = {
        "settings": {**settings._asdict(), "above": [[names[i] for i in pair] for pair in above]},
        "seeds": options.seeds,
        "values": {name: values[:, i].tolist() for i, name in enumerate(names)},
        "scatter": _scatter(forms, np.array([heard(tableaux, row)[1] for row in probs])),
        "log_likelihoods": [finite(value) for value in likelihoods],
        "correlations": [finite(correlation(tableaux, row)) for row in probs],
    }
    record = save_grammar(
        Grammar(model, names, values.mean(axis=0), noise), tableaux, options.output, more, options.overwrite
    )
    if options.json:
        print(json.dumps(record, indent=1, ensure_ascii=False))
        return
    observed = relative_frequencies(forms)
    rows = [("input", "output", "observed", "mean", "sd", "least", "most", "learners below observed")]
    for c, entry in enumerate(more["scatter"]):
        shares = (f"{entry[key]:.4f}" for key in ("mean", "sd", "least", "most"))
        below = f"{entry['below_observed']:.0%}"
        rows.append((entry["input"], entry["output"], f"{observed[c]:.4f}", *shares, below))
    print_table(rows)
    print(
        f"log likelihood of {counted(options.seeds, 'learner')}: "
        f"median {np.median(likelihoods):.4f}, best {max(likelihoods):.4f}"
    )


def _scatter(tableaux: Tableaux, probs: np.ndarray) -> list[dict[str, Any]]:
    """Mean, deviation and extremes over learners of every candidate's probability."""
    from monolingual.ot.tableaux import relative_frequencies

    inputs, observed = tableaux.input_of(), relative_frequencies(tableaux)
    return [
        {
            "input": tableaux.inputs[inputs[c]],
            "output": output,
            "mean": float(probs[:, c].mean()),
            "sd": float(probs[:, c].std()),
            "least": float(probs[:, c].min()),
            "most": float(probs[:, c].max()),
            "below_observed": float((probs[:, c] < observed[c]).mean()),
        }
        for c, output in enumerate(tableaux.outputs)
    ]


def _ends(option: str, text: str, stages: int) -> tuple[float, float]:
    """What FIRST:LAST, or one number for both, says; one stage has one number."""
    try:
        parts = [real_number(part) for part in text.split(":")]
    except ValueError:
        parts = []
    if len(parts) not in (1, 2):
        raise SettingsError(f"{option} is {text!r}; expected one number, or two as in 2:0.002")
    if stages == 1 and parts[0] != parts[-1] and text != _PLASTICITY:
        raise SettingsError(f"{option} is {text}, but there is one stage; give one number")
    return parts[0], parts[-1]
