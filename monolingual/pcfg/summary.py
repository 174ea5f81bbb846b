"""What `summary.json` of a run says: means, rejections, convergence, shares of trees, scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from monolingual.pcfg.approaches import APPROACHES
from monolingual.pcfg.model import Data, Model
from monolingual.pcfg.posterior import reweight
from monolingual.pcfg.settings import SampleSettings
from monolingual.pcfg.tally import Kept, merge_tallies, tree_shares
from scfg_sampler.core.chains.diagnostics import MIN_SWEEPS, diagnose
from scfg_sampler.core.chains.run_directory import require_each, require_numbers
from scfg_sampler.errors import SettingsError

__all__ = ["rejections_counted_by", "require_summary", "summarise"]

MOST_DIAGNOSED = 200
"""Of grammars with more rules only the log joint is diagnosed."""

LONGEST_DIAGNOSED = 20_000
"""Draws of a chain that are diagnosed, about: of more, every so many."""


def summarise(
    model: Model, data: Data, settings: SampleSettings, chains: list[Kept], names: list[str]
) -> dict:
    """The content of `summary.json`, of values that JSON can hold.

    Parameters
    ----------
    model : Model
    data : Data
    settings : SampleSettings
    chains : list of Kept
    names : list of str
        Of the rules.
    """
    probs = np.concatenate([kept.probs for kept in chains])
    log_z = np.concatenate([kept.log_z for kept in chains])
    mean, deviation = (probs.mean(axis=0), probs.std(axis=0)) if len(probs) else (np.zeros(0), np.zeros(0))
    summary: dict[str, Any] = {
        "approach": settings.approach,
        "sampler": settings.sampler,
        "chains": len(chains),
        "draws": len(probs),
        "trees": data.num_trees,
        "sentences": len(data.start) - 1,
        **_rejections(settings, chains),
        "cpu_seconds": round(sum(kept.seconds for kept in chains), 3),
        "mean": dict(zip(names, mean.tolist(), strict=False)),
        "deviation": dict(zip(names, deviation.tolist(), strict=False)),
        "convergence": _convergence(chains, names),
    }
    if settings.reweight and len(probs):
        num_trees = data.num_trees + len(data.start) - 1
        summary["reweighted"] = {
            approach: _reweighted(probs, log_z, num_trees, approach, names) for approach in APPROACHES
        }
        summary["tight"] = float(np.mean(log_z == 0.0))
    elif settings.approach == "renormalise" and len(probs):
        summary["tight"] = float(np.mean(log_z == 0.0))
    if len(data.start) > 1:
        tally = merge_tallies([kept.tally for kept in chains])
        shares = tree_shares(model.grammar, data, tally)
        summary["tree_frequencies"] = {share.tree: share.share for share in shares}
        summary["tree_frequency_errors"] = {
            share.tree: share.error for share in shares if math.isfinite(share.error)
        }
        if settings.reweight:
            for approach, field in (("only-tight", "only_tight"), ("renormalise", "renormalise")):
                values = {share.tree: getattr(share, field) for share in shares}
                if all(map(math.isfinite, values.values())):
                    summary["reweighted"][approach]["tree_frequencies"] = values
    scores = np.concatenate([kept.scores for kept in chains])
    if len(scores):
        means = scores.mean(axis=0)
        summary |= {"precision": means[0], "recall": means[1], "f1": means[2]}
        summary["f1_deviation"] = float(scores[:, 2].std())
        summary["f1_of_chains"] = [float(kept.scores[:, 2].mean()) for kept in chains if len(kept.scores)]
        summary["scored_sweeps"] = len(scores)
    return summary


def require_summary(found: Mapping[str, Any]) -> None:
    """Raise unless a JSON value is a summary, as far as reports tell of it.

    Parameters
    ----------
    found : mapping
        What the file says.

    Raises
    ------
    KeyError, TypeError, AttributeError
        Something is missing, or is of another kind.
    """
    require_each(int, *(found[name] for name in ("trees", "sentences", "draws", "chains")))
    require_numbers(
        found["acceptance"], found.get("f1", 0.0), found.get("tight", 0.0), *found["mean"].values()
    )
    for judged in found["convergence"].values():
        require_numbers(*(value for value in judged.values() if value is not None))
    others = [each.get("tree_frequencies", {}) for each in found.get("reweighted", {}).values()]
    for shares in (found.get("tree_frequencies", {}), found.get("tree_frequency_errors", {}), *others):
        require_numbers(*shares.values())


def rejections_counted_by(approach: str, sampler: str) -> str:
    """Of what rejections are told, a thousand: sweeps that each draw until one is accepted, or proposals."""
    return "proposals" if sampler == "collapsed" or approach == "renormalise" else "sweeps"


def _rejections(settings: SampleSettings, chains: list[Kept]) -> dict:
    """Rejected draws of θ (of trees in the collapsed sampler), and the share of draws that were accepted.

    In a thousand of what `rejections_counted_by` says.
    """
    is_of_sweeps = rejections_counted_by(settings.approach, settings.sampler) == "sweeps"
    rejected, proposed = (
        sum(getattr(kept, name) for kept in chains) for name in ("all_rejections", "all_proposals")
    )
    per_chain = [
        1000.0 * kept.all_rejections / max(kept.sweeps if is_of_sweeps else kept.all_proposals, 1)
        for kept in chains
    ]
    return {
        "rejections": rejected,
        "acceptance": 1.0 - rejected / max(proposed, 1),
        "rejections_per_thousand": float(np.mean(per_chain)),
        "rejections_per_thousand_of_chains": per_chain,
    }


def _convergence(chains: list[Kept], names: list[str]) -> dict:
    """Split R̂ and effective sample size; of long chains by some of their draws."""
    shortest = min(len(kept.log_joints) for kept in chains)
    if shortest < MIN_SWEEPS:
        return {}
    stride = -(-shortest // LONGEST_DIAGNOSED)
    traces = {"log_joint": [kept.log_joints[::stride] for kept in chains]}
    if len(names) <= MOST_DIAGNOSED:
        traces |= {name: [kept.probs[::stride, rule] for kept in chains] for rule, name in enumerate(names)}
    found = {}
    for name, values in traces.items():
        diagnosis = diagnose(values)
        found[name] = {"rhat": _finite(diagnosis.rhat), "ess": _finite(diagnosis.ess)}
    return found


def _reweighted(probs, log_z, num_trees: int, approach: str, names: list[str]) -> dict:
    try:
        weights, effective = reweight(log_z, num_trees, approach)
    except SettingsError as error:
        return {"effective_draws": 0.0, "note": str(error)}
    mean = weights @ probs
    deviation = np.sqrt(np.maximum(weights @ probs**2 - mean**2, 0.0))
    return {
        "effective_draws": effective,
        "mean": dict(zip(names, mean.tolist(), strict=True)),
        "deviation": dict(zip(names, deviation.tolist(), strict=True)),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
