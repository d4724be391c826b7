"""Wrong words of claims: their places, what they do to the support, and those of failing claims.

The words come from the rules for numbers and error kinds. Without them, and of an invented detail,
they are the runs of words that the source never uses. `find_words` asks the verifier for them,
leaving out one phrase at a time: the shortest one without which a claim is supported is wrong.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby, islice, pairwise

from halldetect.facts.phrases import Edit, shortened
from halldetect.facts.recogniser import find_facts
from halldetect.loading import Models
from halldetect.preparation import Findings
from halldetect.protocols import Verifier
from halldetect.reading.claims import Claim
from halldetect.reading.document import Span, place_of
from halldetect.reading.overlap import content_keys, content_words
from halldetect.reading.sources import read_source
from halldetect.report import ClaimReport, ErrorKind, Report, Status, WrongWords, rounded
from halldetect.scoring import Calibration, score_claim
from halldetect.verification.judging import Advance, verify
from halldetect.verification.windows import Task

# A claim with more support than this keeps it, unless a rule needs no verifier.
_SURE = 0.975
# From this share of new words on, a whole clause is marked, as people do.
_CLAUSE = 0.25
_CUT = re.compile(
    r"(?<=[,;:])\s|\s(?=\()|\s(?=(?:and|but|which|who|because|while|although|where|when|after|before"
    r"|including|such as|with)\b)"
)
# Questions to the verifier for each claim.
_MOST = 12


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
    found = report.span and place_of(wrong.words, report.span.cut(response))
    if not report.span or not found:
        return wrong
    start = report.span.start
    return replace(wrong, span=Span(start + found.start, start + found.end))


def mark_wrong_words(
    findings: Sequence[Findings], models: Models, progress: Advance | None = None
) -> list[Findings]:
    """Return the claims of each response with `wrong` filled where a rule finds the words.

    It uses no model; the arguments are those of every step.
    """
    results = []
    for item in findings:
        reports = list(item.reports)
        failing = [(at, report) for at, report in enumerate(reports) if report.failing]
        texts = [document.text for document in item.documents if failing]
        known = frozenset[str]().union(*map(content_keys, (*texts, item.question)))
        for at, report in failing:
            # Every word of a translation is new.
            found = report.wrong if item.is_translated(at) else _wrong(report, known)
            wrong = tuple(located(word, report, item.pair.response) for word in found)
            reports[at] = replace(report, wrong=wrong)
        results.append(item.adding(reports))
    return results


def _wrong(report: ClaimReport, known: frozenset[str]) -> Iterator[WrongWords]:
    error, found = report.error, list(report.wrong)
    said = "" if error is None else error.claim_words
    if error is not None and said and error.kind is not ErrorKind.INVENTED:
        same = [item for item in found if said in item.words or item.words in said]
        if same:
            at, more = found.index(same[0]), error.source_words
            found[at] = replace(same[0], source_words=same[0].source_words or more)
        else:
            found.insert(0, WrongWords(error.kind, said, error.source_words))
    yield from found
    # The error has only the first of the new words.
    if not any(item.source_words or item.kind is ErrorKind.IDENTIFIER for item in found):
        marked = [item.words for item in found]
        runs = new_words(report.text, known) or [said]
        yield from (
            WrongWords(ErrorKind.INVENTED, words) for words in runs if words and words not in marked
        )


def new_words(claim: str, known: frozenset[str]) -> list[str]:
    """Return the clauses of a claim in which many content words are new to the source.

    If there are few new words, the clause with the largest share of them is returned.
    """
    words = content_words(claim)
    starts = [word.start for word in words]
    cuts = [0, *(match.start() for match in _CUT.finditer(claim)), len(claim)]
    shares = {}
    for start, end in pairwise(cuts):
        inside = words[bisect_left(starts, start) : bisect_left(starts, end)]
        new = [word.key not in known for word in inside]
        shares[start, end] = sum(new) / (len(new) or 1)
    least = min(_CLAUSE, max(shares.values()))
    runs = groupby(shares, key=lambda place: shares[place] >= least > 0)
    found = [list(places) for marked, places in runs if marked]
    return [claim[run[0][0] : run[-1][1]].strip(" ,;:().") for run in found]


def find_words(
    reports: Sequence[Report],
    verifier: Verifier,
    calibration: Calibration,
    progress: Advance | None = None,
) -> list[Report]:
    """Return reports with `wrong` of the failing claims filled by removal, judged together."""
    edits = [dict(_edits(report)) for report in reports]
    tasks = [
        Task(
            tuple(dict.fromkeys(chain.from_iterable(by_claim.values()))),
            tuple(map(read_source, report.documents)) if by_claim else (),
            report.document_names,
        )
        for report, by_claim in zip(reports, edits, strict=True)
    ]
    # A page is read again for each statement, unless the verifier reads it once for all.
    short = not getattr(verifier, "reads_whole_sources", False)
    judged = verify(verifier, tasks, calibration.is_enough, progress, short=short)
    results = []
    for report, by_claim, task, answers in zip(reports, edits, tasks, judged, strict=True):
        fitted = calibration.for_response(len(report.claims))
        claims = list(report.claims)
        scored = {
            text: score_claim(Claim(text, None, ""), answer, fitted).status
            for text, answer in zip(task.statements, answers, strict=True)
        }
        for at, by_text in by_claim.items():
            found = [_words(claims[at].text, edit) for text, edit in by_text.items()
                     if scored[text] is Status.SUPPORTED]  # fmt: skip
            if found:
                word = min(found, key=lambda item: len(item.words))
                marked = (located(word, claims[at], report.response),)
                marked_claim = replace(claims[at], wrong=marked)
                claims[at] = marked_claim.labelled(report.provenance.configuration)
        results.append(replace(report, claims=tuple(claims)))
    return results


def _edits(report: Report) -> Iterator[tuple[int, dict[str, Edit]]]:
    """Yield the index and the edits of each failing claim whose words no rule found."""
    source = "\n".join(report.documents)
    for at, claim in enumerate(report.claims):
        guessed = all(word.kind == ErrorKind.INVENTED for word in claim.wrong)
        if claim.failing and claim.error is None and guessed:
            edits = shortened(claim.text, source, loosely=True)
            yield at, dict(islice(edits.items(), _MOST))


def _words(claim: str, edit: Edit) -> WrongWords:
    words = claim[edit.start : edit.end]
    # An edit before a noun also replaces the article.
    words = (words.partition(" ")[2] if edit.text.endswith(" ") else words).strip(" ,;:()")
    facts = find_facts(words)
    return WrongWords(ErrorKind(facts[0].kind) if len(facts) == 1 else ErrorKind.INVENTED, words)
