"""Other languages than English: detection, refusals, the choice of the verifier, and rules."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from halldetect import Detector, Report, Status, Verdict
from halldetect.errors import ModelError
from halldetect.facts.quantities import numeral_values, unknown_numerals
from halldetect.large.load import load_large
from halldetect.models.loading import Models
from halldetect.reading import languages
from halldetect.reading.copies import Copies
from halldetect.reading.languages import LANGUAGES, detect, detect_all
from halldetect.reading.normalise import has_look_alikes, unreadable
from halldetect.reading.overlap import content_keys
from halldetect.reading.sentences import read_document, sentences
from halldetect.render import html, terminal
from halldetect.report import Probabilities
from halldetect.scoring import Calibration
from tests.support.fakes import OverlapVerifier
from tests.support.tiny_qwen import write_tiny

MILL = {
    "en": "The mill was built in 1790 and it is a museum now.",
    "de": "Die Mühle wurde 1790 gebaut und ist heute ein Museum.",
    "es": "El molino fue construido en 1790 y hoy es un museo del pueblo.",
    "fr": "Le moulin a été construit en 1790 et il est devenu un musée.",
    "it": "Il mulino è stato costruito nel 1790 e oggi è un museo.",
    "pt": "O moinho foi construído em 1790 e hoje não tem nenhuma roda.",
    "nl": "De molen werd in 1790 gebouwd en is nu een museum voor het dorp.",
    "pl": "Młyn został zbudowany w 1790 roku i dziś jest w nim muzeum.",
    "ru": "Мельница была построена в 1790 году, а сейчас это музей.",
    "ar": "تم بناء المطحنة عام 1790 وهي الآن متحف.",
    "hi": "यह चक्की 1790 में बनाई गई थी और अब एक संग्रहालय है।",
    "zh": "这座水车建于1790年，现在是一座博物馆。",
    "ja": "この水車は1790年に建てられ、現在は博物館です。",
    "ko": "이 물레방아는 1790년에 지어졌으며 지금은 박물관이다.",
    "tr": "Değirmen 1790 yılında inşa edildi ve şimdi bir müze olarak kullanılıyor.",
    "vi": "Cối xay được xây dựng vào năm 1790 và bây giờ là một bảo tàng.",
    "th": "โรงสีสร้างขึ้นในปี 1790 และปัจจุบันเป็นพิพิธภัณฑ์",
    "id": "Kincir itu dibangun pada tahun 1790 dan sekarang menjadi museum.",
    "fa": "این آسیاب در سال ۱۷۹۰ ساخته شد و اکنون یک موزه است.",
}
FINNISH = "Mylly rakennettiin vuonna 1790 ja nykyään se on suosittu museo kylän keskellä."


class Named(OverlapVerifier):
    """Reads some languages, and records what it is asked."""

    def __init__(self, name: str, *codes: str) -> None:
        super().__init__(400)
        self._name, self._codes = name, codes

    @property
    def description(self) -> dict[str, Any]:
        return {**super().description, "name": self._name, "languages": list(self._codes)}


def cascade() -> tuple[Detector, Named, Named]:
    """A detector that is set up as `auto` is, with two fakes."""
    base, large = Named("base", "en"), Named("large", *LANGUAGES)
    detector = Detector(base)
    second = Models(large, Calibration(), 0.5)
    detector._models = replace(detector.models, second=second)
    return detector, base, large


def multilingual(source: Any, response: str, **options: Any) -> Report:
    return Detector(Named("large", *LANGUAGES)).check(source, response, **options)


# Detection


@pytest.mark.parametrize("code", MILL)
def test_each_language_is_detected(code: str) -> None:
    assert detect(MILL[code]) == code


def test_every_language_of_the_table_has_a_text_here() -> None:
    assert list(MILL) == list(LANGUAGES)


@pytest.mark.parametrize(
    "text",
    ["", "1790", "😀😀😀", "桥", "for el in els: print(el)", "https://example.org/de/la/le",
     "Müller beat Álvarez 3-2.", "Roxana Díaz is an athlete.", "Malhação is a soap opera."],
)  # fmt: skip
def test_short_and_unclear_texts_have_no_language(text: str) -> None:
    assert detect(text) in ("", "en")


def test_unclear_texts_have_the_language_of_the_others() -> None:
    assert detect_all("Anna Müller", [MILL["de"]]) == ("de", "de")
    assert detect_all(MILL["de"], ["1790", MILL["en"]]) == ("de", "de", "en")
    assert detect_all("Anna", ["1790"]) == ("en", "en")
    assert detect_all("桥", ["1790"]) == ("en", "en")  # a single letter tells nothing


def test_without_the_library_other_languages_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "_identifier", lambda: None)
    read = detect.__wrapped__.__wrapped__  # type: ignore[attr-defined]  # remembers nothing
    assert [read(MILL[code]) for code in ("en", "de", "zh")] == ["en", "", ""]


def test_english_needs_no_room_for_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    monkeypatch.setattr(languages, "_identifier", languages._identifier.__wrapped__)
    read = detect.__wrapped__.__wrapped__  # type: ignore[attr-defined]  # remembers nothing
    assert read("Ferry crossings take 40 minutes daily.") == "en"
    with pytest.raises(ModelError, match="cannot detect the language of a text"):
        read(MILL["de"])


# Refusals


@pytest.mark.parametrize("code", sorted(set(MILL) - {"en"}))
def test_other_languages_are_judged(code: str) -> None:
    report = multilingual([MILL[code], MILL["en"]], MILL[code][:-1] + "!")
    assert report.verdict in (Verdict.FAITHFUL, Verdict.HALLUCINATED)
    assert report.languages == (code, code, "en")
    assert json.loads(report.to_json())["languages"] == [code, code, "en"]
    assert Report.from_json(report.to_json()) == report


def test_english_reports_name_no_language() -> None:
    report = multilingual(MILL["en"], "The mill is a museum.")
    assert report.languages == ()
    assert "languages" not in json.loads(report.to_json())


def test_a_language_that_was_not_tested_is_uncheckable() -> None:
    why = "is in a language (fi) that this verifier was not tested in"
    report = multilingual(MILL["en"], FINNISH)
    assert (report.verdict, report.reason) == (Verdict.UNCHECKABLE, f"the response {why}")
    report = multilingual(FINNISH, MILL["en"])
    assert (report.verdict, report.reason) == (Verdict.UNCHECKABLE, f"the source {why}")
    report = multilingual([MILL["en"], FINNISH], "The mill is a museum now.")
    assert f"a document of the source {why}" in report.provenance.notes
    english = "The mill that is in the village is a museum now. It was built in 1790 by the monks."
    report = multilingual(MILL["en"], f"{english} {FINNISH}")
    assert [claim.status for claim in report.claims][-1] is Status.UNCHECKABLE
    assert report.verdict is not Verdict.FAITHFUL


def test_base_refuses_a_foreign_sentence_of_an_english_answer() -> None:
    answer = f"The mill is a museum now. {MILL['de']}"
    report = Detector(Named("base", "en")).check(MILL["en"], answer)
    assert [claim.status for claim in report.claims][-1] is Status.UNCHECKABLE
    assert "--verifier large" in (report.claims[-1].reason or "")
    assert report.verdict is Verdict.UNCHECKABLE
    source = f"{MILL['en']} The sign says: {MILL['de']} A guide reads it out for the guests there."
    quoting = f"The sign of the mill says “{MILL['de']}” to the guests who read it."
    report = Detector(Named("base", "en")).check(source, quoting)
    assert report.claims[0].status is not Status.UNCHECKABLE


@pytest.mark.parametrize("response", ["", " ", "😀 😀 😀", "`x = f(1)`", "1790"])
def test_responses_without_a_language(response: str) -> None:
    for code in ("en", "ar", "zh"):
        report = multilingual(MILL[code], response)
        assert report.verdict is not Verdict.FAITHFUL


# The cascade


def test_auto_sends_other_languages_to_the_second_verifier() -> None:
    detector, base, large = cascade()
    pairs = [
        (MILL["en"], "The mill was built in 1790 and is a museum."),
        (MILL["de"], "Die Mühle ist ein Museum und wurde 1790 gebaut."),
        (MILL["en"], "Die Mühle ist ein Museum und wurde 1790 gebaut."),
    ]
    reports = detector.check_many(pairs)
    names = [report.provenance.verifier["name"] for report in reports]
    assert names[1:] == ["large", "large"]
    assert not any("Mühle" in claim for call in base.calls for _, claim in call)
    assert any("Mühle" in claim for call in large.calls for _, claim in call)
    [[claim]] = detector.judge([(MILL["de"], ["Die Mühle wurde 1790 als Museum gebaut."])])
    assert claim.status is not Status.UNCHECKABLE


def test_languages_do_not_depend_on_the_batch() -> None:
    pairs = [(MILL[code], MILL[code].replace("1790", "1890")) for code in MILL]
    together = cascade()[0].check_many(pairs)
    alone = [cascade()[0].check(*pair) for pair in pairs]
    assert [one.score for one in together] == [one.score for one in alone]
    assert [one.languages for one in together] == [one.languages for one in alone]


# Rules


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("这座桥很长。它建于1998年！谁建的？", 3),
        ("पुल लंबा है। वह यू.एस. में है।", 2),
        ("الجسر طويل. بني عام 1998؟ نعم!", 3),
        ("Am 30. Mai 1998 wurde sie eröffnet. Im 19. Jahrhundert war hier ein Wald.", 2),
        ("Ma 3 tys. książek. Jest na ul. Długiej.", 2),
        ("این پل بلند است. سال ساخت آن معلوم نیست.", 2),
    ],
)
def test_sentences_of_other_languages(text: str, count: int) -> None:
    found = sentences(text)
    assert len(found) == count
    assert "".join(span.cut(text) for span in found).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(
    ("number", "expected"),
    [("1.234,56", {1234.56}), ("1 234,56", {1234.56}), ("1,234.56", {1234.56}),
     ("1.234", {1234.0, 1.234}), ("1.234.567", {1234567.0}), ("१९९८", {1998.0}),
     ("٣٬٤٥٦٫٧", {3456.7}), ("12", {12.0})],
)  # fmt: skip
def test_notations_of_numbers(number: str, expected: set[float]) -> None:
    assert numeral_values(number) == expected


def test_unknown_numbers_in_any_language() -> None:
    source = ["It cost 1,234.50 euros and 30,000 people came in 1998."]
    assert unknown_numerals("Sie kostete 1.234,50 Euro, 1998 kamen 30 000.", source) == []
    assert unknown_numerals("该桥于1998年开放，3万人来了，共77天。", source) == ["77"]
    assert unknown_numerals("สะพานเปิดในปี 2541", source) == []  # of the Buddhist calendar
    assert unknown_numerals("Es sind 47.", ["It is 35."]) == ["47"]
    assert unknown_numerals("Um 15 Uhr.", ["At 3 pm."]) == []
    assert unknown_numerals("Sie wurde am 12.05.1999 eröffnet.", source) == ["1999"]


def test_a_copy_in_a_script_without_spaces_is_never_flagged() -> None:
    text = "这座桥建于1998年。它非常长。"
    copies = Copies([read_document(text)])
    assert copies.find("这座桥建于1998年") is not None
    assert copies.find("长") is None
    report = multilingual(text, "这座桥建于1998年。")
    assert report.verdict is Verdict.FAITHFUL
    assert report.cost.verifier_tokens == 0


def test_words_of_scripts_without_spaces_are_compared_by_two_letters() -> None:
    assert content_keys("桥于1998年") == {"桥于", "1998", "年"}
    assert content_keys("हिन्दी भाषा") == {"हिन्द", "भाषा"}


def test_russian_letters_are_no_look_alikes() -> None:
    assert not has_look_alikes("А он с ухом и со мной.")
    assert has_look_alikes("The mill was раid for by the town in the end.")
    assert unreadable("水" * 80) is None
    assert unreadable("a" * 80) is not None


def test_questions_headings_and_short_answers_of_other_languages() -> None:
    text = "# 概要\n\n你知道水车建于哪一年吗？\n\n| 名称 | 价格 |\n|---|---|\n| 茶 | 5 |\n"
    report = multilingual("茶的价格是5元。这座水车建于1790年。", text)
    assert [claim.text for claim in report.claims] == ["茶, 价格: 5"]
    assert {part.reason for part in report.unchecked} >= {"a heading", "a question"}
    report = multilingual(MILL["de"], "1790", question="Wann wurde die Mühle gebaut?")
    assert report.claims[0].text == "Wann wurde die Mühle gebaut? 1790"


def test_rules_for_english_words_are_off_for_translations() -> None:
    answer = "Die Mühle ist «sehr alt und wirklich schön» und hat 77 Räume."
    report = multilingual("The mill is very old and really nice. It has 12 rooms.", answer)
    (claim,) = report.claims
    assert claim.quotations == ()
    assert [wrong.words for wrong in claim.wrong] == ["77"]
    assert claim.wrong[0].span is not None
    assert claim.wrong[0].span.cut(answer) == "77"
    assert claim.error is None or claim.error.claim_words == "77"


def test_a_quotation_in_the_marks_of_its_language_is_compared() -> None:
    source = "馆长说这座博物馆明年会重新开放。"
    report = multilingual(source, "馆长说：「这座博物馆明年会永久关闭」，他很难过。")
    assert [one.state for one in report.claims[0].quotations] != ["verbatim"]
    report = multilingual(source, "馆长说：「这座博物馆明年会重新开放」，他很高兴。")
    assert [one.state for one in report.claims[0].quotations] == ["verbatim"]


def test_repair_only_removes_in_other_languages() -> None:
    source = f"{MILL['de']} Der Eintritt kostet 4 Euro und gilt den ganzen Tag."
    answer = "Die Mühle ist ein Museum und wurde 1790 gebaut. Der Eintritt kostet 9 Euro am Tag."
    mended = Detector(Named("large", *LANGUAGES)).repair(source, answer)
    assert mended.text is None or "9 Euro" not in mended.text
    assert all(change.method is None for change in mended.changes)


# Views


def test_right_to_left_texts_are_shown_whole() -> None:
    report = multilingual(MILL["ar"], "تم بناء المطحنة عام 1890 وهي الآن متحف.")
    shown = html(report)
    assert 'dir="auto"' in shown
    assert "تم بناء المطحنة عام 1890" in terminal(report, width=90, color=False)
    spans = [claim.span.cut(report.response) for claim in report.claims if claim.span]
    assert spans == [report.response]


def test_mixed_language_documents_keep_exact_spans() -> None:
    answer = f"{MILL['en']} {MILL['ar']} {MILL['zh']}"
    report = multilingual([MILL["ar"], MILL["zh"], MILL["en"]], answer)
    assert len(report.claims) == 3
    for claim in report.claims:
        assert claim.span is not None
        assert claim.span.cut(answer) == claim.text
        assert claim.status is Status.SUPPORTED


# A tiny model of the architecture of `large`


def test_a_model_of_the_architecture_of_large_judges_other_languages(tmp_path: Path) -> None:
    tiny = write_tiny(tmp_path)
    verifier = load_large(tiny.base, tiny.adapter, cache=tmp_path / "cache")
    assert verifier.description["languages"] == list(LANGUAGES)
    detector = Detector(verifier)
    for code in ("de", "ar", "zh", "th"):
        report = detector.check(MILL["en"], MILL[code])
        assert report.verdict is not Verdict.UNCHECKABLE
        assert report.languages == (code, "en")
    assert detector.check(MILL["en"], FINNISH).verdict is Verdict.UNCHECKABLE


def test_words_and_gaps_are_searched_in_english_only() -> None:
    asked: list[str] = []

    class Unsure(Named):
        def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
            asked.extend(said for _, said in pairs)
            return [Probabilities(0.1, 0.9, 0.0) for _ in pairs]

    detector = Detector(Unsure("large", "en", "de"))
    question, source = "Was ist die Mühle heute?", "Die Mühle ist heute ein Museum im Dorf."
    response = "Die alte Mühle ist heute ein sehr bekanntes Hotel am Fluss."
    plain = detector.check(source, response, question=question)
    assert plain.languages == ("de", "de")
    before = len(asked)
    report = detector.check(source, response, question=question, missing=True, words=True)
    assert (report.claims, report.missing) == (plain.claims, ())
    assert len(asked) == 2 * before, "nothing more is asked"
    question, source = "What is the mill today?", "The mill is a museum of the village today."
    found = detector.check(source, "The owner sleeps.", question=question, missing=True)
    assert [item.text for item in found.missing] == [source]
