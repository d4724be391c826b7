"""The ledger of commands, options, routes, names and fields is true, and nothing goes unsaid."""

from __future__ import annotations

import pytest

from tests.support import ledger


def test_ledger_matches_code() -> None:
    """Run `python -m tests.support.ledger` after a change of the interface."""
    assert ledger.FILE.read_text("utf-8").splitlines() == ledger.ledger()


def test_changelog_names_everything_removed() -> None:
    assert ledger.missing() == []


@pytest.mark.parametrize(
    ("line", "words", "named"),
    [
        ("option check --exact", {"--exact"}, True),
        ("option check --exact", {"--exactly"}, False),
        ("option check --exact", {"check"}, False),
        ("option index build --size", {"index build"}, True),
        ("route GET /v1/reports/{id}.pdf", {"/v1/reports/{id}.pdf"}, True),
        ("route GET /v1/reports/{id}.pdf", {"/v1/reports"}, False),
        ("name halldetect.client.Client.check", {"halldetect.client"}, True),
        ("name halldetect.Report.scoring", {"Report.scoring"}, True),
        ("name halldetect.Report.scoring", {"Report"}, False),
        ("field PartReport.text", {"PartReport"}, True),
        ("field ClaimReport.by_scale", {"by_scale"}, True),
        ("extra opensearch", {"halldetect[opensearch]"}, True),
    ],
)
def test_removed_line_is_found_in_changelog(line: str, words: set[str], named: bool) -> None:
    kept = ["option check --source", "name halldetect.Report.score", "field ClaimReport.text"]
    assert ledger.is_named(line, words, kept) is named


def test_only_removed_sections_count() -> None:
    text = (
        "## 0.2\n\n### Added\n- `--new`\n\n"
        "### Removed\n- `check --old`, `Report.x`\n\n## 0.1\n- `--no`\n"
    )
    assert ledger.removed(text) == {"check --old", "--old", "Report.x"}
