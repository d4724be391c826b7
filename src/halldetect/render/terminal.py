"""The report as text for a terminal."""

from __future__ import annotations

import io
import os
import shutil
import sys
from typing import TYPE_CHECKING

from halldetect.render.passages import Passages, shorten
from halldetect.render.phrases import (
    STATE_MEANING,
    STATE_SYMBOL,
    VERDICT_SYMBOL,
    citation_line,
    counts_line,
    decisive_evidence,
    document_name,
    evidence_label,
    explanations,
    number,
    numbered,
    one_line,
    summary,
    threshold_text,
    visible,
)
from halldetect.report import ClaimReport, Report, Status, Verdict

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_MIN_WIDTH, _MAX_WIDTH = 40, 100
_BAR = 24
_STATE_COLUMN = 16
_MAX_CLAIM = 300
STYLE: dict[Status | Verdict, str] = {
    Status.CONTRADICTED: "bold red",
    Status.UNSUPPORTED: "bold yellow",
    Status.UNCHECKABLE: "bold magenta",
    Status.SUPPORTED: "green",
    Verdict.HALLUCINATED: "bold red",
    Verdict.ABSTAINED: "bold blue",
    Verdict.UNCHECKABLE: "bold magenta",
    Verdict.FAITHFUL: "bold green",
}


def terminal(report: Report, *, width: int | None = None, color: bool | None = None) -> str:
    """Return the report as text for a terminal.

    Args:
        report: the report.
        width: columns; None takes those of the terminal, up to 100.
        color: whether to use colours; None uses them if standard output is a terminal that shows
            them and NO_COLOR is not set.
    """
    console = new_console(width, wants_color() if color is None else color)
    _headline(console, report)
    passages = Passages(report)
    for place, claim in numbered(report):
        console.print()
        _claim(console, report, passages, place, claim)
    if report.provenance.notes:
        console.print()
        for note in report.provenance.notes:
            print_line(console, f"note: {one_line(note)}", style="dim")
    return printed(console)


def printed(console: Console) -> str:
    """Return what was printed on a console of `new_console`.

    Args:
        console: the console.
    """
    text = console.file.getvalue() if isinstance(console.file, io.StringIO) else ""
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def wants_color() -> bool:
    """Return whether standard output is a terminal that shows colours, and they are wanted."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout is not None and sys.stdout.isatty()


def new_console(width: int | None, color: bool) -> Console:
    """Return a console that writes into a string.

    Args:
        width: columns; None takes those of the terminal, up to 100.
        color: whether to use colours.
    """
    from rich.console import Console

    if width is None:
        width = min(shutil.get_terminal_size((88, 24)).columns, _MAX_WIDTH)
    return Console(
        file=io.StringIO(),
        width=max(width, _MIN_WIDTH),
        force_terminal=color,
        # The sixteen standard colours follow the theme of the terminal.
        color_system="standard" if color else None,
        # The caller has decided; rich must not read the environment again.
        no_color=not color,
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
        _environ={},
    )


def print_line(console: Console, text: str, style: str = "") -> None:
    """Print a text as it is, in one style."""
    from rich.text import Text

    console.print(Text(text, style=style))


def _headline(console: Console, report: Report) -> None:
    from rich.text import Text

    style = STYLE[report.verdict]
    line = Text()
    line.append(f"{VERDICT_SYMBOL[report.verdict]} {report.verdict.upper()}", style=style)
    if report.score is not None:
        line.append("  ")
        line.append_text(_bar(report.score, report.threshold, style))
        line.append(f"  score {report.score:.2f}", style="bold")
        line.append(f", threshold {threshold_text(report)}", style="dim")
    console.print(line)
    print_line(console, f"  {summary(report)}")
    if report.claims:
        detail = f"  {counts_line(report)}"
        if report.score is not None:
            detail += f" · scoring {visible(report.scoring)}, FED {number(report.fed_score)}"
        print_line(console, detail, style="dim")
    if line_of_citations := citation_line(report):
        print_line(console, f"  {line_of_citations}", style="dim")


def _bar(score: float, threshold: float, style: str) -> Text:
    """Return the score as a bar and the threshold as a post in it."""
    from rich.text import Text

    filled = round(score * _BAR)
    post = min(_BAR - 1, round(threshold * _BAR))
    bar = Text()
    for start, end in ((0, post), (post + 1, _BAR)):
        full = max(0, min(filled, end) - start)
        bar.append("━" * full, style=style)
        bar.append("·" * (end - start - full), style="dim")
        if start == 0:
            bar.append("│", style="bold")
    return bar


def _claim(
    console: Console, report: Report, passages: Passages, place: int, claim: ClaimReport
) -> None:
    from rich.table import Table
    from rich.text import Text

    room = console.width - _STATE_COLUMN
    rows = Table.grid(padding=(0, 1), expand=False)
    rows.add_column(width=_STATE_COLUMN - 1, no_wrap=True)
    rows.add_column(width=room, overflow="fold")
    state = Text(f"{STATE_SYMBOL[claim.status]} {claim.status}", style=STYLE[claim.status])
    words = shorten(one_line(claim.text), "", _MAX_CLAIM)
    said = Text(f"{place}. {words}", style="bold")
    rows.add_row(state, said)
    support = "" if claim.support is None else f"  support {claim.support:.2f}"
    evidence = decisive_evidence(claim)
    if evidence is None:
        why = claim.reason or STATE_MEANING[claim.status]
        rows.add_row(Text(support, style="dim"), Text(one_line(why)))
    else:
        found = Text()
        found.append(f"{evidence_label(claim)}: ", style="dim")
        found.append(f"“{one_line(passages.quote(claim, evidence, limit=max(120, 2 * room)))}”")
        if len(report.documents) > 1 or report.document_names:
            found.append(f" ({document_name(report, evidence.document)})", style="dim")
        rows.add_row(Text(support, style="dim"), found)
        if claim.reason:
            rows.add_row("", Text(one_line(claim.reason), style="dim"))
    for line in explanations(claim):
        rows.add_row("", Text(shorten(line, "", _MAX_CLAIM), style="dim"))
    console.print(rows)
