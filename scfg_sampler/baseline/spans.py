"""Labels of spans as the extraction reads them, and rules with labels as symbols.

In a record of a rule with labels the left-hand side stands before the source side as −1 − 2·l for label l,
and gap k of label l is −1 − (k + 2·l).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.core.jit import compiled
from scfg_sampler.corpus.span_labels import SpanLabels
from scfg_sampler.rules.store import END

__all__ = ["NO_SPANS", "Spans", "label_rule", "labels_in", "spans_of"]


class Spans(NamedTuple):
    """The arrays of a `SpanLabels`; `start` is empty where there are no labels."""

    is_target: bool
    start: np.ndarray
    spans: np.ndarray
    label: np.ndarray


NO_SPANS = Spans(False, np.zeros(0, np.int64), np.zeros((0, 2), np.int32), np.zeros(0, np.int32))


def spans_of(labels: SpanLabels) -> Spans:
    """The arrays of labels."""
    return Spans(labels.is_target, labels.start, labels.spans, labels.label)


@compiled
def labels_in(spans, sentence, num_source, num_target):
    """The label of every span of a sentence, int32 (n + 1, n + 1), n its words on the labelled side."""
    size = 1 if len(spans.start) == 0 else 1 + (num_target if spans.is_target else num_source)
    label = np.zeros((size, size), np.int32)
    if len(spans.start) > 0:
        for at in range(spans.start[sentence], spans.start[sentence + 1]):
            label[spans.spans[at, 0], spans.spans[at, 1]] = spans.label[at]
    return label


@compiled
def label_rule(record, length, spans, label, whole, holes):
    """Make the record of a rule one with labels, if there are any; its length."""
    if len(spans.start) == 0:
        return length
    side = 2 if spans.is_target else 0
    left = label[whole[side], whole[side + 1]]
    gaps = label[holes[2 * side], holes[2 * side + 1]], label[holes[2 * side + 2], holes[2 * side + 3]]
    num_ends = 0
    before = np.int32(-1 - 2 * left)
    for at in range(length):
        symbol = record[at]
        if symbol == END:
            num_ends += 1
        elif symbol < 0 and num_ends < 2:
            symbol -= 2 * gaps[-1 - symbol]
        record[at], before = before, symbol
    record[length] = before
    return length + 1
