"""The four steps joined: states, evidence, batches, replay. On fakes, without any model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from halldetect import Detector, Pair, Report, Status, Verdict
from halldetect.protocols import Draft
from halldetect.errors import ConfigurationError, ExtractionError, InputError, ModelError
from halldetect.report import Evidence, Probabilities, rounded
from halldetect.scoring import Calibration, fed
from tests.support.fakes import OverlapVerifier, SentenceExtractor

SOURCE = (
    "The mill on the Arle was built in 1790. It ground barley for the village of Stoke. "
    "A flood carried the wheel away. The owner rebuilt it with an iron axle. "
    "Today the mill is a museum. Visitors can see the stones turn on Sundays."
)
GOOD = "The mill on the Arle was built in 1790. Today the mill is a museum."
WRONG = "The mill on the Arle was built in 1850."
INVENTED = "Pilgrims slept upstairs beneath painted ceilings."


def detector(**options: Any) -> Detector:
    options.setdefault("extractor", SentenceExtractor())
    options.setdefault("verifier", OverlapVerifier())
    return Detector(**options)


def untimed(report: Report) -> Report:
    return replace(report, cost=replace(report.cost, seconds={}))


def all_evidence(report: Report) -> list[Evidence]:
    return [
        item
        for claim in report.claims
        for item in (claim.entailing, claim.contradicting, claim.proof, *claim.by_scale)
        if item is not None
    ]


def test_a_faithful_response() -> None:
    report = detector().check(SOURCE, GOOD)
    assert report.verdict is Verdict.FAITHFUL
    assert report.reason is None
    assert report.score is not None
    assert report.score < 0.5
    assert {claim.status for claim in report.claims} == {Status.SUPPORTED}


def test_each_state_is_found_and_proven() -> None:
    report = detector().check(SOURCE, f"{GOOD} {WRONG} {INVENTED}")
    assert report.verdict is Verdict.HALLUCINATED
    by_text = {claim.text.rstrip("."): claim for claim in report.claims}
    wrong, invented = by_text[WRONG.rstrip(".")], by_text[INVENTED.rstrip(".")]
    assert wrong.status is Status.CONTRADICTED
    assert wrong.contradicting is not None
    assert "built in 1790" in wrong.contradicting.text
    assert invented.status is Status.UNSUPPORTED


def test_a_reader_can_redo_the_sums() -> None:
    report = detector().check(SOURCE, f"{GOOD} {WRONG} {INVENTED}")
    for claim in report.claims:
        assert claim.entailing is not None
        assert claim.contradicting is not None
        assert claim.contradicting.probabilities.contradiction is not None
        best = claim.entailing.probabilities.entailment
        worst = claim.contradicting.probabilities.contradiction
        assert claim.fed_score == rounded(best - worst)
        judged = [item.probabilities for item in claim.by_scale]
        assert claim.support == rounded(Calibration().support(judged))
    supports = [claim.support for claim in report.claims if claim.support is not None]
    fed_scores = [claim.fed_score for claim in report.claims if claim.fed_score is not None]
    assert report.score == report.calibrated_score == rounded(1 - min(supports))
    assert report.fed_score == rounded(fed(fed_scores))


def test_evidence_is_the_best_of_everything_judged() -> None:
    verifier = OverlapVerifier()
    report = detector(verifier=verifier).check(SOURCE, WRONG)
    (claim,) = report.claims
    pairs = [pair for call in verifier.calls for pair in call]
    answers = [verifier._judge(*pair) for pair in pairs]
    assert claim.entailing is not None
    assert claim.contradicting is not None
    best = max(answer.entailment for answer in answers)
    worst = max(answer.contradiction or 0.0 for answer in answers)
    assert claim.entailing.probabilities.entailment == rounded(best)
    assert claim.contradicting.probabilities.contradiction == rounded(worst)
    scales = {scale for item in claim.by_scale for scale in item.scales}
    assert scales == {1, 2, 4, 8, 16}


def test_both_scores_are_always_there_and_scoring_chooses() -> None:
    text = f"{GOOD} {WRONG}"
    # The paper's score judges every pair; so must ours, to the last decimal.
    ours = detector(exact=True).check(SOURCE, text)
    paper = detector(scoring="fed").check(SOURCE, text)
    assert (ours.fed_score, ours.calibrated_score) == (paper.fed_score, paper.calibrated_score)
    assert ours.score == ours.calibrated_score
    assert paper.score == paper.fed_score


def test_a_two_way_verifier_shows_no_contradiction() -> None:
    report = detector(verifier=OverlapVerifier(two_way=True)).check(SOURCE, f"{GOOD} {WRONG}")
    assert all(claim.contradicting is None for claim in report.claims)
    assert all(item.probabilities.contradiction is None for item in all_evidence(report))
    assert report.verdict is Verdict.HALLUCINATED
    assert {claim.status for claim in report.claims} == {Status.SUPPORTED, Status.UNSUPPORTED}


def test_several_documents_are_kept_apart_and_named() -> None:
    documents = ["Rye bread needs a long rest.", SOURCE]
    report = detector().check(documents, "Today the mill is a museum.")
    (claim,) = report.claims
    assert claim.entailing is not None
    assert claim.entailing.document == 1
    assert report.documents == tuple(documents)
    for item in all_evidence(report):
        assert item.span.cut(documents[item.document]) == item.text


def test_the_question_is_recorded() -> None:
    report = detector().check(SOURCE, GOOD, question="How old is the mill?")
    assert report.question == "How old is the mill?"


def test_cost_counts_pairs_tokens_and_every_phase() -> None:
    verifier = OverlapVerifier()
    report = detector(verifier=verifier, exact=True).check(SOURCE, f"{GOOD} {INVENTED}")
    cost = report.cost
    assert cost.pairs_judged == len({pair for call in verifier.calls for pair in call})
    assert cost.pairs_skipped == 0
    assert cost.verifier_tokens > 0
    assert cost.generative_passes >= 1
    assert set(cost.seconds) == {"read", "extract", "windows", "verify", "score"}


def test_a_claim_met_twice_by_the_same_words_is_judged_once() -> None:
    verifier = OverlapVerifier()
    report = detector(verifier=verifier, exact=True).check("It rained. It rained.", "It rained.")
    pairs = [pair for call in verifier.calls for pair in call]
    assert len(pairs) == len(set(pairs)) == report.cost.pairs_judged == 2
    assert report.cost.pairs_skipped == 1


@pytest.mark.parametrize(
    ("source", "response", "reason"),
    [
        (SOURCE, "", "the response is empty"),
        (SOURCE, " \n\t\u2003", "the response is empty"),
        (SOURCE, "\x00\ud800", "the response is empty"),
        ("", GOOD, "the source has no text"),
        ([], GOOD, "the source has no text"),
        (["", " \n"], GOOD, "the source has no text"),
        (SOURCE, "Is the mill old?", "the response asserts nothing that can be checked"),
    ],
)
def test_nothing_to_check_is_uncheckable_with_a_reason(
    source: Any, response: str, reason: str
) -> None:
    report = detector().check(source, response)
    assert report.verdict is Verdict.UNCHECKABLE
    assert report.reason == reason
    assert report.score is None
    assert report.fed_score is None
    assert Report.from_json(report.to_json()) == report


def test_what_is_too_large_is_refused_before_any_model_is_needed() -> None:
    sized = Detector("no-such-extractor", "no-such-verifier", max_source=99, max_response=9)
    assert "limit of 9;" in (sized.check("word " * 19, "word " * 3).reason or "")
    assert "limit of 99;" in (sized.check("word " * 20, "word").reason or "")


def test_a_claim_longer_than_the_verifier_reads_is_uncheckable() -> None:
    long_claim = "The mill " + "and the mill " * 60 + "is a museum."
    report = detector().check(SOURCE, f"{GOOD} {long_claim}")
    assert report.verdict is Verdict.UNCHECKABLE
    assert "could not be checked" in (report.reason or "")
    assert [claim.status for claim in report.claims].count(Status.UNCHECKABLE) == 1
    worse = detector().check(SOURCE, f"{INVENTED} {long_claim}")
    assert worse.verdict is Verdict.HALLUCINATED
    alone = detector().check(SOURCE, long_claim)
    assert alone.verdict is Verdict.UNCHECKABLE
    assert alone.score is None


def test_a_source_longer_than_the_verifier_reads_is_judged_whole() -> None:
    padding = "Rain fell on the roofs of the town and everyone stayed at home. " * 40
    source = padding + SOURCE
    short = detector(verifier=OverlapVerifier(60)).check(source, "Today the mill is a museum.")
    assert short.verdict is Verdict.FAITHFUL
    truncated = Detector(
        SentenceExtractor(), OverlapVerifier(60), truncate=True, granularities=(1,)
    ).check(source, "Today the mill is a museum.")
    assert truncated.verdict is Verdict.HALLUCINATED
    for item in all_evidence(truncated):
        assert item.span == replace(item.span, start=0)
        assert item.span.cut(source) == item.text


def test_the_paper_to_the_letter() -> None:
    paper = Detector.paper(SentenceExtractor(), OverlapVerifier())
    options = paper.configuration
    assert (options.guard, options.truncate, options.exact) == (False, True, True)
    assert (options.scoring, options.threshold) == ("fed", 0.5)
    report = paper.check(SOURCE, " ".join(f"Pilgrim {n} slept upstairs." for n in range(30)))
    checked = [claim for claim in report.claims if claim.status is not Status.UNCHECKABLE]
    assert (len(checked), len(report.claims)) == (10, 30)
    assert report.score == report.fed_score == 1.0


@pytest.mark.parametrize(
    "options",
    [
        {"scoring": "bleu"},
        {"threshold": 1.5},
        {"threshold": float("nan")},
        {"granularities": ()},
        {"granularities": (0, 1)},
        {"granularities": (1.5,)},
        {"seed": -1},
        {"threads": 0},
        {"max_source": 0},
    ],
)
def test_options_that_make_no_sense_are_refused_at_once(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        detector(**options)


@pytest.mark.parametrize(
    ("source", "response", "what"),
    [
        (b"bytes", "text", "source"),
        (None, "text", "source"),
        (["text", 3], "text", "source document 1"),
        ("text", b"bytes", "response"),
        ("text", None, "response"),
    ],
)
def test_what_is_not_text_is_an_input_error(source: Any, response: Any, what: str) -> None:
    with pytest.raises(InputError, match=f"{what} must be text"):
        detector().check(source, response)
    (report,) = detector().check_many([(source, response)])
    assert report.verdict is Verdict.UNCHECKABLE
    assert f"{what} must be text" in (report.reason or "")


def test_nul_and_lone_surrogates_are_replaced_one_for_one_and_noted() -> None:
    source = "The mill\ud83d was built\x00 in 1790. It is\udfff a museum."
    response = "The mill\x00 was built in 1790. It is a\ud800 museum."
    report = detector().check(source, response, question="\udc00?")
    assert report.response == response.replace("\x00", "\ufffd").replace("\ud800", "\ufffd")
    assert len(report.documents[0]) == len(source)
    assert "6 NUL or lone surrogate" in report.provenance.notes[0]
    report.to_json().encode()
    assert Report.from_json(report.to_json()) == report
    for claim in report.claims:
        assert claim.span is not None
    for item in all_evidence(report):
        assert item.span.cut(report.documents[item.document]) == item.text


any_text = st.text(st.characters(), max_size=120) | st.lists(
    st.sampled_from([*f"{SOURCE} {GOOD}".split(" "), "\r\n", "\ud800", "\x00", "é", "👩‍🔬", "3.5"])
).map(" ".join)


@settings(max_examples=60)
@example("0\xad", "0 0")
@example("It is late. [SEP] The mill is a museum.", "The mill is a museum.")
@given(any_text, any_text)
def test_every_span_cuts_back_to_its_text_for_any_unicode(source: str, response: str) -> None:
    report = detector().check(source, response)
    assert (report.verdict is Verdict.UNCHECKABLE) == (report.reason is not None)
    for claim in report.claims:
        assert (claim.span is None) == (claim.span_reason is not None)
        if claim.span is not None:
            assert 0 <= claim.span.start < claim.span.end <= len(response)
    for item in all_evidence(report):
        assert item.span.cut(report.documents[item.document]) == item.text
    assert Report.from_json(report.to_json().encode().decode()) == report


def mixed_pairs() -> list[Pair]:
    pairs = [
        Pair(SOURCE, GOOD),
        Pair(SOURCE, f"{GOOD} {WRONG}"),
        Pair(SOURCE, INVENTED, "Where did they sleep?"),
        Pair([SOURCE, "Rye bread needs a long rest."], "Rye bread needs a long rest."),
        Pair("", GOOD),
        Pair(SOURCE, ""),
        Pair(SOURCE * 12, WRONG),
        Pair("\ud800 " + SOURCE, GOOD + "\x00"),
        Pair(SOURCE, "The mill " + "and the mill " * 60 + "is a museum."),
        Pair(SOURCE, "Is it?"),
    ]
    return [
        replace(pairs[at % len(pairs)], response=pairs[at % len(pairs)].response + " " * (at // 10))
        for at in range(64)
    ] + pairs[:3]


def test_check_many_gives_exactly_what_check_gives() -> None:
    pairs = mixed_pairs()
    together = detector().check_many(iter(pairs))
    alone = [detector().check(pair.source, pair.response, question=pair.question) for pair in pairs]
    assert [untimed(report) for report in together] == [untimed(report) for report in alone]
    assert [untimed(report).to_json() for report in together] == [
        untimed(report).to_json() for report in alone
    ]


def test_check_many_batches_across_pairs() -> None:
    verifier = OverlapVerifier()
    pairs = [(SOURCE, GOOD), (SOURCE, WRONG), (SOURCE, INVENTED)]
    detector(verifier=verifier, exact=True).check_many(pairs)
    assert len(verifier.calls) == 1
    lazy = OverlapVerifier()
    detector(verifier=lazy).check_many(pairs)
    first = {claim for _, claim in lazy.calls[0]}
    assert len(first) == 4  # one window of every claim of every pair
    assert len(lazy.calls) < 8


def test_what_is_not_judged_is_counted_and_changes_no_verdict() -> None:
    for response in (GOOD, f"{GOOD} {WRONG}", INVENTED):
        lazy = detector().check(SOURCE, response)
        exact = detector(exact=True).check(SOURCE, response)
        assert lazy.verdict == exact.verdict
        assert lazy.cost.pairs_judged + lazy.cost.pairs_skipped == exact.cost.pairs_judged
        assert lazy.provenance.verifier["rule"]["supported_above"] == 0.5
        assert exact.provenance.verifier["rule"] is None
        noted = any("fed_score" in note for note in lazy.provenance.notes)
        assert noted == (lazy.cost.pairs_skipped > 0)
        assert not exact.provenance.notes
    assert detector().check(SOURCE, GOOD).cost.pairs_skipped > 0


def test_the_paper_and_its_score_judge_everything() -> None:
    every = detector(exact=True).check(SOURCE, GOOD).cost.pairs_judged
    assert detector(scoring="fed").check(SOURCE, GOOD).cost.pairs_judged == every
    assert detector(scoring="fed").check(SOURCE, GOOD).provenance.verifier["rule"] is None
    paper = Detector.paper(SentenceExtractor(), OverlapVerifier()).check(SOURCE, GOOD)
    assert paper.cost.pairs_skipped == 0


@given(any_text, any_text, st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]), st.floats(0.0, 1.0))
@example('museum."1/1', '0:."1:A:museum', 0.0, 0.25)  # the second claim is given up
def test_the_verdict_is_that_of_judging_everything(
    source: str, response: str, threshold: float, above: float
) -> None:
    options = {"threshold": threshold, "calibration": Calibration(supported_above=above)}
    lazy = detector(**options).check(source, response)
    exact = detector(**options, exact=True).check(source, response)
    assert lazy.verdict == exact.verdict
    for judged, whole in zip(lazy.claims, exact.claims, strict=True):
        # A claim that is given up early counts as unsupported; it is never called better.
        assert judged.status in (whole.status, Status.UNSUPPORTED)
    if exact.score is not None:
        assert lazy.score is not None
        assert exact.score <= lazy.score
        # This verifier says about as much of a part as of the whole: little is lost.
        if exact.verdict is Verdict.HALLUCINATED and above >= 0.05:
            assert lazy.score <= exact.score + 0.05


def test_check_many_takes_tuples_and_gives_a_report_for_each_item() -> None:
    reports = detector().check_many([(SOURCE, GOOD), (SOURCE, GOOD, "Old?"), 7, "ab"])  # type: ignore[list-item]
    assert [report.verdict for report in reports][:2] == [Verdict.FAITHFUL] * 2
    assert reports[1].question == "Old?"
    assert {report.reason for report in reports[2:]} == {"not a pair of source and response"}
    assert detector().check_many([]) == []


@pytest.mark.parametrize("pairs", ["The mill is old.", b"bytes", Pair(SOURCE, GOOD), 7, None])
def test_check_many_refuses_what_is_no_collection_of_pairs(pairs: Any) -> None:
    with pytest.raises(InputError, match="takes pairs of source and response, not"):
        detector().check_many(pairs)


class Moody(SentenceExtractor):
    """Fails on some responses, in a planned and in an unplanned way."""

    def draft(self, block: str, limit: int) -> Draft:
        if "flood" in block:
            raise ExtractionError("the server said no")
        if "barley" in block:
            raise ZeroDivisionError("division by zero")
        return super().draft(block, limit)


def test_an_extractor_that_fails_on_one_response_does_not_lose_the_others() -> None:
    moody = Detector(Moody(), OverlapVerifier(), guard=False)
    reports = moody.check_many(
        [(SOURCE, "A flood came."), (SOURCE, GOOD), (SOURCE, "It ground barley.")]
    )
    assert [report.verdict for report in reports] == [
        Verdict.UNCHECKABLE,
        Verdict.FAITHFUL,
        Verdict.UNCHECKABLE,
    ]
    assert "the server said no" in (reports[0].reason or "")
    assert "ZeroDivisionError: division by zero" in (reports[2].reason or "")


class Picky(OverlapVerifier):
    """Cannot judge a claim about barley."""

    def judge(self, pairs: Any) -> list[Probabilities]:
        if any("barley" in claim for _, claim in pairs):
            raise RuntimeError("out of\nmemory")
        return super().judge(pairs)


def test_a_verifier_that_fails_on_one_pair_does_not_lose_the_others() -> None:
    pairs = [(SOURCE, GOOD), (SOURCE, "It ground barley."), (SOURCE, INVENTED)]
    reports = detector(verifier=Picky()).check_many(pairs)
    assert [report.verdict for report in reports] == [
        Verdict.FAITHFUL,
        Verdict.UNCHECKABLE,
        Verdict.HALLUCINATED,
    ]
    assert reports[1].reason == "the verifier failed: RuntimeError: out of memory"
    assert untimed(reports[1]) == untimed(detector(verifier=Picky()).check(*pairs[1]))


def test_every_claim_has_the_span_of_its_own_sentence() -> None:
    response = f"{GOOD} {WRONG} {INVENTED}"
    claims = detector().check(SOURCE, response).claims
    assert len(claims) == 4
    for claim in claims:
        assert claim.span is not None
        assert claim.span.cut(response) == claim.text


def test_the_same_input_gives_the_same_bytes_apart_from_timings() -> None:
    first, second = (untimed(detector().check(SOURCE, f"{GOOD} {WRONG}")) for _ in range(2))
    assert first.to_json() == second.to_json()


def test_a_report_replays_from_its_provenance() -> None:
    options = {"scoring": "fed", "threshold": 0.3, "granularities": (4, 1), "seed": 7}
    made = detector(**options, calibration=Calibration(slope=2.0)).check(SOURCE, f"{GOOD} {WRONG}")
    read = Report.from_json(made.to_json())
    again = Detector.from_provenance(
        read, extractor=SentenceExtractor(), verifier=OverlapVerifier()
    ).check(list(read.documents), read.response, question=read.question)
    assert untimed(again).to_json() == untimed(made).to_json()


def test_seed_and_threads_reach_the_models(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[Any, ...]] = []

    class Model(SentenceExtractor):
        def rewrite(self, sentence: str, evidence: str) -> str:
            return sentence

    def load(name: str, *, threads: int, seed: int, **_: Any) -> Model:
        given.append((name, threads, seed))
        return Model()

    monkeypatch.setattr("halldetect.paper.extractors.load_extractor", load)
    monkeypatch.setattr("halldetect.repair.rewriters.load_rewriter", load)
    checker = detector(extractor="gguf", seed=41, threads=3)
    report = checker.check(SOURCE, GOOD)
    checker.repair(SOURCE, INVENTED, rewriter="gguf:other")
    assert given == [("gguf", 3, 41), ("gguf:other", 3, 41)]
    assert report.provenance.seed == 41


def test_a_report_of_the_default_extractor_replays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALLDETECT_OFFLINE", "1")
    monkeypatch.setenv("HALLDETECT_HOME", str(tmp_path))
    made = Detector(verifier=OverlapVerifier(), notice=lambda text: None).check(SOURCE, GOOD)
    assert made.provenance.configuration["extractor"] == "auto"
    assert made.provenance.extractor["name"] == "clauses"
    again = Detector.from_provenance(made, verifier=OverlapVerifier()).check(SOURCE, GOOD)
    assert untimed(again).to_json() == untimed(made).to_json()


def test_replay_needs_the_objects_and_the_very_models() -> None:
    made = detector().check(SOURCE, GOOD)
    with pytest.raises(ConfigurationError, match="pass it as extractor"):
        Detector.from_provenance(made)
    changed = replace(
        made, provenance=replace(made.provenance, verifier={"name": "x", "digest": "other"})
    )
    with pytest.raises(ModelError, match="another verifier"):
        Detector.from_provenance(changed, extractor=SentenceExtractor(), verifier=OverlapVerifier())
    later = replace(made, provenance=replace(made.provenance, configuration={"colour": "blue"}))
    with pytest.raises(ConfigurationError, match="colour"):
        Detector.from_provenance(later)


def test_calibration_comes_with_the_verifier_unless_given() -> None:
    class Calibrated(OverlapVerifier):
        @property
        def description(self) -> dict[str, Any]:
            return {**super().description, "calibration": {"offset": -3.0}}

    plain = detector().check(SOURCE, GOOD)
    brought = detector(verifier=Calibrated()).check(SOURCE, GOOD)
    assert plain.score is not None
    assert brought.score is not None
    assert brought.score > plain.score
    assert brought.provenance.verifier["calibration"]["offset"] == -3.0
    assert (
        detector(verifier=Calibrated(), calibration=Calibration()).check(SOURCE, GOOD).score
        == plain.score
    )


def test_progress_is_told_by_phase() -> None:
    seen: list[tuple[str, int, int]] = []
    detector(progress=lambda *step: seen.append(step)).check_many([(SOURCE, GOOD), (SOURCE, WRONG)])
    assert ("extract", 0, 2) in seen
    assert ("extract", 2, 2) in seen
    assert list(dict.fromkeys(phase for phase, _, _ in seen)) == ["extract", "verify", "explain"]
    for name in ("verify", "explain"):
        _, done, of = [step for step in seen if step[0] == name][-1]
        assert done == of > 0


def test_an_answer_that_gives_none_is_abstained() -> None:
    detector = Detector("sentences", OverlapVerifier())
    report = detector.check(
        "The ferry leaves at nine.", "I don't know.", question="When does the ferry leave?"
    )
    assert report.verdict is Verdict.ABSTAINED
    assert report.score is None
    assert any("The ferry leaves at nine." in note for note in report.provenance.notes)
    assert report.rethreshold(0.1).verdict is Verdict.ABSTAINED
    why = detector.check(
        "The ferry leaves at nine.", "I don't know.", question="Why does the ferry leave?"
    )
    assert why.provenance.notes == ()
