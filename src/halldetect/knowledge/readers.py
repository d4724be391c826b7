"""Read documents from files: plain text, Markdown, HTML, PDF, DOCX and JSON Lines."""

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
    """A file to index, and the name of its documents."""

    path: Path
    name: str


@dataclass(frozen=True, slots=True)
class IndexDocument:
    """A document to index: its unique name, its title, which may be empty, and its text."""

    name: str
    title: str
    text: str


def find_files(paths: Iterable[Path]) -> list[SourceFile]:
    """Return the given files, and the files with a known ending in the given folders."""
    files: dict[str, SourceFile] = {}
    known = f"files must end in {', '.join(ENDINGS)}"
    for path in paths:
        if path.is_dir():
            inside = sorted(item for item in path.rglob("*") if item.is_file())
            found = [SourceFile(item, str(item.relative_to(path))) for item in inside]
            found = [file for file in found if file.path.suffix.lower() in ENDINGS]
        elif not path.is_file():
            raise InputError(f"there is no file or folder {str(path)!r}")
        elif path.suffix.lower() not in ENDINGS:
            raise InputError(f"{str(path)!r} cannot be indexed; {known}")
        else:
            found = [SourceFile(path, path.name)]
        for file in found:
            if (other := files.setdefault(file.name, file)) is not file:
                raise InputError(
                    f"two files have the name {file.name!r}: {str(other.path)!r} and "
                    f"{str(file.path)!r}; documents are named by their path in the folder that "
                    "is given, so give the folder that holds both"
                )
    if not files:
        raise InputError(f"there is nothing to index; {known}")
    return list(files.values())


def read_documents(file: SourceFile) -> Iterator[IndexDocument]:
    """Yield the documents of a file: one, or one per line of JSON Lines."""
    ending = file.path.suffix.lower()
    try:
        data = file.path.read_bytes() if ending != ".jsonl" else b""
        if ending == ".jsonl":
            with file.path.open(encoding="utf-8-sig") as lines:
                for number, line in enumerate(lines, start=1):
                    if line.strip():
                        yield _json_document(file.name, number, line)
        elif ending in (".pdf", ".docx"):
            pages = read_pages(data, repr(str(file.path)), evidence=True)
            if pages is None:
                raise InputError(f"{str(file.path)!r} is neither a PDF nor a DOCX file")
            yield _document(file.name, "", "\n\n".join(pages))
        elif ending in HTML_ENDINGS:
            yield _document(file.name, *html_text(data.decode("utf-8-sig"), evidence=True))
        else:
            yield _document(file.name, "", data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"{str(file.path)!r} is not UTF-8 text (byte {error.start})") from error
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
    return _document(f"{name}#{identity}", title, record["text"])


def _document(*texts: str) -> IndexDocument:
    return IndexDocument(*(_UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text) for text in texts))
