"""Settings for every test: no time limit per example, since the machine may be busy.

With HALLDETECT_NO_SKIP=1, where all that the tests need should be installed, a test that is
skipped has failed, unless its reason lies in the machine.
"""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Without bytecode every process that a test starts compiles all libraries again. Where none may
# be written beside the sources, as in many containers, the processes share it in the cache.
if sys.dont_write_bytecode and "PYTHONPYCACHEPREFIX" not in os.environ:
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(Path(__file__).parents[1] / ".pytest_cache" / "bytecode")
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

settings.register_profile("halldetect", deadline=None, max_examples=50)
# In CI the same examples every time: a change is not held up by what it did not break.
settings.register_profile("ci", deadline=None, derandomize=True, max_examples=50)
# For `python -m tests.mutation`, which runs the tests once for every mutant.
settings.register_profile("mutation", deadline=None, derandomize=True, max_examples=20)
settings.load_profile("ci" if "CI" in os.environ else "halldetect")

NO_SKIP = os.environ.get("HALLDETECT_NO_SKIP") == "1"
# What nobody can install: another user, another platform, hardware, data that is not ours.
OF_THE_MACHINE = (
    "permissions do not bind root",
    "no GPU",
    "no full device here",
    "signals as on a terminal",
    "sends a POSIX signal",
    "forks and signals",
    "needs kill -9",
    "paths of other platforms, written as here",
    "the datasets are not on this machine",
)


@pytest.fixture(autouse=True, scope="session")
def _interrupts_reach_children() -> Iterator[None]:
    """A shell has its background jobs ignore Ctrl-C, and all their children after them."""
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if ignored:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    if ignored:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


_MODULE_MARK = re.compile(r"^pytestmark = \[?\s*pytest\.mark\.(\w+)", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out modules whose every test is deselected: some import torch, which takes seconds."""
    wanted = config.option.markexpr
    if collection_path.suffix != ".py" or " or " in wanted:
        return None
    mark = _MODULE_MARK.search(collection_path.read_text(encoding="utf-8"))
    return True if mark and mark[1] in re.findall(r"\bnot (\w+)", wanted) else None


def pytest_collection_finish() -> None:
    """Keep thousands of tests and their modules out of every later garbage collection."""
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each process a half in one piece: it starts the services of a module only once."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.option.dist == "load" else None


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if not (NO_SKIP and report.skipped) or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    reason = reason.removeprefix("Skipped: ")
    if reason not in OF_THE_MACHINE:
        report.outcome = "failed"
        report.longrepr = f"skipped, and HALLDETECT_NO_SKIP is set: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    report = yield
    _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    report = yield
    _refuse_skip(report)
    return report
