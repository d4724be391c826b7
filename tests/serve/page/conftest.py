"""A real browser on the page of the real service; started only for tests that ask for it."""

from __future__ import annotations

import pytest

from tests.support.chromium import chromium
from tests.support.fake_service import AWAKE
from tests.support.page_in_browser import Page
from tests.support.running import serving


@pytest.fixture(scope="session")
def downloads(tmp_path_factory):
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="session")
def browser(tmp_path_factory, downloads):
    with chromium(tmp_path_factory.mktemp("profile"), downloads) as driver:
        driver.execute_cdp_cmd(
            "Browser.grantPermissions",
            {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]},
        )
        yield driver


@pytest.fixture(scope="session")
def real_service(tmp_path_factory):
    """The command itself with the verifier of the package, open to this machine, with a store."""
    database = tmp_path_factory.mktemp("store") / "reports.db"
    options = ("--store", "--rate", "0", "--database", f"sqlite:///{database}")
    with serving(*options, real=True) as running:
        yield running


@pytest.fixture(scope="session")
def sleepy_service(tmp_path_factory):
    """A service whose verifier sleeps where a claim says so, and the file that wakes it."""
    folder = tmp_path_factory.mktemp("sleepy")
    options = ("--store", "--rate", "0", "--database", f"sqlite:///{folder}/reports.db")
    with serving(*options, environment={AWAKE: str(folder / "awake")}) as running:
        yield running, folder / "awake"


@pytest.fixture
def held(browser, sleepy_service):
    """The page of the sleepy service, and the file that ends its checks: no check ends too soon."""
    running, awake = sleepy_service
    awake.unlink(missing_ok=True)
    visit = Page(browser, running.url)
    visit.begin()
    yield visit, awake
    awake.touch()
    assert visit.complaints() == []


@pytest.fixture
def page(browser, downloads, real_service):
    """The page as a new visitor meets it; whatever the test does, no policy may be violated."""
    visit = Page(browser, real_service.url)
    visit.begin()
    for left in downloads.iterdir():
        left.unlink()
    with real_service.client() as client:
        client.delete("/v1/reports?all=true").raise_for_status()
    yield visit
    assert visit.complaints() == []
