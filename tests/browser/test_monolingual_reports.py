"""Reports of the models of one language in a browser: offline, narrow and wide, light and dark, on paper."""

from __future__ import annotations

import pytest

from tests.browser.test_report_page import LIGHTNESS, PHONE, SCREEN
from tests.monolingual.report.made import SCRIPT, made_page

MODELS = ("tsg", "pcfg", "ot", "dmv")
PICTURES = {
    "tsg": "#trees .scfg text",
    "pcfg": "#trees .scfg text",
    "ot": "#ranking .scfg text",
    "dmv": "#sentences .scfg text",
}

CUT_OFF = """() => [...document.querySelectorAll('svg text')].filter(text => {
  const paper = text.ownerSVGElement.getBoundingClientRect(), place = text.getBoundingClientRect()
  return place.left < paper.left - 1 || place.right > paper.right + 1 || place.bottom > paper.bottom + 2
}).map(text => text.textContent)"""


@pytest.fixture(scope="module", params=MODELS)
def made(request, tmp_path_factory):
    return request.param, made_page(tmp_path_factory.mktemp("page"), request.param)


@pytest.mark.parametrize("viewport", [PHONE, SCREEN], ids=["phone", "screen"])
def test_page_is_as_wide_as_the_screen_and_asks_for_nothing(open_page, made, viewport):
    found = open_page(made[1], viewport=viewport)
    found.page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    assert found.messages == []
    assert found.requests == [made[1].as_uri()]
    assert found.page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    assert found.page.evaluate("document.querySelectorAll('script').length") == 0
    assert SCRIPT in found.page.evaluate("document.querySelector('main').textContent")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_can_be_read_in_both_schemes(open_page, made, scheme):
    page = open_page(made[1], viewport=SCREEN, color_scheme=scheme).page
    paper = page.eval_on_selector("body", LIGHTNESS % "backgroundColor")
    assert (paper > 600) == (scheme == "light")
    assert abs(paper - page.eval_on_selector(PICTURES[made[0]], LIGHTNESS % "fill")) > 450


def test_page_prints_on_white(open_page, made):
    page = open_page(made[1], viewport=SCREEN, color_scheme="dark").page
    page.emulate_media(media="print", color_scheme="dark")
    assert page.eval_on_selector("body", LIGHTNESS % "backgroundColor") == 3 * 255
    assert len(page.pdf()) > 10_000


@pytest.mark.parametrize("viewport", [PHONE, SCREEN], ids=["phone", "screen"])
def test_no_picture_cuts_off_its_words(open_page, made, viewport):
    page = open_page(made[1], viewport=viewport).page
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    assert page.evaluate(CUT_OFF) == []
