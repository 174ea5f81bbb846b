"""Answers about rules: which have some words or a shape, and where they come from."""

from __future__ import annotations

from typing import Any

import numpy as np

from scfg_sampler.core.arrays.vocabulary import split_words
from scfg_sampler.corpus.parallel_text import pair_words
from scfg_sampler.errors import RuleTableError
from scfg_sampler.explore.questions import Question, QuestionError
from scfg_sampler.explore.sources import ExploredRun, Sources, most_used_shapes
from scfg_sampler.learner.derivations import Derivation
from scfg_sampler.learner.drawing import readable
from scfg_sampler.learner.pair_posteriors import last_derivation
from scfg_sampler.notebook.rules import Rules
from scfg_sampler.report.comparison import pairs_with_words
from scfg_sampler.report.grammar import rule_text
from scfg_sampler.report.shapes import shape_rows
from scfg_sampler.rules.table import RuleTable, rule
from scfg_sampler.rules.text import Rule, label_texts, parse_rule

__all__ = ["find_rules", "list_shapes", "tell_rule"]

_MOST_RULES = 200
_LOOKED_AT = 400
"""Pairs that hold the words of a rule and whose derivations are looked at, at the most."""
_SENTENCES = 20


def find_rules(sources: Sources, question: Question) -> dict[str, Any]:
    """The rules with some words on either side and of some shape, those with the highest counts first.

    Where no rule has a count (`counted`), each has 1, and they come as in the table.
    """
    question.require_known(("of", "source", "target", "shape", "from", "number"))
    table = sources.with_rules(question).table
    rows = _matching(table, question.text("source", ""), question.text("target", ""))
    shape = question.text("shape", "")
    if shape.strip():
        rows = rows[shape_rows(table, shape)[rows]]
    rows = rows[np.argsort(-table.count[rows], kind="stable")]
    first = question.integer("from", 0, max(0, table.num_rules), 0)
    number = question.integer("number", 1, _MOST_RULES, 50)
    shown = [_plain(table, row) for row in rows[first : first + number].tolist()]
    counted = "LogCount" in table.feature_names
    return {"found": len(rows), "of": table.num_rules, "counted": counted, "rules": shown}


def _matching(table: RuleTable, source: str, target: str) -> np.ndarray:
    if not source.strip() and not target.strip():
        return np.arange(table.num_rules)
    return Rules(table).find_rows(source, target)


def _plain(table: RuleTable, row: int) -> dict[str, Any]:
    found = rule(table, row)
    head = "" if table.labels is None else f"[{label_texts(found)[0]}] ||| "
    text = head + rule_text(table, row)
    return {
        "rule": text,
        "shown": readable(text),
        "count": float(table.count[row]),
        "features": found.features,
        "alignment": found.alignment,
    }


def list_shapes(sources: Sources, question: Question) -> dict[str, Any]:
    """The shapes whose rules are used most."""
    question.require_known(("of",))
    found = most_used_shapes(sources.with_rules(question))
    return {"shapes": [{"shape": each.text, "rules": len(each.rows), "uses": each.uses} for each in found]}


def tell_rule(sources: Sources, question: Question) -> dict[str, Any]:
    """The sentence pairs whose derivations, in the last state of the run, use a rule: the first of them.

    Of the `candidates`, which hold the words of the rule, the first `looked_at` have been looked at.
    """
    question.require_known(("of", "rule"))
    explored = sources.with_rules(question)
    text = question.text("rule", most=None)
    wanted = _parsed(text)
    if not isinstance(explored, ExploredRun):
        raise QuestionError(f"{explored.name} is a system, which does not say where its rules come from")
    last = explored.last
    candidates = np.unique(pairs_with_words(last.bank.corpus, wanted) % last.bank.num_sentences)
    looked_at = 0
    sentences: list[dict[str, Any]] = []
    for number in candidates[:_LOOKED_AT].tolist():
        if len(sentences) == _SENTENCES:
            break
        looked_at += 1
        with explored.lock:
            derivation = last_derivation(last, number)
        places = [] if derivation is None else _places(derivation, text)
        if places:
            source, target = pair_words(last.bank.corpus, number)
            pair = {"number": number, "source": source, "target": target}
            sentences.append(pair | {"places": places})
    told = {"rule": text, "shown": readable(text), "candidates": len(candidates), "looked_at": looked_at}
    return told | {"sentences": sentences}


def _parsed(text: str) -> Rule:
    """The sides of a rule, from their spelling in tables."""
    sides = text.split(" ||| ")
    hint = "give both sides, as in [X,1] b ||| B [X,1]"
    if len(sides) != 2 or not all(map(split_words, sides)):
        raise QuestionError(f"{text!r} is no rule; {hint}")
    try:
        return parse_rule(f"[X] ||| {text} |||", "rule", 1)
    except RuleTableError as error:
        raise QuestionError(f"{text!r} is no rule ({error.found}); {hint}") from None


def _places(derivation: Derivation, text: str) -> list[dict[str, Any]]:
    found, stack = [], [derivation]
    while stack:
        node = stack.pop()
        if node.rule == text:
            found.append({"source": node.source, "target": node.target})
        stack += reversed(node.parts)
    return found
