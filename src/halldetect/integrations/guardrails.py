"""A Guardrails validator: `Guard().use(Grounded(on_fail="fix"))`."""

from __future__ import annotations

from typing import Any

from guardrails.types.on_fail import OnFailAction
from guardrails.validator_base import (
    ErrorSpan,
    FailResult,
    PassResult,
    ValidationResult,
    Validator,
    register_validator,
)

from halldetect.detector import Detector
from halldetect.errors import ConfigurationError
from halldetect.integrations.checker import Checker, documents, one_of
from halldetect.report import Report, Status
from halldetect.report.phrases import wrong_line
from halldetect.report.short_text import claim_line


@register_validator(name="halldetect/grounded", data_type="string")
class Grounded(Validator):
    """Passes texts that are faithful to `metadata["sources"]`.

    A failure has a span for each claim that is not supported, and for its wrong words. Its
    `fix_value` is the text with those claims corrected or removed (`Detector.repair`), if possible.
    A text that could not be checked fails, without a `fix_value`. `on_fail` is the action of
    Guardrails on a failure.
    """

    required_metadata_keys = ["sources"]  # noqa: RUF012 - as the base class declares it

    def __init__(self, on_fail: Any = None, detector: Detector | None = None) -> None:
        if on_fail is not None and not callable(on_fail):
            action = str(getattr(on_fail, "value", on_fail)).lower()
            one_of("on_fail", action, tuple(known.value for known in OnFailAction))
        super().__init__(on_fail=on_fail)
        self._checker = Checker(detector)

    def _validate(self, value: Any, metadata: dict[str, Any]) -> ValidationResult:
        report = self._checker.check(metadata.get("sources"), value, metadata.get("question"))
        if report.ok:
            return PassResult()
        wrong = [claim for claim in report.claims if claim.status is not Status.SUPPORTED]
        found = [(claim.span, claim_line(report, claim)) for claim in wrong]
        found += [(word.span, wrong_line(word)) for claim in wrong for word in claim.wrong]
        spans = [
            ErrorSpan(start=span.start, end=span.end, reason=reason)
            for span, reason in found
            if span is not None
        ]
        return FailResult(
            error_message=str(report), fix_value=self._fixed(report), error_spans=spans
        )

    def _fixed(self, report: Report) -> str | None:
        if report.score is None:
            return None
        source = documents(report.documents)
        try:
            return self._checker.detector.repair(source, report.response).text
        except ConfigurationError:  # the paper's method cannot repair
            return None
