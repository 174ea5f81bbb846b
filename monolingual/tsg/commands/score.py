"""`tsg score`: EVALB's figures."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from scfg_sampler.core import console
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import InputError, SettingsError

if TYPE_CHECKING:
    from collections import Counter

    from monolingual.tsg.categories import Categories
    from monolingual.tsg.score import SentenceScore

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "score",
        help="labelled bracketing scores of trees, as EVALB counts",
        description="Compare trees with gold trees: labelled precision, recall and F1, exact match, crossing "
        "brackets and tagging accuracy, of all sentences and of the short ones. Where TEST has a line for "
        "each gold tree, one that is empty, or () or (()), is a sentence without a tree, which is left out, "
        "as by EVALB.",
        epilog="examples:\n  scfg-monolingual tsg score gold.mrg parsed.mrg\n"
        "  scfg-monolingual tsg score gold.mrg parsed.mrg --max-length 40 --json",
    )
    parser.add_argument("gold", metavar="GOLD", help="gold trees; .gz is read too")
    parser.add_argument("test", metavar="TEST", help="trees of the same sentences; - is standard input")
    parser.add_argument(
        "--parameters", choices=("collins", "new"), default="collins", help="COLLINS.prm or new.prm"
    )
    parser.add_argument("--cutoff", metavar="N", type=int, default=40, help="which sentences are short")
    parser.add_argument("--max-length", metavar="N", type=int, help="leave longer sentences out altogether")
    parser.add_argument(
        "--mismatch",
        choices=("error", "gold"),
        default="error",
        help="if tags disagree on what is punctuation: leave the sentence out, as EVALB does, or ask gold",
    )
    parser.add_argument("--detailed", action="store_true", help="a line for every sentence first")
    parser.add_argument("--categories", action="store_true", help="also the scores of each label")
    parser.add_argument(
        "--confusion", metavar="N", type=int, help="also the N labels and tags most often taken for others"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Score, and print."""
    import json

    from monolingual.tsg.categories import by_category
    from monolingual.tsg.score import compared, score_sentence, total

    if options.confusion is not None and options.confusion < 1:
        raise SettingsError(f"--confusion is {options.confusion}; it must be at least 1")
    how = {"parameters": options.parameters, "mismatch": options.mismatch}
    numbered, pairs = {}, []
    for number, (gold, test) in enumerate(_pairs(options.gold, options.test), start=1):
        score = score_sentence(gold, test, **how)
        if options.max_length is None or score.length <= options.max_length:
            numbered[number] = score
            if (options.categories or options.confusion) and not (score.is_error or score.is_skipped):
                pairs.append(compared(gold, test, **how))
    scores = list(numbered.values())
    if not scores:
        if options.max_length is None:
            raise InputError(
                options.gold, None, "holds no tree", "Write one bracketed tree for each sentence"
            )
        found = f"no sentence is as short as --max-length {options.max_length}"
        raise InputError(options.gold, None, found, "Raise it, or leave it out")
    errors = sum(score.is_error for score in scores)
    if errors:
        hint = "; --mismatch gold scores those where only tags of punctuation differ"
        hint = hint if options.mismatch == "error" else ""
        console.warn(f"sentences over other words than gold, which are left out: {errors}{hint}")
    if skipped := sum(score.is_skipped for score in scores):
        console.warn(f"sentences without a tree or a word that counts, which are left out: {skipped}")
    figures = total(scores)._asdict()
    short = total(scores, options.cutoff)._asdict()
    if options.json:
        record: dict[str, Any] = {**figures, "cutoff": options.cutoff, "short": short}
        if options.detailed:
            detailed = [{"sentence": number, **score._asdict()} for number, score in numbered.items()]
            record["detailed"] = detailed
        record |= _category_record(options, by_category(pairs))
        print(json.dumps(record, indent=1, ensure_ascii=False))
        return
    if options.detailed:
        _print_sentences(numbered)
    print(f"{'':24}{'all':>10}{f'<= {options.cutoff}':>10}")
    for name in figures:
        cells = (
            f"{row[name]:10.2f}" if isinstance(row[name], float) else f"{row[name]:10d}"
            for row in (figures, short)
        )
        print(f"{name.replace('_', ' '):24}" + "".join(cells))
    _print_categories(options, by_category(pairs))


def _category_record(options: argparse.Namespace, found: Categories) -> dict[str, Any]:
    """What JSON says of labels."""
    record: dict[str, Any] = {}
    if options.categories:
        record["categories"] = [
            {**entry._asdict(), "precision": entry.precision, "recall": entry.recall, "f1": entry.f1}
            for entry in found.categories
        ]
    if options.confusion:
        for name in ("labels", "tags"):
            record[f"confused_{name}"] = [
                [gold, test, times] for (gold, test), times in _most_confused(options, getattr(found, name))
            ]
    return record


def _print_categories(options: argparse.Namespace, found: Categories) -> None:
    if options.categories:
        print(f"\n{'label':16}{'gold':>8}{'test':>8}{'precision':>11}{'recall':>9}{'f1':>9}")
        for entry in found.categories:
            shares = f"{entry.precision:11.2f}{entry.recall:9.2f}{entry.f1:9.2f}"
            print(f"{entry.label:16}{entry.gold:8d}{entry.test:8d}{shares}")
    if options.confusion:
        for name in ("labels", "tags"):
            print(f"\n{name} of gold taken for others (—: no bracket)")
            for (gold, test), times in _most_confused(options, getattr(found, name)):
                print(f"{times:8d}  {gold} → {test}")


def _most_confused(options: argparse.Namespace, counts: Counter) -> list[tuple[tuple[str, str], int]]:
    return sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))[: options.confusion]


def _pairs(gold_path: str, test_path: str):
    """Trees of the two files, side by side; None for a test tree that its line does not hold."""
    import itertools

    from monolingual.tsg.trees import parse_trees, read_trees, trees_of_lines
    from scfg_sampler.core.files import read_lines

    golds, lines = list(read_trees(gold_path)), list(read_lines(test_path))
    if len(lines) == len(golds) and any(_is_without_tree(line) for line in lines):
        for number, (gold, line) in enumerate(zip(golds, lines, strict=True), start=1):
            trees = [] if _is_without_tree(line) else list(parse_trees(test_path, [(number, line)]))
            if len(trees) > 1:
                found = counted(len(trees), "tree")
                raise InputError(test_path, number, found, "Write one for each gold tree")
            yield gold.tree, trees[0].tree if trees else None
        return
    for number, (gold, test) in enumerate(
        itertools.zip_longest(golds, trees_of_lines(test_path, lines)), start=1
    ):
        if gold is None or test is None:
            path, other = (gold_path, test_path) if gold is None else (test_path, gold_path)
            found = f"ends after {counted(number - 1, 'tree')}, and {other} goes on"
            raise InputError(path, None, found, "Both need a tree for every sentence")
        yield gold.tree, test.tree


def _is_without_tree(line: str) -> bool:
    return not line.replace("(", "").replace(")", "").strip()


def _print_sentences(numbered: dict[int, SentenceScore]) -> None:
    print("sentence  length  matched  gold  test  crossing  words  tags")
    for number, score in numbered.items():
        shown = "  error: other words than gold" if score.is_error else ""
        shown += "  skipped: no tree, or no word counts" if score.is_skipped else ""
        print(
            f"{number:8d}{score.length:8d}{score.matched:9d}{score.gold:6d}{score.test:6d}"
            f"{score.crossing:10d}{score.words:7d}{score.tags:6d}{shown}"
        )
