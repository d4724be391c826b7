"""What the tests of known defects share: their mark, the shipped detector, short questions to it.

A test here states what a user expects. While it fails because of a defect it carries `defect`, with
the title of the issue that mends it; the mark is strict, so it goes when the defect goes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import cache
from types import FrameType
from typing import Any

import pytest

from halldetect import Detector
from halldetect.report import ClaimReport, Report


def defect(issue: str, *, raises: type[BaseException] = AssertionError) -> pytest.MarkDecorator:
    """Return the mark of a test that fails until an issue is closed."""
    return pytest.mark.xfail(strict=True, raises=raises, reason=f'issue "{issue}"')


@cache
def base() -> Detector:
    """Return the detector with the weights in the package."""
    return Detector("base")


def judged(source: Any, response: str, question: str | None = None) -> Report:
    """Return the report of one check with the shipped weights."""
    return base().check(source, response, question=question)


def only_claim(source: Any, response: str) -> ClaimReport:
    """Return the claim of a response that makes one."""
    (claim,) = judged(source, response).claims
    return claim


def passed(pairs: Iterable[tuple[Any, str]]) -> list[str]:
    """Return the responses that are judged faithful."""
    return [response for source, response in pairs if judged(source, response).ok]


def flagged(pairs: Iterable[tuple[Any, str]]) -> list[str]:
    """Return the responses that are not judged faithful."""
    return [response for source, response in pairs if not judged(source, response).ok]


def said(report: Report) -> str:
    """Return all that a report judges or lists as perhaps asserting."""
    parts = [claim.text for claim in report.claims] + [part.text for part in report.left_out]
    return "\n".join(parts)


def calls_of(work: Callable[[], object]) -> int:
    """Return the number of calls of functions, written in Python or C."""
    count = 0

    def notice(_: FrameType, event: str, __: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(notice)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count
