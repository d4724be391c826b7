"""The steps of a visitor of the page, in the browser."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from halldetect.report import demo
from tests.support.chromium import look
from tests.support.running import PATIENCE

# Notes what the watching view shows while it shows it: the report replaces it at once.
RECORD = """
window.seen = [];
new MutationObserver(() => {
  const states = [...document.querySelectorAll("#watch .card .state")];
  const reported = document.querySelector(".report-view .verdict") !== null;
  window.seen.push([states.map((node) => node.textContent), reported]);
}).observe(document.getElementById("content"), { childList: true, subtree: true });
"""

# Keeps what the page says for a few seconds, which a busy machine may look for too late.
LISTEN = """
const status = document.getElementById("status");
window.said = [];
new MutationObserver(() => window.said.push(status.textContent)).observe(status, {
  childList: true,
});
"""


class Page:
    def __init__(self, browser: Any, url: str) -> None:
        self.browser = browser
        self.url = url

    def begin(self, *, width: int = 1440, height: int = 900, scheme: str = "light") -> None:
        """A visitor who was never here: nothing remembered, nothing in the console."""
        self.browser.get(f"{self.url}/static/icon.svg")
        self.run("localStorage.clear(); sessionStorage.clear()")
        look(self.browser, width=width, height=height, scheme=scheme)
        self.browser.get_log("browser")

    def complaints(self) -> list[str]:
        """Return the messages of the console, except those of failed requests."""
        rows = self.browser.get_log("browser")
        return [row["message"] for row in rows if row["source"] != "network"]

    def open(self, address: str = "/") -> None:
        self.browser.get(self.url + address)
        self.wait(".view, .report-view, dialog[open]")
        self.run(LISTEN)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.browser.execute_script(script, *arguments)

    def one(self, selector: str) -> Any:
        return self.browser.find_element("css selector", selector)

    def every(self, selector: str) -> list[Any]:
        found = self.browser.find_elements("css selector", selector)
        return [node for node in found if node.is_displayed()]

    def until(self, condition: Callable[[], Any], what: str, patience: float = PATIENCE) -> Any:
        """Wait for a condition and return its value; the page may redraw meanwhile."""
        from selenium.common.exceptions import StaleElementReferenceException

        end = time.monotonic() + patience
        while time.monotonic() < end:
            with suppress(StaleElementReferenceException):
                if found := condition():
                    return found
            time.sleep(0.05)
        raise AssertionError(f"no {what} after {patience} s: {self.one('body').text[:600]}")

    def wait(self, selector: str, patience: float = PATIENCE) -> Any:
        """The first node in sight that fits."""
        return self.until(lambda: self._first(selector), selector, patience)

    def told(self, words: str) -> None:
        """Wait until the page has said something since it was opened, or since the last time."""
        self.until(lambda: any(words in text for text in self.run("return window.said")), words)
        self.run("window.said = []")

    def press(self, selector: str) -> None:
        """A click that does not mind what lies above the node."""
        self.until(lambda: self._pressed(selector), selector)

    def _pressed(self, selector: str) -> bool:
        """Return True if the node was there to be clicked."""
        found = self._first(selector)
        if found is not None:
            self.run("arguments[0].click()", found)
        return found is not None

    def _first(self, selector: str) -> Any:
        """Return the first node in sight; asking all of them takes too long."""
        found = self.browser.find_elements("css selector", selector)
        return next((node for node in found if node.is_displayed()), None)

    def paste(self, selector: str, text: str) -> None:
        self.wait(selector).click()
        self.run("document.activeElement.select()")
        self.browser.execute_cdp_cmd("Input.insertText", {"text": text})

    def ask(
        self,
        source: str = demo.SOURCE,
        response: str = demo.RESPONSE,
        *,
        question: str = "",
        keep: bool = False,
    ) -> None:
        """Fill in the form and send it."""
        self.paste("#documents textarea", source)
        self.paste("#response", response)
        if question:
            self.paste("#question", question)
        if keep != self.one("#store").is_selected():
            self.press("#store")
        self.press("#submit")

    def reported(self) -> str:
        """The verdict, once the report is there."""
        text: str = self.wait(".report-view .verdict").text
        return text.split("\n")[-1]

    def width(self) -> int:
        found: int = self.run("return document.documentElement.scrollWidth")
        return found
