"""`tsg statistics`: the elementary trees of a run, counted and listed."""

from __future__ import annotations

import argparse
from typing import Any

from scfg_sampler.core import console
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import SettingsError

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "statistics",
        help="sizes of elementary trees and the most frequent ones",
        description="Histograms of depth, nodes, terminals and frontier nonterminals of the elementary trees "
        "(figure 4 of Cohn et al. 2009), and the most frequent ones (tables 2 and 3).",
        epilog="examples:\n  scfg-monolingual tsg statistics run --label NP --label VP --plot figure4.svg\n"
        "  scfg-monolingual tsg statistics run --grammar-rules grammar.rules --lexicon grammar.lex",
    )
    parser.add_argument("directory", metavar="RUN", help="run directory of 'tsg train'")
    parser.add_argument(
        "--label", metavar="L", action="append", default=[], help="list trees with this root; may be repeated"
    )
    parser.add_argument("--top", metavar="N", type=int, default=15, help="how many to list")
    parser.add_argument(
        "--with-words",
        dest="lexical",
        action="store_true",
        help="list only those with words, as table 3 does",
    )
    parser.add_argument(
        "--grammar-rules", dest="rules", metavar="FILE", help="write the rules for disco-dop or bitpar"
    )
    parser.add_argument("--lexicon", metavar="FILE", help="write the lexicon for these")
    parser.add_argument("--plot", metavar="FILE", help="draw the histograms; .svg, .pdf or .png")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.writes("--grammar-rules", "--lexicon", "--plot")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Count, list, and write what is asked for."""
    import json

    from monolingual.tsg.fragments import format_fragment
    from monolingual.tsg.learnt import read_grammar
    from monolingual.tsg.plots import check_plot, plot_histograms, save_plot
    from monolingual.tsg.statistics import histograms, most_frequent, rules_and_lexicon
    from scfg_sampler.core.files import atomic_output

    if options.top < 0:
        raise SettingsError(f"--top is {options.top}; it must be at least 0")
    if (options.rules is None) != (options.lexicon is None):
        raise SettingsError("--grammar-rules and --lexicon belong together; give both")
    if options.plot is not None:
        check_plot(options.plot)
    learnt = read_grammar(options.directory)
    labels = options.label or [None]
    known = {tree.label for tree, _ in learnt.fragments}
    for label in options.label:
        if label not in known:
            raise SettingsError(f"--label {label}: no elementary tree has that root")
    counts = histograms(learnt.fragments)
    frequent = {
        label or "all": [
            {"fragment": format_fragment(tree), "count": count}
            for tree, count in most_frequent(learnt.fragments, label, options.top, lexical=options.lexical)
        ]
        for label in labels
    }
    deep = sum(number for depth, number in counts["depth"].items() if depth > 1)
    record: dict[str, Any] = {
        "types": len(learnt.fragments),
        "tokens": sum(count for _, count in learnt.fragments),
        "deeper_than_rules": deep,
        "productions": len(learnt.productions),
        "histograms": counts,
        "frequent": frequent,
    }
    if options.rules is not None:
        rules, lexicon = rules_and_lexicon(learnt.fragments)
        for path, lines in ((options.rules, rules), (options.lexicon, lexicon)):
            with atomic_output(path) as stream:
                stream.writelines(line + "\n" for line in lines)
            console.say(f"{counted(len(lines), 'line')}: {path}")
    if options.plot is not None:
        save_plot(plot_histograms(counts), options.plot)
        console.say(f"histograms: {options.plot}")
    if options.json:
        print(json.dumps(record, indent=1, ensure_ascii=False))
        return
    print(f"{counted(record['types'], 'elementary tree')}, {deep} of them deeper than a rule; ", end="")
    print(f"{counted(record['productions'], 'production')} in the treebank")
    for name, histogram in counts.items():
        shown = "  ".join(f"{size}: {number}" for size, number in histogram.items())
        print(f"{name:10}{shown}")
    for label, rows in frequent.items():
        print(f"most frequent, {label}")
        for row in rows:
            print(f"{row['count']:8g}  {row['fragment']}")
