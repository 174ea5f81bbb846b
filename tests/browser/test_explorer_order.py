"""The explorer in a browser: which answers stay, of several questions, when some are refused or come late."""

from __future__ import annotations

from typing import Any

from tests.browser.test_explorer import choose_pair, paste, show_pair, view, wait_until  # noqa: F401
from tests.explore.conftest import explored_directory, port, sources  # noqa: F401
from tests.report.made import NASTY


def hold_first(page: Any, path: str) -> list[Any]:
    """Holds the next question to a path, which is in the list then; `continue_` lets it go on."""
    held: list[Any] = []
    page.route(path, lambda route: route.continue_() if held else held.append(route))
    return held


def test_translation_of_another_text_goes_with_a_question_that_is_refused(view):  # noqa: F811
    page = view("translation")
    page.fill("#text", "a b")
    page.press("#text", "Enter")
    page.wait_for_selector("#systems .answer")
    page.fill("#text", "a " * 101)
    page.press("#text", "Enter")
    page.wait_for_selector("#status >> text=text has 101 words")
    wait_until(page, "!document.querySelector('#systems .answer, #systems table')")
    page.fill("#text", "b")
    page.press("#text", "Enter")
    page.wait_for_selector("#systems .answer")
    wait_until(page, "document.querySelector('#status').textContent === ''")


def test_what_was_found_goes_with_a_search_that_is_refused(view):  # noqa: F811
    page = view("grammar")
    page.wait_for_selector("#rules details")
    page.fill("#rules-shape", "x")
    page.press("#rules-shape", "Enter")
    page.wait_for_selector("#status >> text='x' is no shape")
    wait_until(page, "!document.querySelector('#rules').hasChildNodes()")
    assert page.inner_text("#rules-found") == ""
    page.click("nav a[href='#pairs']")
    page.fill("#pair-words", NASTY["f0"])
    page.press("#pair-words", "Enter")
    page.wait_for_selector("#found-pairs li")
    page.fill("#pair-words", "a " * 101)
    page.press("#pair-words", "Enter")
    page.wait_for_selector("#status >> text=words has 101 words")
    wait_until(page, "!document.querySelector('#found-pairs').hasChildNodes()")


def test_pair_goes_when_another_cannot_be_shown(view, monkeypatch):  # noqa: F811
    monkeypatch.setattr("scfg_sampler.explore.pairs.MOST_WORDS", 5)
    page = view("pairs?number=3")
    page.wait_for_selector("#phrase > p")
    held = hold_first(page, "**/forest")
    page.click("#grid .cell >> nth=0")
    wait_until(page, lambda: bool(held))
    page.click("#next-pair")
    page.wait_for_selector("#status >> text=pair 4 has 6 words; at most 5 are shown")
    page.wait_for_selector("#pair", state="hidden")
    with page.expect_response("**/forest"):
        held[0].continue_()
    page.click("nav a[href='#programs']")
    page.evaluate("location.hash = '#pairs?number=8'")
    page.wait_for_selector("#pair-title:text-is('Pair 8')")
    page.evaluate("location.hash = '#pairs?number=5'")
    page.wait_for_selector("#status >> text=pair 5 has 7 words")
    page.wait_for_selector("#pair", state="hidden")
    assert page.evaluate("location.hash") == "#pairs?number=5"
    choose_pair(page, 8)
    paste(page, "a", "A", "0-7")
    page.wait_for_selector("#status >> text=link 0-7 points past the end")
    page.wait_for_selector("#pair", state="hidden")


def test_pair_whose_link_could_not_be_drawn_stays(view):  # noqa: F811
    page = view("pairs")
    show_pair(page, 3)
    page.wait_for_selector("#phrase > p")
    page.check("input[value=link]")
    page.route("**/pair", lambda route: route.fulfill(status=400, json={"error": "no"}))
    page.click("#grid .cell >> nth=0")
    page.wait_for_selector("#status >> text=no")
    assert page.inner_text("#pair-title") == "Pair 3"
    assert page.is_visible("#grid")


def test_what_is_found_while_a_view_is_prepared_stays(view):  # noqa: F811
    page = view("grammar")
    page.wait_for_selector("#rules details")
    held = hold_first(page, "**/pair")
    page.click("nav a[href='#pairs']")
    page.fill("#pair-words", NASTY["f0"])
    page.press("#pair-words", "Enter")
    page.wait_for_selector("#found-pairs li")
    found = page.inner_text("#found-pairs")
    assert held
    held[0].continue_()
    page.wait_for_selector("#phrase > p")
    wait_until(page, "location.hash.includes('words=')")
    assert page.inner_text("#found-pairs") == found


def test_list_that_was_asked_for_before_does_not_take_the_place_of_a_newer_one(view):  # noqa: F811
    page = view("pairs")
    show_pair(page, 1)
    held = hold_first(page, "**/pairs")
    page.fill("#pair-words", NASTY["f1"])
    page.press("#pair-words", "Enter")
    wait_until(page, lambda: bool(held))
    page.fill("#pair-words", NASTY["f0"])
    page.press("#pair-words", "Enter")
    page.wait_for_selector("#found-pairs li")
    found = page.inner_text("#found-pairs")
    with page.expect_response("**/pairs"):
        held[0].continue_()
    page.wait_for_timeout(200)
    assert page.inner_text("#found-pairs") == found


def test_more_is_more_of_what_was_looked_for(view):  # noqa: F811
    page = view("grammar")
    asked: list[dict[str, Any]] = []

    def few(route: Any) -> None:
        """Answer with two entries, whatever there are."""
        asked.append(route.request.post_data_json)
        answer = route.fetch().json()
        kind = "rules" if "rules" in answer else "pairs"
        route.fulfill(json={**answer, kind: answer[kind][:2], "left": 1})

    for path, field, more, entries in (
        ("grammar", "#rules-source", "#more-rules", "#rules details"),
        ("pairs", "#pair-words", "#found-pairs > button", "#found-pairs li"),
    ):
        page.click(f"nav a[href='#{path}']")
        page.wait_for_selector("#rules details" if path == "grammar" else "#phrase > p")
        page.route(f"**/{path}", few)
        asked.clear()
        page.fill(field, NASTY["f2"])
        page.press(field, "Enter")
        wait_until(page, f"document.querySelectorAll('{entries}').length === 2")
        page.fill(field, "something else")
        with page.expect_response(f"**/{path}"):
            page.click(more)
        wait_until(page, lambda: len(asked) == 2)
        first, second = ({key: value for key, value in each.items() if key != "from"} for each in asked)
        assert first == second
        assert NASTY["f2"] in first.values()
        assert asked[1]["from"] > asked[0]["from"]


def test_last_page_of_a_list_has_nothing_behind_it(view):  # noqa: F811
    page = view("pairs")
    page.wait_for_selector("#phrase > p")
    page.press("#pair-words", "Enter")
    page.wait_for_selector("#found-pairs li >> text=pair 24")
    page.click("#found-pairs > button")
    page.wait_for_selector("#found-pairs li >> text=pair 45")
    assert page.locator("#found-pairs li").count() == 21
    assert page.locator("#found-pairs > button").count() == 0


def test_moved_weight_is_of_the_text_that_was_translated(view):  # noqa: F811
    page = view("translation")
    page.fill("#text", "a b")
    page.press("#text", "Enter")
    page.wait_for_selector("#systems .answer")
    page.fill("#text", "c")
    page.click("#systems > section:first-child .moving summary")
    weight = "#systems > section:first-child input[aria-label='weight of PassThrough']"
    with page.expect_request("**/translate") as asked:
        page.fill(weight, "7")
    assert asked.value.post_data_json["text"] == "a b"
    wait_until(page, "/weights of the system/i.test(document.querySelector('#systems').innerText)")
    assert page.evaluate("location.hash").startswith("#translation?text=a+b&")


def test_weight_that_is_refused_and_put_right_brings_all_translations_back(view):  # noqa: F811
    page = view("translation")
    page.fill("#text", "a b")
    page.press("#text", "Enter")
    page.wait_for_selector("#systems .answer")
    page.click("#systems > section:first-child .moving summary")
    weight = "#systems > section:first-child input[aria-label='weight of PassThrough']"
    page.fill(weight, "1e10")
    page.wait_for_selector("#status >> text=is no number from")
    wait_until(page, "!document.querySelector('#systems .answer')")
    page.fill(weight, "7")
    wait_until(page, "document.querySelectorAll('#systems .answer').length === 2")


def test_moved_weight_while_another_system_still_translates_shows_one_text(view):  # noqa: F811
    page = view("translation")
    page.fill("#text", "a b")
    page.press("#text", "Enter")
    page.wait_for_selector("#systems .answer")
    before = page.inner_text("#systems > section:last-child .answer")
    held: list[Any] = []
    page.route(
        "**/translate",
        lambda route: route.continue_() if route.request.post_data_json["system"] else held.append(route),
    )
    page.fill("#text", "a b a b")
    page.press("#text", "Enter")
    wait_until(page, lambda: bool(held))
    page.click("#systems > section:last-child .moving summary")
    with page.expect_response("**/translate"):
        page.fill("#systems > section:last-child input[aria-label='weight of PassThrough']", "7")
    page.wait_for_timeout(200)
    assert page.inner_text("#systems > section:last-child .answer") == before
    for route in held:
        route.continue_()
    wait_until(page, "document.querySelectorAll('#systems .answer')[1].innerText.split(' ').length === 4")
    assert len(page.inner_text("#systems > section:first-child .answer").split()) == 4
