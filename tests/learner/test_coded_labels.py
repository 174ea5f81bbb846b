"""Rules whose symbols say their labels."""

from __future__ import annotations

from scfg_sampler.learner.labels import coded
from scfg_sampler.rules.table import read_rule_table

RULES = [
    "[NN] ||| haus ||| house",
    "[X] ||| haus ||| house",
    "[X] ||| das [NN,1] ||| the [NN,1]",
    "[X] ||| das [X,1] ||| the [X,1]",
    "[NN] ||| haus ||| home",
]


def sides(rules):
    return [
        (
            tuple(rules.source[rules.source_start[r] : rules.source_start[r + 1]].tolist()),
            tuple(rules.target[rules.target_start[r] : rules.target_start[r + 1]].tolist()),
        )
        for r in range(rules.num_rules)
    ]


def test_symbols_are_equal_where_sides_and_labels_are(tmp_path):
    path = tmp_path / "table"
    path.write_text("".join(f"{rule} ||| LogCount=0 ||| 0-0\n" for rule in RULES))
    table = read_rule_table(path, labels=True)
    found = sides(coded(table.rules, table.labels))
    names = table.labels.names
    texts = [
        (names[table.labels.lhs[r]], source, target, tuple(table.labels.kinds[table.labels.kind[r], 1:]))
        for r, (source, target) in enumerate(sides(table.rules))
    ]
    # The left-hand side stands before the source, so that it counts as a part of it.
    assert [len(source) for source, _ in found] == [1 + len(source) for _, source, _, _ in texts]
    for i, (left, source, target, gaps) in enumerate(texts):
        for j, (other_left, other_source, other_target, other_gaps) in enumerate(texts):
            same_source = (left, source, gaps) == (other_left, other_source, other_gaps)
            assert (found[i][0] == found[j][0]) == same_source
            assert (found[i][1] == found[j][1]) == ((target, gaps) == (other_target, other_gaps))
