"""A repair for people: the text with its deletions and insertions, and why each was made."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from typing import Any

from halldetect.render.html_page import asset, html_page, shared_style
from halldetect.render.markdown import escape
from halldetect.render.passages import shorten
from halldetect.render.phrases import one_line, visible
from halldetect.render.terminal import new_console, print_line, wants_color
from halldetect.repair.outcome import Action, Change, Method, Outcome, Repair
from halldetect.report import Status

REPAIR_STYLE = "repair.css"
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_QUOTE_LIMIT = 300
SAME, DELETED, INSERTED = "same", "deleted", "inserted"
_HEADLINE = {
    Outcome.UNCHANGED: "✓ UNCHANGED",
    Outcome.REPAIRED: "✓ REPAIRED",
    Outcome.FAILED: "✗ NOT REPAIRED",
}
_HOW = {
    Method.REPLACE: "words of the source were put in",
    Method.REWRITE: "a language model wrote it again",
    Method.SHORTEN: "a part was left out",
    Method.NAME: "a name was put for a pronoun",
}


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text: `kind` is SAME, DELETED or INSERTED."""

    kind: str
    text: str


def difference(before: str, after: str) -> list[Piece]:
    """The words of two texts as one: what both have, what was deleted, what was inserted.

    Args:
        before: the text as it was.
        after: the text as it is.
    """
    ours, theirs = _TOKEN.findall(before), _TOKEN.findall(after)
    matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
    pieces: list[Piece] = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            pieces.append(Piece(SAME, "".join(ours[i1:i2])))
            continue
        for kind, tokens in ((DELETED, ours[i1:i2]), (INSERTED, theirs[j1:j2])):
            if tokens:
                pieces.append(Piece(kind, "".join(tokens)))
    return _without_specks(pieces)


def _without_specks(pieces: Sequence[Piece]) -> list[Piece]:
    """White space between two differences belongs to both: words then do not look torn."""
    merged: list[Piece] = []
    run: dict[str, str] = {}

    def flush() -> None:
        for kind in (DELETED, INSERTED):
            if run.get(kind):
                merged.append(Piece(kind, run[kind]))
        run.clear()

    for at, piece in enumerate(pieces):
        if piece.kind != SAME:
            run[piece.kind] = run.get(piece.kind, "") + piece.text
        elif run and piece.text.isspace() and at + 1 < len(pieces):
            for kind in (DELETED, INSERTED):
                run[kind] = run.get(kind, "") + piece.text
        else:
            flush()
            merged.append(piece)
    flush()
    return merged


def _pieces(repair: Repair) -> Iterator[Piece]:
    """The whole response with its deletions and insertions."""
    text = repair.original.response
    end = 0
    for change in repair.changes:
        yield Piece(SAME, text[end : change.span.start])
        end = change.span.end
        if change.action is Action.REMOVED:
            yield Piece(DELETED, change.before)
        else:
            yield from difference(change.before, change.after or "")
    yield Piece(SAME, text[end:])


def repair_summary(repair: Repair) -> str:
    """The outcome in one sentence.

    Args:
        repair: the outcome of a repair.
    """
    if repair.outcome is Outcome.FAILED:
        return f"The response could not be repaired: {one_line(repair.reason or '')}."
    unclear = _unclear(repair)
    if repair.outcome is Outcome.UNCHANGED and unclear:
        return f"The response was left as it is. {unclear}"
    if repair.outcome is Outcome.UNCHANGED:
        return "The source supports the response as it is."
    counts = Counter(change.action for change in repair.changes)
    parts = [f"{counts[action]} {action}" for action in Action if counts[action]]
    lost = sum(len(change.lost) for change in repair.changes)
    note = f" Supported claims that went with them: {lost}." if lost else ""
    left = unclear or "The source supports all that is left."
    return f"Sentences: {', '.join(parts)}. {left}{note}"


def _unclear(repair: Repair) -> str:
    """A sentence on the claims that are left although they are not supported; empty if none is."""
    claims = () if repair.report is None else repair.report.claims
    count = sum(claim.status is not Status.SUPPORTED for claim in claims)
    if repair.report is None or not count:
        return ""
    return (
        f"Claims that are left: {len(claims)}, of which unclear at the threshold "
        f"{repair.report.threshold:g}: {count}."
    )


def repair_terminal(repair: Repair, *, width: int | None = None, color: bool | None = None) -> str:
    """Return a repair as text for a terminal; without colours, [-deleted-] and {+inserted+}.

    Args:
        repair: the outcome of a repair.
        width: columns; None takes those of the terminal, up to 100.
        color: whether to use colours; None as for a report.
    """
    from rich.text import Text

    colored = wants_color() if color is None else color
    console = new_console(width, colored)
    style = "bold red" if repair.outcome is Outcome.FAILED else "bold green"
    print_line(console, _HEADLINE[repair.outcome], style)
    print_line(console, f"  {repair_summary(repair)}")
    if repair.changes:
        console.print()
        shown = Text()
        for piece in _pieces(repair):
            text = visible(piece.text)
            if piece.kind == DELETED:
                shown.append(text if colored else f"[-{text}-]", style="red strike")
            elif piece.kind == INSERTED:
                shown.append(text if colored else f"{{+{text}+}}", style="green underline")
            else:
                shown.append(text)
        console.print(shown)
    for change in _shown_changes(repair):
        console.print()
        print_line(console, f"{change.action}: {one_line(change.before)}", "bold")
        if change.after is not None:
            print_line(console, f"  now: {one_line(change.after)}")
        for line in _remarks(repair, change):
            print_line(console, f"  {line}", "dim")
    output = console.file
    text = output.getvalue() if isinstance(output, io.StringIO) else ""
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def repair_markdown(repair: Repair) -> str:
    """Return a repair as GitHub Markdown, deletions struck out and insertions in bold.

    Args:
        repair: the outcome of a repair.
    """
    parts = [f"# {_HEADLINE[repair.outcome].title()}", f"**{escape(repair_summary(repair))}**"]
    if repair.changes:
        lines = "".join(_marked(piece) for piece in _pieces(repair)).strip().splitlines()
        parts += ["## Changes", "\n".join(f"> {line}" for line in lines)]
        parts += [
            f"- {change.action}: “{escape(change.before)}”"
            + (f" → “{escape(change.after)}”" if change.after is not None else "")
            + "".join(f"\n  - {escape(line)}" for line in _remarks(repair, change))
            for change in _shown_changes(repair)
        ]
    if repair.text is not None:
        lines = repair.text.strip().splitlines()
        parts += ["## New text", "\n".join(f"> {escape(line)}" for line in lines)]
    return "\n\n".join(parts) + "\n"


def _marked(piece: Piece) -> str:
    """A piece as Markdown; the marks may not stand beside white space."""
    mark = {SAME: "", DELETED: "~~", INSERTED: "**"}[piece.kind]
    parts = re.split(r"(\s+)", piece.text)
    if not mark:
        return "".join(part if part.isspace() else escape(part) for part in parts)
    shown = piece.text.strip()
    if not shown:
        return piece.text
    start = piece.text.index(shown)
    marked = f"{mark}{escape(shown)}{mark}"
    return f"{piece.text[:start]}{marked}{piece.text[start + len(shown) :]}"


def repair_view(repair: Repair) -> dict[str, Any]:
    """Return what a page shows: a headline, both texts in pieces, and the changes.

    Args:
        repair: the outcome of a repair.
    """
    pieces = [asdict(piece) for piece in _pieces(repair)] if repair.changes else []
    return {
        "headline": _HEADLINE[repair.outcome].title(),
        "failed": repair.outcome is Outcome.FAILED,
        "summary": repair_summary(repair),
        "pieces": pieces,
        "before": [piece for piece in pieces if piece["kind"] != INSERTED],
        "after": [piece for piece in pieces if piece["kind"] != DELETED],
        "changes": [
            {
                "action": str(change.action),
                "pieces": [asdict(p) for p in difference(change.before, change.after or "")],
                "remarks": _remarks(repair, change),
            }
            for change in _shown_changes(repair)
        ],
        "response": repair.original.response,
    }


def repair_html(repair: Repair) -> str:
    """Return a repair as one HTML page: inline, side by side, and as a list of changes.

    Args:
        repair: the outcome of a repair.
    """
    return html_page(
        "halldetect.render",
        "repair.html.jinja",
        title=f"{repair.outcome.capitalize()}: HallDetect repair",
        style=shared_style() + asset(REPAIR_STYLE),
        **repair_view(repair),
    )


def _shown_changes(repair: Repair) -> list[Change]:
    return [change for change in repair.changes if change.action is not Action.KEPT]


def _remarks(repair: Repair, change: Change) -> list[str]:
    """Why a change was made, what the source says, and what was lost with it."""
    remarks = [f"why: {one_line(change.why or '')}"]
    if change.evidence is not None:
        quote = shorten(change.evidence.text, change.before, _QUOTE_LIMIT)
        name = repair.original.document_name(change.evidence.document)
        remarks.append(f"{name}: “{one_line(quote)}”")
    if change.method is not None:
        remarks.append(f"how: {_HOW[change.method]}")
    remarks += [f"supported, but lost: {one_line(text)}" for text in change.lost]
    return remarks
