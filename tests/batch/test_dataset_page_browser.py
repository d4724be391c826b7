"""The report of a dataset in a real browser: nothing refused, nothing loaded, nothing cut off."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from halldetect import Detector
from halldetect.batch.dataset_report import write_report
from halldetect.batch.job import Job
from halldetect.batch.local import run_local
from tests.support.chromium import chromium, look
from tests.support.fakes import OverlapVerifier, SentenceExtractor

pytestmark = pytest.mark.browser

SOURCE = "The mill was built in 1790. Today it is a museum."
RESPONSES = (
    "Today it is a museum.",
    "The mill was built in 1850.",
    "It has a roof of <b>gold</b>.",
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dataset")
    rows = [
        {
            "id": n,
            "source": SOURCE,
            "response": RESPONSES[n % 3],
            "lang": ["en", "<i>de</i>"][n % 2],
        }
        for n in range(60)
    ]
    (folder / "in.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    out = folder / "out.jsonl"
    run_local(Detector(OverlapVerifier()), Job(str(folder / "in.jsonl"), str(out)))
    write_report(out, folder / "report")
    return folder / "report" / "index.html"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_the_page_fits_and_obeys_its_own_policy(
    browser: Any, page: Path, width: int, scheme: str
) -> None:
    look(browser, width=width, height=900, scheme=scheme)
    browser.get_log("browser")
    browser.get(page.as_uri())
    assert browser.get_log("browser") == []
    wide = "return document.documentElement.scrollWidth <= window.innerWidth"
    assert browser.execute_script(wide)
    bars = (
        "return [...document.querySelectorAll('.histogram rect')]"
        ".map(bar => getComputedStyle(bar).fill)"
    )
    shown = [
        chart
        for chart in browser.find_elements("css selector", ".histogram")
        if chart.is_displayed()
    ]
    assert len(shown) == 1
    box = shown[0].rect
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width  # all bars are on the screen, up to the score 1
    size = "return parseFloat(getComputedStyle(arguments[0]).fontSize) * arguments[1]"
    scale = box["width"] / float(shown[0].get_dom_attribute("viewBox").split()[2])
    assert browser.execute_script(size, browser.find_element("css selector", ".axis"), scale) > 9
    colours = set(browser.execute_script(bars))
    assert len(colours) == 2  # faithful and hallucinated, both coloured by the page
    assert "rgb(0, 0, 0)" not in colours
    assert browser.find_elements("css selector", "b, i") == browser.find_elements(
        "css selector", ".legend b"
    )
    assert "<i>de</i>" in browser.find_element("css selector", ".groups").text


def test_an_id_leads_to_its_audit_page(browser: Any, page: Path) -> None:
    look(browser, width=1280, height=900, scheme="light")
    browser.get(page.as_uri())
    browser.find_element("css selector", ".worst a").click()
    end = time.monotonic() + 60
    while "/rows/" not in browser.current_url and time.monotonic() < end:
        time.sleep(0.05)
    assert "/rows/" in browser.current_url
    assert "Hallucinated" in browser.title
