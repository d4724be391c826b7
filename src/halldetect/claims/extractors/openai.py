"""Claims from any server that speaks the OpenAI chat protocol."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from halldetect.claims.extraction import Draft
from halldetect.claims.extractors import prompt
from halldetect.errors import ExtractionError
from halldetect.models.chat_endpoint import ChatEndpoint

TEMPERATURE = 0.2
MAX_NEW_TOKENS = 512
STOP = "\n\n"


class OpenAIExtractor:
    """Asks a chat endpoint, with structured output as long as the server takes it."""

    name = "openai"

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 60.0,
        retries: int = 3,
        seed: int = 0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """The base URL ends where `/chat/completions` begins, mostly in `/v1`."""
        self._endpoint = ChatEndpoint(
            model,
            what="the extractor `openai`",
            failure=ExtractionError,
            base_url=base_url,
            api_key=api_key,
            timeout=timeout,
            retries=retries,
            sleep=sleep,
        )
        self._seed = seed

    def __repr__(self) -> str:
        return f"OpenAIExtractor({self._endpoint.model!r})"

    @property
    def description(self) -> dict[str, Any]:
        """What the report records; see `protocols`."""
        return {
            "name": f"openai:{self._endpoint.model}",
            "base_url": self._endpoint.url,
            "prompt_digest": prompt.digest(),
            "temperature": TEMPERATURE,
            "max_new_tokens": MAX_NEW_TOKENS,
            "seed": self._seed,
        }

    def draft(self, block: str, limit: int) -> Draft:
        """The claims that the server lists for the block, at most `limit`."""
        text = prompt.prepare(block)
        if not text or limit < 1:
            return Draft(())
        answer = self._endpoint.complete(lambda left_out: self._body(text, limit, left_out))
        return Draft(prompt.parse(answer.text, limit), 1, answer.tokens_in, answer.tokens_out)

    def _body(self, text: str, limit: int, left_out: set[str]) -> dict[str, Any]:
        structured = "response_format" not in left_out
        body: dict[str, Any] = {"messages": prompt.messages(text, limit, as_json=structured)}
        schema = {"name": "claims", "strict": True, "schema": prompt.SCHEMA}
        optional = {
            "response_format": {"type": "json_schema", "json_schema": schema},
            "seed": self._seed,
            "temperature": TEMPERATURE,
            "max_tokens": MAX_NEW_TOKENS,
            # JSON may be laid out with empty lines, and has an end of its own.
            **({} if structured else {"stop": [STOP]}),
        }
        body |= {key: value for key, value in optional.items() if key not in left_out}
        if "max_tokens" in left_out:  # its newer name
            body["max_completion_tokens"] = MAX_NEW_TOKENS
        return body
