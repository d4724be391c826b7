"""Reports as plain JSON values, written and read."""

from __future__ import annotations

import json
import re
from dataclasses import Field, fields, is_dataclass
from enum import StrEnum
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Any

from halldetect.errors import InputError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_SCALARS = (str, float, int, bool, NoneType)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def plain(value: Any) -> Any:
    """Return the dicts, lists and strings of a report or a part of it.

    Empty optional fields are left out.
    """
    kind: Any = type(value)
    if kind in _SCALARS:
        return value
    if known := _fields(kind):
        return {
            item.name: plain(found)
            for item in known
            if (found := getattr(value, item.name)) not in (None, ())
            or not item.metadata.get("optional")
        }
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    return value.value if isinstance(value, StrEnum) else value


def json_text(value: Any, **options: Any) -> str:
    """Return JSON that can always be written as UTF-8; the options are those of `json.dumps`."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, **options)
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate, say in a file name: escape it
        text = json.dumps(value, allow_nan=False, **options)
    return text


def read_report(kind: type, data: Any) -> Any:
    """Return plain JSON values as a report of a class.

    Raises InputError if they are not a report of this schema version.
    """
    (wanted,) = (item.default for item in fields(kind) if item.name == "schema_version")
    version = data.get("schema_version") if isinstance(data, dict) else None
    if version != wanted:
        raise InputError(
            f"not a report this halldetect reads: schema version {version!r}, not {wanted}"
        )
    from pydantic import ValidationError

    adapter = report_adapter(kind)
    try:
        # Strict mode converts no value, and JSON text lets it accept lists and states. The parser
        # refuses lone surrogates, so the second reading restores them.
        text = _LONE_SURROGATE.sub("?", json.dumps(data, ensure_ascii=False))
        adapter.validate_json(text, strict=True, extra="forbid")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = "".join(f"[{at}]" if isinstance(at, int) else f".{at}" for at in first["loc"])
        why = f"report{place}: {first['msg']}"
        raise InputError(f"not a halldetect report: {why}") from None
    except (TypeError, RecursionError) as error:
        raise InputError(f"not a halldetect report: {error}") from None
    report = adapter.validate_python(data)
    for name in ("document_names", "document_metadata"):
        if (each := getattr(report, name)) and len(each) != len(report.documents):
            raise InputError(f"not a halldetect report: {name} needs one entry per document")
    if plain(report) != data:  # a field with a default was left out
        raise InputError("not a halldetect report: it has missing fields")
    return report


@cache
def report_adapter(kind: type) -> TypeAdapter[Any]:
    """Return the pydantic adapter of a report class; checks do not import pydantic."""
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


@cache
def _fields(kind: type) -> tuple[Field[Any], ...]:
    return fields(kind) if is_dataclass(kind) else ()
