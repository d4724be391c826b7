"""Turn texts into token numbers with the library `tokenizers`, without truncation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halldetect.errors import ModelError, import_extra, one_line
from halldetect.verification.peers import Template

# The most tokens that may form where the parts of a template meet the texts.
_SEAMS = 8


@dataclass(frozen=True, slots=True)
class Encoded:
    """One pair as the model reads it."""

    ids: tuple[int, ...]
    types: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.ids)


class PairEncoder:
    """A `tokenizers` tokenizer that reads pairs in its own or another template, premise first.

    Special tokens in a text ("</s>", "[SEP]") are read as plain characters, or as unknown if the
    vocabulary holds them: a response must not be able to end itself or begin its own premise.
    `special_tokens` is the most tokens that are added to those of a pair.
    """

    def __init__(self, tokenizer: Any, template: Template | None = None, padding: int = 0) -> None:
        """Wrap a tokenizer and change its settings; `padding` is the number of its token."""
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
        self.tokenizer = tokenizer
        added = tokenizer.get_added_tokens_decoder()
        special = {number: token.content for number, token in added.items() if token.special}
        unknown = [number for number, content in special.items() if "unk" in content.lower()]
        self._unknown = unknown[-1] if unknown else None
        self._reserved = frozenset(special) - frozenset(unknown)
        self._template = template
        self.special_tokens = int(tokenizer.num_special_tokens_to_add(template is None))
        if template is not None:
            self._frame(template, padding)

    def _frame(self, template: Template, padding: int) -> None:
        """Find the special tokens around a text, and count the tokens of a template."""
        framed = self.tokenizer.encode("a")
        inner = [at for at, special in enumerate(framed.special_tokens_mask) if not special]
        lead = (padding,) if template.padded else ()
        self._before = (*framed.ids[: inner[0]], *lead)
        self._after = tuple(framed.ids[inner[-1] + 1 :])
        if template.between is None and not self._after:
            raise ModelError("the tokenizer ends a text with no token, so two cannot be joined")
        words = (template.before, template.between or "", template.after)
        self.special_tokens += _SEAMS + len(lead) + sum(map(len, self.tokenize(words)))
        self.special_tokens += template.between is None

    @classmethod
    def from_file(cls, file: Path) -> PairEncoder:
        """Read a `tokenizer.json`; needs the library `tokenizers`."""
        tokenizers = import_extra("tokenizers", f"the tokenizer of {file.parent}", "onnx")
        try:
            return cls(tokenizers.Tokenizer.from_file(str(file)))
        except Exception as error:  # the library raises bare Exception
            raise ModelError(f"{file} is not a tokenizer: {one_line(error)}") from error

    def tokenize(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the tokens of each text, special tokens left out."""
        ready = [encodable(text) for text in texts]
        encoded = self.tokenizer.encode_batch_fast(ready, add_special_tokens=False)
        return [self._plain(item) for item in encoded]

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[Encoded]:
        """Return each pair as the model reads it."""
        if self._template is not None:
            return self._encode_texts(pairs, self._template)
        ready = [(encodable(one), encodable(two)) for one, two in pairs]
        encoded = self.tokenizer.encode_batch_fast(ready)
        return [Encoded(self._plain(item), tuple(item.type_ids)) for item in encoded]

    def _encode_texts(self, pairs: Sequence[tuple[str, str]], template: Template) -> list[Encoded]:
        starts = [template.before + premise for premise, _ in pairs]
        ends = [claim + template.after for _, claim in pairs]
        if template.between is None:
            end = self._after[-1:]
            parts = zip(self.tokenize(starts), self.tokenize(ends), strict=True)
            read = [(*start, *end, *rest) for start, rest in parts]
        else:
            joined = zip(starts, ends, strict=True)
            read = self.tokenize([template.between.join(texts) for texts in joined])
        ids = [(*self._before, *tokens, *self._after) for tokens in read]
        return [Encoded(numbers, (0,) * len(numbers)) for numbers in ids]

    def _plain(self, encoding: Any) -> tuple[int, ...]:
        """Return the numbers; special tokens outside the template become unknown."""
        if self._unknown is None or self._reserved.isdisjoint(encoding.ids):
            return tuple(encoding.ids)
        return tuple(
            self._unknown if number in self._reserved and not framing else number
            for number, framing in zip(encoding.ids, encoding.special_tokens_mask, strict=True)
        )


def encodable(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode."""
    return text.encode(errors="replace").decode()
