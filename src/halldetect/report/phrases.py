"""The wording, the symbols and the order that every view of a report shares."""

from __future__ import annotations

import re
from collections import Counter

from halldetect.report.values import ClaimReport, Contents, Status, Verdict, WrongWords, not_checked

# Symbol, meaning, and label of the passage of each state. The most urgent first: the order of
# claims in every view. Where claims overlap, the first one wins.
_STATES = {
    Status.CONTRADICTED: ("✗", "the source says otherwise", "Source says instead"),
    Status.UNSUPPORTED: ("?", "nothing in the source says so", "Closest passage"),
    Status.UNCLEAR: ("~", "the source may say so", "Closest passage"),
    Status.UNCHECKABLE: ("–", "could not be checked", "Closest passage"),
    Status.SUPPORTED: ("✓", "the source says so", "Source says"),
}
STATES = tuple(_STATES)
STATE_SYMBOL = {state: symbol for state, (symbol, _, _) in _STATES.items()}
STATE_MEANING = {state: meaning for state, (_, meaning, _) in _STATES.items()}
PASSAGE_LABEL = {state: label for state, (_, _, label) in _STATES.items()}
VERDICT_SYMBOL = {
    Verdict.HALLUCINATED: "✗",
    Verdict.ABSTAINED: "○",
    Verdict.UNCHECKABLE: "–",
    Verdict.FAITHFUL: "✓",
}

# More parts that were not checked, and longer ones, are not shown in full.
MAX_PARTS = 50
MAX_PART = 300

# Characters that could drive a terminal, reorder a line, or not be encoded at all. Each is
# replaced by exactly one visible character, so that spans keep pointing at the same text.
_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """Replace each control character, bidi override and lone surrogate with a visible one."""

    def replacement(match: re.Match[str]) -> str:
        code = ord(match[0])
        return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"

    return _UNSAFE.sub(replacement, text)


def one_line(text: str) -> str:
    """Return a text on one line, with `visible` applied."""
    return " ".join(visible(text).split())


def explanations(claim: ClaimReport) -> list[str]:
    """Return the explanations of a claim: its reading, its error and its citations."""
    lines = [] if claim.span_reason is None else [one_line(claim.span_reason)]
    if claim.read_as is not None:
        lines.append(f"Read as “{one_line(claim.read_as)}”")
    said = ""
    if (error := claim.error) is not None:
        said = error.claim_words
        lines.append(
            wrong_line(WrongWords(error.kind, said, error.source_words, None, error.label))
        )
    for wrong in claim.wrong:
        if not said or not (wrong.words in said or said in wrong.words):
            lines.append(wrong_line(wrong))
    lines += [f"Quotation {one.state}: “{one_line(one.text)}”" for one in claim.quotations]
    for citation in claim.citations:
        missing = citation.document is None
        end = ", which does not exist" if missing else f": {citation.status} by it"
        lines.append(f"{STATE_SYMBOL[citation.status]} cites [{one_line(citation.label)}]{end}")
    return lines


def wrong_line(wrong: WrongWords, *, named: bool = True) -> str:
    """Return the kind of wrong words, the words if `named`, and what the source has instead."""
    said, instead = one_line(wrong.words), one_line(wrong.source_words)
    words = f"“{said}”, " if said else "nothing, "
    beside = f"in the source “{instead}”" if instead else "not in the source"
    return f"{one_line(wrong.label or wrong.kind.capitalize())}: {words if named else ''}{beside}"


def document_name(report: Contents, document: int) -> str:
    """Return the name of a document of the source on one line, by its index."""
    return one_line(report.document_name(document))


def number(value: float | None) -> str:
    """Return a score with two decimals."""
    return "n/a" if value is None else f"{value:.2f}"


def score_line(report: Contents) -> str:
    """Return the score and its side of the threshold."""
    if report.score is None:
        return f"no score (threshold {threshold_text(report)})"
    side = "at or over" if report.score >= report.threshold else "under"
    return f"score {report.score:.2f}, {side} the threshold {threshold_text(report)}"


def threshold_text(report: Contents) -> str:
    """Return the threshold, with the name of its operating point if it was given by name."""
    name = report.provenance.configuration.get("threshold")
    return f"{report.threshold:.2f}" + (f" ({visible(name)})" if isinstance(name, str) else "")


def detail_lines(report: Contents) -> list[str]:
    """Return the claims by state, the quality of the citations, and the score of the paper."""
    counts = Counter(claim.status for claim in report.claims)
    found = [f"{counts[status]} {status}" for status in STATES if counts[status]]
    if report.disputed:
        found.append(f"{len(report.disputed)} disputed")
    lines = [f"Claims: {', '.join(found) or 'none'}"]
    if (scores := report.citations) is not None:
        lines.append(
            f"Citations: precision {scores.precision:.2f}, recall {scores.recall:.2f}; claims "
            f"supported by what they cite {scores.supported_by_cited}, by another document "
            f"{scores.supported_by_other}, by none {scores.supported_by_none}"
        )
    if report.fed_score is not None:
        lines.append(f"FED score of the paper: {report.fed_score:.2f}")
    return lines


def unchecked_lines(report: Contents) -> list[str]:
    """Return a line for each part that may assert something and was not judged."""
    lines = [
        f"Not checked, {part.reason}: “{one_line(part.text[:MAX_PART])}”"
        for part in report.left_out[:MAX_PARTS]
    ]
    more = len(report.left_out) - len(lines)
    return [*lines, f"Not checked: {more} further parts"] if more else lines


def missing_lines(report: Contents) -> list[str]:
    """Return a line for each statement of the source that the response leaves out."""
    return [f"Not in the response: “{one_line(item.text[:MAX_PART])}”" for item in report.missing]


def summary(report: Contents) -> str:
    """Return the verdict in a sentence or two."""
    found = _summary(report)
    if report.disputed:
        found += f" Disputed by another document: {len(report.disputed)}."
    if report.verdict is Verdict.FAITHFUL and report.left_out:
        return f"Faithful in what was checked; {not_checked(report.left_out)}. {found}"
    return found


def _summary(report: Contents) -> str:
    total = len(report.claims)
    counts = Counter(claim.status for claim in report.claims)

    def share(part: int) -> str:
        return "The only claim" if total == 1 else f"{part} of {total} claims"

    if report.verdict is Verdict.ABSTAINED:
        return "The response gives no answer, so there is nothing to check."
    if report.verdict is Verdict.UNCHECKABLE:
        if report.reason:
            return f"Could not be checked: {one_line(report.reason)}"
        unchecked = share(counts[Status.UNCHECKABLE])
        end = "could not be checked, so nothing is called faithful."
        return f"{unchecked} {end}" if total else "Nothing could be checked."
    if flagged := counts[Status.CONTRADICTED] + counts[Status.UNSUPPORTED]:
        verb = "is" if flagged == 1 else "are"
        passed = report.verdict is Verdict.FAITHFUL
        end = ", but the score stays under the threshold" if passed else ""
        return f"{share(flagged)} {verb} not backed by the source{end}."
    if report.verdict is Verdict.HALLUCINATED:
        return "No claim is clearly unsupported, but the score reaches the threshold."
    if unclear := counts[Status.UNCLEAR]:
        end = "is unclear" if unclear == 1 else "are unclear"
        return f"{share(unclear)} {end}; nothing is clearly unsupported."
    return f"The source backs {'the only claim' if total == 1 else f'all {total} claims'}."


def facts(report: Contents) -> list[tuple[str, str]]:
    """Return version, time, verifier and settings as rows of name and value."""
    made = report.provenance
    used = [("verifier", made.verifier), ("settings", made.configuration)]
    if report.fed_score is not None:
        used.append(("extractor", made.extractor))
    rows = [("HallDetect", made.version), ("seconds", f"{sum(report.cost.seconds.values()):.2f}")]
    for group, values in used:
        rows += [
            (f"{group} {name}", str(value))
            for name, value in values.items()
            if isinstance(value, str | int | float) and value is not False
        ]
    return [(one_line(name), one_line(value)) for name, value in rows]
