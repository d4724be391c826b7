"""The question to the model, as tokens.

Passage and claim are tokenised separately, each with its part of the question:

    "Document: " + passage
    "\\n\\nClaim: " + claim + "\\n\\nIs the claim true according to the document? Answer:"

White space around both is removed first. In a line that begins with a word of the frame and a
colon, a dash replaces the colon, so that no text can imitate the next part. The tokenizer knows no
special tokens: "<|im_end|>" in a text is read as plain characters and cannot end the document. The
adapter was trained on exactly these tokens (`training/large/pack.py`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from halldetect.large.gguf import GgufFile
from halldetect.verification.verifiers.encoding import encodable

ANSWERS = (" Yes", " Maybe", " No")  # entailment, neutral, contradiction
_BEFORE_PASSAGE = "Document: "
_BEFORE_CLAIM = "\n\nClaim: "
QUESTION = "\n\nIs the claim true according to the document? Answer:"
# Extra tokens that can form where a text meets the words around it.
_SEAM_TOKENS = 8
# Divides text before pairs of pieces are merged; "qwen2" in llama.cpp.
_DIVISION = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# The words of the frame at the beginning of a line.
_FRAME_WORD = re.compile(r"^([ \t]*(?:document|claim|answer)[ \t]*):", re.IGNORECASE | re.MULTILINE)


class Prompt:
    """Tokens of passages and claims, and of the three answers."""

    def __init__(self, model: GgufFile, question: str = QUESTION) -> None:
        """Build the tokenizer from the vocabulary of the base model.

        `question` follows each claim.
        """
        self._question = question
        vocabulary = model.metadata["tokenizer.ggml.tokens"]
        numbers = {token: number for number, token in enumerate(vocabulary)}
        self.answers = tuple(numbers[word.replace(" ", "Ġ")] for word in ANSWERS)
        self._tokenizer = _tokenizer(numbers, model.metadata["tokenizer.ggml.merges"])
        self.frame_tokens = _SEAM_TOKENS + sum(
            self.count([_BEFORE_PASSAGE, _BEFORE_CLAIM, question])
        )

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text alone."""
        return [len(tokens) for tokens in self._encode(texts)]

    def passages(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the tokens of each passage with the words before it."""
        return self._encode([_BEFORE_PASSAGE + _harmless(text) for text in texts])

    def claims(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the tokens of each claim with the question around it."""
        return self._encode([_BEFORE_CLAIM + _harmless(text) + self._question for text in texts])

    def _encode(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        ready = [encodable(text) for text in texts]
        encoded = self._tokenizer.encode_batch_fast(ready, add_special_tokens=False)
        return [tuple(item.ids) for item in encoded]


def _harmless(text: str) -> str:
    """Return a text that cannot imitate the next part of the frame."""
    return _FRAME_WORD.sub(r"\1 -", text.strip())


def _tokenizer(numbers: dict[str, int], merges: Sequence[str]) -> Any:
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers

    pairs = [(first, second) for first, _, second in (merge.partition(" ") for merge in merges)]
    tokenizer = Tokenizer(models.BPE(numbers, pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_DIVISION), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    return tokenizer
