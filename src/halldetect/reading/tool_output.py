"""Logs, test results and code in a source: which lines stay whole, and what a signature says.

A verifier reads a signature as a sentence: "The function fetch takes url (str) and retries (int,
3 by default), and returns bytes." The line of a log or of a test run is one statement, however many
full stops it has. The spans are those of the raw text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from halldetect.reading.assertions import is_code
from halldetect.reading.document import Span
from halldetect.reading.sentences import lines

# An area of a text, and how the pieces of it are read; None where as they stand.
Area = tuple[Span, list[tuple[Span, str | None]]]

# With fewer such lines a text is no log.
MIN_LINES = 2
# A longer line is a paragraph.
MAX_LINE = 400
_LEVEL = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|ERR!?|FATAL|CRITICAL|SEVERE)"
_LOG = re.compile(
    r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d\b"
    r"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d"
    rf"|\[{_LEVEL}\]|{_LEVEL}\b[ :\[]|npm (?:ERR!|WARN)|\[\d+/\d+\]|Step \d+/\d+ :"
)
_TEST = re.compile(
    r"(?:FAILED|PASSED|ERROR|SKIPPED|XFAIL|XPASS|FAIL|PASS|ok|not ok|---\s(?:FAIL|PASS|SKIP):)\b"
    r"(?=.*(?:::|/|\.\w+\b| - |\d))"
    r"|\S+\.(?:py|js|ts|go|rs|java|rb)\b.*(?:\[\s*\d+%\]|PASSED|FAILED)"
    r"|=+ .+ =+$|(?:Tests?|Test Suites|Tests run):\s.*\d"
    r"|.*\b\d+ (?:passed|failed|skipped|errors?)\b.*\bin [\d.]+ ?m?s"
)
_RULER = re.compile(r"^[=\-_*#~]{3,}\s*|\s*[=\-_*#~]{3,}$")
_SIGNATURE = re.compile(
    r"^(?P<indent>[ \t]*)(?P<words>(?:export\s+|default\s+|async\s+)*(?:def|function))\s+"
    r"(?P<name>\w+)\s*\(",
    re.MULTILINE,
)
_CLASS = re.compile(r"^([ \t]*)class\s+(\w+)", re.MULTILINE)
_RETURNS = re.compile(
    r"[ \t]*(?:->[ \t]*(?P<python>[^\n{:]+)|:[ \t]*(?P<script>[^\n{:]+?)(?=[ \t]*\{))?[ \t]*[:{]?"
)
_PARAMETER = re.compile(
    r"(?P<name>\*{0,2}\w+)\??\s*(?::\s*(?P<type>.+?))?\s*(?:=\s*(?P<value>.+))?$"
)
# How a line of code begins and ends, and no sentence does both.
_CODE_LINE = re.compile(r"[a-z_@)\]}].*[):;{}\],]$")
_OPEN, _CLOSE = "([{", ")]}"
_MAX_SIGNATURE = 2_000


def whole_lines(text: str) -> list[Area]:
    """The lines of logs and test results, each as one piece without its ruler."""
    found: list[Area] = []
    for line in lines(text):
        content = line.cut(text)
        if len(content) <= MAX_LINE and (_LOG.match(content) or _TEST.match(content)):
            bare = _RULER.sub("", _RULER.sub("", content))
            found.append((line, [(line, None if bare in ("", content) else bare)]))
    return found if len(found) >= MIN_LINES else []


def signatures(text: str) -> list[Area]:
    """The signatures of functions, in words, and the lines of code around them, each as one."""
    found: list[Area] = []
    classes = [(match.start(), len(match[1]), match[2]) for match in _CLASS.finditer(text)]
    for match in _SIGNATURE.finditer(text):
        end = _closing(text, match.end() - 1)
        if end is None:
            continue
        after = _RETURNS.match(text, end + 1)
        assert after is not None  # it matches nothing, too
        span = Span(match.start("words"), after.end())
        owner = next(
            (
                name
                for start, indent, name in reversed(classes)
                if start < match.start() and indent < len(match["indent"])
            ),
            None,
        )
        parameters = [_parameter(item) for item in _items(text[match.end() : end])]
        returns = (after["python"] or after["script"] or "").strip()
        reading = _sentence(match["name"], owner, list(filter(None, parameters)), returns)
        found.append((span, [(span, reading)]))
    if found:
        found += [
            (line, [(line, None)])
            for line in lines(text)
            if is_code(line.cut(text)) or _CODE_LINE.match(line.cut(text))
        ]
    return found


def _closing(text: str, opening: int) -> int | None:
    """Where the bracket is closed that is opened at a place."""
    depth = 0
    for at in range(opening, min(opening + _MAX_SIGNATURE, len(text))):
        depth += (text[at] in _OPEN) - (text[at] in _CLOSE)
        if depth == 0:
            return at
    return None


def _items(text: str) -> Iterator[str]:
    """The parameters: what stands between commas that are in no bracket or string."""
    depth, start, quote = 0, 0, ""
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'`":
            quote = char
        elif char == "," and depth == 0:
            yield text[start:at]
            start = at + 1
        else:
            depth += (char in _OPEN) - (char in _CLOSE)
    yield text[start:]


def _parameter(text: str) -> str:
    """A parameter in words: "retries (int, 3 by default)"; empty where it says nothing."""
    plain = " ".join(re.sub(r"(?:#|//).*", "", text).split())
    match = _PARAMETER.match(plain)
    if plain in ("", "*", "/", "self", "cls"):
        return ""
    if match is None:
        return plain
    notes = [match["type"], match["value"] and f"{match['value']} by default"]
    told = ", ".join(filter(None, notes))
    return f"{match['name']} ({told})" if told else match["name"]


def _sentence(name: str, owner: str | None, parameters: list[str], returns: str) -> str:
    what = f"function {name}" if owner is None else f"method {name} of {owner}"
    takes = "no parameters"
    if parameters:
        takes = ", ".join(parameters[:-1]) + (" and " if len(parameters) > 1 else "")
        takes += parameters[-1]
    gives = f", and returns {returns}" if returns else ""
    return f"The {what} takes {takes}{gives}."
