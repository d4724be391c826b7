"""Findings by rule about judged claims: numbers, quotations, identifiers and wrong words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from halldetect.explanation.explain import Explained, Findings
from halldetect.findings.numbers import check_numbers
from halldetect.scoring import Calibration
from halldetect.verification.judging import Judgement


def check_facts(
    findings: Sequence[Findings],
    answer: Callable[..., list[list[Judgement]]],
    calibration: Calibration,
    progress: Callable[[int, int], None] | None = None,
) -> list[Explained]:
    """Compare the facts of all claims with their sources.

    Args:
        findings: The claims of each response.
        answer: Judges tasks; see `verification.judging.verify`.
        calibration: The parameters of the score.
        progress: Gets the tokens judged and expected.
    """
    return check_numbers(findings, answer, calibration, progress)
