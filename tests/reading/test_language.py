"""Plainly foreign texts are recognised, doubtful ones are left to the verifier."""

from __future__ import annotations

from typing import Any

import pytest

from halldetect import Detector, Verdict
from halldetect.reading.words import is_foreign
from tests.support.fakes import OverlapVerifier

FOREIGN = [
    "Le moulin a été construit en 1790 et il est devenu un musée.",
    "Le premier bateau part à 6 h 20. Un billet simple coûte quatre euros.",
    "Die Mühle wurde 1790 gebaut und ist heute ein Museum.",
    "El molino fue construido en 1790 por los monjes.",
    "De molen werd in 1790 gebouwd en is nu een museum voor het dorp.",
    "Il mulino è stato costruito nel 1790 e oggi è un museo.",
    "O moinho foi construído em 1790 e não tem roda.",
    "Kvarnen byggdes 1790 och är nu ett museum.",
    "水车建于1790年。",
    "Мельница построена в 1790 году.",
    "تم بناء المطحنة عام 1790.",
]
NOT_FOREIGN = [
    "The Museo del Prado in Madrid holds Las Meninas.",
    "Las Palmas de Gran Canaria hosted Los Lobos.",
    "Müller beat Álvarez 3-2.",
    "Charles de Gaulle led France.",
    "α = 3 and β = 4",
    "for el in els: print(el)",
    "https://example.org/de/la/le",
    "1790",
    "",
]


@pytest.mark.parametrize("text", FOREIGN)
def test_foreign(text: str) -> None:
    assert is_foreign(text)


@pytest.mark.parametrize("text", NOT_FOREIGN)
def test_not_plainly_foreign(text: str) -> None:
    assert not is_foreign(text)


class EnglishOnly(OverlapVerifier):
    @property
    def description(self) -> dict[str, Any]:
        return {**super().description, "languages": ["en"]}


@pytest.mark.parametrize("text", FOREIGN)
def test_english_verifier_refuses_other_languages(text: str) -> None:
    english, mill = Detector(EnglishOnly()), "The mill is a museum."
    assert english.check(text, text).verdict is Verdict.UNCHECKABLE
    assert english.check(mill, text).reason == (
        "the response is not in English, the only language this verifier reads; "
        "--verifier large reads others"
    )
    assert english.check(text, mill).reason == (
        "the source is not in English, the only language this verifier reads; "
        "--verifier large reads others"
    )
    assert english.check(mill, mill).verdict is Verdict.FAITHFUL


def test_a_verifier_that_names_no_language_is_asked() -> None:
    text = "Die Mühle wurde 1790 gebaut und ist heute ein Museum."
    report = Detector(OverlapVerifier()).check(text, text)
    assert report.verdict is Verdict.FAITHFUL
