"""Tokens kept from sentences are those of the window; where they might not be, they are asked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

import halldetect
from halldetect.reading.claims import Claim
from halldetect.reading.sentences import read_document
from halldetect.report import Probabilities
from halldetect.verification.rounds import verify
from halldetect.verification.scales import source_windows
from halldetect.verification.tasks import Task
from halldetect.verification.tokens import SourceTokens
from halldetect.verification.verifiers.encoding import PairEncoder

SHIPPED = Path(halldetect.__file__).parent / "weights" / "base" / "tokenizer.json"


@pytest.fixture(scope="module")
def encoder() -> PairEncoder:
    return PairEncoder.from_file(SHIPPED)


class Tokens:
    """The shipped tokenizer as a verifier that says how the pair came to it."""

    description: dict[str, object] = {}  # noqa: RUF012
    max_tokens = 60

    def __init__(self, encoder: PairEncoder, adds_up: bool = True) -> None:
        self.encoder = encoder
        self.adds_up = adds_up
        self.read: list[str] = []

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        self.read.extend(texts)
        return [len(tokens) for tokens in self.encoder.tokenize(texts)]

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


# Spaces of every kind, marks that combine or join, signs a tokenizer treats by itself, letters
# that change with their neighbours, and its own special tokens.
odd = st.sampled_from(
    [
        *"abAΣσß. !?'\"-_字。ﬁ\u0301\u0345\u00a0\u2028\u200b\u200d\x1c\x85\t\n\r\ufeff😀🇫🇷",
        *("</s>", "<mask>", "<unk>", "[UNK]", " [SEP] ", "Mr. ", "U.S. ", ". A", ".\n", "A" * 101),
    ]
)
texts = st.lists(odd, max_size=60).map("".join)


@given(texts)
def test_what_is_kept_is_what_the_tokenizer_says_of_the_window(
    encoder: PairEncoder, text: str
) -> None:
    documents = [read_document(text)]
    windows = source_windows(documents)
    counted = SourceTokens(Tokens(encoder), documents)  # type: ignore[arg-type]
    for window in windows:
        (whole,) = encoder.tokenize([window.text])
        kept = counted.tokens(window)
        assert kept is None or tuple(kept) == whole
        assert counted.count(0, [window.span]) == [len(whole)]


def test_plain_prose_is_all_kept_and_each_sentence_read_once(encoder: PairEncoder) -> None:
    text = " ".join(f"Rider {at} crossed the ford.\n" for at in range(30))
    documents = [read_document(text)]
    windows = source_windows(documents)
    verifier = Tokens(encoder)
    counted = SourceTokens(verifier, documents)  # type: ignore[arg-type]
    assert all(counted.tokens(window) is not None for window in windows)
    counted.count(0, [window.span for window in windows])
    assert verifier.read == [f"Rider {at} crossed the ford." for at in range(30)]


def test_sentences_that_touch_are_left_to_the_tokenizer(encoder: PairEncoder) -> None:
    text = "他来了。他走了。"
    documents = [read_document(text)]
    windows = source_windows(documents, (1,))
    counted = SourceTokens(Tokens(encoder), documents)  # type: ignore[arg-type]
    assert len(documents[0].sentences) == 2
    assert counted.tokens(windows[0]) is None
    assert counted.count(0, [windows[0].span]) == [len(encoder.tokenize([text])[0])]


@given(st.lists(texts, min_size=1, max_size=3), texts)
def test_judging_tokens_is_judging_texts(
    encoder: PairEncoder, documents: list[str], claim: str
) -> None:
    read = tuple(map(read_document, documents))
    task = Task((Claim(claim, None, "made up"),), source_windows(read), read)
    by_tokens = verify(Tokens(encoder), [task])  # type: ignore[arg-type]
    by_texts = verify(Tokens(encoder, adds_up=False), [task])  # type: ignore[arg-type]
    assert by_tokens == by_texts


@given(texts, texts)
def test_a_framed_pair_is_an_encoded_pair(encoder: PairEncoder, first: str, second: str) -> None:
    (whole,) = encoder.encode([(first, second)])
    assert encoder.frame(*encoder.tokenize([first, second])) == whole


def test_only_tokenizers_of_berts_kind_add_up(encoder: PairEncoder) -> None:
    assert encoder.adds_up
    other = Tokenizer(models.BPE({"a": 0, "b": 1}, []))
    other.pre_tokenizer = pre_tokenizers.ByteLevel()
    assert not PairEncoder(other).adds_up
    joined = Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1, "b": 2}, unk_token="[UNK]"))
    joined.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    assert not PairEncoder(joined).adds_up, "no normalizer of its own"
    joined.normalizer = normalizers.BertNormalizer()
    assert PairEncoder(joined).adds_up
    joined.add_tokens(["b a"])
    assert not PairEncoder(joined).adds_up, "a token that spans a space"
