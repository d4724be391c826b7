"""The system's Chromium under a driver, for the tests that need a real browser."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
DRIVER = shutil.which("chromedriver")
# How long anything may take: three suites run side by side.
PATIENCE = 60.0
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


@contextmanager
def chromium(profile: Path, downloads: Path | None = None) -> Iterator[Any]:
    """A browser with a profile of its own; the test is skipped where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("no Chromium with chromedriver on this machine")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    if downloads is not None:
        options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(
        options=options, service=webdriver.ChromeService(executable_path=DRIVER)
    )
    try:
        yield driver
    finally:
        driver.quit()


def look(browser: Any, *, width: int, height: int, scheme: str) -> None:
    """The size of the screen and the colours the system prefers."""
    command = browser.execute_cdp_cmd
    feature = {"name": "prefers-color-scheme", "value": scheme}
    command("Emulation.setEmulatedMedia", {"media": "", "features": [feature]})
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    command("Emulation.setDeviceMetricsOverride", size)


def soon(condition: Callable[[], Any]) -> Any:
    """Wait until the condition is true, and return its last value; a busy machine takes a while."""
    end = time.monotonic() + PATIENCE
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def text_of(browser: Any, selector: str) -> str:
    """The text of the marked stretches, without what only screen readers get."""
    found: str = browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map((node) => {"
        " const copy = node.cloneNode(true);"
        " copy.querySelectorAll('.unseen').forEach((part) => part.remove());"
        " return copy.textContent; }).join('')",
        selector,
    )
    return found


def keys(browser: Any, *pressed: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    for key in pressed:
        ActionChains(browser).send_keys(key).perform()


def violations(browser: Any) -> list[str]:
    """Return what axe finds in the page: names, roles, contrast and the like."""
    axe = files("axe_core_python") / "axe.min.js"
    browser.execute_script(axe.read_text(encoding="utf-8"))
    found = browser.execute_async_script(
        "axe.run(document, {resultTypes: ['violations']})"
        ".then(({violations}) => arguments[0](violations.flatMap("
        " ({id, nodes}) => nodes.map((node) => `${id}: ${node.target} ${node.failureSummary}`))))"
    )
    return list(found)
