"""The pytest plug-in: tests that fail if an answer is not backed by its source.

    def test_answer(grounded):
        grounded(answer, source)

The fixture and `assert_grounded` raise AssertionError for a response that is not faithful or
could not be checked, with the claims and passages in the message, and return the report
otherwise. Verdicts are cached between runs; the command line options are in `pytest --help`.
pytest loads this module in every run of an environment that has halldetect, so it imports
nothing heavy before the first check.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from halldetect.batch.cache import ReportCache
    from halldetect.detector import Detector
    from halldetect.inputs import Source
    from halldetect.report import Report

MARKER = "halldetect"
_SLOW_SECONDS = 10.0
_CACHE_FOLDER = "halldetect"
_CHECKS = "halldetect_checks"


class Grounded(Protocol):
    """The type of the fixture `grounded`."""

    def __call__(
        self,
        response: str,
        source: Source,
        *,
        question: str | None = None,
        threshold: float | None = None,
    ) -> Report:
        """Return the report of a faithful response; fail the test for any other."""
        ...


def assert_grounded(
    response: str,
    source: Source,
    *,
    question: str | None = None,
    threshold: float | None = None,
    detector: Detector | None = None,
) -> Report:
    """Raise AssertionError unless a response is backed by its source.

    Args:
        response: the text to check.
        source: the source of the response, as for `halldetect.check`.
        question: the question; an answer that refers to it is judged with it.
        threshold: a response is hallucinated from this score on; default: that of the detector.
        detector: the detector to use; the default one if None.
    """
    from halldetect.detector import default_detector

    __tracebackhide__ = True
    report = (detector or default_detector()).check(source, response, question=question)
    return _require_ok(report, threshold)


@dataclass
class _Check:
    """One call of the fixture, as plain values: a worker of xdist sends it to the controller."""

    report: dict[str, Any]
    seconds: float
    cached: bool


@dataclass
class _Run:
    """The findings of the run so far, by test."""

    checks: list[tuple[str, str, _Check]] = field(default_factory=list)

    def add(self, report: pytest.TestReport) -> None:
        """Add the checks of a test that ran here or in a worker."""
        for item in getattr(report, _CHECKS, ()):
            self.checks.append((report.nodeid, report.outcome, _Check(**item)))


_RUN = pytest.StashKey[_Run]()
_OF_TEST = pytest.StashKey[list[_Check]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plug-in."""
    group = parser.getgroup("halldetect", "checks of answers against their sources")
    group.addoption(
        "--halldetect-report",
        type=Path,
        metavar="DIR",
        help="write DIR/index.html with every check of the run",
    )
    group.addoption(
        "--halldetect-verifier", metavar="NAME", help="the verifier (see halldetect check --help)"
    )
    group.addoption(
        "--halldetect-threshold",
        type=float,
        metavar="T",
        help="fail at this score or above (default: 0.5)",
    )
    group.addoption(
        "--halldetect-no-cache", action="store_true", help="check again what did not change"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(threshold=0.5): checks answers against sources; the fixture `grounded` adds it",
    )
    config.stash[_RUN] = _Run()


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
    if store is None or pytestconfig.getoption("--halldetect-no-cache"):
        cache = ReportCache.disabled()
    else:
        cache = ReportCache(Path(store.mkdir(_CACHE_FOLDER)), run_settings(halldetect_detector))
    yield cache
    cache.close()


@pytest.fixture
def grounded(
    request: pytest.FixtureRequest, halldetect_detector: Detector, _halldetect_cache: ReportCache
) -> Grounded:
    """Checks a response against its source and fails the test unless it is faithful."""
    from halldetect.inputs import Pair

    marker = request.node.get_closest_marker(MARKER)
    if marker and marker.kwargs.keys() - {"threshold"}:
        raise pytest.UsageError(f"the marker {MARKER} takes threshold, not {marker.kwargs}")
    of_test = marker.kwargs.get("threshold") if marker else None
    if of_test is None:
        of_test = request.config.getoption("--halldetect-threshold")
    checks = request.node.stash.setdefault(_OF_TEST, [])

    def check(
        response: str,
        source: Source,
        *,
        question: str | None = None,
        threshold: float | None = None,
    ) -> Report:
        __tracebackhide__ = True
        started = perf_counter()
        pair = Pair(source, response, question)
        key = _halldetect_cache.key(pair)
        report = _halldetect_cache.get({key: pair}).get(key)
        cached = report is not None
        if report is None:
            report = halldetect_detector.check(source, response, question=question)
            _halldetect_cache.put({key: report})
        wanted = of_test if threshold is None else threshold
        if wanted is not None:
            report = report.rethreshold(wanted)
        checks.append(_Check(report.to_dict(), perf_counter() - started, cached))
        request.node.user_properties += [
            ("halldetect_verdict", report.verdict.value),
            ("halldetect_score", "" if report.score is None else f"{report.score:.6f}"),
        ]
        return _require_ok(report, None)

    return check


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Attach the checks of a test to its report, which xdist sends to the controller."""
    report = yield
    if report.when == "call" and item.stash.get(_OF_TEST, []):
        setattr(report, _CHECKS, [vars(check) for check in item.stash[_OF_TEST]])
    return report


class _Collector:
    """Gathers the checks of all tests; the hook of the module has no access to the config."""

    def __init__(self, run: _Run) -> None:
        self._run = run

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._run.add(report)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Gather checks in the process that shows the results."""
    if not hasattr(session.config, "workerinput"):
        collector = _Collector(session.config.stash[_RUN])
        session.config.pluginmanager.register(collector, "halldetect-collector")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the number and duration of the checks, and write the page."""
    checks = config.stash[_RUN].checks
    folder = config.getoption("--halldetect-report")
    if folder is not None:
        from halldetect.integrations.run_page import write_run_page

        rows = [(test, outcome, check.report) for test, outcome, check in checks]
        page = write_run_page(folder, rows)
        terminalreporter.write_line(f"halldetect: {page}")
    if not checks:
        return
    seconds = sum(check.seconds for _, _, check in checks)
    cached = sum(check.cached for _, _, check in checks)
    terminalreporter.write_line(
        f"halldetect: {len(checks)} checks in {seconds:.1f} s, {cached} of them from the cache"
    )
    test, _, slowest = max(checks, key=lambda item: item[2].seconds)
    if slowest.seconds > _SLOW_SECONDS:
        terminalreporter.write_line(
            f"halldetect: the slowest took {slowest.seconds:.1f} s, in {test}: use a faster "
            "verifier, a shorter source, or -m 'not halldetect' for quick runs",
            yellow=True,
        )


def _require_ok(report: Report, threshold: float | None) -> Report:
    __tracebackhide__ = True
    if threshold is not None:
        report = report.rethreshold(threshold)
    if not report.ok:
        raise AssertionError(str(report))
    return report
