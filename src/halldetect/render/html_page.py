"""HTML pages that load nothing: Jinja2 templates with autoescape, inline style and script.

Every page extends `templates/base.html.jinja`. Its Content-Security-Policy allows the inline style
and script by their digest, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from halldetect.render.text_pieces import claim_pieces
from halldetect.report import phrases

if TYPE_CHECKING:
    from jinja2 import Environment

# The style sheets that all pages share: colours and fonts, then states, headings and tables.
PALETTE = "palette.css"
COMMON = "common.css"


@cache
def asset(name: str) -> str:
    """Return the text of a style sheet or script of this package."""
    return (resources.files("halldetect.render") / "assets" / name).read_text(encoding="utf-8")


def plain_page(page: str, title: str, **values: Any) -> str:
    """Render the template of a page without a script, with its own style sheet."""
    style = "".join(map(asset, (PALETTE, COMMON, f"{page}.css")))
    return html_page(f"{page}.html.jinja", title=title, style=style, **values)


def html_page(template: str, *, title: str, style: str, script: str = "", **values: Any) -> str:
    """Render a template that extends `base.html.jinja`.

    Every text that the template prints is escaped, and its control characters are made visible.
    """
    policy = ["default-src 'none'", f"style-src '{_digest(style)}'"]
    policy += [f"script-src '{_digest(script)}'"] if script else []
    policy += ["base-uri 'none'", "form-action 'none'"]
    inline = {"style": Markup(style), "script": Markup(script)}
    return str(html_fragment(template, policy="; ".join(policy), title=title, **inline, **values))


def html_fragment(template: str, **values: Any) -> str:
    """Render a part of a page as markup; texts are escaped as in `html_page`."""
    return Markup(_environment().get_template(template).render(**values))


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("halldetect.render"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # Markup has a type of its own.
        finalize=lambda value: phrases.visible(value) if type(value) is str else value,
    )
    environment.globals |= {"phrases": phrases, "claim_pieces": claim_pieces}
    return environment


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
