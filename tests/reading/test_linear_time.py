"""Every reader takes linear time, whatever the text."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from halldetect.reading.html_page import html_text
from halldetect.reading.response import read_units
from halldetect.reading.sources import read_source

LENGTH = 40_000
# A quadratic reader takes minutes.
SECONDS = 10


@pytest.mark.parametrize(
    ("read", "piece"),
    [
        (read_source, "!"),
        (read_source, "![a"),
        (read_source, "<table>"),
        (read_source, "def a("),
        (read_units, "!"),
        (read_units, "**a"),
        (read_units, "**a** "),
        (read_units, "[a"),
        (read_units, " "),
        (read_units, "x² "),
        (read_units, "【a"),
        (html_text, "<a "),
        (html_text, "x<y "),
    ],
)
def test_long_hostile_texts(read: Callable[[str], object], piece: str) -> None:
    begin = time.process_time()
    read("x" + piece * (LENGTH // len(piece)) + " y")
    assert time.process_time() - begin < SECONDS
