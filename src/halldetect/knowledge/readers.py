"""Read documents from files: plain text, Markdown, HTML, PDF, DOCX and JSON Lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from halldetect.errors import HallDetectError, InputError
from halldetect.files.office_files import read_pages
from halldetect.reading.html_page import ENDINGS as HTML_ENDINGS
from halldetect.reading.html_page import html_text

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
            if (other := files.setdefault(file.name, file)) != file:
                raise InputError(
                    f"two files have the name {file.name!r}: {str(other.path)!r} and "
                    f"{str(file.path)!r}; documents are named by their path in the folder that "
                    "is given, so give the folder that holds both"
                )
    if not files:
        raise InputError(f"there is nothing to index; {known}")
    return list(files.values())


def read_documents(file: SourceFile) -> Iterator[IndexDocument | HallDetectError]:
    """Yield the documents of a file: one, or one per line of JSON Lines; or why there is none."""
    ending = file.path.suffix.lower()
    try:
        with file.path.open("rb") as raw:
            if ending == ".jsonl":
                lines = enumerate(raw, start=1)
                yield from (_json_document(file.name, *item) for item in lines if item[1].strip())
            elif ending in (".pdf", ".docx"):
                pages = read_pages(raw.read(), repr(str(file.path)), evidence=True)
                if pages is None:
                    raise InputError(f"{str(file.path)!r} is neither a PDF nor a DOCX file")
                yield _document(file.name, "", "\n\n".join(pages))
            else:
                text = raw.read().decode("utf-8-sig")
                parts = html_text(text, evidence=True) if ending in HTML_ENDINGS else ("", text)
                yield _document(file.name, *parts)
    except UnicodeDecodeError as error:
        yield InputError(f"{str(file.path)!r} is not UTF-8 text (byte {error.start})")
    except OSError as error:
        yield InputError(f"cannot read {str(file.path)!r}: {error.strerror}")
    except HallDetectError as error:
        yield error


def _json_document(name: str, number: int, line: bytes) -> IndexDocument | InputError:
    where = f"{name}, line {number}"
    try:
        record = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return InputError(f"{where}: not JSON in UTF-8")
    if not isinstance(record, dict) or not isinstance(record.get("text"), str):
        return InputError(f'{where}: each line must be an object with a "text"')
    identity, title = record.get("id", number), record.get("title") or ""
    if not isinstance(identity, (str, int)) or not isinstance(title, str):
        return InputError(f'{where}: "id" must be text or a number, and "title" text')
    return _document(f"{name}#{identity}", title, record["text"])


def _document(*texts: str) -> IndexDocument:
    return IndexDocument(*(_UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text) for text in texts))
