"""A comparison of two responses as terminal text, as one HTML page and as data for the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halldetect.render.html import MAX_QUOTE
from halldetect.render.html_page import plain_page
from halldetect.render.terminal import STYLE, new_console, printed
from halldetect.report import Report
from halldetect.report.comparison import Comparison, Relation
from halldetect.report.passages import Passages, ShownClaim
from halldetect.report.phrases import STATE_SYMBOL, VERDICT_SYMBOL, one_line, score_line, summary

if TYPE_CHECKING:
    from rich.text import Text

# Differences come first.
RELATION_TEXT = {
    Relation.DIFFERENT: "They say different things, or use different words",
    Relation.ONLY_A: "Only in A",
    Relation.ONLY_B: "Only in B",
    Relation.SAME: "Both say the same",
}


def comparison_view(comparison: Comparison) -> dict[str, Any]:
    """Return the data of a page: a headline, two reports, and the claims in rows of two."""
    a, b = comparison.a, comparison.b
    passages = Passages(a)

    def cell(report: Report, at: int | None) -> ShownClaim | None:
        return None if at is None else passages.show(at + 1, report.claims[at], MAX_QUOTE)

    groups = []
    for relation, text in RELATION_TEXT.items():
        pairs = [pair for pair in comparison.pairs if pair.relation is relation]
        if pairs:
            groups.append((text, [(cell(a, pair.a), cell(b, pair.b)) for pair in pairs]))
    return {"headline": headline(comparison), "sides": [("A", a), ("B", b)], "groups": groups}


def headline(comparison: Comparison) -> str:
    """Return which response is better, and how many claims differ, in one sentence."""
    differ = sum(pair.relation is not Relation.SAME for pair in comparison.pairs)
    which = {"a": "The source backs A better", "b": "The source backs B better"}
    first = which.get(comparison.better or "", "The source backs both equally well")
    noun = "claim differs" if differ == 1 else "claims differ"
    return f"{first}; {differ} {noun}."


def comparison_html(comparison: Comparison) -> str:
    """Return a comparison as one HTML page that loads nothing and runs no script."""
    title = "Comparison of two responses: HallDetect"
    return plain_page("comparison", title, **comparison_view(comparison))


def comparison_terminal(
    comparison: Comparison, *, width: int | None = None, color: bool | None = None
) -> str:
    """Return a comparison as text for a terminal; `width` and `color` as for a report."""
    from rich.table import Table
    from rich.text import Text

    view = comparison_view(comparison)
    console = new_console(width, color)
    console.print(view["headline"], style="bold")
    for name, report in view["sides"]:
        line = Text(f"{name}  ")
        state = f"{VERDICT_SYMBOL[report.verdict]} {report.verdict.upper()}"
        line.append(state, STYLE[report.verdict])
        line.append(f"  {score_line(report)}. {summary(report)}")
        console.print(line)
    for text, rows in view["groups"]:
        console.print()
        console.print(text, style="bold")
        table = Table.grid(padding=(0, 2, 1, 0), expand=True)
        table.add_column(ratio=1)
        table.add_column(ratio=1)
        for row in rows:
            table.add_row(*map(_cell, row))
        console.print(table)
    return printed(console)


def _cell(item: ShownClaim | None) -> Text:
    from rich.text import Text

    if item is None:
        return Text("–", style="dim")
    status = item.claim.status
    text = Text(f"{STATE_SYMBOL[status]} {status}", style=STYLE[status])
    return text.append(f"\n{item.number}. {one_line(item.claim.text)}", style="not bold default")
