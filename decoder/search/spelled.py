"""The rules that match somewhere in a sentence, spelled as stretches of words with sides, and tails.

A rule `the X1 of X2` has the parts "the", tail 0, "of", tail 1. What its words are worth by themselves, and
the sides of its stretches (`decoder.search.sides`), are found when the rule is first tried, once a sentence.
The decoder's own rules are spelled the same way: S → X is the beginning of the sentence and tail 0, S → S X
are tails 0 and 1, what fills a gap is tail 0, X → w / w is a stretch of words, or of none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decoder.lm.model import add_word, begin, begin_sentence
from decoder.search.chart import COPY, KEEP, RELABEL, START
from decoder.search.sides import HEAD, TAIL, add_sides
from decoder.search.workspace import PARTS, QUERIES, copy_state, keep_row
from scfg_sampler.core.arrays.hash_table import first_slot, key_slot, mix, new_slots
from scfg_sampler.core.jit import borrowing, by_reference, compiled

__all__ = ["Spelled", "listed", "spell", "spell_own"]

_START, _GLUE, _KEEP, _RELABEL, _COPY = range(
    5
)  # The first rules are the decoder's own, from _COPY on one for each word.


class Spelled(NamedTuple):
    """The rules that match somewhere in the sentence, by number: the decoder's own, then group after group.

    place : int32, where the rule is in the `RankedRules`, or −1−w for the copying of word w
    score : float64, what the rule adds to a score, without language models
    log_prob : float64 (…, M), that of its stretches of words, without context
    first, last : int32, its parts; last is −1 until the rule is first asked for
    first_of_cube : int32 (Q,), the number of the first rule of each cube
    """

    place: np.ndarray
    score: np.ndarray
    log_prob: np.ndarray
    first: np.ndarray
    last: np.ndarray
    first_of_cube: np.ndarray


@compiled
def listed(rules, chart, copied_start, settings, num_models):
    """The rules that match, not spelled yet, and how many parts one may have."""
    num_cubes, num_words = len(chart.group), len(copied_start) - 1
    keys, first_of_cube = new_slots(num_cubes), np.zeros(num_cubes, np.int32)
    first_of_group = np.zeros(len(keys), np.int32)
    number, longest = _COPY + num_words, 2
    for word in range(num_words):
        longest = max(longest, copied_start[word + 1] - copied_start[word])
    for cell in range(len(chart.begin)):
        for cube in range(chart.cube_start[cell], chart.cube_start[cell + 1]):
            group = chart.group[cube]
            if group < 0:
                first_of_cube[cube] = _own(group)
                if group == COPY:
                    first_of_cube[cube] += chart.begin[cell]
                continue
            code = np.int64(mix(np.uint64(0), group) >> np.uint64(1))
            slot = key_slot(keys, group + 1, first_slot(keys, code))
            if keys[slot] == 0:
                keys[slot], first_of_group[slot] = group + 1, number
                number += rules.start[group + 1] - rules.start[group]
            first_of_cube[cube] = first_of_group[slot]
    place, score, log_prob = np.zeros(number, np.int32), np.zeros(number), np.zeros((number, num_models))
    first, last = np.zeros(number, np.int32), np.full(number, -1, np.int32)
    score[_GLUE], score[_RELABEL] = settings.glue_weight, settings.mismatch_weight
    for word in range(num_words):
        place[_COPY + word], score[_COPY + word] = -1 - word, settings.copy_weight[word]
    for slot in range(len(keys)):
        if keys[slot] == 0:
            continue
        group, number = keys[slot] - 1, first_of_group[slot]
        for at in range(rules.start[group], rules.start[group + 1]):
            place[number], score[number] = at, rules.score[at]
            longest = max(longest, rules.target_start[at + 1] - rules.target_start[at])
            number += 1
    return Spelled(place, score, log_prob, first, last, first_of_cube), longest


@borrowing
def _own(group):
    """The number of one of the decoder's own rules, of _COPY the first."""
    if group == START:
        return _START
    if group == KEEP:
        return _KEEP
    if group == RELABEL:
        return _RELABEL
    return _COPY if group == COPY else _GLUE


@borrowing
def spell_own(task, work):
    """Spell S → X, S → S X, and what fills a gap."""
    spelled, sides, states, count = work.spelled, work.sides, work.states, work.counter
    for model in range(len(task.lms)):
        begin_sentence(by_reference(task.lms[model]), states.one)
        keep_row(states.all, model, states.one)
    spelled.first[_START] = count[PARTS]
    add_sides(task, sides, states, count, work.side)
    _add_part(work, work.side[HEAD], work.side[TAIL])
    _add_part(work, -1, 0)
    spelled.last[_START] = spelled.first[_GLUE] = count[PARTS]
    _add_part(work, -1, 0)
    _add_part(work, -2, 0)
    spelled.last[_GLUE] = count[PARTS]
    for number in (_KEEP, _RELABEL):
        spelled.first[number] = count[PARTS]
        _add_part(work, -1, 0)
        spelled.last[number] = count[PARTS]


@borrowing
def spell(task, work, number):
    """Find the parts of a rule, and the log probabilities of its stretches of words."""
    rules, spelled, count = task.rules, work.spelled, work.counter
    place = spelled.place[number]
    spelled.first[number] = count[PARTS]
    if place < 0:
        at, end, symbols = task.copied_start[-1 - place], task.copied_start[-place], task.copied
    else:
        at, end, symbols = rules.target_start[place], rules.target_start[place + 1], rules.target
        if rules.prefix_length[place] > 0:
            _add_prefix(task, work, number, place)
            at += rules.prefix_length[place]
    while at < end or count[PARTS] == spelled.first[number]:
        stop = at
        while stop < end and symbols[0, stop] >= 0:
            stop += 1
        # A rule without words and without tails is a stretch of no words.
        if stop > at or at == end:
            _add_stretch(task, work, number, symbols, at, stop)
        else:
            _add_part(work, symbols[0, at], 0)
            stop += 1
        at = stop
    spelled.last[number] = count[PARTS]


@borrowing
def _add_prefix(task, work, number, place):
    """Add the words before the first tail, which were scored when rules were ranked."""
    rules, spelled, states = task.rules, work.spelled, work.states
    for model in range(len(task.lms)):
        spelled.log_prob[number, model] += rules.prefix_log_prob[place, model]
        copy_state(rules.prefix_state, place, model, states.one)
        keep_row(states.all, model, states.one)
    add_sides(task, work.sides, states, work.counter, work.side)
    _add_part(work, work.side[HEAD], work.side[TAIL])


@borrowing
def _add_stretch(task, work, number, symbols, first, stop):
    """Add a stretch of words to a rule."""
    spelled, states, count = work.spelled, work.states, work.counter
    for model in range(len(task.lms)):
        lm = by_reference(task.lms[model])
        begin(lm, states.one)
        for i in range(first, stop):
            count[QUERIES] += 1
            spelled.log_prob[number, model] += add_word(lm, states.one, symbols[model, i])
        keep_row(states.all, model, states.one)
    add_sides(task, work.sides, states, count, work.side)
    _add_part(work, work.side[HEAD], work.side[TAIL])


@borrowing
def _add_part(work, one, other):
    part = work.counter[PARTS]
    work.counter[PARTS] += 1
    work.part[part, 0], work.part[part, 1] = one, other
