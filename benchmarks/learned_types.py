"""What types of nonterminals turned out to be: of each, its share, most typical words and commonest rules.

    python benchmarks/learned_types.py RUN [--words 8] [--rules 6]

RUN is a run directory of `scfg-sampler sample --types K`, of expected counts. Rules of words have no gap;
the most typical are those with the largest n ln(P(rule | type) / P(rule)).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from scfg_sampler.rules.labels import gap_counts, kind_of
from scfg_sampler.rules.table import RuleTable, read_rule_table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--words", type=int, default=8)
    parser.add_argument("--rules", type=int, default=6)
    options = parser.parse_args()
    table = read_rule_table(options.run / "counts" / "marginal.gz", labels=True)
    assert table.labels is not None, "all nonterminals are X"
    count = np.exp(table.features[:, table.feature_names.index("LogCount")].astype(float))
    is_word = gap_counts(table.rules.source_start, table.rules.source) == 0
    left = table.labels.lhs
    texts: dict[int, str] = {}
    for label, name in enumerate(table.labels.names):
        rows = np.flatnonzero(left == label)
        if len(rows) == 0:
            continue
        of_words, others = rows[is_word[rows]], rows[~is_word[rows]]
        total, words = count[rows].sum(), count[of_words].sum()
        print(f"{name}: {total:.0f} uses, {total / count.sum():.1%}; {words / total:.0%} without gaps")
        typical = of_words[np.argsort(-_surprise(table, count, of_words, is_word), kind="stable")]
        print("   ", "; ".join(_text(table, r, texts) for r in typical[: options.words]))
        for r in others[np.argsort(-count[others], kind="stable")][: options.rules]:
            print(f"    {count[r]:8.1f}  {_text(table, r, texts)}")


def _surprise(table: RuleTable, count: np.ndarray, rows: np.ndarray, pool: np.ndarray) -> np.ndarray:
    """n ln(P(rule | type) / P(rule)) of the rules of a type, float64."""
    skeleton: dict[tuple[bytes, bytes], float] = {}
    everything = np.flatnonzero(pool)
    for r in everything.tolist():
        skeleton[_sides(table, r)] = skeleton.get(_sides(table, r), 0.0) + count[r]
    whole = np.array([skeleton[_sides(table, r)] for r in rows.tolist()])
    shares = count[rows] / count[rows].sum(), whole / count[everything].sum()
    return count[rows] * np.log(shares[0] / shares[1])


def _sides(table: RuleTable, row: int) -> tuple[bytes, bytes]:
    rules = table.rules
    source = rules.source[rules.source_start[row] : rules.source_start[row + 1]]
    return source.tobytes(), rules.target[rules.target_start[row] : rules.target_start[row + 1]].tobytes()


def _text(table: RuleTable, row: int, texts: dict[int, str]) -> str:
    if row not in texts:
        kind, sides, rules = kind_of(table.labels, row), [], table.rules
        for start, symbols, vocabulary in (
            (rules.source_start, rules.source, table.source_vocabulary),
            (rules.target_start, rules.target, table.target_vocabulary),
        ):
            row_symbols = symbols[start[row] : start[row + 1]].tolist()
            sides.append(
                " ".join(vocabulary.words[s] if s >= 0 else f"[{kind[-s]},{-s}]" for s in row_symbols)
            )
        texts[row] = " → ".join(side or "∅" for side in sides)
    return texts[row]


if __name__ == "__main__":
    main()
