"""The shared part of all adapters: one detector for many callers, and the forms of a report.

Frameworks expect higher scores for better texts, so `faithfulness` is 1 minus the score of the
report. It is None for an uncheckable report, which an adapter reports as "not scored", never as a
pass. The argument `detector` of an adapter is the detector to use; None: the default one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from typing import Any

from halldetect.detector import Detector, default_detector
from halldetect.errors import ConfigurationError, HallDetectError, name_advice
from halldetect.inputs import TEXT_NAMES, SourceDocument
from halldetect.report import Report, Verdict
from halldetect.report.json_form import plain
from halldetect.report.passages import Passages

REPLACEMENT = "I could not find a reliable answer in the documents."
SOURCE_NAMES = ("context", "contexts", "retrieved_contexts", "source", "sources", "documents")
_MAX_PASSAGE = 600


class UncheckableError(HallDetectError):
    """Raised for a response that could not be checked."""


class UngroundedError(HallDetectError):
    """Raised for a response that its source does not back; `report` says why."""

    def __init__(self, report: Report) -> None:
        super().__init__(str(report))
        self.report = report


class Checker:
    """A detector that threads and coroutines may share; it runs one check at a time."""

    def __init__(self, detector: Detector | None = None) -> None:
        self._detector = detector
        self.lock = Lock()

    @property
    def detector(self) -> Detector:
        """Return the detector that checks."""
        return self._detector or default_detector()

    def check(self, source: object, response: object, question: object = None) -> Report:
        """Check one response; without one it is uncheckable. `source` is as for `documents`."""
        asked = question if isinstance(question, str) else None
        text = "" if response is None else str(response)
        with self.lock:
            return self.detector.check(documents(source), text, question=asked)

    def check_answer(self, messages: Sequence[Any], context: object = None) -> Report:
        """Check the last message of a conversation against `context` and all that came before."""
        with self.lock:
            found = self.detector.check_conversation(
                messages, documents=documents(context), start=len(messages) - 1
            )
            return found.turns[-1].report if found.turns else self.detector.check("", "")

    async def check_async(
        self, source: object, response: object, question: object = None
    ) -> Report:
        """Check one response in a thread, without blocking the event loop."""
        return await asyncio.to_thread(self.check, source, response, question)


def documents(source: object) -> list[SourceDocument]:
    """Return the documents in the context of a framework.

    That is a document as `halldetect.Pair` takes it, several of these, or None.
    """
    if source is None:
        return []
    if isinstance(source, str):
        return [source]
    if isinstance(source, Mapping):
        given = [source[name] for name in TEXT_NAMES if source.get(name) is not None]
        if not any(isinstance(text, str) for text in given):  # a message has a list of parts
            return documents(given[0] if given else None)
        name = source.get("id")
        return [source if name is None else {**source, "id": str(name)}]
    if any(isinstance(getattr(source, name, None), str) for name in TEXT_NAMES):
        return [source]  # type: ignore[list-item]
    if isinstance(source, Iterable):
        return [document for item in source for document in documents(item)]
    return [str(source)]


def first_of(values: object, names: Iterable[str]) -> Any:
    """Return the first of some values of a mapping that is not empty; None without one."""
    if not isinstance(values, Mapping):
        return None
    return next((values[name] for name in names if values.get(name)), None)


def faithfulness(report: Report) -> float | None:
    """Return the faithfulness of the response from 0 to 1; None if it could not be checked."""
    if report.verdict not in (Verdict.FAITHFUL, Verdict.HALLUCINATED) or report.score is None:
        return None
    return round(1.0 - report.score, 6)


def failure(report: Report) -> HallDetectError:
    """Return the error for a report that is not ok: UncheckableError if it has no score."""
    return (
        UncheckableError(str(report)) if faithfulness(report) is None else UngroundedError(report)
    )


def one_of(name: str, value: object, allowed: tuple[str, ...]) -> str:
    """Return the value of an argument; raise ConfigurationError unless it is allowed.

    A misspelt guard must not pass texts.
    """
    if isinstance(value, str) and value in allowed:
        return value
    raise ConfigurationError(f"{name} cannot be {value!r}: {name_advice(str(value), allowed)}")


def metadata(report: Report) -> dict[str, Any]:
    """Return the verdict, the score and the claims of a report as plain JSON values."""
    passages = Passages(report)
    return {
        "verdict": report.verdict.value,
        "score": report.score,
        "reason": report.reason,
        "claims": [
            {
                "text": claim.text,
                "status": claim.status.value,
                "support": claim.support,
                "span": None if claim.span is None else [claim.span.start, claim.span.end],
                "passage": passages.show(0, claim, _MAX_PASSAGE).quote or None,
                "wrong": plain(claim.wrong),
            }
            for claim in report.claims
        ],
    }
