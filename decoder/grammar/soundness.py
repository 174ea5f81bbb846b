"""Whether the arrays of a grammar, or of a ranking of its rules, are such as kernels can index with.

Kernels assume. What a `build_grammar` of this process made needs no check; what was read from a file does,
since a checksum notices damage but not a file that another program wrote, or that was changed on purpose.

No cube may have more or fewer tails than its rules have gaps. So the nonterminals of a rule's source side are
numbered in their order, its target side has each of them once, all rules of a group have equally many, and
the chart takes a group for a match only where it has met that number.

The fact a newcomer would get wrong: symbols on the way to a node of the trie may be wrong without harm, as
they are only compared; then rules match other source sides. That is for `scfg-sampler verify` to find.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from decoder.grammar.trie import Grammar, RankedRules
from decoder.lm.model import LanguageModel, state_width
from scfg_sampler.core.arrays.array_file import first_problem, is_within
from scfg_sampler.core.arrays.sparse import is_sound
from scfg_sampler.core.jit import compiled, kernel
from scfg_sampler.rules.labels import Labels
from scfg_sampler.rules.table import SparseFeatures

__all__ = ["MOST_GAPS", "grammar_problem", "ranking_problem"]

MOST_GAPS = 60  # Nonterminals of a rule, in files; more than any sentence asks for.


def grammar_problem(grammar: Grammar) -> str | None:
    """What makes a grammar of one table one that cannot be searched with; None if nothing does.

    Takes a pass over its arrays.
    """
    return first_problem(_grammar_requirements(grammar))


def ranking_problem(rules: RankedRules, grammar: Grammar, lms: tuple[LanguageModel, ...]) -> str | None:
    """What makes ranked rules others than some of this sound grammar; None if nothing does."""
    return first_problem(_ranking_requirements(rules, grammar, lms))


def _grammar_requirements(grammar: Grammar) -> Iterator[tuple[object, str]]:
    table, trie = grammar.sources[0].table, grammar.trie
    num_rules, num_features = grammar.features.shape
    yield num_features == len(grammar.feature_names), "its features have other names"
    yield _are_finite(grammar.features), "a feature is not a finite number"
    if grammar.sparse is not None:
        yield from _sparse_requirements(grammar.sparse, num_rules)
    table_sides = table.source_start, table.source, len(grammar.source_vocabulary), "source"
    target_sides = grammar.target_start, grammar.target, len(grammar.target_vocabulary), "target"
    for start, values, num_words, side in (table_sides, target_sides):
        yield _are_offsets(start, num_rules, len(values)), f"a {side} side lies outside of the table"
        yield is_within(values, -(2**31), num_words - 1), f"a {side} side has a word that is none"
    arity = np.empty(num_rules, np.int32)
    bad = _first_bad_rule(table.source_start, table.source, grammar.target_start, grammar.target, arity)
    yield bad < 0, f"rule {bad + 1} has nonterminals that do not fit"
    yield grammar.max_arity == arity.max(initial=0), f"no rule has {grammar.max_arity} nonterminals"
    num_nodes, num_slots, num_groups = len(trie.first_group), len(trie.slot_keys), len(trie.next_group)
    yield num_nodes >= 1, "its trie has no root"
    yield num_slots > 0 and num_slots & (num_slots - 1) == 0, "its trie has no power of two as its size"
    yield len(trie.slot_children) == num_slots, "its trie lacks children"
    yield is_within(trie.slot_children, 0, num_nodes - 1), "its trie has a child that is no node"
    yield _has_free(trie.slot_keys), "its trie has no free slot"
    yield len(trie.group_span) == len(trie.group_arity) == num_groups, "its groups have no spans"
    yield is_within(trie.first_group, -1, num_groups - 1), "a source side has a group that is none"
    if table.labels is None:
        yield is_within(trie.next_group, -1, -1), "a source side has two groups"
    else:
        # Groups that make different labels; each was added before those that lead to it.
        before = trie.next_group < np.arange(num_groups)
        yield is_within(trie.next_group, -1, num_groups - 1) and before.all(), "groups lead in a circle"
        yield _are_labels(table.labels, arity), "a rule has labels that do not fit"
    num_usable = len(grammar.rules)
    yield num_usable + grammar.num_unusable == num_rules, "another number of rules can be used"
    yield is_within(grammar.rules, 0, num_rules - 1), "a group has a rule that is none"
    yield _are_offsets(grammar.rule_start, num_groups, num_usable), "a group lies outside of the rules"
    groups = grammar.rule_start, grammar.rules, trie.group_arity
    yield _have_their_arity(*groups, arity), "a group has no rules, or rules of different source sides"


def _are_labels(labels: Labels, arity: np.ndarray) -> bool:
    """Whether every rule has as many labels as it has nonterminals, and all of them a name."""
    names, kinds, kind = labels
    if len(kind) != len(arity) or not len(kinds) or names[0] != "X" or len(set(names)) != len(names):
        return False
    if not (is_within(kind, 0, len(kinds) - 1) and is_within(kinds, -1, len(names) - 1)):
        return False
    given = (kinds >= 0).sum(axis=1)
    leading = (np.arange(kinds.shape[1]) < given[:, None]) == (kinds >= 0)
    return bool(leading.all() and (given[kind] == arity + 1).all())


def _sparse_requirements(sparse: SparseFeatures, num_rules: int) -> Iterator[tuple[object, str]]:
    yield len(set(sparse.names)) == len(sparse.names), "two features have one name"
    yield is_sound(sparse.rows, num_rules), "features of few rules are not in order"


def _ranking_requirements(
    rules: RankedRules, grammar: Grammar, lms: tuple[LanguageModel, ...]
) -> Iterator[tuple[object, str]]:
    num_groups, num_places, num_symbols = len(grammar.trie.next_group), len(rules.rule), rules.target.shape[1]
    yield _are_offsets(rules.start, num_groups, num_places), "a group lies outside of the ranking"
    lengths = {len(each) for each in (rules.score, rules.prefix_length, rules.prefix_log_prob)}
    yield bool((np.diff(rules.start) > 0).all()), "a group has no rules"
    yield lengths <= {num_places}, "its arrays have different lengths"
    width = max(state_width(lm.order) for lm in lms)
    yield rules.prefix_state.shape == (num_places, len(lms), width), "its states are another model's"
    yield rules.prefix_log_prob.shape[1] == len(rules.target) == len(lms), "it is of other models"
    yield _are_finite(rules.score), "a score is not a finite number"
    yield _are_finite(rules.prefix_log_prob), "a probability is not a finite number"
    yield is_within(rules.rule, 0, len(grammar.features) - 1), "a rule is none of the grammar's"
    yield _are_offsets(rules.target_start, num_places, num_symbols), "a target side lies outside"
    group_of = np.full(len(grammar.features), -1, np.int32)
    _set_groups(grammar.rule_start, grammar.rules, group_of)
    for model, lm in enumerate(lms):
        yield _are_prices(rules.prefix_state[:, model], lm.order - 1), "a state has a number that is none"
        bad = _first_bad_place(rules, model, lm, group_of, grammar.target_start, grammar.target)
        yield bad < 0, f"rule {bad + 1} of the ranking is another"


def _are_finite(values: np.ndarray) -> bool:
    """Whether all numbers are; minimum and maximum are NaN if any is."""
    return values.size == 0 or bool(np.isfinite(values.min()) and np.isfinite(values.max()))


def _are_prices(states: np.ndarray, room: int) -> bool:
    """Whether the probabilities of states are finite, and their back-offs are numbers or `NO_CONTEXT`.

    One that is no number would make what joins add no number either, which searches take for a row.
    """
    numbers = states.view(np.float32)
    backoffs = numbers[:, 1 + 3 * room : 1 + 4 * room]
    are_backoffs = backoffs.size == 0 or bool(backoffs.min() > -np.inf)  # False of NaN, too.
    return are_backoffs and _are_finite(numbers[:, 1 + room : 1 + 2 * room])


def _are_offsets(start: np.ndarray, number: int, length: int) -> bool:
    """Whether these are the ends of so many rows, one after the other, of an array of that length."""
    return len(start) == number + 1 and bool(start[0] == 0 and start[-1] == length) and _is_monotone(start)


@kernel
def _is_monotone(start):
    is_monotone = True
    for i in range(len(start) - 1):
        is_monotone &= start[i + 1] >= start[i]
    return is_monotone


@kernel
def _first_bad_rule(source_start, source, target_start, target, arity):
    """The first rule whose nonterminals are not in source order, or not each once in its target, or −1.

    arity : int32 (R,), set to the number of nonterminals of each rule before that one
    """
    for rule in range(len(arity)):
        gaps, found, least, seen = 0, 0, 0, 0
        fits = True
        for i in range(source_start[rule], source_start[rule + 1]):
            is_gap = source[i] < 0
            gaps += is_gap
            fits &= not is_gap or source[i] == -gaps
        for i in range(target_start[rule], target_start[rule + 1]):
            is_gap = target[i] < 0
            found += is_gap
            least = min(least, target[i])
            seen |= np.int64(is_gap) << ((-1 - target[i]) & 63)
        if not fits or found != gaps or least != -gaps or gaps > MOST_GAPS or seen != (1 << gaps) - 1:
            return rule
        arity[rule] = gaps
    return -1


@kernel
def _has_free(slot_keys):
    slot = 0
    while slot < len(slot_keys) and slot_keys[slot] != -1:
        slot += 1
    return slot < len(slot_keys)


@kernel
def _have_their_arity(rule_start, rules, group_arity, arity):
    """Whether every group has rules, and these as many nonterminals as the group."""
    for group in range(len(group_arity)):
        if rule_start[group] == rule_start[group + 1]:
            return False
        for i in range(rule_start[group], rule_start[group + 1]):
            if arity[rules[i]] != group_arity[group]:
                return False
    return True


@kernel
def _set_groups(rule_start, rules, group_of):
    for group in range(len(rule_start) - 1):
        for i in range(rule_start[group], rule_start[group + 1]):
            group_of[rules[i]] = group


@kernel
def _first_bad_place(ranked, model, lm, group_of, target_start, target):
    """The first place of a ranking whose rule, target side or state of a model cannot be, or −1."""
    for group in range(len(ranked.start) - 1):
        for place in range(ranked.start[group], ranked.start[group + 1]):
            rule = ranked.rule[place]
            first, begin = ranked.target_start[place], target_start[rule]
            length = target_start[rule + 1] - begin
            if group_of[rule] != group or ranked.target_start[place + 1] - first != length:
                return place
            prefix = length
            for i in range(length):
                symbol, unranked = ranked.target[model, first + i], target[begin + i]
                if symbol >= lm.num_words or (min(symbol, unranked) < 0 and symbol != unranked):
                    return place
                if symbol < 0:
                    prefix = min(prefix, i)
            header = ranked.prefix_state[place, model, 0]
            if ranked.prefix_length[place] != prefix or not _is_header(header, lm.order - 1):
                return place
    return -1


@compiled
def _is_header(header, room):
    """Whether the numbers of words in a state's header fit; see `decoder.lm.model.state_width`."""
    return header >= 0 and header < 512 and header & 15 <= room and header >> 4 & 15 <= room
