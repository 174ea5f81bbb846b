"""What `translate --reference` prints: the derivations of given translations, or what is in the way."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from scfg_sampler.core.wording import counted

if TYPE_CHECKING:
    from decoder.translation.decoder import Decoder
    from decoder.translation.forced import Forced, ForcedDecoder

__all__ = ["Derived", "ReferenceTask", "derive_line", "reference_task", "summary"]


class ReferenceTask(NamedTuple):
    """What a line needs beside itself.

    references : one list per file, None where a line has no further reference
    """

    decoder: Decoder
    forced: ForcedDecoder
    references: list[list[str | None]]
    options: argparse.Namespace


class Derived(NamedTuple):
    """What is written of a line.

    text : rows
    tree, graph : the derivation and the hypergraph as JSON, with line ends
    exists : whether there is a derivation
    words, unknown : how many the line has, and how many of them are in no rule
    """

    text: str
    tree: str
    exists: bool
    graph: str = ""
    words: int = 0
    unknown: int = 0


def reference_task(decoder: Decoder, options: argparse.Namespace, num_lines: int) -> ReferenceTask:
    """The task of the options; an InputError if a file of references has not as many lines as the input."""
    from decoder.scoring.evaluate import read_references
    from decoder.translation.forced import ForcedDecoder

    references = read_references(options.reference, num_lines, options.input)
    return ReferenceTask(decoder, ForcedDecoder(decoder), references, options)


def derive_line(task: ReferenceTask, numbered: tuple[int, str]) -> Derived:
    """The best derivations of the reference that has the best one, or why the first reference has none."""
    from decoder.commands import input_words
    from decoder.translation.derivations import derivation_record
    from decoder.translation.hypergraph import hypergraph_record, no_hypergraph
    from decoder.translation.nbest import nbest_lines
    from scfg_sampler.core.arrays.vocabulary import split_words

    def json_line(option: str | None, record: Callable[[], dict[str, Any]]) -> str:
        return "" if option is None else json.dumps(record(), ensure_ascii=False) + "\n"

    number, line = numbered
    trees, graphs = task.options.derivations, task.options.hypergraph
    words = input_words(task.options, split_words(line))
    texts = [texts[number] for texts in task.references]
    outcomes = [
        task.forced.derive(words, input_words(task.options, split_words(text)))
        for text in texts
        if text is not None
    ]
    derived = [outcome for outcome in outcomes if outcome.exists]
    if not derived:
        reason = outcomes[0].reason.replace("|||", "&#124;&#124;&#124;")
        graph = json_line(graphs, lambda: no_hypergraph(number, words))
        return Derived(f"{number} ||| no derivation: {reason}\n", "", False, graph)
    decoder = task.decoder
    best = max(derived, key=_best_score)
    result = best.result
    if result is None:  # Of a sentence without words.
        found = [decoder.translate(words)]
    else:
        k = task.options.nbest
        found = [decoder.best(result)] if k is None else decoder.translations(result, k, unique=False)
    rows = nbest_lines(number, found, decoder.feature_names, [each.text for each in found])
    text = "".join(row + "\n" for row in rows)
    tree = json_line(trees, lambda: derivation_record(decoder, result, found[0], number))
    graph = json_line(graphs, lambda: hypergraph_record(decoder, result, number, best.stretches))
    return Derived(text, tree, True, graph)


def _best_score(outcome: Forced) -> float:
    return -math.inf if outcome.result is None else float(outcome.result.forest.score[-1])


def summary(exist: Sequence[bool]) -> str:
    """Of how many sentences there is a derivation."""
    number, lines = sum(exist), len(exist)
    share = f" ({100 * number / lines:.1f} %)" if lines else ""
    return f"a derivation exists for the references of {number} of {counted(lines, 'sentence')}{share}"
