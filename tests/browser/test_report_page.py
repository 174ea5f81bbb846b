"""Reports in a browser: opened from disk with the network off, light and dark, narrow, on paper."""

from __future__ import annotations

import pytest

from tests.learner.test_commands import sample, write_corpus
from tests.oracles.phrase_forest import Sentence
from tests.report.made import NASTY, made_baseline, made_outputs, made_run
from tests.report.test_report import report

PHONE, SCREEN = {"width": 400, "height": 800}, {"width": 1200, "height": 900}

# Red, green and blue of a colour as the browser gives it.
LIGHTNESS = (
    """element => getComputedStyle(element)[%r].match(/[0-9]+/g).slice(0, 3).reduce((a, b) => a + +b, 0)"""
)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    directory = tmp_path_factory.mktemp("page")
    run, options = made_run(directory)
    page = directory / "report.html"
    hiero = made_baseline(directory, options)
    assert report(run, "--output", page, "--baseline", hiero, "--states", "5", *made_outputs(directory)) == 0
    return page


@pytest.mark.parametrize("viewport", [PHONE, SCREEN], ids=["phone", "screen"])
def test_page_is_as_wide_as_the_screen_and_asks_for_nothing(open_page, path, viewport):
    found = open_page(path, viewport=viewport)
    assert found.messages == []
    assert found.requests == [path.as_uri()]
    assert found.page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    assert found.page.evaluate("document.querySelectorAll('script').length") == 0


def test_words_longer_than_the_screen_are_broken(open_page, tmp_path):
    address = "http://example.org/" + "x" * 200  # As pairs of pages have them.
    pairs = [Sentence((address, "b"), (address, "B"), frozenset({(0, 0), (1, 1)})) for _ in range(4)]
    options, page = write_corpus(tmp_path, pairs), tmp_path / "report.html"
    assert sample(options, tmp_path / "run", "--iterations", "12", "--burn-in", "4") == 0
    assert report(tmp_path / "run", "--output", page, "--states", "5") == 0
    found = open_page(page, viewport=PHONE)
    assert address in found.page.inner_text("#pairs .pair p")
    assert found.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_words_that_look_like_scripts_are_seen_as_words(open_page, path):
    found = open_page(path, viewport=SCREEN)
    assert NASTY["f0"] in found.page.inner_text("#rules")
    assert NASTY["e0"] in found.page.inner_text("#pairs")
    assert found.messages == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_scheme_and_can_be_read(open_page, path, scheme):
    page = open_page(path, viewport=SCREEN, color_scheme=scheme).page
    paper = page.eval_on_selector("body", LIGHTNESS % "backgroundColor")
    ink = page.eval_on_selector("#pairs .rule", LIGHTNESS % "color")
    label = page.eval_on_selector("#pairs .grid text", LIGHTNESS % "fill")
    assert (paper > 600) == (scheme == "light")
    for each in (ink, label):
        assert abs(paper - each) > 450


def test_paper_is_white_however_dark_the_screen_is(open_page, path):
    page = open_page(path, viewport=SCREEN, color_scheme="dark").page
    page.emulate_media(media="print", color_scheme="dark")
    assert page.eval_on_selector("body", LIGHTNESS % "backgroundColor") == 3 * 255
    assert not page.is_visible("nav")
    assert len(page.pdf()) > 10_000


def test_links_above_lead_to_the_sections(open_page, path):
    page = open_page(path, viewport=SCREEN).page
    page.click("nav a[href='#pairs']")
    assert (
        page.evaluate("document.querySelector('#pairs').getBoundingClientRect().top") < SCREEN["height"] / 2
    )


def test_cells_of_grids_are_square(open_page, path):
    page = open_page(path, viewport=PHONE).page
    box = page.locator("#pairs .grid .cell").first.bounding_box()
    assert box["width"] == pytest.approx(box["height"], abs=0.5)
    assert box["width"] > 15


def test_details_open_by_keyboard(open_page, path):
    page = open_page(path, viewport=SCREEN).page
    page.focus("#run summary")
    page.keyboard.press("Enter")
    assert page.is_visible("text=max-cut-span")
