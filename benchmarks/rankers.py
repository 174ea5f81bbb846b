"""What rankers are worth on questions that nothing was learnt of: the training questions, part by part.

    python benchmarks/rankers.py RUN LANG [GRAMMAR …] [--cut]

RUN is a directory of `recipes/meaning.sh … LANG`. The lists of its parts were made by grammars that were
learnt of the other parts. Of each part in turn, a ranker that has learnt of the lists of the others alone
chooses; printed are the shares, in percent, whose right expression comes first in the list as it is, is
chosen, and is in the list at all. With --cut, rankers read the words as grammars do.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from decoder.commands.train_expressions import read_pairs
from decoder.expressions.files import read_expressions
from decoder.expressions.lists import read_lists
from decoder.expressions.ranker import best_candidate, train_ranker


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("language", metavar="LANG")
    parser.add_argument("grammars", nargs="*", metavar="GRAMMAR", default=["typed", "hiero-typed"])
    parser.add_argument("--cut", action="store_true")
    options = parser.parse_args()
    run = options.run
    text, model = "whole.train", "whole.expressions.json"
    if options.cut:
        text, model = f"train.{options.language}", "expressions.json"
    sources, trees = read_pairs(str(run / text), str(run / "train.mr"))
    names = read_expressions(run / model).lexicon.names
    parts = len(list(run.glob("fold[0-9]*")))
    for grammar in options.grammars:
        lists = [
            read_lists(run / f"fold{part}" / f"{grammar}.list", len(range(part, len(trees), parts)))
            for part in range(parts)
        ]
        first = chosen = there = 0
        for part in range(parts):
            taught = list(lists)
            taught[part] = [[] for _ in lists[part]]
            others = [number for number in range(len(trees)) if number % parts != part]
            ranker = train_ranker(sources, trees, taught, names)
            known = train_ranker([sources[i] for i in others], [trees[i] for i in others], [[]], names)
            ranker = ranker._replace(models=known.models)
            for number, candidates in zip(range(part, len(trees), parts), lists[part], strict=True):
                right = [list(one.words) == trees[number] for one in candidates]
                if right:
                    first += right[0]
                    chosen += right[best_candidate(ranker, sources[number], candidates)]
                    there += any(right)
        shares = (f"{100 * value / len(trees):.1f}" for value in (first, chosen, there))
        print(grammar, "first, chosen, in the list:", *shares)


if __name__ == "__main__":
    main()
