"""Claims in other languages: edits, parallel passages, rows for evaluation."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from training.large import language_edits, languages, measure


@pytest.mark.parametrize(
    ("language", "text", "negated"),
    [
        ("de", "Die Brücke ist seit Mai offen.", "Die Brücke ist nicht seit Mai offen."),
        ("es", "El puente está abierto.", "El puente no está abierto."),
        ("fr", "Le pont est ouvert.", "Le pont n'est pas ouvert."),
        ("hi", "पुल खुला है।", "पुल खुला नहीं है।"),
        ("ja", "橋は開通しました。", "橋は開通しませんでした。"),
        ("ru", "Мост был открыт.", "Мост не был открыт."),
        ("tr", "Köprü açıldı.", "Köprü açılmadı."),
        ("de", "Die Brücke ist nie offen.", ""),
        ("es", "¿Está abierto el puente?", ""),
    ],
)
def test_a_sentence_is_negated_once(language: str, text: str, negated: str) -> None:
    assert language_edits.negated(text, language) == negated


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("ar", "بُني الجسر عام ١٩٥٢ قرب المدينة."),
        ("zh", "这座桥建于1952年。"),
        ("pl", "Most zbudowano w 1952 roku."),
    ],
)
def test_a_number_changes_in_its_own_script(language: str, text: str) -> None:
    rng = random.Random(1)
    made = language_edits.other_number(text, "The bridge was built in 1952.", text, language, rng)
    assert made != text
    assert len(made) == len(text)
    digits = [sign for sign in made if sign.isdigit()]
    assert language_edits.plain("".join(digits))[:3] == "195"
    assert all(("0" <= sign <= "9") is (language != "ar") for sign in digits)
    # A number that the translation does not have may be a conversion: it stays.
    assert not language_edits.other_number(text, "Built long ago.", text, language, rng)


def test_months_and_names_are_swapped_for_others() -> None:
    rng = random.Random(2)
    made = language_edits.other_term("Das Fest beginnt im März.", "de", rng)
    months = language_edits.terms("de")[0]
    assert made in {f"Das Fest beginnt im {month}." for month in months if month != "März"}
    twin = "On Monday the captain Dalia told reporters in Orrin."
    made = language_edits.other_name("Am Montag sprach Dalia in Orrin.", twin, ["Pell"], rng)
    assert made in {"Am Montag sprach Pell in Orrin.", "Am Montag sprach Dalia in Pell."}


def test_a_parallel_passage_has_true_edited_and_foreign_sentences() -> None:
    boats = ["Anna", "Berta", "Clara", "Dora"]
    english = [f"The ferry {name} was built in 19{at}5." for at, name in enumerate(boats)]
    german = [f"Die Fähre {name} wurde 19{at}5 gebaut." for at, name in enumerate(boats)]
    english.append("Her brother sells fresh bread on Sundays behind the old church.")
    german.append("Ihr Bruder verkauft sonntags frisches Brot hinter der alten Kirche.")
    made = languages.pair(
        range(4), english, german, english, ("en", "de"), random.Random(3), "lang_ntrex"
    )
    assert made is not None
    assert made.text == " ".join(english[:4])
    assert {claim.label for claim in made.claims} > {"N"}
    for claim in made.claims:
        if claim.label == "N":
            assert claim.text == german[4]
            assert claim.weight < 1
        else:
            assert (claim.text in german[:4]) is (claim.label == "E")


def test_evaluation_rows_keep_the_sentences_of_the_annotators(tmp_path: Path) -> None:
    folder = tmp_path / "datasets" / "memerag"
    folder.mkdir(parents=True)
    states = ("Supported", "Challenging to determine", "Not Supported")
    record = {
        "query_id": "7", "context": [{"text": "Der See ist tief."}, {"text": "Er liegt im Süden."}],
        "answer": [{"sentence": f"Satz {at}.", "factuality": state}
                   for at, state in enumerate(states)],
    }  # fmt: skip
    for name in measure.MEMERAG:
        file = folder / f"{name.removeprefix('memerag_')}.jsonl"
        file.write_text(json.dumps(record) + "\n" + json.dumps(record), encoding="utf-8")
    rows = list(measure.in_languages(tmp_path))
    german = [row for row in rows if row["set"] == "memerag_de"]
    assert len(german) == 2
    assert german[0]["wrong"]
    assert german[0]["claims"] == [["Satz 0.", None], ["Satz 2.", None]]
    assert german[0]["labels"] == ["E", "notE"]
    assert german[0]["source"] == "Der See ist tief.\n\nEr liegt im Süden."
    assert {"suite_de", "suite_de_en", "suite_en_de"} <= {row["set"] for row in rows}
