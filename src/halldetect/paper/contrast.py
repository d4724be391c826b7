"""Phase III: judge every claim against every window, and contrast the two best answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from halldetect.paper.windows import truncated
from halldetect.protocols import Verifier
from halldetect.reading.claims import Claim
from halldetect.report import ClaimReport, Status, rounded
from halldetect.scoring import best_passage, contradiction_of, evidence_of, uncheckable
from halldetect.verification.judging import Advance, Judgement, verify
from halldetect.verification.windows import Task, Window


def contrast(entailment: Sequence[float], contradiction: Sequence[float | None]) -> float:
    """Return Score(c): best entailment minus best contradiction, chosen independently."""
    known = [value for value in contradiction if value is not None]
    return max(entailment) - max(known, default=0.0)


def judge_claims(
    claims: Sequence[Claim],
    windows: Sequence[Window],
    verifier: Verifier,
    progress: Advance | None = None,
) -> list[Judgement]:
    """Judge each claim without a problem against every window; truncate long windows."""
    texts = tuple(claim.text for claim in claims)
    sizes = verifier.count_tokens(texts)
    fitted = [
        []
        if claim.problem is not None or size >= verifier.max_tokens
        else _fitted(windows, verifier, verifier.max_tokens - size)
        for claim, size in zip(claims, sizes, strict=True)
    ]
    task = Task(texts, windows=tuple(fitted))
    (judged,) = verify(verifier, [task], progress=progress, short=True)
    return [
        found
        if found.windows
        else Judgement(
            reason=claim.problem or f"the claim has {size} tokens; the verifier reads fewer"
        )
        for claim, size, found in zip(claims, sizes, judged, strict=True)
    ]


def _fitted(windows: Sequence[Window], verifier: Verifier, room: int) -> list[Window]:
    """Truncate the windows; merge those of the same span with all their scales."""
    kept: dict[tuple[int, int, int], Window] = {}
    for window in windows:
        cut = truncated(window, verifier, room)
        key = (cut.document, cut.span.start, cut.span.end)
        if key in kept:
            cut = replace(kept[key], scales=tuple(sorted({*kept[key].scales, *cut.scales})))
        kept[key] = cut
    return list(kept.values())


def report_claim(claim: Claim, judged: Judgement) -> ClaimReport:
    """Return the report of a claim by the paper's score: grounded if support prevails."""
    if not judged.windows:
        return uncheckable(claim, judged.reason or "no window of the source was judged")
    passages = [
        evidence_of(window, answer)
        for window, answer in zip(judged.windows, judged.probabilities, strict=True)
    ]
    answers = [item.probabilities for item in passages if item.probabilities is not None]
    score = contrast(
        [item.entailment for item in answers], [item.contradiction for item in answers]
    )
    entailing = best_passage(passages, lambda answer: answer.entailment)
    contradicting = best_passage(passages, contradiction_of)
    most = max(map(contradiction_of, answers))
    two_way = all(item.contradiction is None for item in answers)
    status = Status.SUPPORTED
    if score <= 0.0:
        status = Status.CONTRADICTED if most > 0.5 else Status.UNSUPPORTED
    return ClaimReport(
        text=claim.text,
        span=claim.span,
        span_reason=claim.span_reason,
        status=status,
        reason=None,
        support=rounded(max(item.entailment for item in answers)),
        contradiction=None if two_way else rounded(most),
        proof=contradicting if status is Status.CONTRADICTED else entailing,
        fed_score=rounded(score),
        entailing=entailing,
        contradicting=None if two_way else contradicting,
    )
