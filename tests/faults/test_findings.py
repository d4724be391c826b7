"""Findings by rule: numbers, quotations, identifiers and wrong words, through the detector."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halldetect import Detector, Report
from halldetect.faults.identifiers import identifiers, invented
from halldetect.faults.quotations import VerbatimSource
from halldetect.faults.wrong_words import new_words
from halldetect.protocols import Traits
from halldetect.reading.overlap import content_keys
from halldetect.render.html import html
from halldetect.render.markdown import markdown
from halldetect.render.sarif import sarif
from halldetect.render.terminal import terminal
from halldetect.report import ClaimReport, Probabilities, WrongWords
from halldetect.scoring import Calibration
from tests.support.paths import ROOT


class Scripted(Traits):
    """A verifier whose P(E) is a function of the hypothesis."""

    max_tokens = 512

    def __init__(self, entails: Callable[[str], float]) -> None:
        self.entails = entails
        self.description = {"name": "scripted", "digest": "0"}
        self.asked: list[str] = []

    def count_tokens(self, texts: list[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def judge(self, pairs: list[tuple[str, str]]) -> list[Probabilities]:
        self.asked += [hypothesis for _, hypothesis in pairs]
        return [Probabilities(p, 1 - p, 0.0) for p in (self.entails(text) for _, text in pairs)]


def check(source: Any, response: str, support: float = 0.9, **options: Any) -> Report:
    detector = Detector(verifier=Scripted(lambda _: support), **options)
    return detector.check(source, response)


def test_an_unknown_number_halves_the_support() -> None:
    report = check("Children under eight pay four euros.", "Children under eighty pay four euros.")
    (claim,) = report.claims
    assert (claim.status, claim.support) == ("unsupported", 0.45)
    assert [(item.kind, item.words) for item in claim.wrong] == [("number", "eighty")]
    assert claim.wrong[0].span is not None
    assert claim.wrong[0].span.cut(report.response) == "eighty"


def test_a_sure_verifier_decides_about_prose_but_not_about_records() -> None:
    claim = "The desk costs 250 and is made of oak."
    assert check("The oak desk costs 240.", claim, 0.99).verdict == "faithful"
    assert check('{"desk": {"price": 240, "wood": "oak"}}', claim, 0.99).verdict == "hallucinated"


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("One guest waited 20 minutes for a table.", "hallucinated"),  # not 40 minutes / 2
        ("One guest gave 5 out of 10 stars.", "faithful"),
        ("Masks are worn because of COVID-19.", "faithful"),
        ("The grill is open seven days a week.", "faithful"),
        ("The grill is open 24/7.", "faithful"),
    ],
)
def test_a_number_follows_from_a_record_only_if_the_claim_computes(
    claim: str, verdict: str
) -> None:
    source = '{"stars": 5, "reviews": [{"stars": 2, "text": "Waited 40 minutes for a table."}]}'
    assert check(source, claim).verdict == verdict


MANY = "Prices in euros: " + ", ".join(f"item {n} {n}.{n + 20}" for n in range(11, 20)) + "."


@pytest.mark.parametrize(
    ("claim", "source", "status"),
    [
        ("All items together cost 212 euros.", MANY, "unclear"),  # not a single step
        ("If you pay with 500 euros, you get change.", MANY, "unclear"),  # assumed
        ("The bag costs 500 euros.", MANY, "unsupported"),
        ("If you pay with 500 euros, you get change.", "The bag costs 30 euros.", "unsupported"),
    ],
)
def test_many_numbers_leave_computed_claims_unclear(claim: str, source: str, status: str) -> None:
    calibration = Calibration(supported_above=0.65)
    detector = Detector(Scripted(lambda _: 0.9), calibration=calibration)
    (found,) = detector.check(source, claim).claims
    assert (found.status, found.failing) == (status, status == "unsupported")


def test_a_number_of_many_cells_is_known_in_any_spelling() -> None:
    table = "station,line,year,boardings\nArle,1,1936,12800\nBrisk,2,1951,7450\n"
    assert check(table, "Arle has 12,800 boardings.").ok


SEATS = "The upper deck has 320 seats and the lower deck has 180 seats."


@pytest.mark.parametrize(
    ("claim", "source", "ok"),
    [
        ("Together the decks have 500 seats.", SEATS, True),
        ("Together the decks have 570 seats.", SEATS, False),
        ("The ferry has 500 seats.", SEATS, False),  # it does not speak of a computation
        ("Together they have 500 seats.", SEATS.replace("180 seats", "180 beds"), False),
        ("The Aria costs 329 euros.", "The Bora costs 389 euros, 60 euros more than it.", True),
        ("The fee will go up by 15 euros.", "The fee rises from 60 to 75 euros.", True),
        ("She led it for 12 years.", "She came in 2011 and left in 2023.", True),
        ("The fee per day: 0.00", "It costs 5 euros on 7 days, or 3 euros on 9 days.", False),
        ("It costs 0 euros more.", "It costs 5 euros, or 5 euros at night.", False),
        ("The second phase took 12 years, longer than ever.", "It ran from 2011 to 2023.", True),
    ],
)
def test_a_claim_that_computes_from_like_numbers_is_spared(
    claim: str, source: str, ok: bool
) -> None:
    assert check(source, claim).ok is ok
    assert not check(source, claim, 0.1).ok  # it is no evidence


@pytest.mark.parametrize(
    ("answer", "question", "ok"),
    [
        ("Yes.", "Do 75 guests fit?", False),
        ("Absolutely!", "Do 75 guests fit?", False),
        ("Yes.", "Do 90 guests fit?", True),
        ("No.", "Do 75 guests fit?", True),
    ],
)
def test_a_yes_needs_its_numbers_in_the_source(answer: str, question: str, ok: bool) -> None:
    detector = Detector(verifier=Scripted(lambda _: 0.8))
    assert detector.check("The hall seats 90 guests.", answer, question=question).ok is ok


def test_a_number_of_the_question_is_known() -> None:
    detector = Detector(verifier=Scripted(lambda _: 0.9))
    answer = "All 75 guests fit into the hall."
    assert detector.check("The hall seats many.", answer, question="Do 75 guests fit?").ok
    assert not detector.check("The hall seats many.", answer).ok


@pytest.mark.parametrize(
    ("claim", "state"),
    [
        ("Holm said: “We will close the mill in May.”", "verbatim"),
        ('Holm said: "we WILL close the mill … nobody wants its flour."', "verbatim"),
        ("Holm said: “We will close [it] in May.”", "verbatim"),
        ("Holm said: “We will open the mill in May.”", "changed"),
        ("Dahl said: “We will close the mill in May.”", "of another speaker"),
        ("Holm said: “We will close the mill I will vote against it.”", "stitched together"),
        ("Holm said: “Flour has never been so expensive here.”", "not found"),
    ],
)
def test_states_of_quotations(claim: str, state: str) -> None:
    text = "Holm: We will close the mill in May, nobody wants its flour.\n"
    source = VerbatimSource([f"{text}Dahl: I will vote against it."])
    assert [item.state for item in source.quotations(claim)] == [state]


def test_a_wrong_speaker_is_wrong_whatever_the_verifier_says() -> None:
    source = "Holm: We will close the mill in May.\nDahl: I am against it."
    report = check(source, "Dahl said: “We will close the mill in May.” He is sorry.", 0.99)
    assert [claim.status for claim in report.claims] == ["unsupported", "supported"]
    assert report.claims[0].wrong[0].kind == "quotation"
    assert "Quotation of another speaker" in terminal(report, color=False)


def test_titles_and_questions_are_not_quotations() -> None:
    source = VerbatimSource(["A film was made."])
    assert source.quotations("She stars in “The Hunger Games: Mockingjay Part Two”.") == []
    asked = "why did the old mill close"
    assert source.quotations(f"As for “{asked}”, nobody knows.", (), f"{asked}?") == []


def test_cited_document_without_the_quotation() -> None:
    source = VerbatimSource(["Nothing here.", "The dam held, but the pumps failed."])
    (found,) = source.quotations("It says “the dam held, but the pumps failed” [1].", [0])
    assert (found.state, found.document) == ("from another document", 1)


def test_suite_of_quotations_by_rule_alone() -> None:
    right = wrong = 0
    for line in (ROOT / "tests/data/quotations.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        source = VerbatimSource([entry["source"]])
        for side in ("true", "false"):
            for claim in entry[side]:
                verbatim = [item.state for item in source.quotations(claim)] == ["verbatim"]
                right += side == "true" and verbatim
                wrong += side == "false" and not verbatim
    assert right == 40
    assert wrong >= 38


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Call read_rows() with --dry-run.", ["read_rows()", "--dry-run"]),
        (
            "See https://a.example/x, or mail to me@b.example.",
            ["https://a.example/x", "me@b.example"],
        ),
        (
            "Open conf/app.yaml; error E-4711 means MAX_SIZE.",
            ["conf/app.yaml", "E-4711", "MAX_SIZE"],
        ),
        ("It is in ~/.config/app.toml.", ["~/.config/app.toml"]),
        ("Order number 774410 is paper 10.5555/jar.2023.04.", ["774410", "10.5555/jar.2023.04"]),
        ("Plain words, e.g. U.S. and 3.5 or I/O.", []),
        ("COVID-19 cost 25500 euros and 100GB at 10AM-12PM.", []),
        ("", []),
    ],
)
def test_identifiers(text: str, found: list[str]) -> None:
    assert identifiers(text) == found


def test_identifiers_in_another_spelling_are_known() -> None:
    known = [
        "Use the XR 5000 and `read_rows`. See www.a.example.",
        "错误E-4711表示。 The QX81LTs fly.",
    ]
    assert invented("The XR-5000 has read_rows() at https://a.example/.", known) == []
    assert invented("Error E4711 stops the QX81LT.", known) == []
    assert invented("Use read_cells() of the XR-500.", known) == ["read_cells()", "XR-500"]


def test_an_invented_identifier_is_wrong_whatever_the_verifier_says() -> None:
    report = check("Use --quiet to print less.", "You can use --silent to print less.", 0.99)
    (claim,) = report.claims
    assert claim.failing
    assert [(item.kind, item.words) for item in claim.wrong] == [
        ("invented identifier", "--silent")
    ]
    result = json.loads(sarif(report, "answer.txt"))["runs"][0]["results"][0]
    assert result["properties"]["wrong"][0]["words"] == "--silent"
    assert result["locations"][0]["annotations"][0]["startColumn"] == 13


def test_new_words_of_a_failing_claim_are_marked() -> None:
    known = content_keys("The old mill by the river was closed in May by the old town council.")
    mill = "The old mill by the river was closed in May by the old council of the town"
    assert new_words(f"{mill} of angry giants, and in May.", known) == [f"{mill} of angry giants"]
    assert new_words(f"{mill}, which angry giants run, and fell silent.", known) == [
        "which angry giants run, and fell silent"
    ]
    assert new_words(f"{mill} (angry giants), in May.", known) == ["angry giants"]
    assert new_words("", known) == []
    assert new_words("Purple unicorns danced nightly.", known) == ["Purple unicorns danced nightly"]
    assert new_words("The mill was closed.", known) == []
    report = check("The mill closed in May.", "The mill closed in May after a fire.", 0.1)
    assert [item.words for item in report.claims[0].wrong] == ["after a fire"]


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=80), st.text(max_size=80))
def test_any_texts_are_compared(source: str, response: str) -> None:
    report = check(source, f"“{response}” 5 --x {response}", 0.6)
    assert Report.from_json(report.to_json()) == report
    for item in (item for claim in report.claims for item in claim.wrong if item.span):
        assert item.span is not None
        assert 0 <= item.span.start < item.span.end <= len(report.response)


def test_without_facts_nothing_changes() -> None:
    report = check("The mill closed.", "It was the mill that closed.", 0.9)
    data = report.to_dict()["claims"][0]
    assert not {"wrong", "quotations"} & data.keys()


OLD = {"id": "Notice, 3 May 2021", "text": "A day ticket costs 35 euros. It is green."}
NEW = {"id": "Notice, 9 July 2023", "text": "A day ticket costs 42 euros. It is blue."}


class Numbers(Scripted):
    """A verifier that compares the numbers of premise and hypothesis."""

    def judge(self, pairs: list[tuple[str, str]]) -> list[Probabilities]:
        def one(premise: str, hypothesis: str) -> Probabilities:
            said = [word for word in hypothesis.split() if word.isdigit()]
            right = all(word in premise.split() for word in said)
            return Probabilities(0.9, 0.1, 0.0) if right else Probabilities(0.0, 0.1, 0.9)

        return [one(*pair) for pair in pairs]


def test_a_disputed_claim_names_the_other_document() -> None:
    detector = Detector(verifier=Numbers(lambda _: 0.0))
    report = detector.check([OLD, NEW], "The price of a day ticket is 35 euros.")
    (claim,) = report.disputed
    assert report.ok
    assert claim.against is not None
    assert claim.against.passage.text == "A day ticket costs 42 euros."
    assert (claim.against.passage.document, claim.against.newer) == (1, 1)
    for shown in (terminal(report, color=False), markdown(report), html(report)):
        assert "42 euros" in " ".join(shown.split())
    assert "Disputed by another document: 1." in str(report)
    assert Report.from_json(report.to_json()) == report


def test_the_command_line_fails_on_disputed_claims(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from halldetect.cli import main

    load = "halldetect.models.verifiers.load_verifier"
    monkeypatch.setattr(load, lambda *_, **__: Numbers(lambda _: 0.0))
    paths = [tmp_path / "2021.txt", tmp_path / "2023.txt"]
    for path, document in zip(paths, (OLD, NEW), strict=True):
        path.write_text(document["text"], encoding="utf-8")
    given = ["check", str(paths[0]), "The price of a day ticket is 35 euros."]
    disputed = [*given, "--source", str(paths[1])]
    assert main([*disputed, "--fail-on", "disputed"]) == 1
    assert "42 euros" in capsys.readouterr().out
    assert main([*disputed, "--json"]) == 0
    (claim,) = json.loads(capsys.readouterr().out)["claims"]
    assert claim["against"]["newer"] == 1
    assert main([*given, "--fail-on", "disputed"]) == 0


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
def test_any_documents_and_questions_are_compared(first: str, second: str) -> None:
    detector = Detector(verifier=Numbers(lambda _: 0.0))
    sources = [f"A day ticket costs 35 euros. {first}", f"A day ticket costs 42 euros. {second}"]
    answer = f"A day ticket costs 35 euros. “{second}” {first}"
    report = detector.check(sources, answer, question=second, missing=True)
    assert Report.from_json(report.to_json()) == report
    passages = [claim.against.passage for claim in report.disputed if claim.against]
    for found in (*passages, *report.missing):
        assert found.span.cut(report.documents[found.document]) == found.text


@pytest.mark.parametrize(
    "source", [[OLD], [OLD, OLD | {"id": "x"}], [OLD, {"id": "y", "text": "Cows moo."}]]
)
def test_agreeing_documents_dispute_nothing(source: list[dict[str, str]]) -> None:
    report = Detector(verifier=Numbers(lambda _: 0.0)).check(source, "It costs 35 euros a day.")
    assert report.disputed == ()


def test_without_dates_no_document_is_newer() -> None:
    detector = Detector(verifier=Numbers(lambda _: 0.0))
    documents = [OLD | {"id": "a"}, NEW | {"id": "b"}]
    (claim,) = detector.check(documents, "The price of a day ticket is 35 euros.").disputed
    assert claim.against is not None
    assert claim.against.newer is None


def test_statements_that_answer_the_question_and_are_left_out() -> None:
    source = "The pool opens at nine. The pool closes at six. Dogs must wait outside."
    verifier = Scripted(lambda text: 0.9 if "nine" in text else 0.1)
    detector = Detector(verifier=verifier)
    question = "When does the pool open or close?"
    report = detector.check(source, "It opens at nine.", question=question, missing=True)
    assert [item.text for item in report.missing] == ["The pool closes at six."]
    for shown in (terminal(report, color=False), markdown(report), html(report)):
        assert "Not in the response" in shown
    assert Report.from_json(report.to_json()) == report


@pytest.mark.parametrize(("source", "response", "question"), [
    ("The pool opens at nine.", "It opens at nine.", None),
    ("The pool opens at nine.", "It opens at nine.", "And?"),
    ("", "", "When does the pool open?"),
])  # fmt: skip
def test_nothing_is_missing_without_a_question(
    source: str, response: str, question: str | None
) -> None:
    detector = Detector(verifier=Scripted(lambda _: 0.1))
    report = detector.check(source, response, question=question, missing=True)
    assert report.missing == ()


def test_missing_is_off_by_default() -> None:
    detector = Detector(verifier=Scripted(lambda _: 0.1))
    assert detector.check("The pool opens.", "No.", question="Does the pool open?").missing == ()


def test_a_rule_of_the_caller_flags_a_claim() -> None:
    def slang(claim: ClaimReport, documents: Sequence[str]) -> Iterator[WrongWords]:
        assert documents == ["The mill closed."]
        if "gonna" in claim.text:
            yield WrongWords("slang", "gonna", "going to", label="STYLE-1")

    detector = Detector(verifier=Scripted(lambda _: 0.99), rules=[slang])
    report = detector.check("The mill closed.", "It was gonna close. It did close.")
    assert [claim.failing for claim in report.claims] == [True, False]
    (word,) = report.claims[0].wrong
    assert (word.kind, word.span and word.span.cut(report.response)) == ("slang", "gonna")
    assert word.label == "STYLE-1"


def test_a_rule_that_fails_leaves_a_note() -> None:
    def broken(claim: ClaimReport, documents: Sequence[str]) -> Iterator[WrongWords]:
        raise ValueError("no such table")

    detector = Detector(verifier=Scripted(lambda _: 0.99), rules=[broken])
    report = detector.check("The mill closed.", "It was the mill that closed.")
    assert report.ok
    assert "no such table" in report.provenance.notes[-1]


def test_a_word_left_out_of_a_quotation_is_shown() -> None:
    source = VerbatimSource(['Mayor Ane Holt said: "We will not close the old school."'])
    (found,) = source.quotations('Ane Holt said "We will close the old school."')
    assert found.state == "changed"
    assert found.source_words == "We will not close the old school"


def test_missing_needs_a_question(capsys: pytest.CaptureFixture[str]) -> None:
    from halldetect.cli import main

    assert main(["check", "--text", "The pool opens.", "It opens.", "--missing"]) == 2
    assert "--missing needs --question" in capsys.readouterr().err


MILL = "The old mill by the river closed in May because flour was cheap. Nobody spoke of a fire."


def test_the_shortest_phrase_whose_removal_helps_is_wrong() -> None:
    verifier = Scripted(lambda text: 0.1 if "fire" in text else 0.9)
    detector = Detector(verifier=verifier)
    response = "By the river, the old mill closed in May after a fire."
    assert detector.check(MILL, response).claims[0].wrong == ()
    asked = len(verifier.asked)
    report = detector.check(MILL, response, words=True)
    (word,) = report.claims[0].wrong
    assert (word.words, word.kind) == ("after a fire", "invented detail")
    assert word.span is not None
    assert word.span.cut(response) == word.words
    assert len(verifier.asked) <= 2 * asked + 12
    assert Report.from_json(report.to_json()) == report


def test_a_number_is_replaced_by_some() -> None:
    verifier = Scripted(lambda text: 0.9 if "some people" in text else 0.1)
    source = "Forty people worked in the mill, and 60 people lived there."
    report = Detector(verifier=verifier).check(source, "In it worked 60 people.", words=True)
    assert [(item.kind, item.words) for item in report.claims[0].wrong] == [("number", "60")]


def test_words_of_a_rule_are_kept() -> None:
    verifier = Scripted(lambda text: 0.1 if "1885" in text else 0.9)
    source = "The mill at Vig was opened in 1875."
    report = Detector(verifier=verifier).check(source, "The mill opened in 1885.", words=True)
    assert [(item.words, item.source_words) for item in report.claims[0].wrong] == [
        ("1885", "1875")
    ]
    assert all("1885" in text for text in verifier.asked)


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_searched_for_wrong_words(text: str) -> None:
    detector = Detector(verifier=Scripted(lambda text: len(text) % 3 / 3))
    report = detector.check(MILL, f"The old mill closed in {text}, they say {text}.", words=True)
    for item in (item for claim in report.claims for item in claim.wrong if item.span):
        assert item.span is not None
        assert 0 <= item.span.start < item.span.end <= len(report.response)
    assert detector.check("", "", words=True).verdict == "uncheckable"


def test_wrong_words_are_marked_in_every_view() -> None:
    report = check("Children under eight pay four euros.", "Children under eighty pay four euros.")
    page = html(report)
    note = "Number: in the source “eight”"
    assert page.count(f'<mark class="wrong" title="{note}">eighty') == 4  # view and sheet, twice
    assert page.count("(claim 1, unsupported)") == 2  # in the response and in the source
    assert "eighty\x1b[0m" in terminal(report, color=True)
    assert "Number: “eighty”, in the source “eight”" in markdown(report)


def test_hostile_words_are_escaped() -> None:
    def rule(claim: ClaimReport, documents: Sequence[str]) -> Iterator[WrongWords]:
        yield WrongWords("<b>\u202e", "<script>", '"><img src=x>\ud800')
        yield WrongWords("empty", "", "")

    detector = Detector(verifier=Scripted(lambda _: 0.99), rules=[rule])
    report = detector.check("A script ran.", "It was a <script> that ran.")
    page = html(report)
    assert "<img" not in page
    assert "It was a <script>" not in page
    assert "\u202e" not in page
    assert terminal(report, color=True)
    assert json.loads(sarif(report, "answer.txt"))


HOSTILE = '<b>E1</b> [a](b)\x1b[31m"\u202e\n'


def test_labels_of_the_caller_are_shown_in_every_view() -> None:
    types = {"number": HOSTILE, "negation": "E2"}
    verifier = Scripted(lambda _: 0.9)
    events: list[Any] = []
    source, response = "Children under eight pay.", "Those under eighty pay. They pay."
    detector = Detector(verifier=verifier, error_types=types)
    (report,) = detector.check_many([(source, response)], observe=events.append)
    (word,) = report.claims[0].wrong
    assert (word.kind, word.label) == ("number", HOSTILE)
    assert report.claims[0].error is not None
    assert report.claims[0].error.label == HOSTILE
    assert report.claims[1].wrong == ()
    assert events[-2].claim == report.claims[0]
    assert Report.from_json(report.to_json()) == report
    again = Detector.from_provenance(report, verifier=verifier)
    assert again.check(source, response).claims == report.claims
    result = json.loads(sarif(report, "answer.txt"))["runs"][0]["results"][0]
    assert result["properties"]["wrong"][0]["label"] == HOSTILE
    shown = [terminal(report, color=True), markdown(report), html(report)]
    assert all("E1" in view and "Number:" not in view for view in shown)
    assert not any("\u202e" in view for view in shown)
    assert not any("<b>" in view for view in shown[1:])
    assert not any("\x1b" in view for view in shown[1:])


def test_a_kind_without_a_label_keeps_its_name() -> None:
    report = check(
        "Children under eight pay.", "Those under eighty pay.", error_types={"date": "D"}
    )
    assert report.claims[0].wrong[0].label is None
    assert "Number: “eighty”" in markdown(report)
    assert '"label"' not in report.to_json()


def test_words_by_removal_and_tool_calls_have_labels() -> None:
    verifier = Scripted(lambda text: 0.1 if "fire" in text else 0.9)
    detector = Detector(verifier=verifier, error_types={"invented detail": "E7"})
    report = detector.check(MILL, "By the river, the mill closed in May after a fire.", words=True)
    assert [(word.words, word.label) for word in report.claims[0].wrong] == [("after a fire", "E7")]
    call = {"id": "1", "function": {"name": "refund", "arguments": '{"order": "A-7715"}'}}
    messages = [
        {"role": "user", "content": "Refund my order."},
        {"role": "assistant", "content": None, "tool_calls": [{**call, "type": "function"}]},
    ]
    (turn,) = detector.check_conversation(messages).turns
    assert [claim.error and claim.error.label for claim in turn.report.claims] == ["E7"]


def test_every_new_word_of_an_invented_claim_is_marked() -> None:
    text = "A famous baker named Olga Petersen later bought seven ruined castles near Lisbon."
    report = check(MILL, text, support=0.1)
    assert report.claims[0].error is not None
    assert report.claims[0].error.kind == "invented detail"
    number, run = report.claims[0].wrong
    assert (number.kind, number.words) == ("number", "seven")
    assert run.words == text.removesuffix(".")


def test_the_command_line_searches_words(capsys: pytest.CaptureFixture[str]) -> None:
    from halldetect.cli import main

    assert main(["check", "--text", "The pool opens.", "The pool opens.", "--words"]) == 0
    assert "FAITHFUL" in capsys.readouterr().out


def test_suite_of_identifiers_by_rule_alone() -> None:
    for line in (ROOT / "tests/data/identifiers.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        source = [entry["source"]]
        assert [invented(text, source) for text in entry["true"]] == [[], []]
        assert all(invented(text, source) for text in entry["false"])
