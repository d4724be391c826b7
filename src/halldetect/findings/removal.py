"""Find the wrong words of failing claims by leaving out one phrase at a time.

The shortest phrase without which a claim is supported is wrong. Only claims whose words no rule
found are searched, and only when asked: a claim costs up to twelve questions to the verifier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice

from halldetect.explanation.error_kinds import KINDS
from halldetect.facts.phrases import Edit, shortened
from halldetect.facts.recogniser import find_facts
from halldetect.findings.wrong_words import located
from halldetect.protocols import Verifier
from halldetect.reading.claims import Claim
from halldetect.reading.sources import read_source
from halldetect.report import ErrorKind, Report, Status, WrongWords
from halldetect.scoring import Calibration, score_claim
from halldetect.verification.judging import verify
from halldetect.verification.planning import Kind, Task

_MOST = 12


def find_words(
    reports: Sequence[Report],
    verifier: Verifier,
    calibration: Calibration,
    progress: Callable[[int, int], None] | None = None,
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
    kind = None if getattr(verifier, "reads_whole_sources", False) else Kind.SHORT
    judged = verify(verifier, tasks, calibration.is_enough, progress, kind=kind)
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
                claims[at] = replace(claims[at], wrong=marked)
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
    return WrongWords(KINDS[facts[0].kind] if len(facts) == 1 else ErrorKind.INVENTED, words)
