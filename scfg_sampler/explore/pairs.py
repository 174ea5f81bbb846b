"""Answers about sentence pairs: alignment, forest, derivation, and the sampler's choices one by one."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

from scfg_sampler.core.arrays.vocabulary import split_words
from scfg_sampler.corpus.parallel_text import ParallelCorpus, pair_words, parse_corpus, select_pairs
from scfg_sampler.explore.questions import MOST_WORDS, Question, QuestionError
from scfg_sampler.explore.sources import ExploredRun, Sources
from scfg_sampler.forest.choice import Choice as AlignmentChoice
from scfg_sampler.forest.explicit import ForestBuilder, PhraseForest, forest_edges
from scfg_sampler.learner.derivations import Derivation
from scfg_sampler.learner.drawing import draw_derivation, draw_forest, readable
from scfg_sampler.learner.pair_posteriors import node_shares
from scfg_sampler.learner.visited_pairs import VisitedPair, pair_alone, pair_of_run, pair_of_words
from scfg_sampler.learner.visits import Choice, visit
from scfg_sampler.report.grid import draw_grid
from scfg_sampler.report.pairs import pair_links

__all__ = ["FIELDS", "Pairs", "find_pairs"]

FIELDS = ("run", "number", "source", "target", "alignment")
"""Which pair a question is about."""

_MOST_SWEEPS, _MOST_CHOICES = 50, 4000
_DRAWN_EDGES = 14
_MOST_EDGES = 500
_KEPT_FORESTS = 4
_LISTED = 25


class _Pair(NamedTuple):
    """The pair a question is about."""

    run: ExploredRun | None
    number: int | None
    corpus: ParallelCorpus
    """Of this pair, once under each alignment."""
    choice: AlignmentChoice | None
    links: list[tuple[int, int]]

    @property
    def words(self) -> tuple[list[str], list[str]]:
        return pair_words(self.corpus, 0)


def _pair(sources: Sources, question: Question) -> _Pair:
    run = sources.run(question)
    question.require_apart("number", ("source", "target", "alignment"))
    if "number" in question:
        if run is None:
            raise QuestionError(
                "number says which pair of a run, and there is no run; give source and target"
            )
        number = question.integer("number", 0, run.num_pairs - 1)
        bank = run.last.bank
        rows = np.arange(number, bank.corpus.num_sentences, bank.num_sentences)
        corpus = select_pairs(bank.corpus, rows)
        longest = int(max(np.diff(corpus.source_start).max(), np.diff(corpus.target_start).max()))
        if longest > MOST_WORDS:
            raise QuestionError(f"pair {number} has {longest} words; at most {MOST_WORDS} are shown")
        return _Pair(run, number, corpus, bank.choice, pair_links(run.last, number))
    texts = [question.text("source"), question.text("target"), question.text("alignment", "", None)]
    if not split_words(texts[0]) or not split_words(texts[1]):
        raise QuestionError(f"{'target' if split_words(texts[0]) else 'source'} has no words")
    corpus = parse_corpus(*([each] for each in texts))
    links = [(i, j) for i, j in corpus.links.tolist()]
    return _Pair(run, None, corpus, None, links)


class Pairs:
    """Answers questions about pairs, and keeps the last few forests: questions about one come together."""

    def __init__(self, sources: Sources):
        self._sources = sources
        self._lock = threading.Lock()
        self._forests: dict[tuple, PhraseForest | None] = {}

    def pair(self, question: Question) -> dict[str, Any]:
        """A pair: its words, links, grid, phrases, and its derivation in the last state of the run."""
        question.require_known(FIELDS)
        found = _pair(self._sources, question)
        source, target = found.words
        forest = self._forest(found)
        skipped, derivation = None, None
        if found.number is not None and found.run is not None:
            skipped = found.run.last.bank.skipped.get(found.number)
            if skipped is None:
                derivation = pair_of_run(found.run.last, found.number).derivation()
        elif forest is None:
            skipped = "no links"
        phrases = [] if forest is None else _phrases(forest, _shares(found, forest))
        place = None
        if found.number is not None and found.run is not None:
            place = found.run.last.place_in_text(found.number)
        return {
            "number": found.number,
            "place": place and {"pair": place[0], "alignment": place[1]},
            "source": source,
            "target": target,
            "links": found.links,
            "skipped": skipped,
            "trees": "0" if forest is None else str(forest.trees[-1]),
            "phrases": phrases,
            "edges": 0 if forest is None else len(forest.rules),
            "derivation": _plain(derivation),
            "grid": draw_grid(source, target, found.links),
            "picture": None if derivation is None else draw_derivation(source, target, derivation),
        }

    def forest(self, question: Question) -> dict[str, Any]:
        """The edges of a phrase of a pair's forest, by its number among the phrases of `pair`."""
        question.require_known((*FIELDS, "phrase"))
        found = _pair(self._sources, question)
        forest = self._forest(found)
        if forest is None:
            raise QuestionError("the pair has no links, and so no forest")
        at = question.integer("phrase", 0, len(forest.trees) - 1, len(forest.trees) - 1)
        edges = [(tails, rule) for head, tails, rule in forest_edges(forest) if head == at]
        above = sorted({head for head, tails, _ in forest_edges(forest) if at in tails})
        picture = None
        if len(edges) <= _DRAWN_EDGES:
            shares = _shares(found, forest)
            in_tree = None if shares is None else [share for share, _ in shares]
            picture = draw_forest(*found.words, forest, of=at, shares=in_tree)
        shown = [
            {"parts": tails, "rule": rule, "shown": readable(rule)} for tails, rule in edges[:_MOST_EDGES]
        ]
        return {"phrase": at, "edges": shown, "above": above[:_MOST_EDGES], "picture": picture}

    def steps(self, question: Question) -> dict[str, Any]:
        """Visits of a pair, choice by choice; the same for the same seed."""
        question.require_known((*FIELDS, "sweeps", "seed"))
        found = _pair(self._sources, question)
        sweeps = question.integer("sweeps", 1, _MOST_SWEEPS, 1)
        rng = np.random.default_rng(question.integer("seed", 0, 2**53, 1))
        visited = _visited(found, rng)
        first = visited.derivation()
        choices: list[Choice] = []
        begins = []
        for _ in range(sweeps):
            if len(choices) >= _MOST_CHOICES:
                break
            begins.append(len(choices))
            visited, made = visit(rng, visited, _MOST_CHOICES - len(choices))
            choices += made
        return {
            "first": _plain(first),
            "choices": [_plain_choice(each) for each in choices],
            "begins": begins,
            "complete": len(begins) == sweeps and len(choices) < _MOST_CHOICES,
        }

    def _forest(self, found: _Pair) -> PhraseForest | None:
        run = None if found.run is None else found.run.name
        key = run, found.number, *map(tuple, found.words), tuple(found.links)
        with self._lock:
            if key in self._forests:
                return self._forests[key]
        forest = ForestBuilder(found.corpus, found.choice).build(0)
        with self._lock:
            while len(self._forests) >= _KEPT_FORESTS:
                self._forests.pop(next(iter(self._forests)))
            self._forests[key] = forest
        return forest


def _visited(found: _Pair, rng: np.random.Generator) -> VisitedPair:
    """The pair as visits begin with it: as the run left it, or drawn."""
    if found.run is None:
        return pair_alone(rng, found.corpus)
    if found.number is not None:
        return pair_of_run(found.run.last, found.number)
    return pair_of_words(rng, found.run.last, found.corpus)


def _shares(found: _Pair, forest: PhraseForest) -> list[tuple[float, float]] | None:
    """How often phrases were in the trees of the run, and rules began there; None if that is not known."""
    if found.run is None or found.number is None:
        return None
    return node_shares(found.run.last, found.number, forest)


def _phrases(forest: PhraseForest, shares: list[tuple[float, float]] | None) -> list[dict[str, Any]]:
    phrases: list[dict[str, Any]] = [
        {"source": span[:2], "target": span[2:], "level": level, "trees": str(trees)}
        for span, level, trees in zip(forest.spans.tolist(), forest.level.tolist(), forest.trees, strict=True)
    ]
    for phrase, (in_tree, cut) in zip(phrases, shares or [], strict=False):
        phrase |= {"in_tree": in_tree, "cut": cut}
    return phrases


def _plain(node: Derivation | None) -> dict[str, Any] | None:
    """A derivation as JSON has it."""
    if node is None:
        return None
    fields = {"source": node.source, "target": node.target, "rule": node.rule, "shown": readable(node.rule)}
    return fields | {"parts": [_plain(part) for part in node.parts]}


def _plain_choice(choice: Choice) -> dict[str, Any]:
    options: list[dict[str, Any]] = [
        {
            "share": option.share,
            "place": option.place,
            "parts": option.parts,
            "rules": [
                {"rule": rule, "shown": readable(rule), "seen": seen}
                for rule, seen in zip(option.rules, option.seen, strict=True)
            ],
        }
        for option in choice.options
    ]
    if choice.kind == "derivation":
        options = [
            {
                "share": option.share,
                "log_prob": option.log_prob,
                "log_proposal": option.log_proposal,
                "derivation": _plain(option.derivation),
            }
            for option in choice.options
        ]
    return {
        "kind": choice.kind,
        "source": choice.place[0],
        "target": choice.place[1],
        "options": options,
        "before": choice.before,
        "chosen": choice.chosen,
        "derivation": _plain(choice.derivation),
    }


def find_pairs(sources: Sources, question: Question) -> dict[str, Any]:
    """The pairs of a run that hold some words, on either side, from a number on.

    All that hold them are `found`; behind those that are listed, `left` more are to be asked for.
    """
    question.require_known(("run", "words", "from"))
    run = sources.run(question)
    if run is None:
        raise QuestionError("there is no run whose pairs could be listed")
    corpus, number = run.last.bank.corpus, run.num_pairs
    found = np.ones(number, bool)
    for word in split_words(question.text("words", "")):
        here = np.zeros(corpus.num_sentences, bool)
        for vocabulary, start, words in (
            (corpus.source_vocabulary, corpus.source_start, corpus.source),
            (corpus.target_vocabulary, corpus.target_start, corpus.target),
        ):
            places = np.flatnonzero((words == vocabulary.id(word)) & (words >= 0))
            here[np.searchsorted(start, places, side="right") - 1] = True
        found &= here[:number]
    rows = np.flatnonzero(found)
    first = question.integer("from", 0, number, 0)
    onward = rows[rows >= first]
    listed = []
    for row in onward[:_LISTED].tolist():
        source, target = pair_words(corpus, row)
        listed.append({"number": row, "source": " ".join(source), "target": " ".join(target)})
    return {"found": len(rows), "left": len(onward) - len(listed), "pairs": listed}
