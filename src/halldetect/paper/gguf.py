"""Claims from a GGUF model, with llama.cpp running in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from halldetect.errors import ExtractionError, one_line
from halldetect.large.gguf import control_tokens
from halldetect.paper import prompt
from halldetect.paper.llama import LlamaFile, start
from halldetect.paper.prompt import MAX_NEW_TOKENS, STOP, TEMPERATURE
from halldetect.protocols import Draft

CONTEXT = 2048
# A list of copies is about as long as its text, and a token has four bytes or more in English; a
# list twice as long repeats text.
_TOKENS_PER_BYTE, _EXTRA_TOKENS = 1 / 2, 48


class GgufExtractor:
    """Asks a model of the store, or of any .gguf file, for the claims of a block.

    Nothing is kept between blocks, so the same block gives the same claims after any other.
    """

    def __init__(self, model: str | Path, *, threads: int | None = None, seed: int = 0) -> None:
        """Load `model`: a name of the store that is in the cache, or the path of a file."""
        self._file = LlamaFile(model)
        self._special = prompt.special_pattern(control_tokens(self._file.path))
        self._seed = seed
        self._server = start(self._file.path, threads, seed, CONTEXT)

    @property
    def description(self) -> dict[str, Any]:
        """Return the facts for the report; see `protocols`."""
        return {
            "name": self._file.name,
            "model_digest": self._file.digest,
            "prompt_digest": prompt.digest(),
            "context": CONTEXT,
            "temperature": TEMPERATURE,
            "max_new_tokens": MAX_NEW_TOKENS,
            "seed": self._seed,
        }

    def draft(self, block: str, limit: int) -> Draft:
        """Return at most `limit` claims that the model lists for the block.

        Text beyond the context is left out; `extract` reports its sentences.
        """
        text = prompt.prepare(block, self._special)
        while text and limit > 0:
            length = int(_TOKENS_PER_BYTE * len(text.encode())) + _EXTRA_TOKENS
            answer = self._ask(text, limit, min(length, MAX_NEW_TOKENS))
            if "error" not in answer:
                return _draft(answer, limit)
            error = answer["error"]
            room = max(error["n_ctx"] - MAX_NEW_TOKENS, 0)
            text = text[: len(text) * room // error["n_prompt_tokens"]].strip()
        return Draft(())

    def _ask(self, text: str, limit: int, max_tokens: int) -> dict[str, Any]:
        """Return the answer of llama.cpp, which has an "error" only if the text is too long."""
        body = {
            "messages": prompt.messages(text, limit),
            "temperature": TEMPERATURE,
            "seed": self._seed,
            "stop": [STOP],
            "cache_prompt": False,
            "max_tokens": max_tokens,
        }
        try:
            answer: dict[str, Any] = self._server.handle_chat_completions(body)
            error = answer.get("error", {})
        except Exception as failure:
            raise ExtractionError(f"llama.cpp failed: {one_line(failure)}") from failure
        if error and error.get("type") != "exceed_context_size_error":
            raise ExtractionError(f"llama.cpp failed: {one_line(error.get('message', error))}")
        return answer


def _draft(answer: dict[str, Any], limit: int) -> Draft:
    """Return the claims of an answer without an incomplete last line."""
    choice, usage = answer["choices"][0], answer["usage"]
    text = choice["message"].get("content") or ""
    if choice["finish_reason"] != "stop":
        text = text.rpartition("\n")[0]
    claims = prompt.parse(text, limit)
    return Draft(claims, 1, int(usage["prompt_tokens"]), int(usage["completion_tokens"]))
