"""The paper's method against an independent version of it, written from its formulas."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from halldetect import Detector, Status, Verdict
from halldetect.config import Configuration
from halldetect.errors import ExtractionError
from halldetect.inputs import CleanPair
from halldetect.models.loading import Models
from halldetect.paper.contrast import report_claim
from halldetect.paper.fed import fed
from halldetect.paper.method import check
from halldetect.paper.windows import source_windows
from halldetect.protocols import ClaimsExtracted, Draft, Event
from halldetect.reading.claims import Claim
from halldetect.reading.document import Span
from halldetect.reading.sources import read_source
from halldetect.report import Probabilities
from halldetect.scoring import Calibration
from halldetect.verification.judging import Judgement
from halldetect.verification.windows import Window
from tests.support.fakes import OverlapVerifier, SentenceExtractor

WORDS = "mill wheel flood museum stone barley river owner iron axle 1790 1850 never built".split()


def texts(seed: int) -> tuple[str, str]:
    """Return a source of 1 to 40 sentences and a response of 1 to 6."""
    chosen = random.Random(seed)

    def sentence() -> str:
        return " ".join(chosen.choices(WORDS, k=chosen.randint(4, 9))).capitalize() + "."

    count, asked = chosen.randint(1, 40), chosen.randint(1, 6)
    source = [sentence() for _ in range(count)]
    response = [chosen.choice([*source, sentence()]) for _ in range(asked)]
    return " ".join(source), " ".join(response)


def reference_windows(sentences: list[str]) -> set[str]:
    found = set()
    for m in (1, 2, 4, 8, 16):
        size = math.ceil(len(sentences) / m)
        for start in range(0, len(sentences), size):
            found.add(" ".join(sentences[start : start + size]))
    return found


def reference_fed(scores: list[float]) -> float:
    if min(scores) <= 0:
        return 1.0
    return 1 - math.prod(scores) ** (1 / len(scores))


@pytest.mark.parametrize("seed", range(50))
def test_windows_equal_the_reference(seed: int) -> None:
    source, _ = texts(seed)
    document = read_source(source)
    sentences = [span.cut(source) for span in document.sentences]
    assert {window.text for window in source_windows([document])} == reference_windows(sentences)


def test_eight_sentences_give_windows_of_every_scale() -> None:
    source = " ".join(f"The mill has wheel {n}." for n in range(8))
    windows = source_windows([read_source(source)])
    assert sum(len(window.scales) for window in windows) == 1 + 2 + 4 + 8 + 8
    assert len(windows) == 15


def test_fed_equals_the_reference_on_random_vectors() -> None:
    chosen = random.Random(1)
    for _ in range(10_000):
        scores = [chosen.uniform(-0.05, 1) for _ in range(chosen.randint(1, 10))]
        assert fed(scores) == pytest.approx(reference_fed(scores), abs=1e-12)
    assert fed([1.0]) == 0.0
    assert fed([0.5, 0.0]) == 1.0
    with pytest.raises(ValueError, match=r"^FED of no claims is undefined$"):
        fed([])


@pytest.mark.parametrize("seed", range(50))
def test_whole_method_equals_the_reference(seed: int) -> None:
    source, response = texts(seed)
    verifier = OverlapVerifier(1000)
    report = Detector.paper(SentenceExtractor(), verifier).check(source, response)
    document, answer = read_source(source), read_source(response)
    windows = reference_windows([span.cut(source) for span in document.sentences])
    sentences = [span.cut(response) for span in answer.sentences]
    limit = min(10, 4 * len(sentences))
    claims = [text.rstrip(".") for text in sentences][:limit]
    scores = []
    for claim in claims:
        answers = [verifier._judge(window, claim) for window in windows]
        best = max(answer.entailment for answer in answers)
        worst = max(answer.contradiction or 0.0 for answer in answers)
        scores.append(best - worst)
    found = [claim for claim in report.claims if claim.fed_score is not None]
    assert [claim.text for claim in found] == claims
    assert [claim.fed_score for claim in found] == pytest.approx(scores, abs=1e-6)
    assert report.score == report.fed_score == pytest.approx(reference_fed(scores), abs=1e-4)
    assert (report.score >= 0.5) == (report.verdict is Verdict.HALLUCINATED)
    assert report.cost.pairs_judged == len(
        {(window, claim) for window in windows for claim in claims}
    )


def test_limit_is_ten_claims_without_dropping_sentences() -> None:
    response = " ".join(f"Pilgrim {n} slept upstairs." for n in range(30))
    report = Detector.paper(SentenceExtractor(), OverlapVerifier()).check(
        "The mill is old.", response
    )
    checked = [claim for claim in report.claims if claim.status is not Status.UNCHECKABLE]
    assert (len(checked), len(report.claims)) == (10, 30)
    assert {claim.reason for claim in report.claims[10:]} == {
        "the limit of 10 claims was reached before it"
    }


def test_windows_too_long_are_cut_off() -> None:
    padding = "Rain fell on the roofs of the town and everyone stayed at home. " * 40
    verifier = OverlapVerifier(60)
    report = Detector.paper(SentenceExtractor(), verifier).check(
        padding + "Today the mill is a museum.", "Today the mill is a museum."
    )
    assert max(sum(verifier.count_tokens(pair)) for call in verifier.calls for pair in call) <= 60
    assert report.claims[0].entailing is not None
    assert report.claims[0].entailing.scales


class Scripted:
    """An extractor that proposes given lines, or fails."""

    description: dict[str, Any] = {"name": "scripted"}  # noqa: RUF012

    def __init__(self, *lines: str, error: Exception | None = None) -> None:
        self.lines, self.error = lines, error

    def draft(self, response: str, limit: int) -> Draft:
        if self.error is not None:
            raise self.error
        return Draft(self.lines, 1, 5, 7)


def test_sentence_without_a_claim_is_named() -> None:
    report = Detector.paper(Scripted("Bob left Rome"), OverlapVerifier()).check(
        "Bob left Rome.", "Bob left Rome. Ann sold a boat."
    )
    assert report.verdict is Verdict.UNCHECKABLE
    assert report.claims[1].reason == "the extractor made no claim of it"
    assert (report.cost.generative_passes, report.cost.extractor_tokens_out) == (1, 7)


def test_failures_are_reasons() -> None:
    failing = Scripted(error=ExtractionError("out of memory"))
    report = Detector.paper(failing, OverlapVerifier()).check("Bob left.", "Bob left.")
    assert report.reason == "the claims could not be extracted: out of memory"
    silent = Detector.paper(Scripted(), OverlapVerifier()).check("Bob left.", "Bob left.")
    assert silent.reason == "the extractor found no claim in the response"
    for failed in (report, silent):
        assert (failed.verdict, failed.threshold) == (Verdict.UNCHECKABLE, 0.5)
        assert failed.provenance.extractor == {"name": "scripted"}
        assert failed.provenance.verifier == OverlapVerifier().description
    refused = Detector.paper(Scripted(), OverlapVerifier(), threshold=0.3).check("Bob left.", "")
    assert (refused.reason, refused.threshold) == ("the response is empty", 0.3)
    assert refused.provenance.extractor == {}


@pytest.mark.parametrize("line", ["Bob left Rome", ""])
def test_remarks_on_the_pair_and_the_models_reach_the_report(line: str) -> None:
    item = CleanPair(("Bob left Rome.",), "Bob left Rome.", None, ("of the pair",))
    models = Models(
        OverlapVerifier(), Calibration(), 0.5, notes=("of the models",), extractor=Scripted(line)
    )
    report = check(item, Configuration.for_paper(), models)
    assert (report.verdict is Verdict.UNCHECKABLE) == (not line)
    assert report.provenance.notes == ("of the pair", "of the models")


def telling(verifier: OverlapVerifier, steps: list[tuple[str, int, int]]) -> Detector:
    return Detector(
        verifier,
        extractor=SentenceExtractor(),
        config=Configuration.for_paper().replaced(fallback=None),
        progress=lambda *step: steps.append(step),
    )


def test_observers_get_the_claims_and_the_phases() -> None:
    events: list[Event] = []
    steps: list[tuple[str, int, int]] = []
    paper = telling(OverlapVerifier(), steps)
    reports = paper.check_many(
        [("Bob left Rome.", "Bob left. Ann sang."), ("Bob left.", ""), ("Bob left.", "Bob left.")],
        observe=events.append,
    )
    assert events == [
        ClaimsExtracted(0, (Claim("Bob left", Span(0, 8)), Claim("Ann sang", Span(10, 18)))),
        ClaimsExtracted(2, (Claim("Bob left", Span(0, 8)),)),
    ]
    assert {phase for phase, _, _ in steps} == {"verify"}
    for report in (reports[0], reports[2]):
        assert set(report.cost.seconds) == {"extract", "verify"}
        assert all(0.0 <= spent < 60.0 for spent in report.cost.seconds.values())


class Limited(OverlapVerifier):
    """Wants few pairs per call."""

    pairs_at_once = 3


@pytest.mark.parametrize(("kind", "most"), [(OverlapVerifier, 16), (Limited, 3)])
def test_every_pair_is_judged_once_in_batches(kind: type[OverlapVerifier], most: int) -> None:
    verifier = kind()
    source = " ".join(f"The mill has wheel {n}." for n in range(8))
    steps: list[tuple[str, int, int]] = []
    paper = telling(verifier, steps)
    paper.check(source, "The mill has wheels. The mill is old.")
    pairs = [pair for call in verifier.calls for pair in call]
    assert len(pairs) == len(set(pairs)) == 30
    assert [len(call) for call in verifier.calls[:-1]] == [most] * (29 // most)
    assert [done for _, done, _ in steps] == sorted(done for _, done, _ in steps)
    assert steps[-1][1] == steps[-1][2]


def test_two_way_verifier_contradicts_nothing() -> None:
    source = "Bob left Rome. Ann sold a boat."
    (claim,) = (
        Detector.paper(SentenceExtractor(), OverlapVerifier(two_way=True))
        .check(source, "Bob never left Rome.")
        .claims
    )
    assert (claim.contradiction, claim.contradicting) == (None, None)
    assert claim.proof == claim.entailing
    (claim,) = (
        Detector.paper(SentenceExtractor(), OverlapVerifier())
        .check(source, "Bob never left Rome.")
        .claims
    )
    assert claim.status is Status.CONTRADICTED
    assert claim.contradiction == pytest.approx(0.735)
    assert claim.proof == claim.contradicting != claim.entailing


@pytest.mark.parametrize(
    ("answers", "status", "score"),
    [
        ([(0.6, 0.1), (0.1, 0.5)], Status.SUPPORTED, 0.1),
        ([(0.5, 0.5)], Status.UNSUPPORTED, 0.0),
        ([(0.4, 0.51)], Status.CONTRADICTED, -0.11),
        ([(0.4, 0.1), (0.1, 0.9)], Status.CONTRADICTED, -0.5),
        ([(0.2, 0.3)], Status.UNSUPPORTED, -0.1),
    ],
)
def test_claim_is_grounded_if_support_prevails(
    answers: list[tuple[float, float]], status: Status, score: float
) -> None:
    windows = tuple(Window(f"W{at}", 0, Span(at, at + 1)) for at in range(len(answers)))
    found = tuple(Probabilities(yes, 1.0 - yes - no, no) for yes, no in answers)
    report = report_claim(Claim("Bob left", Span(0, 8)), Judgement(windows, found))
    assert report.status is status
    assert report.fed_score == pytest.approx(score)
    assert report.support == max(yes for yes, _ in answers)
    assert report.contradiction == max(no for _, no in answers)


def test_claim_without_windows_has_a_reason() -> None:
    claim = Claim("Bob left", None, "its place is unknown")
    found = report_claim(claim, Judgement())
    assert (found.status, found.reason) == (
        Status.UNCHECKABLE,
        "no window of the source was judged",
    )
    assert report_claim(claim, Judgement(reason="too long")).reason == "too long"
    paper = Detector.paper(SentenceExtractor(), OverlapVerifier(5))
    fits, exceeds = paper.check(
        "Bob left.", "Bob left Rome today. Bob left Rome again today."
    ).claims
    assert fits.reason is None
    assert exceeds.reason == "the claim has 5 tokens; the verifier reads fewer"
    report = paper.check("Bob left.", "Bob left Rome again today.")
    assert (report.verdict, report.fed_score) == (Verdict.UNCHECKABLE, None)


def test_default_report_has_no_field_of_the_paper() -> None:
    data = Detector(OverlapVerifier()).check("Bob left Rome.", "Bob left Rome.").to_dict()
    assert "fed_score" not in data
    assert not {"fed_score", "entailing", "contradicting"} & set(data["claims"][0])
    assert set(data["claims"][0]["proof"]) == {"text", "document", "span"}
    paper = Detector.paper(SentenceExtractor(), OverlapVerifier())
    data = paper.check("Bob left Rome.", "Bob left Rome.").to_dict()
    assert data["fed_score"] is not None
    assert {"fed_score", "entailing", "contradicting"} <= set(data["claims"][0])
