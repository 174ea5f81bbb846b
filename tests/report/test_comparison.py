"""Two tables side by side, and where a rule matches."""

from __future__ import annotations

import itertools

import pytest

from scfg_sampler.baseline.extraction import extract
from scfg_sampler.baseline.settings import HieroSettings
from scfg_sampler.corpus.parallel_text import pair_words, parse_corpus
from scfg_sampler.learner.derivations import Derivation
from scfg_sampler.learner.pair_posteriors import read_last_state
from scfg_sampler.report.comparison import Occurrence, compare_tables, find_occurrence, standing_in
from scfg_sampler.report.grammar import named_table, tell_comparison
from scfg_sampler.rules.features import score_rules
from scfg_sampler.rules.lexical import estimate
from scfg_sampler.rules.table import read_rule_table, rule
from scfg_sampler.rules.text import parse_rule
from tests.learner.corpora import corpus_of
from tests.learner.test_chain import some_pairs
from tests.learner.test_commands import sample, write_corpus
from tests.oracles.phrase_forest import Sentence


def table_of(path, rules: dict[str, float]):
    lines = (f"[X] ||| {sides} ||| LogCount={count}\n" for sides, count in rules.items())
    path.write_text("".join(lines))
    return read_rule_table(path)


def texts(table, rows) -> list[str]:
    return [" ".join(map(str, (*rule(table, row).source, "|", *rule(table, row).target))) for row in rows]


def test_rules_are_compared_by_their_words_whatever_their_numbers(tmp_path):
    one = table_of(tmp_path / "one", {"a b ||| A": 0, "c [X,1] ||| [X,1] C": 1, "a ||| A": 3, "b ||| A B": 2})
    other = table_of(
        tmp_path / "other", {"x ||| A": 9, "c [X,1] ||| [X,1] C": 0, "c [X,1] ||| C [X,1]": 4, "a ||| A": 1}
    )
    found = compare_tables(one, other)
    assert set(texts(one, found.shared)) == {"c -1 | -1 C", "a | A"}
    assert set(texts(other, found.shared_in_other)) == {"c -1 | -1 C", "a | A"}
    assert texts(one, found.only) == ["b | A B", "a b | A"]
    assert texts(other, found.only_other) == ["x | A", "c -1 | C -1"]


def test_sides_do_not_run_into_each_other(tmp_path):
    one, other = (
        table_of(tmp_path / name, {sides: 0}) for name, sides in (("1", "a b ||| c"), ("2", "a ||| b c"))
    )
    assert compare_tables(one, other).shared.tolist() == []


def agrees(links, source, target) -> bool:
    inside = [(source[0] <= i < source[1]) + 2 * (target[0] <= j < target[1]) for i, j in links]
    return 3 in inside and not {1, 2} & set(inside)


def test_every_rule_of_the_baseline_is_found_where_it_was_extracted(rng):
    """Where it is found, the phrase pair agrees with the links and reads as the rule with its gaps filled."""
    corpus = corpus_of(some_pairs(12))
    rules = extract(corpus, HieroSettings())
    table = score_rules(
        rules, estimate(corpus), corpus.source_vocabulary, corpus.target_vocabulary, signature="x"
    )
    gaps = 0
    for row in range(table.num_rules):
        wanted = rule(table, row)
        place = find_occurrence(corpus, wanted)
        assert place is not None, wanted
        source, target = pair_words(corpus, place.sentence)
        begin, end = corpus.link_start[place.sentence : place.sentence + 2]
        assert agrees(corpus.links[begin:end].tolist(), place.source, place.target)
        for side, words, span in (
            (wanted.source, source, place.source),
            (wanted.target, target, place.target),
        ):
            assert reads(side, words[slice(*span)])
        gaps += any(not isinstance(symbol, str) for symbol in wanted.source)
    assert gaps > 10


def reads(side, words) -> bool:
    """Whether words are a side whose gaps are filled by one word or more."""
    if not side:
        return not words
    if isinstance(side[0], str):
        return bool(words) and words[0] == side[0] and reads(side[1:], words[1:])
    return any(reads(side[1:], words[k:]) for k in range(1, len(words) + 1))


@pytest.mark.parametrize("text", ["a ||| B", "c ||| C", "a [X,1] ||| [X,1] A", "b a ||| A"])
def test_rules_that_match_nowhere_have_no_place(text):
    corpus = parse_corpus(["a b"], ["A B"], ["0-0 1-1"])
    assert find_occurrence(corpus, parse_rule(f"[X] ||| {text} ||| X=0")) is None


def test_places_under_a_second_alignment_that_may_be_chosen_are_those_of_the_pair(tmp_path):
    """Pair 1 of three has a link for `b ||| B` under the second alignment alone."""
    first = frozenset({(0, 0)})
    options = write_corpus(tmp_path, [Sentence(("a", name), ("A", "B"), first) for name in "cbd"])
    (tmp_path / "other").write_text("0-0\n0-0 1-1\n0-0\n")
    run = tmp_path / "run"
    options = [*options, str(tmp_path / "other")]
    assert sample(options, run, "--iterations", "1", "--choose", "sentence") == 0
    tables = []
    for name, sides in (("ours", "a ||| A"), ("theirs", "b ||| B")):
        table_of(tmp_path / name, {sides: 0})
        tables.append(named_table(name, tmp_path / name))
    shown = "".join(map(str, tell_comparison(*tables, read_last_state(run))))
    assert "pair 1, source words 1–2" in shown


def test_what_stands_in_begins_at_the_lowest_node_above_the_place():
    leaf = [Derivation((k, k + 1), (k, k + 1), f"leaf {k}", []) for k in range(6)]
    left = Derivation((0, 3), (0, 3), "left", leaf[:3])
    root = Derivation((0, 6), (0, 6), "root", [left, *leaf[3:]])

    def names(begin: int, end: int) -> list[str]:
        return [node.rule for node in standing_in(root, Occurrence(0, (begin, end), (begin, end)))]

    assert names(1, 2) == ["leaf 1"]
    assert names(1, 3) == ["left", "leaf 1", "leaf 2"]
    assert names(2, 4) == ["root", "left", "leaf 2", "leaf 3"]
    assert all(names(a, b) for a, b in itertools.combinations(range(7), 2))
