"""BERT's WordPiece tokenizer, which the verifier in the package uses, without a library.

The library `tokenizers` does the same, but also installs a client of the model hub, which the
embedded verifier does not need. Both give the same tokens, except for a few hundred rare characters
that were added or changed after Unicode 8: this module treats them as Python does.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from halldetect.errors import ModelError
from halldetect.reading.words import remembered, remembered_words
from halldetect.verification.verifiers.encoding import Encoded, encodable

# Most texts in the cache of tokens: claims share windows.
_MAX_TEXTS = 1 << 10
_ASCII_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_ASCII_WORD = re.compile(r"[^\W_]+|[^\w\s]|_", re.ASCII)
_ASCII_CONTROLS = dict.fromkeys({*range(32), 127} - set(map(ord, "\t\n\r")))
_CHINESE = (
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B920, 0x2CEAF), (0x2F800, 0x2FA1F),
)  # fmt: skip
_NORMALIZER = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
    "strip_accents": None,
    "lowercase": True,
}


class WordPieceEncoder:
    """Turns texts into token numbers, as `encoding.PairEncoder` does."""

    def __init__(self, description: Mapping[str, Any]) -> None:
        """Use the content of a `tokenizer.json`; raise ValueError if it is of another kind."""
        model, processor = description["model"], description["post_processor"]
        added = {token["id"]: token["content"].lower() for token in description["added_tokens"]}
        if (
            description["normalizer"] != _NORMALIZER
            or description["pre_tokenizer"] != {"type": "BertPreTokenizer"}
            or model["type"] != "WordPiece"
            or processor["type"] not in ("RobertaProcessing", "BertProcessing")
            or not all(token["special"] for token in description["added_tokens"])
        ):
            raise ValueError("not a WordPiece tokenizer")
        self._vocabulary: Mapping[str, int] = model["vocab"]
        self._unknown: int = model["vocab"][model["unk_token"]]
        self._reserved = {number for number, content in added.items() if "unk" not in content}
        self._max_characters: int = model["max_input_chars_per_word"]
        self._prefix: str = model["continuing_subword_prefix"]
        self._start, self._end = int(processor["cls"][1]), int(processor["sep"][1])
        self._is_bert = processor["type"] == "BertProcessing"
        self.special_tokens = 3 if self._is_bert else 4
        self._spell = remembered_words(self._longest_first)
        self._chunk = remembered_words(self._spelled)
        self._tokens = remembered(_MAX_TEXTS)(self._read)

    @classmethod
    def from_file(cls, file: Path) -> WordPieceEncoder | None:
        """Read a `tokenizer.json`; return None if it is of another kind."""
        try:
            description = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ModelError(f"{file} is not a tokenizer: {error}") from error
        try:
            return cls(description)
        except (KeyError, TypeError, AttributeError, ValueError):
            return None

    def tokenize(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the tokens of each text, special tokens left out."""
        return [*map(self._tokens, texts)]

    def _read(self, text: str) -> tuple[int, ...]:
        # No word crosses a space, and most words with their punctuation were read before.
        return tuple(chain.from_iterable(map(self._chunk, encodable(text).split(" "))))

    def _spelled(self, text: str) -> tuple[int, ...]:
        return tuple(chain.from_iterable(map(self._spell, words(text))))

    def unknown_words(self, text: str) -> list[str]:
        """Return the words of a text, with letters or digits, that have no tokens."""
        return [
            word
            for word in words(encodable(text))
            if self._unknown in self._spell(word) and any(map(str.isalnum, word))
        ]

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[Encoded]:
        """Return each pair as the model reads it."""
        return [self._frame(*self.tokenize(pair)) for pair in pairs]

    def _frame(self, premise: Sequence[int], hypothesis: Sequence[int]) -> Encoded:
        first = (self._start, *premise, *[self._end] * (1 if self._is_bert else 2))
        second = (*hypothesis, self._end)
        return Encoded(first + second, (0,) * len(first) + (int(self._is_bert),) * len(second))

    def _longest_first(self, word: str) -> tuple[int, ...]:
        if len(word) > self._max_characters:
            return (self._unknown,)
        tokens = []
        start = 0
        while start < len(word):
            prefix = self._prefix if start else ""
            for end in range(len(word), start, -1):
                number = self._vocabulary.get(prefix + word[start:end])
                if number is not None:
                    break
            else:
                return (self._unknown,)
            tokens.append(self._unknown if number in self._reserved else number)
            start = end
        return tuple(tokens)


def words(text: str) -> list[str]:
    """Return the words and punctuation marks of a text, in lower case, without accents."""
    if text.isascii():  # the same, faster
        return _ASCII_WORD.findall(text.translate(_ASCII_CONTROLS).lower())
    cleaned = "".join(map(_clean, text))
    if not cleaned.isascii():
        cleaned = unicodedata.normalize("NFD", cleaned)
    return "".join(map(_divide, cleaned)).split()


@cache
def _clean(character: str) -> str:
    """Remove control characters, make white space a space, separate Chinese characters."""
    if character in "\t\n\r":
        return " "
    if character == "\ufffd" or unicodedata.category(character) in ("Cc", "Cf", "Co"):
        return ""
    if character.isspace():
        return " "
    if any(first <= ord(character) <= last for first, last in _CHINESE):
        return f" {character} "
    return character


@cache
def _divide(character: str) -> str:
    """Remove accents, make letters lower case, separate punctuation marks."""
    if unicodedata.category(character) == "Mn":
        return ""
    return "".join(f" {part} " if _is_punctuation(part) else part for part in character.lower())


def _is_punctuation(character: str) -> bool:
    return character in _ASCII_PUNCTUATION or unicodedata.category(character).startswith("P")
