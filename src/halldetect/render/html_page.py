"""HTML pages that load nothing: Jinja2 templates with autoescape, inline style and script.

Every page extends `templates/base.html.jinja`. Its Content-Security-Policy allows the inline style
and script by their digest, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from halldetect.render.phrases import visible

if TYPE_CHECKING:
    from jinja2 import Environment

# The style sheets that all pages share: colours and fonts, then states, headings and tables.
PALETTE = "palette.css"
COMMON = "common.css"
_SURROGATE = re.compile("[\ud800-\udfff]")


@cache
def asset(name: str) -> str:
    """Return the text of a style sheet or script of this package."""
    return (resources.files("halldetect.render") / "assets" / name).read_text(encoding="utf-8")


def shared_style() -> str:
    """Return the text of the style sheets that all pages share."""
    return asset(PALETTE) + asset(COMMON)


def html_page(
    package: str, template: str, *, title: str, style: str, script: str = "", **values: Any
) -> str:
    """Render a template of a package, which extends `base.html.jinja`.

    Every text that the template prints is escaped, and its control characters are made visible.
    `shared_style()` is the common part of `style`.
    """
    from markupsafe import Markup

    policy = ["default-src 'none'", f"style-src '{_digest(style)}'"]
    policy += [f"script-src '{_digest(script)}'"] if script else []
    return (
        _environment(package)
        .get_template(template)
        .render(
            policy="; ".join([*policy, "base-uri 'none'", "form-action 'none'"]),
            title=title,
            style=Markup(style),
            script=Markup(script),
            **values,
        )
    )


def inline_json(value: Any) -> Any:
    """Return a value as JSON that is safe in a script element of a template."""
    from markupsafe import Markup

    # UTF-8 cannot encode a lone surrogate; its replacement is one character, so spans hold.
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    text = _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return Markup(text)


@cache
def _environment(package: str) -> Environment:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("halldetect.render")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda value: visible(value) if type(value) is str else value,  # not of markup
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
