"""Forced decoding: the best derivation of a given translation, or why there is none.

    forced = ForcedDecoder(decoder)
    outcome = forced.derive("das haus".split(), "the house".split())
    decoder.best(outcome.result).score if outcome.result else outcome.reason

Where there is none, the reason is the first of these that applies: words of the reference that no rule which
matches the source yields; words of the source that no rule makes a part of the reference of; words of the
reference that no rule makes with their neighbours; the largest part of the sentence that has a derivation, as
all words have one, but not together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from decoder.grammar.trie import rule_scores
from decoder.search.chart import COPY, Chart
from decoder.search.forced import ForcedForest, ForcedTask, TargetSides, force, word_log_probs
from decoder.translation.decoder import Decoder
from decoder.translation.results import ParsedSentence, SearchResult

__all__ = ["Forced", "ForcedDecoder"]


class Forced(NamedTuple):
    """What forcing a translation gave.

    result : what `Decoder.best`, `Decoder.translations` and `derivation_record` take; None if there is no
        derivation, or no sentence
    exists : whether there is a derivation; that of an empty sentence into nothing is empty
    reason : why there is none, "" if there is one
    stretches : int32 (N, 2), where in the translation what each item yields begins and ends; None without
        `result`
    """

    result: SearchResult | None
    exists: bool
    reason: str
    stretches: np.ndarray | None = None


class ForcedDecoder:
    """Derives given translations with the grammar and the weights of a decoder.

    All targets of a source side are tried, and no beam is applied: what is not found does not exist.
    """

    def __init__(self, decoder: Decoder):
        grammar = decoder.grammar
        self._decoder = decoder
        self._targets = TargetSides(
            grammar.rule_start,
            grammar.rules,
            grammar.target_start,
            grammar.target,
            rule_scores(grammar, decoder.rule_weights),
        )

    def derive(self, words: Sequence[str], reference: Sequence[str]) -> Forced:
        """The derivations of a sentence that yield the reference."""
        if not words:
            reason = f"no source word for {_listed(reference, range(len(reference)))}" if reference else ""
            return Forced(None, not reference, reason)
        decoder = self._decoder
        parsed = decoder.parse(words, words)
        lm_ids = decoder.lm_ids(reference)
        log_probs = [word_log_probs(lm, ids) for lm, ids in zip(decoder.lms, lm_ids, strict=True)]
        task = ForcedTask(
            self._reference_ids(parsed, reference),
            np.column_stack(log_probs),
            parsed.copied[1],
            decoder.copy_weights(words),
            decoder.lm_weights,
            decoder.glue_weight,
            decoder.mismatch_weight,
        )
        found = force(self._targets, parsed.chart, decoder.grammar.max_arity, task)
        if not found.is_complete:
            return Forced(None, False, self._reason(words, reference, parsed, task.reference, found))
        result = SearchResult(words, words, parsed.chart, found.forest, parsed.copied, parsed.extra_words)
        return Forced(result, True, "", np.column_stack([found.begin, found.end]))

    def _reference_ids(self, parsed: ParsedSentence, reference: Sequence[str]) -> np.ndarray:
        vocabulary = self._decoder.grammar.target_vocabulary
        extra = {word: len(vocabulary) + i for i, word in enumerate(parsed.extra_words)}
        ids = np.fromiter(map(vocabulary.id, reference), np.int32, len(reference))
        for position in np.flatnonzero(ids < 0).tolist():
            ids[position] = extra.get(reference[position], -1)
        return ids

    def _reason(
        self,
        words: Sequence[str],
        reference: Sequence[str],
        parsed: ParsedSentence,
        ids: np.ndarray,
        found: ForcedForest,
    ) -> str:
        """Why there is no derivation; see the top of this module."""
        chart = parsed.chart
        unyielded = np.flatnonzero(~np.isin(ids, self._yielded(parsed)))
        if len(unyielded):
            return f"no rule that matches yields {_listed(reference, unyielded)}"
        in_x = found.forest.cell < chart.num_x_cells
        cells, begin, end = found.forest.cell[in_x], found.begin[in_x], found.end[in_x]
        covered = _covered(chart.begin[cells], chart.end[cells], len(words))
        if not covered.all():
            return f"no rule makes a part of the translation of {_listed(words, np.flatnonzero(~covered))}"
        covered = _covered(begin, end, len(reference))
        if not covered.all():
            return f"no rule makes {_listed(reference, np.flatnonzero(~covered))} with its neighbours"
        largest = int(np.argmax(chart.end[cells] - chart.begin[cells] + end - begin))
        span = range(chart.begin[cells[largest]], chart.end[cells[largest]])
        stretch = range(begin[largest], end[largest])
        part = f"{_listed(words, span)} = {_listed(reference, stretch)}"
        return f"the parts do not fit together; the largest that rules make is {part}"

    def _yielded(self, parsed: ParsedSentence) -> np.ndarray:
        """The target words of the rules that match the sentence, and the words that may be copied."""
        chart: Chart = parsed.chart
        targets = self._targets
        groups = np.unique(chart.group[chart.group >= 0])
        rules = targets.rules[_ranges(targets.rule_start, groups)]
        symbols = np.unique(targets.target[_ranges(targets.target_start, rules)])
        cell_of_cube = np.repeat(np.arange(len(chart.begin)), np.diff(chart.cube_start))
        copied = parsed.copied[1][chart.begin[cell_of_cube[chart.group == COPY]]]
        return np.concatenate([symbols[symbols >= 0], copied])


def _ranges(start: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The numbers start[r] … start[r + 1] − 1 of all rows, one after the other."""
    lengths = start[rows + 1] - start[rows]
    before = np.cumsum(lengths) - lengths
    return np.arange(lengths.sum()) + np.repeat(start[rows] - before, lengths)


def _covered(begin: np.ndarray, end: np.ndarray, length: int) -> np.ndarray:
    """Whether each position is in one of the spans [begin, end), bool (length,)."""
    change = np.zeros(length + 1, np.int64)
    np.add.at(change, begin, 1)
    np.add.at(change, end, -1)
    return np.cumsum(change)[:length] > 0


def _listed(words: Sequence[str], positions: Sequence[int] | np.ndarray | range) -> str:
    """Words with their positions, neighbours together: `2–4 "the old house"`; "nothing" if there are none."""
    runs: list[list[int]] = []
    for position in map(int, positions):
        if runs and runs[-1][-1] == position - 1:
            runs[-1].append(position)
        else:
            runs.append([position])
    spelled = (
        (f"{run[0]}" if len(run) == 1 else f"{run[0]}–{run[-1]}")
        + f' "{" ".join(words[position] for position in run)}"'
        for run in runs
    )
    return ", ".join(spelled) or "nothing"
