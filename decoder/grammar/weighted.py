"""What weights turn on in a grammar, by their names."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from decoder.grammar.labels import MISMATCH
from decoder.grammar.trie import Grammar
from decoder.lm.model import LmVocabulary, unknown_feature_of

__all__ = ["as_weighted", "with_unknown_words"]


def as_weighted(grammar: Grammar, vocabularies: Sequence[LmVocabulary], wanted: Collection[str]) -> Grammar:
    """The grammar with what weights turn on by their names.

    Those that count words unknown to a language model add features (`with_unknown_words`); `LabelMismatch`
    makes the labels of a grammar that has any soft, unless a table has a feature of that name.
    """
    grammar = with_unknown_words(grammar, vocabularies, wanted)
    is_ours = MISMATCH not in (*grammar.feature_names, *grammar.sparse_names)
    return grammar._replace(soft_labels=grammar.labels is not None and MISMATCH in wanted and is_ours)


def with_unknown_words(
    grammar: Grammar, vocabularies: Sequence[LmVocabulary], wanted: Collection[str]
) -> Grammar:
    """The grammar with those features that count words unknown to a language model that are wanted.

    Parameters
    ----------
    vocabularies : of the language models
    wanted : names, for example of weights; a feature that a table has is left as it is
    """
    for model, vocabulary in enumerate(vocabularies):
        name = unknown_feature_of(model)
        if name in wanted and name not in (*grammar.feature_names, *grammar.sparse_names):
            grammar = _with_unknown_words(grammar, vocabulary, name)
    return grammar


def _with_unknown_words(grammar: Grammar, vocabulary: LmVocabulary, name: str) -> Grammar:
    """The grammar with the number of words unknown to one model as its last feature."""
    unknown = np.array([word not in vocabulary for word in grammar.target_vocabulary.words], np.bool_)
    counts = np.zeros(len(grammar.target) + 1, np.int64)
    is_word = grammar.target >= 0
    counts[1:][is_word] = unknown[grammar.target[is_word]]
    np.cumsum(counts, out=counts)
    column = np.diff(counts[grammar.target_start]).astype(np.float32)
    return grammar._replace(
        features=np.column_stack([grammar.features, column]),
        feature_names=(*grammar.feature_names, name),
    )
