"""Treebanks and models together: tags as numbers, and parses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from monolingual.dmv.decode import best_trees
from monolingual.dmv.estimation import heldout_likelihood
from monolingual.dmv.layout import Corpus, Layout, build_corpus
from monolingual.dmv.model import DmvModel, weights_for
from monolingual.dmv.nbest import best_heads
from monolingual.dmv.posteriors import arc_posteriors
from monolingual.dmv.treebank import Sentence

__all__ = ["heldout_of", "nbest", "number_tags", "parse", "posteriors", "unknown_tags"]


def number_tags(tags: Sequence[str], sentences: Sequence[Sentence]) -> list[list[int]]:
    """Sentences as numbers of tags, without those that have no word."""
    ids = {tag: at for at, tag in enumerate(tags)}
    return [[ids[tag] for tag in sentence.tags] for sentence in sentences if sentence.tags]


def unknown_tags(known: Iterable[str], sentences: Iterable[Sentence]) -> list[str]:
    """The tags of sentences that are not known, sorted."""
    return sorted({tag for sentence in sentences for tag in sentence.tags} - set(known))


def parse(model: DmvModel, sentences: Sequence[Sentence], decoder: str) -> list[list[int]]:
    """The heads of every sentence, by "viterbi" or "mbr"; new tags are dealt with as in `weights_for`."""
    wide = weights_for(model, (tag for sentence in sentences for tag in sentence.tags))
    corpus = build_corpus(wide.layout, number_tags(wide.tags, sentences), distinct=False)
    heads, _ = best_trees(wide.layout, corpus, wide.probs, decoder)
    found, at = [], 0
    for sentence in sentences:
        found.append(heads[at : at + len(sentence.tags)].tolist())
        at += len(sentence.tags)
    return found


def nbest(
    model: DmvModel, sentences: Sequence[Sentence], number: int
) -> Iterator[list[tuple[float, list[int]]]]:
    """Of every sentence its best trees: see `best_heads`; new tags are dealt with as in `weights_for`."""
    wide = weights_for(model, (tag for sentence in sentences for tag in sentence.tags))
    ids = {tag: at for at, tag in enumerate(wide.tags)}
    for sentence in sentences:
        yield best_heads(wide.layout, wide.probs, [ids[tag] for tag in sentence.tags], number)


def posteriors(model: DmvModel, sentences: Sequence[Sentence]) -> list[tuple[float, np.ndarray]]:
    """Of every sentence its log probability and the posteriors of its arcs: see `arc_posteriors`.

    New tags are dealt with as in `weights_for`. A sentence without words has the probability 1.
    """
    wide = weights_for(model, (tag for sentence in sentences for tag in sentence.tags))
    corpus = build_corpus(wide.layout, number_tags(wide.tags, sentences), distinct=False)
    following = zip(*arc_posteriors(wide.layout, corpus, wide.probs), strict=True)
    return [next(following) if sentence.tags else (0.0, np.zeros((0, 1))) for sentence in sentences]


def heldout_of(tags: Sequence[str], layout: Layout, sentences: Sequence[Sentence]):
    """The log likelihood of sentences as a function of probabilities of a model over given tags.

    New tags have no parameters, but with those of `weights_for` the likelihoods of models compare.
    """
    names = tuple(tags)
    wide: dict[str, Corpus] = {}

    def score(probs: np.ndarray) -> float:
        model = weights_for(
            DmvModel(names, layout, probs), (tag for sentence in sentences for tag in sentence.tags)
        )
        if "corpus" not in wide:
            wide["corpus"] = build_corpus(model.layout, number_tags(model.tags, sentences))
        return heldout_likelihood(model.layout, wide["corpus"], model.probs)

    return score
