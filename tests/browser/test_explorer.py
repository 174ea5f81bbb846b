"""The explorer in a browser: its views, by mouse and keyboard, narrow and wide, light and dark."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from scfg_sampler.explore.sources import Sources
from tests.browser.test_report_page import LIGHTNESS, PHONE, SCREEN
from tests.explore.conftest import explored_directory, port, sources  # noqa: F401
from tests.report.made import NASTY, nasty_pairs

PATIENCE = 60_000  # Milliseconds, of a machine that does other things.


@pytest.fixture
def view(browser, port) -> Iterator[Any]:  # noqa: F811
    """Opens a view; afterwards looks at what the page has said, and whom it has asked."""
    contexts = []
    messages: list[str] = []
    requests: list[str] = []

    def opened(name: str, own: int = port, **settings: Any) -> Any:
        context = browser.new_context(**{"viewport": SCREEN} | settings)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("dialog", lambda dialog: (messages.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(f"http://127.0.0.1:{own}/#{name}")
        return page

    opened.messages = messages  # type: ignore[attr-defined]
    yield opened
    for context in contexts:
        context.close()
    # A question that is refused is told of by the browser, too.
    assert [text for text in messages if "status of 400" not in text] == []
    assert {re.sub(r"(:\d+)/.*", r"\1", url) for url in requests if not url.startswith("data:")} <= {
        re.sub(r"(:\d+)/.*", r"\1", requests[0])
    }


def show_pair(page: Any, number: int) -> None:
    page.wait_for_selector("#pair:not([hidden])")
    choose_pair(page, number)


def choose_pair(page: Any, number: int) -> None:
    page.fill("#pair-number", str(number))
    page.press("#pair-number", "Tab")
    page.wait_for_selector(f"#pair-title:text-is('Pair {number}')")


def wait_until(page: Any, true: str | Callable[[], bool], argument: Any = None) -> None:
    """Wait until an expression or a function is true; the page forbids how Playwright would do it."""
    stop = time.monotonic() + PATIENCE / 1000
    while not (page.evaluate(true, argument) if isinstance(true, str) else true()):
        assert time.monotonic() < stop, true
        page.wait_for_timeout(50)


def paste(page: Any, source: str, target: str, alignment: str) -> None:
    # The page itself opens it where there is no run, at any moment.
    page.evaluate("document.querySelector('#paste').open = true")
    for name, text in (("source", source), ("target", target), ("alignment", alignment)):
        page.fill(f"#pair-{name}", text)
    page.click("#paste-pair button")


@pytest.mark.parametrize(("asked", "found"), [("99999", -1), ("-3", 0), ("", 0)])
def test_a_pair_that_there_is_not_is_not_shown_as_if_it_were(view, sources, asked, found):  # noqa: F811
    page = view("pairs")
    page.wait_for_selector("#pair-title >> text=Pair 0")
    last = sources.runs[0].num_pairs - 1
    page.fill("#pair-number", asked)
    page.press("#pair-number", "Tab")
    shown = last if found < 0 else found
    if asked:
        there = f"there is no pair {asked}: here is pair {shown}, and there are 0 to {last}"
        page.wait_for_selector(f"#status >> text={there}")
    page.wait_for_selector(f"#pair-title >> text=Pair {shown}")
    page.click("#next-pair" if found < 0 else "#previous-pair")
    page.wait_for_selector(f"#status >> text=there is no pair {shown + 1 if found < 0 else -1}: ")
    page.click("#previous-pair" if found < 0 else "#next-pair")
    wait_until(page, "document.getElementById('status').textContent === ''")


def test_pair_is_shown_with_boxes_at_its_rules(view):
    page = view("pairs")
    show_pair(page, 2)
    pair = nasty_pairs()[2]
    assert page.inner_text("#pair-texts") == f"{' '.join(pair.source)}\n{' '.join(pair.target)}"
    assert page.locator("#grid .cell").count() == len(pair.source) * len(pair.target)
    assert page.locator("#grid .linked").count() == len(pair.links)
    assert page.locator("#grid .node").count() == page.locator("#derivation li").count() > 0


def test_phrases_are_chosen_by_clicks_and_by_keys(view):
    page = view("pairs")
    page.wait_for_selector("#pair:not([hidden])")
    paste(page, "a b c", "A B C", "0-0 1-1 2-2")
    page.wait_for_selector("#phrase >> text=level 5")
    page.click("#grid .cell >> nth=4")
    page.wait_for_selector("#phrase >> text=level 1")
    assert "b – B" in page.inner_text("#phrase")
    page.keyboard.press("Enter")
    page.wait_for_selector("#phrase >> text=level 3")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "c – C, 2-2, linked"
    page.keyboard.press(" ")
    page.wait_for_selector("#phrase >> text=source 2–3")
    page.keyboard.press(" ")
    page.wait_for_selector("#phrase >> text=source 1–3")
    page.click("#phrase .options button >> nth=0")
    page.wait_for_selector("#phrase >> text=source 1–2")
    assert page.locator("#grid .chosen").count() == 1


def test_links_are_drawn_by_clicks_and_keys(view):
    page = view("pairs")
    page.wait_for_selector("#pair:not([hidden])")
    paste(page, "a b", "A B", "")
    page.wait_for_selector("text=The pair has no links")
    page.check("input[value=link]")
    page.click("#grid .cell >> nth=0")
    page.wait_for_selector("#grid .linked")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    wait_until(page, "document.querySelectorAll('#grid .linked').length === 2")
    assert page.input_value("#pair-alignment") == "0-0 1-1"
    page.wait_for_selector("#phrase >> text=a b – A B")
    page.keyboard.press("Enter")
    wait_until(page, "document.querySelectorAll('#grid .linked').length === 1")


def test_steps_are_walked_through(view):
    page = view("pairs")
    show_pair(page, 3)
    page.click("#record button")
    page.wait_for_selector("#steps:not([hidden])")
    total = int(re.search(r"1 of (\d+)", page.inner_text("#step-number"))[1])
    assert page.is_disabled("#step-back")
    assert page.locator("#grid .here").count() == 1
    shares = [float(each.strip("%≈<")) for each in page.locator("#choice .share").all_inner_texts()]
    assert sum(shares) == pytest.approx(100, abs=0.3)
    page.click("#step-change")
    assert "It changes." in page.inner_text("#choice")
    assert page.locator("#choice .taken").count() == 1
    page.focus("#step")
    page.keyboard.press("End")
    assert page.inner_text("#step-number").startswith(f"{total} of {total}")
    assert page.is_disabled("#step-on")
    page.click("#step-back")
    assert page.inner_text("#step-number").startswith(f"{total - 1} of {total}")


def test_what_waits_is_told_of_and_holds_up_nothing_else(view, monkeypatch):
    go_on = threading.Event()
    monkeypatch.setattr("scfg_sampler.explore.server.is_compiling", lambda: True)
    monkeypatch.setattr(
        "scfg_sampler.explore.pairs.visit", lambda rng, pair, most: (go_on.wait(60), (pair, []))[1]
    )
    page = view("pairs")
    show_pair(page, 3)
    page.click("#record button")
    page.wait_for_selector("#status >> text=working on the steps … what does this is being compiled")
    show_pair(page, 2)
    assert "working on the steps" in page.inner_text("#status")
    paste(page, "a", "A", "7-7")
    page.wait_for_selector("#status >> text=link 7-7 points past the end")
    go_on.set()
    choose_pair(page, 1)
    wait_until(page, "document.querySelector('#status').textContent === ''")


def test_invalid_alignment_is_told_and_the_page_goes_on(view):
    page = view("pairs")
    page.wait_for_selector("#pair:not([hidden])")
    paste(page, "a b", "A B", "0-0 1-7")
    page.wait_for_selector("#status >> text=link 1-7 points past the end")
    paste(page, "a b", "A B", "0/0")
    page.wait_for_selector("#status >> text='0/0' is not a link")
    paste(page, "a b", "A B", "0-0 1-1")
    page.wait_for_selector("#phrase >> text=a b – A B")
    wait_until(page, "document.querySelector('#status').textContent === ''")


@pytest.mark.parametrize("viewport", [PHONE, SCREEN], ids=["phone", "screen"])
def test_pair_of_sixty_words_fits_the_screen(view, viewport):
    page = view("pairs", viewport=viewport)
    page.wait_for_selector("#pair:not([hidden])")
    words = [f"word{k}" for k in range(60)]
    paste(page, " ".join(words), " ".join(words), " ".join(f"{k}-{k}" for k in range(60)))
    page.wait_for_selector("#phrase >> text=level 119")
    assert page.locator("#grid .cell").count() == 3600
    page.click("#record button")
    page.wait_for_selector("#steps:not([hidden])")
    for _ in range(3):
        page.click("#step-change")
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]


def test_long_words_and_long_numbers_fit_a_phone(view):
    page = view("pairs", viewport=PHONE)
    page.wait_for_selector("#pair:not([hidden])")
    paste(page, "x" * 90 + " b", "y" * 90 + " B", "0-0 1-1")
    page.wait_for_selector("#phrase >> text=" + "y" * 90)
    assert page.locator("#grid svg").bounding_box()["width"] < PHONE["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    words, links = " ".join("abcdefghij" * 10), " ".join(f"{k}-{k}" for k in range(100))
    paste(page, words, words, links)  # With 10^56 trees.
    page.wait_for_selector("#phrase >> text=level 199")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.parametrize("viewport", [PHONE, SCREEN], ids=["phone", "screen"])
def test_letters_of_wide_pictures_can_be_read(view, viewport):
    page = view("pairs", viewport=viewport)
    page.wait_for_selector("#pair:not([hidden])")
    words = " ".join(f"word{k}" for k in range(30))
    paste(page, words, words, " ".join(f"{k}-{29 - k}" for k in range(0, 30, 10)))
    page.wait_for_selector("#phrase >> text=word0 ")
    page.click("#phrase summary >> text=As a picture")
    scale = page.eval_on_selector(
        "#phrase svg", "e => e.getBoundingClientRect().width / e.getAttribute('width')"
    )
    assert scale * 14 >= 9
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]


@pytest.mark.parametrize("viewport", [PHONE, SCREEN], ids=["phone", "screen"])
def test_long_rules_leave_room_for_the_phrases_beside_them(view, viewport):
    page = view("pairs", viewport=viewport)
    page.wait_for_selector("#pair:not([hidden])")
    words = [f"word{k}" for k in range(30)]
    paste(page, " ".join(words), " ".join(words), " ".join(f"{k}-{29 - k}" for k in range(0, 30, 10)))
    page.wait_for_selector("#phrase >> text=word0 ")
    cells = "cells => cells.map(cell => cell.getBoundingClientRect().width)"
    for width in page.eval_on_selector_all("#phrase .options td", cells):
        assert width > 100
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]


@pytest.mark.parametrize("viewport", [PHONE, SCREEN], ids=["phone", "screen"])
def test_short_rules_stand_in_one_line(view, viewport):
    page = view("pairs", viewport=viewport)
    page.wait_for_selector("#pair:not([hidden])")
    words = " ".join(f"parallelogram{k}" for k in range(8))
    paste(page, words, words, " ".join(f"{k}-{k}" for k in range(8)))
    page.wait_for_selector("#phrase >> text=parallelogram7")
    heights = page.eval_on_selector_all(
        "#phrase .options .rule", "rules => rules.map(rule => rule.offsetHeight)"
    )
    assert heights
    assert max(heights) < 30


def test_words_from_right_to_left_keep_their_direction(view):
    page = view("pairs")
    page.wait_for_selector("#pair:not([hidden])")
    paste(page, "הכלב רץ", "the dog runs", "0-1 1-2")
    page.wait_for_selector("#phrase >> text=the dog runs")
    directions = page.eval_on_selector_all(
        "#pair-texts bdi", "list => list.map(each => getComputedStyle(each).direction)"
    )
    assert directions == ["rtl", "ltr"]
    assert page.eval_on_selector("#pair-source", "each => getComputedStyle(each).direction") == "rtl"


def test_rules_are_searched_and_lead_to_their_pairs(view):
    page = view("grammar")
    page.wait_for_selector("#rules details")
    page.fill("#rules-source", NASTY["f0"])
    page.press("#rules-source", "Enter")
    wait_until(page, "document.querySelector('#rules-found').textContent.includes('rules')")
    wait_until(
        page,
        "word => [...document.querySelectorAll('#rules summary')].every(e => e.textContent.includes(word))",
        argument=NASTY["f0"],
    )
    page.focus("#rules summary >> nth=0")
    page.keyboard.press("Enter")
    page.wait_for_selector("#rules mark")
    assert "TargetWords" in page.inner_text("#rules table")
    page.click("#rules li button >> nth=0")
    page.wait_for_selector("#pair:not([hidden])")
    wait_until(page, "location.hash.includes('number=')")
    assert NASTY["f0"] in page.inner_text("#pair-texts")


@pytest.mark.parametrize("found", [0, 1])
@pytest.mark.parametrize(
    ("candidates", "said"), [(1310, "Of the first 400 of 1,310 pairs"), (400, "ast derivation")]
)
def test_rule_is_not_said_to_be_unused_where_nobody_has_looked(view, candidates, said, found):
    page = view("programs")
    pair = {"number": 0, "source": ["a"], "target": ["b"], "places": []}
    answer = {"candidates": candidates, "looked_at": 400, "sentences": [pair] * found}
    page.route("**/rule", lambda route: route.fulfill(json=answer))
    page.click("nav a[href='#grammar']")
    page.click("#rules summary >> nth=0")
    page.wait_for_selector("#rules ul", state="attached")
    shown = page.inner_text("#rules details >> nth=0")
    assert said in shown
    assert ("No last" in shown) == (candidates == 400 and not found)


def test_translations_of_two_systems_stand_beside_each_other(view):
    page = view("translation")
    line = " ".join(nasty_pairs()[0].source) + " unknown"
    page.fill("#text", line)
    page.press("#text", "Enter")
    page.wait_for_selector("#systems > section:nth-child(2) .answer")
    assert page.locator("#systems .answer").count() == 2
    assert page.locator("#systems svg").count() == 2
    assert page.locator("#systems > section:first-child tbody tr").count() > 1
    boxes = [page.locator(f"#systems > section:nth-child({k})").bounding_box() for k in (1, 2)]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]


def test_text_without_words_has_no_score(view):
    page = view("translation")
    for text in ("a", "  "):
        page.fill("#text", text)
        page.press("#text", "Enter")
        page.wait_for_selector("#systems >> text=" + ("score" if text == "a" else "The text has no words."))
    assert "score" not in page.inner_text("#systems")
    assert "best" not in page.inner_text("#systems")


def test_several_lines_that_are_pasted_are_told_of(view, port):  # noqa: F811
    page = view("translation")
    origin = f"http://127.0.0.1:{port}"
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=origin)
    page.wait_for_selector("#systems > section")
    for text, said in (("a b\n", ""), ("a\r\n\nb\n", "2 lines were pasted, and are one line here")):
        page.evaluate("text => navigator.clipboard.writeText(text)", text)
        page.fill("#text", "")
        page.focus("#text")
        page.keyboard.press("Control+v")
        assert page.inner_text("#status").startswith(said)
        assert bool(page.inner_text("#status")) == bool(said)


@pytest.mark.parametrize("has_counts", [True, False])
def test_rules_without_counts_are_not_said_to_be_in_their_order(view, has_counts):
    page = view("programs")
    page.route("**/grammar", lambda route: route.fulfill(json=route.fetch().json() | {"counted": has_counts}))
    page.click("nav a[href='#grammar']")
    page.wait_for_selector("#rules details")
    assert ("used most first" in page.inner_text("#rules-found")) == has_counts
    assert ("count " in page.inner_text("#rules")) == has_counts


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"operator": "rejection"}, "In each sweep the sampler proposes a whole derivation, and takes"),
        ({"choose": "sentence"}, "In each sweep the sampler first proposes a whole derivation"),
        ({"choose": "phrase"}, "At each node the sampler chooses"),
    ],
)
def test_what_a_sweep_does_is_told_as_the_run_has_it(view, settings, said):
    page = view("programs")

    def about(route):
        told = route.fetch().json()
        route.fulfill(json=told | {"runs": [run | settings for run in told["runs"]]})

    page.route("**/about", about)
    page.reload()
    page.click("nav a[href='#pairs']")
    page.wait_for_selector("#pair:not([hidden])")
    assert page.inner_text("#steps-note").startswith(said)
    assert ("At each node" in page.inner_text("#steps-note")) == ("operator" not in settings)


def test_moved_weight_changes_what_comes_out(view):
    page = view("translation")
    page.fill("#text", "a unknown b")
    page.press("#text", "Enter")
    page.wait_for_selector("#systems .answer")
    section = "#systems > section:first-child"
    before = page.inner_text(f"{section} p.soft >> nth=0")
    page.click(f"{section} .moving summary")
    page.fill(f"{section} input[aria-label='weight of PassThrough']", "7")
    page.wait_for_selector(f"{section} >> text=/weights of the system/")
    assert page.inner_text(f"{section} p.soft >> nth=0") != before
    page.focus(f"{section} input[aria-label='weight of Glue, slider']")
    page.keyboard.press("ArrowRight")
    assert page.input_value(f"{section} input[aria-label='weight of Glue']") != "-1"
    page.click(f"{section} >> text=As they were")
    wait_until(
        page,
        "([section, before]) => document.querySelector(section + ' p.soft').textContent === before",
        argument=[section, before],
    )


@pytest.mark.parametrize(("more", "said"), [(0, "kept by the search."), (9, "most probable are listed.")])
def test_what_was_tried_is_shown_span_by_span(view, more, said):
    page = view("translation")

    def tried(route):
        answer = route.fetch().json()
        spans = [each | {"kept": len(each["rules"]) + more} for each in answer["spans"]]
        route.fulfill(json=answer | {"spans": spans})

    page.route("**/translate", tried)
    page.fill("#text", " ".join(nasty_pairs()[0].source))
    page.press("#text", "Enter")
    page.wait_for_selector("#systems .answer")
    page.click("#systems > section:first-child summary >> text=What was tried where")
    chosen = page.locator("#systems > section:first-child select")
    chosen.select_option(index=chosen.locator("option").count() - 1)
    told = page.inner_text("#systems > section:first-child")
    assert "rules match" in told
    assert said in told


@pytest.mark.parametrize("name", ["pairs", "grammar", "translation", "programs"])
def test_every_view_is_as_wide_as_a_phone(view, name):
    page = view(name, viewport=PHONE)
    if name == "translation":
        page.fill("#text", " ".join(nasty_pairs()[0].source))
        page.press("#text", "Enter")
        page.wait_for_selector("#systems .answer")
        page.click("#systems .moving summary >> nth=0")
    elif name == "grammar":
        page.wait_for_selector("#rules details")
        page.click("#rules summary >> nth=0")
        page.wait_for_selector("#rules table")
    elif name == "pairs":
        show_pair(page, 1)
    page.wait_for_selector(f"#{name} h2")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_scheme_and_can_be_read(view, scheme):
    page = view("pairs", color_scheme=scheme)
    show_pair(page, 2)
    page.click("#derivation-picture summary")
    paper = page.eval_on_selector("body", LIGHTNESS % "backgroundColor")
    assert (paper > 600) == (scheme == "light")
    for selector, colour in {
        "#derivation .plain": "color",
        "#grid text": "fill",
        "#derivation-picture text": "fill",
        "#record button": "color",
    }.items():
        assert abs(paper - page.eval_on_selector(selector, LIGHTNESS % colour)) > 250, selector


def test_scripts_in_a_corpus_are_words(view):
    page = view("pairs")
    numbers = [at for at, pair in enumerate(nasty_pairs()) if NASTY["f0"] in pair.source][:3]
    for number in numbers:
        show_pair(page, number)
        assert NASTY["f0"] in page.inner_text("#pair-texts")
    page.fill("#pair-words", NASTY["f0"])
    page.press("#pair-words", "Enter")
    page.wait_for_selector("#found-pairs li")
    assert page.locator("img").count() == 0
    assert page.evaluate("document.querySelectorAll('script').length") == 1


def test_every_control_has_a_name(view):
    page = view("pairs")
    show_pair(page, 1)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('button, input, select, svg, [role=region]')]
            .filter(e => !(e.textContent.trim() || e.getAttribute('aria-label') || e.labels?.length))
            .map(e => e.outerHTML.slice(0, 100))"""
    )
    assert nameless == []


def test_system_without_a_run_still_shows_pairs_of_ones_own(view, sources):  # noqa: F811
    from tests.explore.made import served

    with served(Sources([], sources.systems[:1])) as own:
        page = view("pairs", own)
        paste(page, "a b c", "A B C", "0-0 1-1 2-2")
        page.wait_for_selector("#phrase >> text=level 5")
        page.click("#record button")
        page.wait_for_selector("#steps:not([hidden])")
        assert json.loads(page.evaluate("JSON.stringify(location.port)")) == str(own)
        page.close()
