"""Wrong words of claims: their places, what they do to the support, and those of failing claims.

The words come from the rules for numbers and error kinds. Without them, they are the runs of words
that the source never uses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from halldetect.explanation.explain import Findings
from halldetect.reading.document import Span
from halldetect.reading.overlap import content_keys, content_words
from halldetect.report import ClaimReport, ErrorKind, WrongWords, rounded
from halldetect.scoring import Calibration

# A claim with more support than this keeps it, unless a rule needs no verifier.
_SURE = 0.975
# Runs of new words with fewer other words between them are one run.
_GAP = 6
# From this share of a claim on, its new words are the whole claim.
_WHOLE = 0.3
_WORD = re.compile(r"\w+")


def lowered(
    report: ClaimReport,
    wrong: Sequence[WrongWords],
    response: str,
    calibration: Calibration,
    *,
    certain: bool,
) -> ClaimReport:
    """Return a claim with wrong words; its support is halved, unless the verifier is sure.

    A `certain` rule decides without the verifier.
    """
    support = report.support
    if not wrong or support is None or (support > _SURE and not (certain or report.failing)):
        return report
    placed = (located(word, report, response) for word in wrong)
    marked = replace(report, wrong=(*report.wrong, *placed))
    if report.failing:
        return marked
    halved = rounded(support / 2)
    status = calibration.status(halved, report.contradiction or 0.0)
    return replace(marked, support=halved, status=status)


def located(wrong: WrongWords, report: ClaimReport, response: str) -> WrongWords:
    """Return wrong words of a claim with their place in the response."""
    if report.span is None or not wrong.words.strip():
        return wrong
    # The response may have other white space and mark-up between the words.
    pattern = r"[\s*_`]+".join(map(re.escape, wrong.words.split()))
    found = re.search(pattern, report.span.cut(response), re.IGNORECASE)
    if found is None:
        return wrong
    start = report.span.start
    return replace(wrong, span=Span(start + found.start(), start + found.end()))


def mark_wrong_words(
    findings: Sequence[Findings], progress: Callable[[int, int], None] | None = None
) -> list[Findings]:
    """Return the claims of each response with `wrong` filled where a rule finds the words."""
    results = []
    for item in findings:
        reports = list(item.reports)
        failing = [(at, report) for at, report in enumerate(reports) if report.failing]
        texts = [document.text for document in item.documents if failing]
        known = frozenset[str]().union(*map(content_keys, (*texts, item.question)))
        for at, report in failing:
            # Every word of a translation is new.
            found = report.wrong if item.is_translated(at) else _wrong(report, known)
            wrong = tuple(located(word, report, item.response) for word in found)
            reports[at] = replace(report, wrong=wrong)
        results.append(item.adding(reports, ()))
    return results


def _wrong(report: ClaimReport, known: frozenset[str]) -> Iterator[WrongWords]:
    error = report.error
    if error is not None and (said := error.claim_words):
        same = [item for item in report.wrong if said in item.words or item.words in said]
        if not same:
            yield WrongWords(error.kind, said, error.source_words)
        for item in report.wrong:
            more = error.source_words if item in same[:1] else ""
            yield replace(item, source_words=item.source_words or more)
    elif report.wrong:
        yield from report.wrong
    else:
        for words in new_words(report.text, known):
            number = words.replace(",", "").isdigit()
            yield WrongWords(ErrorKind.NUMBER if number else ErrorKind.INVENTED, words)


def new_words(claim: str, known: frozenset[str]) -> list[str]:
    """Return the runs of words of a claim whose content words the source never uses.

    The whole claim is one run if many of its content words are new.
    """
    content = content_words(claim)
    new = [word for word in content if word.key not in known]
    if not new:
        return []
    if len(new) >= _WHOLE * len(content):
        return [claim[content[0].start : content[-1].end]]
    runs = [[new[0].start, new[0].end]]
    for word in new[1:]:
        if len(_WORD.findall(claim[runs[-1][1] : word.start])) < _GAP:
            runs[-1][1] = word.end
        else:
            runs.append([word.start, word.end])
    return [claim[start:end] for start, end in runs]
