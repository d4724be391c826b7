"""A server that speaks the OpenAI chat protocol, through the `openai` SDK."""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypedDict
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from halldetect.errors import CheckError, ConfigurationError, MissingExtra, one_line
from halldetect.models.store import offline

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


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """The text of an answer, which may be empty, and the tokens read and written."""

    text: str
    tokens_in: int = 0
    tokens_out: int = 0


class ServerOptions(TypedDict, total=False):
    """Options of the connection; see `ChatEndpoint`."""

    base_url: str | None
    api_key: str | None
    timeout: float
    retries: int


class ChatEndpoint:
    """Sends chat requests to one model of a server.

    Attributes:
        model: the name of the model.
        url: the base URL without secrets.
        left_out: fields that the server refuses and later requests leave out.
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
    ) -> None:
        """Prepare a connection; nothing is sent yet.

        Args:
            model: the name of the model.
            what: the user of the server, for messages, such as "the extractor `openai`".
            failure: the type of error for a failure of the server.
            base_url: address up to `/chat/completions`, mostly with `/v1`; None: environment.
            api_key: API key; None: from the environment.
            timeout: seconds per request.
            retries: further attempts if the server is busy or does not answer.

        Raises ConfigurationError for an unusable address or key, and if HALLDETECT_OFFLINE is set.
        """
        if not model:
            raise ConfigurationError(f"{what} needs a model: openai:MODEL")
        if offline():
            raise ConfigurationError(
                f"{what} sends texts to a server, which HALLDETECT_OFFLINE forbids; "
                "unset HALLDETECT_OFFLINE"
            )
        try:
            import openai
        except ImportError as error:
            raise MissingExtra(what, "openai") from error
        address = _base_url(base_url or _environment(_URL_VARIABLES), what)
        self._key = _key(api_key or _environment(_KEY_VARIABLES))
        self.model = model
        self.url = _without_secrets(address)
        self.left_out: set[str] = set()
        self._failure = failure
        self._errors = openai.APIStatusError, openai.APIConnectionError, openai.OpenAIError
        self._headers = {} if self._key else {"Authorization": openai.Omit()}
        parts = urlsplit(address)
        self._client = openai.OpenAI(
            base_url=urlunsplit(parts._replace(query="", fragment="")),
            default_query=dict(parse_qsl(parts.query)),
            api_key=self._key or "none",
            timeout=timeout,
            max_retries=retries,
            # A redirect could send the text to another server.
            http_client=openai.DefaultHttpxClient(follow_redirects=False),
        )
        weakref.finalize(self, self._client.close)

    def complete(self, body: Callable[[set[str]], dict[str, Any]]) -> ChatAnswer:
        """Return one answer; omit a field that the server refuses, now and later.

        Args:
            body: builds the request; its argument names the fields to omit.
        """
        answer = self._ask(body)
        try:
            content = answer.choices[0].message.content
            used = answer.usage
            tokens = (used.prompt_tokens or 0, used.completion_tokens or 0) if used else (0, 0)
        except (AttributeError, IndexError, TypeError) as error:
            raise self._failure(f"{self._where} sent no chat completion") from error
        if content is not None and not isinstance(content, str):
            raise self._failure(f"{self._where} sent an answer that is not text")
        return ChatAnswer(content or "", *tokens)

    @property
    def _where(self) -> str:
        return f"the server at {self.url}"

    def _ask(self, body: Callable[[set[str]], dict[str, Any]]) -> Any:
        left_out = set(self.left_out)
        refused, no_answer, any_error = self._errors
        while True:
            request = {"model": self.model, **_without(body(left_out), left_out)}
            try:
                answer = self._client.chat.completions.create(
                    **request, extra_headers=self._headers
                )
                self.left_out = left_out
                return answer
            except refused as error:
                said = error.response.text
                unwanted = _unwanted(said, left_out) if error.status_code in (400, 422) else None
                if unwanted is None:
                    raise self._failure(self._refusal(error.status_code, said)) from None
                left_out.add(unwanted)
            except no_answer as error:
                raise self._failure(
                    f"{self._where} does not answer ({type(error).__name__}); "
                    "check that it runs and that the base URL is right"
                ) from None
            except (any_error, ValueError) as error:  # an answer that is not JSON
                raise self._failure(
                    f"{self._where} sent no chat completion: {self._redacted(one_line(error))}"
                ) from None

    def _refusal(self, status: int, text: str) -> str:
        said = " ".join(self._redacted(text).split())[:200]
        advice = _ADVICE.get(status, "").format(self.model)
        return f"{self._where} answered {status}{advice}" + (f": {said}" if said else "")

    def _redacted(self, text: str) -> str:
        """Remove the key: servers often quote the key they reject."""
        return text.replace(self._key, "***") if self._key else text


def _without(body: dict[str, Any], left_out: set[str]) -> dict[str, Any]:
    kept = {name: value for name, value in body.items() if name not in left_out}
    if "max_tokens" in left_out:  # its newer name
        kept["max_completion_tokens"] = body["max_tokens"]
    return kept


def _unwanted(complaint: str, left_out: set[str]) -> str | None:
    """Return the field to omit next: one named in the error, else structured output."""
    left = [field for field in _OPTIONAL if field not in left_out]
    named = [field for field in left if re.search(rf"\b{field}\b", complaint)]
    if named:
        return named[0]
    return "response_format" if "response_format" in left else None


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
    """Return the URL without user, password, query and fragment."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, host, parts.path, "", ""))
    except ValueError:
        return "(not a URL)"
