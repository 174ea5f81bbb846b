"""Tiny corpora, the learner's states on them, and their exact probabilities."""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.vocabulary import Vocabulary
from scfg_sampler.core.chains.kernel import Kernel
from scfg_sampler.corpus.parallel_text import ParallelCorpus
from scfg_sampler.corpus.span_labels import SpanLabels
from scfg_sampler.forest.choice import chosen
from scfg_sampler.learner.chain import LearnerState, learner_kernel
from scfg_sampler.learner.forest_bank import ForestBank, forest_bank
from scfg_sampler.learner.settings import LearnerSettings, attached, check_settings
from tests.core.fragments.seatings import Seating, sit, table_sizes
from tests.oracles import chosen_alignments, loose_derivations, phrase_forest, rule_model
from tests.oracles.phrase_forest import Sentence
from tests.oracles.seatings import log_named_seatings, partitions


def corpus_of(pairs: list[Sentence]) -> ParallelCorpus:
    """A corpus in memory; of pairs under several alignments, all under the first come first."""
    if pairs and not isinstance(pairs[0], Sentence):
        return corpus_of([one for alignment in zip(*pairs, strict=True) for one in alignment])
    vocabularies = Vocabulary(), Vocabulary()
    starts: list[list[int]] = [[0], [0], [0]]
    values: list[list] = [[], [], []]
    for pair in pairs:
        for side in (0, 1):
            values[side] += [vocabularies[side].add(word) for word in pair[side]]
            starts[side].append(len(values[side]))
        values[2] += sorted(pair.links)
        starts[2].append(len(values[2]))
    return ParallelCorpus(
        *vocabularies,
        np.array(starts[0], np.int64),
        np.array(values[0], np.int32),
        np.array(starts[1], np.int64),
        np.array(values[1], np.int32),
        np.array(starts[2], np.int64),
        np.array(values[2], np.int32).reshape(-1, 2),
    )


class Chain(NamedTuple):
    """A chain on a corpus, and what it was made of."""

    bank: ForestBank
    settings: LearnerSettings
    kernel: Kernel


def chain_on(pairs: list[Sentence], **settings) -> Chain:
    """The learner's chain on a corpus in memory."""
    given = LearnerSettings(**settings)
    check_settings(given)
    alignments = 1 if isinstance(pairs[0], Sentence) else len(pairs[0])
    choice = chosen(given.choose, alignments)
    labels = span_labels_of(_once(pairs), given.labels_side)
    bank = forest_bank(corpus_of(pairs), given.max_length, attached(given), choice, labels)
    return Chain(bank, given, learner_kernel(bank, given))


def span_labels_of(pairs: list[Sentence], side: str) -> SpanLabels | None:
    """The labels of all pairs; None if there are none."""
    rows = [row for pair in pairs for row in pair.labels]
    names = Vocabulary(["X"])
    labels = np.array([names.add(name) for _, _, name in rows], np.int32)
    start = np.cumsum([0, *(len(pair.labels) for pair in pairs)])
    spans = np.array([row[:2] for row in rows], np.int32).reshape(-1, 2)
    return SpanLabels(tuple(names.words), side == "target", start, spans, labels) if rows else None


def seated(chain: Chain, trees) -> LearnerState:
    """The state with these derivations."""
    return chain.kernel.init(
        np.random.default_rng(0), np.array(trees, np.uint32 if chain.bank.max_attached else np.uint16)
    )


def all_trees(chain: Chain, pairs: list[Sentence]) -> Iterator[tuple[int, ...]]:
    """The codes of all derivations of all sentences together, from the oracle's derivations."""
    for codes, _ in all_derivations(chain, pairs):
        yield codes


def all_derivations(
    chain: Chain, pairs: list[Sentence]
) -> Iterator[tuple[tuple[int, ...], Counter[tuple[str, str]]]]:
    """The codes of all derivations of all sentences together, each with the rules it uses."""
    per_sentence = [
        [(codes, _rules(chain, pair, d)) for codes, d in sentence_derivations(chain, pair)] for pair in pairs
    ]
    for combination in itertools.product(*per_sentence):
        codes = tuple(itertools.chain.from_iterable(codes for codes, _ in combination))
        yield codes, Counter(itertools.chain.from_iterable(rules for _, rules in combination))


def _rules(chain: Chain, pair: Sentence, derivation: tuple) -> list[tuple[str, str]]:
    if chain.bank.choice:
        return chosen_alignments.rules(pair, derivation)
    if chain.bank.labels:
        return phrase_forest.labelled_rules(pair, derivation, chain.settings.labels_side)
    if chain.bank.max_attached == 0:
        return phrase_forest.rules(pair, derivation)
    return list(loose_derivations.rules(pair, derivation).values())


def sentence_derivations(chain: Chain, pair: Sentence) -> Iterator[tuple[tuple[int, ...], tuple]]:
    """The codes of all derivations of a sentence, with the oracle's derivations."""
    if chain.bank.choice:
        merged, limit = chain.settings.choose == "phrase", chain.settings.max_cut_span
        found = [(chosen_alignments.codes(d), d) for d in chosen_alignments.derivations(pair, merged, limit)]
        most = max(len(codes) for codes, _ in found)
        yield from ((codes + (0,) * (most - len(codes)), d) for codes, d in found)
        return
    for derivation in phrase_forest.derivations(pair, chain.settings.max_cut_span):
        codes = _codes(pair, derivation)
        if chain.bank.max_attached == 0:
            yield codes, derivation
            continue
        for boxed in loose_derivations.boxed(pair, derivation, chain.bank.max_attached):
            more = [_packed(node, box) for node, box, _ in loose_derivations.preorder(pair, boxed)]
            yield tuple(code + 65536 * extra for code, extra in zip(codes, more, strict=True)), boxed


def _packed(node: tuple[int, ...], box: tuple[int, ...] | None) -> int:
    """How many words a box takes in on each side, four bits each."""
    if box is None:
        return 0
    return sum(
        abs(there - here) << (4 * side) for side, (here, there) in enumerate(zip(node, box, strict=True))
    )


def _codes(pair: Sentence, derivation: tuple) -> tuple[int, ...]:
    positions = sorted({s for s, _ in pair.links})
    node, cut, parts = derivation
    is_split = len(phrase_forest.edges(pair, node)) > 1 or (
        len(parts) == 2
        and parts[0][0][1] <= parts[1][0][0]
        and _compact(positions, parts[0][0]) + _compact(positions, parts[1][0]) == _compact(positions, node)
    )
    label = _compact(positions, parts[0][0]) if is_split else 0
    inner = itertools.chain.from_iterable(_codes(pair, part) for part in parts)
    return (2 * label + cut, *inner)


def _compact(positions: list[int], node: tuple[int, int, int, int]) -> int:
    return sum(node[0] <= s < node[1] for s in positions)


def _once(pairs: list) -> list[Sentence]:
    """The pairs under one of their alignments."""
    return [pair if isinstance(pair, Sentence) else pair[0] for pair in pairs]


def spelled_dishes(chain: Chain, pairs: list[Sentence]) -> dict[int, tuple[str, str]]:
    """The rule that each fingerprint stands for.

    A rule's fingerprint is the one that is seated in the same derivations equally often. Rules that no
    derivation tells apart may change places: then they have equal probabilities.
    """
    uses: dict[tuple[str, str], list] = defaultdict(list)
    customers: dict[int, list] = defaultdict(list)
    for number, (codes, rules) in enumerate(all_derivations(chain, pairs)):
        for rule, count in rules.items():
            uses[rule].append((number, count))
        for dish, sizes in table_sizes(seated(chain, codes).restaurants):
            customers[dish].append((number, sum(sizes)))
    alike: dict[tuple, list[tuple[str, str]]] = defaultdict(list)
    for rule, where in uses.items():
        alike[tuple(where)].append(rule)
    model = rule_model.model_of(chain.settings, _once(pairs))
    for rules in alike.values():
        kinds = {
            (phrase_forest.rule_length(r), round(rule_model.base_prob(model, r), 12), *r[2:]) for r in rules
        }
        assert len(kinds) == 1, f"no derivation tells {rules} apart"
    assert len(customers) == len(uses)
    return {dish: alike[tuple(where)].pop() for dish, where in customers.items()}


def log_weights(chain: Chain, pairs: list[Sentence]) -> dict[tuple, float]:
    """ln of the joint probability of every state of a chain, (trees, seating), by the oracle's mathematics.

    A state stands for all seatings of named customers with these table sizes.
    """
    found: dict[tuple, float] = {}
    model = rule_model.model_of(chain.settings, _once(pairs))
    spelled = spelled_dishes(chain, pairs)
    for trees in all_trees(chain, pairs):
        customers = {dish: sum(sizes) for dish, sizes in table_sizes(seated(chain, trees).restaurants)}
        tracked = model.exact and model.discount > 0.0
        choices = [list(partitions(number)) if tracked else [(number,)] for number in customers.values()]
        for combination in itertools.product(*choices):
            log_weight = rule_model.log_joint(
                model, {spelled[dish]: sizes for dish, sizes in zip(customers, combination, strict=True)}
            )
            if tracked:
                # The joint is that of one seating of named customers; so many have these table sizes.
                log_weight += sum(map(log_named_seatings, combination))
            if chain.settings.divide_by_trees:
                log_weight -= log_same_rules(chain, pairs)[trees]
            found[trees, tuple(sorted(zip(customers, combination, strict=True)))] = log_weight
    return found


def all_states(chain: Chain, pairs: list[Sentence]) -> dict[tuple, float]:
    """Every state of a chain as (trees, seating), with its exact posterior probability."""
    log_probs = log_weights(chain, pairs)
    top = max(log_probs.values())
    total = sum(math.exp(value - top) for value in log_probs.values())
    return {state: math.exp(value - top) / total for state, value in log_probs.items()}


@functools.cache
def _same_rules(pairs: tuple[Sentence, ...], max_cut_span: int) -> dict[tuple[int, ...], int]:
    """In how many derivations the same nodes are cut, and so the same rules used, by codes."""
    found: list[dict[tuple[int, ...], int]] = []
    for pair in pairs:
        heads = {_codes(pair, d): _cut_nodes(d) for d in phrase_forest.derivations(pair, max_cut_span)}
        number = Counter(heads.values())
        found.append({codes: number[nodes] for codes, nodes in heads.items()})
    return {
        tuple(itertools.chain.from_iterable(codes for codes, _ in combination)): math.prod(
            number for _, number in combination
        )
        for combination in itertools.product(*(each.items() for each in found))
    }


def _cut_nodes(derivation: tuple) -> frozenset:
    node, cut, parts = derivation
    return frozenset([node] if cut else []).union(*(_cut_nodes(part) for part in parts))


def log_same_rules(chain: Chain, pairs: list[Sentence]) -> dict[tuple[int, ...], float]:
    """ln of the number of derivations that use the same rules at the same places, by codes."""
    numbers = _same_rules(tuple(pairs), chain.settings.max_cut_span)
    return {trees: math.log(number) for trees, number in numbers.items()}


def state_from(chain: Chain, state: tuple[tuple[int, ...], Seating]) -> LearnerState:
    """The learner's own form of a state."""
    trees, seating = state
    result = seated(chain, trees)
    sit(result.restaurants, seating)
    return result


def state_key(state: LearnerState) -> tuple[tuple[int, ...], Seating]:
    """A hashable form of a state."""
    return tuple(int(code) for code in state.trees), tuple(sorted(table_sizes(state.restaurants)))
