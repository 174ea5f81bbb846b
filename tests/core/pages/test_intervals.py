"""Intervals on one axis, and settings of runs beside each other."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from scfg_sampler.core.pages.intervals import Interval, interval_chart
from scfg_sampler.core.reports.records import duration, settings_table

SVG = "{http://www.w3.org/2000/svg}"
INTERVALS = [Interval("a", -1.0, 0.5, 2.0), Interval("b", 0.0, 1.0, 1.5, (0.25, 5.0))]


def test_lines_dots_and_marks_stand_at_their_numbers_on_one_axis():
    chart = ElementTree.fromstring(str(interval_chart("values", "of a and b", INTERVALS)))
    found = []
    for group in chart.iter(f"{SVG}g"):
        lines = group.findall(f"{SVG}line")
        places = [float(lines[0].get("x1")), float(group.find(f"{SVG}circle").get("cx"))]
        places += [float(lines[0].get("x2")), *(float(mark.get("x1")) for mark in lines[1:])]
        found.append(places)
        assert all(mark.get("x1") == mark.get("x2") for mark in lines[1:])
    # From the lowest to the highest of all numbers, marks among them: −1 to 5 over 416 of 440, from 12 on.
    expected = [[-1.0, 0.5, 2.0], [0.0, 1.0, 1.5, 0.25, 5.0]]
    for places, numbers in zip(found, expected, strict=True):
        assert places == pytest.approx([12 + 416 * (number + 1) / 6 for number in numbers], abs=0.051)
    tips = [each.text for each in chart.iter(f"{SVG}title")]
    assert tips == ["a: 0.5, from −1 to 2", "b: 1, from 0 to 1.5"]


def test_no_intervals_are_no_picture():
    assert interval_chart("values", "of nothing", []) == ""


def test_settings_that_runs_differ_in_or_lack_are_bold():
    text = str(
        settings_table({"one": {"seed": "1", "d": ".5"}, "two": {"seed": "2", "d": ".5", "late": "x"}})
    )
    table = ElementTree.fromstring(text)
    rows = [["".join(cell.itertext()) for cell in row] for row in table.iter() if row.tag.endswith("tr")]
    assert rows == [["setting", "one", "two"], ["seed", "1", "2"], ["d", ".5", ".5"], ["late", "—", "x"]]
    bold = [each.text for each in table.iter() if each.tag.endswith("b") and each.text]
    assert bold == ["1", "2", "—", "x"]


def test_durations_are_told_in_seconds_minutes_or_hours():
    told = [duration(seconds) for seconds in (0.0, 89.9, 90.0, 5399.0, 5400.0, 36000.0)]
    assert told == ["0.0 s", "89.9 s", "1.5 min", "90.0 min", "1.5 h", "10.0 h"]
