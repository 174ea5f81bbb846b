"""Bracketed trees, sentences, scores, tallies and dependency trees."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from monolingual.cli import main
from monolingual.pcfg.chart import inside_probabilities
from monolingual.pcfg.chart_grammar import binarise, chart_weights
from monolingual.pcfg.dependency_grammar import (
    CONSTITUENTS,
    TaggedSentence,
    dependency_grammar,
    format_brackets,
    read_tagged,
)
from monolingual.pcfg.grammar import families, num_rules, rule_name
from monolingual.pcfg.grammar_text import read_grammar
from monolingual.pcfg.graph import is_linear, useful_rules
from monolingual.pcfg.model import Data
from monolingual.pcfg.scores import brackets_of, read_brackets, score
from monolingual.pcfg.simulate import simulate
from monolingual.pcfg.tally import add_block, empty_tally, merge_tallies, tree_shares
from monolingual.pcfg.tree_draws import Trees
from monolingual.pcfg.trees import format_tree, read_sentences, read_trees, spans, yields
from scfg_sampler.core.chains.diagnostics import error_of_mean
from scfg_sampler.errors import InputError, SettingsError, TreeError
from tests.monolingual.pcfg.grammars import TERNARY, grammar_of, random_grammar


def packed(*trees):
    start = np.concatenate([[0], np.cumsum([len(tree) for tree in trees])]).astype(np.int64)
    return Trees(start, np.array([rule for tree in trees for rule in tree], dtype=np.int32))


@pytest.fixture
def ternary(tmp_path):
    return grammar_of(TERNARY, tmp_path)[0]


FLAT, LEFT, RIGHT = (0, 2, 2, 2), (1, 1, 2, 2, 2), (1, 2, 1, 2, 2)


def test_trees_are_written_and_read_back(rng, tmp_path):
    grammar, probs = random_grammar(rng, 5)
    grammar, trees = simulate(rng, grammar, probs, 200)
    lines = [
        format_tree(grammar, trees.rules[a:b]) for a, b in zip(trees.start, trees.start[1:], strict=False)
    ]
    (tmp_path / "trees").write_text("\n\n".join(lines), encoding="utf-8")
    again = read_trees(tmp_path / "trees", grammar)
    assert_array_equal(again.start, trees.start)
    assert_array_equal(again.rules, trees.rules)
    words, start = yields(grammar, trees)
    for line, a, b in zip(lines, start, start[1:], strict=False):
        tokens = line.replace("(", " ( ").replace(")", " ) ").split()
        leaves = [token for before, token in pairwise(tokens) if before != "(" and token not in "()"]
        assert leaves == [grammar.terminals[word] for word in words[a:b]]


def test_spans_and_words_of_trees(ternary):
    found = spans(ternary, packed(FLAT, LEFT))
    assert_array_equal(found.tree, [0] * 4 + [1] * 5)
    assert_array_equal(found.begin, [0, 0, 1, 2, 0, 0, 0, 1, 2])
    assert_array_equal(found.end, [3, 1, 2, 3, 3, 2, 1, 2, 3])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (S a) (S a)", "t:1: 1 bracket is not closed"),
        ("(S a) (S a)", "t:1: '\\(' stands outside of the tree"),
        ("\n(S (S a) b)", "t:2: the grammar has no rule S -> S 'b'"),
        ("(T a)", "t:1: the root is T, the start symbol S"),
        ("(S () )", "t:1: a bracket without a label"),
        ("a", "t:1: 'a' stands outside of the tree"),
        ("", "t: holds no tree"),
    ],
)
def test_bad_trees_are_reported_with_their_line(text, message, ternary, tmp_path):
    (tmp_path / "t").write_text(text, encoding="utf-8")
    with pytest.raises(TreeError, match=message):
        read_trees(tmp_path / "t", ternary)


def test_brackets_within_symbols_are_written_and_read_back(tmp_path):
    (tmp_path / "g").write_text("0.5 S(1) --> ( NP(x) )\n0.5 S(1) --> :-)\n1 NP(x) --> -RRB-\n")
    grammar = read_grammar(tmp_path / "g").grammar
    for rules in ([0, 2], [1]):
        text = format_tree(grammar, rules)
        (tmp_path / "t").write_text(text + "\n")
        assert read_trees(tmp_path / "t", grammar).rules.tolist() == rules
    assert text == "(S-LRB-1-RRB- :--RRB-)"
    (tmp_path / "g").write_text("0.5 S --> -RRB-\n0.5 S --> )\n")
    (tmp_path / "t").write_text("(S -RRB-)\n")
    both = read_grammar(tmp_path / "g").grammar
    assert format_tree(both, read_trees(tmp_path / "t", both).rules) == "(S -RRB-)"
    assert both.terminals[both.rhs[read_trees(tmp_path / "t", both).rules[0]]] == "-RRB-"


def test_no_break_spaces_are_parts_of_words(tmp_path):
    grammar, _ = grammar_of("S -> 'a\u00a0b' S [.5] | '\u3000' [.5]", tmp_path)
    (tmp_path / "t").write_text("(S a\u00a0b (S \u3000))\n")
    trees = read_trees(tmp_path / "t", grammar)
    assert format_tree(grammar, trees.rules) == "(S a\u00a0b (S \u3000))"
    assert read_brackets(tmp_path / "t").lengths.tolist() == [2]


def test_bad_sentences_are_reported_with_their_line(ternary, tmp_path):
    (tmp_path / "s").write_text("a a\n\na b\n", encoding="utf-8")
    with pytest.raises(InputError, match="s:3: 'b' is not a terminal"):
        read_sentences(tmp_path / "s", ternary)
    found = read_sentences(tmp_path / "s", ternary, skip_unknown=True)
    assert_array_equal(found.words, [0, 0, 0, -1])
    assert_array_equal(found.lines, [1, 3])


def test_f1_is_that_of_a_hand_count(ternary, tmp_path):
    (tmp_path / "gold").write_text("(S (S a) (X a a))\n(S (S a a) a)\n", encoding="utf-8")
    gold = read_brackets(tmp_path / "gold")
    # Found: 0-3 and 1-3; 0-3. Gold: 0-3 and 1-3; 0-2 and 0-3.
    precision, recall, f1 = score(brackets_of(ternary, packed(RIGHT, FLAT)), gold)
    assert_allclose([precision, recall, f1], [1.0, 3 / 4, 6 / 7])
    assert score(brackets_of(ternary, packed(RIGHT, FLAT), "T.*"), gold).f1 == 0.0
    with pytest.raises(SettingsError, match="--gold has 2 trees for 1 sentence; give one tree for each"):
        score(brackets_of(ternary, packed(FLAT)), gold)
    with pytest.raises(SettingsError, match="tree 2 of --gold has 3 words, the sentence 1"):
        score(brackets_of(ternary, packed(FLAT, (2,))), gold)
    with pytest.raises(SettingsError, match="not a regular expression"):
        brackets_of(ternary, packed(FLAT), "(")
    (tmp_path / "gold").write_text("(S a))\n", encoding="utf-8")
    with pytest.raises(TreeError, match="gold:1: a closing bracket too many"):
        read_brackets(tmp_path / "gold")


def test_brackets_of_long_sentences_are_not_taken_for_others(tmp_path):
    """Where 4,096 words were the end of one number, both inner brackets below had the same key."""
    found = []
    for inner in (5000, 904):
        (tmp_path / "gold").write_text("(S" + " w" * (5000 - inner) + " (A" + " w" * inner + "))\n")
        found.append(read_brackets(tmp_path / "gold"))
    assert found[0].lengths == found[1].lengths == [5000]
    assert len(found[0].keys) == 1
    assert len(found[1].keys) == 2
    assert score(*found).precision == 1.0
    assert score(*found).recall == 0.5
    (tmp_path / "gold").write_text("(S" + " w" * (1 << 20) + ")\n")
    with pytest.raises(TreeError, match=r"a tree of 1,048,576 words\. 1,048,575 at most"):
        read_brackets(tmp_path / "gold")


def test_tallies_count_weigh_and_merge(ternary):
    data = Data(np.zeros(7, np.int32), np.array([0, 3, 6, 7]), np.zeros(3, np.int64), 0)
    sweeps = [(FLAT, FLAT, (2,)), (FLAT, LEFT, (2,)), (RIGHT, LEFT, (2,)), (LEFT, LEFT, (2,))]
    log_z = np.array([0.0, -1.0, -500.0, math.nan])
    whole = add_block(empty_tally(), packed(*[t for s in sweeps for t in s]), 3, log_z, 2)
    parts = empty_tally()
    for sweep, value in zip(sweeps, log_z, strict=True):
        parts = add_block(parts, packed(*sweep), 3, np.array([value]), 2)
    for tally in (whole, parts, merge_tallies([whole, parts])):
        shares = {share.tree: share for share in tree_shares(ternary, data, tally)}
        assert_allclose(shares["(S a)"].share, 1.0)
        assert_allclose(shares["(S (S a) (S a) (S a))"].share, 3 / 8)
        assert_allclose(shares["(S (S (S a) (S a)) (S a))"].share, 4 / 8)
        # Only the first sweep is tight; the third outweighs all others by e^998.
        assert_allclose(shares["(S (S a) (S a) (S a))"].only_tight, 1.0)
        assert_allclose(shares["(S (S a) (S (S a) (S a)))"].renormalise, 0.5)
        assert_allclose(shares["(S (S a) (S a) (S a))"].renormalise, 0.0, atol=1e-300)
    assert parts.draws == 4
    assert parts.batches.sweeps.tolist() == [4]
    assert merge_tallies([whole, parts]).batches.sweeps.tolist() == [4, 4]


def tallied(chains, times, rng):
    """Tallies of chains; of each sweep's trees of one sentence so many are LEFT, the others FLAT."""
    tallies = []
    for chain in chains:
        tally, at = empty_tally(), 0
        while at < len(chain):
            block = chain[at : at + int(rng.integers(1, 50))]
            trees = [LEFT if k < number else FLAT for number in block for k in range(times)]
            tally = add_block(tally, packed(*trees), times, np.full(len(block), np.nan), 0)
            at += len(block)
        tallies.append(tally)
    return tallies


@pytest.mark.parametrize(("times", "lengths"), [(1, [100]), (3, [700, 700]), (2, [700, 390, 60])])
def test_the_error_of_a_share_is_that_of_batches_of_sweeps(ternary, rng, times, lengths):
    """In blocks of any length; a chain that was stopped early does not decide for the others."""
    data = Data(np.zeros(3 * times, np.int32), np.arange(times + 1) * 3, np.zeros(times, np.int64), 0)
    chains = [rng.integers(0, times + 1, length) for length in lengths]
    tally = merge_tallies(tallied(chains, times, rng))
    found = {share.tree: share for share in tree_shares(ternary, data, tally)}
    length = 8 if max(lengths) == 700 else 1
    told = chains[:2] if len(lengths) == 3 else chains
    whole = min(map(len, told)) // length
    means = np.array([chain[: whole * length].reshape(whole, length).mean(axis=1) for chain in told]) / times
    expected = error_of_mean(means) * math.sqrt(means.size * length / sum(lengths))
    for tree in ("(S (S (S a) (S a)) (S a))", "(S (S a) (S a) (S a))"):
        assert_allclose(found[tree].error, expected, rtol=1e-9)


def test_the_error_of_a_share_is_right_where_batches_are_shorter_than_the_memory(ternary, rng):
    """A tree that stays for 100 sweeps, in 20,000. Told within 15 %; without correlation, off by fourteen."""
    data = Data(np.zeros(3, np.int32), np.array([0, 3]), np.zeros(1, np.int64), 0)
    stays, told, shares = 0.99, [], []
    for _ in range(40):
        changes = rng.random(20_000) < 1 - stays
        kinds = rng.integers(0, 2, 20_001)
        chain = kinds[np.cumsum(changes)]
        blocks = tallied([chain[:10_000], chain[10_000:]], 1, rng)
        found = {share.tree: share for share in tree_shares(ternary, data, merge_tallies(blocks))}
        told.append(found["(S (S a) (S a) (S a))"].error)
        shares.append(found["(S (S a) (S a) (S a))"].share)
    expected = math.sqrt(0.25 * (1 + stays) / (1 - stays) / 20_000)
    assert math.sqrt(np.mean(np.square(told))) == pytest.approx(expected, rel=0.15)
    assert np.std(shares) == pytest.approx(expected, rel=0.4)


def test_little_is_not_said_to_be_sure(ternary, rng):
    """Neither of 19 batches, nor of a tree that is drawn after the last whole one."""
    data = Data(np.zeros(3, np.int32), np.array([0, 3]), np.zeros(1, np.int64), 0)
    assert math.isnan(tree_shares(ternary, data, *tallied([[0] * 19], 1, rng))[0].error)
    assert tree_shares(ternary, data, *tallied([[0] * 20], 1, rng))[0].error == 0.0
    frequent, rare = tree_shares(ternary, data, *tallied([[0] * 136 + [1]], 1, rng))
    assert rare.share == 1 / 137
    assert math.isnan(frequent.error)
    assert math.isnan(rare.error)


def test_a_tree_that_is_always_drawn_has_no_error(tmp_path):
    (tmp_path / "grammar").write_text("S -> 'a' [0.5] | 'b' [0.5]\n")
    (tmp_path / "text").write_text("a\nb\n")
    told = ["--sentences", str(tmp_path / "text"), "--iterations", "600", "--burn-in", "100", "--quiet"]
    run = str(tmp_path / "run")
    assert main(["pcfg", "sample", str(tmp_path / "grammar"), *told, "--output", run]) == 0
    found = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert found["tree_frequencies"] == {"(S a)": 1.0, "(S b)": 1.0}
    assert found["tree_frequency_errors"] == {"(S a)": 0.0, "(S b)": 0.0}


# ---------------------------------------------------------------- dependency trees


def dmv_weight(sentence, stop, child, root):
    """The probability of a projective dependency tree under the model with valence."""
    weight = root[sentence.tags[sentence.heads.index(0)]]
    for at, tag in enumerate(sentence.tags):
        dependents = [i for i, head in enumerate(sentence.heads) if head == at + 1]
        for side, found in (
            ("left", [i for i in dependents if i < at]),
            ("right", [i for i in dependents if i > at]),
        ):
            for number, i in enumerate(found):
                weight *= 1.0 - stop[tag, side, number == 0]
                weight *= child[tag, side][sentence.tags[i]]
            weight *= stop[tag, side, not found]
    return weight


def test_dependency_grammar_is_the_model_with_valence(rng):
    tags = ("A", "B")
    grammar = dependency_grammar(tags)
    assert useful_rules(grammar).all()
    assert not is_linear(grammar)
    root = dict(zip(tags, rng.dirichlet([1, 1]), strict=True))
    stop = {
        (h, side, near): rng.random() for h in tags for side in ("left", "right") for near in (True, False)
    }
    child = {
        (h, side): dict(zip(tags, rng.dirichlet([1, 1]), strict=True))
        for h in tags
        for side in ("left", "right")
    }
    probs = np.empty(num_rules(grammar))
    for rule in range(len(probs)):
        left, right = rule_name(grammar, rule).split(" -> ")
        kind, _, head = left.partition("_")
        first = right.split()[0]
        if kind == "S":
            probs[rule] = root[right[2:]]
        elif kind in "XW":
            name = first if kind == "X" else right.split()[1]
            probs[rule] = child[head, "left" if kind == "X" else "right"][name[2:]]
        elif kind == "H":
            probs[rule] = 1.0
        else:
            side = "left" if kind in "NY" else "right"
            value = stop[head, side, kind in "NF"]
            probs[rule] = value if first[0] == ("F" if side == "left" else "H") else 1.0 - value
    assert_allclose(np.add.reduceat(probs, families(grammar).start[:-1]), 1.0)
    ids = {name: at for at, name in enumerate(grammar.terminals)}
    chart = binarise(grammar)
    for sentence in (("A",), ("A", "B"), ("B", "A", "A"), ("A", "B", "B", "A")):
        words = np.array([ids[tag] for tag in sentence], dtype=np.int32)
        found = inside_probabilities(chart, chart_weights(chart, probs), words, np.array([0, len(words)]))
        expected = sum(
            dmv_weight(TaggedSentence(sentence, h), stop, child, root) for h in projective(len(sentence))
        )
        assert_allclose(np.exp(found[0]), expected, rtol=1e-12)


def projective(size):
    """The heads of every projective tree over `size` words."""
    import itertools

    for heads in itertools.product(range(size + 1), repeat=size):
        if heads.count(0) != 1 or not is_tree(heads):
            continue
        arcs = [(min(h - 1, d), max(h - 1, d)) for d, h in enumerate(heads) if h]
        root = heads.index(0)
        crossing = any(a < c < b < d for a, b in arcs for c, d in arcs)
        if not crossing and not any(a < root < b for a, b in arcs):
            yield heads


def is_tree(heads):
    for word in range(len(heads)):
        seen = set()
        while heads[word]:
            if word in seen:
                return False
            seen.add(word)
            word = heads[word] - 1
    return True


def test_dependency_trees_become_brackets(tmp_path):
    assert format_brackets(TaggedSentence(("A",), (0,))) == "(X A)"
    assert format_brackets(TaggedSentence(("A", "B", "C", "D"), (3, 1, 0, 3))) == "(X (X A B) C D)"
    # Word 2 depends on word 4 across the root: its subtree is left out.
    assert format_brackets(TaggedSentence(("A", "B", "C", "D"), (3, 4, 0, 3))) == "(X A B C D)"
    assert CONSTITUENTS == "N_.*"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("A B", "t:1: one column"),
        ("A B\t1 x", "t:1: heads '1 x' are not numbers"),
        ("A B\t0 3", "t:1: 2 tags with the heads"),
        ("A B\t0", "t:1: 2 tags with the heads"),
        ("A B\t0 0", "t:1: the heads '0 0' are not a tree"),
        ("A B C\t0 3 2", "t:1: the heads '0 3 2' are not a tree"),
    ],
)
def test_bad_dependency_trees_are_reported_with_their_line(line, message, tmp_path):
    (tmp_path / "t").write_text(line + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=message):
        list(read_tagged(tmp_path / "t"))
