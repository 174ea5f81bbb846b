"""A real browser, where there is one: Debian's chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

# The first is made for this, and takes two fifths of the processor time of the others.
CHROMIUM = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


class Opened(NamedTuple):
    """A page in the browser, and what it has said and asked for."""

    page: Any
    messages: list[str]
    """Of the console, and errors."""
    requests: list[str]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium without a window; tests are skipped where it, or Playwright, is missing."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright (pip install playwright)"
    )
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if path is None:
        pytest.skip("needs chromium (apt-get install chromium-headless-shell)")
    # Its sandbox does not start for root, as which containers run.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=path, args=arguments)
        yield running
        running.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Opened]]:
    """Opens a file, with the network off, in a context of the given settings."""
    contexts = []

    def opened(path: Path, **settings: Any) -> Opened:
        context = browser.new_context(offline=True, **settings)
        contexts.append(context)
        page = context.new_page()
        messages: list[str] = []
        requests: list[str] = []
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("dialog", lambda dialog: (messages.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        return Opened(page, messages, requests)

    yield opened
    for context in contexts:
        context.close()
