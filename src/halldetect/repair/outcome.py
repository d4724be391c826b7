"""The result of a repair: the new text, the report that calls it faithful, the changes."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from halldetect.config import DEFAULT_THRESHOLD
from halldetect.errors import CheckError, InputError
from halldetect.reading.document import Span
from halldetect.report import ClaimReport, Evidence, Report, Status, Verdict


class Outcome(StrEnum):
    """The ways in which a repair ends."""

    UNCHANGED = "unchanged"
    REPAIRED = "repaired"
    FAILED = "failed"


class Action(StrEnum):
    """The ways in which a repair treats a sentence."""

    KEPT = "kept"
    CHANGED = "changed"
    REMOVED = "removed"


class Method(StrEnum):
    """The ways to change a sentence.

    REPLACE  some of its words were replaced by words of the source
    REWRITE  a language model wrote it again
    SHORTEN  a part of it was left out
    NAME     a name was put for a pronoun whose sentence was removed
    """

    REPLACE = "replace"
    REWRITE = "rewrite"
    SHORTEN = "shorten"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Change:
    """One sentence of the original and its treatment.

    action    kept, changed or removed
    before    the sentence in the original
    after     the sentence in the new text; None if it was removed
    span      its place in the original
    new_span  its place in the new text; None if it was removed
    method    of the change; None if it was not changed
    why       the reason of a change or removal; None if it was kept
    evidence  the passage of the source that decided; None if there is none
    lost      supported claims of the original that the new sentence lacks
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

    A text always comes with a report that calls this text faithful and all its claims supported
    (see `passes`); anything else cannot be constructed.

    outcome   unchanged (it was faithful), repaired, or failed
    text      the new text; None if the repair failed
    reason    why it failed
    report    of the new text; None if the repair failed
    original  the report of the response as it was
    changes   one per sentence of the response, in order; empty if the repair failed
    rewriter  the description of the language model; None if none was used
    seconds   that the repair took
    """

    outcome: Outcome
    text: str | None
    reason: str | None
    report: Report | None
    original: Report
    changes: tuple[Change, ...]
    rewriter: dict[str, Any] | None = None
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if self.outcome is Outcome.FAILED:
            if self.text is not None or self.report is not None or not self.reason:
                raise CheckError("a failed repair has a reason and no text")
        elif self.text is None or not is_mended(self.report, self.text):
            raise CheckError("the text of a repair must have passed the check")

    def to_dict(self) -> dict[str, Any]:
        """Return the repair in plain dicts, lists and strings, as in its JSON form."""
        return {
            "outcome": str(self.outcome),
            "text": self.text,
            "reason": self.reason,
            "changes": [_plain_change(change) for change in self.changes],
            "report": None if self.report is None else self.report.to_dict(),
            "original": self.original.to_dict(),
            "rewriter": self.rewriter,
            "seconds": self.seconds,
        }

    @classmethod
    def from_dict(cls, data: Any) -> Repair:
        """Return the repair of plain JSON values, as `to_dict` gives them.

        data  the values
        Raises InputError for anything else, CheckError for a text that has not passed the check.
        """
        from pydantic import TypeAdapter, ValidationError

        try:
            report = data["report"]
            return cls(
                outcome=Outcome(data["outcome"]),
                text=data["text"],
                reason=data["reason"],
                report=None if report is None else Report.from_dict(report),
                original=Report.from_dict(data["original"]),
                changes=TypeAdapter(tuple[Change, ...]).validate_python(data["changes"]),
                rewriter=data["rewriter"],
                seconds=data["seconds"],
            )
        except (KeyError, TypeError, ValueError, ValidationError) as error:
            raise InputError(f"not a halldetect repair: {' '.join(str(error).split())}") from None

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return the repair as JSON; `indent` as for `json.dumps`."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent, allow_nan=False)


def is_mended(report: Report | None, text: str) -> bool:
    """Return True if a report is of this text, calls it faithful, and every claim passes."""
    return (
        report is not None
        and report.response == text
        and report.verdict is Verdict.FAITHFUL
        and bool(report.claims)
        and all(passes(claim, report) for claim in report.claims)
    )


def passes(claim: ClaimReport, report: Report) -> bool:
    """Return True if a claim may stay in a text that is passed on.

    A supported claim may. A threshold above the default asks for few false alarms: then a claim
    whose own score is below the threshold may stay as well.

    claim   of the report
    report  whose threshold counts
    """
    if claim.status is Status.SUPPORTED:
        return True
    if report.threshold <= DEFAULT_THRESHOLD:
        return False
    return claim.support is not None and 1.0 - claim.support < report.threshold


def _plain_change(change: Change) -> dict[str, Any]:
    plain = asdict(change)
    return {**plain, "lost": list(change.lost)}
