"""Read the header of a GGUF file, and tell a complete model from a damaged one.

llama.cpp may crash the whole process on a file that it does not expect, so everything that can
be checked without it is checked before it gets the file.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halldetect.errors import ModelError

_MAGIC = b"GGUF"
_LENGTH = struct.Struct("<Q")
_VERSIONS = (2, 3)
_CONTROL_TOKEN = 3
_MAX_KEYS = 100_000
_MAX_TENSORS = 1_000_000
_STRING, _ARRAY = 8, 9
# GGUF value type -> struct code.
_SCALARS = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip
# Tensor type -> (weights per block, bytes per block); for other types only the beginning is
# checked to be inside the file.
_BLOCKS = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34),
    10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210),
    15: (256, 292), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8), 30: (1, 2),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """What the header says about a model.

    Attributes:
        architecture: the name of its architecture.
        has_chat_template: whether it has a chat template.
        control_tokens: the texts of its control tokens.
    """

    architecture: str
    has_chat_template: bool
    control_tokens: tuple[str, ...]


def read_header(path: Path) -> GgufHeader:
    """The header of a complete GGUF file; raises ModelError for anything else."""
    try:
        with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as m:
            return _Reader(m).header()
    except FileNotFoundError as error:
        raise ModelError(f"there is no model file {path}") from error
    except OSError as error:
        raise ModelError(f"cannot read the model file {path}: {error.strerror}") from error
    except (ValueError, struct.error) as error:  # an empty file is a ValueError of mmap
        raise ModelError(
            f"{path} is not a whole GGUF model ({error}); fetch or copy it again"
        ) from error


class _Reader:
    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.at = 0

    def header(self) -> GgufHeader:
        if self.data[:4] != _MAGIC:
            raise ValueError("it does not begin with GGUF")
        self.at = 4
        version = self.number("I")
        if version not in _VERSIONS:
            raise ValueError(f"its version is {version}")
        tensors, keys = self.number("Q"), self.number("Q")
        if not 0 < tensors <= _MAX_TENSORS or not 0 < keys <= _MAX_KEYS:
            raise ValueError("its counts make no sense")
        values: dict[str, Any] = {}
        for _ in range(keys):
            name = self.string()
            values[name] = self.value(self.number("I"))
        names = self.check_tensors(tensors, int(values.get("general.alignment") or 32))
        layers = values.get(f"{values.get('general.architecture')}.block_count")
        last = f"blk.{layers - 1}." if isinstance(layers, int) else ""
        if not any(name.startswith(last) for name in names):
            raise ValueError("its last layer is missing")
        tokens = values.get("tokenizer.ggml.tokens") or []
        types = values.get("tokenizer.ggml.token_type") or []
        if not tokens:
            raise ValueError("it has no vocabulary")
        return GgufHeader(
            architecture=str(values.get("general.architecture")),
            has_chat_template=bool(values.get("tokenizer.chat_template")),
            control_tokens=tuple(
                token.decode("utf-8", "replace")
                for token, kind in zip(tokens, types, strict=False)
                if kind == _CONTROL_TOKEN
            ),
        )

    def check_tensors(self, count: int, alignment: int) -> list[str]:
        """The names of all tensors; each must be inside the file."""
        names: list[str] = []
        ends: list[int] = []
        for _ in range(count):
            names.append(self.string())
            weights = 1
            for _ in range(self.bounded("I", 8)):
                weights *= self.number("Q")
            kind, offset = self.number("I"), self.number("Q")
            block, size = _BLOCKS.get(kind, (1, 0))
            ends.append(offset + weights // block * size)
        if alignment <= 0:
            raise ValueError("its alignment makes no sense")
        begin = -(-self.at // alignment) * alignment
        if begin + max(ends) > len(self.data):
            raise ValueError(f"it has {len(self.data)} bytes and should have {begin + max(ends)}")
        return names

    def number(self, code: str) -> Any:
        (value,) = struct.unpack_from("<" + code, self.data, self.at)
        self.at += struct.calcsize("<" + code)
        return value

    def bounded(self, code: str, limit: int) -> int:
        value = int(self.number(code))
        if value > limit:
            raise ValueError("a length in it makes no sense")
        return value

    def string(self) -> str:
        length = self.bounded("Q", len(self.data) - self.at)
        raw = self.data[self.at : self.at + length]
        if len(raw) != length:
            raise ValueError("it ends in the middle of its head")
        self.at += length
        return raw.decode("utf-8", "replace")

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.string()
        if kind == _ARRAY:
            inner = self.number("I")
            count = self.bounded("Q", len(self.data) - self.at)
            if inner in _SCALARS:
                return self.scalars(_SCALARS[inner], count)
            if inner == _STRING:
                return self.strings(count)
            return [self.value(inner) for _ in range(count)]
        if kind not in _SCALARS:
            raise ValueError(f"it has a value of unknown type {kind}")
        return self.number(_SCALARS[kind])

    def strings(self, count: int) -> list[bytes]:
        """Vocabularies are long: this is `string` without its calls, and without decoding."""
        data, at, end = self.data, self.at, len(self.data)
        found = []
        for _ in range(count):
            (length,) = _LENGTH.unpack_from(data, at)
            at += 8
            if length > end - at:
                raise ValueError("it ends in the middle of its head")
            found.append(data[at : at + length])
            at += length
        self.at = at
        return found

    def scalars(self, code: str, count: int) -> tuple[Any, ...]:
        layout = struct.Struct(f"<{count}{code}")
        values = layout.unpack_from(self.data, self.at)
        self.at += layout.size
        return values
