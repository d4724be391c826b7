"""Structured sources in words: JSON, logs, test results, Python signatures.

A verifier reads running text. A JSON object of plain values becomes one sentence ("hosts: name
db-2; status failed."). A log line is one statement, even with several full stops. A signature
becomes "The function fetch takes url (str) and retries (int, 3 by default), and returns bytes."
All spans refer to the raw text.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from halldetect.reading.assertions import is_code
from halldetect.reading.document import Span
from halldetect.reading.sentences import lines

# An area of a text, and the readings of its pieces; None if a piece is unchanged.
Area = tuple[Span, list[tuple[Span, str | None]]]

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+')
# Deeper or longer JSON is read unchanged.
MAX_DEPTH = 50
MAX_LENGTH = 200_000
# The fewest lines of a log.
MIN_LINES = 2
# A longer line is a paragraph.
MAX_LINE = 400
_LEVEL = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|ERR!?|FATAL|CRITICAL|SEVERE)"
_LOG = re.compile(
    r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d\b"
    r"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d"
    rf"|\[{_LEVEL}\]|{_LEVEL}\b[ :\[]|npm (?:ERR!|WARN)|\[\d+/\d+\]|Step \d+/\d+ :"
    # test results
    r"|(?:FAILED|PASSED|ERROR|SKIPPED|XFAIL|XPASS|FAIL|PASS|ok|not ok|---\s(?:FAIL|PASS|SKIP):)\b"
    r"(?=.*(?:::|/|\.\w+\b| - |\d))"
    r"|\S+\.(?:py|js|ts|go|rs|java|rb)\b.*(?:\[\s*\d+%\]|PASSED|FAILED)"
    r"|=+ .+ =+$|(?:Tests?|Test Suites|Tests run):\s.*\d"
    r"|.*\b\d+ (?:passed|failed|skipped|errors?)\b.*\bin [\d.]+ ?m?s"
)
_RULER = re.compile(r"^[=\-_*#~]{3,}\s*|\s*[=\-_*#~]{3,}$")
_DEFINITION = re.compile(
    r"^(?P<indent>[ \t]*)(?P<kind>class|def|async[ \t]+def)[ \t]+(?P<name>\w+)[ \t]*(?P<open>\()?",
    re.MULTILINE,
)
_RETURNS = re.compile(r"[ \t]*(?:->[ \t]*(?P<type>[^\n:]+))?[ \t]*:?")
# The start and the end of a code line; no sentence has both.
_CODE_LINE = re.compile(r"[a-z_@)\]}].*[):;{}\],]$")
_MAX_SIGNATURE = 2_000


@dataclass(slots=True)
class _Container:
    """An object or array under construction.

    Attributes:
        start: Its place.
        name: Its key.
        array: True for an array.
        key: The key of the next value, and its place.
        values: The values so far, with their places.
        nested: True if it contains another container.
    """

    start: int
    name: str
    array: bool
    key: tuple[str, int] | None = None
    values: list[tuple[Span, str]] = field(default_factory=list)
    nested: bool = False

    def take(self, token: str, span: Span) -> None:
        """Add a key or a value."""
        value = str(json.loads(token)) if token.startswith('"') else token
        if not self.array and self.key is None:
            self.key = (value, span.start)
            return
        if self.key is not None:
            span = Span(self.key[1], span.end)
            value = f"{_words(self.key[0])} {value}"
            self.key = None
        self.values.append((span, value))

    def flush(self, end: int | None = None) -> Iterator[tuple[Span, str]]:
        """Yield the values so far as one sentence; an end closes the span of a flat container."""
        if self.values:
            span = Span(self.values[0][0].start, self.values[-1][0].end)
            if end is not None and not self.nested:
                span = Span(self.start, end)
            joined = (", " if self.array else "; ").join(value for _, value in self.values)
            yield span, f"{_words(self.name)}: {joined}." if self.name else f"{joined}."
        self.values = []


def read_json(text: str) -> list[tuple[Span, str]] | None:
    """Return the sentences of a JSON text with their spans; None for any other text."""
    stripped = text.strip()
    if not stripped.startswith(("{", "[")) or len(text) > MAX_LENGTH:
        return None
    try:
        json.loads(stripped)
    except (ValueError, RecursionError):
        return None
    found: list[tuple[Span, str]] = []
    stack: list[_Container] = []
    for match in _TOKEN.finditer(text):
        token = match.group()
        above = stack[-1] if stack else None
        if token in "{[":
            if len(stack) > MAX_DEPTH:
                return None
            name = ""
            if above is not None:
                name = above.key[0] if above.key is not None else above.name
                found += above.flush()
                above.nested = True
            stack.append(_Container(match.start(), name, token == "["))
        elif token in "}]":
            found += stack.pop().flush(match.end())
            if stack:
                stack[-1].key = None
        elif above is not None and token not in ",:":
            above.take(token, Span(*match.span()))
    return found or None


def _words(key: str) -> str:
    return re.sub(r"[_-]+|(?<=[a-z])(?=[A-Z])", " ", key)


def log_lines(text: str) -> list[Area]:
    """Return the lines of logs and test results, each as one piece without its ruler."""
    found: list[Area] = []
    for line in lines(text):
        content = line.cut(text)
        if len(content) <= MAX_LINE and _LOG.match(content):
            bare = _RULER.sub("", _RULER.sub("", content))
            found.append((line, [(line, None if bare in ("", content) else bare)]))
    return found if len(found) >= MIN_LINES else []


def signatures(text: str) -> list[Area]:
    """Return the signatures of functions in words, and the code lines around them."""
    found: list[Area] = []
    classes: list[tuple[int, str]] = []
    for match in _DEFINITION.finditer(text):
        indent = len(match["indent"])
        while classes and classes[-1][0] >= indent:
            classes.pop()
        if match["kind"] == "class":
            classes.append((indent, match["name"]))
            continue
        end = _closing(text, match.end() - 1) if match["open"] else None
        after = _RETURNS.match(text, end + 1) if end is not None else None
        parameters = None if end is None else _parameters(text[match.end() : end])
        if after is None or parameters is None:
            continue
        what = f"function {match['name']}"
        if classes:
            what = f"method {match['name']} of {classes[-1][1]}"
        takes = " and ".join(filter(None, [", ".join(parameters[:-1]), *parameters[-1:]]))
        returns = f", and returns {after['type'].strip()}" if after["type"] else ""
        span = Span(match.start("kind"), after.end())
        reading = f"The {what} takes {takes or 'no parameters'}{returns}."
        found.append((span, [(span, reading)]))
    if found:
        found += [
            (line, [(line, None)])
            for line in lines(text)
            if is_code(line.cut(text)) or _CODE_LINE.match(line.cut(text))
        ]
    return found


def _closing(text: str, opening: int) -> int | None:
    """Return the place of the matching closing bracket."""
    depth = 0
    for at in range(opening, min(opening + _MAX_SIGNATURE, len(text))):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0:
            return at
    return None


def _parameters(inside: str) -> list[str] | None:
    """Return the parameters in words: "retries (int, 3 by default)"; None if it is not Python."""
    code = f"def f({inside}\n): pass"
    try:
        (function,) = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    assert isinstance(function, ast.FunctionDef)
    given = function.args
    plain = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [None] * (len(plain) - len(given.defaults))
    defaults += given.defaults
    named = [("", argument, value) for argument, value in zip(plain, defaults, strict=True)]
    named += [("*", given.vararg, None)] if given.vararg else []
    named += [
        ("", arg, value) for arg, value in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    ]
    named += [("**", given.kwarg, None)] if given.kwarg else []
    found = []
    for stars, argument, value in named:
        notes = [ast.get_source_segment(code, argument.annotation)] if argument.annotation else []
        notes += [f"{ast.get_source_segment(code, value)} by default"] if value else []
        said = f" ({', '.join(map(str, notes))})" if notes else ""
        if argument.arg not in ("self", "cls"):
            found.append(f"{stars}{argument.arg}{said}")
    return found
