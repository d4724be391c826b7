"""One HTML page for a run of tests: every check with its verdict, claims and passages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halldetect.errors import InputError
from halldetect.render.passages import Passages
from halldetect.render.phrases import VERDICT_SYMBOL, numbered, summary, visible
from halldetect.render.short import claim_line
from halldetect.report import Report

if TYPE_CHECKING:
    from jinja2 import Template

_PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>HallDetect: checks of a test run</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
    color: #1b1b1b; background: #fff; }
  summary { padding: .5rem; cursor: pointer; overflow-wrap: anywhere; }
  details { border: 1px solid #ccc; border-radius: 6px; margin: .5rem 0; }
  ul { margin: 0 1rem 1rem; padding-left: 1rem; }
  .hallucinated > summary { border-left: 6px solid #b3261e; }
  .uncheckable > summary, .abstained > summary { border-left: 6px solid #7b3fa0; }
  .faithful > summary { border-left: 6px solid #1e7a34; }
  @media (prefers-color-scheme: dark) {
    body { color: #eee; background: #161616; }
    details { border-color: #555; }
  }
</style>
<h1>Checks of a test run</h1>
<p>{{ rows | length }} checks: {{ counts }}.</p>
{% for row in rows %}
<details class="{{ row.verdict }}"{% if row.verdict != "faithful" %} open{% endif %}>
<summary>{{ row.symbol }} {{ row.test }} ({{ row.outcome }}): {{ row.verdict }}.
{{ row.summary }}</summary>
<ul>{% for line in row.claims %}<li>{{ line }}</li>{% endfor %}</ul>
</details>
{% endfor %}
</html>
"""


@cache
def _template() -> Template:
    from jinja2 import Environment

    return Environment(autoescape=True, trim_blocks=True).from_string(_PAGE)


def write_run_page(folder: Path, checks: Sequence[tuple[str, str, dict[str, Any]]]) -> Path:
    """Write `index.html`, which loads nothing and runs no script; its path is the result.

    Args:
        folder: is made if need be.
        checks: of each check the test, its outcome, and the report as plain values.

    Raises:
        InputError: where the page cannot be written.
    """
    rows = [_row(test, outcome, Report.from_dict(data)) for test, outcome, data in checks]
    verdicts = [row["verdict"] for row in rows]
    kinds = ("hallucinated", "uncheckable", "abstained", "faithful")
    counts = ", ".join(f"{verdicts.count(kind)} {kind}" for kind in kinds)
    path = folder / "index.html"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(_template().render(rows=rows, counts=counts), encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror}") from error
    return path


def _row(test: str, outcome: str, report: Report) -> dict[str, Any]:
    passages = Passages(report)
    return {
        "test": visible(test),
        "outcome": outcome,
        "verdict": report.verdict.value,
        "symbol": VERDICT_SYMBOL[report.verdict],
        "summary": summary(report),
        "claims": [claim_line(report, claim, passages) for _, claim in numbered(report)],
    }
