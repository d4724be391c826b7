"""Sample reports for the views: an invented town, hostile text, extremes.

The findings are written by hand: these reports exercise what shows a report, not what makes one.
"""

from __future__ import annotations

from halldetect.reading.document import Span
from halldetect.report import (
    ClaimReport,
    Cost,
    Evidence,
    Provenance,
    Report,
    Status,
    Verdict,
    decide,
)

MINUTES = (
    "Town of Velmora, transport committee: minutes of the spring review\n"
    "\n"
    "The Harbour Line opened on 4 May 2017 with nine stops between Quay Street and the "
    "hospital. Construction had taken three years and cost 212 million crowns, four million "
    "less than planned. The committee thanked the works department for keeping two of the "
    "three harbour bridges open throughout.\n"
    "\n"
    "Ms Okafor asked about the evening service. Trams leave every twelve minutes until 22:30 "
    "and every half hour after that; there is no service between 01:00 and 04:45. She noted "
    "that shift workers at the hospital had asked for a night tram, and that no decision had "
    "been taken.\n"
    "\n"
    "The committee will look again at a tenth stop beside the fish market once the survey of "
    "the old quay wall is complete."
)
OPERATOR = (
    "Velmora Tramways: figures for the first full year\n"
    "\n"
    "The Harbour Line carried 18,400 passengers on an average weekday, a little above the "
    "forecast of 17,000. Saturdays were stronger than expected, at 21,900.\n"
    "\n"
    "Punctuality stood at 93.1 per cent. Most delays came from the lift bridge, which opened "
    "for shipping 412 times in the year. Three of the fourteen trams were out of service for "
    "a month after a fault in the heating was found.\n"
    "\n"
    "A single ticket costs 28 crowns. Children under seven travel free."
)
NOTICE = (
    "Notice at the stops 🚋\n"
    "\n"
    "Bicycles may be taken on board outside the rush hours, 07:00 to 09:00 and 15:30 to "
    "18:00. Folded bicycles are always welcome. 🚲\n"
    "\n"
    "كل محطة لها مدخل بدون درج. الأطفال دون السابعة يسافرون مجانا.\n"
    "\n"
    "Every stop has step-free access from the street."
)
RESPONSE = (
    "Velmora's Harbour Line opened in May 2017 with nine stops. It carried about 31,000 "
    "passengers on an average weekday in its first year. 🚋 A night tram serves the hospital "
    "every hour. Children under seven travel free, and every stop has step-free access.\n"
    "\n"
    "Compared with similar towns, its fares are cheap."
)


def span_of(text: str, part: str) -> Span:
    start = text.index(part)
    return Span(start, start + len(part))


def evidence(
    documents: tuple[str, ...],
    document: int,
    part: str,
    chances: tuple[float, float, float | None],
    scales: tuple[int, ...] = (16,),
) -> Evidence:
    span = span_of(documents[document], part)
    return Evidence(part, document, span)


def between(text: str, first: str, last: str) -> str:
    start = text.index(first)
    return text[start : text.index(last, start) + len(last)]


COST = Cost(
    generative_passes=1,
    extractor_tokens_in=318,
    extractor_tokens_out=96,
    pairs_judged=214,
    verifier_tokens=21_430,
    seconds={"extract": 1.912, "windows": 0.004, "verify": 3.377, "score": 0.001},
)
PROVENANCE = Provenance(
    version="0.1.0",
    extractor={
        "name": "gguf",
        "model": "smollm2-135m",
        "digest": "sha256:4c1d0f6a9be2",
        "settings": {"temperature": 0.2, "context": 2048},
    },
    verifier={"name": "onnx", "model": "embedded", "digest": "sha256:90b7e2a155cd"},
    configuration={"threshold": 0.5, "device": "auto"},
    notes=("One claim of the extractor was dropped: it said more than the response.",),
)


def report(
    claims: tuple[ClaimReport, ...],
    response: str,
    documents: tuple[str, ...],
    score: float | None,
    *,
    reason: str | None = None,
    question: str | None = None,
    threshold: float = 0.5,
) -> Report:
    return Report(
        verdict=decide(score, claims, threshold)[0],
        reason=reason,
        score=score,
        threshold=threshold,
        claims=claims,
        response=response,
        documents=documents,
        question=question,
        cost=COST,
        provenance=PROVENANCE,
    )


def claim(
    text: str,
    span: Span | None,
    status: Status,
    score: float | None,
    entailing: Evidence | None = None,
    contradicting: Evidence | None = None,
    by_scale: tuple[Evidence, ...] = (),
    **rest: str | None,
) -> ClaimReport:
    decides = contradicting if status is Status.CONTRADICTED else entailing
    return ClaimReport(
        text=text,
        span=span,
        span_reason=rest.get("span_reason"),
        status=status,
        reason=rest.get("reason"),
        support=score,
        proof=decides or contradicting,
    )


def town() -> Report:
    """Three documents; claims supported, contradicted, unsupported and uncheckable; overlaps."""
    docs = (MINUTES, OPERATOR, NOTICE)
    opened = between(MINUTES, "The Harbour Line opened", "hospital.")
    opening = between(MINUTES, "The Harbour Line opened", "than planned.")
    riders = between(OPERATOR, "The Harbour Line carried", "forecast of 17,000.")
    first_half = between(OPERATOR, "Velmora Tramways", "at 21,900.")
    quarter = between(OPERATOR, "The Harbour Line carried", "at 21,900.")
    night = between(MINUTES, "She noted", "been taken.")
    evening = between(MINUTES, "Ms Okafor", "been taken.")
    timetable = between(MINUTES, "Trams leave", "04:45.")
    children = "Children under seven travel free."
    step_free = "Every stop has step-free access from the street."
    ticket = between(OPERATOR, "A single ticket", "28 crowns.")
    first = between(RESPONSE, "Velmora's", "nine stops.")
    return report(
        (
            claim(
                "Velmora's Harbour Line opened in May 2017.",
                span_of(RESPONSE, first),
                Status.SUPPORTED,
                0.97,
                evidence(docs, 0, opened, (0.981, 0.016, 0.003)),
                evidence(docs, 0, timetable, (0.012, 0.9, 0.088)),
                (
                    evidence(docs, 0, MINUTES, (0.914, 0.08, 0.006), (1,)),
                    evidence(docs, 0, opening, (0.962, 0.034, 0.004), (4, 8)),
                    evidence(docs, 0, opened, (0.981, 0.016, 0.003)),
                ),
            ),
            claim(
                "Velmora's Harbour Line has nine stops.",
                span_of(RESPONSE, "with nine stops."),
                Status.SUPPORTED,
                0.95,
                evidence(docs, 0, opened, (0.958, 0.037, 0.005)),
                None,
                (evidence(docs, 0, opened, (0.958, 0.037, 0.005)),),
            ),
            claim(
                "The Harbour Line carried about 31,000 passengers on an average weekday in its "
                "first year.",
                span_of(RESPONSE, between(RESPONSE, "It carried", "first year.")),
                Status.CONTRADICTED,
                0.02,
                evidence(docs, 1, first_half, (0.021, 0.118, 0.861), (2,)),
                evidence(docs, 1, quarter, (0.006, 0.038, 0.956), (4, 8)),
                (
                    evidence(docs, 1, OPERATOR, (0.014, 0.284, 0.702), (1,)),
                    evidence(docs, 1, first_half, (0.021, 0.118, 0.861), (2,)),
                    evidence(docs, 1, quarter, (0.006, 0.038, 0.956), (4, 8)),
                    evidence(docs, 1, riders, (0.004, 0.047, 0.949)),
                ),
            ),
            claim(
                "A night tram serves the hospital every hour.",
                span_of(RESPONSE, "A night tram serves the hospital every hour."),
                Status.UNSUPPORTED,
                0.08,
                evidence(docs, 0, evening, (0.064, 0.514, 0.422), (4,)),
                evidence(docs, 0, night, (0.031, 0.53, 0.439)),
                (
                    evidence(docs, 0, MINUTES, (0.041, 0.6, 0.359), (1,)),
                    evidence(docs, 0, evening, (0.064, 0.514, 0.422), (4,)),
                    evidence(docs, 0, night, (0.031, 0.53, 0.439)),
                ),
                origin="restored",
            ),
            claim(
                "Children under seven travel free.",
                span_of(RESPONSE, "Children under seven travel free"),
                Status.SUPPORTED,
                0.99,
                evidence(docs, 1, children, (0.993, 0.005, 0.002)),
                evidence(docs, 1, ticket, (0.03, 0.92, 0.05)),
                (evidence(docs, 1, children, (0.993, 0.005, 0.002)),),
            ),
            claim(
                "Every stop has step-free access.",
                span_of(RESPONSE, "every stop has step-free access"),
                Status.SUPPORTED,
                0.98,
                evidence(docs, 2, step_free, (0.986, 0.011, 0.003)),
                None,
                (evidence(docs, 2, step_free, (0.986, 0.011, 0.003)),),
            ),
            claim(
                "Compared with similar towns, its fares are cheap.",
                span_of(RESPONSE, "Compared with similar towns, its fares are cheap."),
                Status.UNCHECKABLE,
                None,
                reason="the verifier stopped before this claim was judged",
            ),
        ),
        RESPONSE,
        docs,
        0.93,
        question="When did the Harbour Line open, and how well is it used?",
    )


def faithful() -> Report:
    response = "Children under seven travel free."
    found = evidence((OPERATOR,), 0, response, (0.993, 0.005, 0.002))
    only = claim(response, Span(0, len(response)), Status.SUPPORTED, 0.99, found, None, (found,))
    return report((only,), response, (OPERATOR,), 0.04)


def uncheckable() -> Report:
    return report((), "   ", (OPERATOR,), None, reason="the response holds no text")


def two_way() -> Report:
    """A verifier without a contradiction class; a claim without a place in the response."""
    response = "A ticket is 28 crowns."
    part = between(OPERATOR, "A single ticket", "28 crowns.")
    found = evidence((OPERATOR,), 0, part, (0.9, 0.1, None))
    only = claim(
        response,
        None,
        Status.SUPPORTED,
        0.9,
        found,
        None,
        (found,),
        span_reason="the claim joins two sentences",
    )
    return report((only,), response, (OPERATOR,), 0.1)


HOSTILE = (
    '<script>window.pwned=1</script><img src=x onerror="window.pwned=2"></script><!--',
    "<svg/onload=window.pwned=3> {{7*7}} ${window.pwned=4} </style><style>*{display:none}",
    "| a | b |\n|---|---|\n`code` **bold** [link](javascript:alert(1)) ![i](https://evil.test/p)",
    "https://evil.test www.evil.test @someone me@evil.test <https://evil.test> &lt;b&gt; ~~~",
    "\x1b[31mred\x1b[0m \x07bell \x9b2J \u202eevil\u202c \u2066x\u2069 \x00 \x7f \u2028 ]]>",
    "# heading\n- list\n1. one\n> quote\n```\nfence\n---\n===\n    code\n\ttab\r\nline \\",
    "[/red] [bold]markup[/bold] :boom: 'single' \"double\" \ud800 \U0001f469\u200d\U0001f52c é",
    "مرحبا بالعالم (hello) שלום עולם",
)


def hostile() -> Report:
    """Every text field is out to do harm."""
    response = "\n".join(HOSTILE)
    docs = ("\n".join(reversed(HOSTILE)), HOSTILE[0])
    claims = []
    for place, text in enumerate(HOSTILE):
        found = evidence(docs, 0, text, (0.1, 0.2, 0.7))
        status = list(Status)[place % 4]
        claims.append(
            claim(
                text,
                span_of(response, text),
                status,
                None if status is Status.UNCHECKABLE else 0.4,
                found,
                evidence(docs, 1, HOSTILE[0], (0.0, 0.1, 0.9)),
                (found,),
                reason=text if status is Status.UNCHECKABLE else None,
            )
        )
    base = report(tuple(claims), response, docs, 0.9, question="<script>window.pwned=5</script>")
    settings = {"<b>name</b>": "</script><script>window.pwned=6</script>", "ticks": "````"}
    provenance = Provenance("<i>0</i>", settings, settings, HOSTILE, settings)
    return Report(
        **{
            **{name: getattr(base, name) for name in base.__dataclass_fields__},
            "provenance": provenance,
        }
    )


FARES = """\
# Velmora Tramways: fares

Tickets are sold at **every stop** and [online](https://trams.example/fares).

| Ticket | Price | Note |
|---|---|---|
| Single | 28 crowns | valid for one hour |
| Day | 90 crowns | children under seven travel free |

> Bicycles need a *separate* ticket.

1. Stamp the ticket before boarding.
2. Keep it until the end of the ride.
"""
FARES_ANSWER = """\
## Getting around

- A **single** ticket costs 35 crowns.
- Bicycles need a `separate` ticket.
"""


def formatted() -> Report:
    """Markdown in source and response; a claim that begins with hidden punctuation."""
    row = "| Single | 28 crowns | valid for one hour |"
    bicycles = "> Bicycles need a *separate* ticket."
    wrong = evidence((FARES,), 0, row, (0.02, 0.05, 0.93))
    right = evidence((FARES,), 0, bicycles, (0.96, 0.03, 0.01))
    first = "A **single** ticket costs 35 crowns."
    second = "Bicycles need a `separate` ticket."
    return report(
        (
            claim(
                "A single ticket costs 35 crowns.",
                span_of(FARES_ANSWER, f"- {first}"),
                Status.CONTRADICTED,
                0.02,
                wrong,
                wrong,
                (wrong,),
            ),
            claim(
                second, span_of(FARES_ANSWER, second), Status.SUPPORTED, 0.95, right, None, (right,)
            ),
        ),
        FARES_ANSWER,
        (FARES,),
        0.98,
    )


def large(characters: int = 1_000_000, claims: int = 40) -> Report:
    """A source of this size, half in paragraphs and half one endless line, marked all along."""
    lines: list[str] = []
    size = 0
    while size < characters:
        place = len(lines)
        lines.append(f"Stop number {place} 🚋 was painted by crew {place % 17} in week {place}.")
        size += len(lines[-1]) + 1
    half = len(lines) // 2
    source = "\n\n".join(" ".join(lines[at : at + 5]) for at in range(0, half, 5))
    source += "\n\n" + " ".join(lines[half:])
    step = len(lines) // claims
    made, response = [], ""
    for place in range(0, step * claims, step):
        found = evidence((source,), 0, lines[place], (0.05, 0.05, 0.9))
        text = f"Stop number {place} was painted by crew {place % 17 + 1}."
        span = Span(len(response), len(response) + len(text))
        response += text + " "
        made.append(
            claim(text, span, Status.CONTRADICTED, 0.03, found, found, (found,)),
        )
    return report(tuple(made), response, (source,), 1.0)


ALL = {
    "town": town,
    "faithful": faithful,
    "uncheckable": uncheckable,
    "two_way": two_way,
    "hostile": hostile,
    "formatted": formatted,
}
VERDICTS = {"town": Verdict.HALLUCINATED, "faithful": Verdict.FAITHFUL}
