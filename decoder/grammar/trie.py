"""Rule tables as a trie of source sides, and the best targets of each source side.

Every nonterminal of a source side that is X is the same symbol of the trie, as they are numbered in source
order anyway; other labels are symbols of their own (`decoder.grammar.labels`). The rules of one table that
share a source side, labels included, are a *group*; a group is what the chart matches and what a cube of cube
pruning enumerates. Which targets of a group are worth keeping, and in which order, depends on the weights, so
a `Grammar` is built once and ranked again for each weight vector.

Rules are ranked by w·f(rule) + Σ w_LM · (log probability of the rule's words as far as the rule itself gives
their context), a term for each language model. The fact a newcomer would get wrong: the second part only
ranks. It is never added to the score of a derivation, which counts every word once, with its true context.

A source side that is a single nonterminal would let derivations grow for ever; such rules, but for those that
make one label of another and never lead back, and rules without a source side are left out and counted in
`num_unusable`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from decoder.grammar.joining import joined_features
from decoder.grammar.labels import GrammarLabels, grammar_labels, owners, trie_symbols
from decoder.lm.model import (
    LanguageModel,
    add_word,
    begin,
    state_width,
)
from scfg_sampler.core.arrays.growth import sort_descending
from scfg_sampler.core.arrays.hash_table import first_slot, key_slot
from scfg_sampler.core.arrays.sparse import row_products
from scfg_sampler.core.arrays.vocabulary import Vocabulary
from scfg_sampler.core.elementary import products
from scfg_sampler.core.jit import by_reference, compiled, kernel
from scfg_sampler.errors import SettingsError
from scfg_sampler.rules.labels import gap_counts, joined_labels
from scfg_sampler.rules.table import RuleTable, SparseFeatures

__all__ = [
    "Grammar",
    "GrammarSource",
    "RankedRules",
    "Trie",
    "build_grammar",
    "child",
    "rank_rules",
    "require_span",
    "rule_scores",
]

NONTERMINAL = -1  # The symbol of any nonterminal in the trie.
_FREE = -1


class GrammarSource(NamedTuple):
    """A rule table and how to use it.

    prefix : put before the names of the table's features; "" leaves them as they are.
    max_span : the longest source span a rule of the table may cover.
    """

    table: RuleTable
    prefix: str = ""
    max_span: int = 20


class Trie(NamedTuple):
    """Source sides as paths from node 0.

    slot_keys : int64 (C,), C a power of two. node · 2³² + symbol + 1, or −1 for a free slot.
    slot_children : int32 (C,)
    first_group : int32 (T,), a group whose source side ends at the node, or −1
    next_group : int32 (G,), another group of the same node, or −1
    group_span : int32 (G,), the longest span a rule of the group may cover
    group_arity : int32 (G,), how many nonterminals its source side has
    """

    slot_keys: np.ndarray
    slot_children: np.ndarray
    first_group: np.ndarray
    next_group: np.ndarray
    group_span: np.ndarray
    group_arity: np.ndarray


class Grammar(NamedTuple):
    """All rules of one or several tables, which have a common numbering of words and of features.

    rule_start : int64 (G + 1,); the rules of group g are `rules[rule_start[g]:rule_start[g + 1]]`
    rules : int32 (R − num_unusable,)
    table_start : int64, the first rule of each table, and R
    target_start, target : the target sides; word ids of `target_vocabulary`, or −1−k
    features : float32 (R, F)
    sparse : other features, which few rules have; None if there are none
    labels : of nonterminals; None if all are X
    soft_labels : whether a gap may be filled by any label, at the price of the feature `LabelMismatch`
    """

    sources: tuple[GrammarSource, ...]
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    trie: Trie
    rule_start: np.ndarray
    rules: np.ndarray
    table_start: np.ndarray
    target_start: np.ndarray
    target: np.ndarray
    features: np.ndarray
    feature_names: tuple[str, ...]
    max_arity: int
    num_unusable: int
    sparse: SparseFeatures | None = None
    labels: GrammarLabels | None = None
    soft_labels: bool = False

    @property
    def sparse_names(self) -> tuple[str, ...]:
        """The names of the features that few rules have."""
        return () if self.sparse is None else self.sparse.names


class RankedRules(NamedTuple):
    """The targets kept for each group, best first; places are indices into the arrays below.

    start : int64 (G + 1,); group g keeps the places start[g] … start[g + 1] − 1
    rule : int32 (K,), the rule at each place
    score : float64 (K,), w·f(rule), without language model
    target_start, target : int64 (K + 1,), int32 (M, …): for each language model its word ids, or −1−k
    prefix_length : int32 (K,), how many words come before the first nonterminal
    prefix_log_prob : float64 (K, M), their log probability without context
    prefix_state : int32 (K, M, W), their states, filled with zeros up to the width of the widest
    """

    start: np.ndarray
    rule: np.ndarray
    score: np.ndarray
    target_start: np.ndarray
    target: np.ndarray
    prefix_length: np.ndarray
    prefix_log_prob: np.ndarray
    prefix_state: np.ndarray


def build_grammar(sources: Sequence[GrammarSource]) -> Grammar:
    """The trie and the joined rules of some tables; a feature that a table lacks is 0 for its rules.

    Raises
    ------
    SettingsError
        There is no table, or a span limit is below 1.
    """
    if not sources:
        raise SettingsError("--grammar: no rule table is given")
    for source in sources:
        require_span(source)
    tables = [source.table for source in sources]
    source_vocabulary, source_symbols = _joined_words(
        [(table.source_vocabulary, table.source) for table in tables]
    )
    target_vocabulary, target = _joined_words([(table.target_vocabulary, table.target) for table in tables])
    source_start = _joined_offsets([table.source_start for table in tables])
    target_start = _joined_offsets([table.target_start for table in tables])
    table_start = np.zeros(len(tables) + 1, np.int64)
    np.cumsum([len(table.features) for table in tables], out=table_start[1:])
    feature_names, features, sparse = joined_features([source[:2] for source in sources])
    max_spans = np.array([min(source.max_span, 2**31 - 1) for source in sources], np.int32)
    labels = joined_labels([(t.labels, gap_counts(t.source_start, t.source)) for t in tables])

    num_words = len(source_vocabulary)
    symbols = source_symbols
    if labels is not None:
        symbols = trie_symbols(labels, source_start, source_symbols, num_words)
    owner, spans = owners(source_start, source_symbols, table_start, max_spans, labels)
    num_nodes = _count_nodes(source_start, symbols)
    *arrays, group_of_rule = _fill_trie(source_start, symbols, owner, spans, num_words, num_nodes)
    trie = Trie(*arrays)
    num_groups = len(trie.next_group)
    usable = np.flatnonzero(group_of_rule >= 0)
    order = usable[np.argsort(group_of_rule[usable], kind="stable")].astype(np.int32)
    rule_start = np.searchsorted(group_of_rule[order], np.arange(num_groups + 1)).astype(np.int64)
    return Grammar(
        tuple(sources),
        source_vocabulary,
        target_vocabulary,
        trie,
        rule_start,
        order,
        table_start,
        target_start,
        target,
        features,
        feature_names,
        int(-source_symbols.min(initial=0)),
        len(group_of_rule) - len(order),
        sparse,
        None if labels is None else grammar_labels(labels, trie, num_words, order[rule_start[:-1]]),
    )


def require_span(source: GrammarSource) -> None:
    """Raise a SettingsError if a table's span limit is below 1."""
    if source.max_span < 1:
        raise SettingsError(f"--max-span is {source.max_span}; a rule covers at least 1 word")


def _joined_words(parts: list[tuple[Vocabulary, np.ndarray]]) -> tuple[Vocabulary, np.ndarray]:
    """One vocabulary for all parts, and their symbols renumbered to it, one part after the other."""
    if len(parts) == 1:
        return parts[0][0], parts[0][1].astype(np.int32, copy=False)
    joined = Vocabulary()
    symbols = []
    for vocabulary, values in parts:
        ids = np.array([*joined.add_all(vocabulary.words), 0], np.int32)
        symbols.append(np.where(values < 0, values, ids[np.maximum(values, -1)]).astype(np.int32))
    return joined, np.concatenate(symbols)


def _joined_offsets(starts: list[np.ndarray]) -> np.ndarray:
    lengths = np.concatenate([np.diff(start) for start in starts])
    joined = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=joined[1:])
    return joined


# ---- The trie -------------------------------------------------------------------------------------


@kernel
def _count_nodes(source_start: np.ndarray, source: np.ndarray) -> int:
    """How many nodes the trie can have: exact when the rules are sorted, otherwise too many."""
    num_nodes = 1
    for rule in range(len(source_start) - 1):
        num_nodes += source_start[rule + 1] - source_start[rule]
        if rule > 0:
            num_nodes -= _shared_prefix(source_start, source, rule - 1, rule)
    return num_nodes


@compiled
def _shared_prefix(source_start, source, one, other):
    """How many symbols two source sides begin with in common, nonterminals being all the same."""
    i, k = source_start[one], source_start[other]
    longest = min(source_start[one + 1] - i, source_start[other + 1] - k)
    for length in range(longest):
        if max(source[i + length], NONTERMINAL) != max(source[k + length], NONTERMINAL):
            return length
    return longest


@kernel
def _fill_trie(source_start, source, owner, max_spans, num_words, num_nodes):
    """The arrays of a `Trie`, and the group of every rule, −1 for unusable ones.

    owner, max_spans : as `owners` gives them
    num_words : from this number on, symbols are nonterminals of labels other than X
    """
    capacity = 16
    while capacity < 2 * num_nodes:
        capacity *= 2
    slot_keys = np.full(capacity, _FREE, np.int64)
    slot_children = np.zeros(capacity, np.int32)
    first_group = np.full(num_nodes, -1, np.int32)
    num_rules = len(source_start) - 1
    next_group = np.full(num_rules, -1, np.int32)
    group_owner, group_arity = np.zeros(num_rules, np.int32), np.zeros(num_rules, np.int32)
    group_of_rule = np.full(num_rules, -1, np.int32)
    longest = 1
    for rule in range(num_rules):
        longest = max(longest, source_start[rule + 1] - source_start[rule])
    path = np.zeros(longest + 1, np.int32)
    nodes, groups = 1, 0
    for rule in range(num_rules):
        begin_at, length = source_start[rule], source_start[rule + 1] - source_start[rule]
        shared = _shared_prefix(source_start, source, rule - 1, rule) if rule > 0 else 0
        for i in range(shared, length):
            key = _key(path[i], max(source[begin_at + i], NONTERMINAL))
            slot = _slot(slot_keys, key)
            if slot_keys[slot] == _FREE:
                slot_keys[slot] = key
                slot_children[slot] = nodes
                nodes += 1
            path[i + 1] = slot_children[slot]
        if owner[rule] < 0:
            continue
        node = path[length]
        group = first_group[node]
        while group >= 0 and group_owner[group] != owner[rule]:
            group = next_group[group]
        if group < 0:
            group = groups
            groups += 1
            group_owner[group] = owner[rule]
            for i in range(begin_at, begin_at + length):
                group_arity[group] += source[i] < 0 or source[i] >= num_words
            next_group[group] = first_group[node]
            first_group[node] = group
        group_of_rule[rule] = group
    group_span = np.empty(groups, np.int32)
    for group in range(groups):
        group_span[group] = max_spans[group_owner[group]]
    arrays = slot_keys, slot_children, first_group, next_group[:groups].copy(), group_span
    return (*arrays, group_arity[:groups].copy(), group_of_rule)


@compiled
def child(trie: Trie, node: int, symbol: int) -> int:
    """The node that `symbol` (a word id, or NONTERMINAL) leads to, or −1."""
    slot = _slot(trie.slot_keys, _key(node, symbol))
    return trie.slot_children[slot] if trie.slot_keys[slot] != _FREE else -1


@compiled
def _key(node, symbol):
    return (np.int64(node) << 32) | np.int64(symbol + 1)


@compiled
def _slot(slot_keys, key):
    """The slot that holds the key, or the free slot where it belongs."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    first = first_slot(slot_keys, np.int64(mixed ^ (mixed >> np.uint64(32))))
    return key_slot(slot_keys, key, first, _FREE)


# ---- Ranking --------------------------------------------------------------------------------------


def rank_rules(
    grammar: Grammar,
    weights: np.ndarray,
    lms: tuple[LanguageModel, ...],
    lm_ids: np.ndarray,
    lm_weights: np.ndarray,
    max_targets: int = 20,
) -> RankedRules:
    """The best targets of every group under the weights, best first; ties in the order of the table.

    Parameters
    ----------
    weights : as for `rule_scores`
    lms : M language models
    lm_ids : int32 (M, V), the id each model has for every word of the target vocabulary
    lm_weights : float64 (M,)
    max_targets : how many targets a group keeps; 0 keeps all
    """
    scores = rule_scores(grammar, weights)
    limit = max_targets if max_targets > 0 else 2**31 - 1
    targets = _Targets(
        grammar.rule_start, grammar.rules, grammar.target_start, grammar.target, lm_ids, scores
    )
    return _rank(targets, lms, lm_weights, limit, max(state_width(lm.order) for lm in lms))


def rule_scores(grammar: Grammar, weights: np.ndarray) -> np.ndarray:
    """w·f of every rule, float64 (R,).

    weights : (F + S,), in the order of `grammar.feature_names`, then of `grammar.sparse_names`
    """
    num_columns = len(grammar.feature_names)
    scores = products(grammar.features, weights[:num_columns].astype(np.float64))
    if grammar.sparse is not None:
        scores += row_products(grammar.sparse.rows, weights[num_columns:].astype(np.float64))
    return scores


class _Targets(NamedTuple):
    """The target sides of a grammar and their scores; the fields are those of `Grammar`, and

    lm_ids : int32 (M, V), the id each language model has for every word
    scores : float64 (R,), w·f of every rule
    """

    rule_start: np.ndarray
    rules: np.ndarray
    target_start: np.ndarray
    target: np.ndarray
    lm_ids: np.ndarray
    scores: np.ndarray


@kernel
def _rank(targets, lms, lm_weights, limit, width):
    num_groups = len(targets.rule_start) - 1
    start = np.zeros(num_groups + 1, np.int64)
    largest = 1
    for group in range(num_groups):
        size = targets.rule_start[group + 1] - targets.rule_start[group]
        largest = max(largest, size)
        start[group + 1] = start[group] + min(size, limit)
    num_kept = start[num_groups]
    rule, score = np.empty(num_kept, np.int32), np.empty(num_kept, np.float64)
    keys, order = np.empty(largest, np.float64), np.empty(largest, np.int64)
    state = np.zeros(width, np.int32)
    for group in range(num_groups):
        first, size = targets.rule_start[group], targets.rule_start[group + 1] - targets.rule_start[group]
        for i in range(size):
            keys[i], order[i] = targets.scores[targets.rules[first + i]], i
        for model in range(len(lms)):
            lm, lm_ids, weight = by_reference(lms[model]), targets.lm_ids[model], lm_weights[model]
            for i in range(size):
                keys[i] += weight * _own_log_prob(lm, targets, lm_ids, targets.rules[first + i], state)
        sort_descending(order, keys, 0, size)
        for i in range(start[group + 1] - start[group]):
            place = start[group] + i
            rule[place] = targets.rules[first + order[i]]
            score[place] = targets.scores[rule[place]]
    return RankedRules(start, rule, score, *_with_prefixes(targets, lms, rule, state))


@compiled
def _with_prefixes(targets, lms, rule, state):
    """The last five arrays of the `RankedRules` of some rules; `state` is overwritten."""
    num_kept, num_symbols = len(rule), 0
    for place in range(num_kept):
        num_symbols += targets.target_start[rule[place] + 1] - targets.target_start[rule[place]]
    target_start, target = np.zeros(num_kept + 1, np.int64), np.empty((len(lms), num_symbols), np.int32)
    prefix_length, prefix_log_prob = np.zeros(num_kept, np.int32), np.zeros((num_kept, len(lms)), np.float64)
    prefix_state = np.zeros((num_kept, len(lms), len(state)), np.int32)
    for model in range(len(lms)):
        lm, lm_ids = by_reference(lms[model]), targets.lm_ids[model]
        at = 0
        for place in range(num_kept):
            begin(lm, state)
            length = 0
            first, last = targets.target_start[rule[place]], targets.target_start[rule[place] + 1]
            for i in range(first, last):
                symbol = targets.target[i]
                if symbol >= 0:
                    symbol = lm_ids[symbol]
                    if length == i - first:
                        length += 1
                        prefix_log_prob[place, model] += add_word(lm, state, symbol)
                target[model, at] = symbol
                at += 1
            for i in range(len(state)):
                prefix_state[place, model, i] = state[i]
            prefix_length[place] = length
            target_start[place + 1] = at
    return target_start, target, prefix_length, prefix_log_prob, prefix_state


@compiled
def _own_log_prob(lm, targets, lm_ids, rule, state):
    """Log probability of a rule's words, each stretch between nonterminals without context."""
    total = 0.0
    begin(lm, state)
    for i in range(targets.target_start[rule], targets.target_start[rule + 1]):
        if targets.target[i] < 0:
            begin(lm, state)
        else:
            total += add_word(lm, state, lm_ids[targets.target[i]])
    return total
