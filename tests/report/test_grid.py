"""The grid of an alignment is as wide as its words need, of long ones as wide as their beginnings."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from scfg_sampler.report.grid import draw_grid

SVG = "{http://www.w3.org/2000/svg}"


def read(*sides: list[str]) -> tuple[float, float, list[tuple[str, str | None]]]:
    """Width and height, and the words with what is said where they are pointed at."""
    root = ElementTree.fromstring(draw_grid(*sides, [(0, 0)]))
    labels = [(each.text or "", each.findtext(f"{SVG}title")) for each in root.iter(f"{SVG}text")]
    return float(root.attrib["width"]), float(root.attrib["height"]), labels


@pytest.mark.parametrize("letter", ["x", "漢", "ل"])
def test_long_words_are_cut_and_whole_where_they_are_pointed_at(letter):
    word = letter * 300
    width, height, labels = read([word, "b"], ["B", word])
    assert max(width, height) < 300
    assert labels[1:3] == [("b", None), ("B", None)]
    for shown, title in (labels[0], labels[3]):
        assert title == word
        assert shown.endswith("…")
        assert word.startswith(shown[:-1])
        assert len(shown) > 10


def test_words_that_fit_are_whole():
    words = ["Donaudampfschifffahrt", "b"]
    assert read(words, ["B"])[2] == [(words[0], None), ("b", None), ("B", None)]


def test_accents_are_not_cut_off_their_letters():
    shown = read(["e\u0301" * 50], ["E"])[2][0][0]
    assert shown[-2:] == "\u0301…"
