"""Fetch a web page named on the command line; only with --allow-network."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from halldetect.errors import CheckError, InputError

TIMEOUT_SECONDS = 30.0
MAX_BYTES = 20_000_000


@dataclass(frozen=True, slots=True)
class WebPage:
    """The answer of a server.

    Attributes:
        data: the bytes.
        is_html: whether they are an HTML page.
        encoding: the encoding named by the server, if Python knows it.
    """

    data: bytes
    is_html: bool
    encoding: str | None


def fetch(address: str, what: str) -> WebPage:
    """Fetch a page of at most 20 MB; fail after 30 seconds without data.

    Args:
        address: http or https.
        what: its role, for messages.
    """
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    from halldetect import __version__
    from halldetect.models.store import offline

    if offline():
        raise InputError(f"{what}: HALLDETECT_OFFLINE forbids fetching {address!r}")
    request = Request(address, headers={"User-Agent": f"halldetect/{__version__}"})
    try:
        with urlopen(request, timeout=TIMEOUT_SECONDS) as answer:  # redirects stay on http(s)
            data = answer.read(MAX_BYTES + 1)
            kind = answer.headers.get_content_type()
            encoding = answer.headers.get_content_charset()
    except HTTPError as error:
        raise CheckError(f"{what}: {address!r} answered with status {error.code}") from error
    except (OSError, HTTPException, ValueError) as error:
        raise CheckError(f"{what}: {address!r} cannot be fetched: {error}") from error
    if len(data) > MAX_BYTES:
        raise CheckError(f"{what}: {address!r} is larger than {MAX_BYTES:,} bytes")
    return WebPage(data, kind in ("text/html", "application/xhtml+xml"), _known(encoding))


def _known(encoding: str | None) -> str | None:
    try:
        return None if encoding is None else codecs.lookup(encoding).name
    except LookupError:
        return None
