"""A comparison of two responses as terminal text, as one HTML page and as data for the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halldetect.render.html import MAX_QUOTE, claim_row
from halldetect.render.html_page import asset, html_fragment, html_page, shared_style
from halldetect.render.passages import Passages
from halldetect.render.phrases import VERDICT_SYMBOL, one_line, score_line, summary
from halldetect.render.terminal import STYLE, new_console, printed, wants_color
from halldetect.report import Report
from halldetect.report.comparison import Comparison, Relation

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
        if at is None:
            return None
        return claim_row(passages.show(at + 1, report.claims[at], MAX_QUOTE))

    groups = []
    for relation, text in RELATION_TEXT.items():
        pairs = [pair for pair in comparison.pairs if pair.relation is relation]
        rows = [[cell(a, pair.a), cell(b, pair.b)] for pair in pairs]
        if rows:
            groups.append({"relation": str(relation), "text": text, "rows": rows})
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
        "groups": groups,
    }


def headline(comparison: Comparison) -> str:
    """Return which response is better, and how many claims differ, in one sentence."""
    differ = sum(pair.relation is not Relation.SAME for pair in comparison.pairs)
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


def comparison_fragment(comparison: Comparison) -> str:
    """Return a comparison as a part of a page."""
    return html_fragment("comparison_view.html.jinja", view=comparison_view(comparison))


def comparison_terminal(
    comparison: Comparison, *, width: int | None = None, color: bool | None = None
) -> str:
    """Return a comparison as text for a terminal; `width` and `color` as for a report."""
    from rich.table import Table
    from rich.text import Text

    view = comparison_view(comparison)
    console = new_console(width, wants_color() if color is None else color)
    console.print(view["headline"], style="bold")
    for side in view["sides"]:
        line = Text(f"{side['name']}  ")
        state = f"{side['symbol']} {side['verdict'].upper()}"
        line.append(state, STYLE[side["verdict"]])
        line.append(f"  {side['score_line']}. {one_line(side['summary'])}")
        console.print(line)
    for group in view["groups"]:
        console.print()
        console.print(group["text"], style="bold")
        table = Table.grid(padding=(0, 2, 1, 0), expand=True)
        table.add_column(ratio=1)
        table.add_column(ratio=1)
        for row in group["rows"]:
            table.add_row(*map(_cell, row))
        console.print(table)
    return printed(console)


def _cell(item: dict[str, Any] | None) -> Text:
    from rich.text import Text

    if item is None:
        return Text("–", style="dim")
    text = Text(f"{item['symbol']} {item['status']}", style=STYLE[item["status"]])
    return text.append(f"\n{item['number']}. {one_line(item['text'])}", style="not bold default")
