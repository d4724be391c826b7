"""The report of a dataset in a real browser: nothing refused, nothing loaded, nothing cut off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from halldetect.batch.dataset_report import write_report
from halldetect.batch.job import Job
from halldetect.batch.local import run_local
from tests.support.batch_files import GOOD, SOURCE, WRONG, detector, write_jsonl
from tests.support.chromium import chromium, look, soon, violations

pytestmark = pytest.mark.browser
RESPONSES = (GOOD, WRONG, "It has a roof of <b>gold</b>.")


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
    source = write_jsonl(folder / "in.jsonl", rows)
    run_local(detector(), Job(str(source), str(folder / "out.jsonl")))
    write_report(folder / "out.jsonl", folder / "report", ["lang"])
    return folder / "report" / "index.html"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_page_fits_and_obeys_its_policy(browser: Any, page: Path, width: int, scheme: str) -> None:
    look(browser, width=width, height=900, scheme=scheme)
    browser.get_log("browser")
    browser.get(page.as_uri())
    assert browser.get_log("browser") == []
    wide = "return document.documentElement.scrollWidth <= window.innerWidth"
    assert browser.execute_script(wide)
    fills = (
        "return [...document.querySelectorAll('.bar rect')]"
        ".filter(bar => bar.getBoundingClientRect().width > 1)"
        ".map(bar => getComputedStyle(bar).fill)"
    )
    colours = set(browser.execute_script(fills))
    assert len(colours) > 2
    assert "rgb(0, 0, 0)" not in colours
    assert violations(browser) == []
    assert not browser.find_elements("css selector", "td b, td i")
    assert "<i>de</i>" in browser.find_element("css selector", "main").text


def test_an_id_leads_to_its_page(browser: Any, page: Path) -> None:
    look(browser, width=1280, height=900, scheme="light")
    browser.get(page.as_uri())
    browser.find_element("css selector", "td a").click()
    assert soon(lambda: "/rows/" in browser.current_url)
    assert "Hallucinated" in browser.title
