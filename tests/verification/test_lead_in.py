"""Windows that begin with a pronoun begin earlier, with what the pronoun stands for."""

from __future__ import annotations

import pytest

from halldetect import Detector
from halldetect.inputs import Pair, clean_pair, read_texts
from halldetect.reading.sentences import read_document
from halldetect.verification.scales import source_windows
from tests.support.fakes import OverlapVerifier

BRIDGE = "The Kell bridge was designed by Ann Holm."
OPENED = "It opened in 1932."
CLOSED = "It closed in 2011."
MILL = "The mill burned down."


def texts(*sentences: str, lead_in: bool = True) -> list[str]:
    document = read_document(" ".join(sentences))
    return [window.text for window in source_windows([document], [16], lead_in=lead_in)]


def test_the_sentence_before_comes_along() -> None:
    assert texts(MILL, BRIDGE, OPENED) == [MILL, BRIDGE, f"{BRIDGE} {OPENED}"]


def test_two_sentences_at_most_come_along() -> None:
    found = texts(BRIDGE, OPENED, CLOSED, "It is now a path.")
    assert found[2] == f"{BRIDGE} {OPENED} {CLOSED}"
    assert found[3] == f"{OPENED} {CLOSED} It is now a path."


@pytest.mark.parametrize("sentence", ["It rained.", "It is clear that the mill burned."])
def test_it_that_stands_for_nothing_brings_nothing(sentence: str) -> None:
    assert texts(BRIDGE, sentence) == [BRIDGE, sentence]


def test_the_paper_cuts_where_it_cuts() -> None:
    assert texts(BRIDGE, OPENED, lead_in=False) == [BRIDGE, OPENED]


def test_a_heading_comes_along() -> None:
    document = read_document(f"# Kell bridge\n\n{OPENED}")
    assert source_windows([document], [16])[-1].text == f"# Kell bridge\n\n{OPENED}"


def test_the_name_of_a_document_stands_before_its_first_pronoun() -> None:
    named = [{"id": "Kell bridge", "text": f"{OPENED} {MILL}"}, {"id": "b", "text": BRIDGE}]
    pair = clean_pair(Pair(named, "x"))
    first, _ = read_texts(pair).documents
    (whole, opened, mill) = source_windows([first], [1, 16])
    assert whole.text == f"Kell bridge: {OPENED} {MILL}"
    assert (opened.text, mill.text) == (f"Kell bridge: {OPENED}", MILL)
    assert opened.span.cut(first.text) == OPENED


@pytest.mark.parametrize("name", ["notes.txt", "report.pdf, page 3", "Document 1", "a1-b2", ""])
def test_a_file_name_is_no_title(name: str) -> None:
    pair = clean_pair(Pair([{"id": name, "text": OPENED}], "x"))
    assert read_texts(pair).documents[0].readings == ()


def test_the_report_quotes_the_raw_source() -> None:
    detector = Detector(verifier=OverlapVerifier())
    report = detector.check(
        [{"id": "Kell bridge", "text": OPENED}], "The Kell bridge opened in 1932."
    )
    assert report.claims[0].evidence is not None
    assert report.claims[0].evidence.text == OPENED
