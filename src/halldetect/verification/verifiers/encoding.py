"""Turn texts into token numbers with the model's own tokenizer, without truncation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from halldetect.errors import MissingExtra, ModelError, one_line
from halldetect.report import Probabilities

# These models start numbering positions after the number of the padding token.
_POSITIONS_AFTER_PADDING = ("mpnet", "roberta", "xlm-roberta", "camembert", "longformer")
# Larger limits in a configuration mean "unknown".
_NO_LIMIT = 1_000_000
# Used without a limit in the configuration: the limit of nearly every encoder.
_USUAL_LIMIT = 512


@dataclass(frozen=True, slots=True)
class Encoded:
    """One pair as the model reads it."""

    ids: tuple[int, ...]
    types: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class PairTemplate:
    """The model's own tokens before, between and after two texts, and the types of the texts.

    Tokens before and between have the type of the first text, those after that of the second.
    """

    before: tuple[int, ...]
    between: tuple[int, ...]
    after: tuple[int, ...]
    types: tuple[int, int] = (0, 0)

    @classmethod
    def of(cls, tokenizer: Any) -> PairTemplate | None:
        """Return the template of a tokenizer; None if it changes the texts."""
        framed, alone = tokenizer.encode("a", "b"), tokenizer.encode("a", add_special_tokens=False)
        inner = [at for at, special in enumerate(framed.special_tokens_mask) if not special]
        if len(inner) != 2 or framed.ids[inner[0]] != alone.ids[0]:
            return None
        first, second = inner
        ids, types = tuple(framed.ids), tuple(framed.type_ids)
        found = cls(
            ids[:first],
            ids[first + 1 : second],
            ids[second + 1 :],
            (types[first], types[second]),
        )
        same = found.around([ids[first]], [ids[second]]) == Encoded(ids, types)
        return found if same else None

    @property
    def size(self) -> int:
        """Return the number of tokens that the template adds to a pair."""
        return len(self.before) + len(self.between) + len(self.after)

    def around(self, premise: Sequence[int], hypothesis: Sequence[int]) -> Encoded:
        """Return the pair of the tokens of two texts."""
        first = (*self.before, *premise, *self.between)
        second = (*hypothesis, *self.after)
        types = (self.types[0],) * len(first) + (self.types[1],) * len(second)
        return Encoded(first + second, types)


class Encoder(Protocol):
    """Turns texts into tokens."""

    @property
    def special_tokens(self) -> int:
        """Return the most tokens that are added to a pair."""
        ...

    @property
    def adds_up(self) -> bool:
        """Return True if the tokens of a text are those of its parts between plain spaces."""
        ...

    def tokenize(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the tokens of each text, special tokens left out."""
        ...

    def frame(self, premise: Sequence[int], hypothesis: Sequence[int]) -> Encoded:
        """Return the pair of the tokens of two texts; only if they add up."""
        ...

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[Encoded]:
        """Return each pair as the model reads it."""
        ...


class PairEncoder:
    """A `tokenizers` tokenizer with its own pair template, premise first.

    Special tokens in a text ("</s>", "[SEP]") are read as plain characters, or as unknown if the
    vocabulary holds them: a response must not be able to end itself or begin its own premise.
    """

    def __init__(self, tokenizer: Any) -> None:
        """Wrap a tokenizer and change its settings."""
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
        self.tokenizer = tokenizer
        added = tokenizer.get_added_tokens_decoder()
        special = {number: token.content for number, token in added.items() if token.special}
        unknown = [number for number, content in special.items() if "unk" in content.lower()]
        self._unknown = unknown[-1] if unknown else None
        self._reserved = frozenset(special) - frozenset(unknown)
        self._template = PairTemplate.of(tokenizer)
        self.special_tokens = int(tokenizer.num_special_tokens_to_add(True))
        # BERT-like tokenizers clean each character alone, split at spaces and punctuation, and look
        # up each word.
        kind = (tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.model)
        names = tuple(type(part).__name__ for part in kind)
        self.adds_up = (
            self._template is not None
            and names == ("BertNormalizer", "BertPreTokenizer", "WordPiece")
            and len(special) == len(added)
        )

    @classmethod
    def from_file(cls, file: Path) -> PairEncoder:
        """Read a `tokenizer.json`; needs the library `tokenizers`."""
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingExtra(f"the tokenizer of {file.parent}", "onnx") from error
        try:
            return cls(Tokenizer.from_file(str(file)))
        except Exception as error:  # the library raises bare Exception
            raise ModelError(f"{file} is not a tokenizer: {one_line(error)}") from error

    def tokenize(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the tokens of each text, without those of the template."""
        ready = [encodable(text) for text in texts]
        encoded = self.tokenizer.encode_batch_fast(ready, add_special_tokens=False)
        return [self._plain(item) for item in encoded]

    def frame(self, premise: Sequence[int], hypothesis: Sequence[int]) -> Encoded:
        """Return the pair of the tokens of two texts; only if they add up."""
        assert self._template is not None
        return self._template.around(premise, hypothesis)

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[Encoded]:
        """Return each pair as the model reads it."""
        return self._encoded([(encodable(one), encodable(two)) for one, two in pairs])

    def _encoded(self, ready: Sequence[Any]) -> list[Encoded]:
        found = self.tokenizer.encode_batch_fast(ready)
        return [Encoded(self._plain(item), tuple(item.type_ids)) for item in found]

    def _plain(self, encoding: Any) -> tuple[int, ...]:
        """Return the numbers; special tokens outside the template become unknown."""
        if self._unknown is None or self._reserved.isdisjoint(encoding.ids):
            return tuple(encoding.ids)
        return tuple(
            self._unknown if number in self._reserved and not framing else number
            for number, framing in zip(encoding.ids, encoding.special_tokens_mask, strict=True)
        )


class JoinedEncoder(PairEncoder):
    """Encodes both as one text, with the template's last token between them."""

    def __init__(self, tokenizer: Any) -> None:
        """Wrap a tokenizer; raise ModelError if it has no end token."""
        super().__init__(tokenizer)
        framed = self.tokenizer.encode("a")
        inner = [at for at, special in enumerate(framed.special_tokens_mask) if not special]
        before, after = tuple(framed.ids[: inner[0]]), tuple(framed.ids[inner[-1] + 1 :])
        if not after:
            raise ModelError("the tokenizer ends a text with no token, so two cannot be joined")
        self._joined = PairTemplate(before, after[-1:], after)
        self.special_tokens = self._joined.size
        self.adds_up = False

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[Encoded]:
        """Return each pair as the model reads it."""
        parts = self.tokenize([text for pair in pairs for text in pair])
        return [
            self._joined.around(premise, hypothesis)
            for premise, hypothesis in zip(parts[::2], parts[1::2], strict=True)
        ]


class QuestionEncoder(PairEncoder):
    """Encodes both as one text: the premise, fixed words, the hypothesis, fixed words."""

    # Extra tokens may form where two parts meet.
    SEAMS = 8

    def __init__(self, tokenizer: Any, before: str, after: str) -> None:
        """Use a tokenizer and the words before and after the hypothesis."""
        super().__init__(tokenizer)
        self._before, self._after = before, after
        words = sum(map(len, self.tokenize([before, after])))
        self.special_tokens = (
            words + self.SEAMS + int(self.tokenizer.num_special_tokens_to_add(False))
        )
        self.adds_up = False

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[Encoded]:
        """Return each pair as the model reads it."""
        return self._encoded(
            [
                encodable(f"{premise}{self._before}{hypothesis}{self._after}")
                for premise, hypothesis in pairs
            ]
        )


def encodable(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text


def reading_limit(*configurations: Mapping[str, Any]) -> int:
    """Return the longest input with special tokens: the smallest limit stated."""
    limits = []
    for config in configurations:
        for key in ("max_tokens", "model_max_length"):
            limits.append(config.get(key))
        positions = config.get("max_position_embeddings")
        if isinstance(positions, int) and config.get("model_type") in _POSITIONS_AFTER_PADDING:
            positions -= int(config.get("pad_token_id", 1)) + 1
        limits.append(positions)
    known = [int(x) for x in limits if isinstance(x, int | float) and 0 < x < _NO_LIMIT]
    return min(known, default=_USUAL_LIMIT)


def refuse_too_long(encoded: Sequence[Encoded], limit: int, where: str) -> None:
    """Raise ModelError for a pair that is too long instead of truncating it.

    Args:
        encoded: the pairs.
        limit: the greatest number of tokens.
        where: the verifier, as named in the error.
    """
    longest = max((len(item) for item in encoded), default=0)
    if longest > limit:
        raise ModelError(f"{where}: a pair has {longest} tokens, the model reads {limit}")


class EncodingVerifier:
    """The common part of verifiers that encode texts in this process; subclasses add `_judge`.

    Attributes:
        max_tokens: the longest premise and hypothesis together, special tokens not counted.
        adds_up: True if the tokens of a text are those of its parts between plain spaces.
    """

    def __init__(self, encoder: Encoder, limit: int) -> None:
        """Set the encoder, for pairs of at most `limit` tokens with special ones."""
        self._encoder = encoder
        self._limit = limit
        self.max_tokens = limit - encoder.special_tokens
        self.adds_up = encoder.adds_up

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, special tokens not counted."""
        return [len(tokens) for tokens in self._encoder.tokenize(texts)]

    def tokenize(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the tokens of each text, special tokens left out."""
        return self._encoder.tokenize(texts)

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        """Return the probabilities of each (premise, hypothesis), in the order given."""
        return self._judge(self._encoder.encode(pairs))

    def judge_tokens(
        self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]
    ) -> list[Probabilities]:
        """Return the probabilities of pairs given as tokens."""
        return self._judge([self._encoder.frame(*pair) for pair in pairs])

    def _judge(self, encoded: Sequence[Encoded]) -> list[Probabilities]:
        raise NotImplementedError
