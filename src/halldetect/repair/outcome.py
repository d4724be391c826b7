"""The result of a repair: the new text, its report of a faithful text, and the changes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from halldetect.errors import CheckError, InputError, one_line
from halldetect.reading.document import Span
from halldetect.report import Evidence, Report, Verdict
from halldetect.report.json_form import plain

_REPORTS = ("report", "original")


class Outcome(StrEnum):
    """The outcomes of a repair."""

    UNCHANGED = "unchanged"
    REPAIRED = "repaired"
    FAILED = "failed"


class Action(StrEnum):
    """The treatments of a sentence."""

    KEPT = "kept"
    CHANGED = "changed"
    REMOVED = "removed"


class Method(StrEnum):
    """The ways to change a sentence."""

    REPLACE = "replace"  # by words of the source
    SHORTEN = "shorten"


@dataclass(frozen=True, slots=True)
class Change:
    """One sentence of the original and its treatment.

    `after`, and its place `new_span` in the new text, are None if it was removed. `why` is the
    reason for a change or removal, `evidence` the decisive passage of the source. `lost` has the
    supported claims of the original that the new sentence lacks.
    """

    action: Action
    before: str
    after: str | None
    span: Span
    new_span: Span | None
    method: Method | None = None
    why: str | None = None
    evidence: Evidence | None = None
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Repair:
    """The outcome of a repair.

    A text always comes with a report that calls it faithful and all its claims supported (see
    `is_mended`); the constructor rejects anything else. A failed repair has a `reason` and neither
    text nor report nor changes. `changes` has one item per sentence of the response, in order.
    """

    outcome: Outcome
    text: str | None
    reason: str | None
    report: Report | None
    original: Report
    changes: tuple[Change, ...]
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if self.outcome is Outcome.FAILED:
            if self.text is not None or self.report is not None or not self.reason:
                raise CheckError("a failed repair has a reason and no text")
        elif self.text is None or not is_mended(self.report, self.text):
            raise CheckError("the text of a repair must have passed the check")

    def to_dict(self) -> dict[str, Any]:
        """Return the repair in plain dicts, lists and strings, as in its JSON form."""
        return dict(plain(self))

    @classmethod
    def from_dict(cls, data: Any) -> Repair:
        """Return the repair of plain JSON values, as returned by `to_dict`.

        Raises InputError for other values, and CheckError for a text that has not passed.
        """
        from pydantic import TypeAdapter

        try:
            read = {name: data[name] and Report.from_dict(data[name]) for name in _REPORTS}
            return TypeAdapter(cls).validate_python({**data, **read})
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"not a halldetect repair: {one_line(error)}") from None

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return the repair as JSON; `indent` as for `json.dumps`."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent, allow_nan=False)


def is_mended(report: Report | None, text: str) -> bool:
    """Return True if a report belongs to a text, calls it faithful, and every claim passes."""
    return (
        report is not None
        and report.response == text
        and report.verdict is Verdict.FAITHFUL
        and bool(report.claims)
        and all(map(report.passes, report.claims))
    )
