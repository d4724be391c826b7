"""Records as statements with their path: JSON, CSV, YAML and lines of names and values.

`{"hours": {"Monday": "11:0-17:0"}}` is read as "hours, Monday: 11:00 to 17:00". Every field is one
statement; a longer text in a field is one statement per sentence, each with its path. A short
record of a list, and a row of CSV, is one statement. All spans refer to the raw text.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import cast

from halldetect.reading.document import Span, TrackedText
from halldetect.reading.sentences import lines, sentences

# The place of a statement, and its words; None if these are the raw text.
Statement = tuple[Span, str | None]

# Commas and colons are left out.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]|[^\s\[\]{},:"]+')
_ESCAPE = re.compile(r"\\u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|\\u\w{4}|\\.")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_WORDS = {"true": "yes", "false": "no", "null": "not given", "~": "not given", "": "not given"}
_HOURS = re.compile(r"\b(\d\d?):(\d\d?) ?[-–] ?(\d\d?):(\d\d?)\b")
MAX_DEPTH = 50
# A longer record of a list is read field by field.
MAX_RECORD = 300
# Every value is read with its names, so a longer name is cut.
MAX_KEY = 200
_FIELD = re.compile(
    r"(?P<item>- +)?(?P<key>[^\W_][^:#.?!\"]{0,39}|\"[^\"]{1,40}\"):(?:[ \t]+(?P<value>.+))?"
)
_ITEM = re.compile(r"(?P<item>- +)(?P<value>.+)")
_BLOCK_MARKS = ("|", ">", "|-", ">-")
# A shorter text is not a list of names and values, or a table.
MIN_FIELDS = 3
_SPACE = re.compile(r"\s*")


def read_records(text: str, *, evidence: bool = False) -> list[Statement] | None:
    """Return the statements of records, as `evidence` without an assistant's turns, or None."""
    found = _read_json(text, evidence) or _read_csv(text) or _read_fields(text)
    return found and [(at, None if said == at.cut(text) else said) for at, said in found]


@dataclass(frozen=True, slots=True)
class _Field:
    """A value with its path; the span has the key too. A merged value is a plain string."""

    span: Span
    path: str
    value: TrackedText | str

    @property
    def text(self) -> str:
        """The value as text."""
        return self.value if isinstance(self.value, str) else self.value.text

    def statements(self) -> Iterator[Statement]:
        """Yield the statements of the value, each with the path."""
        label = f"{self.path}: " if self.path else ""
        if isinstance(self.value, str):
            yield self.span, label + self.value
            return
        parts = sentences(self.value.text)
        places = [self.value.raw_span(part) or self.span for part in parts]
        if len(parts) < 2:
            yield self.span, label + _readable(self.value.text)
            return
        for at, part in enumerate(parts):
            start = places[at].start if at else self.span.start
            end = self.span.end if at == len(parts) - 1 else places[at].end
            yield Span(start, end), label + _readable(part.cut(self.value.text))


def _readable(value: str) -> str:
    value = _WORDS.get(value.strip(), value)
    return _HOURS.sub(lambda m: f"{m[1]}:{m[2]:0>2} to {m[3]}:{m[4]:0>2}", " ".join(value.split()))


def _spaced(key: str) -> str:
    return re.sub(r"[_-]+|(?<=[a-z])(?=[A-Z][a-z]{2})", " ", key[:MAX_KEY])


def _joined(path: str, key: str) -> str:
    return f"{path}, {key}" if path and key else path or key


# JSON


def _read_json(text: str, evidence: bool) -> list[Statement] | None:
    """Read one JSON value, or several one after the other."""
    places: list[Span] = []
    found: list[_Field] = []
    end = len(text) - len(text.lstrip())
    if not text.startswith(("{", "["), end):
        return None
    try:
        while end < len(text):
            start, (_, end) = end, json.JSONDecoder().raw_decode(text, end)
            places.append(Span(start, end))
            end = cast(re.Match[str], _SPACE.match(text, end)).end()
        for place in places:
            reader = _JsonReader(text, place, found, evidence)
            reader.read(next(reader.tokens), "", place.start, None if len(places) == 1 else "")
    except (ValueError, RecursionError):
        return None
    return [statement for item in found for statement in item.statements()] or None


class _JsonReader:
    """Appends the fields of a valid JSON value to `found`."""

    def __init__(self, text: str, place: Span, found: list[_Field], evidence: bool) -> None:
        self._text = text
        self._evidence = evidence
        self.tokens = _TOKEN.finditer(text, place.start, place.end)
        self._found = found

    def read(
        self, token: re.Match[str], path: str, start: int, list_path: str | None, depth: int = 0
    ) -> None:
        """Read the value that begins with a token.

        `start` is the start of its key, `list_path` the path of the list that it is in, if any.
        """
        if depth > MAX_DEPTH:
            raise RecursionError
        if token[0] not in "{[":
            value = _decoded(self._text, token)
            self._found.append(_Field(Span(start, token.end()), path, value))
            return
        array, first, flat = token[0] == "[", len(self._found), True
        names: list[str] = []
        while (token := next(self.tokens))[0] not in "}]":
            begin, name = token.start(), ""
            if not array:
                name, token = _spaced(_decoded(self._text, token).text), next(self.tokens)
            names.append(name)
            flat = flat and token[0] not in "{["
            below = f"{path} {len(names)}".strip() if array else _joined(path, name)
            self.read(token, below, begin, path if array else None, depth + 1)
        span = Span(start, token.end())
        if not names:
            self._found.append(_Field(span, path, "none"))
        elif self._evidence and {"role", "content"} <= set(names) and self._is_own(path, first):
            self._found[first:] = [_Field(span, path, "a turn of the assistant")]
        elif flat and len(span) <= MAX_RECORD and (array or list_path is not None):
            values = [_readable(item.text) for item in self._found[first:]]
            said = [f"{name} {value}".strip() for name, value in zip(names, values, strict=True)]
            whole = ", ".join(said) if array else _ended("; ".join(said))
            self._found[first:] = [_Field(span, path if array else list_path or "", whole)]

    def _is_own(self, path: str, first: int) -> bool:
        role = _joined(path, "role")
        return any(item.path == role and item.text == "assistant" for item in self._found[first:])


def _decoded(text: str, token: re.Match[str]) -> TrackedText:
    """Return a string or another value with the place of every character."""
    start, end = token.span()
    if not token[0].startswith('"'):
        return TrackedText.of(text, start, end)
    string = TrackedText.of(text, start + 1, end - 1)
    return string.edited(
        (*escape.span(), _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", json.loads(f'"{escape[0]}"')))
        for escape in _ESCAPE.finditer(string.text)
    )


# CSV, YAML, names and values


def row_text(header: Sequence[str], cells: Sequence[str]) -> str:
    """Return a row as text: "Kettles: Q1 2025 14,200; Q2 2025 15,620." A header row has none."""
    if not header:
        return ", ".join(filter(None, cells))
    names = [*(name[:MAX_KEY] for name in header[1:]), *[""] * len(cells)]
    named = [f"{name} {cell}".strip() for name, cell in zip(names, cells[1:], strict=False) if cell]
    values = "; ".join(named)
    subject = cells[0] if cells else ""
    if not (subject and values):
        return subject or values
    return _ended(f"{subject}: {values}")


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _read_csv(text: str) -> list[Statement] | None:
    """Read rows with the same number of cells; the first row names the columns."""
    if not any(mark in text.lstrip().partition("\n")[0] for mark in "\t;,"):
        return None
    places = list(lines(text))
    if len(places) < MIN_FIELDS:
        return None
    rows = [place.cut(text) for place in places]
    for mark in "\t;,":
        if mark not in rows[0] or f"{mark} " in rows[0]:
            continue
        try:
            cells = [next(csv.reader([row], delimiter=mark)) for row in rows]
        except csv.Error:  # a field is too long
            return None
        header = [_spaced(name.strip()) for name in cells[0]]
        named = all(any(map(str.isalpha, name)) and len(name) <= 60 for name in header)
        # A line loses empty cells at its end if tabs separate them.
        fewest = 2 if mark == "\t" else len(header)
        if named and all(fewest <= len(row) <= len(header) for row in cells):
            said = [", ".join(header), *(row_text(header, row) for row in cells[1:])]
            return list(zip(places, said, strict=True))
    return None


@dataclass(frozen=True, slots=True)
class _Level:
    """An open name, or an item of a list."""

    column: int
    path: str
    item: bool = False


def _read_fields(text: str) -> list[Statement] | None:
    """Read lines of names and values, nested by their indentation like YAML."""
    if ":" not in text:
        return None
    found: list[Iterable[Statement]] = []
    above = [_Level(-1, "")]
    counts: dict[str, int] = {}
    fields = end = 0
    for line in lines(text):
        gap, content, end = text[end : line.start], line.cut(text), line.end
        column, start = len(gap) - len(gap.rstrip(" \t")), line.start
        match = _FIELD.fullmatch(content) or (_ITEM.fullmatch(content) if above[1:] else None)
        if match is None and (content.startswith("# ") or not content.strip("-")):
            found.append([(line, None)])
            continue
        if match is None and column <= above[-1].column:
            return None
        path = above[-1].path
        if match is not None:
            item, key, value = match["item"] or "", match.groupdict().get("key"), match["value"]
            # A list may begin in the column of its name.
            while above[-1].column > column - (above[-1].item or not item):
                above.pop()
            path = above[-1].path
            if item:
                counts[path] = counts.get(path, 0) + 1
                numbered = f"{path} {counts[path]}" if path else ""
                above.append(_Level(column, numbered, item=True))
            if key is not None:
                path = _joined(above[-1].path, _spaced(key.strip('"')))
            if value is None or value in _BLOCK_MARKS:
                above.append(_Level(column + len(item), path))
                continue
            fields, start = fields + 1, start + match.start("value")
        value = TrackedText.of(text, start, line.end).stripped("\"'")
        found.append(_Field(line, path, value).statements())
    said = list(chain.from_iterable(found)) if fields >= MIN_FIELDS else []
    return said if said and len(said) != counts.get("", 0) else None
