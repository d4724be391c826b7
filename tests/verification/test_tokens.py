"""Tokens of sentences add up to those of the window, or the tokenizer gets the window."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import halldetect
from halldetect.reading.document import Document, Span
from halldetect.reading.sentences import read_document
from halldetect.report import Probabilities
from halldetect.verification.judging import verify
from halldetect.verification.planning import Task
from halldetect.verification.tokens import SourceTokens, token_verifier
from halldetect.verification.verifiers.wordpiece import WordPieceEncoder
from halldetect.verification.windows import short_spans

SHIPPED = Path(halldetect.__file__).parent / "weights" / "base" / "tokenizer.json"


@pytest.fixture(scope="module")
def encoder() -> WordPieceEncoder:
    found = WordPieceEncoder.from_file(SHIPPED)
    assert found is not None
    return found


class Tokens:
    """The shipped tokenizer as a verifier that records the texts it reads."""

    description: dict[str, object] = {}  # noqa: RUF012
    max_tokens = 60

    def __init__(self, encoder: WordPieceEncoder, adds_up: bool = True) -> None:
        self.encoder = encoder
        self.adds_up = adds_up
        self.read: list[str] = []

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        self.read.extend(texts)
        return [len(ids) for ids in self.encoder.tokenize(texts)]

    def tokenize(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        self.read.extend(texts)
        return self.encoder.tokenize(texts)

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        return [self._answer(item.ids) for item in self.encoder.encode(pairs)]

    def judge_tokens(
        self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]
    ) -> list[Probabilities]:
        return [self._answer(self.encoder.frame(*pair).ids) for pair in pairs]

    @staticmethod
    def _answer(ids: tuple[int, ...]) -> Probabilities:
        share = hash(ids) % 9973 / 9973
        return Probabilities(share, 1 - share, None)


# Spaces of every kind, marks that combine or join, single signs, letters that change with their
# neighbours, and the special tokens of the tokenizer.
odd = st.sampled_from(
    [
        *"abAΣσß. !?'\"-_字。ﬁ\u0301\u0345\u00a0\u2028\u200b\u200d\x1c\x85\t\n\r\ufeff😀🇫🇷",
        *("</s>", "<mask>", "<unk>", "[UNK]", " [SEP] ", "Mr. ", "U.S. ", ". A", ".\n", "A" * 101),
    ]
)
texts = st.lists(odd, max_size=60).map("".join)


def runs(document: Document) -> list[Span]:
    """Return runs of one, two and three sentences, and the whole."""
    sentences = document.sentences
    whole = [Span(sentences[0].start, sentences[-1].end)] if sentences else []
    return [*(span for size in (1, 2, 3) for span in short_spans(document, size)), *whole]


@given(texts)
def test_kept_tokens_are_those_of_the_window(encoder: WordPieceEncoder, text: str) -> None:
    document = read_document(text)
    counted = SourceTokens(Tokens(encoder), [document])
    for span in runs(document):
        (whole,) = encoder.tokenize([document.readable(span)])
        kept = counted.tokens(0, span)
        assert kept is None or tuple(kept) == whole
        assert counted.count(0, [span]) == [len(whole)]


def test_each_sentence_of_plain_prose_is_read_once(encoder: WordPieceEncoder) -> None:
    document = read_document(" ".join(f"Rider {at} crossed the ford.\n" for at in range(30)))
    verifier = Tokens(encoder)
    counted = SourceTokens(verifier, [document])
    assert all(counted.tokens(0, span) is not None for span in runs(document))
    counted.count(0, runs(document))
    assert verifier.read == [f"Rider {at} crossed the ford." for at in range(30)]


def test_sentences_that_touch_are_tokenized_together(encoder: WordPieceEncoder) -> None:
    document = read_document("他来了。他走了。")
    counted = SourceTokens(Tokens(encoder), [document])
    assert len(document.sentences) == 2
    whole = Span(0, len(document.text))
    assert counted.tokens(0, whole) is None
    assert counted.count(0, [whole]) == [len(encoder.tokenize([document.text])[0])]
    assert counted.tokens(0, Span(1, 4)) is None, "not a run of sentences"


def test_counts_are_requested_once_where_nothing_adds_up(encoder: WordPieceEncoder) -> None:
    document = read_document("Rider one crossed. Rider two crossed.")
    verifier = Tokens(encoder, adds_up=False)
    assert token_verifier(verifier) is None
    counted = SourceTokens(verifier, [document])
    first = counted.count(0, [*document.sentences, *document.sentences])
    assert counted.count(0, document.sentences) == first[:2]
    assert verifier.read == ["Rider one crossed.", "Rider two crossed."]
    assert counted.tokens(0, document.sentences[0]) is None


@settings(max_examples=50)
@given(st.lists(texts, min_size=1, max_size=3), texts)
def test_judging_tokens_equals_judging_texts(
    encoder: WordPieceEncoder, documents: list[str], claim: str
) -> None:
    task = Task((claim,), tuple(map(read_document, documents)))
    assert verify(Tokens(encoder), [task]) == verify(Tokens(encoder, adds_up=False), [task])
