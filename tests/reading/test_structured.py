"""Logs, test results and code as sources."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect.reading.sources import read_source
from tests.support.source_readings import read_sentences

FETCH = '''def fetch(
    url: str,
    *,
    retries: int = 3,
    names=("a, b", [1, 2]),
) -> dict[str, bytes]:
    """Download a file. Retry on errors."""
    raise TimeoutError("no answer. Giving up.")


class Client:
    async def send(self, item, priority="low"):
        return await self.queue.put(item)
'''
TESTS = """collected 15 items
tests/test_a.py ....F.....                                     [ 66%]
FAILED tests/test_a.py::test_total - AssertionError: assert 41 == 42. Off by one.
=========== 2 failed, 13 passed in 4.21s ==========="""
LOG = """2025-03-01 12:00:01.123 ERROR db.pool: Connection refused. Retrying in 5 s.
[WARN] disk /dev/sda1 at 91%. Clean up soon."""


def test_signatures_are_read_in_words() -> None:
    assert read_sentences(FETCH) == [
        "The function fetch takes url (str), retries (int, 3 by default) and "
        'names (("a, b", [1, 2]) by default), and returns dict[str, bytes].',
        '"""Download a file.',
        'Retry on errors."""',
        'raise TimeoutError("no answer. Giving up.")',
        "class Client:",
        'The method send of Client takes item and priority ("low" by default).',
        "return await self.queue.put(item)",
    ]


def test_the_span_of_a_signature_is_the_signature() -> None:
    first = read_source(FETCH).sentences[0]
    assert first.cut(FETCH) == FETCH[: FETCH.index('\n    """')]


def test_a_function_without_parameters() -> None:
    assert read_sentences("def now():") == ["The function now takes no parameters."]


def test_what_follows_a_signature_is_read_on() -> None:
    assert read_sentences("def sample(rows, n): draws n rows. Without a seed it differs.") == [
        "The function sample takes rows and n.",
        "draws n rows.",
        "Without a seed it differs.",
    ]


def test_lines_of_tests_stay_whole_and_lose_their_ruler() -> None:
    assert read_sentences(TESTS) == [*TESTS.split("\n")[:3], "2 failed, 13 passed in 4.21s"]
    assert read_source(TESTS).sentences[3].cut(TESTS) == TESTS.split("\n")[3]


def test_lines_of_logs_stay_whole() -> None:
    assert read_sentences(LOG) == LOG.split("\n")


@pytest.mark.parametrize(
    "text",
    [
        "2025-03-01 10:30 the board met. It chose a chair.",
        "Error rates fell. Information was scarce.\nWarnings were rare. Nobody noticed.",
        "The function of the heart is to pump blood. It does so (mostly) well.",
        "An unclosed def broken(a, b. Then more. And more.",
    ],
)
def test_prose_is_read_as_it_stands(text: str) -> None:
    document = read_source(text)
    assert document.readings == ()
    assert len(document.sentences) >= 2


@given(st.text("def f(a=1,)->:{}\n'\" *.[]ERROR12:", max_size=60))
def test_any_text_will_do(text: str) -> None:
    document = read_source(text)
    assert all(0 <= span.start < span.end <= len(text) for span in document.sentences)
    assert list(document.sentences) == sorted(document.sentences)
