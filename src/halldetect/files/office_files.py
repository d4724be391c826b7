"""The text of PDF and DOCX files, page by page if the file has pages.

Everything that a reader may see is read: form fields, annotations, tracked insertions, content
controls, footnotes, headers, text boxes. A source is read as evidence: what is hidden, white,
struck out or only a comment is left out.
"""

from __future__ import annotations

import io
import logging
import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator
from typing import Any
from xml.parsers import expat

from halldetect.errors import InputError, MissingExtra, described, import_extra

# A small file can unpack to a huge one, or draw one page a thousand times. So the bytes after
# unpacking and the work are limited: a basis, and a multiple of the size of the file.
_UNPACKED = (2_000_000, 50)
_WORK = (200_000, 4)
_MAX_UNPACKED, _MAX_DEPTH = 50_000_000, 200
# The work of a page, and of drawing a form; an operator or an XML element is 1.
_PAGE, _FORM = 100, 100
_HYPHENATED = re.compile(r"(?<=[a-z])[-\u00ad]\n(?=[a-z])")
# A long line without a sentence end continues on the next line.
_WRAPPED = re.compile(r"(?<=[^\n]{40})(?<![.!?:;])[ \t]*\n(?=[^\n•‣▪◦●○*-]\S)")
_HEADING = re.compile(r"(?:heading|title)\s*(\d?)", re.IGNORECASE)
_WHITE = re.compile(r"(?:F[0-9A-F]){3}", re.IGNORECASE)
_UNSHADED = re.compile(rf"(?:auto|none|white|{_WHITE.pattern})?", re.IGNORECASE)
# Parts beside the main one, by the last word of the type of their relation.
_PARTS = ("header", "footer", "footnotes", "endnotes", "diagramData", "chart")
# Deleted text, the properties before a change, and the copy for older programs.
_SKIPPED = frozenset("del moveFrom rPrChange pPrChange Fallback".split())
_OFF = ("0", "false", "off", "none")
_FILLS = (b"f", b"F", b"f*", b"B", b"B*", b"b", b"b*")
_SHOWS = (b"Tj", b"TJ", b"'", b'"')
_HIDDEN_FLAGS = 2 | 32  # hidden, not viewed


class _TooMuch(BaseException):
    """Ends the reading; pypdf would keep any other exception to itself."""


class _Budget:
    """What may still be spent on a file: work, and bytes after unpacking."""

    def __init__(self, size: int) -> None:
        self.work = _WORK[0] + _WORK[1] * size
        self.unpacked = min(_UNPACKED[0] + _UNPACKED[1] * size, _MAX_UNPACKED)

    def spend(self, work: int, unpacked: int = 0) -> None:
        """Take note of work done; raise _TooMuch if none is left."""
        self.work -= work
        self.unpacked -= unpacked
        if min(self.work, self.unpacked) < 0:
            raise _TooMuch


def read_pages(data: bytes, name: str, *, evidence: bool = False) -> list[str] | None:
    """Return the text of each page of a PDF file, or of a DOCX file as one; None for other data.

    `evidence` is True for a source: what a reader does not see is left out. Raises InputError,
    which calls the file `name`, if it is damaged or too much work.
    """
    kind = "PDF" if data.startswith(b"%PDF-") else "DOCX"
    if kind == "DOCX" and not data.startswith(b"PK\x03\x04"):
        return None
    try:
        return _pdf_pages(data, name, evidence) if kind == "PDF" else _docx_pages(data, evidence)
    except MissingExtra:
        raise
    except zipfile.BadZipFile:
        return None
    except _TooMuch:
        raise InputError(f"{name} holds too much to be read as {kind}; split it first") from None
    except Exception as error:  # damaged files raise almost anything
        raise InputError(f"{name} cannot be read as {kind} ({described(error)[:120]})") from error


# PDF


def _pdf_pages(data: bytes, name: str, evidence: bool) -> list[str]:
    """Return the text of each page, with wrapped lines joined, then fields and annotations."""
    pypdf = import_extra("pypdf", f"the PDF file {name}", "documents")
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # thousands of lines for a damaged file
    budget = _Budget(len(data))
    pages = []
    kinds = ("array_based_stream", "lzw", "run_length", "zlib")
    with pypdf.apply_configuration(
        **{f"{kind}_maximum_output_length": budget.unpacked for kind in kinds},
        stream_parsing_work_maximum_count=budget.work,
        xform_maximum_invocations_per_extraction=budget.work,
    ):
        for page in pypdf.PdfReader(io.BytesIO(data)).pages:
            budget.spend(_PAGE)
            seen = _PdfPage(page, budget, evidence)
            text = page.extract_text(
                visitor_operand_before=seen.before, visitor_operand_after=seen.after
            )
            text = _WRAPPED.sub(" ", _HYPHENATED.sub("", text)).strip()
            pages.append("\n\n".join(filter(None, [text, *_annotations(page, seen)])))
    return pages


class _PdfPage:
    """Follows the drawing of a page; empties the text that is drawn invisibly."""

    def __init__(self, page: Any, budget: _Budget, evidence: bool) -> None:
        self.evidence = evidence
        self.budget = budget
        self._box = [float(side) for side in page.cropbox]
        self._white, self._mode = False, 0  # the colour and the way of drawing text
        self._states: list[tuple[bool, int]] = []
        self._path: list[list[float]] = []
        self._filled: list[list[float]] = []  # areas that are not white, and images

    def before(self, operator: bytes, operands: list[Any], cm: list[float], tm: Any) -> None:
        """Take note of an operator before it is carried out."""
        shown = len(str(operands[-1])) // 4 if operator in _SHOWS and operands else 0
        self.budget.spend(_FORM if operator == b"Do" else 1 + shown)
        if not self.evidence:
            return
        if operator in (b"q", b"Do"):
            self._states.append((self._white, self._mode))
            if operator == b"Do":
                self._filled.append(_area([0, 0, 1, 1], cm))
        elif operator == b"Q" and self._states:
            self._white, self._mode = self._states.pop()
        elif operator in (b"g", b"rg", b"k", b"sc", b"scn"):
            self._white = _is_white(operands)
        elif operator == b"Tr":
            self._mode = int(operands[0])
        elif operator == b"re":
            self._path.append(_area([float(side) for side in operands], cm))
        elif operator in _FILLS or operator in (b"n", b"S", b"s"):
            self._filled += self._path if operator in _FILLS and not self._white else []
            self._path = []
        elif operator in _SHOWS and operands and self._is_unseen(cm, tm):
            operands[-1] = type(operands[-1])()

    def after(self, operator: bytes, _operands: Any, _cm: Any, _tm: Any) -> None:
        """Restore the state after a form."""
        if self.evidence and operator == b"Do" and self._states:
            self._white, self._mode = self._states.pop()

    def _is_unseen(self, cm: list[float], tm: list[float]) -> bool:
        """Return True for text off the page, and invisible or white text on nothing."""
        x = tm[4] * cm[0] + tm[5] * cm[2] + cm[4]
        y = tm[4] * cm[1] + tm[5] * cm[3] + cm[5]
        if self._mode != 3 and not self._white:
            return not _contains(self._box, x, y)
        self.budget.spend(len(self._filled))  # a scan has its text, invisibly, over its image
        return not any(_contains(area, x, y) for area in self._filled)


def _area(rectangle: list[float], cm: list[float]) -> list[float]:
    x, y, width, height = rectangle
    corners = [(a, b) for a in (x, x + width) for b in (y, y + height)]
    across = [a * cm[0] + b * cm[2] + cm[4] for a, b in corners]
    up = [a * cm[1] + b * cm[3] + cm[5] for a, b in corners]
    return [min(across), min(up), max(across), max(up)]


def _contains(area: list[float], x: float, y: float) -> bool:
    return area[0] - 1 <= x <= area[2] + 1 and area[1] - 1 <= y <= area[3] + 1


def _is_white(colour: list[Any]) -> bool:
    if not colour or not all(isinstance(part, int | float) for part in colour):
        return False  # a pattern
    return bool(max(colour) <= 0.05 if len(colour) == 4 else min(colour) >= 0.95)  # ink, light


def _annotations(page: Any, seen: _PdfPage) -> Iterator[str]:
    """Yield the texts of form fields and annotations; only those on the page for evidence."""
    texts: list[Any] = []
    for note in _entry(page, "/Annots") or ():
        seen.budget.spend(10)
        kind, flags = _entry(note, "/Subtype"), _entry(note, "/F") or 0
        on_page = kind in ("/Widget", "/FreeText") and not flags & _HIDDEN_FLAGS
        if kind == "/Popup" or (seen.evidence and not on_page):
            continue
        value = _entry(note, "/V") or _entry(note, "/Parent", "/V")
        texts += [value, _entry(note, "/MK", "/CA"), _entry(note, "/Contents")]
        if hasattr(shown := _entry(note, "/AP", "/N"), "get_data"):
            shown = page.extract_xform_text(
                shown, visitor_operand_before=lambda *_: seen.budget.spend(1)
            )
            texts.append(shown)
    said = (text.split() for text in texts if isinstance(text, str) and text[:1] != "/")
    yield from dict.fromkeys(" ".join(words) for words in said if words)


def _entry(node: Any, *names: str) -> Any:
    """Return an entry of nested dictionaries; None if it is not there."""
    for name in names:
        node = node.get_object().get(name) if hasattr(node, "get_object") else None
    return node.get_object() if hasattr(node, "get_object") else node


# DOCX


def _relations(archive: zipfile.ZipFile, part: str) -> list[tuple[str, str]]:
    """Return the kinds and names of the parts that a part refers to."""
    folder, name = posixpath.split(part)
    found = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag == "Relationship" and attributes.get("TargetMode") != "External":
            target = posixpath.join("/", folder, attributes["Target"])
            kind = attributes["Type"].rpartition("/")[2]
            found.append((kind, posixpath.normpath(target).lstrip("/")))

    path = posixpath.join(folder, "_rels", f"{name}.rels")
    if path in archive.namelist():
        _parse(archive, path, _Budget(0), start)
    return found


def _parse(
    archive: zipfile.ZipFile,
    part: str,
    budget: _Budget,
    start: Callable[[str, dict[str, str]], None],
    end: Callable[[str], None] | None = None,
    data: Callable[[str], None] | None = None,
) -> None:
    """Read an XML part, with names without name spaces; no tree is built."""

    def started(tag: str, attributes: dict[str, str]) -> None:
        budget.spend(1 + len(attributes))
        start(_local(tag), {_local(name): value for name, value in attributes.items()})

    budget.spend(0, archive.getinfo(part).file_size)
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = started
    parser.EntityDeclHandler = _refuse_entity
    parser.EndElementHandler = end and (lambda tag: end(_local(tag)))
    parser.CharacterDataHandler = data
    with archive.open(part) as stream:
        parser.ParseFile(stream)


def _refuse_entity(*_: Any) -> None:
    raise ValueError("it declares entities")


def _local(name: str) -> str:
    return name.rpartition(" ")[2]


def _docx_pages(data: bytes, evidence: bool) -> list[str] | None:
    """Return the text as Markdown, then that of other parts; None for another kind of file."""
    budget = _Budget(len(data))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        main = dict(_relations(archive, "")).get("officeDocument", "")
        if not main.startswith("word/"):
            return None
        targets = _relations(archive, main)
        reader = _DocxReader(evidence)
        for part in (name for kind, name in targets if kind == "styles"):
            _parse(archive, part, budget, reader.style)
        kinds = _PARTS if evidence else (*_PARTS, "comments")
        others = [part for wanted in kinds for kind, part in targets if kind == wanted]
        for part in [main, *others]:
            _parse(archive, part, budget, reader.start, reader.end, reader.data)
    return ["\n\n".join(dict.fromkeys(filter(None, reader.blocks)))]


class _DocxReader:
    """Reads the elements of the parts of a DOCX file into blocks of Markdown."""

    def __init__(self, evidence: bool) -> None:
        self.blocks: list[str] = []
        self._evidence = evidence
        self._names: dict[str, str] = {}
        self._unseen: set[str] = set()  # styles of hidden text
        self._style = ""
        self._path: list[str] = []
        self._skipped = 0
        # Open paragraphs, each with its pieces, and the blocks of open cells.
        self._paragraphs: list[dict[str, Any]] = []
        self._cells: list[list[str]] = []
        self._tables: list[list[list[str]]] = []
        self._run: set[str] = set()  # properties
        self._shaded: set[str] = set()  # of the run, paragraph and cell, by their property element

    def style(self, tag: str, attributes: dict[str, str]) -> None:
        """Take note of the name of a style, and whether its text is hidden."""
        if tag == "style":
            self._style = attributes.get("styleId", "")
        elif tag == "name":
            self._names[self._style] = attributes.get("val", "")
        elif tag == "vanish" and attributes.get("val") not in _OFF:
            self._unseen.add(self._style)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Take note of the start of an element."""
        self._path.append(tag)
        if len(self._path) > _MAX_DEPTH:
            raise _TooMuch
        self._skipped += tag in _SKIPPED
        if self._skipped:
            return
        if tag == "p":
            self._paragraphs.append({"pieces": [], "style": "", "list": False})
            self._shaded -= {"rPr", "pPr"}
        elif tag == "r":
            self._run.clear()
            self._shaded.discard("rPr")
        elif tag == "tbl":
            self._tables.append([])
        elif tag == "tr" and self._tables:
            self._tables[-1].append([])
        elif tag == "tc":
            self._cells.append([])
            self._shaded.clear()
        elif tag in ("tab", "br", "cr", "noBreakHyphen"):
            self._add("-" if tag == "noBreakHyphen" else " ")
        elif tag == "docPr" and attributes.get("descr") and not self._evidence:
            self._add(f" ![{' '.join(attributes['descr'].split())}](image) ")
        elif tag == "altChunk":
            raise ValueError("it holds another file, which is not read")
        else:
            self._property(tag, attributes.get("val", ""), attributes.get("fill", ""))

    def _property(self, tag: str, value: str, fill: str) -> None:
        paragraph = self._paragraphs[-1] if self._paragraphs else {}
        colour = value if tag == "highlight" else fill
        if tag == "pStyle":
            paragraph["style"] = value
        elif tag == "numPr":
            paragraph["list"] = True
        elif tag in ("highlight", "shd") and not _UNSHADED.fullmatch(colour):
            self._shaded.add(self._path[-2])
        elif tag in ("vanish", "strike", "dstrike") and value not in _OFF:
            self._run.add("vanish" if tag == "vanish" else "strike")
        elif tag == "rStyle" and value in self._unseen:
            self._run.add("vanish")
        elif tag == "color" and _WHITE.fullmatch(value):
            self._run.add("white")

    def data(self, text: str) -> None:
        """Add the text of a run."""
        if self._path[-1] == "t" and not self._skipped:
            self._add(text)

    def _add(self, text: str) -> None:
        if not self._paragraphs:
            return
        paragraph = self._paragraphs[-1]
        white = "white" in self._run and not self._shaded
        unseen = white or "vanish" in self._run or paragraph["style"] in self._unseen
        struck = "strike" in self._run and bool(text.strip())
        if self._evidence and (unseen or struck):
            return
        paragraph["pieces"].append(f"~~{text.strip()}~~ " if struck else text)

    def end(self, tag: str) -> None:
        """Add the block that an element ends."""
        self._path.pop()
        self._skipped -= tag in _SKIPPED
        if self._skipped:
            return
        if tag == "p" and self._paragraphs:
            self._block(self._paragraph(self._paragraphs.pop()))
        elif tag == "tc" and self._cells:
            text = " ".join(" ".join(self._cells.pop()).split()).replace("|", "/")
            self._shaded.clear()
            if self._tables and self._tables[-1]:
                self._tables[-1][-1].append(text)
        elif tag == "tbl" and self._tables:
            rows = [row for row in self._tables.pop() if row]
            lines = [f"| {' | '.join(row)} |" for row in rows]
            lines[1:1] = ["|" + "---|" * max(map(len, rows))] if rows else []
            self._block("\n".join(lines))

    def _block(self, text: str) -> None:
        (self._cells[-1] if self._cells else self.blocks).append(text)

    def _paragraph(self, paragraph: dict[str, Any]) -> str:
        text = " ".join("".join(paragraph["pieces"]).split())
        style = self._names.get(paragraph["style"], paragraph["style"])
        if not text or self._cells:
            return text
        if heading := _HEADING.match(style):
            return f"{'#' * min(int(heading[1] or 1), 6)} {text}"
        listed = paragraph["list"] or style.casefold().startswith("list")
        return f"- {text}" if listed else text
