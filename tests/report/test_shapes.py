"""Rule tables in numbers, against a count of the rules as text."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict

import numpy as np
import pytest

from scfg_sampler.report.shapes import forward_probabilities, histograms, shapes
from scfg_sampler.rules.table import RuleTable, read_rule_table, rule

RULES = """\
[X] ||| a ||| A ||| LogCount=0
[X] ||| a ||| B ||| LogCount=1.0986123
[X] ||| a b c ||| A ||| LogCount=0.8
[X] ||| a [X,1] ||| [X,1] A ||| LogCount=2.3025851
[X] ||| [X,1] a [X,2] ||| [X,2] A [X,1] ||| LogCount=0
[X] ||| [X,1] a [X,2] ||| [X,1] A [X,2] ||| LogCount=-0.5
[X] ||| [X,1] [X,2] [X,3] ||| [X,1] [X,3] [X,2] ||| LogCount=-3
[X] ||| b [X,1] a [X,2] [X,3] b ||| B A [X,1] [X,2] A [X,3] ||| LogCount=0
"""


@pytest.fixture
def table(tmp_path) -> RuleTable:
    path = tmp_path / "rules"
    path.write_text(RULES)
    return read_rule_table(path)


def counted(table: RuleTable) -> dict[str, dict[str, tuple[int, float]]]:
    """Histograms by name and label."""
    return {
        each.name: {
            label: (int(rules), float(uses))
            for label, rules, uses in zip(each.labels, each.rules, each.uses, strict=True)
        }
        for each in histograms(table, forward_probabilities(table))
    }


def by_hand(key) -> dict[str, tuple[int, float]]:
    """Rules and uses by what `key` says of the sides of a rule, as text."""
    rules, uses = Counter(), defaultdict(float)
    for line in RULES.splitlines():
        _, source, target, features = line.split(" ||| ")
        label = key(source.split(), target.split())
        rules[label] += 1
        uses[label] += float(np.exp(float(features.removeprefix("LogCount="))))
    return {label: (rules[label], pytest.approx(uses[label], rel=1e-5)) for label in rules}


def is_gap(symbol: str) -> bool:
    return symbol.startswith("[X,")


def order(source: list[str], target: list[str]) -> str:
    gaps = [symbol for symbol in target if is_gap(symbol)]
    if len(gaps) < 2:
        return ("none", "a single one")[len(gaps)]
    return "monotone" if gaps == sorted(gaps) else "reordered"


def scope(source: list[str], target: list[str]) -> str:
    pairs = sum(is_gap(a) and is_gap(b) for a, b in itertools.pairwise(source))
    return str(pairs + is_gap(source[0]) + is_gap(source[-1])).replace("4", "4–")


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("symbols on the source side", lambda source, target: str(len(source))),
        ("source words", lambda source, target: str(sum(not is_gap(s) for s in source))),
        ("target words", lambda source, target: str(sum(not is_gap(s) for s in target))),
        ("nonterminals", lambda source, target: str(sum(map(is_gap, source)))),
        ("order of the nonterminals", order),
        ("scope", scope),
    ],
)
def test_histograms_are_counts_of_the_rules_as_text(table, name, key):
    assert counted(table)[name] == by_hand(key)


def test_counts_and_probabilities_fall_into_their_bins(table):
    found = {
        name: {label: rules for label, (rules, _) in bins.items()} for name, bins in counted(table).items()
    }
    assert found["count"] == {"0 – 0.1": 1, "0.5 – 1": 1, "1 – 2": 3, "2 – 5": 2, "10 – 100": 1}
    assert found["P(target | source)"] == {
        "0.2 – 0.3": 1,
        "0.3 – 0.4": 1,
        "0.6 – 0.7": 1,
        "0.7 – 0.8": 1,
        "0.9 – 1": 4,
    }


def test_rules_used_ten_times_are_not_among_those_used_less(tmp_path):
    """ln 10 has seven digits in a table, and comes back as that of 9.999999."""
    path = tmp_path / "rules"
    uses = [(1, 1), (2, 5), (3, 10), (4, 100), (5, 1000), (6, 3), (6, 7)]
    path.write_text(
        "".join(f"[X] ||| s{k} ||| t{n} ||| LogCount={np.log(np.float32(n)):.7g}\n" for k, n in uses)
    )
    found = counted(read_rule_table(path))
    rules = {label: number for label, (number, _) in found["count"].items()}
    assert rules == {"1 – 2": 1, "2 – 5": 1, "5 – 10": 2, "10 – 100": 1, "100 – 1000": 1, "1000 –": 1}
    assert {"0.3 – 0.4", "0.7 – 0.8"} <= set(found["P(target | source)"])


def test_probabilities_of_a_source_side_sum_to_one(table):
    shares = forward_probabilities(table)
    np.testing.assert_allclose(shares[:2], [0.25, 0.75], rtol=1e-6)


def test_shapes_are_the_rules_with_their_words_taken_out(table):
    found = {shape.text: shape for shape in shapes(table, 20)}
    texts = Counter()
    for line in RULES.splitlines():
        sides = []
        for side in line.split(" ||| ")[1:3]:
            short = re.sub(r"(?<!\S)(?:[a-zA-Z] ?)+", "w ", side).strip()
            sides.append(re.sub(r"\[X,(\d)\]", lambda match: chr(0x245F + int(match[1])), short))
        texts[" → ".join(sides)] += 1
    assert {text: len(shape.rows) for text, shape in found.items()} == dict(texts)
    # The most used first, and the most frequent rules of each.
    assert next(iter(found)) == "w ① → ① w"
    words = found["w → w"]
    assert [rule(table, row).target for row in words.rows.tolist()] == [("B",), ("A",), ("A",)]
    assert words.uses == pytest.approx(4 + np.exp(0.8), rel=1e-6)
    assert len(shapes(table, 2)) == 2


def test_rules_of_more_gaps_than_shapes_have_room_for_are_in_none(tmp_path):
    path = tmp_path / "rules"
    gaps = " ".join(f"[X,{k}]" for k in range(1, 19))
    path.write_text(f"[X] ||| {gaps} ||| {gaps} ||| LogCount=0\n[X] ||| a ||| A ||| LogCount=0\n")
    assert [shape.text for shape in shapes(read_rule_table(path), 9)] == ["w → w"]


def test_empty_table_has_no_bins_and_no_shapes(tmp_path):
    path = tmp_path / "rules"
    path.write_text("# nothing\n")
    table = read_rule_table(path)
    assert shapes(table, 5) == []
    assert all(len(each.labels) == 0 for each in histograms(table, forward_probabilities(table)))
