"""The shortest passage that settles a claim, found for the right claim."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from halldetect import Detector
from halldetect.faults import proofs
from halldetect.inputs import CleanPair
from halldetect.models.loading import Models
from halldetect.protocols import Verifier
from halldetect.reading.claims import Claim
from halldetect.reading.document import Span
from halldetect.reading.reader import Reading
from halldetect.reading.sources import read_source
from halldetect.report import ClaimReport, Evidence, Probabilities, Status
from halldetect.scoring import Calibration, Scored
from halldetect.verification.asking import Answer, Asking
from halldetect.verification.judged import Judged
from halldetect.verification.judging import Judgement
from halldetect.verification.windows import Window
from tests.support.fakes import OverlapVerifier

SOURCE = (
    "The harbour was dredged in spring. Anna Brandt won the regatta. The weather was fine. "
    "She is a nurse. The prize was a lamp. Nobody was hurt. The band played until late. "
    "The mayor gave a speech. Fireworks ended the evening."
)
YES, NO = Probabilities(0.9, 0.1, 0.0), Probabilities(0.0, 0.1, 0.9)
UNSURE = Probabilities(0.2, 0.8, 0.0)


class NeedsAll(OverlapVerifier):
    """Entailed where a window has all phrases, contradicted where it has the denial."""

    reads_whole_sources = True

    def __init__(self, *phrases: str, denial: str = "\0") -> None:
        super().__init__()
        self.phrases, self.denial = phrases, denial

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        self.calls.append(list(pairs))
        return [self._answer(premise) for premise, _ in pairs]

    def _answer(self, premise: str) -> Probabilities:
        if self.denial in premise:
            return NO
        return YES if all(phrase in premise for phrase in self.phrases) else UNSURE


def scored(
    *statements: str,
    status: Status = Status.SUPPORTED,
    answer: Probabilities = YES,
    source: str = SOURCE,
    answers: Sequence[Answer] = (),
) -> Scored:
    """Return claims that the whole source settles."""
    whole = Evidence(source, 0, Span(0, len(source)), (), answer)
    claims = tuple(Claim(text, None) for text in statements)
    pair = CleanPair((source,), " ".join(statements), None)
    reading = Reading(pair, (read_source(source),), claims, (), (), len(claims))
    reports = (ClaimReport(text, None, None, status, None, 0.9, proof=whole) for text in statements)
    judged = Judged(reading, (tuple(answers), *[()] * (len(claims) - 1)))
    return Scored(judged, tuple(reports), Calibration())


def find_proofs(
    items: Sequence[Scored],
    verifier: Verifier,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[list[tuple[ClaimReport, ...]], Asking]:
    asking = Asking(len(items), progress)
    return proofs.find_proofs(items, asking, Models(verifier, Calibration(), 0.5)), asking


def passages(verifier: OverlapVerifier, *items: Scored) -> list[list[str | None]]:
    return [
        [None if claim.proof is None else claim.proof.text for claim in claims]
        for claims in find_proofs(items, verifier)[0]
    ]


WON = "Anna Brandt won the regatta."


@pytest.mark.parametrize(
    ("phrases", "proof", "judged"),
    [
        (["regatta"], WON, 1),
        (["nurse"], "She is a nurse.", 2),
        (["regatta", ". "], f"{WON} The weather was fine.", 3),  # shorter than with the one before
        (["regatta", "nurse"], f"{WON} The weather was fine. She is a nurse.", 5),
        (["harbour", "regatta"], f"The harbour was dredged in spring. {WON}", 4),
        (["dredged", "fine"], SOURCE[: SOURCE.index(" She")], 6),
        (["dredged", "lamp"], SOURCE[: SOURCE.index(" Nobody")], 7),
        (["harbour", "Fireworks"], SOURCE, 7),
    ],
)
def test_shortest_settling_passage_is_shown(phrases: list[str], proof: str, judged: int) -> None:
    verifier = NeedsAll(*phrases)
    assert passages(verifier, scored("The nurse Anna Brandt won the regatta.")) == [[proof]]
    pairs = [pair for call in verifier.calls for pair in call]
    assert len(pairs) == len(set(pairs)) == judged


def test_best_sentence_is_tried_with_each_neighbour() -> None:
    verifier = NeedsAll("nurse", "lamp")
    assert passages(verifier, scored("The prize, a lamp, went to Anna.")) == [
        ["She is a nurse. The prize was a lamp."]
    ]


def test_only_own_answers_of_the_same_document_are_known() -> None:
    claim = "The nurse Anna Brandt won the regatta."
    won = Window(WON, 0, Span(35, 63), page=False)
    for statement, window in ((SOURCE, won), (claim, replace(won, document=1))):
        other = Answer(statement, Judgement((window,), (UNSURE,)))
        assert passages(NeedsAll("regatta"), scored(claim, answers=[other])) == [[WON]]
    verifier = NeedsAll("regatta")
    passages(verifier, scored(claim, answers=[Answer(claim, Judgement((won,), (UNSURE,)))]))
    assert (WON, claim) not in [pair for call in verifier.calls for pair in call]


def test_sentence_without_a_shared_word_is_not_tried_alone() -> None:
    verifier = NeedsAll("harbour", "Fireworks")
    passages(verifier, scored("Anna Brandt won."))
    alone = [premise for call in verifier.calls for premise, _ in call if premise.count(".") == 1]
    assert alone == [WON]


@pytest.mark.parametrize(("between", "together"), [(0, True), (4, True), (5, False)])
def test_two_best_sentences_are_tried_together_if_they_are_near(
    between: int, together: bool
) -> None:
    filler = " ".join(f"Cloud number {at} drifted by." for at in range(between))
    passage = f"Anna Brandt won the regatta. {filler} She is a nurse.".replace("  ", " ")
    source = f"{'Dogs sat there. ' * 4}{passage}{' Cats slept there.' * 12}"
    claim = "The nurse Anna Brandt won the regatta."
    verifier = NeedsAll("\0")
    find_proofs([scored(claim, source=source)], verifier)
    asked = [premise for call in verifier.calls for premise, _ in call]
    assert (passage in asked) is together


def test_half_sure_passage_settles() -> None:
    class Half(NeedsAll):
        def _answer(self, premise: str) -> Probabilities:
            return Probabilities(0.5, 0.5, 0.0)

    assert passages(Half(), scored("The nurse Anna Brandt won.")) == [[WON]]


def test_answers_that_fit_no_passage_are_refused() -> None:
    class Talkative(NeedsAll):
        def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
            return [*super().judge(pairs), YES]

    with pytest.raises(ValueError, match="longer"):
        find_proofs([scored("She won the regatta.")], Talkative("regatta"))


def test_search_ends_with_the_first_passage_that_settles() -> None:
    verifier = NeedsAll("regatta")
    passages(verifier, scored("She won the regatta."))
    assert verifier.calls == [[(WON, "She won the regatta.")]]


def test_contradicting_passage_is_shown() -> None:
    verifier = NeedsAll("never", denial="won the regatta")
    found = scored("Anna Brandt lost the regatta.", status=Status.CONTRADICTED, answer=NO)
    assert passages(verifier, found) == [[WON]]


@pytest.mark.parametrize(
    ("status", "answer"),
    [(Status.UNSUPPORTED, UNSURE), (Status.UNCHECKABLE, YES), (Status.SUPPORTED, UNSURE)],
)
def test_unsettled_claim_keeps_its_passage(status: Status, answer: Probabilities) -> None:
    verifier = NeedsAll("regatta")
    assert passages(verifier, scored(WON, status=status, answer=answer)) == [[SOURCE]]
    assert verifier.calls == []


class ByClaim(OverlapVerifier):
    """Entailed where a window has the last word of the claim."""

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        return [YES if claim.split()[-1] in premise else UNSURE for premise, claim in pairs]


def test_each_claim_gets_its_own_passage() -> None:
    first = scored("They had a lamp.", "It was a speech.", "She is a nurse.")
    second = scored("It was a speech.", "They had a lamp.")
    lamp, speech, nurse = "The prize was a lamp.", "The mayor gave a speech.", "She is a nurse."
    assert passages(ByClaim(), first, second) == [[lamp, speech, nurse], [speech, lamp]]
    shown, asking = find_proofs([first, second], ByClaim())
    assert [[answer.statement for answer in own] for own in asking.answers] == [
        ["They had a lamp.", "It was a speech.", "She is a nurse."],
        ["It was a speech.", "They had a lamp."],
    ]
    for claims, answers in zip(shown, asking.answers, strict=True):
        for claim, answer in zip(claims, answers, strict=True):
            assert claim.proof is not None
            assert answer.judgement.windows[-1].span == claim.proof.span
            assert not any(window.page for window in answer.judgement.windows)
            assert claim.proof.span.cut(SOURCE) == claim.proof.text


@pytest.mark.parametrize("unsettled", range(3))
def test_neighbour_of_an_unsettled_claim_keeps_its_proof(unsettled: int) -> None:
    item = scored("They had a lamp.", "It was a speech.", "She is a nurse.")
    expected = ["The prize was a lamp.", "The mayor gave a speech.", "She is a nurse."]
    claims = list(item.claims)
    claims[unsettled] = replace(claims[unsettled], status=Status.UNSUPPORTED)
    expected[unsettled] = SOURCE
    assert passages(ByClaim(), replace(item, claims=tuple(claims))) == [expected]


def test_statement_with_resolved_references_is_asked_about() -> None:
    found = scored("She won the regatta.")
    read_as = "The nurse won the regatta."
    claim = replace(found.claims[0], read_as=read_as)
    verifier = NeedsAll("regatta")
    passages(verifier, replace(found, claims=(claim,)))
    assert {claim for call in verifier.calls for _, claim in call} == {read_as}


def test_progress_never_falls_and_batches_are_small() -> None:
    seen: list[tuple[int, int]] = []
    verifier = NeedsAll("harbour", "Fireworks")
    items = [scored(*(f"Guest {at} of {n} won." for at in range(10))) for n in range(3)]
    find_proofs(items, verifier, lambda done, of: seen.append((done, of)))
    assert max(map(len, verifier.calls)) <= 16
    shares = [done / of for done, of in seen]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def finding_its_own_passages(monkeypatch: pytest.MonkeyPatch, verifier: Verifier) -> None:
    monkeypatch.setattr("halldetect.models.verifiers.load_verifier", lambda *_, **__: verifier)


def test_report_shows_the_proof_and_counts_its_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    verifier = NeedsAll("regatta")
    finding_its_own_passages(monkeypatch, verifier)
    report = Detector(verifier).check(SOURCE, "The nurse Anna Brandt won the regatta.")
    (claim,) = report.claims
    assert claim.status is Status.SUPPORTED
    assert claim.proof == Evidence(WON, 0, Span(35, 63))
    judged = {pair for call in verifier.calls for pair in call}
    assert report.cost.pairs_judged == len(judged)


class InContext(NeedsAll):
    """Entailed by a short window alone, contradicted by the whole."""

    def _answer(self, premise: str) -> Probabilities:
        return NO if premise == SOURCE else YES


def test_proof_changes_no_state(monkeypatch: pytest.MonkeyPatch) -> None:
    finding_its_own_passages(monkeypatch, InContext())
    (claim,) = Detector(InContext()).check(SOURCE, "The regatta was won by Anna Brandt.").claims
    assert (claim.status, claim.contradiction) == (Status.CONTRADICTED, 0.9)
    assert claim.proof is not None
    assert claim.proof.text == WON
