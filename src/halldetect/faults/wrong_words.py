"""Wrong words of failing claims: those that rules find, and those that no text has.

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
from halldetect.faults.fault import with_place
from halldetect.models.loading import Models
from halldetect.protocols import Verifier
from halldetect.reading.claims import Claim
from halldetect.reading.overlap import content_keys, content_words
from halldetect.reading.sources import read_source
from halldetect.report import ClaimReport, ErrorKind, Report, Status, WrongWords
from halldetect.scoring import Calibration, Scored, score_claim
from halldetect.verification.asking import Asking
from halldetect.verification.judging import Advance, verify
from halldetect.verification.windows import Task

# From this share of new words on, a whole clause is marked, as people do.
_CLAUSE = 0.25
_CUT = re.compile(
    r"(?<=[,;:])\s|\s(?=\()|\s(?=(?:and|but|which|who|because|while|although|where|when|after|before"
    r"|including|such as|with)\b)"
)
# Questions to the verifier for each claim.
_MOST = 12


def mark_wrong_words(
    items: Sequence[Scored], asking: Asking, models: Models
) -> list[tuple[ClaimReport, ...]]:
    """Return the claims of each response with `wrong` filled where a rule finds the words.

    It uses no model; the arguments are those of every step.
    """
    return [_marked(item) for item in items]


def _marked(item: Scored) -> tuple[ClaimReport, ...]:
    reading, claims = item.reading, list(item.claims)
    failing = [(at, claim) for at, claim in enumerate(claims) if claim.failing]
    texts = [document.text for document in reading.documents if failing]
    known = frozenset[str]().union(*map(content_keys, (*texts, reading.question)))
    for at, claim in failing:
        # Every word of a translation is new.
        words = claim.wrong if reading.is_translated(at) else _wrong(claim, known)
        wrong = tuple(with_place(word, claim, reading.pair.response) for word in words)
        claims[at] = replace(claim, wrong=wrong)
    return tuple(claims)


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
    wanted: Sequence[bool] | None = None,
) -> list[Report]:
    """Return reports, or the wanted ones, with `wrong` filled by removal, judged together."""
    chosen = wanted or [True] * len(reports)
    pairs = zip(reports, chosen, strict=True)
    edits = [dict(_edits(report)) if one else {} for report, one in pairs]
    tasks = [
        Task(
            tuple(dict.fromkeys(chain.from_iterable(by_claim.values()))),
            tuple(map(read_source, report.documents)) if by_claim else (),
            report.document_names,
        )
        for report, by_claim in zip(reports, edits, strict=True)
    ]
    # A page is read again for each statement, unless the verifier reads it once for all.
    short = not verifier.reads_whole_sources
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
                marked = (with_place(word, claims[at], report.response),)
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
