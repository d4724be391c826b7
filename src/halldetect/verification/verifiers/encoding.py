"""Texts to token numbers, with the model's own tokenizer and without cutting anything off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halldetect.errors import MissingExtra, ModelError, one_line
from halldetect.report import Probabilities

if TYPE_CHECKING:
    from halldetect.verification.verifiers.wordpiece import WordPieceEncoder

# These number their positions after the padding token's own number.
_POSITIONS_AFTER_PADDING = ("mpnet", "roberta", "xlm-roberta", "camembert", "longformer")
# Larger limits in a configuration stand for "none known".
_NO_LIMIT = 1_000_000
# Without any limit in the configuration: what nearly every encoder reads.
_USUAL_LIMIT = 512


@dataclass(frozen=True, slots=True)
class Encoded:
    """One pair as the model reads it."""

    ids: tuple[int, ...]
    types: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.ids)


class PairEncoder:
    """A `tokenizers` tokenizer with its own pair template, premise first.

    Special tokens written out in a text ("</s>", "[SEP]") are read as plain characters, or as
    unknown where the vocabulary itself holds them: a response must not be able to end itself,
    or to begin a premise of its own.
    """

    def __init__(self, tokenizer: Any) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
        self.tokenizer = tokenizer
        special = {
            number: token.content.lower()
            for number, token in tokenizer.get_added_tokens_decoder().items()
            if token.special
        }
        unknown = [number for number, content in special.items() if "unk" in content]
        self._unknown = unknown[-1] if unknown else None
        self._reserved = frozenset(special) - frozenset(unknown)
        self._frame = PairTemplate.of(tokenizer)

    @classmethod
    def from_file(cls, file: Path) -> PairEncoder:
        """The tokenizer of a `tokenizer.json`; needs the library `tokenizers`."""
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingExtra(f"the tokenizer of {file.parent}", "onnx") from error
        try:
            return cls(Tokenizer.from_file(str(file)))
        except Exception as error:  # the library raises bare Exception
            raise ModelError(f"{file} is not a tokenizer: {one_line(error)}") from error

    @property
    def special_tokens(self) -> int:
        """How many tokens the template adds to a pair."""
        return int(self.tokenizer.num_special_tokens_to_add(True))

    def count(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text, without those of the template."""
        encoded = self.tokenizer.encode_batch_fast(
            [encodable(text) for text in texts], add_special_tokens=False
        )
        return [len(item.ids) for item in encoded]

    @property
    def adds_up(self) -> bool:
        """Whether the tokens of a text are those of its parts between spaces, and a pair's
        those of its texts. So it is with the tokenizers of BERT's kind: each character is
        cleaned by itself, then spaces and marks divide, then each word is looked up."""
        kind = (self.tokenizer.normalizer, self.tokenizer.pre_tokenizer, self.tokenizer.model)
        names = tuple(type(part).__name__ for part in kind)
        added = self.tokenizer.get_added_tokens_decoder().values()
        return (
            self._frame is not None
            and names == ("BertNormalizer", "BertPreTokenizer", "WordPiece")
            and all(token.special for token in added)
        )

    def tokenize(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """The tokens of each text, without those of the template."""
        encoded = self.tokenizer.encode_batch_fast(
            [encodable(text) for text in texts], add_special_tokens=False
        )
        return [self._plain(item) for item in encoded]

    def frame(self, premise: Sequence[int], hypothesis: Sequence[int]) -> Encoded:
        """What `encode` gives, from tokens; only where they add up."""
        assert self._frame is not None
        return self._frame.around(premise, hypothesis)

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[Encoded]:
        """Each pair as the model reads it."""
        ready = [(encodable(premise), encodable(hypothesis)) for premise, hypothesis in pairs]
        return [
            Encoded(self._plain(item), tuple(item.type_ids))
            for item in self.tokenizer.encode_batch_fast(ready)
        ]

    def _plain(self, encoding: Any) -> tuple[int, ...]:
        """The numbers, but no special token other than those of the template."""
        if self._unknown is None or self._reserved.isdisjoint(encoding.ids):
            return tuple(encoding.ids)
        return tuple(
            self._unknown if number in self._reserved and not framing else number
            for number, framing in zip(encoding.ids, encoding.special_tokens_mask, strict=True)
        )


@dataclass(frozen=True, slots=True)
class PairTemplate:
    """The model's own tokens: before, between and after the two texts, and the types of all."""

    before: tuple[int, ...]
    between: tuple[int, ...]
    after: tuple[int, ...]
    types: tuple[tuple[int, ...], int, tuple[int, ...], int, tuple[int, ...]]

    @classmethod
    def of(cls, tokenizer: Any) -> PairTemplate | None:
        """None where the two texts do not stand in the template as they are."""
        framed, alone = tokenizer.encode("a", "b"), tokenizer.encode("a", add_special_tokens=False)
        inner = [at for at, special in enumerate(framed.special_tokens_mask) if not special]
        if len(inner) != 2 or framed.ids[inner[0]] != alone.ids[0]:
            return None
        first, second = inner
        ids, types = tuple(framed.ids), tuple(framed.type_ids)
        return cls(
            ids[:first],
            ids[first + 1 : second],
            ids[second + 1 :],
            (
                types[:first],
                types[first],
                types[first + 1 : second],
                types[second],
                types[second + 1 :],
            ),
        )

    @property
    def size(self) -> int:
        """How many tokens the template adds to a pair."""
        return len(self.before) + len(self.between) + len(self.after)

    def around(self, premise: Sequence[int], hypothesis: Sequence[int]) -> Encoded:
        """The pair of the tokens of two texts."""
        before, first, between, second, after = self.types
        return Encoded(
            (*self.before, *premise, *self.between, *hypothesis, *self.after),
            (
                *before,
                *(first,) * len(premise),
                *between,
                *(second,) * len(hypothesis),
                *after,
            ),
        )


class JoinedEncoder(PairEncoder):
    """Both in one text, with the template's last token between them."""

    adds_up = False

    def __init__(self, tokenizer: Any) -> None:
        super().__init__(tokenizer)
        framed = self.tokenizer.encode("a")
        inner = [at for at, special in enumerate(framed.special_tokens_mask) if not special]
        self._before = tuple(framed.ids[: inner[0]])
        self._after = tuple(framed.ids[inner[-1] + 1 :])
        if not self._after:
            raise ModelError("the tokenizer ends a text with no token, so two cannot be joined")

    @property
    def special_tokens(self) -> int:
        """How many tokens are added to a pair."""
        return len(self._before) + 1 + len(self._after)

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[Encoded]:
        """Each pair as the model reads it."""
        texts = [encodable(text) for pair in pairs for text in pair]
        parts = self.tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        joined = []
        for premise, hypothesis in zip(parts[::2], parts[1::2], strict=True):
            between = self._after[-1:]
            inner = (*self._plain(premise), *between, *self._plain(hypothesis))
            ids = (*self._before, *inner, *self._after)
            joined.append(Encoded(ids, (0,) * len(ids)))
        return joined


class QuestionEncoder(PairEncoder):
    """Both in one text: the premise, some words, the hypothesis, some more words."""

    adds_up = False
    # Tokens may form across the seams that neither side has alone.
    SEAMS = 8

    def __init__(self, tokenizer: Any, before: str, after: str) -> None:
        super().__init__(tokenizer)
        self._before, self._after = before, after

    @property
    def special_tokens(self) -> int:
        """How many tokens are added to a pair, at most."""
        words = sum(self.count([self._before, self._after]))
        return words + self.SEAMS + int(self.tokenizer.num_special_tokens_to_add(False))

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[Encoded]:
        """Each pair as the model reads it."""
        texts = [
            encodable(f"{premise}{self._before}{hypothesis}{self._after}")
            for premise, hypothesis in pairs
        ]
        return [
            Encoded(self._plain(item), tuple(item.type_ids))
            for item in self.tokenizer.encode_batch_fast(texts)
        ]


class NamedEncoder(QuestionEncoder):
    """One text behind a token: words, the premise, more words, the hypothesis."""

    def __init__(self, tokenizer: Any, opening: str, between: str, first: int) -> None:
        super().__init__(tokenizer, between, "")
        self._opening, self._first = opening, first

    @property
    def special_tokens(self) -> int:
        """How many tokens are added to a pair, at most."""
        return 1 + sum(self.count([self._opening])) + super().special_tokens

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[Encoded]:
        """Each pair as the model reads it."""
        behind = super().encode(
            [(f"{self._opening}{premise}", hypothesis) for premise, hypothesis in pairs]
        )
        return [Encoded((self._first, *item.ids), (0, *item.types)) for item in behind]


def encodable(text: str) -> str:
    """The text with lone surrogates, which UTF-8 cannot hold, replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text


def reading_limit(*configurations: Mapping[str, Any]) -> int:
    """The longest input with all its special tokens: the least of the limits that are stated."""
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
    """Raise ModelError for a pair that is too long: nothing is cut off unnoticed.

    encoded  the pairs
    limit    the greatest number of tokens
    where    the verifier, as named in the error
    """
    longest = max((len(item) for item in encoded), default=0)
    if longest > limit:
        raise ModelError(f"{where}: a pair has {longest} tokens, the model reads {limit}")


class EncodingVerifier:
    """What verifiers share that encode texts in this process; `_judge` is their own.

    _encoder  turns texts into tokens
    _limit    the greatest number of tokens of a pair, special tokens included
    """

    _encoder: PairEncoder | WordPieceEncoder
    _limit: int

    @property
    def max_tokens(self) -> int:
        """The longest premise and hypothesis together, special tokens not counted."""
        return self._limit - self._encoder.special_tokens

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text, special tokens not counted."""
        return self._encoder.count(texts)

    @property
    def adds_up(self) -> bool:
        """Whether the tokens of a text are those of its parts between plain spaces."""
        return self._encoder.adds_up

    def tokenize(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """The tokens of each text, special tokens left out."""
        return self._encoder.tokenize(texts)

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        """The probabilities of each (premise, hypothesis), in the order given."""
        return self._judge(self._encoder.encode(pairs))

    def judge_tokens(
        self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]
    ) -> list[Probabilities]:
        """The same for pairs that are given as tokens."""
        return self._judge([self._encoder.frame(*pair) for pair in pairs])

    def _judge(self, encoded: Sequence[Encoded]) -> list[Probabilities]:
        raise NotImplementedError
