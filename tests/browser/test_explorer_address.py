"""The explorer's address: it holds what is shown, and whatever else it holds does no harm."""

from __future__ import annotations

import threading
from typing import Any
from urllib.parse import quote

import pytest

from scfg_sampler.explore.sources import Sources, open_sources
from tests.browser.test_explorer import paste, show_pair, view, wait_until  # noqa: F401
from tests.explore.conftest import explored_directory, port, sources  # noqa: F401
from tests.explore.made import served
from tests.learner.test_chain import some_pairs
from tests.learner.test_commands import sample, write_corpus
from tests.report.made import NASTY, nasty_pairs


def hash_of(page: Any) -> str:
    return page.evaluate("location.hash")


def wait_for_hash(page: Any, wanted: str) -> None:
    wait_until(page, "wanted => location.hash === wanted", argument=wanted)


def test_pair_is_shown_again_and_gone_back_to(view):  # noqa: F811
    page = view("pairs")
    wait_for_hash(page, "#pairs?number=0")
    for number in (2, 4):
        show_pair(page, number)
        wait_for_hash(page, f"#pairs?number={number}")
    page.reload()
    page.wait_for_selector("#pair-title:text-is('Pair 4')")
    page.go_back()
    page.wait_for_selector("#pair-title:text-is('Pair 2')")
    page.go_back()
    page.wait_for_selector("#pair-title:text-is('Pair 0')")
    page.go_forward()
    page.wait_for_selector("#pair-title:text-is('Pair 2')")
    assert page.input_value("#pair-number") == "2"


HOLD_PHRASES = """
const own = window.fetch;
const held = new Promise((resolve) => { window.release = resolve; });
window.fetch = async (path, ...others) => {
  const response = await own(path, ...others);
  if (path !== "/forest") return response;
  const answer = await response.json();
  window.isHeld = true;
  await held;
  return { ok: true, json: async () => answer };
};
"""


def test_answer_that_comes_as_the_button_back_is_pressed_does_not_undo_it(view):  # noqa: F811
    page = view("pairs")
    show_pair(page, 2)
    wait_for_hash(page, "#pairs?number=2")
    page.add_init_script(HOLD_PHRASES)
    page.reload()
    wait_until(page, "window.isHeld === true")
    # The browser has changed the address by then, and tells of it afterwards: the answer comes between.
    page.evaluate("addEventListener('popstate', () => window.release())")
    page.go_back()
    page.wait_for_selector("#pair-title:text-is('Pair 0')")
    wait_for_hash(page, "#pairs?number=0")
    page.go_forward()
    page.wait_for_selector("#pair-title:text-is('Pair 2')")


def test_pair_of_several_alignments_says_under_which_it_is(view, tmp_path):  # noqa: F811
    pairs = some_pairs()
    options = write_corpus(tmp_path, pairs)
    assert sample([*options, options[-1]], tmp_path / "run", "--iterations", "2") == 0
    with served(open_sources([tmp_path / "run"])) as own:
        page = view(f"pairs?number={len(pairs) + 3}", own)
        title = f"Pair {len(pairs) + 3}: 3 of the text, under alignment 2"
        page.wait_for_selector(f"#pair-title:text-is('{title}')")
        page.close()


def test_pair_of_ones_own_and_a_list_are_shown_again(view):  # noqa: F811
    page = view("pairs")
    wait_for_hash(page, "#pairs?number=0")
    page.fill("#pair-words", NASTY["f0"])
    page.press("#pair-words", "Enter")
    page.wait_for_selector("#found-pairs li")
    listed = page.inner_text("#found-pairs")
    paste(page, "a & b=c", "A+A #B", "0-0 1-1")
    page.wait_for_selector("#phrase >> text=a & b=c – A+A #B")
    wait_until(page, "location.hash.includes('alignment=')")
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("#phrase >> text=a & b=c – A+A #B")
    wait_until(page, "listed => document.querySelector('#found-pairs').innerText === listed", argument=listed)
    assert page.url == address


def test_search_for_rules_is_shown_again_and_gone_back_to(view):  # noqa: F811
    page = view("grammar")
    page.wait_for_selector("#rules details")
    everything = page.inner_text("#rules-found")
    page.fill("#rules-source", NASTY["f0"])
    page.press("#rules-source", "Enter")
    wait_until(
        page, "everything => document.querySelector('#rules-found').textContent !== everything", everything
    )
    found = page.inner_text("#rules-found")
    page.fill("#rules-source", "nothing has this")
    page.press("#rules-source", "Enter")
    page.wait_for_selector("#rules-found >> text=/^0 of/")
    page.go_back()
    wait_until(page, "found => document.querySelector('#rules-found').textContent === found", found)
    page.reload()
    wait_until(page, "found => document.querySelector('#rules-found').textContent === found", found)
    assert page.input_value("#rules-source") == NASTY["f0"]


def test_translation_is_shown_again(view):  # noqa: F811
    page = view("translation")
    page.wait_for_selector("#systems > section")
    page.fill("#text", "a b")
    page.fill("#nbest", "3")
    page.press("#text", "Enter")
    wait_for_hash(page, "#translation?text=a+b&nbest=3")
    page.reload()
    page.wait_for_selector("#systems .answer")
    assert (page.input_value("#text"), page.input_value("#nbest")) == ("a b", "3")


def test_view_is_as_it_was_left(view):  # noqa: F811
    page = view("pairs")
    show_pair(page, 3)
    wait_for_hash(page, "#pairs?number=3")
    page.click("#record button")
    page.wait_for_selector("#steps:not([hidden])")
    for go in (lambda: page.click("nav a[href='#pairs']"), page.go_back):
        page.click("nav a[href='#programs']")
        page.wait_for_selector("#programs:not([hidden])")
        assert hash_of(page) == "#programs"
        go()
        page.wait_for_selector("#steps:not([hidden])")
        wait_for_hash(page, "#pairs?number=3")


def test_answer_that_comes_late_leaves_the_address_of_another_view(view, sources, monkeypatch):  # noqa: F811
    go_on = threading.Event()
    own = type(sources.systems[0]).with_weights
    monkeypatch.setattr(
        type(sources.systems[0]),
        "with_weights",
        lambda self, weights: (go_on.wait(60), own(self, weights))[1],
    )
    page = view("translation")
    page.wait_for_selector("#systems > section")
    page.fill("#text", "a")
    page.press("#text", "Enter")
    page.click("nav a[href='#programs']")
    go_on.set()
    page.wait_for_selector("#systems .answer", state="attached")
    assert hash_of(page) == "#programs"
    page.click("nav a[href='#translation']")
    wait_for_hash(page, "#translation?text=a&nbest=10")


SCRIPT = "<img src=x onerror=alert(1)>"
MANY = len(nasty_pairs())


@pytest.mark.parametrize(
    ("fragment", "said"),
    [
        (f"pairs?number={SCRIPT}", f'number is "{SCRIPT}", and must be from 0 to {MANY - 1}'),
        (f"pairs?number={quote(SCRIPT)}", f'number is "{SCRIPT}", and must be from 0 to {MANY - 1}'),
        (f"pairs?number={MANY}", f'number is "{MANY}", and must be from 0 to {MANY - 1}'),
        ("pairs?number=-1&run=1e0", 'run is "1e0", and must be from 0 to 0; number is "-1"'),
        ("pairs?number=0&number=1", "number is given twice"),
        ("pairs?__proto__=1&constructor=2", 'no field "__proto__"; there is no field "constructor"'),
        ("pairs?" + "&".join(f"x{k}=" for k in range(500)), 'no field "x2"; and 497 more'),
        ("pairs?x%00%E2%80%AE%FF%=1", "there is no field"),
        ("constructor", 'there is no view "constructor"'),
        (f"{SCRIPT}?number=1", "there is no view"),
        ("x" * 5000, f'there is no view "{"x" * 40}…"'),
        ("???", 'there is no view ""'),
    ],
)
def test_what_an_address_has_no_meaning_for_is_passed_over(view, fragment, said):  # noqa: F811
    page = view(fragment)
    page.wait_for_selector("#status >> text=Passed over in the address: ")
    assert said in page.inner_text("#status")
    assert page.inner_text("#pair-title") == "Pair 0"
    assert hash_of(page) == "#pairs?number=0"
    assert page.locator("img").count() == 0
    show_pair(page, 1)
    wait_until(page, "document.querySelector('#status').textContent === ''")


@pytest.mark.parametrize(
    "fragment", ["pairs?number=01", "grammar?source=a&x=1", "translation?nbest=3&text=a%20b"]
)
def test_back_leads_away_from_an_address_that_was_written_otherwise(view, fragment):  # noqa: F811
    page = view("programs")
    page.wait_for_selector("#programs:not([hidden])")
    page.evaluate("fragment => { location.hash = fragment; }", fragment)
    page.wait_for_function("given => location.hash !== given", arg=f"#{fragment}")
    page.go_back()
    wait_for_hash(page, "#programs")
    assert page.is_visible("#programs")


@pytest.mark.parametrize(
    ("fragment", "said"),
    [
        ("pairs?source=a&target=b&alignment=7-7", "link 7-7 points past the end"),
        (f"pairs?source={SCRIPT * 200}&target=b", "source has"),
        (f"grammar?shape={SCRIPT}", "is no shape"),
        (f"translation?text={'a+' * 101}", "text has 101 words"),
    ],
)
def test_what_an_address_asks_may_be_refused(view, fragment, said):  # noqa: F811
    page = view(fragment)
    page.wait_for_selector(f"#status >> text={said}")
    assert page.locator("img").count() == 0
    page.click("nav a[href='#programs']")
    page.wait_for_selector("#programs:not([hidden])")
    wait_until(page, "document.querySelector('#status').textContent === ''")


def test_texts_of_an_address_are_texts(view):  # noqa: F811
    page = view(f"pairs?source={quote(SCRIPT)}&target={quote('a%0Ab')}&alignment=0-0&words={quote(SCRIPT)}")
    page.wait_for_selector(f"#phrase >> text={SCRIPT}")
    assert page.locator("img").count() == 0
    page.evaluate("hash => { location.hash = hash; }", f"#translation?text={quote(SCRIPT)}&nbest=101")
    page.wait_for_selector("#systems .answer")
    page.wait_for_selector('#status >> text=nbest is "101", and must be from 1 to 100')
    assert page.locator("img").count() == 0


def test_without_a_run_its_pairs_are_passed_over(view, sources):  # noqa: F811
    with served(Sources([], sources.systems[:1])) as own:
        page = view("pairs?number=3", own)
        page.wait_for_selector("#status >> text=Passed over in the address: there is no run")
        page.close()
