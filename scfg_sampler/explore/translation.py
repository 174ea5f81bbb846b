"""Answers about translations: the best, the others, how they come about, and what was tried where."""

from __future__ import annotations

from typing import Any

import numpy as np

from decoder.search.cube import FINISH
from decoder.system.system import System
from decoder.translation.derivations import derivation_record, label_of, rule_sides, spell
from decoder.translation.drawing import draw_svg
from decoder.translation.results import SearchResult, Translation
from scfg_sampler.core.wording import counted
from scfg_sampler.explore.questions import MOST_WORDS, Question, QuestionError
from scfg_sampler.explore.sources import Sources
from scfg_sampler.preparation.preparation import Prepared

__all__ = ["translate"]

_MOST_TRANSLATIONS = 100
_MOST_TEXTS = 200
_RULES_OF_A_SPAN = 15


def translate(sources: Sources, question: Question) -> dict[str, Any]:
    """The translation of `text`, with n-best list, derivation and rules if asked; or those of `texts`."""
    question.require_known(("system", "text", "texts", "nbest", "weights", "details"))
    explored = sources.system(question)
    system = explored.with_weights(question.numbers("weights"))
    if "texts" in question:
        question.require_apart("texts", ("text", "nbest", "details"))
        lines = question.texts("texts")
        if len(lines) > _MOST_TEXTS:
            raise QuestionError(f"texts has {counted(len(lines), 'line')}; at most {_MOST_TEXTS} are taken")
        # All are looked at before any is translated.
        ready = [_prepared(system, line, f"line {k} of texts") for k, line in enumerate(lines, 1)]
        found = [system.translate_prepared(*each) for each in zip(lines, ready, strict=True)]
        return {"translations": [each.text for each in found], "scores": [each.score for each in found]}
    line = question.text("text")
    wanted = question.integer("nbest", 0, _MOST_TRANSLATIONS, 0)
    has_details = question.flag("details")
    prepared = _prepared(system, line, "text")
    names = system.decoder.feature_names
    if not prepared.words:
        empty: dict[str, Any] = {"source": [], "translation": "", "score": 0.0}
        empty |= {"features": dict.fromkeys(names, 0.0), "phrases": []} | ({"nbest": []} if wanted else {})
        return empty | ({"derivation": None, "picture": None, "spans": []} if has_details else {})
    result = system.search(prepared)
    best = system.decoder.best(result)
    finished = system.finish(line, prepared, result, best)
    answer = {
        "source": list(prepared.words),
        "translation": finished.text,
        "score": best.score,
        "features": dict(zip(names, best.features.tolist(), strict=True)),
        "phrases": [each._asdict() for each in finished.phrases],
    }
    if wanted:
        translations = system.decoder.translations(result, wanted)
        answer["nbest"] = [
            {
                "translation": text.text,
                "score": each.score,
                "features": dict(zip(names, each.features.tolist(), strict=True)),
            }
            for each, text in system.finish_list(line, prepared, result, translations)
        ]
    if has_details:
        answer |= _details(system, result, best)
    return answer


def _prepared(system: System, line: str, name: str) -> Prepared:
    """A line as it is translated, if it is not too long."""
    prepared = system.prepare(line)
    if (number := len(prepared.words)) > MOST_WORDS:
        raise QuestionError(f"{name} has {number} words or pieces of words; at most {MOST_WORDS} are taken")
    return prepared


def _details(system: System, result: SearchResult, best: Translation) -> dict[str, Any]:
    """The derivation as data and as a picture, and the rules that the search kept, span by span."""
    record = derivation_record(system.decoder, result, best, 0)
    for node in record["nodes"]:
        node["shown"] = _shown(system, node["symbol"], node["source"], node["target"])
    return {"derivation": record, "picture": draw_svg(record), "spans": _spans(system, result)}


def _shown(system: System, symbol: str, source: list, target: list) -> str:
    """A rule for people; what it makes comes first where that may have other labels than X."""
    head = "" if system.decoder.grammar.labels is None else f"{symbol}: "
    return f"{head}{spell(source)} → {spell(target)}"


def _spans(system: System, result: SearchResult) -> list[dict[str, Any]]:
    """What was tried at each span: how many rules match there, and those that the search kept.

    A rule's score is the best of its edges, without what is below; its posterior is that of its being used
    there, over all derivations that the search kept.
    """
    decoder, forest, chart = system.decoder, result.forest, result.chart
    uses = decoder.posterior(result).uses
    edges = np.unique(decoder.export(result).edges)
    cells = forest.cell[forest.head[edges]]
    inside = (cells < chart.num_x_cells) & (forest.rule[edges] != FINISH)
    edges, cells = edges[inside], cells[inside]
    kept: dict[tuple[int, int], tuple[float, float]] = {}
    for edge, cell in zip(edges.tolist(), cells.tolist(), strict=True):
        key = int(cell), int(forest.rule[edge])
        score = max(float(forest.weight[edge]), kept.get(key, (-np.inf, 0.0))[0])
        kept[key] = score, float(uses[edge])
    by_cell: dict[int, list[tuple[int, float, float]]] = {}
    for (cell, row), (score, posterior) in kept.items():
        by_cell.setdefault(cell, []).append((row, score, posterior))
    spans = []
    for cell, rules in sorted(by_cell.items(), key=lambda item: _span(result, item[0])):
        begin, end = _span(result, cell)
        label = label_of(decoder, chart, cell)
        rules.sort(key=lambda each: (-each[2], -each[1]))
        shown = []
        for row, score, posterior in rules[:_RULES_OF_A_SPAN]:
            _, source, target = rule_sides(decoder, result, row, begin)
            text = _shown(system, label, source, target)
            shown.append({"shown": text, "score": score, "posterior": posterior})
        matching = _matching(system, result, cell)
        spans.append({"span": [begin, end], "matching": matching, "kept": len(rules), "rules": shown})
    return spans


def _span(result: SearchResult, cell: int) -> tuple[int, int]:
    return int(result.chart.begin[cell]), int(result.chart.end[cell])


def _matching(system: System, result: SearchResult, cell: int) -> int:
    """How many rules of the grammar have a source side that matches at a cell."""
    chart, start = result.chart, system.decoder.grammar.rule_start
    cubes = chart.group[chart.cube_start[cell] : chart.cube_start[cell + 1]]
    groups = np.unique(cubes[cubes >= 0])
    return int((start[groups + 1] - start[groups]).sum())
