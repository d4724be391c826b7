"""The pytest plug-in: tests that fail if an answer is not backed by its source.

    def test_answer(grounded):
        grounded(answer, source)

The fixture raises AssertionError for a response that is not faithful or could not be checked, with
the claims and passages in the message, and returns the report otherwise. Verdicts are kept in
pytest's cache, which `--cache-clear` empties. pytest loads this module in every run of an
environment that has halldetect, so it imports nothing heavy before the first check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from halldetect.batch.cache import ReportCache
    from halldetect.detector import Detector
    from halldetect.inputs import Source
    from halldetect.report import Report

MARKER = "halldetect"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plug-in."""
    add = parser.getgroup("halldetect", "checks of answers against their sources").addoption
    verifier = "the verifier (see halldetect check --help)"
    add("--halldetect-verifier", metavar="NAME", help=verifier)
    threshold = "fail at this score or above (default: 0.5)"
    add("--halldetect-threshold", type=float, metavar="T", help=threshold)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    meaning = "checks answers against sources; the fixture `grounded` adds it"
    config.addinivalue_line("markers", f"{MARKER}: {meaning}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that use the fixture, so that `-m 'not halldetect'` skips them."""
    for item in items:
        uses = "grounded" in getattr(item, "fixturenames", ())
        if uses and item.get_closest_marker(MARKER) is None:
            item.add_marker(MARKER)


@pytest.fixture(scope="session")
def halldetect_detector(pytestconfig: pytest.Config) -> Detector:
    """The detector of the fixture `grounded`; a conftest may define another."""
    from halldetect.detector import Detector

    return Detector(verifier=pytestconfig.getoption("--halldetect-verifier"))


@pytest.fixture(scope="session")
def _halldetect_cache(
    pytestconfig: pytest.Config, halldetect_detector: Detector
) -> Iterator[ReportCache]:
    from halldetect.batch.cache import ReportCache
    from halldetect.batch.local import run_settings

    store = getattr(pytestconfig, "cache", None)
    folder = None if store is None else store.mkdir("halldetect")
    with closing(ReportCache(folder, run_settings(halldetect_detector))) as cache:
        yield cache


@pytest.fixture
def grounded(
    request: pytest.FixtureRequest, halldetect_detector: Detector, _halldetect_cache: ReportCache
) -> Callable[..., Report]:
    """Checks a response against its source and fails the test unless it is faithful."""
    from halldetect.inputs import Pair

    def check(
        response: str,
        source: Source,
        *,
        question: str | None = None,
        threshold: float | None = None,
    ) -> Report:
        __tracebackhide__ = True
        pair = Pair(source, response, question)
        key = _halldetect_cache.key(pair)
        known = _halldetect_cache.get({key: pair}).get(key)
        report = known
        if report is None:
            report = halldetect_detector.check(source, response, question=question)
        if known is None:
            _halldetect_cache.put({key: report})
        if threshold is None:
            threshold = request.config.getoption("--halldetect-threshold")
        report = report if threshold is None else report.rethreshold(threshold)
        request.node.user_properties += [
            ("halldetect_verdict", report.verdict.value),
            ("halldetect_score", "" if report.score is None else f"{report.score:.6f}"),
            ("halldetect_cached", str(known is not None).lower()),
        ]
        if not report.ok:
            raise AssertionError(str(report))
        return report

    return check
