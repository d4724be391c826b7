"""Every error this package raises on purpose.

HallDetectError
├── InputError          what was passed in cannot be used (a usage mistake: exit status 2)
├── ConfigurationError  an option or a combination of options makes no sense (exit status 2)
└── CheckError          the check could not be carried out (exit status 3)
    ├── ModelError      a model is missing, corrupt, or of an unknown kind
    │   └── FetchError  a model could not be fetched
    ├── ExtractionError the claim extractor failed
    ├── ServiceError    the service refused a request or failed on it
    └── MissingExtra    an optional dependency is not installed
"""

from __future__ import annotations


class HallDetectError(Exception):
    """Base of all errors below; its text is one line that names a way out."""


class InputError(HallDetectError):
    """What was passed in cannot be used."""


class ConfigurationError(HallDetectError):
    """An option or a combination of options makes no sense."""


class CheckError(HallDetectError):
    """The check could not be carried out."""


class ModelError(CheckError):
    """A model is missing, corrupt, or of an unknown kind."""


class FetchError(ModelError):
    """A model could not be fetched."""


class ExtractionError(CheckError):
    """The claim extractor failed."""


class ServiceError(CheckError):
    """The service refused a request or failed on it; `code` is the one of its error shape."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int = 0,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.request_id = request_id
        self.retry_after = retry_after


class MissingExtra(CheckError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional dependency: pip install 'halldetect[{extra}]'")


def one_line(error: object) -> str:
    """The text of an error in one line of at most 300 characters.

    error  what was raised, or a message
    """
    return " ".join(str(error).split())[:300] or type(error).__name__


def described(error: Exception) -> str:
    """The error in one line, with its type unless it is one of ours.

    error  what was raised
    """
    text = " ".join(str(error).split())
    return text if isinstance(error, HallDetectError) else f"{type(error).__name__}: {text}"
