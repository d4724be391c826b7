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
# A list of copies is about as long as its text; one twice as long, in tokens of four characters,
# repeats text.
_CHARACTERS_PER_NEW_TOKEN, _MARGIN = 2, 48
# Longer than the average token of any vocabulary: more text than this never fits the context.
_LONGEST_TOKEN = 16


class GgufExtractor:
    """Asks a model of the store, or of any .gguf file, for the claims of a block.

    The same block gives the same claims after any other request: nothing is kept between them.
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

    @property
    def description(self) -> dict[str, Any]:
        """Return the facts for the report; see `protocols`."""
        return {
            "name": self._file.name,
            "model_digest": self._file.digest,
            "chat_template": "from the model" if self._has_template else "chatml",
            "context": CONTEXT,
            **prompt.settings(self._seed),
        }

    def draft(self, block: str, limit: int) -> Draft:
        """Return at most `limit` claims that the model lists for the block."""
        text = prompt.prepare(block[: CONTEXT * _LONGEST_TOKEN], self._special)
        while text and limit > 0:
            answer = self._ask(text, limit)
            error = answer.get("error")
            if error is None:
                (choice,), usage = answer["choices"], answer["usage"]
                said = choice["message"].get("content") or ""
                if choice["finish_reason"] != "stop":  # without an incomplete last line
                    said = said.rpartition("\n")[0]
                tokens = usage["prompt_tokens"], usage["completion_tokens"]
                return Draft(prompt.parse(said, limit), 1, *tokens)
            if error.get("type") != "exceed_context_size_error":
                raise ExtractionError(f"llama.cpp failed: {one_line(error.get('message', error))}")
            # Text beyond the context is left out; `extract` reports its sentences.
            room = max(error["n_ctx"] - MAX_NEW_TOKENS, 0) / error["n_prompt_tokens"]  # below 1
            text = text[: int(len(text) * room)].strip()
        return Draft(())

    def _ask(self, text: str, limit: int) -> Any:
        body = {
            "messages": prompt.messages(text, limit),
            "temperature": TEMPERATURE,
            "seed": self._seed,
            "stop": [STOP],
            "max_tokens": min(MAX_NEW_TOKENS, len(text) // _CHARACTERS_PER_NEW_TOKEN + _MARGIN),
            "cache_prompt": False,  # a cached beginning would change the numbers slightly
        }
        try:
            with self._lock:
                return self._server.handle_chat_completions(body)
        except Exception as error:
            raise ExtractionError(f"llama.cpp failed: {one_line(error)}") from error
