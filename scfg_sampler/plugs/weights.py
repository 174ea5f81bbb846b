"""Our weights as those of other decoders, so that derivations score there what they score here.

A score is a sum of weight times value everywhere. Where a decoder's value of a feature is k times ours, its
weight is ours divided by k. Its own features, beside those of the rules that `formats` renames:

cdec
    `LanguageModel` in log10, `LanguageModel_OOV`, `Glue`, `PassThrough`; of another language model, the names
    that it is given
Joshua
    `lm_0` in log10, `lm_0_oov`, `tm_glue_0`, one for every X, and `OOVPenalty`, −100 for a copied word
Moses
    `LM0`, natural logarithms and unknown words; `TranslationModel1`, the glue table, whose score is ln 2.718
    for every X; `WordPenalty0`, −1 for a word; `UnknownWordPenalty0`, −100 for a copied word
Travatar
    `lm` in log10, `lmunk`, `glue`, `unk`

The fact a newcomer would get wrong: Moses has no feature for the words of rules, only one for all words, so
that the weight of copied words takes back what a word weighs; and its `<s>` and `</s>` are words, and join
what is between them by one glue rule more than ours. A constant is the same for all translations, so it
changes no ranking.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from scfg_sampler.formats.bracketed import counterparts as bracketed_counterparts
from scfg_sampler.formats.moses import SCORES
from scfg_sampler.formats.travatar import counterparts as travatar_counterparts

__all__ = ["TheirWeights", "model_feature", "own_features", "their_weights", "unknown_feature"]

_LN10 = math.log(10.0)
_UNKNOWN = -100.0  # Of a copied word, to Joshua and Moses.
_MOSES_GLUE = math.log(2.718)


class TheirWeights(NamedTuple):
    """Weights by a decoder's names; language models are counted from 0.

    values : one number, or, of Moses' features, as many as they have scores
    constant : their score of a derivation is ours and this
    """

    values: dict[str, tuple[float, ...]]
    constant: float


def model_feature(model: int) -> str:
    """Our name of the feature that is the log probability of a language model.

    >>> model_feature(0), model_feature(1)
    ('LanguageModel', 'LanguageModel_1')
    """
    return f"LanguageModel_{model}" if model else "LanguageModel"


def unknown_feature(model: int) -> str:
    """Our name of the feature that counts the words a language model does not know; it needs no weight."""
    return f"{model_feature(model)}_OOV"


def own_features(num_models: int) -> tuple[str, ...]:
    """The features that are no table's and have to have a weight, by our names."""
    return (*map(model_feature, range(num_models)), "Glue", "PassThrough")


def their_weights(
    weights: Mapping[str, float], features: tuple[str, ...], decoder: str, num_models: int = 1
) -> TheirWeights:
    """The weights that make a decoder's scores ours.

    Parameters
    ----------
    weights : mapping from our names to weights
        With one for each of `features` and `own_features(num_models)`.
    features : tuple of str
        The features of the table, written with `Spelling(linear=True)`.
    decoder : str
        cdec, moses, joshua or travatar.
    num_models : int
        The language models.
    """
    if decoder == "moses":
        return _moses(weights, features, num_models)
    names = travatar_counterparts() if decoder == "travatar" else bracketed_counterparts(decoder)
    values: dict[str, tuple[float, ...]] = {}
    for ours in features:
        theirs, multiple = names.get(ours, (ours, 1.0))
        values[theirs] = (weights[ours] / multiple,)
    glue, copied = weights["Glue"], weights["PassThrough"]
    if decoder == "joshua":
        own = {"tm_glue_0": glue, "OOVPenalty": copied / _UNKNOWN}
    elif decoder == "cdec":
        own = {"Glue": glue, "PassThrough": copied}
    else:
        own = {"glue": glue, "unk": copied}
    for model in range(num_models):
        name, unknown = _model_names(model, decoder)
        own[name] = _LN10 * weights[model_feature(model)]
        own[unknown] = weights.get(unknown_feature(model), 0.0)
    # A file that begins with a feature called _PHWf… is a binary one to cdec; its own ones stand first.
    values = {name: (value,) for name, value in own.items()} | values
    return TheirWeights(values, glue if decoder == "joshua" else 0.0)


def _model_names(model: int, decoder: str) -> tuple[str, str]:
    """What a language model's log10 and its unknown words are called."""
    if decoder == "cdec":
        return model_feature(model), unknown_feature(model)
    if decoder == "joshua":
        return f"lm_{model}", f"lm_{model}_oov"
    return (f"lm{model}", f"lm{model}unk") if model else ("lm", "lmunk")


def _moses(weights: Mapping[str, float], features: tuple[str, ...], num_models: int) -> TheirWeights:
    word = weights["TargetWords"] if "TargetWords" in features else 0.0
    glue = weights["Glue"]
    values: dict[str, tuple[float, ...]] = {
        "UnknownWordPenalty0": ((weights["PassThrough"] - word) / _UNKNOWN,),
        "WordPenalty0": (-word,),
        "TranslationModel0": tuple(weights[name] if name in features else 0.0 for name in SCORES),
        "TranslationModel1": (glue / _MOSES_GLUE,),
    }
    for model in range(num_models):
        values[f"LM{model}"] = (weights[model_feature(model)], weights.get(unknown_feature(model), 0.0))
    for name in features:
        if name not in SCORES and name != "TargetWords":
            values[f"TranslationModel0_{name}"] = (weights[name],)
    return TheirWeights(values, glue + 2.0 * word)
