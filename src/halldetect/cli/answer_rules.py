"""Which files of a repository are answers, and which sources each of them has.

The file .halldetect.toml has a table per rule:

    [[answers]]
    files = "answers/*.md"
    sources = ["manual/{name}.md", "prices.md"]

`files` is a pattern, `{name}` the name of the answer's file without its ending; sources may be
patterns too. Paths are seen from the folder of the file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import Any

from halldetect.errors import InputError

FILE_NAME = ".halldetect.toml"
_EXAMPLE = '[[answers]] with files = "answers/*.md" and sources = ["manual/{name}.md"]'


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer file and the files of its source."""

    file: Path
    sources: tuple[Path, ...]


def find_answers(rules: Path) -> list[Answer]:
    """The answers that the rules name, each once: the first rule that names a file counts.

    Args:
        rules: the file with the rules.
    """
    found: dict[Path, Answer] = {}
    for files, sources in _read_rules(rules):
        matched = [path for path in _matches(rules.parent, files, rules) if path.is_file()]
        for path in sorted(matched):
            if path not in found:
                found[path] = Answer(path, tuple(_sources(rules, path, sources)))
    return list(found.values())


def _sources(rules: Path, answer: Path, patterns: list[str]) -> Iterator[Path]:
    for pattern in patterns:
        filled = pattern.replace("{name}", escape(answer.stem))
        matched = sorted(path for path in _matches(rules.parent, filled, rules) if path.is_file())
        if not matched:
            raise InputError(f"{str(answer)!r} has no source: no file matches {filled!r}")
        yield from (path for path in matched if path != answer)


def _matches(folder: Path, pattern: str, rules: Path) -> Iterator[Path]:
    try:
        yield from folder.glob(pattern)
    except (ValueError, NotImplementedError) as error:  # empty, or an absolute path
        raise InputError(f"{str(rules)!r}: {pattern!r} is no pattern here: {error}") from error


def _read_rules(path: Path) -> Iterator[tuple[str, list[str]]]:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"there is no {str(path)!r}; it has tables such as {_EXAMPLE}") from error
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{str(path)!r} is not TOML: {error}") from error
    tables = data.get("answers")
    if not isinstance(tables, list) or not tables or data.keys() != {"answers"}:
        raise InputError(f"{str(path)!r} must have tables {_EXAMPLE}, and nothing else")
    for table in tables:
        yield _read_rule(path, table)


def _read_rule(path: Path, table: Any) -> tuple[str, list[str]]:
    if not isinstance(table, dict) or table.keys() != {"files", "sources"}:
        raise InputError(f"{str(path)!r}: each [[answers]] has files and sources, nothing else")
    files, sources = table["files"], table["sources"]
    patterns = [sources] if isinstance(sources, str) else sources
    if not isinstance(files, str) or not isinstance(patterns, list) or not patterns:
        raise InputError(f"{str(path)!r}: files is a pattern, sources a list of patterns")
    if not all(isinstance(item, str) for item in patterns):
        raise InputError(f"{str(path)!r}: files is a pattern, sources a list of patterns")
    return files, patterns
