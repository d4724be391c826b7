"""A server that speaks the OpenAI chat protocol: address, key, retries, and what it refuses."""

from __future__ import annotations

import os
import re
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypedDict
from urllib.parse import urlsplit, urlunsplit

from halldetect.errors import CheckError, ConfigurationError, MissingExtra

_URL_VARIABLES = ("HALLDETECT_OPENAI_BASE_URL", "OPENAI_BASE_URL")
_KEY_VARIABLES = ("HALLDETECT_OPENAI_API_KEY", "OPENAI_API_KEY")
_RETRIED = (408, 409, 429, 500, 502, 503, 504)
_REFUSED = (400, 422)
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0
# What a server may not know or allow.
_OPTIONAL = ("response_format", "seed", "stop", "temperature", "max_tokens")


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """The text of an answer, empty if there is none, and the tokens read and written."""

    text: str
    tokens_in: int = 0
    tokens_out: int = 0


class ServerOptions(TypedDict, total=False):
    """How a server is reached; see `ChatEndpoint`."""

    base_url: str | None
    api_key: str | None
    timeout: float
    retries: int
    sleep: Callable[[float], None]


class ChatEndpoint:
    """Sends chat requests to one model of a server.

    model     the name of the model
    what      what needs the server, for messages, such as "the extractor `openai`"
    failure   the type of the error that a failure of the server raises
    base_url  ends where `/chat/completions` begins, mostly in `/v1`; None: from the environment
    api_key   None: from the environment
    timeout   seconds per request
    retries   further attempts where the server is busy or does not answer
    sleep     waits between two attempts
    """

    def __init__(
        self,
        model: str,
        *,
        what: str,
        failure: type[CheckError],
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 60.0,
        retries: int = 3,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        try:
            import httpx
        except ImportError as error:
            raise MissingExtra(what, "openai") from error
        if not model:
            raise ConfigurationError(f"{what} needs a model: openai:MODEL")
        self.model = model
        self.left_out: set[str] = set()
        self._base_url = _base_url(base_url or _environment(_URL_VARIABLES), what)
        self._key = _key(api_key or _environment(_KEY_VARIABLES))
        self._failure = failure
        self._retries = retries
        self._sleep = sleep
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        self._client = httpx.Client(
            headers=headers, timeout=httpx.Timeout(timeout, connect=min(timeout, 10.0))
        )
        self._transport_error = httpx.TransportError
        weakref.finalize(self, self._client.close)

    @property
    def url(self) -> str:
        """The base URL without secrets."""
        return _without_secrets(self._base_url)

    def complete(self, body: Callable[[set[str]], dict[str, Any]]) -> ChatAnswer:
        """One answer; what the server refuses to take is left out, for ever once that helped.

        body  makes the request; its argument names the fields that will be left out of it
        """
        answer = self._ask(body)
        try:
            content = answer["choices"][0]["message"]["content"]
            usage = answer.get("usage") or {}
            tokens = int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise self._failure(f"{self._where} sent no chat completion") from error
        if content is not None and not isinstance(content, str):
            raise self._failure(f"{self._where} sent an answer that is not text")
        return ChatAnswer(content or "", *tokens)

    @property
    def _where(self) -> str:
        return f"the server at {self.url}"

    def _ask(self, body: Callable[[set[str]], dict[str, Any]]) -> dict[str, Any]:
        left_out = set(self.left_out)
        while True:
            response = self._post({"model": self.model, **_without(body(left_out), left_out)})
            if response.status_code in _REFUSED:
                unwanted = _unwanted(response.text, left_out)
                if unwanted is not None:
                    left_out.add(unwanted)
                    continue
            if response.status_code != 200:
                raise self._failure(self._refusal(response.status_code, response.text))
            self.left_out = left_out
            try:
                answer = response.json()
            except ValueError as error:
                raise self._failure(f"{self._where} sent something that is not JSON") from error
            if not isinstance(answer, dict):
                raise self._failure(f"{self._where} sent no chat completion")
            return answer

    def _post(self, body: dict[str, Any]) -> Any:
        for attempt in range(self._retries + 1):
            last = attempt == self._retries
            asked_to_wait: float | None = None
            try:
                response = self._client.post(_endpoint(self._base_url), json=body)
                if response.status_code not in _RETRIED or last:
                    return response
                asked_to_wait = _retry_after(response.headers.get("Retry-After"))
            except self._transport_error as error:
                if last:
                    raise self._failure(
                        f"{self._where} does not answer ({type(error).__name__}); "
                        "check that it runs and that the base URL is right"
                    ) from None
            pause = _FIRST_PAUSE * 2**attempt if asked_to_wait is None else asked_to_wait
            self._sleep(min(pause, _LONGEST_PAUSE))
        raise AssertionError("unreachable")

    def _refusal(self, status: int, text: str) -> str:
        advice = {
            401: f"; set {_KEY_VARIABLES[0]}",
            403: f"; check {_KEY_VARIABLES[0]}",
            404: f"; check the base URL and that it has the model {self.model}",
            429: "; it gets too many requests, try again later",
        }.get(status, "")
        said = " ".join(self._redacted(text).split())[:200]
        return f"{self._where} answered {status}{advice}" + (f": {said}" if said else "")

    def _redacted(self, text: str) -> str:
        """Servers like to quote the key they reject."""
        return text.replace(self._key, "***") if self._key else text


def _without(body: dict[str, Any], left_out: set[str]) -> dict[str, Any]:
    kept = {name: value for name, value in body.items() if name not in left_out}
    if "max_tokens" in left_out:  # its newer name
        kept["max_completion_tokens"] = body["max_tokens"]
    return kept


def _unwanted(complaint: str, left_out: set[str]) -> str | None:
    """The field to leave out next: one complained of by name, else structured output."""
    left = [field for field in _OPTIONAL if field not in left_out]
    named = [field for field in left if re.search(rf"\b{field}\b", complaint)]
    if named:
        return named[0]
    return "response_format" if "response_format" in left else None


def _endpoint(base_url: str) -> str:
    parts = urlsplit(base_url)
    return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/chat/completions"))


def _environment(names: tuple[str, ...]) -> str | None:
    return next((os.environ[name] for name in names if os.environ.get(name)), None)


def _base_url(given: str | None, what: str) -> str:
    if not given:
        raise ConfigurationError(
            f"{what} needs the server's address: set {_URL_VARIABLES[0]}, "
            "for example to http://127.0.0.1:8080/v1"
        )
    url = given.strip().rstrip("/").removesuffix("/chat/completions")
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        usable = False
    if not usable:
        raise ConfigurationError(
            "the server's address must look like http://127.0.0.1:8080/v1, "
            f"not {_without_secrets(url)!r}"
        )
    return url


def _key(given: str | None) -> str:
    key = (given or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigurationError("the API key has characters that no key can have")
    return key


def _without_secrets(url: str) -> str:
    """The URL without user, password, query and fragment."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, host, parts.path, "", ""))
    except ValueError:
        return "(not a URL)"


def _retry_after(header: str | None) -> float | None:
    """Seconds to wait: the header holds a number of them or a date."""
    if header is None:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(header)
    except ValueError:
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    return max(0.0, (until - datetime.now(UTC)).total_seconds())
