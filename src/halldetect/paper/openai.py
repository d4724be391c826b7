"""Claims from any server that speaks the OpenAI chat protocol."""

from __future__ import annotations

from typing import Any, Unpack

from halldetect.errors import ExtractionError
from halldetect.models.chat_endpoint import ChatEndpoint, ServerOptions
from halldetect.paper import prompt
from halldetect.paper.prompt import MAX_NEW_TOKENS, STOP, TEMPERATURE
from halldetect.protocols import Draft


class OpenAIExtractor:
    """Asks a chat endpoint, with structured output if the server accepts it."""

    name = "openai"

    def __init__(self, model: str, *, seed: int = 0, **server: Unpack[ServerOptions]) -> None:
        """Prepare the connection; `server` has options of `ChatEndpoint`, `seed` is sent along."""
        self._endpoint = ChatEndpoint(
            model, what="the extractor `openai`", failure=ExtractionError, **server
        )
        self._seed = seed

    def __repr__(self) -> str:
        return f"OpenAIExtractor({self._endpoint.model!r})"

    @property
    def description(self) -> dict[str, Any]:
        """Return the facts for the report; see `protocols`."""
        return {
            "name": f"openai:{self._endpoint.model}",
            "base_url": self._endpoint.url,
            "prompt_digest": prompt.digest(),
            "temperature": TEMPERATURE,
            "max_new_tokens": MAX_NEW_TOKENS,
            "seed": self._seed,
        }

    def draft(self, block: str, limit: int) -> Draft:
        """Return at most `limit` claims that the server lists for the block."""
        text = prompt.prepare(block)
        if not text or limit < 1:
            return Draft(())
        answer = self._endpoint.complete(lambda left_out: self._body(text, limit, left_out))
        return Draft(prompt.parse(answer.text, limit), 1, answer.tokens_in, answer.tokens_out)

    def _body(self, text: str, limit: int, left_out: set[str]) -> dict[str, Any]:
        structured = "response_format" not in left_out
        schema = {"name": "claims", "strict": True, "schema": prompt.SCHEMA}
        return {
            "messages": prompt.messages(text, limit, as_json=structured),
            "response_format": {"type": "json_schema", "json_schema": schema},
            "seed": self._seed,
            "temperature": TEMPERATURE,
            "max_tokens": MAX_NEW_TOKENS,
            # JSON may contain empty lines, and has its own end.
            **({} if structured else {"stop": [STOP]}),
        }
