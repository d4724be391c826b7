"""Windows: titles and pronouns at their beginning, pages of long sources, long sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect import Detector
from halldetect.reading.document import Document, Span
from halldetect.reading.sentences import read_document
from halldetect.verification.windows import (
    STATEMENT_STEP,
    CountedDocument,
    FittedTask,
    Task,
    _cut_sentence,
    cut_pages,
    short_spans,
)
from tests.support.fakes import OverlapVerifier

BRIDGE, OPENED, MILL = "The Kell bridge is old.", "It opened in 1932.", "The mill burned down."


class Words:
    """A word is a token."""

    max_tokens = 448
    description: dict[str, object] = {}  # noqa: RUF012

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(re.findall(r"\S+", text)) for text in texts]


class Letters(Words):
    """A character is a token."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text) for text in texts]


def counted(document: Document, tokens: type[Words] = Words) -> CountedDocument:
    return CountedDocument(tokens(), document)  # type: ignore[arg-type]


def book(sentences: int, words: int = 12) -> Document:
    body = " ".join("word" for _ in range(words - 3))
    return read_document(" ".join(f"Sentence {at} has {body}." for at in range(sentences)))


@pytest.mark.parametrize("sentence", ["It rained.", "It is clear that the mill burned."])
def test_empty_pronoun_brings_nothing_along(sentence: str) -> None:
    document = read_document(f"{BRIDGE} {sentence}")
    assert short_spans(document, 1) == list(document.sentences)


def test_heading_comes_along() -> None:
    document = read_document(f"# Kell bridge\n\n{OPENED}")
    assert short_spans(document, 1)[-1].cut(document.text) == f"# Kell bridge\n\n{OPENED}"


def test_each_part_is_counted_once() -> None:
    document = read_document("Rider one crossed. Rider two crossed.")
    asked: list[str] = []

    class Asked(Words):
        def count_tokens(self, texts: Sequence[str]) -> list[int]:
            asked.extend(texts)
            return super().count_tokens(texts)

    found = counted(document, Asked)
    assert found.count([*document.sentences, *document.sentences]) == [3, 3, 3, 3]
    assert found.count(document.sentences) == [3, 3]
    assert asked == ["Rider one crossed.", "Rider two crossed."]


# Pages


@given(st.lists(st.integers(1, 60), min_size=1, max_size=40), st.integers(5, 80))
def test_pages_are_as_few_as_possible(words: list[int], room: int) -> None:
    text = " ".join("Oh " + "my " * (count - 1) + "god." for count in words)
    document = read_document(text)
    pages = cut_pages(counted(document), room)
    assert " ".join(page.cut(text) for page in pages) == text
    sizes = counted(document).count(document.sentences)
    if max(sizes) <= room:  # no sentence had to be cut
        filled = taken = 0
        for size in sizes:
            if not filled or taken + size > room:
                filled, taken = filled + 1, 0
            taken += size
        assert len(pages) == filled


@pytest.mark.parametrize(("room", "pages"), [(24, 1), (23, 2), (12, 2), (11, 4)])
def test_page_may_fill_the_room_exactly(room: int, pages: int) -> None:
    document = book(4, words=6)
    assert counted(document).count(document.sentences) == [6, 6, 6, 6]
    assert len(cut_pages(counted(document), room)) == pages


def test_pages_are_even() -> None:
    document = book(120)
    sizes = counted(document).count(cut_pages(counted(document), 448))
    assert len(sizes) == 4
    assert max(sizes) - min(sizes) <= 12


def test_neighbouring_sentences_share_an_overlapping_page() -> None:
    document = book(400)
    pages = cut_pages(counted(document), 448, overlap=True)
    assert len(pages) > 5
    for first, second in pairwise(document.sentences):
        assert any(page.start <= first.start and second.end <= page.end for page in pages)


def test_page_begins_with_sentences_of_the_one_before() -> None:
    document = book(60, 4)
    starts = [span.start for span in document.sentences]
    plain = cut_pages(counted(document), 90)
    pages = cut_pages(counted(document), 96, overlap=True)
    assert [page.end for page in pages] == [page.end for page in plain]
    # 20 sentences a page, and room for three more.
    assert [starts.index(page.start) for page in plain] == [0, 20, 40]
    assert [starts.index(page.start) for page in pages] == [0, 17, 37]
    narrow = cut_pages(counted(document), 44, overlap=True)
    assert starts.index(narrow[1].start) == len(document.sentences_in(narrow[0])) - 1


def test_page_is_not_repeated_whole() -> None:
    document = book(2, 9)
    assert cut_pages(counted(document), 18, overlap=True) == list(document.sentences)


def test_text_between_sentences_counts() -> None:
    text = "Aaaa.     Bbbb.     Cccc.     Dddd."
    document = Document(text, tuple(Span(at, at + 5) for at in (0, 10, 20, 30)))
    # By their sentences alone two would fit on a page.
    pages = cut_pages(counted(document, Letters), 12)
    assert [page.cut(text) for page in pages] == ["Aaaa.", "Bbbb.", "Cccc.", "Dddd."]
    pages = cut_pages(counted(document, Letters), 24)
    assert [page.cut(text) for page in pages] == ["Aaaa.     Bbbb.", "Cccc.     Dddd."]
    pages = cut_pages(counted(document, Letters), 15)
    assert [page.cut(text) for page in pages] == ["Aaaa.     Bbbb.", "Cccc.     Dddd."]


@pytest.mark.parametrize(
    ("sentence", "room", "parts"),
    [
        ("abcd", 4, ["abcd"]),
        ("abcdefghi", 3, ["ab", "cd", "ef", "ghi"]),
        ("aaaa bbbb cccc dddd", 9, ["aaaa bbbb", "cccc dddd"]),
        ("ab cdefgh", 6, ["ab", "cdefgh"]),
        ("abcdef gh", 6, ["abcdef", "gh"]),
        ("aaa   bbb", 5, ["aaa ", "bbb"]),
        ("a", 0, ["a"]),
        ("ab", 1, ["a", "b"]),
        ("a bcdefgh", 7, ["a", "bcdefgh"]),
        ("a bbb cccccccccc", 10, ["a bbb", "cccccccccc"]),
        ("aaaaaaaaaa bbb c", 10, ["aaaaaaaaaa", "bbb c"]),
    ],
)
def test_long_sentence_is_halved_at_a_space(sentence: str, room: int, parts: list[str]) -> None:
    for before, after in (("", ""), ("Ah. ", " Oh no.")):  # at any place
        place = Span(len(before), len(before + sentence))
        document = Document(before + sentence + after, (place,))
        (span,) = document.sentences
        found = _cut_sentence(counted(document, Letters), span, room)
        assert [part.cut(document.text) for part in found] == parts


# Several documents


def premises(documents: list[str], claim: str, verifier: OverlapVerifier) -> list[str]:
    assert Detector(verifier).check(documents, claim).reason is None
    return [premise for call in verifier.calls for premise, _ in call]


def test_runs_of_documents_are_joined_as_far_as_they_fit() -> None:
    documents = [f"{name} {'slept ' * 50}well." for name in ("Ann", "Bob", "Eve")]
    claim = "Ann and Bob and Eve met."
    asked = premises(documents, claim, OverlapVerifier(300))
    assert " ".join(documents[:2]) in asked
    assert " ".join(documents) in asked
    asked = premises(documents, claim, OverlapVerifier(200))
    assert " ".join(documents[:2]) in asked
    assert " ".join(documents) not in asked, "three do not fit beside the claim"


def test_page_of_one_document_has_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    class Whole(OverlapVerifier):
        reads_whole_sources = True

    monkeypatch.setattr(
        "halldetect.models.verifiers.load_verifier", lambda *_, **__: OverlapVerifier()
    )
    short, long = "Ann slept.", f"Bob {'slept ' * 100}well."
    assert f"Document 1\n{short}\n\nDocument 2\n{short}" in premises(
        [short, short], "Ann and Bob met.", Whole()
    )
    assert premises([long, long], "Ann and Bob met.", Whole()) == [long]


@pytest.mark.parametrize(("room", "joined"), [(180, False), (183, False), (184, True)])
def test_joined_runs_leave_room_for_the_tokens_at_their_seam(room: int, joined: bool) -> None:
    texts = [f"{name} {'slept ' * 88}well." for name in ("Ann", "Bob")]  # 90 tokens each
    task = Task(("Ann and Bob met.",), tuple(map(read_document, texts)))
    fitted = FittedTask(
        OverlapVerifier(STATEMENT_STEP + room),
        task,
        whole=False,
        short=True,
    )
    (plan,) = [fitted.plan(at) for at in range(1)]
    assert any(window.others for window in plan) is joined
