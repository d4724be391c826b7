"""Whether a failing claim contradicts another claim of its response.

A rule finds claims that say nearly the same but for a number, a date, a unit or a negation. Only
of those is the verifier asked whether each contradicts the other; both answers must say so. This
explains claims that fail: two claims that the source supports do not contradict each other.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from halldetect.claims import Claim
from halldetect.explanation.error_kinds import error_candidates, shortened
from halldetect.protocols import Verifier
from halldetect.reading.document import Span
from halldetect.reading.overlap import content_keys, shared_part
from halldetect.reading.words import words
from halldetect.report import ErrorKind, ErrorReport, Probabilities
from halldetect.verification.rounds import JudgedClaim
from halldetect.verification.scales import Window

# Claims of which each has this share of the other's words are about the same.
MIN_SHARED = 0.6
# A claim is compared with so many before it and after it.
MAX_DISTANCE = 100
# Of these so many are looked at, those that share most.
MAX_CANDIDATES = 3
# P(C), in both directions.
CONTRADICTS_FROM = 0.5
_KINDS = (ErrorKind.NUMBER, ErrorKind.DATE, ErrorKind.UNIT, ErrorKind.NEGATION)


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two claims of a response that may contradict each other.

    claim        the one that fails, by its index
    other        the other one, by its index
    claim_words  what the first says and the second does not
    """

    claim: int
    other: int
    claim_words: str


def find_conflicts(
    texts: Sequence[str], failing: Sequence[int], pause: Callable[[], None] = lambda: None
) -> Iterator[Conflict]:
    """The claims that differ from failing ones by a single number, date, unit or negation.

    texts    the claims of the response as they are read
    failing  which of them fail
    pause    is called before each of those
    """
    keys = [content_keys(text) for text in texts] if failing else []
    for at in failing:
        pause()
        near = range(max(at - MAX_DISTANCE, 0), min(at + MAX_DISTANCE + 1, len(texts)))
        shares = {
            other: min(shared_part(keys[at], keys[other]), shared_part(keys[other], keys[at]))
            for other in near
            if texts[other] != texts[at]
        }
        likely = heapq.nlargest(MAX_CANDIDATES, shares, key=lambda other: (shares[other], -other))
        for other in likely:
            if shares[other] < MIN_SHARED or _numbers_apart(texts[at], texts[other]):
                continue
            errors = list(error_candidates(texts[at], texts[other], contradicted=True))
            if len(errors) == 1 and errors[0].kind in _KINDS:
                yield Conflict(at, other, errors[0].claim_words)
                break


def _numbers_apart(text: str, other: str) -> bool:
    """Whether more than one number differs: the texts are rows of a list, not two of one kind."""
    first, second = ({word.norm for word in words(item) if word.numeric} for item in (text, other))
    return len(first ^ second) > 2


def confirm(
    conflicts: Sequence[tuple[Sequence[Claim], Conflict]], verifier: Verifier
) -> Iterator[tuple[ErrorReport | None, JudgedClaim]]:
    """What is wrong with each claim that the verifier finds to contradict the other, and the cost.

    conflicts  the claims of a response, and a conflict between two of them
    verifier   is asked in both directions
    """
    texts = [
        (claims[found.claim].hypothesis, claims[found.other].hypothesis)
        for claims, found in conflicts
    ]
    pairs = [pair for said, other in texts for pair in ((other, said), (said, other))]
    answers = verifier.judge(pairs) if pairs else []
    for number, (claims, found) in enumerate(conflicts):
        both = answers[2 * number : 2 * number + 2]
        said, other = texts[number]
        report = None
        if all((answer.contradiction or 0.0) > CONTRADICTS_FROM for answer in both):
            words = found.claim_words or shortened(said)
            report = ErrorReport(ErrorKind.SELF, words, shortened(other))
        yield report, _judged(claims[found.claim], (said, other), both, verifier)


def _judged(
    claim: Claim, texts: tuple[str, str], answers: Sequence[Probabilities], verifier: Verifier
) -> JudgedClaim:
    """The two questions, for the cost."""
    windows = tuple(Window(text, 0, Span(0, len(text)), ()) for text in reversed(texts))
    tokens = 2 * sum(verifier.count_tokens(texts))
    return JudgedClaim(claim, windows, tuple(answers), tokens=tokens)
