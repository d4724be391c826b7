"""The four steps joined: states, evidence, batches, replay. On fakes, without any model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from halldetect import Detector, Pair, Report, Status, Verdict
from halldetect.detector import print_notice
from halldetect.errors import ConfigurationError, InputError, ModelError
from halldetect.knowledge.builder import build_index
from halldetect.knowledge.readers import find_files
from halldetect.report import ClaimReport, Evidence, Probabilities, WrongWords
from halldetect.scoring import Calibration
from tests.support.fakes import OverlapVerifier, SentenceExtractor

SOURCE = (
    "The mill on the Arle was built in 1790. It ground barley for the village of Stoke. "
    "A flood carried the wheel away. The owner rebuilt it with an iron axle. "
    "Today the mill is a museum. Visitors can see the stones turn on Sundays."
)
GOOD = "In 1790 the mill on the Arle was built. The mill is a museum today."
WRONG = "The mill on the Arle was built in 1850."
INVENTED = "Pilgrims slept upstairs beneath painted ceilings."


def detector(**options: Any) -> Detector:
    options.setdefault("verifier", OverlapVerifier())
    return Detector(**options)


def untimed(report: Report) -> Report:
    return replace(report, cost=replace(report.cost, seconds={}))


def all_evidence(report: Report) -> list[Evidence]:
    return [
        item
        for claim in report.claims
        for item in (claim.proof, claim.entailing, claim.contradicting)
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
    assert wrong.proof is not None
    assert "built in 1790" in wrong.proof.text
    assert invented.status is Status.UNSUPPORTED


def test_a_two_way_verifier_shows_no_contradiction() -> None:
    report = detector(verifier=OverlapVerifier(two_way=True)).check(SOURCE, f"{GOOD} {WRONG}")
    assert all(claim.contradiction is None for claim in report.claims)
    assert report.verdict is Verdict.HALLUCINATED
    assert {claim.status for claim in report.claims} == {Status.SUPPORTED, Status.UNSUPPORTED}


def test_several_documents_are_kept_apart_and_named() -> None:
    documents = ["Rye bread needs a long rest.", SOURCE]
    report = detector().check(documents, "Today the mill is a museum.")
    (claim,) = report.claims
    assert claim.proof is not None
    assert claim.proof.document == 1
    assert report.documents == tuple(documents)
    for item in all_evidence(report):
        assert item.span.cut(documents[item.document]) == item.text


def test_the_question_is_recorded() -> None:
    report = detector().check(SOURCE, GOOD, question="How old is the mill?")
    assert report.question == "How old is the mill?"


def test_cost_counts_pairs_tokens_and_every_phase() -> None:
    verifier = OverlapVerifier()
    report = detector(verifier=verifier).check(SOURCE, f"{GOOD} {INVENTED}")
    cost = report.cost
    assert cost.pairs_judged == len({pair for call in verifier.calls for pair in call})
    assert cost.verifier_tokens > 0
    assert cost.generative_passes == 0
    assert set(cost.seconds) == {"read", "verify", "facts", "explain", "proof"}


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
def test_nothing_to_check_has_a_reason(source: Any, response: str, reason: str) -> None:
    report = detector().check(source, response)
    assert report.verdict is Verdict.UNCHECKABLE
    assert report.reason == reason
    assert report.score is None
    assert report.fed_score is None
    assert Report.from_json(report.to_json()) == report


def test_large_texts_are_refused_without_a_model() -> None:
    sized = Detector("hf:no-such-verifier", max_source=99, max_response=9)
    assert "limit of 9;" in (sized.check("word " * 19, "word " * 3).reason or "")
    assert "limit of 99;" in (sized.check("word " * 20, "word").reason or "")


def test_too_long_claim_is_uncheckable() -> None:
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


def test_long_source_is_judged_whole() -> None:
    padding = "Rain fell on the roofs of the town and everyone stayed at home. " * 40
    source = padding + SOURCE
    short = detector(verifier=OverlapVerifier(60)).check(source, "Today the mill is a museum.")
    assert short.verdict is Verdict.FAITHFUL


@pytest.mark.parametrize(
    "options",
    [
        {"threshold": 1.5},
        {"threshold": float("nan")},
        {"extractor": "gguf"},
        {"device": "tpu"},
        {"seed": -1},
        {"threads": 0},
        {"max_source": 0},
    ],
)
def test_wrong_options_are_refused_at_once(options: dict[str, Any]) -> None:
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


def test_nul_and_surrogates_are_replaced_and_noted() -> None:
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
def test_spans_cut_back_to_texts_for_any_unicode(source: str, response: str) -> None:
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


def test_check_many_takes_tuples() -> None:
    reports = detector().check_many([(SOURCE, GOOD), (SOURCE, GOOD, "Old?"), 7, "ab"])  # type: ignore[list-item]
    assert [report.verdict for report in reports][:2] == [Verdict.FAITHFUL] * 2
    assert reports[1].question == "Old?"
    assert {report.reason for report in reports[2:]} == {"not a pair of source and response"}
    assert detector().check_many([]) == []


@pytest.mark.parametrize("pairs", ["The mill is old.", b"bytes", Pair(SOURCE, GOOD), 7, None])
def test_check_many_refuses_other_types(pairs: Any) -> None:
    with pytest.raises(InputError, match="takes pairs of source and response, not"):
        detector().check_many(pairs)


class Picky(OverlapVerifier):
    """Cannot judge a claim about barley."""

    def judge(self, pairs: Any) -> list[Probabilities]:
        if any("barley" in claim for _, claim in pairs):
            raise RuntimeError("out of\nmemory")
        return super().judge(pairs)


def test_failing_verifier_loses_only_its_pair() -> None:
    pairs = [(SOURCE, GOOD), (SOURCE, "It ground barley."), (SOURCE, INVENTED)]
    reports = detector(verifier=Picky()).check_many(pairs)
    assert [report.verdict for report in reports] == [
        Verdict.FAITHFUL,
        Verdict.UNCHECKABLE,
        Verdict.HALLUCINATED,
    ]
    assert reports[1].reason == "the verifier failed: RuntimeError: out of memory"
    assert untimed(reports[1]) == untimed(detector(verifier=Picky()).check(*pairs[1]))


def test_claim_has_the_span_of_its_sentence() -> None:
    response = f"{GOOD} {WRONG} {INVENTED}"
    claims = detector().check(SOURCE, response).claims
    assert len(claims) == 4
    for claim in claims:
        assert claim.span is not None
        assert claim.span.cut(response) == claim.text


def test_same_input_gives_the_same_bytes() -> None:
    first, second = (untimed(detector().check(SOURCE, f"{GOOD} {WRONG}")) for _ in range(2))
    assert first.to_json() == second.to_json()


def test_a_report_replays_from_its_provenance() -> None:
    options = {"threshold": 0.3, "seed": 7}
    made = detector(**options, calibration=Calibration(slope=2.0)).check(SOURCE, f"{GOOD} {WRONG}")
    read = Report.from_json(made.to_json())
    again = Detector.from_provenance(read, verifier=OverlapVerifier()).check(
        list(read.documents), read.response, question=read.question
    )
    assert untimed(again).to_json() == untimed(made).to_json()


def test_seed_and_threads_reach_the_extractor(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[Any, ...]] = []

    def load(name: str, *, seed: int, threads: int | None, **_: Any) -> SentenceExtractor:
        given.append((name, threads, seed))
        return SentenceExtractor()

    monkeypatch.setattr("halldetect.paper.extractors.load_extractor", load)
    Detector.paper("gguf", OverlapVerifier(), seed=41, threads=3).check(SOURCE, GOOD)
    assert given == [("gguf", 3, 41)]


def test_replay_needs_the_objects_and_the_very_models() -> None:
    made = detector().check(SOURCE, GOOD)
    with pytest.raises(ConfigurationError, match="pass it as verifier"):
        Detector.from_provenance(made)
    changed = replace(
        made, provenance=replace(made.provenance, verifier={"name": "x", "digest": "other"})
    )
    with pytest.raises(ModelError, match="another verifier"):
        Detector.from_provenance(changed, verifier=OverlapVerifier())
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
    assert list(dict.fromkeys(phase for phase, _, _ in seen)) == ["verify", "explain"]
    for name in ("verify", "explain"):
        _, done, of = [step for step in seen if step[0] == name][-1]
        assert done == of > 0


def test_an_answer_that_gives_none_is_abstained() -> None:
    detector = Detector(OverlapVerifier())
    report = detector.check(
        "The ferry leaves at nine.", "I don't know.", question="When does the ferry leave?"
    )
    assert report.verdict is Verdict.ABSTAINED
    assert report.score is None
    assert report.provenance.notes == ()
    assert report.rethreshold(0.1).verdict is Verdict.ABSTAINED


# Claims are judged as they stand; a resolved reference can only rescue


class NoPronouns(OverlapVerifier):
    """Supports no claim that begins with a pronoun, or only such claims."""

    def __init__(self, *, only: bool = False) -> None:
        super().__init__()
        self.only = only

    def judge(self, pairs: Any) -> list[Probabilities]:
        supported = [claim.startswith("She ") == self.only for _, claim in pairs]
        return [
            Probabilities(0.9, 0.1, 0.0) if ok else Probabilities(0.1, 0.9, 0.0) for ok in supported
        ]


def test_resolved_reference_rescues_a_claim() -> None:
    source = "Ann Holm was born in Rome. Bob Hale stayed. Ann Holm left Rome in 1990."
    response = "Ann Holm was born in Rome. She left Rome in 1990."
    report = detector(verifier=NoPronouns()).check(source, response)
    assert report.ok
    assert [claim.read_as for claim in report.claims] == [None, "Ann Holm left Rome in 1990."]
    assert report.claims[1].text == "She left Rome in 1990."
    kept = detector(verifier=NoPronouns(only=True)).check(source, response).claims[1]
    assert (kept.status, kept.read_as) == (Status.SUPPORTED, None)


def test_copies_of_the_source_are_never_flagged() -> None:
    source = (
        "The Starter plan has one seat. The Team plan has ten seats. It costs nine euros. "
        "Neither party may assign this contract. So did the owner of the mill."
    )
    report = detector().check(source, source)
    assert report.ok
    assert all(claim.support and claim.support > 0.9 for claim in report.claims)


# Fallback and cascade


class Named(OverlapVerifier):
    """A verifier with a name, sure or unsure of everything."""

    def __init__(self, name: str, support: float | None = None) -> None:
        super().__init__()
        self.name, self.support = name, support

    @property
    def description(self) -> dict[str, Any]:
        return {**super().description, "name": self.name}

    def judge(self, pairs: Any) -> list[Probabilities]:
        if self.support is None:
            return super().judge(pairs)
        return [Probabilities(self.support, 1 - self.support, 0.0) for _ in pairs]


def loading(monkeypatch: pytest.MonkeyPatch, **models: Any) -> list[Any]:
    asked: list[Any] = []

    def load(name: str | None, **_: Any) -> Any:
        asked.append(name)
        found = models[name or "base"]
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr("halldetect.models.verifiers.load_verifier", load)
    return asked


def test_fallback_judges_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    loading(monkeypatch, large=ModelError("not here"), base=Named("base"))
    told: list[str] = []
    report = Detector("large", fallback="base", notice=told.append).check(SOURCE, GOOD)
    assert told == ["base judged instead of large: not here"]
    assert told[0] in report.provenance.notes
    with pytest.raises(ModelError, match="not here"):
        Detector("large").check(SOURCE, GOOD)


@pytest.mark.parametrize(("support", "judge"), [(0.95, "base"), (0.5, "large"), (0.05, "base")])
def test_second_verifier_judges_where_the_first_is_unsure(
    monkeypatch: pytest.MonkeyPatch, support: float, judge: str
) -> None:
    asked = loading(monkeypatch, large=Named("large"), base=Named("base", support))
    report = Detector("auto").check(SOURCE, GOOD)
    assert report.provenance.verifier["name"] == judge
    assert set(asked) == {"base", "large"}
    again = [note for note in report.provenance.notes if "was unsure" in note]
    assert bool(again) == (judge == "large")


def test_cascade_without_its_second_verifier_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    loading(monkeypatch, large=ModelError("not here"), base=Named("base", 0.9))
    with pytest.raises(ModelError, match="not here"):
        Detector("auto").check(SOURCE, GOOD)
    told: list[str] = []
    report = Detector("auto", fallback="base", notice=told.append).check(SOURCE, GOOD)
    assert report.provenance.verifier["name"] == "base"
    assert "base judged instead of auto" in told[0]


def test_detectors_with_other_options_share_what_was_given(tmp_path: Path) -> None:
    (tmp_path / "mill.txt").write_text(SOURCE, encoding="utf-8")
    build_index(tmp_path / "mill.index", find_files([tmp_path / "mill.txt"]))
    told: list[str] = []
    steps: list[tuple[Any, ...]] = []

    def rule(claim: ClaimReport, documents: Sequence[str]) -> Iterator[WrongWords]:
        if "painted" in claim.text:
            yield WrongWords("style", "painted")

    first = Detector(
        "base", knowledge=tmp_path / "mill.index", calibration=Calibration(slope=2.0),
        rules=[rule], notice=told.append, progress=lambda *step: steps.append(step),
    )  # fmt: skip
    config = first.configuration.replaced(threshold=0.05)
    other = first.sharing(config)
    assert other.configuration == config
    assert other.models.knowledge is first.models.knowledge
    assert other.models.calibration == first.models.calibration
    report = other.check([], INVENTED)
    assert (report.threshold, report.provenance.configuration) == (0.05, config.to_dict())
    assert [word.kind for word in report.claims[0].wrong][:1] == ["style"]
    assert steps


def test_notices_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    print_notice("the first check takes longer")
    assert capsys.readouterr() == ("", "halldetect: the first check takes longer\n")


def test_threshold_of_one_call() -> None:
    checker = detector()
    assert checker.check(SOURCE, INVENTED, threshold=1.0).threshold == 1.0
    assert checker.check(SOURCE, GOOD, threshold=0.0).verdict is Verdict.HALLUCINATED
    assert checker.check(SOURCE, GOOD).ok
    with pytest.raises(ConfigurationError, match="no operating point"):
        checker.check(SOURCE, GOOD, threshold="balanced")
    with pytest.raises(InputError, match="threshold"):
        checker.check(SOURCE, GOOD, threshold=2.0)


def test_misspelt_verifier_fails_at_once() -> None:
    with pytest.raises(ConfigurationError, match="did you mean large"):
        Detector("lrge")
