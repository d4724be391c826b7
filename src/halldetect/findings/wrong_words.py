"""Find the words of failing claims that the source does not bear out.

The words come from the rules for numbers and error kinds. Without them, they are the runs of words
that the source never uses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from halldetect.explanation.explain import Findings
from halldetect.findings.places import located
from halldetect.reading.overlap import content_keys, content_words
from halldetect.report import ClaimReport, ErrorKind, WrongWords

# Runs of new words with fewer other words between them are one run.
_GAP = 6
# From this share of a claim on, its new words are the whole claim.
_WHOLE = 0.3
_WORD = re.compile(r"\w+")


def mark_wrong_words(
    findings: Sequence[Findings], progress: Callable[[int, int], None] | None = None
) -> list[Findings]:
    """Return the claims of each response with `wrong` filled where a rule finds the words."""
    results = []
    for item in findings:
        known: frozenset[str] | None = None
        reports = list(item.reports)
        for at, report in enumerate(reports):
            if not report.failing:
                continue
            if known is None:
                texts = [document.text for document in item.documents]
                known = content_keys("\n".join([*texts, item.question]))
            reports[at] = replace(report, wrong=tuple(_wrong(report, known, item.response)))
        results.append(item.adding(reports, ()))
    return results


def _wrong(report: ClaimReport, known: frozenset[str], response: str) -> Iterator[WrongWords]:
    found, error = list(report.wrong), report.error
    if error is not None and error.claim_words:
        said = error.claim_words
        same = [item for item in found if said in item.words or item.words in said]
        if same:
            filled = replace(same[0], source_words=same[0].source_words or error.source_words)
            found = [filled if item is same[0] else item for item in found]
        else:
            found.insert(0, located(response, report.span, error.kind, said, error.source_words))
    if found:
        yield from found
        return
    for words in new_words(report.text, known):
        kind = ErrorKind.NUMBER if words.replace(",", "").isdigit() else ErrorKind.INVENTED
        yield located(response, report.span, kind, words)


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
