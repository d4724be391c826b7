"""Claims from a server that speaks the OpenAI chat protocol, through the `openai` SDK."""

from __future__ import annotations

import os
import weakref
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlsplit, urlunsplit

from halldetect.errors import ConfigurationError, ExtractionError, import_extra, one_line
from halldetect.machine.store import is_this_machine, require_network
from halldetect.paper import prompt
from halldetect.paper.prompt import MAX_NEW_TOKENS, STOP, TEMPERATURE
from halldetect.protocols import Draft

_USER = "the extractor `openai`"
_URL_VARIABLES = ("HALLDETECT_OPENAI_BASE_URL", "OPENAI_BASE_URL")
_KEY_VARIABLES = ("HALLDETECT_OPENAI_API_KEY", "OPENAI_API_KEY")
TIMEOUT, RETRIES = 60.0, 3  # seconds for an answer, and further attempts
_ADVICE = {
    401: f"; set {_KEY_VARIABLES[0]}",
    403: f"; check {_KEY_VARIABLES[0]}",
    404: "; check the base URL and that it has the model {}",
    429: "; it gets too many requests, try again later",
}


class OpenAIExtractor:
    """Asks a chat endpoint for the claims of a block, one per line."""

    def __init__(self, model: str, *, seed: int = 0) -> None:
        """Prepare a connection to the server that the environment names; nothing is sent yet.

        Raises ConfigurationError if address or key are unusable, or HALLDETECT_OFFLINE forbids the
        server.
        """
        if not model:
            raise ConfigurationError(f"{_USER} needs a model: openai:MODEL")
        address = _address(_environment(_URL_VARIABLES))
        local = is_this_machine(address.hostname)
        require_network(_USER, address.hostname)
        openai = import_extra("openai", _USER, "openai")
        self._key = _environment(_KEY_VARIABLES).strip()
        if not (self._key.isascii() and self._key.isprintable()):
            raise ConfigurationError("the API key has characters that no key can have")
        self._model, self._seed = model, seed
        host = address.netloc.rpartition("@")[2]
        self._url = urlunsplit((address.scheme, host, address.path, "", ""))  # without secrets
        self._refuses_settings = False
        self._headers = {} if self._key else {"Authorization": openai.Omit()}
        self._client = openai.OpenAI(
            base_url=urlunsplit(address._replace(query="", fragment="")),
            default_query=dict(parse_qsl(address.query)),
            api_key=self._key or "none",
            timeout=TIMEOUT,
            max_retries=RETRIES,
            # A redirect, or a proxy from the environment, could send the text elsewhere.
            http_client=openai.DefaultHttpxClient(follow_redirects=False, trust_env=not local),
        )
        weakref.finalize(self, self._client.close)

    @property
    def description(self) -> dict[str, Any]:
        """Return the facts for the report; see `protocols`."""
        return {
            "name": f"openai:{self._model}",
            "base_url": self._url,
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
        answer = self._ask(prompt.messages(text, limit), self._refuses_settings)
        try:
            content, used = answer.choices[0].message.content, answer.usage
            tokens = (used.prompt_tokens or 0, used.completion_tokens or 0) if used else (0, 0)
        except (AttributeError, IndexError, TypeError) as error:
            raise self._failed("sent no chat completion") from error
        if content is not None and not isinstance(content, str):
            raise self._failed("sent an answer that is not text")
        return Draft(prompt.parse(content or "", limit), 1, *tokens)

    def _ask(self, messages: list[dict[str, str]], bare: bool) -> Any:
        """Return the server's answer; a server that refuses settings gets a bare request."""
        from openai import APIConnectionError, APIStatusError, OpenAIError

        settings: dict[str, Any] = {
            "seed": self._seed,
            "temperature": TEMPERATURE,
            "max_tokens": MAX_NEW_TOKENS,
            "stop": [STOP],
        }
        try:
            return self._client.chat.completions.create(
                model=self._model,
                messages=messages,
                extra_headers=self._headers,
                **({} if bare else settings),
            )
        except APIStatusError as error:
            if error.status_code in (400, 422) and not bare:
                answer = self._ask(messages, bare=True)
                self._refuses_settings = True  # and not just this text
                return answer
            advice = _ADVICE.get(error.status_code, "").format(self._model)
            reason = " ".join(self._redacted(error.response.text).split())[:200]
            raise self._failed(
                f"answered {error.status_code}{advice}" + (f": {reason}" if reason else "")
            ) from None
        except APIConnectionError as error:
            raise self._failed(
                f"does not answer ({type(error).__name__}); "
                "check that it runs and that the base URL is right"
            ) from None
        except (OpenAIError, ValueError) as error:  # an answer that is not JSON
            reason = self._redacted(one_line(error))
            raise self._failed(f"sent no chat completion: {reason}") from None

    def _failed(self, reason: str) -> ExtractionError:
        return ExtractionError(f"the server at {self._url} {reason}")

    def _redacted(self, text: str) -> str:
        """Remove the key: servers often quote the key they reject."""
        return text.replace(self._key, "***") if self._key else text


def _environment(names: tuple[str, ...]) -> str:
    return next(filter(None, map(os.environ.get, names)), "")


def _address(given: str) -> SplitResult:
    """Return the parts of a base URL; errors do not quote it, as it may hold a password."""
    example = "http://127.0.0.1:8080/v1"
    if not given:
        raise ConfigurationError(
            f"{_USER} needs the server's address: set {_URL_VARIABLES[0]}, for example to {example}"
        )
    try:
        parts = urlsplit(given.strip().rstrip("/").removesuffix("/chat/completions"))
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return parts
    except ValueError:
        pass
    raise ConfigurationError(f"the address of the server of {_USER} must look like {example}")
