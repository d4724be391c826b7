"""The files of the page, and of the report view that every HTML report contains too.

The files are served as they are. A name in a request is looked up in a table, never joined to a
path.
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
from halldetect.render.comparison_views import COMPARISON_STYLE
from halldetect.render.html import SCRIPTS, VIEW_STYLES
from halldetect.render.html_page import asset
from halldetect.render.repair_views import REPAIR_STYLE

router = APIRouter(include_in_schema=False)

INDEX = "index.html"
EXAMPLE = "example.json"
FILES = (
    "api.js",
    "app.css",
    "app.js",
    "charts.js",
    "check_form.js",
    "comparison.js",
    "dashboard.js",
    "dialogs.js",
    "documents.js",
    "history.js",
    "icon.svg",
    "notices.js",
    "outcome.js",
    "repair.js",
    "review.js",
    "watch.js",
)
# Stricter than the policy of the other routes: this page shows texts of strangers, so not even its
# own scripts may turn a string into markup or code.
CONTENT_SECURITY_POLICY = (
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
class StaticFile:
    """A file as it is served.

    body        its bytes
    media_type  value of Content-Type
    etag        value of ETag
    """

    body: bytes
    media_type: str
    etag: str


@router.get("/")
def index(request: Request) -> Response:
    """The page."""
    response = _file_response(request, INDEX)
    response.headers["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
    return response


@router.get("/static/{name}")
def static(request: Request, name: str) -> Response:
    """A script, style sheet or image of the page."""
    if name == INDEX or name not in static_files():
        raise HTTPException(404, "there is no such file")
    return _file_response(request, name)


@cache
def static_files() -> dict[str, StaticFile]:
    """Return every file of the page by its name."""
    folder = resources.files("halldetect_serve") / "page"
    texts = {name: (folder / name).read_text(encoding="utf-8") for name in (INDEX, *FILES)}
    texts |= {
        name: asset(name) for name in (*VIEW_STYLES, COMPARISON_STYLE, REPAIR_STYLE, *SCRIPTS)
    }
    texts[EXAMPLE] = json.dumps(
        {"source": [demo.SOURCE], "response": demo.RESPONSE, "question": demo.QUESTION}
    )
    return {name: _static_file(name, text.encode()) for name, text in texts.items()}


def _static_file(name: str, body: bytes) -> StaticFile:
    digest = hashlib.sha256(body).hexdigest()[:32]
    return StaticFile(body, _TYPES[PurePosixPath(name).suffix], f'"{digest}"')


def _file_response(request: Request, name: str) -> Response:
    """Return the file. Browsers ask again each time, so that versions of files never mix."""
    file = static_files()[name]
    headers = {"ETag": file.etag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == file.etag:
        return Response(status_code=304, headers=headers)
    return Response(file.body, media_type=file.media_type, headers=headers)
