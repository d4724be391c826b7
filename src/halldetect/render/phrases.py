"""The wording, the symbols and the order that every view of a report shares."""

from __future__ import annotations

import re
from collections import Counter

from halldetect.report import ClaimReport, Report, Status, Verdict

# Most urgent first: the order of claims in every view. Where claims overlap, the first one wins.
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
VERDICT_SYMBOL = {
    Verdict.HALLUCINATED: "✗",
    Verdict.ABSTAINED: "○",
    Verdict.UNCHECKABLE: "–",
    Verdict.FAITHFUL: "✓",
}

# Characters that could drive a terminal, reorder a line, or not be encoded at all. Each is
# replaced by exactly one visible character, so that spans keep pointing at the same text.
_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """Replace control characters, bidi overrides and lone surrogates with visible characters.

    The result has the same length.
    """
    return _UNSAFE.sub(_replacement, text)


def _replacement(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"


def one_line(text: str) -> str:
    """Return a text on one line, with `visible` applied."""
    return " ".join(visible(text).split())


def numbered(report: Report) -> list[tuple[int, ClaimReport]]:
    """Return the claims with their number in the response, in the order of `STATES`."""
    rank = {status: place for place, status in enumerate(STATES)}
    claims = list(enumerate(report.claims, start=1))
    return sorted(claims, key=lambda item: rank[item[1].status])


def evidence_label(claim: ClaimReport) -> str:
    """Return the label of the passage that is shown with a claim."""
    labels = {Status.SUPPORTED: "Source says", Status.CONTRADICTED: "Source says instead"}
    return labels.get(claim.status, "Closest passage")


def explanations(claim: ClaimReport) -> list[str]:
    """Return the explanations of a claim: its reading, its error and its citations."""
    lines = []
    if claim.read_as is not None:
        lines.append(f"Read as “{one_line(claim.read_as)}”")
    if claim.error is not None:
        said, found = one_line(claim.error.claim_words), one_line(claim.error.source_words)
        words = f"“{said}”" if said else "nothing"
        beside = f", in the source “{found}”" if found else ", not in the source"
        lines.append(f"{claim.error.kind.capitalize()}: {words}{beside}")
    for citation in claim.citations:
        start = f"{STATE_SYMBOL[citation.status]} cites [{one_line(citation.label)}]"
        missing = citation.document is None
        lines.append(
            f"{start}, which does not exist" if missing else f"{start}: {citation.status} by it"
        )
    return lines


def document_name(report: Report, document: int) -> str:
    """Return the name of a document of the source on one line, by its index."""
    return one_line(report.document_name(document))


def number(value: float | None) -> str:
    """Return a score with two decimals."""
    return "n/a" if value is None else f"{value:.2f}"


def score_line(report: Report) -> str:
    """Return the score and its side of the threshold."""
    if report.score is None:
        return f"no score (threshold {threshold_text(report)})"
    side = "at or over" if report.score >= report.threshold else "under"
    return f"score {report.score:.2f}, {side} the threshold {threshold_text(report)}"


def threshold_text(report: Report) -> str:
    """Return the threshold, with the name of its operating point if it was given by name."""
    name = report.provenance.configuration.get("threshold")
    return f"{report.threshold:.2f}" + (f" ({visible(name)})" if isinstance(name, str) else "")


def counts_line(report: Report) -> str:
    """Return the number of claims by state."""
    counts = Counter(claim.status for claim in report.claims)
    if not counts:
        return "no claims"
    return ", ".join(f"{counts[status]} {status}" for status in STATES if counts[status])


def citation_line(report: Report) -> str:
    """Return precision and recall of the citations; empty without citations."""
    scores = report.citations
    if scores is None:
        return ""
    return (
        f"Citations: precision {scores.precision:.2f}, recall {scores.recall:.2f}; claims "
        f"supported by what they cite {scores.supported_by_cited}, by another document "
        f"{scores.supported_by_other}, by none {scores.supported_by_none}"
    )


def summary(report: Report) -> str:
    """Return the verdict in one sentence."""
    total = len(report.claims)
    counts = Counter(claim.status for claim in report.claims)
    flagged = counts[Status.CONTRADICTED] + counts[Status.UNSUPPORTED]
    if report.verdict is Verdict.ABSTAINED:
        return "The response gives no answer, so there is nothing to check."
    if report.verdict is Verdict.UNCHECKABLE:
        if report.reason:
            return f"Could not be checked: {one_line(report.reason)}"
        if not total:
            return "Nothing could be checked."
        unchecked = _share(counts[Status.UNCHECKABLE], total)
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


def _share(part: int, total: int) -> str:
    return "The only claim" if total == 1 else f"{part} of {total} claims"


def paper_line(report: Report) -> str:
    """Return the score of the paper's formula; empty for a check by the default method."""
    if report.fed_score is None:
        return ""
    return f"FED score of the paper: {report.fed_score:.2f}"


def facts(report: Report) -> list[tuple[str, str]]:
    """Return version, time, verifier and settings as rows of name and value."""
    made = report.provenance
    used = [("verifier", made.verifier), ("settings", made.configuration)]
    if paper_line(report):
        used.append(("extractor", made.extractor))
    rows = [("HallDetect", made.version), ("seconds", f"{sum(report.cost.seconds.values()):.2f}")]
    for group, values in used:
        rows += [
            (f"{group} {name}", str(value))
            for name, value in values.items()
            if isinstance(value, str | int | float) and value is not False
        ]
    return [(one_line(name), one_line(value)) for name, value in rows]
