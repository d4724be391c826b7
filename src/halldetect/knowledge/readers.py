"""Documents from files: plain text, Markdown, HTML, PDF, DOCX and JSON Lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from halldetect.errors import InputError
from halldetect.reading.html_page import ENDINGS as HTML_ENDINGS
from halldetect.reading.html_page import html_text
from halldetect.reading.office_files import read_pages

TEXT_ENDINGS = (".txt", ".text", ".md", ".markdown", ".rst")
ENDINGS = (*TEXT_ENDINGS, *HTML_ENDINGS, ".pdf", ".docx", ".jsonl")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to index and the name by which its documents are known."""

    path: Path
    name: str


@dataclass(frozen=True, slots=True)
class IndexDocument:
    """A document to index: its name, which is unique, its title, which may be empty, its text."""

    name: str
    title: str
    text: str


def find_files(paths: Iterable[Path]) -> list[SourceFile]:
    """The files to index: those named, and those in folders named that have a known ending.

    paths  files and folders
    Raises InputError where there is no such file, or none at all.
    """
    files: dict[str, SourceFile] = {}
    for path in paths:
        if path.is_dir():
            inside = sorted(
                item for item in path.rglob("*") if item.is_file() and _ending(item) in ENDINGS
            )
            found = [SourceFile(item, str(item.relative_to(path))) for item in inside]
        elif path.is_file():
            if _ending(path) not in ENDINGS:
                raise InputError(
                    f"{str(path)!r} cannot be indexed; files must end in {', '.join(ENDINGS)}"
                )
            found = [SourceFile(path, path.name)]
        else:
            raise InputError(f"there is no file or folder {str(path)!r}")
        for file in found:
            if file.name in files:
                raise InputError(
                    f"two files have the name {file.name!r}: "
                    f"{str(files[file.name].path)!r} and {str(file.path)!r}; documents are named "
                    "by their path in the folder that is given, so give the folder that holds both"
                )
            files[file.name] = file
    if not files:
        raise InputError(f"there is nothing to index; files must end in {', '.join(ENDINGS)}")
    return list(files.values())


def read_documents(file: SourceFile) -> Iterator[IndexDocument]:
    """The documents of a file: one, or one per line of JSON Lines.

    file  what to read
    Raises InputError where it cannot be read.
    """
    ending = _ending(file.path)
    if ending == ".jsonl":
        yield from _json_lines(file)
    elif ending in (".pdf", ".docx"):
        yield IndexDocument(file.name, "", _storable(_pages_text(file.path)))
    elif ending in HTML_ENDINGS:
        title, text = html_text(_decoded(file.path))
        yield IndexDocument(file.name, _storable(title), _storable(text))
    else:
        yield IndexDocument(file.name, "", _storable(_decoded(file.path)))


def _pages_text(path: Path) -> str:
    pages = read_pages(path.read_bytes(), repr(str(path)))
    if pages is None:
        raise InputError(f"{str(path)!r} is neither a PDF nor a DOCX file")
    return "\n\n".join(pages)


def _json_lines(file: SourceFile) -> Iterator[IndexDocument]:
    try:
        with file.path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield _json_document(file.name, number, line)
    except UnicodeDecodeError as error:
        raise InputError(f"{str(file.path)!r} is not UTF-8 text") from error
    except OSError as error:
        raise InputError(f"cannot read {str(file.path)!r}: {error.strerror}") from error


def _json_document(name: str, number: int, line: str) -> IndexDocument:
    where = f"{name}, line {number}"
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError(f"{where}: not JSON") from None
    if not isinstance(record, dict) or not isinstance(record.get("text"), str):
        raise InputError(f'{where}: each line must be an object with a "text"')
    identity, title = record.get("id", number), record.get("title") or ""
    if not isinstance(identity, (str, int)) or not isinstance(title, str):
        raise InputError(f'{where}: "id" must be text or a number, and "title" text')
    return IndexDocument(
        _storable(f"{name}#{identity}"), _storable(title), _storable(record["text"])
    )


def _decoded(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror}") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{str(path)!r} is not UTF-8 text (byte {error.start})") from error


def _storable(text: str) -> str:
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def _ending(path: Path) -> str:
    return path.suffix.lower()
