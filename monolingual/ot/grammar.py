"""Grammars on disk, and what they predict: Stochastic OT, noisy Harmonic Grammar, maximum entropy.

`summary.json` of a run names its model, the value of each constraint (mean, or weight) and the noise. So
`predict` works for every learner, also on tableaux other than those learnt from, as long as they name the
same constraints. It works for the grammars of Praat as well, of which some have models of their own: the
weight of a constraint is a function of its value plus noise (`TRANSFORMS`).

The fact a newcomer would get wrong: constraints are matched by name, never by position.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from monolingual.ot.demotion import Pair
from monolingual.ot.exact import winning_probs
from monolingual.ot.harmonic import maxent_probs, noisy_probs
from monolingual.ot.praat import STRATEGIES, PraatGrammar, parse_grammar, read_text
from monolingual.ot.settings import check_noise
from monolingual.ot.tableaux import LARGEST_VALUE, Tableaux, overt_forms, relative_frequencies
from scfg_sampler.core.chains.occupied import refuse_occupied
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.json_text import WRONG_RECORD, parse_json
from scfg_sampler.errors import InputError, SettingsError

__all__ = [
    "MODELS",
    "PRAATS_NOISE",
    "TRANSFORMS",
    "Grammar",
    "aligned",
    "correlation",
    "finite",
    "heard",
    "log_likelihood",
    "praat_grammar",
    "predict",
    "prediction_record",
    "read_any",
    "read_summary",
    "refuse_grammar",
    "summary_grammar",
]

TRANSFORMS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "linear-ot": lambda value: np.maximum(value, 0.0),
    "positive-hg": lambda value: np.maximum(value, 1.0),
    "exponential-hg": lambda value: np.exp(value - value.max(axis=-1, keepdims=True, initial=-np.inf)),
}
"""Weights of noisy Harmonic Grammars given values with noise, where they are not the same (Praat), up to a
factor in each evaluation, as exponentials of themselves may be beyond all numbers."""

MODELS = ("stochastic-ot", "noisy-hg", "maxent", "exponential-maxent", *TRANSFORMS)

_HIGHEST = 600.0
"""A value whose exponential is a number still, also times numbers of violations."""

PRAATS_NOISE = 2.0
"""The evaluation noise that Praat suggests."""


class Grammar(NamedTuple):
    """A grammar.

    Attributes
    ----------
    model : str
        One of `MODELS`.
    constraints : tuple of N str
    value : float64, shape (N,)
        Means of Stochastic OT, weights of the others.
    deviation : float64, shape (N,)
        Of the noise of each constraint; zeros for maximum entropy.
    """

    model: str
    constraints: tuple[str, ...]
    value: np.ndarray
    deviation: np.ndarray


def predict(grammar: Grammar, tableaux: Tableaux, given: Sequence[Pair] = ()) -> np.ndarray:
    """The probability of each candidate, float64 of shape (C,), summing to 1 in each input.

    Parameters
    ----------
    grammar : Grammar
        In the order of the tableaux' constraints: see `aligned`.
    tableaux : Tableaux
    given : sequence of Pair
        Of Stochastic OT: see `winning_probs`.

    Raises
    ------
    SettingsError
        A value of exponential maximum entropy is above 600; or as `winning_probs`.
    """
    assert grammar.constraints == tableaux.constraints
    if grammar.model == "maxent":
        return maxent_probs(tableaux, grammar.value)
    if grammar.model == "exponential-maxent":
        highest = int(np.argmax(grammar.value))
        if grammar.value[highest] > _HIGHEST:
            raise SettingsError(
                f"the constraint {grammar.constraints[highest]!r} has the value "
                f"{grammar.value[highest]:g}, whose exponential is to be its weight; values may be up to "
                f"{_HIGHEST:g}"
            )
        return maxent_probs(tableaux, np.exp(grammar.value))
    if grammar.model == "stochastic-ot":
        return winning_probs(tableaux, grammar.value, grammar.deviation, given)
    return noisy_probs(tableaux, grammar.value, grammar.deviation, TRANSFORMS.get(grammar.model))


def praat_grammar(source: PraatGrammar, noise: float | None = None, path: PathLike | None = None) -> Grammar:
    """The grammar in a file of Praat.

    Parameters
    ----------
    source : PraatGrammar
    noise : float, optional
        The evaluation noise, which a file does not hold: by default 2, as Praat suggests, or 0 for maximum
        entropy.
    path : path
        For messages.

    Raises
    ------
    SettingsError
        The noise is out of range, or not 0 for maximum entropy.
    """
    model = STRATEGIES[source.strategy]
    is_maxent = model.endswith("maxent")
    spread = (0.0 if is_maxent else PRAATS_NOISE) if noise is None else noise
    if is_maxent and spread:
        raise SettingsError(
            f"--noise is {spread:g}, but {path} has the strategy {source.strategy}, which has chances of its "
            "own; only 0 is known for it"
        )
    if spread != 0.0 or model == "stochastic-ot":
        check_noise(spread)
    names = source.tableaux.constraints
    return Grammar(model, names, source.ranking, np.full(len(names), spread))


def aligned(grammar: Grammar, tableaux: Tableaux, path: PathLike | None = None) -> Grammar:
    """The grammar with its constraints in the order of the tableaux.

    Raises
    ------
    InputError
        The grammar lacks a constraint; names the file `path`.
    """
    place = {name: index for index, name in enumerate(grammar.constraints)}
    if missing := [name for name in tableaux.constraints if name not in place]:
        found = f"the tableaux have the constraint {missing[0]!r}, which the grammar has not"
        raise InputError(path, None, found, f"It has {', '.join(grammar.constraints)}")
    order = [place[name] for name in tableaux.constraints]
    return grammar._replace(
        constraints=tableaux.constraints, value=grammar.value[order], deviation=grammar.deviation[order]
    )


def heard(tableaux: Tableaux, probs: np.ndarray) -> tuple[Tableaux, np.ndarray]:
    """What is heard of tableaux, and its probabilities: sums over parses, if there are overt forms."""
    forms, form_of = overt_forms(tableaux)
    return forms, np.bincount(form_of, probs, minlength=len(forms.outputs))


def log_likelihood(tableaux: Tableaux, probs: np.ndarray) -> float:
    """Σ frequency × log probability of what was heard; −∞ if something observed has probability 0."""
    tableaux, probs = heard(tableaux, probs)
    seen = tableaux.frequency > 0
    if np.any(probs[seen] <= 0):
        return -math.inf
    return float(tableaux.frequency[seen] @ np.log(probs[seen]))


def correlation(tableaux: Tableaux, probs: np.ndarray) -> float:
    """Pearson's correlation of observed and predicted shares over all candidates of observed inputs.

    NaN if either never varies, or nothing was observed. Of overt forms, where the tableaux have such.
    """
    tableaux, probs = heard(tableaux, probs)
    index = tableaux.input_of()
    seen = np.bincount(index, tableaux.frequency, minlength=len(tableaux.inputs))[index] > 0
    observed, predicted = relative_frequencies(tableaux)[seen], probs[seen]
    if not seen.any() or np.ptp(observed) == 0 or np.ptp(predicted) == 0:
        return math.nan
    return float(np.corrcoef(observed, predicted)[0, 1])


def prediction_record(tableaux: Tableaux, probs: np.ndarray) -> dict[str, Any]:
    """Observed and predicted shares of every candidate as a JSON object, with fit and likelihood.

    Of tableaux with overt forms these take the place of candidates, and each has its `parses`, with their
    shares.
    """
    if tableaux.overt:
        return _overt_record(tableaux, probs)
    observed = relative_frequencies(tableaux)
    inputs = [
        {
            "input": form,
            "candidates": [
                {
                    "output": tableaux.outputs[c],
                    "frequency": float(tableaux.frequency[c]),
                    "observed": float(observed[c]),
                    "predicted": float(probs[c]),
                }
                for c in tableaux.candidates(index)
            ],
        }
        for index, form in enumerate(tableaux.inputs)
    ]
    return {
        "inputs": inputs,
        "log_likelihood": finite(log_likelihood(tableaux, probs)),
        "correlation": finite(correlation(tableaux, probs)),
    }


def _overt_record(tableaux: Tableaux, probs: np.ndarray) -> dict[str, Any]:
    """`prediction_record` of tableaux with overt forms."""
    forms, form_probs = heard(tableaux, probs)
    record = prediction_record(forms, form_probs)
    entries = [entry for form in record["inputs"] for entry in form["candidates"]]
    for candidate, form in enumerate(overt_forms(tableaux)[1]):
        parse = {
            "output": tableaux.outputs[candidate],
            "predicted": float(probs[candidate]),
            "share": float(probs[candidate] / form_probs[form]) if form_probs[form] > 0 else None,
        }
        entries[form].setdefault("parses", []).append(parse)
    return record


def finite(value: float) -> float | None:
    """The number, or None where JSON has none: infinities and NaN."""
    return float(value) if math.isfinite(value) else None


def summary_grammar(grammar: Grammar) -> dict[str, Any]:
    """What `summary.json` says of a grammar, so that `read_summary` finds it again."""
    names = grammar.constraints
    return {
        "model": grammar.model,
        "grammar": dict(zip(names, grammar.value.tolist(), strict=True)),
        "deviation": dict(zip(names, grammar.deviation.tolist(), strict=True)),
    }


def refuse_grammar(directory: PathLike, overwrite: bool) -> None:
    """Raise InputError if a directory holds a grammar, or a run that need not have ended, which must stay."""
    refuse_occupied(directory, overwrite, "ot resume")
    if (Path(directory) / "summary.json").exists() and not overwrite:
        hint = "Name another directory, or give --overwrite"
        raise InputError(directory, None, "holds a grammar already", hint)


def read_any(path: PathLike) -> tuple[Grammar, dict[str, Any]]:
    """As `read_summary`; of a grammar of Praat the grammar alone, with the noise that Praat suggests."""
    if Path(path).is_file():
        text = read_text(path)
        if text.is_praat:
            return praat_grammar(parse_grammar(path, text.lines), path=path), {}
    return read_summary(path)


def read_summary(run: PathLike) -> tuple[Grammar, dict[str, Any]]:
    """The grammar of a run directory, or of a summary file, and all else it says.

    Parameters
    ----------
    run : path

    Raises
    ------
    InputError
        There is none, or it is damaged.
    """
    path = Path(run)
    if path.is_dir():
        path /= "summary.json"
    hint = "Name a directory that 'ot sample', 'gla', 'maxent' or 'fit' has written"
    try:
        record = parse_json(path.read_text(encoding="utf-8"))
        values: Mapping[str, float] = record["grammar"]
        if not values:
            raise ValueError("no constraints")
        for number in (*values.values(), *(record["deviation"][name] for name in values)):
            # To numpy, true is 1, and so is "1".
            if isinstance(number, bool) or not isinstance(number, int | float | None):
                raise TypeError(f"{number!r:.40} is no number")
        grammar = Grammar(
            record["model"],
            tuple(values),
            np.array(list(values.values()), dtype=np.float64),
            np.array([record["deviation"][name] for name in values], dtype=np.float64),
        )
    except OSError as error:
        unfinished = (Path(run) / "run.json").exists()
        more = "The run is not finished: continue it with 'ot resume'" if unfinished else hint
        raise InputError(run, None, f"has no summary.json ({error.strerror})", more) from None
    except WRONG_RECORD:
        raise InputError(path, None, "is not the summary of a grammar", hint) from None
    if grammar.model not in MODELS:
        raise InputError(path, None, f"has the model {grammar.model!r}", f"Known are {', '.join(MODELS)}")
    is_noisy = grammar.model == "stochastic-ot"
    for name, value, spread in zip(grammar.constraints, grammar.value, grammar.deviation, strict=True):
        if not abs(value) <= LARGEST_VALUE:
            hint = f"Give a number from -{LARGEST_VALUE:g} to {LARGEST_VALUE:g}"
            raise InputError(path, None, f"has the value {value:g} of {name!r}", hint)
        if not (spread <= LARGEST_VALUE and (spread > 0.0 or (spread == 0.0 and not is_noisy))):
            hint = f"Give one {'above 0' if is_noisy else 'of at least 0'}, and up to {LARGEST_VALUE:g}"
            raise InputError(path, None, f"has the deviation {spread:g} of {name!r}", hint)
    return grammar, record
