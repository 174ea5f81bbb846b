"""Curves in pages: where points are drawn, and which are left out."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from scfg_sampler.core.pages.charts import Axes, Curve, compact, legend, line_chart, ticks
from scfg_sampler.core.pages.intervals import Interval, interval_chart

SVG = "{http://www.w3.org/2000/svg}"


def drawn(*curves: Curve, before: float = -np.inf) -> ElementTree.Element:
    return ElementTree.fromstring(line_chart(Axes("joint <", "sweep", before), curves))


def points(line: ElementTree.Element) -> np.ndarray:
    return np.array([pair.split(",") for pair in line.get("points").split()], float)


def test_higher_values_are_drawn_higher_and_later_ones_further_right():
    curve = Curve("one", np.arange(4.0), np.array([1.0, 3.0, 2.0, 5.0]))
    found = points(drawn(curve).find(f".//{SVG}polyline"))
    assert (np.diff(found[:, 0]) > 0).all()
    np.testing.assert_allclose(np.diff(found[:, 0]), np.diff(found[:, 0])[0], atol=0.11)
    assert np.argsort(-found[:, 1]).tolist() == [0, 2, 1, 3]
    heights = -np.diff(found[:, 1])
    np.testing.assert_allclose(heights / heights[0], [1.0, -0.5, 1.5], atol=0.01)


def test_curves_share_scales_and_have_colours_of_their_own():
    chart = drawn(
        Curve("a", np.arange(3.0), np.array([0.0, 1.0, 2.0])),
        Curve("b", np.arange(2.0), np.array([2.0, 0.0])),
    )
    one, two = chart.findall(f".//{SVG}polyline")
    assert points(one)[0].tolist() == [points(two)[0, 0], points(two)[1, 1]]
    assert one.get("style") != two.get("style")
    assert chart.find(f".//{SVG}svg").get("aria-label") == "joint < by sweep"


def test_long_names_are_cut_visibly_and_told_where_one_points():
    name = "IDENT-IO([±anterior]) & *COMPLEX-ONSET in stems of two syllables"
    curve = Curve("a", np.arange(3.0), np.array([0.0, 1.0, 2.0]))
    chart = ElementTree.fromstring(line_chart(Axes(name, "sweep"), [curve]))
    intervals = ElementTree.fromstring(interval_chart("means", "mean", [Interval(name, 0.0, 1.0, 2.0)]))
    for picture in (chart, intervals):
        (shown,) = (each for each in picture.iter(f"{SVG}text") if each.get("class") == "name")
        assert shown.find(f"{SVG}title").text == name
        assert shown.find(f"{SVG}title").tail.endswith("…")
    assert not any(len(each) for each in drawn(curve).iter(f"{SVG}text"))


def test_spikes_of_long_curves_stay():
    values = np.zeros(100_000)
    values[[777, 99_998]] = 7.0, -7.0
    found = points(drawn(Curve("long", np.arange(1e5), values)).find(f".//{SVG}polyline"))
    assert len(found) < 1000
    assert (found[:, 1] == found[:, 1].min()).sum() == 1
    assert (found[:, 1] == found[:, 1].max()).sum() == 1


@pytest.mark.parametrize("values", [[3.0], [5.0, 5.0, 5.0], [0.0, 0.0]])
def test_single_points_and_flat_curves_are_drawn(values):
    chart = drawn(Curve("x", np.arange(float(len(values))), np.array(values)))
    assert chart.findall(f".//{SVG}circle") if len(values) == 1 else chart.findall(f".//{SVG}polyline")
    assert "nan" not in ElementTree.tostring(chart, "unicode")


@pytest.mark.parametrize(("first", "last"), [(1, 97), (1, 1000), (1, 25_000), (-0.3, 0.3), (-5e6, 1e6)])
def test_numbers_below_a_chart_are_not_cut_off(first, last):
    """The first and the last of them may be where the picture ends."""
    curve = Curve("one", np.array([first, last]), np.array([1.0, 3.0]))
    intervals = interval_chart("means", "mean", [Interval("one", first, 0.0, last)])
    for picture in (drawn(curve), ElementTree.fromstring(intervals)):
        (svg,) = picture.iter(f"{SVG}svg")
        _, _, width, height = map(float, svg.get("viewBox").split())
        below = [each for each in svg.iter(f"{SVG}text") if each.get("text-anchor") == "middle"]
        assert len(below) > 1
        for number in below:
            half = 6.5 * len(number.text) / 2
            assert half <= float(number.get("x")) <= width - half
            assert float(number.get("y")) < height


def test_what_is_burnt_in_is_shaded_as_far_as_it_goes():
    curve = Curve("one", np.arange(11.0), np.arange(11.0))
    line = points(drawn(curve).find(f".//{SVG}polyline"))
    shade = drawn(curve, before=4).find(f".//{SVG}rect")
    assert float(shade.get("x")) + float(shade.get("width")) == pytest.approx(line[4, 0], abs=0.11)
    assert drawn(curve, before=0).find(f".//{SVG}rect") is None


def test_nothing_is_drawn_of_nothing():
    assert line_chart(Axes("a", "b"), [Curve("x", np.zeros(0), np.zeros(0))]) == ""
    assert legend(["one"]) == ""
    assert "two" in legend(["one", "two"])


def test_ticks_are_round_few_and_inside(rng):
    for _ in range(300):
        low, size = rng.normal() * 10.0 ** rng.integers(-3, 8), 10.0 ** rng.uniform(-4, 8)
        found = ticks(low, low + size, 5)
        assert 1 <= len(found) <= 5
        assert all(low - 1e-6 * size <= value <= low + size * (1 + 1e-6) for value in found)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-1500000.0, "−1.5M"),
        (9999.0, "9999"),
        (9999.4, "9999"),
        (-9999.7, "−10k"),
        (10000.0, "10k"),
        (2.5e9, "2.5G"),
        (float("inf"), "∞"),
    ],
)
def test_numbers_are_short(value, text):
    assert compact(value) == text
