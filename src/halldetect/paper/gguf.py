"""Claims from a GGUF model, with llama.cpp running in this process."""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import Any

from halldetect.errors import ExtractionError, one_line
from halldetect.models.gguf import read_header
from halldetect.models.llama import LlamaFile, default_threads
from halldetect.models.llama import start as _start
from halldetect.paper import prompt
from halldetect.paper.prompt import MAX_NEW_TOKENS, STOP, TEMPERATURE
from halldetect.protocols import Draft

CONTEXT = 2048
# A list of copies is about as long as its text; a list twice as long repeats text.
_LENGTH_FACTOR = 2
_LENGTH_MARGIN = 48
# Longer than the average token of any vocabulary: more text than this never fits the context.
_LONGEST_TOKEN = 16


class GgufExtractor:
    """Asks a model of the store, or of any .gguf file, for the claims of a block.

    The same block gives the same claims after any other request: the fixed beginning of the prompt
    is computed once, alone, and every block starts from exactly that state (`_rewind`).
    """

    name = "gguf"

    def __init__(self, model: str | Path, *, threads: int | None = None, seed: int = 0) -> None:
        """Load `model`: a name of the store that is in the cache, or the path of a file."""
        self._file = LlamaFile(model)
        header = read_header(self._file.path)
        self._has_template = header.has_chat_template
        self._special = prompt.special_pattern(header.control_tokens)
        self._seed = seed
        self._lock = Lock()
        self._server = _start(self._file.path, threads or default_threads(), seed, CONTEXT)
        self._prefix = self._rewind()

    @property
    def description(self) -> dict[str, Any]:
        """Return the facts for the report; see `protocols`."""
        return {
            "name": self._file.name,
            "model_digest": self._file.digest,
            "prompt_digest": prompt.digest(),
            "chat_template": "from the model" if self._has_template else "chatml",
            "context": CONTEXT,
            "temperature": TEMPERATURE,
            "max_new_tokens": MAX_NEW_TOKENS,
            "seed": self._seed,
        }

    def draft(self, block: str, limit: int) -> Draft:
        """Return at most `limit` claims that the model lists for the block."""
        text = prompt.prepare(block[: CONTEXT * _LONGEST_TOKEN], self._special)
        if not text or limit < 1:
            return Draft(())
        with self._lock:
            while True:
                self._rewind()
                answer = self._ask(text, limit)
                if answer.overflow is None:
                    break
                # Text beyond the context is left out; `extract` reports its sentences.
                text = text[: int(len(text) * answer.overflow)].strip()
                if not text:
                    return Draft(())
        claims = prompt.parse(answer.whole_lines, limit)
        return Draft(claims, 1, answer.tokens_in, answer.tokens_out)

    def _ask(self, text: str, limit: int) -> _Answer:
        answer = _Answer(limit, self._prefix)
        body = {
            **self._request(text, limit),
            "max_tokens": MAX_NEW_TOKENS,
            "stream": True,
            "timings_per_token": True,
        }
        try:
            direct = self._server.handle_chat_completions(body, answer.take)
            if isinstance(direct, dict):
                answer.take(direct)
        except Exception as error:
            raise ExtractionError(f"llama.cpp failed: {one_line(error)}") from error
        if answer.error is not None:
            raise ExtractionError(f"llama.cpp failed: {answer.error}")
        return answer

    def _rewind(self) -> int:
        """Reduce the cache to the fixed beginning; return its length in tokens.

        An empty block shares exactly that with every real one, which never begins with a line
        end or the delimiter: both are removed from it.
        """
        body = {**self._request("", 1), "max_tokens": 1}
        try:
            answer = self._server.handle_chat_completions(body)
            return int(answer["usage"]["prompt_tokens"])
        except Exception as error:
            raise ExtractionError(f"llama.cpp failed: {one_line(error)}") from error

    def _request(self, text: str, limit: int) -> dict[str, Any]:
        return {
            "messages": prompt.messages(text, limit),
            "temperature": TEMPERATURE,
            "seed": self._seed,
            "stop": [STOP],
            "cache_prompt": True,
        }


class _Answer:
    """Collects a streamed answer and detects when more text is useless."""

    def __init__(self, limit: int, prefix: int) -> None:
        self.text = ""
        self.tokens_in = 0
        self.tokens_out = 0
        self.error: str | None = None
        self.overflow: float | None = None
        self._finished = False
        self._limit = limit
        self._prefix = prefix

    @property
    def whole_lines(self) -> str:
        """Return the answer without an incomplete last line."""
        return self.text if self._finished else self.text.rpartition("\n")[0]

    def take(self, chunk: Any) -> bool:
        """Add a chunk; return True to stop."""
        for item in chunk if isinstance(chunk, list) else [chunk]:
            if not isinstance(item, dict):
                continue
            if "error" in item:
                return self._fail(item["error"])
            for choice in item.get("choices") or ():
                self.text += (choice.get("delta") or {}).get("content") or ""
                self._finished = choice.get("finish_reason") == "stop"
            timings = item.get("timings") or {}
            if timings:
                self.tokens_in = int(timings["prompt_n"]) + int(timings.get("cache_n", 0))
                self.tokens_out = int(timings["predicted_n"])
        return self._done()

    def _fail(self, error: Any) -> bool:
        kind = error.get("type") if isinstance(error, dict) else None
        if kind == "exceed_context_size_error":
            room = error["n_ctx"] - MAX_NEW_TOKENS - self._prefix
            self.overflow = max(room, 0) / (error["n_prompt_tokens"] - self._prefix)
        else:
            self.error = one_line(error.get("message", error) if isinstance(error, dict) else error)
        return True

    def _done(self) -> bool:
        *whole, _ = self.text.split("\n")
        lines = [line.strip() for line in whole if line.strip()]
        if len(lines) >= self._limit or len(set(lines)) < len(lines):
            return True
        block = max(self.tokens_in - self._prefix, 0)
        return self.tokens_out > _LENGTH_FACTOR * block + _LENGTH_MARGIN
