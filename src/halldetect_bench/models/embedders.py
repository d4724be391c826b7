"""Texts as vectors: the protocol, GGUF models in llama.cpp and ONNX models."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from halldetect.errors import ModelError, one_line
from halldetect.models.integrity import digest_of
from halldetect.models.llama import default_threads, start
from halldetect.verification.verifiers.encoding import encodable, reading_limit
from halldetect_bench.models.llm import locate_model

GGUF_CONTEXT = 2048
_TOKENS = re.compile(r"\((\d+) tokens\)")


@dataclass(frozen=True, slots=True)
class Embedding:
    """A text's vector, and how many tokens were read for it."""

    vector: NDArray[np.float64]
    tokens: int


class Embedder(Protocol):
    """Anything that turns texts into vectors; a text is truncated to what the model reads."""

    @property
    def description(self) -> dict[str, Any]:
        """Name, digest and settings, which the results record."""
        ...

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """One vector per text; a vector does not depend on the other texts.

        texts: the texts to embed.
        """
        ...


def cosine(one: Embedding, other: Embedding) -> float:
    """The cosine of two vectors; 0 where one of them has no length.

    one, other: the two texts' vectors.
    """
    lengths = float(np.linalg.norm(one.vector) * np.linalg.norm(other.vector))
    return float(one.vector @ other.vector) / lengths if lengths else 0.0


def load_embedder(spec: str, *, threads: int | None = None, device: str | None = None) -> Embedder:
    """Load an embedder.

    spec: a folder of sentence-transformers, `hf:NAME` for one of the hub, a folder with an .onnx
        file and tokenizer.json, or a GGUF model by name or path.
    threads: for a GGUF model; default is the number of cores.
    device: for a model of sentence-transformers; default is the GPU where there is one.
    """
    from halldetect_bench.models.sentence_embedder import SentenceEmbedder, is_sentence_model

    if is_sentence_model(spec):
        return SentenceEmbedder(spec, device=device)
    if Path(spec).expanduser().is_dir():
        return OnnxEmbedder(Path(spec).expanduser())
    return LlamaEmbedder(spec, threads=threads)


class LlamaEmbedder:
    """A GGUF model in llama.cpp, pooled as its file says; without a pooling in the file, the mean
    over the tokens."""

    def __init__(self, model: str | Path, *, threads: int | None = None) -> None:
        """model: a name or a .gguf file. threads: default is the number of cores."""
        self._name, path, self._digest = locate_model(model)
        workers = threads or default_threads()
        self._pooling = "model"
        self._server = start(path, workers, 0, GGUF_CONTEXT, pooling=self._pooling)
        if "error" in self._asked("a"):
            self._pooling = "mean"
            self._server = start(path, workers, 0, GGUF_CONTEXT, pooling=self._pooling)

    @property
    def description(self) -> dict[str, Any]:
        """Name, digest, pooling and context."""
        return {
            "name": self._name,
            "kind": "llama.cpp",
            "digest": self._digest,
            "pooling": self._pooling,
            "context": GGUF_CONTEXT,
        }

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """One vector per text; see `Embedder.embed`."""
        return [self._one(encodable(text)) for text in texts]

    def _one(self, text: str) -> Embedding:
        while True:
            answer = self._asked(text or " ")
            if "error" not in answer:
                vector = np.asarray(answer["data"][0]["embedding"], dtype=float)
                return Embedding(vector, int(answer["usage"]["prompt_tokens"]))
            message = one_line(answer["error"].get("message", answer["error"]))
            if "too large" not in message or len(text) < 2:
                raise ModelError(f"llama.cpp failed: {message}")
            tokens = _TOKENS.search(message)
            share = 0.98 * GGUF_CONTEXT / int(tokens[1]) if tokens else 0.5
            text = text[: int(len(text) * min(share, 0.98))]

    def _asked(self, text: str) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = self._server.handle_embeddings({"input": [text]})
        except Exception as error:
            raise ModelError(f"llama.cpp failed: {one_line(error)}") from error
        return answer


class OnnxEmbedder:
    """An ONNX model: its output `sentence_embedding`, or else the mean over the token vectors."""

    def __init__(self, folder: Path) -> None:
        """folder: holds an .onnx file and tokenizer.json."""
        from tokenizers import Tokenizer

        from halldetect.verification.verifiers.onnx import runtime

        files = sorted(folder.glob("*.onnx")) or sorted(folder.glob("onnx/*.onnx"))
        named = [file for file in files if file.name == "model.onnx"] or files
        if not named or not (folder / "tokenizer.json").is_file():
            raise ModelError(f"{folder} is no embedder: it needs an .onnx file and tokenizer.json")
        self._file = named[0]
        self._name = folder.resolve().name
        try:
            config = folder / "config.json"
            stated = json.loads(config.read_text(encoding="utf-8")) if config.is_file() else {}
            self._limit = reading_limit(stated)
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            self._tokenizer.no_padding()
            self._tokenizer.enable_truncation(self._limit)
            self._session = runtime().InferenceSession(
                str(self._file), providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # the libraries' errors share no base class
            raise ModelError(f"{folder} cannot be loaded: {one_line(error)}") from error
        self._inputs = {item.name for item in self._session.get_inputs()}
        outputs = [item.name for item in self._session.get_outputs()]
        self._pooled = "sentence_embedding" in outputs
        self._output = "sentence_embedding" if self._pooled else outputs[0]

    @property
    def description(self) -> dict[str, Any]:
        """Name, digest, pooling and context."""
        return {
            "name": self._name,
            "kind": "onnx",
            "digest": f"sha256:{digest_of(self._file)}",
            "pooling": "model" if self._pooled else "mean",
            "context": self._limit,
        }

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """One vector per text; see `Embedder.embed`."""
        return [self._one(encodable(text)) for text in texts]

    def _one(self, text: str) -> Embedding:
        encoded = self._tokenizer.encode(text)
        values = {
            "input_ids": encoded.ids,
            "attention_mask": [1] * len(encoded.ids),
            "token_type_ids": encoded.type_ids,
        }
        feeds = {
            name: np.array([numbers], np.int64)
            for name, numbers in values.items()
            if name in self._inputs
        }
        try:
            out = np.asarray(self._session.run([self._output], feeds)[0], dtype=float)[0]
        except Exception as error:  # the runtime's errors share no base class
            raise ModelError(f"{self._name}: the model failed: {one_line(error)}") from error
        if out.ndim != (1 if self._pooled else 2):
            raise ModelError(f"{self._name}: {self._file.name} gives no vectors of tokens")
        return Embedding(out if self._pooled else out.mean(axis=0), len(encoded.ids))
