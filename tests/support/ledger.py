"""The ledger: what a user can name, one line each, in tests/data/ledger.txt.

    python -m tests.support.ledger            write the file again, after a change of the interface
    python -m tests.support.ledger --missing  list what CHANGELOG.md does not name as removed

Commands, options, routes, public names, fields of the report, datasets, methods, extras and entry
points. `ledger_before.txt` has those of the last version before the code was halved.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import json
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.support.paths import DATA, ROOT

FILE, BEFORE = DATA / "ledger.txt", DATA / "ledger_before.txt"
METHODS = {"get", "post", "put", "patch", "delete"}


def commands(parser: argparse.ArgumentParser, prefix: str = "") -> Iterator[str]:
    """Return the commands below a parser, and the options and arguments of each."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield f"command {prefix}{name}"
                yield from commands(inner, f"{prefix}{name} ")
        elif action.option_strings:
            yield from (f"option {prefix}{flag}" for flag in action.option_strings)
        else:
            yield f"argument {prefix}{action.metavar or action.dest}"


def routes(folder: Path) -> Iterator[str]:
    """Return the routes that the modules of a folder declare with decorators."""
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in METHODS
                and "router" in ast.unparse(node.func.value)
            ):
                yield f"route {node.func.attr.upper()} {ast.literal_eval(node.args[0])}"


def names(module: str) -> Iterator[str]:
    """Return the names that a module exports, and the public members of its classes."""
    loaded = import_module(module)
    for name in getattr(loaded, "__all__", None) or _own_classes(loaded):
        value = getattr(loaded, name)
        yield f"name {module}.{name}"
        if inspect.isclass(value):
            for member in sorted(_members(value)):
                yield f"name {module}.{name}.{member}"


def _own_classes(module: Any) -> list[str]:
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and inspect.isclass(value)
        and value.__module__ == module.__name__
    ]


def _members(kind: type) -> set[str]:
    found: set[str] = set()
    for base in kind.__mro__:
        if base.__module__.startswith("halldetect"):
            found |= {*vars(base), *inspect.get_annotations(base)}
    return {name for name in found if not name.startswith("_")}


def settings() -> Iterator[str]:
    """Return the options of a check as the configuration names them."""
    from halldetect.config import Configuration

    fields: Iterable[str]
    if dataclasses.is_dataclass(Configuration):
        fields = (field.name for field in dataclasses.fields(Configuration))
    else:
        fields = Configuration.model_fields
    yield from (f"setting {name}" for name in fields)


def report_fields(schema: dict[str, Any]) -> Iterator[str]:
    """Return the fields of the JSON form of a report."""
    parts = {"Report": schema, **schema["$defs"]}
    for name, part in parts.items():
        yield from (f"field {name}.{field}" for field in part.get("properties", {}))


def packaging(root: Path) -> Iterator[str]:
    """Return the extras and the entry points of the distribution."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    yield from (f"extra {name}" for name in project["optional-dependencies"])
    yield from (f"script {name}" for name in project["scripts"])
    for group, points in project["entry-points"].items():
        yield from (f"entry-point {group} {name}" for name in points)


def ledger(root: Path = ROOT) -> list[str]:
    """Return every line.

    Args:
        root: the checkout; its `src` must be the one that is imported.
    """
    from halldetect.cli import build_parser
    from halldetect_bench.registry import DATASETS, METHODS

    source = root / "src"
    services = [source / "halldetect_serve", source / "halldetect" / "serve"]
    clients = [source / "halldetect_serve" / "client", source / "halldetect" / "client"]
    modules = [".".join(path.relative_to(source).parts) for path in clients if path.exists()]
    (schema,) = (source / "halldetect").rglob("report.schema.json")
    adapters = (source / "halldetect" / "integrations").glob("[!_]*.py")
    found = {
        *commands(build_parser()),
        *(line for folder in services for line in routes(folder)),
        *(
            line
            for module in ("halldetect", "halldetect.errors", *modules)
            for line in names(module)
        ),
        *settings(),
        *report_fields(json.loads(schema.read_text("utf-8"))),
        *(f"dataset {name}" for name in DATASETS),
        *(f"method {name}" for name in METHODS),
        *(f"integration {path.stem}" for path in adapters),
        *packaging(root),
    }
    return sorted(found)


def removed(changelog: str) -> set[str]:
    """Return what the sections "Removed" of a changelog set in code font, and options within."""
    sections = re.findall(r"^### Removed\n(.*?)(?=^#|\Z)", changelog, re.DOTALL | re.MULTILINE)
    code = re.findall(r"`([^`\n]+)`", "\n".join(sections))
    items = {item.removeprefix("halldetect ") for item in code}
    options = {word for item in items for word in item.split() if word.startswith(("-", "/"))}
    return items | options


def is_named(line: str, words: set[str], kept: Iterable[str] = ()) -> bool:
    """Return True if a line that is gone is named, or something that is gone with it.

    Args:
        line: the line, such as "field ClaimReport.origin".
        words: what the changelog names as removed.
        kept: the lines that are still there; nothing above one of them counts as removed.
    """
    kind, _, rest = line.partition(" ")
    break_at = "." if kind in ("name", "field") else " "
    parts = rest.split(break_at)
    ends = {break_at.join(parts[start:]) for start in range(len(parts))}
    if kind == "extra":
        ends.add(f"halldetect[{rest}]")
    above = {break_at.join(parts[:end]) for end in range(1, len(parts))}
    gone = {
        parent
        for parent in above
        if not any(other.startswith(f"{kind} {parent}{break_at}") for other in kept)
    }
    if kind == "name":
        gone |= {parent.rpartition(".")[2] for parent in gone if parent.count(".")}
    return bool(words & (ends | gone))


def missing() -> list[str]:
    """Return the lines that are gone and that CHANGELOG.md does not name as removed."""
    kept = set(FILE.read_text("utf-8").splitlines())
    gone = set(BEFORE.read_text("utf-8").splitlines()) - kept
    words = removed((ROOT / "CHANGELOG.md").read_text("utf-8"))
    return sorted(line for line in gone if not is_named(line, words, kept))


def main() -> None:
    """Write the ledger, or list what is missing."""
    parser = argparse.ArgumentParser(description="Write tests/data/ledger.txt.")
    parser.add_argument("--missing", action="store_true", help="list what is not in CHANGELOG.md")
    parser.add_argument("--root", type=Path, default=ROOT, help="another checkout, to be printed")
    options = parser.parse_args()
    if options.missing:
        print("\n".join(missing()))
    elif options.root == ROOT:
        FILE.write_text("\n".join(ledger()) + "\n", encoding="utf-8")
    else:
        sys.stdout.write("\n".join(ledger(options.root)) + "\n")


if __name__ == "__main__":
    main()
