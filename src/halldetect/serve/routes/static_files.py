"""The page: fixed files, and the report view that every HTML report carries too.

Nothing is built, nothing comes from elsewhere, and a name in a request is looked up in a table,
never joined to a path.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import PurePosixPath

from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException

from halldetect import demo
from halldetect.render.html import SCRIPTS, STYLE, asset

router = APIRouter(include_in_schema=False)

INDEX = "index.html"
EXAMPLE = "example.json"
FILES = (
    "api.js",
    "app.css",
    "app.js",
    "charts.js",
    "check_form.js",
    "dashboard.js",
    "dialogs.js",
    "documents.js",
    "history.js",
    "icon.svg",
    "notices.js",
    "outcome.js",
    "watch.js",
)
# Stricter than for the rest of the service: this is the one place where texts of strangers
# meet a script, so even the script cannot turn a string into markup or code.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class PageFile:
    body: bytes
    media_type: str
    etag: str


@router.get("/")
def page(request: Request) -> Response:
    response = _answer(request, INDEX)
    response.headers["Content-Security-Policy"] = POLICY
    return response


@router.get("/static/{name}")
def static(request: Request, name: str) -> Response:
    if name == INDEX or name not in files():
        raise HTTPException(404, "there is no such file")
    return _answer(request, name)


@cache
def files() -> dict[str, PageFile]:
    folder = resources.files("halldetect.serve") / "page"
    texts = {name: (folder / name).read_text(encoding="utf-8") for name in (INDEX, *FILES)}
    texts |= {name: asset(name) for name in (STYLE, *SCRIPTS)}
    texts[EXAMPLE] = json.dumps(
        {"source": [demo.SOURCE], "response": demo.RESPONSE, "question": demo.QUESTION}
    )
    return {name: _file(name, text.encode()) for name, text in texts.items()}


def _file(name: str, body: bytes) -> PageFile:
    digest = hashlib.sha256(body).hexdigest()[:32]
    return PageFile(body, _TYPES[PurePosixPath(name).suffix], f'"{digest}"')


def _answer(request: Request, name: str) -> Response:
    """The file; asked for again each time, so that a new version never meets an old script."""
    file = files()[name]
    headers = {"ETag": file.etag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == file.etag:
        return Response(status_code=304, headers=headers)
    return Response(file.body, media_type=file.media_type, headers=headers)
