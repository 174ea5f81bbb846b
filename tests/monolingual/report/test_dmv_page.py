"""The page of a dependency model whose probabilities all differ: what stands below which heading."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from monolingual.cli import main
from monolingual.dmv.layout import Layout, num_parameters, parameter_families
from monolingual.dmv.model import DmvModel, parts, read_model, write_model
from monolingual.priors.multinomials import normalise
from tests.report.test_report import SVG, XHTML, Made

TAGS, LAYOUT = ("A", "B", "C"), Layout(3, 2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model, sentences with heads of which it has some right, two starts of training, and the page."""
    place = tmp_path_factory.mktemp("dmv")
    rng = np.random.default_rng(8)
    probs = normalise(parameter_families(LAYOUT), rng.gamma(1.0, size=num_parameters(LAYOUT)))
    write_model(place / "model", DmvModel(TAGS, LAYOUT, probs))
    lines = []
    for size in rng.integers(5, 9, size=40).tolist():
        tags = " ".join(rng.choice(TAGS, size=size))
        lines.append(f"{tags}\t{' '.join(map(str, range(size)))}\t{tags.lower()}\n")
    (place / "gold").write_text("".join(lines))
    rows = [(0, -90.0, "nan"), (0, -7.5, -9.5), (0, -8.0, -9.25), (0, -8.5, -9.75), (1, -80.0, -3.0)]
    rows += [(1, -6.25, -2.0), (1, -5.0, -2.5)]
    lines = [f"{k}\t{job}\t{k}\t{objective}\t{heldout}\n" for k, (job, objective, heldout) in enumerate(rows)]
    (place / "trace").write_text("sweep\tjob\tround\tlog_joint\theldout\n" + "".join(lines))
    told = ["--treebank", place / "gold", "--trace", place / "trace", "--output", place / "page.html"]
    assert main(["dmv", "report", *map(str, (place / "model", *told)), "--quiet"]) == 0
    return place


def headings(made: Made, section: str) -> list[str]:
    head = made.section(section).find(f".//{XHTML}thead")
    return ["".join(cell.itertext()) for cell in head.iter(f"{XHTML}th")]


def test_probabilities_stand_below_their_headings(folder):
    made = Made(folder / "page.html")
    names = headings(made, "tags")
    root, stop, child = parts(LAYOUT, read_model(folder / "model").probs)
    rows = [dict(zip(names, row, strict=True)) for row in made.rows("tags")]
    assert [row["head"] for row in rows] == [TAGS[k] for k in np.argsort(-root)]
    for row in rows:
        at = TAGS.index(row["head"])
        assert row["root"] == f"{root[at]:.3f}"
        for d, direction in enumerate(("left", "right")):
            for v, adjacency in enumerate(("adjacent", "further")):
                assert row[f"stop {direction}, {adjacency}"] == f"{stop[at, d, v, 0]:.3f}"
            # Of the children those next to the head, the most frequent first.
            order = [k for k in np.argsort(-child[at, d, 0]) if child[at, d, 0, k] >= 0.005]
            shown = ", ".join(f"{TAGS[k]} {child[at, d, 0, k]:.2f}" for k in order)
            assert row[f"{direction} children"] == shown


def test_accuracies_are_those_of_each_way_to_find_heads(folder, capsys):
    assert main(["dmv", "evaluate", str(folder / "model"), str(folder / "gold"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = {row[0]: float(row[3]) for row in Made(folder / "page.html").rows("accuracy")}
    assert rows == pytest.approx(
        {
            "minimum Bayes risk": found["mbr"]["all"]["directed"],
            "Viterbi": found["viterbi"]["all"]["directed"],
            "each word attached to the next": found["attach_right"]["all"]["directed"],
            "each word attached to the one before": 100.0,
        },
        abs=0.051,
    )
    assert len(set(rows.values())) == 4


def test_traces_of_starts_are_apart_and_have_their_highest_values(folder):
    made = Made(folder / "page.html")
    assert [[cell.replace("−", "-") for cell in row] for row in made.rows("traces")] == [
        ["trace, start or prior 1", "4", "-7.50", "-9.25"],
        ["trace, start or prior 2", "3", "-5.00", "-2.00"],
    ]
    charts = made.section("traces").findall(f".//{SVG}svg")
    names = [each.get("aria-label") for each in charts]
    assert names == ["objective, from round 2 on by round", "held-out log likelihood by round"]
    for chart in charts:
        lines = [each.get("points").split() for each in chart.findall(f".//{SVG}polyline")]
        assert list(map(len, lines)) == [3, 2]  # Without the first round.


def test_sentences_are_numbered_by_their_lines_and_say_how_many_heads_are_right(folder):
    told = ("dmv", "parse", folder / "model", folder / "gold", "--output", folder / "out")
    assert main([*map(str, told)]) == 0
    parses = [line.split("\t")[1].split() for line in (folder / "out").read_text().splitlines()]
    section = Made(folder / "page.html").section("sentences")
    pictures = section.findall(f".//{SVG}svg")
    titles = ["".join(each.itertext()) for each in section.findall(f"{XHTML}h3")]
    assert len(titles) == len(pictures) == 6
    for title, picture in zip(titles, pictures, strict=True):
        number = int(re.match(r"Sentence (\d+), log probability −[0-9.]+, ", title)[1])
        right = sum(int(head) == k for k, head in enumerate(parses[number - 1]))
        assert title.endswith(f", {right} of {len(parses[number - 1])} heads right")
        assert picture.find(f"{SVG}title").text == f"sentence {number}"
