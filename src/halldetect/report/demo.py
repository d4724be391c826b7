"""A built-in example: a short notice, and an answer with one right claim of three."""

from __future__ import annotations

from halldetect.reading.document import Span
from halldetect.report import Report, Status, Verdict

SOURCE = """\
Kelby harbour ferry: winter timetable

From 3 November the ferry to the island runs every forty minutes. \
The first boat leaves Kelby at 6:20 and the last boat returns at 21:40. \
A single ticket costs four euros, and children under twelve travel free of charge. \
There is room for ten bicycles on each crossing. \
In strong wind the service may be stopped at short notice. \
Passengers can call the harbour office to ask whether the boats are running.
"""
QUESTION = "What should I know before I take the ferry this winter?"
# The sentences of the response, and the states that a check must find for them.
EXPECTED = {
    "Children under twelve travel free of charge.": Status.SUPPORTED,
    "A single ticket costs six euros.": Status.CONTRADICTED,
    "Hot meals are served on board.": Status.UNSUPPORTED,
}
RESPONSE = " ".join(EXPECTED)


def deviations(report: Report) -> list[str]:
    """Return how a report of the example differs from the expected one."""
    lines = []
    if report.verdict is not Verdict.HALLUCINATED:
        lines.append(f"the verdict is {report.verdict}, not {Verdict.HALLUCINATED}")
    for sentence, expected in EXPECTED.items():
        start = RESPONSE.index(sentence)
        place = Span(start, start + len(sentence))
        spans = [(claim.span, claim.status) for claim in report.claims]
        states = {status for span, status in spans if span is not None and span.overlaps(place)}
        if states != {expected}:
            seen = ", ".join(sorted(states)) or "not checked"
            lines.append(f"{sentence!r} is {seen}, not {expected}")
    return lines
