"""A report as plain JSON values, and back: only what `to_dict` gives is read."""

from __future__ import annotations

import json
import re
from dataclasses import fields, is_dataclass
from enum import StrEnum
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Any

from halldetect.errors import InputError
from halldetect.report import SCHEMA_VERSION, Report

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

_SCALARS = (str, float, int, bool, NoneType)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def plain(value: Any) -> Any:
    """The dicts, lists and strings of a report or a part of it.

    Args:
        value: a report, or anything that is in one.
    """
    kind: Any = type(value)
    if kind in _SCALARS:
        return value
    if names := _names(kind):
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    return value.value if isinstance(value, StrEnum) else value


def read_report(data: Any) -> Report:
    """The report of plain JSON values.

    Args:
        data: the values.

    Raises:
        InputError: for anything that is not a report.
    """
    data = _upgraded(data)
    version = data.get("schema_version") if isinstance(data, dict) else None
    if version != SCHEMA_VERSION:
        raise InputError(
            f"not a report this halldetect reads: schema version {version!r}, not {SCHEMA_VERSION}"
        )
    from pydantic import ValidationError

    adapter = report_adapter()
    try:
        # Strict, so that no value is converted, and as JSON text, so that strict mode takes
        # lists and states. The parser refuses lone surrogates, which the second reading keeps.
        text = _LONE_SURROGATE.sub("?", json.dumps(data, ensure_ascii=False))
        adapter.validate_json(text, strict=True, extra="forbid")
    except ValidationError as error:
        raise InputError(f"not a halldetect report: {_first_misfit(error)}") from None
    except (TypeError, RecursionError) as error:
        raise InputError(f"not a halldetect report: {error}") from None
    report = adapter.validate_python(data)
    if report.document_names and len(report.document_names) != len(report.documents):
        raise InputError("not a halldetect report: it has not one name per document")
    if report.to_dict() != data:  # a field with a default was left out
        raise InputError("not a halldetect report: it has missing fields")
    return report


@cache
def report_adapter() -> TypeAdapter[Report]:
    """What reads and describes reports. Pydantic is imported here: a check does not need it."""
    from pydantic import TypeAdapter

    return TypeAdapter(Report)


def _upgraded(data: Any) -> Any:
    """A report of schema version 1 as this version writes it; anything else as it is."""
    if not (isinstance(data, dict) and data.get("schema_version") == 1):
        return data
    claims = data.get("claims")
    if isinstance(claims, list):
        claims = [
            {("support" if key == "score" else key): value for key, value in claim.items()}
            if isinstance(claim, dict)
            else claim
            for claim in claims
        ]
    return {**data, "claims": claims, "document_names": [], "schema_version": SCHEMA_VERSION}


def _first_misfit(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
    return f"report{place}: {first['msg']}"


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(item.name for item in fields(kind)) if is_dataclass(kind) else ()
