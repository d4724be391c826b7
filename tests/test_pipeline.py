"""What an observer sees of a check, and that watching changes nothing."""

from __future__ import annotations

from dataclasses import replace

from halldetect import Detector, Pair, Report
from halldetect.pair_state import ClaimSettled, ClaimsExtracted, Event
from tests.support.fakes import OverlapVerifier, SentenceExtractor

SOURCE = "The bridge opened in 1932. It is 503 metres long. Six lanes cross it. " * 3
PAIRS = [
    Pair(SOURCE, "The bridge opened in 1932. It is 400 metres long. Whales live nearby."),
    Pair(SOURCE, ""),
    Pair([SOURCE, "Tolls were dropped in 1990."], "Tolls were dropped in 1990."),
    Pair(SOURCE, "It is " + "very " * 150 + "long. Six lanes cross it."),
]


def detector(**options: object) -> Detector:
    return Detector(SentenceExtractor(), OverlapVerifier(), **options)  # type: ignore[arg-type]


def untimed(report: Report) -> str:
    return replace(report, cost=replace(report.cost, seconds={})).to_json()


def test_the_last_word_on_each_claim_is_what_the_report_says() -> None:
    for options in ({}, {"exact": True}, {"scoring": "fed"}):
        seen: list[Event] = []
        reports = detector(**options).check_many(PAIRS, observe=seen.append)
        for pair, report in enumerate(reports):
            settled = {
                e.index: e.claim for e in seen if isinstance(e, ClaimSettled) and e.pair == pair
            }
            assert tuple(settled[place] for place in sorted(settled)) == report.claims
            extracted = [
                e.claims for e in seen if isinstance(e, ClaimsExtracted) and e.pair == pair
            ]
            assert [[claim.text for claim in claims] for claims in extracted] == (
                [[claim.text for claim in report.claims]] if report.claims else []
            )


def test_claims_come_before_their_verdicts_and_verdicts_one_by_one() -> None:
    seen: list[Event] = []
    verifier = OverlapVerifier()
    calls: list[int] = []
    Detector(SentenceExtractor(), verifier).check_many(
        PAIRS[:1], observe=lambda event: (seen.append(event), calls.append(len(verifier.calls)))[0]
    )
    assert isinstance(seen[0], ClaimsExtracted)
    assert all(isinstance(event, ClaimSettled) for event in seen[1:])
    assert calls[0] == 0
    assert calls[1] < calls[-1], "the first verdict does not wait for the last pair"


def test_a_claim_that_comes_again_keeps_its_state_and_loses_no_support() -> None:
    seen: list[ClaimSettled] = []
    detector().check_many(
        PAIRS, observe=lambda event: seen.append(event) if isinstance(event, ClaimSettled) else None
    )
    last: dict[tuple[int, int], ClaimSettled] = {}
    for event in seen:
        before = last.get((event.pair, event.index))
        if before is not None:
            assert before.claim.status is event.claim.status
            assert (before.claim.support or 0.0) <= (event.claim.support or 0.0)
        last[event.pair, event.index] = event


def test_watching_changes_no_report() -> None:
    watched = detector().check_many(PAIRS, observe=lambda event: None)
    assert [untimed(report) for report in watched] == [
        untimed(detector().check(pair.source, pair.response)) for pair in PAIRS
    ]
