"""Where learning begins: harmonic, uniform and random probabilities.

The harmonic initialiser of Klein and Manning (2004): in a sentence of n words, each is the root with
probability 1/n, and otherwise attaches to the others in proportion to 1/distance (Cohen, Gimpel and Smith
2008 print the distance itself, a slip). Taken as independent, these soft arcs also say how often a head
stops: with q_j the probability that word j depends on the head from one side,

    adjacent: stop Π (1 − q_j), go on 1 − Π (1 − q_j);
    further:  stop 1 − Π (1 − q_j), go on Σ q_j − (1 − Π (1 − q_j)).

The fact a newcomer would get wrong: these numbers decide which of many maxima EM finds. From uniform
probabilities it learns next to nothing of English.
"""

from __future__ import annotations

import numpy as np

from monolingual.dmv.layout import Corpus, Layout, num_parameters, parameter_families
from monolingual.dmv.model import parts
from monolingual.priors.multinomials import normalise
from scfg_sampler.core.numerals import real_number
from scfg_sampler.errors import SettingsError

__all__ = ["concentration_of", "harmonic", "names_model", "random", "uniform"]

_LARGEST = 1e6  # Of concentrations.


def concentration_of(text: str) -> float | None:
    """What `dirichlet:A` says; None if a text says something else.

    Raises
    ------
    SettingsError
        A is no number above 0, or beyond what there is a use for.
    """
    kind, colon, number = text.partition(":")
    if kind != "dirichlet" or not colon:
        return None
    try:
        value = real_number(number)
    except ValueError:
        value = 0.0
    if not 0.0 < value <= _LARGEST:
        found = f"the concentration must be above 0 and {_LARGEST:g} at most, as in dirichlet:0.1"
        raise SettingsError(f"--start {text}: {found}")
    return value


def names_model(text: str) -> bool:
    """Whether a beginning is the model in a file."""
    return text not in ("harmonic", "uniform", "random") and concentration_of(text) is None


def uniform(layout: Layout) -> np.ndarray:
    """Equal probabilities in every multinomial."""
    return normalise(parameter_families(layout), np.zeros(num_parameters(layout)))


def random(rng: np.random.Generator, layout: Layout, concentration: float = 1.0) -> np.ndarray:
    """Probabilities from symmetric Dirichlets.

    The flat ones, of concentration 1, make every model as likely as any other; below 1 few choices have
    most of the probability, far above 1 all have nearly the same.
    """
    if concentration == 1.0:
        return normalise(parameter_families(layout), rng.exponential(size=num_parameters(layout)))
    drawn = rng.standard_gamma(concentration, num_parameters(layout))
    return normalise(parameter_families(layout), np.maximum(drawn, 1e-300))


def harmonic(layout: Layout, corpus: Corpus, *, smoothing: float = 0.1) -> np.ndarray:
    """Probabilities of the harmonic initialiser.

    Parameters
    ----------
    layout : Layout
    corpus : Corpus
    smoothing : float
        Pseudo-count of every choice, so that nothing is impossible.
    """
    counts = np.full(num_parameters(layout), smoothing)
    root, stop, child = parts(layout, counts)
    for s, times in enumerate(corpus.multiplicity):
        words = corpus.words[corpus.start[s] : corpus.start[s + 1]]
        n = len(words)
        np.add.at(root, words, times / n)
        arcs = soft_arcs(n)
        for h, tag in enumerate(words):
            for d, side in enumerate((range(h - 1, -1, -1), range(h + 1, n))):
                probs = arcs[h, list(side)]
                none = np.prod(1.0 - probs)
                stop[tag, d, 0] += times * np.array([none, 1.0 - none])
                stop[tag, d, 1] += times * np.array([1.0 - none, max(probs.sum() - (1.0 - none), 0.0)])
                # The nearest of the dependents there are is the first.
                first = probs * np.cumprod(np.append(1.0, 1.0 - probs[:-1])) if len(probs) else probs
                dependents = words[list(side)]
                np.add.at(child[tag, d, 0], dependents, times * first)
                np.add.at(child[tag, d, layout.child_valences - 1], dependents, times * (probs - first))
    return normalise(parameter_families(layout), counts)


def soft_arcs(n: int) -> np.ndarray:
    """Probabilities that word j depends on word i: float64, shape (n, n); columns sum to 1 − 1/n."""
    places = np.arange(n)
    distance = np.abs(places[:, None] - places[None, :]).astype(float)
    inverse = np.divide(1.0, distance, out=np.zeros((n, n)), where=distance > 0)
    return inverse / np.maximum(inverse.sum(axis=0), 1e-300) * (1.0 - 1.0 / n)
