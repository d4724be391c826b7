"""The report as text for a terminal."""

from __future__ import annotations

import io
import os
import shutil
import sys
from typing import TYPE_CHECKING

from halldetect.report import Report, Status, Verdict, phrases
from halldetect.report.passages import ShownClaim, shorten, shown_claims

if TYPE_CHECKING:
    from rich.console import Console

_MIN_WIDTH, _MAX_WIDTH = 40, 100
_BAR = 24
_STATE_COLUMN = 16
_MAX_CLAIM = 300
STYLE: dict[str, str] = {  # by state or verdict
    Status.CONTRADICTED: "bold red",
    Status.UNSUPPORTED: "bold yellow",
    Status.UNCLEAR: "yellow",
    Status.UNCHECKABLE: "bold magenta",
    Status.SUPPORTED: "green",
    Verdict.HALLUCINATED: "bold red",
    Verdict.ABSTAINED: "bold blue",
    Verdict.UNCHECKABLE: "bold magenta",
    Verdict.FAITHFUL: "bold green",
}


def terminal(report: Report, *, width: int | None = None, color: bool | None = None) -> str:
    """Return the report as text for a terminal.

    By default, `width` is that of the terminal, up to 100 columns, and there are colours if
    standard output is a terminal that shows them and NO_COLOR is not set.
    """
    console = new_console(width, color)
    _headline(console, report)
    room = console.width - _STATE_COLUMN
    for item in shown_claims(report, max(120, 2 * room)):
        console.print()
        _claim(console, item, room)
    notes = [f"note: {phrases.one_line(note)}" for note in report.provenance.notes]
    parts = [*phrases.unchecked_lines(report), *phrases.missing_lines(report), *notes]
    for line in ("", *parts) if parts else ():
        console.print(line, style="dim")
    return printed(console)


def printed(console: Console) -> str:
    """Return the text printed on a console of `new_console`."""
    text = console.file.getvalue() if isinstance(console.file, io.StringIO) else ""
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def new_console(width: int | None, color: bool | None) -> Console:
    """Return a console that writes into a string; the arguments are those of `terminal`."""
    from rich.console import Console

    if color is None:
        refused = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        color = not refused and sys.stdout is not None and sys.stdout.isatty()
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


def _headline(console: Console, report: Report) -> None:
    from rich.text import Text

    style = STYLE[report.verdict]
    line = Text(f"{phrases.VERDICT_SYMBOL[report.verdict]} {report.verdict.upper()}", style=style)
    if report.score is not None:
        filled, post = round(report.score * _BAR), min(_BAR - 1, round(report.threshold * _BAR))
        line.append("  ")
        for at in range(_BAR):
            mark = "│" if at == post else "━" if at < filled else "·"
            line.append(mark, style="bold not dim" if mark == "│" else style)
        line.append(f"  score {report.score:.2f}", style="bold default")
        line.append(f", threshold {phrases.threshold_text(report)}", style="dim default not bold")
    console.print(line)
    console.print(f"  {phrases.summary(report)}")
    for detail in phrases.detail_lines(report):
        console.print(f"  {detail}", style="dim")


def _claim(console: Console, item: ShownClaim, room: int) -> None:
    from rich.table import Table
    from rich.text import Text

    claim = item.claim
    rows = Table.grid(padding=(0, 1), expand=False)
    rows.add_column(width=_STATE_COLUMN - 1, no_wrap=True)
    rows.add_column(width=room, overflow="fold")
    state = Text(f"{phrases.STATE_SYMBOL[claim.status]} {claim.status}", style=STYLE[claim.status])
    words = shorten(phrases.one_line(claim.text), "", _MAX_CLAIM)
    said = Text(f"{item.number}. {words}", style="bold")
    wrong = [phrases.one_line(word.words) for word in claim.wrong if word.words.strip()]
    said.highlight_words(wrong, f"underline {STYLE[claim.status]}", case_sensitive=False)
    rows.add_row(state, said)
    support = Text("" if claim.support is None else f"  support {claim.support:.2f}", style="dim")
    lines = list(item.remarks)
    if item.span is None:
        rows.add_row(support, Text(item.why))
    else:
        found = Text(f"{item.label}: ", style="dim")
        found.append(f"“{item.quote}”", style="not dim")
        found.append(f" ({item.where})" if item.where else "")
        rows.add_row(support, found)
        lines = [*filter(None, [item.why]), *lines]
    for line in lines:
        rows.add_row("", Text(shorten(line, "", _MAX_CLAIM), style="dim"))
    console.print(rows)
