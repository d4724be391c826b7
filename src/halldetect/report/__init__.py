"""The report of a check: its values, and how it is shown, stored and decided again."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from html import escape
from importlib import import_module
from typing import Any, cast

from halldetect.errors import InputError
from halldetect.report.json_form import json_text, plain, read_report
from halldetect.report.short_text import short
from halldetect.report.values import DECIMALS as DECIMALS
from halldetect.report.values import OPTIONAL as OPTIONAL
from halldetect.report.values import SCHEMA_VERSION as SCHEMA_VERSION
from halldetect.report.values import CitationReport as CitationReport
from halldetect.report.values import CitationScores as CitationScores
from halldetect.report.values import ClaimReport as ClaimReport
from halldetect.report.values import Contents
from halldetect.report.values import Cost as Cost
from halldetect.report.values import Dispute as Dispute
from halldetect.report.values import ErrorKind as ErrorKind
from halldetect.report.values import ErrorReport as ErrorReport
from halldetect.report.values import Evidence as Evidence
from halldetect.report.values import MessageReport as MessageReport
from halldetect.report.values import Probabilities as Probabilities
from halldetect.report.values import Provenance as Provenance
from halldetect.report.values import QuotationReport as QuotationReport
from halldetect.report.values import QuotationState as QuotationState
from halldetect.report.values import Status as Status
from halldetect.report.values import Verdict as Verdict
from halldetect.report.values import WrongWords as WrongWords
from halldetect.report.values import decide as decide
from halldetect.report.values import not_checked as not_checked
from halldetect.report.values import rounded as rounded


@dataclass(frozen=True, slots=True)
class Report(Contents):
    """The outcome of one check: what was found, as text and as JSON."""

    def __str__(self) -> str:
        """Return the verdict and each claim that is not supported, with its passage."""
        return short(self)

    def _repr_html_(self) -> str:
        """Return the page of the report in a frame of its own, for notebooks."""
        render = import_module("halldetect.render")  # by name: a report imports no view
        style = "width: 100%; height: 32em; border: 0"
        return (
            f'<iframe title="HallDetect report" sandbox="allow-scripts" style="{style}" '
            f'srcdoc="{escape(render.html(self))}"></iframe>'
        )

    def rethreshold(self, threshold: float) -> Report:
        """Return the same findings cut at another threshold; no model runs.

        The states of the claims stay. A claim that was settled early may have more support than
        the report says, never less.
        """
        is_number = isinstance(threshold, (int, float)) and not isinstance(threshold, bool)
        if not (is_number and 0.0 <= threshold <= 1.0):
            raise InputError(f"threshold must lie between 0 and 1, not {threshold!r}")
        configuration = {**self.provenance.configuration, "threshold": threshold}
        provenance = replace(self.provenance, configuration=configuration)
        report = replace(self, threshold=threshold, provenance=provenance)
        return report if self.score is None else decided_again(report)

    def noting(self, *notes: str) -> Report:
        """Return the report with further notes on how it was made."""
        provenance = replace(self.provenance, notes=(*self.provenance.notes, *notes))
        return replace(self, provenance=provenance)

    def to_dict(self) -> dict[str, Any]:
        """Return the report in plain dicts, lists and strings, as in its JSON form."""
        return cast(dict[str, Any], plain(self))

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return the report as JSON; `indent` as for `json.dumps`."""
        return json_text(self.to_dict(), indent=indent)

    @classmethod
    def from_json(cls, text: str) -> Report:
        """Return the report of a JSON text that `to_json` wrote; else raise InputError."""
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"not a halldetect report: {error}") from error
        return cls.from_dict(data)

    @classmethod
    def from_dict(cls, data: Any) -> Report:
        """Return the report of plain JSON values that `to_dict` gave; else raise InputError."""
        return cast(Report, read_report(cls, data))


def decided_again(report: Report) -> Report:
    """Return the report with the verdict that follows from its score and claims."""
    strict = report.provenance.configuration.get("on_unchecked") == "fail"
    left_out = report.left_out if strict else ()
    verdict, reason = decide(report.score, report.claims, report.threshold, left_out)
    return replace(report, verdict=verdict, reason=reason)
