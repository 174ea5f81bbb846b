"""Weights tuned on a development set, as an object that shows how they came to be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypedDict, Unpack

import numpy as np

from decoder.notebook.systems import LmLike, make_decoder
from decoder.notebook.texts import RulesLike, Text, lines_of, sets_of
from decoder.translation.weights import write_weights
from decoder.tuning.decoding import passes_left
from decoder.tuning.settings import SEARCH, TuneSettings
from decoder.tuning.tune import Round, best_round
from decoder.tuning.tune import tune as tuned
from scfg_sampler.core.arguments import of_arguments, require_whole, settings_of
from scfg_sampler.core.arrays.vocabulary import split_words
from scfg_sampler.core.console import progress
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import InputError

__all__ = ["TuneOptions", "Tuning", "tune"]


class TuneOptions(TypedDict, total=False):
    """Fields of `decoder.tuning.settings.TuneSettings`."""

    rounds: int
    nbest: int
    candidates: int
    kept: int
    threshold: float
    interpolation: float | None
    l2: float
    seed: int
    smooth_brevity: bool
    method: str | None
    random_starts: int
    passes: int
    largest_step: float
    metric: str
    chrf_beta: float
    within: float | None


class Tuning(NamedTuple):
    """Weights, and the rounds they were found in.

    Attributes
    ----------
    weights : dict of str to float
        Those of the best round, or the mean of those of several.
    rounds : list of Round
        What each round decoded the development set with, and its score; the mean, if it is one, last.
    metric : str
        What the scores are.

    >>> import decoder, scfg_sampler
    >>> pairs = [("un chat", "a cat", "0-0 1-1"), ("un chien", "a dog", "0-0 1-1")]
    >>> pairs += [("un chien", "one dog", "0-0 1-1")]
    >>> rules = scfg_sampler.extract_rules(scfg_sampler.make_corpus(pairs))
    >>> lm = decoder.train_lm([target for _, target, _ in pairs])
    >>> tuning = decoder.tune(rules, lm, ["un chien"] * 5, ["one dog"] * 5, rounds=3)
    >>> tuning.metric, len(tuning.rounds) > 1, "LanguageModel" in tuning.weights
    ('bleu', True, True)
    """

    weights: dict[str, float]
    rounds: list[Round]
    metric: str

    @property
    def score(self) -> float:
        """Of the development set with the weights, in percent."""
        return best_round(self.rounds).score

    def write(self, path: PathLike) -> None:
        """Write the weights, as `scfg-decoder translate --weights` reads them."""
        write_weights(self.weights, path)

    def __repr__(self) -> str:
        best = best_round(self.rounds)
        return f"Weights of {best.name} of {len(self.rounds) - bool(best.of)}: {self.metric} {best.score:.2f}"


def tune(
    rules: RulesLike,
    lm: LmLike,
    source: Text,
    references: Text | Sequence[Text],
    *,
    initial: Mapping[str, float] | PathLike | None = None,
    threads: int = 1,
    **settings: Unpack[TuneOptions],
) -> Tuning:
    """The weights that translate a development set best, by batch MIRA or pairwise ranking.

    Parameters
    ----------
    rules, lm : as for `make_system`
    source : path, or lines
    references : path, or lines; or several of these, one for each set of references
        An empty line in a second or later set means no further reference.
    initial : mapping, or path, optional
        Weights to begin with.
    threads : int
        Sentences at a time; they make no difference to the result.
    settings
        As `scfg-decoder tune` has them: rounds, nbest, method, metric, seed, …

    Raises
    ------
    InputError
        Source and references have different numbers of lines, or none, or no words.
    ArgumentError
        A setting is out of range.

    >>> import decoder, scfg_sampler
    >>> rules = scfg_sampler.extract_rules(scfg_sampler.make_corpus([("un chat", "a cat", "0-0 1-1")]))
    >>> lm = decoder.train_lm(["a cat", "the cat"])
    >>> sorted(decoder.tune(rules, lm, ["un chat"], ["a cat"], rounds=1).weights)[:3]
    ['Abstract', 'Glue', 'LanguageModel']
    """
    threads = require_whole("threads", threads)
    sources = [split_words(line) for line in lines_of(source)]
    texts = [lines_of(each) for each in sets_of(references)]
    for number, text in enumerate(texts, start=1):
        if len(text) != len(sources):
            found = f"has {counted(len(text), 'line')}, but the source has {len(sources)}"
            name = "references" if len(texts) == 1 else f"set {number} of references"
            raise InputError(name, None, found, "Line k of each belongs together")
    if not sources:
        raise InputError("source", None, "has no lines", "Tuning needs a development set")
    rows = [
        [split_words(line) for number, line in enumerate(row) if not number or line.strip()]
        for row in zip(*texts, strict=True)
    ]
    for name, has_words in (("references", any(map(any, rows))), ("source", any(sources))):
        if not has_words:
            raise InputError(name, None, "has no words", "Tuning needs sentences and their translations")
    chosen = settings_of(TuneSettings, settings)
    decoder = make_decoder(rules, lm, initial, **SEARCH._asdict())
    with progress("tuning", passes_left(chosen) * len(sources)) as advance, of_arguments():
        rounds = list(tuned(decoder, sources, rows, chosen, where=threads, advance=lambda: advance(1, "")))
    best = np.asarray(best_round(rounds).weights).tolist()
    return Tuning(dict(zip(decoder.weight_names, best, strict=True)), rounds, chosen.metric)
