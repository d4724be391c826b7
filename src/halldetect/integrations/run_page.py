"""One HTML page for a run of tests: every check with its verdict, claims and passages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from halldetect.errors import InputError
from halldetect.render.html_page import html_page, shared_style
from halldetect.render.passages import Passages
from halldetect.render.phrases import VERDICT_SYMBOL, numbered, summary
from halldetect.render.short import claim_line
from halldetect.report import Report


def write_run_page(folder: Path, checks: Sequence[tuple[str, str, dict[str, Any]]]) -> Path:
    """Write `index.html`, which loads nothing and runs no script, and return its path.

    Args:
        folder: the folder of the page; created if missing.
        checks: the test of each check, its outcome, and the report as plain values.

    Raises:
        InputError: if the page cannot be written.
    """
    rows = [_row(test, outcome, Report.from_dict(data)) for test, outcome, data in checks]
    verdicts = [row["verdict"] for row in rows]
    kinds = ("hallucinated", "uncheckable", "abstained", "faithful")
    counts = ", ".join(f"{verdicts.count(kind)} {kind}" for kind in kinds)
    path = folder / "index.html"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        page = html_page(
            "halldetect.render",
            "run.html.jinja",
            title="HallDetect: checks of a test run",
            style=shared_style(),
            rows=rows,
            counts=counts,
        )
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror}") from error
    return path


def _row(test: str, outcome: str, report: Report) -> dict[str, Any]:
    passages = Passages(report)
    return {
        "test": test,
        "outcome": outcome,
        "verdict": report.verdict.value,
        "symbol": VERDICT_SYMBOL[report.verdict],
        "summary": summary(report),
        "claims": [claim_line(report, claim, passages) for _, claim in numbered(report)],
    }
