"""The words, marks and order every view of a report shares."""

from __future__ import annotations

import re
from collections import Counter

from halldetect.report import ClaimReport, Evidence, Probabilities, Report, Status, Verdict

# Most urgent first: the order of claims in every view, and which state wins an overlap.
STATES = (Status.CONTRADICTED, Status.UNSUPPORTED, Status.UNCHECKABLE, Status.SUPPORTED)

STATE_SYMBOL = {
    Status.CONTRADICTED: "✗",
    Status.UNSUPPORTED: "?",
    Status.UNCHECKABLE: "–",
    Status.SUPPORTED: "✓",
}
STATE_MEANING = {
    Status.CONTRADICTED: "the source says otherwise",
    Status.UNSUPPORTED: "nothing in the source says so",
    Status.UNCHECKABLE: "could not be checked",
    Status.SUPPORTED: "the source says so",
}
VERDICT_SYMBOL = {Verdict.HALLUCINATED: "✗", Verdict.UNCHECKABLE: "–", Verdict.FAITHFUL: "✓"}

# Characters that could drive a terminal, reorder a line, or not be encoded at all. Each is
# replaced by exactly one visible character, so that spans keep pointing at the same text.
_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """The text with every control, bidi override and lone surrogate made visible and inert."""
    return _UNSAFE.sub(_stand_in, text)


def _stand_in(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"


def one_line(text: str) -> str:
    return " ".join(visible(text).split())


def numbered(report: Report) -> list[tuple[int, ClaimReport]]:
    """Claims with their number in the response, flagged ones first."""
    rank = {status: place for place, status in enumerate(STATES)}
    claims = list(enumerate(report.claims, start=1))
    return sorted(claims, key=lambda item: rank[item[1].status])


def decisive(claim: ClaimReport) -> str | None:
    """Which of the two evidences tells why the claim has its state."""
    if claim.status is Status.CONTRADICTED and claim.contradicting is not None:
        return "contradicting"
    if claim.entailing is not None:
        return "entailing"
    return "contradicting" if claim.contradicting is not None else None


def decisive_evidence(claim: ClaimReport) -> Evidence | None:
    return claim.contradicting if decisive(claim) == "contradicting" else claim.entailing


def evidence_label(claim: ClaimReport) -> str:
    """What the passage shown beside a claim is to it."""
    if claim.status is Status.SUPPORTED:
        return "Source says"
    if decisive(claim) == "contradicting":
        return "Source says instead"
    return "Closest passage"


def document_name(report: Report, document: int) -> str:
    return "Source" if len(report.documents) == 1 else f"Document {document + 1}"


def number(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.2f}"


def probabilities_line(found: Probabilities) -> str:
    contradicts = (
        "contradiction not judged"
        if found.contradiction is None
        else f"contradicts {found.contradiction:.2f}"
    )
    return f"entails {found.entailment:.2f}, neutral {found.neutral:.2f}, {contradicts}"


def scale_name(scales: tuple[int, ...]) -> str:
    return "m = " + ", ".join(map(str, scales))


def score_line(report: Report) -> str:
    if report.score is None:
        return f"no score (threshold {report.threshold:.2f})"
    side = "at or over" if report.score >= report.threshold else "under"
    return f"score {report.score:.2f}, {side} the threshold {report.threshold:.2f}"


def counts_line(report: Report) -> str:
    found = Counter(claim.status for claim in report.claims)
    if not found:
        return "no claims"
    return ", ".join(f"{found[status]} {status}" for status in STATES if found[status])


def summary(report: Report) -> str:
    """The verdict in one sentence."""
    total = len(report.claims)
    found = Counter(claim.status for claim in report.claims)
    flagged = found[Status.CONTRADICTED] + found[Status.UNSUPPORTED]
    if report.verdict is Verdict.UNCHECKABLE:
        if report.reason:
            return f"Could not be checked: {one_line(report.reason)}"
        if not total:
            return "Nothing could be checked."
        unchecked = _share(found[Status.UNCHECKABLE], total)
        return f"{unchecked} could not be checked, so nothing is called faithful."
    if flagged:
        verb = "is" if flagged == 1 else "are"
        sentence = f"{_share(flagged, total)} {verb} not backed by the source"
        if report.verdict is Verdict.FAITHFUL:
            return f"{sentence}, but the score stays under the threshold."
        return f"{sentence}."
    if report.verdict is Verdict.HALLUCINATED:
        return "No single claim is flagged, but together they reach the threshold."
    return f"The source backs {'the only claim' if total == 1 else f'all {total} claims'}."


def _share(some: int, total: int) -> str:
    return "The only claim" if total == 1 else f"{some} of {total} claims"


def flat_facts(value: object, prefix: str = "") -> list[tuple[str, str]]:
    """Nested settings as flat (dotted name, value) rows."""
    if isinstance(value, dict) and value:
        rows = []
        for key, item in value.items():
            rows += flat_facts(item, f"{prefix}.{key}" if prefix else str(key))
        return rows
    if isinstance(value, list | tuple):
        return [(prefix, ", ".join(one_line(str(item)) for item in value) or "none")]
    if isinstance(value, bool):
        return [(prefix, "yes" if value else "no")]
    if isinstance(value, float):
        return [(prefix, f"{value:g}")]
    return [(prefix, "none" if value is None or value == {} else one_line(str(value)))]
