"""The sentence decides, its parts explain: judged only where it fails, shown inside it."""

from __future__ import annotations

from halldetect import Detector, render
from halldetect.pair_state import ClaimSettled, Event
from halldetect.report import Report, Status, Verdict
from tests.support.fakes import OverlapVerifier

FINES = (
    "Norvik was fined in Spain in 2014 by the tax office. "
    "Norvik was fined in Norway in 2016 by the data authority."
)
SOURCE = "The bridge opened in 1932 with a fair. Anna Holm sold the mill."


def check(source: str, response: str) -> Report:
    return Detector(verifier=OverlapVerifier()).check(source, response)


def test_the_parts_of_a_failing_sentence_say_which_fails() -> None:
    (claim,) = check(SOURCE, "Anna Holm sold the mill and became a volcano.").claims
    assert claim.status is Status.UNSUPPORTED
    good, bad = claim.parts
    assert (good.text, good.status) == ("Anna Holm sold the mill", Status.SUPPORTED)
    assert (bad.text, bad.status) == ("Anna Holm became a volcano", Status.UNSUPPORTED)
    response = "Anna Holm sold the mill and became a volcano."
    assert [span.cut(response) for span in bad.spans] == ["Anna Holm", "became a volcano"]


def test_a_supported_sentence_has_its_parts_not_judged() -> None:
    verifier = OverlapVerifier()
    report = Detector(verifier=verifier).check(SOURCE, "Anna Holm sold the mill and sold the mill.")
    assert report.claims[0].status is Status.SUPPORTED
    assert report.claims[0].parts == ()
    judged = {hypothesis for call in verifier.calls for _, hypothesis in call}
    assert judged == {"Anna Holm sold the mill and sold the mill."}


def test_true_parts_do_not_make_a_false_sentence_true() -> None:
    detector = Detector(verifier=OverlapVerifier(), granularities=(16,))
    report = detector.check(FINES, "Norvik was fined in Spain in 2016 by the tax office.")
    assert report.verdict is Verdict.HALLUCINATED
    (claim,) = report.claims
    assert [part.status for part in claim.parts] == [Status.SUPPORTED] * 3
    shown = render.terminal(report, width=100, color=False)
    assert "Each part is supported alone, but not all of it together" in shown


def test_every_view_shows_parts_readings_and_kinds() -> None:
    response = "Anna Holm sold the mill. She sold the bridge and became a volcano."
    report = check(SOURCE, response)
    assert report.claims[1].read_as == "Anna Holm sold the bridge and became a volcano."
    views = (
        render.terminal(report, width=200, color=False),
        render.markdown(report),
        render.html(report),
    )
    for view in views:
        assert "Anna Holm sold the bridge and became a volcano." in view
        assert "part “She became a volcano”" in view
    assert Report.from_json(report.to_json()) == report


def test_the_last_event_of_a_claim_is_what_the_report_has() -> None:
    events: list[Event] = []
    detector = Detector(verifier=OverlapVerifier())
    pair = (SOURCE, "Anna Holm sold the mill and became a volcano.")
    (report,) = detector.check_many([pair], observe=events.append)
    settled = [event.claim for event in events if isinstance(event, ClaimSettled)]
    assert settled[-1] == report.claims[0]
    assert report.claims[0].parts
