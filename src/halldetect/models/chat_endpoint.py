"""A server that speaks the OpenAI chat protocol, through the `openai` SDK."""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Callable
from typing import Any, TypedDict
from urllib.parse import SplitResult, parse_qsl, urlsplit, urlunsplit

from halldetect.errors import ConfigurationError, ExtractionError, MissingExtra, one_line
from halldetect.models.store import is_this_machine, require_network

_USER = "the extractor `openai`"
_URL_VARIABLES = ("HALLDETECT_OPENAI_BASE_URL", "OPENAI_BASE_URL")
_KEY_VARIABLES = ("HALLDETECT_OPENAI_API_KEY", "OPENAI_API_KEY")
# Fields that a server may reject.
_OPTIONAL = ("response_format", "seed", "stop", "temperature", "max_tokens")
_ADVICE = {
    401: f"; set {_KEY_VARIABLES[0]}",
    403: f"; check {_KEY_VARIABLES[0]}",
    404: "; check the base URL and that it has the model {}",
    429: "; it gets too many requests, try again later",
}


class ServerOptions(TypedDict, total=False):
    """Options of the connection; see `ChatEndpoint`."""

    base_url: str | None
    api_key: str | None
    timeout: float
    retries: int


class ChatEndpoint:
    """Sends chat requests to one model of a server; `url` is its address without secrets."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 60.0,
        retries: int = 3,
    ) -> None:
        """Prepare a connection; nothing is sent yet.

        Address (up to `/chat/completions`) and key are those of the environment if None. Raises
        ConfigurationError if they are unusable, or HALLDETECT_OFFLINE forbids the server.
        """
        if not model:
            raise ConfigurationError(f"{_USER} needs a model: openai:MODEL")
        address = _address(base_url or _environment(_URL_VARIABLES))
        local = is_this_machine(address.hostname)
        require_network(_USER, address.hostname)
        try:
            import openai
        except ImportError as error:
            raise MissingExtra(_USER, "openai") from error
        self._key = (api_key or _environment(_KEY_VARIABLES) or "").strip()
        if not (self._key.isascii() and self._key.isprintable()):
            raise ConfigurationError("the API key has characters that no key can have")
        self.model = model
        host = address.netloc.rpartition("@")[2]
        self.url = urlunsplit((address.scheme, host, address.path, "", ""))
        self._refused: set[str] = set()  # fields that the server does not accept
        self._headers = {} if self._key else {"Authorization": openai.Omit()}
        self._client = openai.OpenAI(
            base_url=urlunsplit(address._replace(query="", fragment="")),
            default_query=dict(parse_qsl(address.query)),
            api_key=self._key or "none",
            timeout=timeout,
            max_retries=retries,
            # A redirect, or a proxy from the environment, could send the text elsewhere.
            http_client=openai.DefaultHttpxClient(follow_redirects=False, trust_env=not local),
        )
        weakref.finalize(self, self._client.close)

    def complete(self, body: Callable[[set[str]], dict[str, Any]]) -> tuple[str, int, int]:
        """Return one answer, which may be empty, and the tokens read and written.

        `body` builds the request without the fields that the server refuses. Refused fields are
        omitted in later requests too.
        """
        answer = self._ask(body)
        try:
            content = answer.choices[0].message.content
            used = answer.usage
            tokens = (used.prompt_tokens or 0, used.completion_tokens or 0) if used else (0, 0)
        except (AttributeError, IndexError, TypeError) as error:
            raise self._failed("sent no chat completion") from error
        if content is not None and not isinstance(content, str):
            raise self._failed("sent an answer that is not text")
        return content or "", *tokens

    def _ask(self, body: Callable[[set[str]], dict[str, Any]]) -> Any:
        from openai import APIConnectionError, APIStatusError, OpenAIError

        refused = set(self._refused)
        while True:
            built = body(refused)
            request = {name: value for name, value in built.items() if name not in refused}
            if "max_tokens" in refused:  # its newer name
                request["max_completion_tokens"] = built["max_tokens"]
            try:
                answer = self._client.chat.completions.create(
                    model=self.model, **request, extra_headers=self._headers
                )
                self._refused = refused
                return answer
            except APIStatusError as error:
                said, status = error.response.text, error.status_code
                field = _refused_field(said, refused) if status in (400, 422) else None
                if field is None:
                    advice = _ADVICE.get(status, "").format(self.model)
                    reason = " ".join(self._redacted(said).split())[:200]
                    raise self._failed(
                        f"answered {status}{advice}" + (f": {reason}" if reason else "")
                    ) from None
                refused.add(field)
            except APIConnectionError as error:
                raise self._failed(
                    f"does not answer ({type(error).__name__}); "
                    "check that it runs and that the base URL is right"
                ) from None
            except (OpenAIError, ValueError) as error:  # an answer that is not JSON
                reason = self._redacted(one_line(error))
                raise self._failed(f"sent no chat completion: {reason}") from None

    def _failed(self, reason: str) -> ExtractionError:
        return ExtractionError(f"the server at {self.url} {reason}")

    def _redacted(self, text: str) -> str:
        """Remove the key: servers often quote the key they reject."""
        return text.replace(self._key, "***") if self._key else text


def _refused_field(complaint: str, refused: set[str]) -> str | None:
    """Return the field to omit next: one named in the error, else structured output."""
    left = [field for field in _OPTIONAL if field not in refused]
    named = [field for field in left if re.search(rf"\b{field}\b", complaint)]
    return next(iter(named), "response_format" if "response_format" in left else None)


def _environment(names: tuple[str, ...]) -> str | None:
    return next((os.environ[name] for name in names if os.environ.get(name)), None)


def _address(given: str | None) -> SplitResult:
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
