"""A comparison of two responses as terminal text, as one HTML page and as data for the page."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from halldetect.render.html import claim_row
from halldetect.render.html_page import asset, html_page, shared_style
from halldetect.render.passages import Passages
from halldetect.render.phrases import (
    STATE_SYMBOL,
    VERDICT_SYMBOL,
    one_line,
    score_line,
    summary,
)
from halldetect.render.terminal import STYLE, new_console, print_line, printed, wants_color
from halldetect.report import Report
from halldetect.report.comparison import ClaimPair, Comparison, Relation

if TYPE_CHECKING:
    from rich.text import Text

COMPARISON_STYLE = "comparison.css"
# Differences come first.
RELATION_TEXT = {
    Relation.DIFFERENT: "They say different things, or use different words",
    Relation.ONLY_A: "Only in A",
    Relation.ONLY_B: "Only in B",
    Relation.SAME: "Both say the same",
}


def comparison_view(comparison: Comparison) -> dict[str, Any]:
    """Return the data of a page: two heads, and the claims in rows of two."""
    a, b = comparison.a, comparison.b
    passages = Passages(a)

    def cell(report: Report, at: int | None) -> dict[str, Any] | None:
        return None if at is None else claim_row(report, passages, at + 1, report.claims[at])

    return {
        "better": comparison.better,
        "headline": headline(comparison),
        "sides": [
            {
                "name": name,
                "verdict": str(report.verdict),
                "symbol": VERDICT_SYMBOL[report.verdict],
                "summary": summary(report),
                "score_line": score_line(report),
                "response": report.response,
            }
            for name, report in (("A", a), ("B", b))
        ],
        "groups": [
            {
                "relation": str(relation),
                "text": text,
                "rows": [[cell(a, pair.a), cell(b, pair.b)] for pair in pairs],
            }
            for relation, text, pairs in _groups(comparison)
        ],
    }


def _groups(comparison: Comparison) -> list[tuple[Relation, str, list[ClaimPair]]]:
    groups = []
    for relation, text in RELATION_TEXT.items():
        if pairs := [pair for pair in comparison.pairs if pair.relation is relation]:
            groups.append((relation, text, pairs))
    return groups


def headline(comparison: Comparison) -> str:
    """Return which response is better, and how many claims differ, in one sentence."""
    counts = Counter(pair.relation for pair in comparison.pairs)
    differ = len(comparison.pairs) - counts[Relation.SAME]
    which = {"a": "The source backs A better", "b": "The source backs B better"}
    first = which.get(comparison.better or "", "The source backs both equally well")
    noun = "claim differs" if differ == 1 else "claims differ"
    return f"{first}; {differ} {noun}."


def comparison_html(comparison: Comparison) -> str:
    """Return a comparison as one HTML page that loads nothing and runs no script."""
    return html_page(
        "halldetect.render",
        "comparison.html.jinja",
        title="Comparison of two responses: HallDetect",
        style=shared_style() + asset(COMPARISON_STYLE),
        view=comparison_view(comparison),
    )


def comparison_terminal(
    comparison: Comparison, *, width: int | None = None, color: bool | None = None
) -> str:
    """Return a comparison as text for a terminal.

    Args:
        comparison: the comparison.
        width: columns; None takes those of the terminal, up to 100.
        color: whether to use colours; None as for a report.
    """
    from rich.table import Table
    from rich.text import Text

    console = new_console(width, wants_color() if color is None else color)
    print_line(console, headline(comparison), "bold")
    for name, report in (("A", comparison.a), ("B", comparison.b)):
        line = Text(f"{name}  ")
        line.append(
            f"{VERDICT_SYMBOL[report.verdict]} {report.verdict.upper()}", STYLE[report.verdict]
        )
        line.append(f"  {score_line(report)}. {one_line(summary(report))}")
        console.print(line)
    for _, text, pairs in _groups(comparison):
        console.print()
        print_line(console, text, "bold")
        table = Table.grid(padding=(0, 2, 1, 0), expand=True)
        table.add_column(ratio=1)
        table.add_column(ratio=1)
        for pair in pairs:
            table.add_row(_cell(comparison.a, pair.a), _cell(comparison.b, pair.b))
        console.print(table)
    return printed(console)


def _cell(report: Report, at: int | None) -> Text:
    from rich.text import Text

    if at is None:
        return Text("–", style="dim")
    claim = report.claims[at]
    text = Text(f"{STATE_SYMBOL[claim.status]} {claim.status}", style=STYLE[claim.status])
    text.append(f"\n{at + 1}. {one_line(claim.text)}", style="not bold default")
    return text
