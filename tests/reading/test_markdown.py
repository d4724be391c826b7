"""Blocks of Markdown: where the text differs from CommonMark, and when the parser fails."""

from __future__ import annotations

import pyromark
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect.reading.document import INSERTED, Block
from halldetect.reading.markdown import read_blocks

PIECES = ["a ", "é", "中", "1. ", "- ", "> ", "    ", "\t", "\n", "\n\n", "\r", "**", "_", "~~"]
PIECES += ["`", "```\n", "[", "](b)", "[1]: c", "<b>", "<!-- d -->", "&amp;", "\\*", "| ", "|-|\n"]
PIECES += ["# ", "\x02", "\x00", "\ud800", "\u2028", ": ", "<div>", "==\n"]


def texts(blocks: list[Block]) -> list[str]:
    return [line.text.text for block in blocks for line in block.lines]


@given(st.lists(st.sampled_from(PIECES), max_size=25))
def test_any_text_keeps_its_places(pieces: list[str]) -> None:
    text = "".join(pieces)
    for block in read_blocks(text):
        for line in (*block.lines, *block.header):
            assert len(line.text.text) == len(line.text.origins)
            for char, at in zip(line.text.text, line.text.origins, strict=True):
                assert at == INSERTED or text[at] in (char, "&")


def test_places_after_wide_characters() -> None:
    text = "中文 **é** [link](http://a)\n\n- 👍 done"
    first, second = (block.lines[0] for block in read_blocks(text))
    assert first.text.text == "中文 é link"
    for part, shown in ((first.aside[0], "http://a"), (second.text, "👍 done")):
        place = part.raw_span()
        assert place is not None
        assert place.cut(text) == shown


@pytest.mark.parametrize("indent", ["    ", "\t", "        ", "\t\t"])
def test_indented_lists_are_lists(indent: str) -> None:
    blocks = read_blocks(f"Fruit:\n{indent}- apples\n{indent}- pears\n\n{indent}A **note**.")
    assert texts(blocks) == ["Fruit:", "apples", "pears", "A note."]
    assert [len(block.items) > 0 for block in blocks[:3]] == [False, True, True]
    nested = read_blocks(f"- a\n  {indent}- b\n  {indent}- c\n- d")
    assert [len(block.items) for block in nested] == [1, 2, 2, 1]


def test_definitions_and_html_are_text() -> None:
    text = "- [1]: http://a The **mill** closed.\n\n<b>\nIt *sank*.\n\n```\n- <b>x</b>\n[2]: y\n```"
    assert texts(read_blocks(text)) == [
        "[1]: http://a The mill closed.",
        "It sank.",
        "- <b>x</b>",
        "[2]: y",
    ]


@pytest.mark.parametrize("mark", ["> ", "- ", "1. ", "> - "])
def test_deep_quotes_and_lists_end(mark: str) -> None:
    blocks = read_blocks(mark * 1000 + "The mill closed.\n" + "It sank.\n" * 3)
    assert len(blocks) == 1
    assert len(blocks[0].items) <= 20
    assert blocks[0].lines[0].text.text.endswith("The mill closed.")


def test_short_rows_of_a_wide_table_are_short() -> None:
    rows = read_blocks("| a " * 300 + "|\n" + "|-" * 300 + "|\n" + "| b ||\n| c || d |\n")
    assert [len(row.lines) for row in rows] == [300, 1, 3]
    assert [len(row.header) for row in rows] == [0, 1, 3]


def test_failed_parser_leaves_the_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    # A panic of Rust does not derive from Exception.
    failure = type("PanicException", (BaseException,), {})

    def fail(*_: object, **__: object) -> None:
        raise failure("index out of bounds")

    monkeypatch.setattr(pyromark, "events_with_range", fail)
    assert texts(read_blocks("# Ferry\n\n- It **sank**.")) == ["# Ferry", "- It **sank**."]
    monkeypatch.setattr(pyromark, "events_with_range", lambda *_, **__: exit(1))
    with pytest.raises(SystemExit):
        read_blocks("It sank.")
