"""A repair for people: the text with its deletions and insertions, and the reason of each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from halldetect.render.html_page import plain_page
from halldetect.render.terminal import new_console, printed
from halldetect.repair.outcome import Action, Change, Method, Outcome, Repair
from halldetect.report import Status
from halldetect.report.passages import shorten
from halldetect.report.phrases import document_name, one_line, visible

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_QUOTE_LIMIT = 300
SAME, DELETED, INSERTED = "same", "deleted", "inserted"
_HEADLINE = {
    Outcome.UNCHANGED: "✓ UNCHANGED",
    Outcome.REPAIRED: "✓ REPAIRED",
    Outcome.FAILED: "✗ NOT REPAIRED",
}
_SUPPORTED = "The source supports the response as it is."
_HOW = {
    Method.REPLACE: "words of the source were put in",
    Method.SHORTEN: "a part was left out",
}


class Piece(NamedTuple):
    """A run of words, SAME, DELETED or INSERTED."""

    kind: str
    text: str


def difference(before: str, after: str) -> list[Piece]:
    """Return the words of two texts as one: common, deleted and inserted pieces."""
    ours, theirs = _TOKEN.findall(before), _TOKEN.findall(after)
    # White space alone is not a match, so runs of changed words stay together.
    matcher = SequenceMatcher(str.isspace, ours, theirs, autojunk=False)
    pieces = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        same = tag == "equal"
        pieces.append(Piece(SAME if same else DELETED, "".join(ours[i1:i2])))
        pieces.append(Piece(INSERTED, "" if same else "".join(theirs[j1:j2])))
    return [piece for piece in pieces if piece.text]


def _pieces(repair: Repair) -> Iterator[Piece]:
    """Yield the whole response with its deletions and insertions."""
    text = repair.original.response
    end = 0
    for change in repair.changes:
        yield Piece(SAME, text[end : change.span.start])
        end = change.span.end
        yield from difference(change.before, change.after or "")
    yield Piece(SAME, text[end:])


def repair_view(repair: Repair) -> dict[str, Any]:
    """Return the data of every view: a headline, both texts in pieces, and the changes."""
    return {
        "headline": _HEADLINE[repair.outcome].title(),
        "failed": repair.outcome is Outcome.FAILED,
        "summary": repair_summary(repair),
        "pieces": list(_pieces(repair)) if repair.changes else [],
        "changes": [
            {
                "action": str(change.action),
                "before": change.before,
                "after": change.after,
                "pieces": difference(change.before, change.after or ""),
                "remarks": _remarks(repair, change),
            }
            for change in repair.changes
            if change.action is not Action.KEPT
        ],
        "response": repair.original.response,
    }


def repair_summary(repair: Repair) -> str:
    """Return the outcome in one sentence."""
    if repair.report is None:
        return f"The response could not be repaired: {one_line(repair.reason or '')}."
    claims = repair.report.claims
    unclear = sum(claim.status is not Status.SUPPORTED for claim in claims)
    left = "The source supports all that is left."
    if unclear:
        left = (
            f"Claims that are left: {len(claims)}, of which unclear at the threshold "
            f"{repair.report.threshold:g}: {unclear}."
        )
    if repair.outcome is Outcome.UNCHANGED:
        return f"The response was left as it is. {left}" if unclear else _SUPPORTED
    counts = Counter(change.action for change in repair.changes)
    parts = [f"{counts[action]} {action}" for action in Action if counts[action]]
    lost = sum(len(change.lost) for change in repair.changes)
    note = f" Supported claims that went with them: {lost}." if lost else ""
    return f"Sentences: {', '.join(parts)}. {left}{note}"


def repair_terminal(repair: Repair, *, width: int | None = None, color: bool | None = None) -> str:
    """Return a repair as text for a terminal; without colours, [-deleted-] and {+inserted+}.

    `width` and `color` are those of `terminal` for a report.
    """
    from rich.text import Text

    view, console = repair_view(repair), new_console(width, color)
    style = "bold red" if view["failed"] else "bold green"
    console.print(_HEADLINE[repair.outcome], style=style)
    console.print(f"  {view['summary']}")
    if view["pieces"]:
        console.print()
        shown = Text()
        marks = {SAME: "{}", DELETED: "[-{}-]", INSERTED: "{{+{}+}}"}
        styles = {SAME: "", DELETED: "red strike", INSERTED: "green underline"}
        for kind, words in view["pieces"]:
            text = visible(words)
            shown.append(text if console.is_terminal else marks[kind].format(text), styles[kind])
        console.print(shown)
    for change in view["changes"]:
        console.print()
        console.print(f"{change['action']}: {one_line(change['before'])}", style="bold")
        if change["after"] is not None:
            console.print(f"  now: {one_line(change['after'])}")
        for line in change["remarks"]:
            console.print(f"  {line}", style="dim")
    return printed(console)


def repair_html(repair: Repair) -> str:
    """Return a repair as one HTML page: the marked text and a list of changes."""
    title = f"{repair.outcome.capitalize()}: HallDetect repair"
    return plain_page("repair", title, **repair_view(repair))


def _remarks(repair: Repair, change: Change) -> list[str]:
    """Return the reason of a change, its passage, and the claims lost with it."""
    remarks = [f"why: {one_line(change.why or '')}"]
    if change.evidence is not None:
        quote = shorten(change.evidence.text, change.before, _QUOTE_LIMIT)
        name = document_name(repair.original, change.evidence.document)
        remarks.append(f"{name}: “{one_line(quote)}”")
    if change.method is not None:
        remarks.append(f"how: {_HOW[change.method]}")
    remarks += [f"supported, but lost: {one_line(text)}" for text in change.lost]
    return remarks
