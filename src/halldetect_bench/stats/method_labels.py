"""The label of a configuration in a table: the method's name, and the settings that differ."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from halldetect_bench.predictions import Header

# Eight digits are enough to tell digests apart.
_DIGEST = re.compile(r"\b([0-9a-f]{8})[0-9a-f]{24,}\b")


def method_labels(headers: Iterable[Header]) -> dict[str, str]:
    """Return a label for each configuration digest: the method's name, and the settings in which
    several configurations of the method differ."""
    families: dict[str, dict[str, dict[str, str]]] = {}
    for header in headers:
        settings = {"version": header.version, "code digest": header.code, **_flat(header.method)}
        families.setdefault(header.method["name"], {})[header.digest] = settings
    return {
        digest: f"{name} ({shown})" if (shown := _differences(settings, family)) else name
        for name, family in families.items()
        for digest, settings in family.items()
    }


def _differences(settings: dict[str, str], family: dict[str, dict[str, str]]) -> str:
    keys = sorted({key for one in family.values() for key in one})
    differing = [key for key in keys if len({one.get(key) for one in family.values()}) > 1]
    # The name identifies a model; its digest is shown only if nothing else differs.
    plain = [key for key in differing if "digest" not in key]
    names = [key for key in plain if key.endswith(".name")]
    chosen = list(names)
    for key in (*_names_first(plain), *plain, *differing):
        if _kinds([*chosen, key], family) > _kinds(chosen, family):
            chosen.append(key)
    shown: dict[str, str] = {}
    for key in sorted(chosen, key=lambda key: (not key.startswith("llm"), key)):
        # A model in two roles is named once, and a switch only if it is off.
        value = _DIGEST.sub(r"\1", model_name(settings.get(key, "none")))
        if value != "True" and not (key.endswith(".name") and value in shown.values()):
            shown[key if _short(key) in shown else _short(key)] = value
    return ", ".join(
        f"no {name}" if value == "False" else f"{name} {value}" for name, value in shown.items()
    )


def model_name(described: object) -> str:
    """Return the short name of a described model."""
    return str(described).removeprefix("gguf:").removesuffix(".gguf")


def _kinds(keys: list[str], family: dict[str, dict[str, str]]) -> int:
    """Return the number of configurations that some settings separate."""
    return len({tuple(one.get(key) for key in keys) for one in family.values()})


def _names_first(keys: list[str]) -> list[str]:
    """Drop the details of models whose names differ as well."""
    named = {key.rpartition(".")[0] for key in keys if key.endswith(".name")}
    roles = {prefix.rpartition(".")[2] for prefix in named}
    return [
        key
        for key in keys
        if key.endswith(".name")
        or not (key.rpartition(".")[0] in named or key.rpartition(".")[2] in roles)
    ]


def _short(key: str) -> str:
    """Shorten `configuration.scoring` to scoring, `verifier.name` to verifier."""
    return key.removesuffix(".name").rpartition(".")[2]


def _flat(value: Any, prefix: str = "") -> dict[str, str]:
    if not isinstance(value, dict):
        if isinstance(value, list):
            value = "+".join(map(str, value))
        return {prefix: str(value)}
    found: dict[str, str] = {}
    for key, item in value.items():
        found.update(_flat(item, f"{prefix}.{key}" if prefix else key))
    return found
