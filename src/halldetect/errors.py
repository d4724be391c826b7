"""All errors that this package raises.

HallDetectError
├── InputError          unusable input (a usage mistake: exit status 2)
├── ConfigurationError  an invalid option or combination of options (exit status 2)
└── CheckError          the check could not be carried out (exit status 3)
    ├── ModelError      a model is missing, corrupt, or of an unknown kind
    │   └── FetchError  a model could not be fetched
    ├── ExtractionError the claim extractor failed
    ├── ServiceError    the service refused a request or failed on it
    └── MissingExtra    an optional dependency is not installed
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any


class HallDetectError(Exception):
    """Base class of all errors; its text is one line that suggests a solution."""


class InputError(HallDetectError):
    """Raised for unusable input."""


class ConfigurationError(HallDetectError):
    """Raised for an invalid option or combination of options."""


class CheckError(HallDetectError):
    """Raised if the check could not be carried out."""


class ModelError(CheckError):
    """Raised if a model is missing, corrupt, or of an unknown kind."""


class FetchError(ModelError):
    """Raised if a model could not be fetched."""


class ExtractionError(CheckError):
    """Raised if the claim extractor failed."""


class ServiceError(CheckError):
    """Raised if the service refused a request or failed; `code` is its error code."""

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
    """Raised if an optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional dependency: pip install 'halldetect[{extra}]'")


def import_extra(module: str, what: str, extra: str, errors: Any = ImportError) -> Any:
    """Return a module that `what` needs; on one of the errors, raise MissingExtra."""
    try:
        return import_module(module)
    except errors as error:
        raise MissingExtra(what, extra) from error


def one_line(error: object) -> str:
    """Return an error or a message in one line of at most 300 characters."""
    return " ".join(str(error).split())[:300] or type(error).__name__


def described(error: Exception) -> str:
    """Return an error in one line, with its type unless it is a HallDetectError."""
    text = " ".join(str(error).split())
    return text if isinstance(error, HallDetectError) else f"{type(error).__name__}: {text}"


def name_advice(name: str, known: Sequence[str]) -> str:
    """Return the known name nearest to a wrong one, or all known names, for a message."""
    near = get_close_matches(name.lower(), known, n=1, cutoff=0.4)
    return f"did you mean {near[0]}?" if near else f"known names: {', '.join(known)}"
