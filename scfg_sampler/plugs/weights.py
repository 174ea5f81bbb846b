"""Our weights as those of other decoders, so that derivations score there what they score here.

A score is a sum of weight times value everywhere. Where a decoder's value of a feature is k times ours, its
weight is ours divided by k. Its own features, beside those of the rules that `formats` renames:

cdec
    `LanguageModel` in log10, `LanguageModel_OOV`, `Glue`, `PassThrough`
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

__all__ = ["OWN_FEATURES", "REQUIRED", "TheirWeights", "their_weights"]

REQUIRED = ("LanguageModel", "Glue", "PassThrough")
OWN_FEATURES = (*REQUIRED, "LanguageModel_OOV")
"""The features that are no table's, by our names; the last one needs no weight."""

_LN10 = math.log(10.0)
_UNKNOWN = -100.0  # Of a copied word, to Joshua and Moses.
_MOSES_GLUE = math.log(2.718)


class TheirWeights(NamedTuple):
    """Weights by a decoder's names.

    values : one number, or, of Moses' features, as many as they have scores
    constant : their score of a derivation is ours and this
    """

    values: dict[str, tuple[float, ...]]
    constant: float


def their_weights(weights: Mapping[str, float], features: tuple[str, ...], decoder: str) -> TheirWeights:
    """The weights that make a decoder's scores ours.

    Parameters
    ----------
    weights : mapping from our names to weights
        With one for each of `features` and `REQUIRED`.
    features : tuple of str
        The features of the table, written with `Spelling(linear=True)`.
    decoder : str
        cdec, moses, joshua or travatar.
    """
    unknown = weights.get("LanguageModel_OOV", 0.0)
    if decoder == "moses":
        return _moses(weights, features, unknown)
    names = travatar_counterparts() if decoder == "travatar" else bracketed_counterparts(decoder)
    values: dict[str, tuple[float, ...]] = {}
    for ours in features:
        theirs, multiple = names.get(ours, (ours, 1.0))
        values[theirs] = (weights[ours] / multiple,)
    model, glue, copied = (weights[name] for name in REQUIRED)
    model *= _LN10
    if decoder == "joshua":
        own = {"lm_0": model, "lm_0_oov": unknown, "tm_glue_0": glue, "OOVPenalty": copied / _UNKNOWN}
    elif decoder == "cdec":
        own = {"LanguageModel": model, "LanguageModel_OOV": unknown, "Glue": glue, "PassThrough": copied}
    else:
        own = {"lm": model, "lmunk": unknown, "glue": glue, "unk": copied}
    values |= {name: (value,) for name, value in own.items()}
    return TheirWeights(values, glue if decoder == "joshua" else 0.0)


def _moses(weights: Mapping[str, float], features: tuple[str, ...], unknown: float) -> TheirWeights:
    word = weights["TargetWords"] if "TargetWords" in features else 0.0
    glue = weights["Glue"]
    values: dict[str, tuple[float, ...]] = {
        "UnknownWordPenalty0": ((weights["PassThrough"] - word) / _UNKNOWN,),
        "WordPenalty0": (-word,),
        "TranslationModel0": tuple(weights[name] if name in features else 0.0 for name in SCORES),
        "TranslationModel1": (glue / _MOSES_GLUE,),
        "LM0": (weights["LanguageModel"], unknown),
    }
    for name in features:
        if name not in SCORES and name != "TargetWords":
            values[f"TranslationModel0_{name}"] = (weights[name],)
    return TheirWeights(values, glue + 2.0 * word)
