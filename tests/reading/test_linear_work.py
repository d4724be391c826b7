"""Every reader does linear work, whatever the text.

Work is counted, not timed: the characters that expressions pass over, those that are cut out of a
text, and the calls of functions.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest

from halldetect.reading import (
    answers,
    assertions,
    cells,
    citations,
    claims,
    document,
    html_page,
    markdown,
    normalise,
    references,
    response,
    sentences,
    sources,
    structured,
    words,
)

MODULES = [
    answers, assertions, citations, claims, html_page, cells, markdown, normalise,
    references, response, sentences, sources, structured, words,
]  # fmt: skip
LENGTH = 500
# Twice the text takes twice the work; quadratic readers take four times as much.
GROWTH = 2.6
TOKENS = (
    "!|?|.|a|1|x. |**|*|_|~~|`|``|```\n|[|](|![|[1]|[^1]: |【a|<|<a |<!--|<table>|<tr>|<td>|</td>|"
    '<li>|<ul>|<h1>|<p>|<s>|</s>|<br>|&amp;|\\|\n|\n\n|- |1. a\n|- a\n|> |# |{"a":|[[|"|“|1,|'
    "12:30 |%|http://a|a@b|https://x.y/a-b-c |Mr. |(Smith, 2020)|Sources: |Ann: hi\n|key: v\n|"
    "a=1\n|\t|a\tb\n|a,b\n| |\u200b|x²|中|。|👍|- [ ] a\n|~~~\n|    a\n|It is. |false: |"
    "- a:\n|def a(|\r|<div hidden>|</div>|the latter |he |\n  - a|a\n===\n|5 p.m. The "
).split("|")
TOKENS += ["|", "|---|\n", "| a | b |\n"]


def hostile_texts(count: int) -> list[tuple[str, ...]]:
    """Return the tokens of each text: every token alone, then random runs of tokens."""
    rng = random.Random(36)
    mixed = [tuple(rng.choices(TOKENS, k=rng.choice([2, 2, 3, 4]))) for _ in range(count)]
    found = [("x. ", "- a:\n"), ("👍", "- a:\n"), ("![", "a\tb\n", "<ul>")]
    return [*((token,) for token in TOKENS), *found, *mixed]


def repeated(tokens: tuple[str, ...], length: int) -> str:
    """Return the tokens in turn, again and again, up to a length."""
    piece = "".join(tokens)
    return (piece * (length // len(piece) + 1))[:length]


def nested(tokens: tuple[str, ...], length: int) -> str:
    """Return many times the first token, then many times the next."""
    each = length // len(tokens)
    return "".join(repeated((token,), each) for token in tokens)


class Counter:
    """Counts work while a text is read."""

    work = 0


class CountingPattern:
    """An expression that counts the characters that it passes over."""

    def __init__(self, pattern: re.Pattern[str], counter: Counter) -> None:
        self._pattern = pattern
        self._counter = counter

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pattern, name)

    def _count(self, match: re.Match[str] | None, start: int, end: int) -> re.Match[str] | None:
        self._counter.work += 1 + (end if match is None else match.end()) - start
        return match

    def search(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        return self._count(self._pattern.search(text, start, end), start, min(end, len(text)))

    def match(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        return self._count(self._pattern.match(text, start, end), start, start)

    def fullmatch(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        return self._count(self._pattern.fullmatch(text, start, end), start, min(end, len(text)))

    def finditer(
        self, text: str, start: int = 0, end: int = sys.maxsize
    ) -> Iterator[re.Match[str]]:
        self._counter.work += 1 + min(end, len(text)) - start
        return self._pattern.finditer(text, start, end)

    def sub(self, new: Any, text: str) -> str:
        self._counter.work += 1 + len(text)
        return self._pattern.sub(new, text)


@pytest.fixture
def counter(monkeypatch: pytest.MonkeyPatch) -> Counter:
    counter = Counter()
    for module in MODULES:
        for name, value in vars(module).copy().items():
            if isinstance(value, re.Pattern):
                monkeypatch.setattr(module, name, CountingPattern(value, counter))
    for kind in (document.Span, document.TrackedText):
        original = kind.cut

        def cut(*given: Any, original: Callable[..., Any] = original) -> Any:
            part = original(*given)
            counter.work += 1 + len(part if isinstance(part, str) else part.text)
            return part

        monkeypatch.setattr(kind, "cut", cut)
    return counter


def read_as_response(text: str) -> None:
    """Read a text as a check reads a response."""
    read = response.read_response(text)
    claims.read_claims(read)
    claims.unchecked_parts(read)


# The ways to read a text, and the most calls of functions per character that any text may need:
# the worst texts below need 22, 88 and 13, prose 0.6, 5.0 and 0. Three calls per character take
# about a second per megabyte on a slow core. A text of lines of one letter is the worst.
WAYS: dict[Callable[[str], object], float] = {
    sources.read_source: 24,
    read_as_response: 95,
    html_page.html_text: 14,
}


def read(text: str) -> None:
    """Read a text in every way."""
    for way in WAYS:
        way(text)


def work(text: str, counter: Counter) -> int:
    """Return the work of reading a text."""
    counter.work = 0
    read(text)
    return counter.work


def calls(way: Callable[[str], object], text: str) -> int:
    """Return the number of calls of functions, written in Python or C, while a text is read."""
    count = 0

    def notice(_: FrameType, event: str, __: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(notice)
    try:
        way(text)
    finally:
        sys.setprofile(None)
    return count


def check(texts: list[tuple[str, ...]], counter: Counter) -> None:
    read("A b. C d.")  # loads the splitter
    for tokens in texts:
        for build in (repeated, nested) if len(tokens) > 1 else (repeated,):
            small, large = (work(build(tokens, size * LENGTH), counter) for size in (1, 2))
            if large > GROWTH * small + LENGTH:  # a limit on the length may lie between the two
                small, large = large, work(build(tokens, 4 * LENGTH), counter)
            assert large <= GROWTH * small + LENGTH, (tokens, build.__name__, small, large)


def check_calls(texts: list[tuple[str, ...]]) -> None:
    read("A b. C d.")
    for tokens in texts:
        for build in (repeated, nested) if len(tokens) > 1 else (repeated,):
            text = build(tokens, 2 * LENGTH)
            for way, most in WAYS.items():
                count = calls(way, text) / len(text)
                assert count <= most, (tokens, build.__name__, way.__name__, count)


def test_calls_of_hostile_texts() -> None:
    check_calls([("\r", "1"), ("1. a\n", "!["), *hostile_texts(10)])


@pytest.mark.slow
def test_calls_of_many_hostile_texts() -> None:
    check_calls(hostile_texts(200))


def test_prose_needs_few_calls() -> None:
    prose = "The ferry to the island runs every day from the old harbour. It costs four euros.\n\n"
    for way, most in zip(WAYS, (0.7, 6.0, 0.1), strict=True):
        assert calls(way, prose * 20) / len(prose * 20) <= most, way.__name__


def test_quadratic_reading_is_noticed(counter: Counter) -> None:
    tail = document.TrackedText.of("x" * LENGTH, 0, LENGTH)
    counter.work = 0
    for at in range(LENGTH):
        tail.cut(at)
    assert counter.work > LENGTH * LENGTH / 3


def test_hostile_texts(counter: Counter) -> None:
    check(hostile_texts(10), counter)


@pytest.mark.slow
def test_many_hostile_texts(counter: Counter) -> None:
    check(hostile_texts(500), counter)


@pytest.mark.parametrize(
    "text",
    [
        f"| a | {'x' * 5_000} |\n|---|---|\n" + "| 1 | 2 |\n" * 200,
        json.dumps({"x" * 5_000: {f"k{at}": at for at in range(200)}}),
    ],
)
def test_long_names_are_not_repeated(text: str) -> None:
    readings = sources.read_source(text).readings
    assert len(readings) >= 200
    assert sum(len(reading or "") for reading in readings) < 10 * len(text)
