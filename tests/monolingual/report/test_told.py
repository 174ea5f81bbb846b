"""What pages of the four models tell about numbers: tips, verdicts, limits; and words from right to left."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.monolingual.report.made import SHALOM, call, made_page
from tests.report.test_report import SVG, XHTML, Made


@pytest.fixture(scope="module")
def dmv(tmp_path_factory):
    """A directory with a model, its covariances and a page about them."""
    directory = tmp_path_factory.mktemp("dmv")
    made_page(directory, "dmv")
    return directory


# ---- Dependencies ----------------------------------------------------------------------------------


def test_pointing_at_a_square_shows_the_correlation_however_strong_its_colour_is(dmv):
    arrays = np.load(dmv / "model.npz")
    tags, flat = arrays["tags"].tolist(), arrays["covariance"]
    page, size = dmv / "head.html", len(tags)
    told = ["--covariances", dmv / "model.npz", "--head", "VB"]
    assert call("dmv", "report", dmv / "model.txt", *told, "--output", page) == 0
    # The root's matrix, those of four stops of each tag, those of the children of each tag on both sides.
    first = size**2 + 4 * size * 4 + 2 * tags.index("VB") * size**2
    matrix = flat[first : first + size**2].reshape(size, size)
    deviations = np.sqrt(np.diagonal(matrix))
    correlation = matrix / np.outer(deviations, deviations)
    np.fill_diagonal(correlation, 0.0)
    strongest = np.abs(correlation).max()
    picture = Made(page).section("covariances").find(f".//{SVG}svg")
    assert picture.get("aria-label") == f"VB left: the strongest colour is {strongest:.3g}"
    squares = [each for each in picture.findall(f"{SVG}rect") if each.get("class") != "frame"]
    assert len(squares) == (np.abs(correlation) >= 0.005 * strongest).sum() > 2
    for square in squares:
        pair, _, shown = square.find(f"{SVG}title").text.rpartition(": ")
        head, tag = pair.split(", ")
        expected = correlation[tags.index(head), tags.index(tag)]
        assert float(shown.replace("−", "-")) == pytest.approx(expected, rel=1e-3)
        opacity = (abs(expected) / strongest) ** 0.6
        assert float(square.get("fill-opacity")) == pytest.approx(opacity, abs=0.0051)


def test_tags_from_right_to_left_do_not_take_the_number_of_another_one(tmp_path):
    (tmp_path / "tagged").write_text(f"A {SHALOM}x {SHALOM}\n{SHALOM} A\n" * 2, encoding="utf-8")
    told = ["--method", "vb-em-logistic-normal", "--rounds", 3, "--covariances", tmp_path / "npz"]
    assert call("dmv", "train", tmp_path / "tagged", "--output", tmp_path / "model", *told) == 0
    page = tmp_path / "page.html"
    assert call("dmv", "report", tmp_path / "model", *told[-2:], "--output", page) == 0
    made = Made(page)
    for section, at_least in (("tags", 3), ("covariances", 3)):
        cells = [each for each in made.section(section).iter() if each.tag in (f"{XHTML}td", f"{XHTML}th")]
        listed = [cell for cell in cells if ", " in "".join(cell.itertext()) and cell.findall(f"{XHTML}bdi")]
        assert len(listed) >= at_least
        for cell in listed:
            apart = ["".join(each.itertext()) for each in cell.findall(f"{XHTML}bdi")]
            text = "".join(cell.itertext())
            assert [re.sub(r" [\d.]+$", "", each) for each in text.split(", ")] == apart
