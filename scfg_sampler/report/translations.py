"""What came of the grammar: rounds of tuning, scores, and the translations that two systems differ in most.

The distance of a translation from its references is the least number of words to insert, delete or replace to
make it one of them,

    d(h) = min over references r of Levenshtein(h, r),

and two systems differ most where d(h₁) and d(h₂) do. The fact a newcomer would get wrong: this only chooses
what is shown. BLEU and the others are those of the files that `evaluate --json` wrote.
"""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from scfg_sampler.core.arrays.vocabulary import split_words
from scfg_sampler.core.chains.run_directory import require_each
from scfg_sampler.core.files import PathLike, read_lines
from scfg_sampler.core.json_text import WRONG_RECORD, parse_json
from scfg_sampler.core.numerals import real_number
from scfg_sampler.core.pages.charts import Axes, Curve, legend, line_chart
from scfg_sampler.core.pages.elements import Content, Markup, element, table, words
from scfg_sampler.core.reports.document import read_json
from scfg_sampler.core.svg import circled
from scfg_sampler.core.weights import read_weights
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import InputError

__all__ = [
    "Outputs",
    "distance",
    "read_outputs",
    "read_rounds",
    "read_scores",
    "read_written",
    "tell_changes",
    "tell_scores",
    "tell_tuning",
]

_ROUNDS = ".rounds.tsv"  # What the names of tables of rounds end in, behind that of the weights.
_SHOWN = 6
"""Translations shown on either side."""


# ---- Tuning ----------------------------------------------------------------------------------------


def read_rounds(path: PathLike) -> dict[str, np.ndarray]:
    """The columns of a table of rounds, as `scfg-decoder tune` writes it, by name.

    Raises
    ------
    InputError
        It is not one; names the line.
    """
    rows = [line.split("\t") for line in _lines(path)]
    hint = "Name the .rounds.tsv that 'scfg-decoder tune' wrote"
    if not rows or rows[0][:2] != ["round", "score"]:
        raise InputError(path, 1, "no columns 'round' and 'score' in the first place", hint)
    values = np.empty((len(rows) - 1, len(rows[0])))
    for line, row in enumerate(rows[1:], 2):
        try:
            numbers = [real_number(cell) for cell in row]
        except ValueError:
            numbers = []
        # One number would become those of all columns.
        if len(numbers) != len(rows[0]) or not np.isfinite(numbers).all():
            raise InputError(path, line, "is not as many finite numbers as there are columns", hint)
        values[line - 2] = numbers
    return dict(zip(rows[0], values.T, strict=True))


def read_written(rounds: PathLike) -> dict[str, float]:
    """The weights that tuning has written beside a table of rounds; none if they are not there.

    Raises
    ------
    InputError
        They are not a JSON object of numbers.
    """
    path = Path(os.fspath(rounds).removesuffix(_ROUNDS))
    return read_weights(path) if os.fspath(rounds).endswith(_ROUNDS) and path.is_file() else {}


def tell_tuning(
    tunings: Mapping[str, dict[str, np.ndarray]], written: Mapping[str, Mapping[str, float]] = {}
) -> list[Markup]:
    """Scores round by round; the weights at first, in the best round, and those that were written.

    Parameters
    ----------
    tunings : mapping from a name to what `read_rounds` returns
    written : mapping from a name to what `read_written` returns; by MIRA it is the mean of several rounds
    """
    curves = [Curve(name, each["round"], each["score"]) for name, each in tunings.items()]
    lengths = [
        Curve(name, each["round"], each["length"]) for name, each in tunings.items() if "length" in each
    ]
    out = [
        legend(list(tunings)),
        element(
            "div",
            line_chart(Axes("score of the development set", "round"), curves),
            line_chart(Axes("length, of the references'", "round"), lengths),
            class_="charts",
        ),
    ]
    for name, each in tunings.items():
        if len(each["round"]) == 0:
            continue
        best = int(each["score"].argmax())
        weights = [column for column in each if column not in ("round", "score", "length", "new")]
        columns = [{column: each[column][row] for column in weights} for row in (0, best)]
        heads = ["weight", "at first", f"round {int(each['round'][best])}"]
        if set(written.get(name, ())) == set(weights):
            columns.append(dict(written[name]))
            heads.append("written")
        rows = [(weight, *(_signed(column[weight]) for column in columns)) for weight in weights]
        score, best_round = each["score"], int(each["round"][best])
        said = f"{name}: {score[0]:.2f} at first, {score[best]:.2f} in round {best_round}"
        shown = table(heads, rows)
        out.append(element("details", element("summary", said), shown))
    return out


def _signed(value: float) -> str:
    return f"{value:+.4f}".replace("-", "−")


# ---- Scores ----------------------------------------------------------------------------------------


def read_scores(path: PathLike) -> dict[str, Any]:
    """What `scfg-decoder evaluate --json` wrote.

    Raises
    ------
    InputError
        It is something else.
    """
    found = read_json(path)
    try:
        tell_scores({"": found})
    except WRONG_RECORD:
        raise InputError(path, None, "holds no scores", "Name what 'evaluate --json' wrote") from None
    return found


def tell_scores(scores: Mapping[str, Mapping[str, Any]]) -> list[Markup]:
    """What `evaluate --json` said of each system, with intervals and comparisons where they are there.

    Parameters
    ----------
    scores : mapping from a name to the object
    """
    rows, signatures = [], []
    for name, report in scores.items():
        for metric, found in report.items():
            if not isinstance(found, dict) or "score" not in found:
                continue
            figures = _score(found), _interval(metric, found), _against(found)
            rows.append((name, found.get("name", metric), *figures))
            signatures.append(f"{found.get('name', metric)}|{found.get('signature', '')}")
    listed = [element("div", element("code", each)) for each in dict.fromkeys(signatures)]
    return [
        table(["system", "metric", "score", "95 % interval", "against another"], rows, text_columns=2),
        element("p", "Of TER, lower is better.", class_="soft"),
        element("details", element("summary", "Signatures"), listed),
    ]


def _score(found: Mapping[str, Any]) -> str:
    deviation = found.get("deviation")
    spread = f" ± {deviation:.2f}, {len(found.get('scores', []))} tunings" if deviation else ""
    return f"{found['score']:.2f}{spread}"


def _interval(metric: str, found: Mapping[str, Any]) -> str:
    """Half of the interval's length about the mean, as `evaluate` tells it: no further than scores can be."""
    if "confidence_mean" not in found:
        return "–"
    mean, half = found["confidence_mean"], found["confidence_var"]
    most = math.inf if metric == "ter" else 100.0
    return f"{max(0.0, mean - half):.2f} – {min(most, mean + half):.2f}"


def _against(found: Mapping[str, Any]) -> str:
    if "difference" not in found:
        return "–"
    return f"{found['difference']:+.2f} against {found['against']:.2f}, p = {found['p_value']:.4f}".replace(
        "-", "−"
    )


# ---- Translations ----------------------------------------------------------------------------------


class Outputs(NamedTuple):
    """The test set, and what systems made of it."""

    source: list[str]
    references: list[list[str]]
    """Of every sentence."""
    systems: dict[str, list[str]]
    """By name, a translation of every sentence."""
    derivations: dict[str, dict[int, Any]]
    """By the name of a system and the number of a sentence."""


def read_outputs(
    source: PathLike,
    references: Sequence[PathLike],
    systems: Mapping[str, PathLike],
    derivations: Mapping[str, PathLike],
) -> Outputs:
    """Texts that belong together line by line.

    Raises
    ------
    InputError
        They differ in their number of lines, or a derivation is none.
    """
    texts = {"source": _lines(source)}
    number = len(texts["source"])
    columns = [_as_long(path, number, source) for path in references]
    found = {name: _as_long(path, number, source) for name, path in systems.items()}
    # An empty line in a second file of references, or a later one, is no reference.
    rows = [
        [column[k] for at, column in enumerate(columns) if at == 0 or column[k].strip()]
        for k in range(number)
    ]
    trees = {name: _records(path) for name, path in derivations.items()}
    return Outputs(texts["source"], rows, found, trees)


def _lines(path: PathLike) -> list[str]:
    """The lines of a file, without the carriage returns of Windows."""
    return [line.removesuffix("\r") for line in read_lines(path)]


def _as_long(path: PathLike, number: int, source: PathLike) -> list[str]:
    lines = _lines(path)
    if len(lines) != number:
        found = f"has {counted(len(lines), 'line')}, but {source} has {number}"
        raise InputError(path, None, found, "Line k of each file belongs together; are they of one split?")
    return lines


def _records(path: PathLike) -> dict[int, Any]:
    records = {}
    for line, text in enumerate(read_lines(path), 1):
        try:
            record = parse_json(text)
            for node in record["nodes"]:
                node["span"][1], [*node["source"]], [*node["target"]], list(map(int, node["children"]))
            require_each(int, record["sentence"])
            records[record["sentence"]] = record
        except WRONG_RECORD:
            hint = "Derivations are what translate --derivations writes"
            raise InputError(path, line, "not a derivation", hint) from None
    return records


def distance(one: Sequence[str], other: Sequence[str]) -> int:
    """The least number of words to insert, delete or replace to turn one text into another.

    >>> distance("the house is red".split(), "a house red".split())
    2
    """
    row = list(range(len(other) + 1))
    for i, word in enumerate(one, 1):
        diagonal, row[0] = row[0], i
        for j, wanted in enumerate(other, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (word != wanted))
    return row[-1]


def tell_changes(outputs: Outputs) -> list[Markup]:
    """The sentences that the first two systems differ in most; of one some of all. Names the others."""
    names = list(outputs.systems)
    if len(names) == 1:
        number = len(outputs.source)
        rows = sorted({k * number // (2 * _SHOWN) for k in range(2 * _SHOWN)}) if number else []
        return [_sentence(outputs, names, row) for row in rows]
    first, second = names[:2]
    gains = np.array([_gain(outputs, first, second, row) for row in range(len(outputs.source))], np.int64)
    same = sum(
        one == other for one, other in zip(*(outputs.systems[name] for name in (first, second)), strict=True)
    )
    better, worse = int((gains > 0).sum()), int((gains < 0).sum())
    out: list[Markup] = [
        element(
            "p",
            f"{same} of {len(gains)} translations are the same. {first} is nearer to the reference in "
            f"{counted(better, 'sentence')}, {second} in {worse}. Behind each translation is how many "
            "words would have "
            "to be changed; what the other has not is marked.",
        )
    ]
    if others := names[2:]:
        out.append(element("p", f"The first two systems are compared; not shown: {', '.join(others)}."))
    for name, sign in ((first, 1), (second, -1)):
        order = np.argsort(-sign * gains, kind="stable")
        rows = [row for row in order[:_SHOWN].tolist() if sign * gains[row] > 0]
        if rows:
            out.append(element("h3", f"Where {name} is nearer to the reference"))
            out += [_sentence(outputs, [first, second], row) for row in rows]
    return out


def _gain(outputs: Outputs, first: str, second: str, row: int) -> int:
    """By how many words the first system is nearer to the references."""
    one, other = outputs.systems[first][row], outputs.systems[second][row]
    return 0 if one == other else _from_references(outputs, other, row) - _from_references(outputs, one, row)


def _from_references(outputs: Outputs, text: str, row: int) -> int:
    return min(distance(split_words(text), split_words(each)) for each in outputs.references[row])


def _sentence(outputs: Outputs, names: Sequence[str], row: int) -> Markup:
    """A panel with source, references, translations and their derivations."""
    entries: list[Content] = [element("dt", "source"), element("dd", words(outputs.source[row]))]
    for reference in outputs.references[row]:
        entries += [element("dt", "reference"), element("dd", words(reference))]
    for k, name in enumerate(names):
        text = outputs.systems[name][row]
        other = outputs.systems[names[1 - k]][row] if len(names) == 2 else text
        far = element("span", f" ({_from_references(outputs, text, row)})", class_="soft")
        entries += [element("dt", name), element("dd", _marked(text, other), far)]
    trees = []
    for name in names:
        record = outputs.derivations.get(name, {}).get(row)
        if record and record["nodes"]:
            trees.append(element("details", element("summary", f"derivation by {name}"), _tree(record)))
    return element("section", element("h3", f"Sentence {row}"), element("dl", entries), trees, class_="pair")


def _marked(text: str, other: str) -> Markup:
    """The words of a translation, those that are not in another marked."""
    own, theirs = split_words(text), split_words(other)
    parts: list[Content] = []
    for kind, begin, end, _, _ in difflib.SequenceMatcher(None, own, theirs, autojunk=False).get_opcodes():
        if begin == end:
            continue
        stretch = " ".join(own[begin:end])
        parts += [
            " " if parts else None,
            stretch if kind == "equal" else element("span", stretch, class_="changed"),
        ]
    return element("bdi", parts, dir="auto")


def _tree(record: Mapping[str, Any]) -> Markup:
    """A derivation as nested lists; each node's children come after it."""
    nodes = record["nodes"]
    built: dict[int, Markup] = {}
    for at in range(len(nodes) - 1, -1, -1):
        node = nodes[at]
        sides = [
            " ".join(circled(s) if isinstance(s, int) else str(s) for s in node[side])
            for side in ("source", "target")
        ]
        rule = element("span", words(sides[0]), " → ", words(sides[1]), class_="rule")
        below = [built.pop(child) for child in node["children"] if child in built]
        built[at] = element("li", rule, element("ul", below) if below else None)
    return element("ul", built[0], class_="tree")


def name_and_path(text: str) -> tuple[str, str]:
    """NAME=FILE, or a file that is called by its name up to the first dot.

    >>> name_and_path("ours=runs/x/out.txt"), name_and_path("runs/x/sampled.test.txt")
    (('ours', 'runs/x/out.txt'), ('sampled', 'runs/x/sampled.test.txt'))
    """
    name, equals, path = text.partition("=")
    if equals and name and path and "/" not in name:
        return name, path
    return Path(text).name.partition(".")[0] or text, text
