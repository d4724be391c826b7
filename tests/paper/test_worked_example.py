"""The worked example of the paper's appendix, with its probabilities and texts of our own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from halldetect import Detector, Status, Verdict
from halldetect.paper.windows import GRANULARITIES, group_sentences
from halldetect.report import Probabilities
from tests.support.fakes import OverlapVerifier, SentenceExtractor
from tests.support.paths import ROOT

SOURCE = (
    "The parish voted for a new mill race in May.",
    "It grants 9,000 crowns to lengthen the race by two weirs.",
    "Reeve Anna Holt said the work would spare the millers a day each week.",
    "Digging starts in autumn and takes a year.",
    "The miller Jon Park spoke against it because of the cost.",
    "The parish also keeps 500 crowns for the old sluice.",
    "The bakers were glad, hoping for cheaper flour.",
    "The grant leaves the ford as it is.",
)
CLAIMS = (
    "The parish granted 9,000 crowns to lengthen the mill race",
    "Reeve Holt was against the work",
    "The new weirs will have eel ladders",
)
# Per claim: first and last sentence of the best windows, from 1, with P(E) and with P(C).
TRAIL = (
    (((2, 2), 0.93), ((5, 5), 0.04), 0.89, Status.SUPPORTED),
    (((5, 5), 0.18), ((3, 3), 0.86), -0.68, Status.CONTRADICTED),
    (((1, 2), 0.06), ((8, 8), 0.21), -0.15, Status.UNSUPPORTED),
)


class TrailVerifier(OverlapVerifier):
    """Answers as the table of the paper; all other windows say little."""

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        found = []
        for window, claim in pairs:
            best, worst, *_ = TRAIL[CLAIMS.index(claim)]
            entailment = best[1] if window == sentences(*best[0]) else 0.01
            contradiction = worst[1] if window == sentences(*worst[0]) else 0.02
            rest = 1 - entailment - contradiction
            found.append(Probabilities(entailment, rest, contradiction))
        return found


def sentences(first: int, last: int) -> str:
    return " ".join(SOURCE[first - 1 : last])


def checked() -> Any:
    detector = Detector.paper(SentenceExtractor(), TrailVerifier(1000))
    return detector.check(" ".join(SOURCE), " ".join(f"{claim}." for claim in CLAIMS))


def test_scores_states_and_verdict_are_those_of_the_paper() -> None:
    report = checked()
    assert [claim.text for claim in report.claims] == list(CLAIMS)
    assert [claim.fed_score for claim in report.claims] == [score for *_, score, _ in TRAIL]
    assert [claim.status for claim in report.claims] == [status for *_, status in TRAIL]
    assert (report.fed_score, report.verdict) == (1.0, Verdict.HALLUCINATED)
    assert report.cost.pairs_judged == 3 * 15


def test_trail_names_the_windows_of_both_sides() -> None:
    for claim, (best, worst, *_) in zip(checked().claims, TRAIL, strict=True):
        assert claim.entailing.text == sentences(*best[0])
        assert claim.contradicting.text == sentences(*worst[0])


def test_page_has_the_trail() -> None:
    page = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")

    def cell(window: tuple[tuple[int, int], float]) -> str:
        (first, last), value = window
        return f"{value}, {first}" if first == last else f"{value}, {first} to {last}"

    for number, (best, worst, score, status) in enumerate(TRAIL, start=1):
        cells = (str(number), cell(best), cell(worst), f"{score:+}", status.value)
        assert f"| {' | '.join(cells)} |" in page
    windows = [tuple(group) for m in GRANULARITIES for group in group_sentences(len(SOURCE), m)]
    assert f"The paper counts {len(windows)} windows; {len(set(windows))} are different" in page
