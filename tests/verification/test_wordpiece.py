"""The WordPiece tokenizer in the package: the tokens of the library `tokenizers`, to the last."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect.errors import ModelError
from halldetect.machine.integrity import WEIGHTS
from halldetect.verification.verifiers.encoding import PairEncoder
from halldetect.verification.verifiers.wordpiece import WordPieceEncoder, words

FILE = WEIGHTS / "base" / "tokenizer.json"
TEXTS = [
    "The mill was built in 1790, wasn't it?",
    "Zürich, São Paulo, Łódź, ΣΊΣΥΦΟΣ, İstanbul, ﬁne, Ⅻ",
    "北京is the capital; 東京 too. 한국어 (Korean)",
    "a\u00a0b\u2009c\u200bd\u00ade\ufefff\x00g\ufffdh\u2028i\x1cj\tk\r\nl",
    "<s>[UNK] </s> <mask> [PAD] ##ing [unused3]",
    "x" * 100 + " " + "y" * 101,
    "e\u0301\u0323 q\u0307\u0323 \u0344 \U0001f600\U0001f1e9\U0001f1ea",
    "",
    "   ",
    "\ud800 lone",
]


@pytest.fixture(scope="module")
def ours() -> WordPieceEncoder:
    made = WordPieceEncoder.from_file(FILE)
    assert made is not None, "the tokenizer in the package needs no library"
    return made


@pytest.fixture(scope="module")
def theirs() -> PairEncoder:
    pytest.importorskip("tokenizers")
    return PairEncoder.from_file(FILE)


@pytest.mark.parametrize("text", TEXTS)
def test_the_tokens_of_the_library(ours: WordPieceEncoder, theirs: PairEncoder, text: str) -> None:
    assert ours.tokenize([text]) == theirs.tokenize([text])
    assert ours.encode([(text, "It is.")]) == theirs.encode([(text, "It is.")])
    assert ours.special_tokens == theirs.special_tokens


# Without the one character below U+0700 that came after Unicode 8.
known = st.characters(
    max_codepoint=0x6FF, exclude_categories=["Cs", "Cn"], exclude_characters="\u061d"
)


@given(st.text(known, max_size=60), st.text(known, max_size=60))
def test_the_tokens_of_the_library_for_any_text(
    ours: WordPieceEncoder, theirs: PairEncoder, first: str, second: str
) -> None:
    assert ours.encode([(first, second)]) == theirs.encode([(first, second)])


@pytest.mark.slow
def test_every_character(ours: WordPieceEncoder, theirs: PairEncoder) -> None:
    # Beyond the first two planes are ideographs, tags and private use: one in a hundred will do.
    codes = [*range(0xD800), *range(0xE000, 0x20000), *range(0x20000, 0x110000, 101)]
    characters = [chr(code) for code in codes]
    texts = [f"a{character}b" for character in characters]
    pairs = zip(characters, ours.tokenize(texts), theirs.tokenize(texts), strict=True)
    different = [character for character, mine, other in pairs if mine != other]
    assert len(different) < 700
    # All but four came after Unicode 3.2, the only old version that Python has the tables of; the
    # four (Canadian syllabics, Hanunoo, Mongolian) changed their category after Unicode 8.
    old = {item for item in different if unicodedata.ucd_3_2_0.category(item) != "Cn"}
    assert old <= {"\u166d", "\u1734", "\u1885", "\u1886"}


def description(**changes: Any) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return {**data, **changes}


def test_other_tokenizers_are_left_to_the_library(tmp_path: Path) -> None:
    data = description()
    file = tmp_path / "tokenizer.json"
    for changed in (
        {"normalizer": {**data["normalizer"], "lowercase": False}},
        {"normalizer": None},
        {"pre_tokenizer": {"type": "Whitespace"}},
        {"model": {**data["model"], "type": "BPE"}},
        {"post_processor": {"type": "TemplateProcessing"}},
        {"added_tokens": [{**data["added_tokens"][0], "special": False}]},
    ):
        file.write_text(json.dumps({**data, **changed}), encoding="utf-8")
        assert WordPieceEncoder.from_file(file) is None
    file.write_text("no JSON", encoding="utf-8")
    with pytest.raises(ModelError, match="is not a tokenizer"):
        WordPieceEncoder.from_file(file)


def test_the_template_of_bert(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    file = tmp_path / "tokenizer.json"
    processor = {"type": "BertProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0]}
    file.write_text(json.dumps(description(post_processor=processor)), encoding="utf-8")
    made = WordPieceEncoder.from_file(file)
    assert made is not None
    pairs = [("The mill is old.", "It is."), ("", "")]
    assert made.encode(pairs) == PairEncoder.from_file(file).encode(pairs)


def test_words() -> None:
    assert words("The café's 3.50 €") == ["the", "cafe", "'", "s", "3", ".", "50", "€"]
