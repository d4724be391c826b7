"""Wrong words of a claim: their places in the response, and what they do to its support."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from halldetect.reading.document import Span
from halldetect.report import ClaimReport, WrongWords, rounded
from halldetect.scoring import Calibration

# A claim with more support than this keeps it, unless a rule needs no verifier.
SURE = 0.975


def located(
    response: str, within: Span | None, kind: str, words: str, source_words: str = ""
) -> WrongWords:
    """Return words of a claim with their place in the response.

    Args:
        response: The text of the response.
        within: The place of the claim; None if unknown.
        kind: The kind of error.
        words: The words of the claim.
        source_words: What the source has instead.
    """
    span = None
    if within is not None and words.strip():
        # The response may have other white space and mark-up between the words.
        pattern = r"[\s*_`]+".join(map(re.escape, words.split()))
        found = re.search(pattern, within.cut(response), re.IGNORECASE)
        if found is not None:
            span = Span(within.start + found.start(), within.start + found.end())
    return WrongWords(kind, words, source_words, span)


def lowered(
    report: ClaimReport, wrong: Sequence[WrongWords], calibration: Calibration, *, certain: bool
) -> ClaimReport:
    """Return a claim with wrong words: its support is halved, unless the verifier is sure.

    Args:
        report: The claim as judged.
        wrong: The words that a rule found.
        calibration: The parameters of the score.
        certain: True if the rule decides without the verifier.
    """
    support = report.support
    if not wrong or support is None or (support > SURE and not (certain or report.failing)):
        return report
    marked = replace(report, wrong=(*report.wrong, *wrong))
    if report.failing:
        return marked
    halved = rounded(support / 2)
    status = calibration.status(halved, report.contradiction or 0.0)
    return replace(marked, support=halved, status=status)
